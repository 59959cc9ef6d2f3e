//! Serves `POST /v1/snapshots/take`, `…/get`, `…/list` and `…/delete`. `archive` serves archives of workspaces, `restoring` restores.

pub(super) mod archive;
pub(super) mod restoring;

pub use self::restoring::restore;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::archive::SnapshotArchive;
pub(crate) use self::restoring::__path_restore;
use super::Empty;
use super::request::call::{Answer, Call};
use super::request::cursor;
use super::request::decode::{Input, Received};
use super::request::exact::{Exact, ExactOut, Text};
use crate::app::App;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::archives::ArchiveId;
use crate::domain::snapshots::storage::{ListSnapshots, SnapshotCursor};
use crate::domain::snapshots::take::{TakeSnapshot, TakeThread};
use crate::domain::snapshots::{History, NamespacePart, SessionPart, Snapshot, ThreadPart};
use crate::domain::store::namespace::Namespace;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};

const PAGE_DEFAULT: i64 = 100;
const CURSOR: &str = "snapshots";

/// Take a snapshot
///
/// Everything named, as it is at one moment, or nothing. It stands for itself: deleting or pruning what it was taken of changes
/// nothing in it. The same `snapshot_id` with the same contents is answered with the snapshot that is there. An archive that was staged before is part
/// of the snapshot; it is of the same moment only if nobody wrote to the workspace between `staged_at` and `taken_at`.
#[utoipa::path(
    post, path = "/v1/snapshots/take", operation_id = "take_snapshot", tag = "snapshots",
    request_body(content = TakeBody, example = json!({"snapshot_id": "before-lunch", "threads": [{"thread_id": "t-1"}],
        "labels": {"sandbox": "a"}})),
    responses(
        (status = 201, description = "Taken", body = SnapshotOut),
        (status = 200, description = "It was taken before", body = SnapshotOut),
        (status = 404, description = "`thread_not_found`, `session_not_found`, `archive_not_found`"),
        (status = 413, description = "`too_large`, `quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn take(State(app): State<Arc<App>>, call: Call<Take>) -> Answer {
    let Call { caller, deadline, input: Take(request), reply } = call;
    let taken = app.snapshots.take(&caller, request, deadline).await?;
    let shown = SnapshotOut::from(taken.snapshot);
    if taken.is_new { reply.created(&shown).await } else { reply.with(&shown).await }
}

/// Get a snapshot
///
/// What is in it, without any content.
#[utoipa::path(
    post, path = "/v1/snapshots/get", operation_id = "get_snapshot", tag = "snapshots",
    request_body(content = SnapshotName, example = json!({"snapshot_id": "before-lunch"})),
    responses(
        (status = 200, description = "The snapshot", body = SnapshotOut),
        (status = 404, description = "`snapshot_not_found`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<Named>) -> Answer {
    let Call { caller, input: Named(id), reply, .. } = call;
    reply.with(&SnapshotOut::from(app.snapshots.get(&caller, &id).await?)).await
}

/// List snapshots
///
/// Newest first, those that the caller may read.
#[utoipa::path(
    post, path = "/v1/snapshots/list", operation_id = "list_snapshots", tag = "snapshots",
    request_body(content = ListBody, example = json!({"labels": {"sandbox": "a"}, "limit": 20})),
    responses((status = 200, description = "A page", body = SnapshotsPage, example = json!({"snapshots": []}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<Listing>) -> Answer {
    let Call { caller, input: Listing(query), reply, .. } = call;
    let page = app.snapshots.list(&caller, query).await?;
    let position = |it: SnapshotCursor| cursor::encode(CURSOR, &(it.created_at, it.id));
    reply
        .with(&SnapshotsPage {
            snapshots: page.snapshots.into_iter().map(SnapshotOut::from).collect(),
            next_cursor: page.next.map(position),
        })
        .await
}

/// Delete a snapshot
///
/// No error when there is none. What was restored from it stays.
#[utoipa::path(
    post, path = "/v1/snapshots/delete", operation_id = "delete_snapshot", tag = "snapshots",
    request_body(content = SnapshotName, example = json!({"snapshot_id": "before-lunch"})),
    responses((status = 200, description = "Deleted, or never there", body = Empty)),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<Named>) -> Answer {
    let Call { caller, deadline, input: Named(id), reply } = call;
    app.snapshots.delete(&caller, &id, deadline).await?;
    reply.done().await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TakeSnapshot)]
pub struct TakeBody<'a> {
    /// 1 to 256 bytes. Absent: the server makes one up.
    snapshot_id: Option<Text>,
    /// At most 1,000.
    threads: Option<Vec<TakeThreadBody>>,
    /// At most 100, each with everything below it, files included; together at most 100,000 items.
    namespaces: Option<Vec<Vec<Text>>>,
    /// At most 1,000.
    sessions: Option<Vec<SnapshotSessionName>>,
    /// `archive_id` of an archive that the caller staged.
    archive: Option<Text>,
    #[schema(value_type = Option<Labels>)]
    labels: Option<BTreeMap<String, String>>,
    /// Any JSON text of up to 1 MiB.
    #[serde(borrow)]
    document: Option<Exact<'a>>,
    /// The snapshot goes then. Absent: it stays.
    #[schema(minimum = 1, maximum = 3_153_600_000_i64)]
    expires_in_seconds: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TakeThread)]
pub struct TakeThreadBody {
    thread_id: Text,
    /// `all` (default) or `head`: the newest checkpoint of each namespace, with what its delta channels need.
    #[schema(value_type = Option<SnapshotHistory>)]
    history: Option<Text>,
}

/// At most 32 names with values of up to 256 bytes each.
#[derive(ToSchema)]
#[schema(as = SnapshotLabels)]
#[expect(dead_code, reason = "a name for the document")]
struct Labels(BTreeMap<String, String>);

/// How much of a thread: everything, or the newest checkpoint of each namespace with what its delta channels need.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "a name for the document")]
enum SnapshotHistory {
    All,
    Head,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotName {
    snapshot_id: Text,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListSnapshots)]
pub struct ListBody {
    /// Those that have all of these.
    #[schema(value_type = Option<Labels>)]
    labels: Option<BTreeMap<String, String>>,
    /// 0-1,000, 100 when it is absent.
    #[schema(minimum = 0)]
    limit: Option<i64>,
    cursor: Option<Text>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Snapshot)]
pub struct SnapshotOut {
    snapshot_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    /// The one moment that everything in it is of.
    #[schema(format = DateTime)]
    taken_at: String,
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[schema(value_type = Labels)]
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Exact<'static>>)]
    document: Option<ExactOut>,
    /// Before compression and sharing.
    size_bytes: i64,
    threads: Vec<SnapshotThread>,
    namespaces: Vec<SnapshotNamespace>,
    sessions: Vec<SnapshotSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<SnapshotArchive>,
}

#[derive(Serialize, ToSchema)]
pub struct SnapshotSession {
    kind: String,
    key: Vec<String>,
    entries: i64,
    size_bytes: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotSessionName {
    kind: String,
    key: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub struct SnapshotNamespace {
    namespace: Vec<String>,
    items: i64,
    size_bytes: i64,
}

#[derive(Serialize, ToSchema)]
pub struct SnapshotThread {
    thread_id: String,
    /// At that moment.
    generation: String,
    #[schema(value_type = SnapshotHistory)]
    history: &'static str,
    checkpoints: i64,
    size_bytes: i64,
}

#[derive(Serialize, ToSchema)]
pub struct SnapshotsPage {
    snapshots: Vec<SnapshotOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub struct Take(TakeSnapshot);
pub struct Named(SnapshotId);
pub struct Listing(ListSnapshots);

impl Input for Take {
    type Wire<'a> = TakeBody<'a>;

    fn from_wire(wire: TakeBody<'_>, received: &Received) -> Result<Self> {
        let id = wire.snapshot_id.map(|it| SnapshotId::new(it.0)).transpose()?;
        let threads = wire.threads.unwrap_or_default().into_iter().enumerate();
        let threads = threads.map(|(at, it)| it.into_domain(&format!("threads[{at}]")));
        Ok(Self(TakeSnapshot {
            id,
            threads: threads.collect::<Result<_>>()?,
            namespaces: namespaces(wire.namespaces.unwrap_or_default())?,
            sessions: sessions(wire.sessions.unwrap_or_default())?,
            archive: wire.archive.map(|it| ArchiveId::parse("archive", &it.0)).transpose()?,
            labels: wire.labels.unwrap_or_default(),
            // Without what else was in the body.
            document: wire.document.map(|it| Bytes::copy_from_slice(&it.part_of(&received.body))),
            expires_in_seconds: wire.expires_in_seconds,
        }))
    }
}

/// # Errors
/// 422 naming the place in the list.
fn namespaces(all: Vec<Vec<Text>>) -> Result<Vec<Namespace>> {
    let one = |(at, labels): (usize, Vec<Text>)| {
        let labels = labels.into_iter().map(|it| it.0).collect();
        Namespace::new(labels).map_err(|error| error.within(&format!("namespaces[{at}]")))
    };
    all.into_iter().enumerate().map(one).collect()
}

/// # Errors
/// 422 naming the place in the list.
fn sessions(all: Vec<SnapshotSessionName>) -> Result<Vec<SessionName>> {
    let one = |(at, it): (usize, SnapshotSessionName)| {
        SessionName::new(it.kind, it.key).map_err(|error| error.within(&format!("sessions[{at}]")))
    };
    all.into_iter().enumerate().map(one).collect()
}

impl TakeThreadBody {
    fn into_domain(self, field: &str) -> Result<TakeThread> {
        let history = self
            .history
            .map_or(Ok(History::All), |it| History::parse(&format!("{field}.history"), &it.0))?;
        let thread_id = ThreadId::new(self.thread_id.0).map_err(|error| error.within(field))?;
        Ok(TakeThread { thread_id, history })
    }
}

impl Input for Named {
    type Wire<'a> = SnapshotName;

    fn from_wire(wire: SnapshotName, _: &Received) -> Result<Self> {
        SnapshotId::new(wire.snapshot_id.0).map(Self)
    }
}

impl Input for Listing {
    type Wire<'a> = ListBody;

    fn from_wire(wire: ListBody, _: &Received) -> Result<Self> {
        let limit = wire.limit.unwrap_or(PAGE_DEFAULT);
        let limit = usize::try_from(limit)
            .map_err(|_| Error::invalid("limit", "limit must be a whole number from 0 to 1000"))?;
        let position = |it: Text| cursor::decode::<(i64, String)>(CURSOR, &it.0);
        let after = wire.cursor.map(position).transpose()?;
        Ok(Self(ListSnapshots {
            labels: wire.labels.unwrap_or_default(),
            limit,
            after: after.map(|(created_at, id)| SnapshotCursor { created_at, id }),
        }))
    }
}

impl From<Snapshot> for SnapshotOut {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            size_bytes: snapshot.size_bytes(),
            snapshot_id: snapshot.id,
            owner: snapshot.owner,
            created_at: rfc3339(snapshot.created_at),
            taken_at: rfc3339(snapshot.taken_at),
            expires_at: snapshot.expires_at.map(rfc3339),
            labels: snapshot.labels,
            document: snapshot.document.map(ExactOut),
            threads: snapshot.threads.into_iter().map(SnapshotThread::from).collect(),
            namespaces: snapshot.namespaces.into_iter().map(SnapshotNamespace::from).collect(),
            sessions: snapshot.sessions.into_iter().map(SnapshotSession::from).collect(),
            archive: snapshot.archive.map(SnapshotArchive::of),
        }
    }
}

impl From<SessionPart> for SnapshotSession {
    fn from(part: SessionPart) -> Self {
        let (kind, key) = (part.session.kind().to_owned(), part.session.key().to_vec());
        Self { kind, key, entries: part.entries, size_bytes: part.size_bytes }
    }
}

impl From<NamespacePart> for SnapshotNamespace {
    fn from(part: NamespacePart) -> Self {
        let namespace = part.namespace.labels().to_vec();
        Self { namespace, items: part.items, size_bytes: part.size_bytes }
    }
}

impl From<ThreadPart> for SnapshotThread {
    fn from(part: ThreadPart) -> Self {
        Self {
            thread_id: part.thread_id,
            generation: part.generation,
            history: part.history.name(),
            checkpoints: part.checkpoints,
            size_bytes: part.size_bytes,
        }
    }
}
