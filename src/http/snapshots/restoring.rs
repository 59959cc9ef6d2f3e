//! Serves `POST /v1/snapshots/restore`: restores a snapshot in place or into new ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::restore::{
    Chosen, Restore, RestoreNamespace, RestoreSession, RestoreThread, Restored, RestoredNamespace,
    RestoredSession, RestoredThread,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

const RESTORE: &str = "/v1/snapshots/restore";
const ALL: &str = "all";

/// Restore a snapshot
///
/// All of what is chosen, or nothing. In place, a thing is as it was at the moment of the snapshot and nothing else; a thread
/// gets a new generation, so that writers that still hold the old one are refused. What is replaced is a snapshot first, unless
/// `safety` is false. Into another id, namespace or key there must be nothing. Threads and sessions that are made belong to the
/// subject that asks; of a key of the whole tenant to whom `subjects` says, else to whom they belonged. `dry_run` says what would happen.
#[utoipa::path(
    post, path = RESTORE, operation_id = "restore_snapshot", tag = "snapshots",
    request_body(content = RestoreBody, example = json!({"snapshot_id": "before-lunch",
        "threads": [{"thread_id": "t-1", "into": "t-2"}]})),
    responses(
        (status = 200, description = "Restored", body = RestoredOut),
        (status = 404, description = "`snapshot_not_found`"),
        (status = 409, description = "`lease_held`, `fence_stale`, `thread_exists`, `namespace_exists`, `session_exists`, \
            `thread_taken`, `session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn restore(State(app): State<Arc<App>>, call: Call<Restoring>) -> Answer {
    let Call { caller, deadline, input: Restoring(request), reply } = call;
    let restored = app.snapshots.restore(&caller, &request, deadline).await?;
    if !restored.dry_run {
        for it in &restored.threads {
            if let Ok(thread_id) = ThreadId::new(it.into.as_str()) {
                app.values.of(&caller, &thread_id).forget();
            }
        }
    }
    reply.with(&RestoredOut::from(restored)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RestoreSnapshot)]
pub struct RestoreBody {
    snapshot_id: Text,
    /// Default false.
    dry_run: Option<bool>,
    /// `"all"`, or a list. Where no part is named at all, everything is restored.
    threads: Option<ThreadsBody>,
    /// `"all"`, or a list.
    namespaces: Option<NamespacesBody>,
    /// `"all"`, or a list.
    sessions: Option<SessionsBody>,
    /// Of a subject's threads and sessions that are made, whose they are to be. At most 1,000.
    #[schema(value_type = BTreeMap<String, String>, required = false)]
    subjects: Option<BTreeMap<String, String>>,
    /// Default true.
    safety: Option<bool>,
    /// Leases that the caller holds on threads that are written to.
    leases: Option<Vec<HeldLease>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = RestoreThreads)]
pub enum ThreadsBody {
    All(String),
    These(Vec<RestoreThreadBody>),
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RestoreThread)]
pub struct RestoreThreadBody {
    thread_id: String,
    /// Absent: in place.
    into: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = RestoreNamespaces)]
pub enum NamespacesBody {
    All(String),
    These(Vec<RestoreNamespaceBody>),
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RestoreNamespace)]
pub struct RestoreNamespaceBody {
    namespace: Vec<String>,
    /// Absent: in place. Else what lies below goes below this one.
    into: Option<Vec<String>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = RestoreSessions)]
pub enum SessionsBody {
    All(String),
    These(Vec<RestoreSessionBody>),
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RestoreSession)]
pub struct RestoreSessionBody {
    kind: String,
    key: Vec<String>,
    /// Absent: in place. Else another key of the kind.
    into: Option<Vec<String>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldLease {
    thread_id: Text,
    fence: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RestoredSnapshot)]
pub struct RestoredOut {
    snapshot_id: String,
    dry_run: bool,
    /// What was there before; absent where nothing was replaced, or `safety` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    safety_snapshot_id: Option<String>,
    #[schema(format = DateTime)]
    restored_at: String,
    threads: Vec<RestoredThreadOut>,
    namespaces: Vec<RestoredNamespaceOut>,
    sessions: Vec<RestoredSessionOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RestoredSession)]
pub struct RestoredSessionOut {
    kind: String,
    key: Vec<String>,
    into: Vec<String>,
    entries: i64,
    replaced_entries: i64,
    /// The session was not there.
    created: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RestoredNamespace)]
pub struct RestoredNamespaceOut {
    namespace: Vec<String>,
    into: Vec<String>,
    written: i64,
    /// Items that are there as they were.
    unchanged: i64,
    /// Items that were not there at the moment of the snapshot.
    removed: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RestoredThread)]
pub struct RestoredThreadOut {
    thread_id: String,
    into: String,
    /// The new one; of a dry run the present one, empty where there is no thread.
    generation: String,
    checkpoints: i64,
    replaced_checkpoints: i64,
    /// The thread was not there.
    created: bool,
}

pub struct Restoring(Restore);

impl Input for Restoring {
    type Wire<'a> = RestoreBody;

    fn from_wire(wire: RestoreBody, received: &Received) -> Result<Self> {
        let names_a_part =
            wire.threads.is_some() || wire.namespaces.is_some() || wire.sessions.is_some();
        let leases = wire.leases.unwrap_or_default().into_iter();
        let leases = leases.map(|it| Ok((ThreadId::new(it.thread_id.0)?, it.fence)));
        Ok(Self(Restore {
            id: SnapshotId::new(wire.snapshot_id.0)?,
            dry_run: wire.dry_run.unwrap_or(false),
            threads: threads(wire.threads, names_a_part)?,
            namespaces: namespaces(wire.namespaces, names_a_part)?,
            sessions: chosen_sessions(wire.sessions, names_a_part)?,
            subjects: wire.subjects.unwrap_or_default(),
            safety: wire.safety.unwrap_or(true),
            leases: leases.collect::<Result<_>>()?,
            idempotency: received.idempotency(RESTORE),
        }))
    }
}

fn chosen_sessions(
    body: Option<SessionsBody>,
    names_a_part: bool,
) -> Result<Chosen<RestoreSession>> {
    match body {
        None if names_a_part => Ok(Chosen::These(Vec::new())),
        None => Ok(Chosen::All),
        Some(SessionsBody::All(text)) if text == ALL => Ok(Chosen::All),
        Some(SessionsBody::All(_)) => {
            Err(Error::invalid("sessions", "sessions must be \"all\" or a list"))
        }
        Some(SessionsBody::These(these)) => {
            let one = |(at, it): (usize, RestoreSessionBody)| {
                let within = |error: Error| error.within(&format!("sessions[{at}]"));
                let into = it.into.map(|key| SessionName::new(it.kind.as_str(), key));
                let into = into.transpose().map_err(within)?;
                Ok(RestoreSession {
                    session: SessionName::new(it.kind, it.key).map_err(within)?,
                    into,
                })
            };
            these.into_iter().enumerate().map(one).collect::<Result<_>>().map(Chosen::These)
        }
    }
}

fn namespaces(
    body: Option<NamespacesBody>,
    names_a_part: bool,
) -> Result<Chosen<RestoreNamespace>> {
    match body {
        None if names_a_part => Ok(Chosen::These(Vec::new())),
        None => Ok(Chosen::All),
        Some(NamespacesBody::All(text)) if text == ALL => Ok(Chosen::All),
        Some(NamespacesBody::All(_)) => {
            Err(Error::invalid("namespaces", "namespaces must be \"all\" or a list"))
        }
        Some(NamespacesBody::These(these)) => {
            let one = |(at, it): (usize, RestoreNamespaceBody)| {
                let within = |error: Error| error.within(&format!("namespaces[{at}]"));
                let into = it.into.map(Namespace::new).transpose().map_err(within)?;
                let namespace = Namespace::new(it.namespace).map_err(within)?;
                Ok(RestoreNamespace { namespace, into })
            };
            these.into_iter().enumerate().map(one).collect::<Result<_>>().map(Chosen::These)
        }
    }
}

fn threads(body: Option<ThreadsBody>, names_a_part: bool) -> Result<Chosen<RestoreThread>> {
    match body {
        None if names_a_part => Ok(Chosen::These(Vec::new())),
        None => Ok(Chosen::All),
        Some(ThreadsBody::All(text)) if text == ALL => Ok(Chosen::All),
        Some(ThreadsBody::All(_)) => {
            Err(Error::invalid("threads", "threads must be \"all\" or a list"))
        }
        Some(ThreadsBody::These(these)) => {
            let one = |(at, it): (usize, RestoreThreadBody)| {
                let within = |error: Error| error.within(&format!("threads[{at}]"));
                let into = it.into.map(ThreadId::new).transpose().map_err(within)?;
                Ok(RestoreThread { thread_id: ThreadId::new(it.thread_id).map_err(within)?, into })
            };
            these.into_iter().enumerate().map(one).collect::<Result<_>>().map(Chosen::These)
        }
    }
}

impl From<Restored> for RestoredOut {
    fn from(restored: Restored) -> Self {
        Self {
            snapshot_id: restored.snapshot_id,
            dry_run: restored.dry_run,
            safety_snapshot_id: restored.safety_snapshot_id,
            restored_at: rfc3339(restored.restored_at),
            threads: restored.threads.into_iter().map(RestoredThreadOut::from).collect(),
            namespaces: restored.namespaces.into_iter().map(RestoredNamespaceOut::from).collect(),
            sessions: restored.sessions.into_iter().map(RestoredSessionOut::from).collect(),
        }
    }
}

impl From<RestoredSession> for RestoredSessionOut {
    fn from(it: RestoredSession) -> Self {
        Self {
            kind: it.kind,
            into: if it.into.is_empty() { it.key.clone() } else { it.into },
            key: it.key,
            entries: it.entries,
            replaced_entries: it.replaced_entries,
            created: it.created,
        }
    }
}

impl From<RestoredNamespace> for RestoredNamespaceOut {
    fn from(it: RestoredNamespace) -> Self {
        Self {
            into: if it.into.is_empty() { it.namespace.clone() } else { it.into },
            namespace: it.namespace,
            written: it.written,
            unchanged: it.unchanged,
            removed: it.removed,
        }
    }
}

impl From<RestoredThread> for RestoredThreadOut {
    fn from(it: RestoredThread) -> Self {
        Self {
            thread_id: it.thread_id,
            into: it.into,
            generation: it.generation,
            checkpoints: it.checkpoints,
            replaced_checkpoints: it.replaced_checkpoints,
            created: it.created,
        }
    }
}
