//! Serves `POST /v1/export` and `POST /v1/import`: streams a tenant, or parts of it, out and in as one file.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::export::records::Existing;
use crate::domain::names::SnapshotId;
use crate::domain::scheduling::pace::PATIENCE;
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::scheduling::shares::Held;
use crate::domain::scheduling::{asker, room};
use crate::domain::sessions::name::SessionName;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::{Error, Result};
use crate::export::{
    ImportOptions, Imported, Input, Output, Parts, Selection, Tally, export, import, require_parts,
};
use crate::http::files::raw_call::Raw;
use crate::http::request::body::Incoming;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input as Request, Received};
use crate::http::request::outgoing::{self, Sender};
use crate::http::request::problem::Problem;

const MEDIA_TYPE: &str = "application/vnd.threadkeep.export";
/// What an export or an import may have in memory: the window of chunks, a page, a frame.
const HELD_BYTES: usize = 96 << 20;
/// What an export has in memory at first: a page and a frame. Its window of chunks grows with what it writes.
const HELD_AT_FIRST_BYTES: usize = 32 << 20;
/// The preamble, the first record, and something of what is stored: from then on the answer is sent. So a tenant of which nothing can be
/// read is told as in other calls.
const WRITES_BEFORE_HEAD: usize = 3;

/// Export
///
/// A file with everything of the tenant, or with the parts that are named, streamed: `clients/EXPORT.md` in the sources describes it.
/// **It is not encrypted**, whatever the database is: it holds conversations in clear. Each thread is of one moment; all of them
/// together are not. A file that does not end with its end record was cut off: send the request again.
#[utoipa::path(
    post, path = "/v1/export", operation_id = "export_tenant", tag = "transfer",
    request_body(content = ExportWire, example = json!({"threads": ["acme:42"]})),
    responses(
        (status = 200, description = "The file", body = Vec<u8>, content_type = "application/vnd.threadkeep.export"),
        (status = 404, description = "`not_found`, `session_not_found`, `snapshot_not_found`"),
        (status = 503, description = "`overloaded`"),
    ),
)]
pub async fn export_file(State(app): State<Arc<App>>, call: Call<Selection>) -> Answer {
    let Call { caller, input: selection, reply, .. } = call;
    // What an export holds counts as its body.
    let caller = Caller { memory: ReadMemory::default(), ..caller };
    require_parts(&*app.storage, &caller, &selection).await?;
    let mut held = reply.into_account().open();
    room::wait_for(&mut held, HELD_AT_FIRST_BYTES, PATIENCE, || false).await?;
    let now = app.clock.now();
    app.storage.record_act(&Act::of(&caller, ActKind::Exported, "", now)).await?;
    let (sender, body) = outgoing::channel(&held);
    let (begun, begins) = oneshot::channel();
    asker::spawn(async move {
        let mut output = Sending { sender, held, written_bytes: 0, writes: 0, begun: Some(begun) };
        let to = (&mut output as &mut dyn Output, None);
        let done = export(&*app.storage, &caller, &selection, to, now).await;
        output.end(done.map(drop));
    });
    // Until then nothing was sent.
    begins.await.unwrap_or_else(|_| Err(Error::Internal("the export ended early".into())))?;
    let headers = [
        (header::CONTENT_TYPE, MEDIA_TYPE),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"threadkeep.export\""),
        (header::CACHE_CONTROL, "private, no-store"),
    ];
    Ok((headers, body).into_response())
}

/// Import
///
/// Reads a file of an export into the tenant, noun by noun, each whole or not at all. What is there as in the file stays; what is there with
/// other contents ends the import with `import_conflict`, or with `overwrite` is replaced. A file that is damaged or cut off ends it at
/// that place: what came before is there, and a repetition finds it unchanged.
#[utoipa::path(
    post, path = "/v1/import", operation_id = "import_tenant", tag = "transfer",
    params(
        ("overwrite" = Option<bool>, Query, description = "Replace what is here with other contents"),
        ("dry_run" = Option<bool>, Query, description = "Check the file, say what would happen, change nothing"),
    ),
    request_body(content = Vec<u8>, content_type = "application/vnd.threadkeep.export", description = "The file"),
    responses(
        (status = 200, description = "All of it is here", body = ImportedOut, example = json!({
            "dry_run": false, "is_signed": false,
            "threads": {"created": 3, "unchanged": 0, "replaced": 0, "conflicts": 0},
            "sessions": {"created": 0, "unchanged": 1, "replaced": 0, "conflicts": 0},
            "items": {"created": 120, "unchanged": 0, "replaced": 0, "conflicts": 0},
            "settings": {"created": 1, "unchanged": 0, "replaced": 0, "conflicts": 0},
            "policies": {"created": 0, "unchanged": 1, "replaced": 0, "conflicts": 0},
            "snapshots": {"created": 2, "unchanged": 0, "replaced": 0, "conflicts": 0}
        })),
        (status = 409, description = "`import_conflict`, `lease_held`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`export_damaged`, `export_truncated`, `export_version_unsupported`, `export_signature_wrong`"),
        (status = 503, description = "`overloaded`"),
    ),
)]
pub async fn import_file(State(app): State<Arc<App>>, mut raw: Raw) -> Answer {
    let answer = take(&app, &mut raw).await;
    raw.end(answer)
}

async fn take(app: &App, raw: &mut Raw) -> Answer {
    let fields = raw.fields(&["overwrite", "dry_run"])?;
    let existing = if fields.flag("overwrite")? { Existing::Replace } else { Existing::Refuse };
    let options = ImportOptions { key: None, existing, dry_run: fields.flag("dry_run")? };
    let caller = raw.identity.caller.clone();
    if !options.dry_run {
        app.quotas.require_bytes(&caller)?;
        let act = Act::of(&caller, ActKind::Imported, "", app.clock.now());
        app.storage.record_act(&act).await?;
    }
    let mut input = Arriving { body: &mut raw.body, held: &mut raw.held, refused: None };
    let done =
        import(&*app.storage, &caller, &mut input, (&options, &*app.clock), &mut |_| {}).await;
    if let Some(problem) = input.refused {
        return Err(problem);
    }
    raw.reply().with(&ImportedOut::from(done?)).await
}

/// What goes into the file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Export)]
pub struct ExportWire {
    /// These threads, whole.
    #[serde(default)]
    threads: Vec<String>,
    /// These sessions, whole.
    #[serde(default)]
    sessions: Vec<ExportedSession>,
    /// What is in these namespaces and below.
    #[serde(default)]
    namespaces: Vec<Vec<String>>,
    /// These snapshots, with what they keep. With none of all four: everything of the tenant.
    #[serde(default)]
    snapshots: Vec<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportedSession {
    kind: String,
    key: Vec<String>,
}

impl Request for Selection {
    type Wire<'a> = ExportWire;

    fn from_wire(wire: ExportWire, _: &Received) -> Result<Self> {
        let name = |it: ExportedSession| SessionName::new(it.kind, it.key);
        let sessions = wire.sessions.into_iter().map(name).collect::<Result<_>>()?;
        let namespaces = wire.namespaces.into_iter().map(Namespace::new).collect::<Result<_>>()?;
        let snapshots = wire.snapshots.into_iter().map(SnapshotId::new).collect::<Result<_>>()?;
        let parts = Parts { threads: wire.threads, sessions, namespaces, snapshots };
        let is_empty = parts == Parts::default();
        Ok(if is_empty { Self::Tenant } else { Self::Parts(parts) })
    }
}

/// What became of the nouns of one kind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImportTally)]
pub struct TallyOut {
    /// Were not there.
    created: u64,
    /// Were there as in the file.
    unchanged: u64,
    /// Were there with other contents.
    replaced: u64,
    /// Of a dry run: are there with other contents.
    conflicts: u64,
}

/// What an import did, or of a dry run, would do.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Imported)]
pub struct ImportedOut {
    dry_run: bool,
    /// The file says that it is signed.
    is_signed: bool,
    threads: TallyOut,
    sessions: TallyOut,
    items: TallyOut,
    settings: TallyOut,
    policies: TallyOut,
    snapshots: TallyOut,
}

impl From<Tally> for TallyOut {
    fn from(tally: Tally) -> Self {
        let Tally { created, unchanged, replaced, conflicts } = tally;
        Self { created, unchanged, replaced, conflicts }
    }
}

impl From<Imported> for ImportedOut {
    fn from(imported: Imported) -> Self {
        let Imported {
            dry_run,
            is_signed,
            threads,
            sessions,
            items,
            settings,
            policies,
            snapshots,
        } = imported;
        Self {
            dry_run,
            is_signed,
            threads: threads.into(),
            sessions: sessions.into(),
            items: items.into(),
            settings: settings.into(),
            policies: policies.into(),
            snapshots: snapshots.into(),
        }
    }
}

struct Sending {
    sender: Sender,
    held: Held,
    written_bytes: usize,
    writes: usize,
    /// Who waits for the answer to begin. What goes wrong before is the answer.
    begun: Option<oneshot::Sender<Result<()>>>,
}

impl Sending {
    fn end(self, done: Result<()>) {
        let Self { sender, held, begun, .. } = self;
        // Who has seen the end may ask for as much memory at once.
        drop(held);
        match (done, begun) {
            (Ok(()), begun) => {
                sender.end();
                if let Some(begun) = begun {
                    begun.send(Ok(())).ok();
                }
            }
            (Err(error), Some(begun)) => {
                begun.send(Err(error)).ok();
            }
            (Err(error), None) if sender.is_ended() => {
                tracing::info!(%error, "an export ends early: who asked for it has gone");
            }
            (Err(error), None) => {
                tracing::error!(%error, "an export ends early");
                // The body ends with an error, so that nobody takes it for a whole one.
                sender.fail("the export ended early");
            }
        }
    }
}

#[async_trait]
impl Output for Sending {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if !self.sender.ready().await {
            return Err(Error::Internal("nobody takes the export any more".into()));
        }
        // A frame is within what the export may hold, and comes back when it was taken.
        let mut held = self.held.split(bytes.len() as u64);
        self.sender.put(&bytes, &mut held);
        self.written_bytes = self.written_bytes.saturating_add(bytes.len());
        let has_bytes = HELD_AT_FIRST_BYTES.saturating_add(self.written_bytes).min(HELD_BYTES);
        self.held.resize(has_bytes).ok();
        self.writes += 1;
        if self.writes == WRITES_BEFORE_HEAD
            && let Some(begun) = self.begun.take()
        {
            begun.send(Ok(())).ok();
        }
        Ok(())
    }
}

struct Arriving<'a> {
    body: &'a mut Incoming,
    held: &'a mut Held,
    /// Why the body could not be read.
    refused: Option<Problem>,
}

#[async_trait]
impl Input for Arriving<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        // Who has sent nothing has nothing in memory.
        let next = match self.body.next().await {
            Ok(bytes) => {
                let room = room::wait_for(self.held, HELD_BYTES, PATIENCE, || false).await;
                room.map(|()| bytes).map_err(Problem::from)
            }
            Err(problem) => Err(problem),
        };
        match next {
            Ok(bytes) => Ok(bytes),
            Err(problem) => {
                self.refused = Some(problem);
                Err(Error::Internal("the body cannot be read".into()))
            }
        }
    }
}
