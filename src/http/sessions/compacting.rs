//! Serves `POST /v1/sessions/counters/add` and `POST /v1/sessions/compact`: counters, and the compaction of streams.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::ContentIn;
use super::wire::{EntryIn, content, entries, session};
use super::{asking, only};
use crate::app::App;
use crate::domain::Result;
use crate::domain::sessions::change::{Change, Step, StepDone};
use crate::domain::sessions::service::CompactStream;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::problem::Problem;

const ADD: &str = "/v1/sessions/counters/add";
const COMPACT: &str = "/v1/sessions/compact";

/// Add to a counter
///
/// A counter that was never added to is 0. Numbers are given in the order of commits: with `by` 1 nobody gets the same value twice.
#[utoipa::path(
    post, path = ADD, operation_id = "add_to_counter", tag = "sessions",
    request_body(content = AddBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"], "counter": "turns"})),
    responses(
        (status = 200, description = "Durable", body = Counted, example = json!({"value": 1})),
        (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn add(State(app): State<Arc<App>>, call: Call<AddToCounter>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = asking(&caller, deadline, input.idempotency);
    match only(app.sessions.change(&asking, input.change).await?)? {
        StepDone::Counted { value } => reply.with(&Counted { value }).await,
        _ => Err(Problem::internal("a counter has another outcome")),
    }
}

/// Compact a stream
///
/// In one transaction: the entries up to `through_seq` become the stream `archive_stream_prefix` with the archive's id behind it,
/// `replacement` takes their place, and `document` is extended. `{archive_id}` in both is filled in: four digits or more, counted up
/// in the session. The entries behind `through_seq` keep their numbers, the replacement gets the last numbers of what it replaces, and the
/// head stays. `head_moved` says that something was appended or compacted since the caller looked, and nothing happened.
#[utoipa::path(
    post, path = COMPACT, operation_id = "compact_stream", tag = "sessions",
    request_body(content = CompactBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"], "stream": "messages",
        "through_seq": 20, "expected_head": 60, "archive_stream_prefix": "messages.compactions/",
        "replacement": [{"data": {"role": "user", "content": "[Conversation compacted: see archive {archive_id}]"}}],
        "document": {"name": "NOTES.md", "append": "\n## Compaction {archive_id}\n"}})),
    responses(
        (status = 200, description = "Durable", body = Compacted, example = json!({"archive_id": "0001", "head": 60})),
        (status = 404, description = "`session_not_found`"),
        (status = 409, description = "`head_moved`, `session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn compact(State(app): State<Arc<App>>, call: Call<Compacting>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = asking(&caller, deadline, input.idempotency);
    let (archive_id, done) = app.sessions.compact(&asking, &input.compact).await?;
    match only(done)? {
        StepDone::Compacted { head, .. } => reply.with(&Compacted { archive_id, head }).await,
        _ => Err(Problem::internal("a compaction has another outcome")),
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AddToCounter)]
pub struct AddBody {
    kind: Text,
    key: Vec<Text>,
    counter: Text,
    /// Default 1.
    by: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CompactStream)]
pub struct CompactBody<'a> {
    kind: Text,
    key: Vec<Text>,
    stream: Text,
    /// The last entry that goes to the archive.
    through_seq: i64,
    /// The head of the stream as the caller read it.
    expected_head: i64,
    /// How many entries go to the archive. With it a stream can be compacted twice without an append in between.
    count: Option<i64>,
    archive_stream_prefix: Text,
    #[serde(borrow)]
    replacement: Vec<EntryIn<'a>>,
    #[serde(borrow)]
    document: Option<ExtendIn<'a>>,
}

/// What is added to a document.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExtendDocument)]
pub struct ExtendIn<'a> {
    name: Text,
    #[serde(borrow)]
    append: ContentIn<'a>,
}

#[derive(Serialize, ToSchema)]
pub struct Counted {
    value: i64,
}

#[derive(Serialize, ToSchema)]
pub struct Compacted {
    archive_id: String,
    head: i64,
}

pub struct AddToCounter {
    change: Change,
    idempotency: Option<(String, [u8; 32])>,
}

pub struct Compacting {
    compact: CompactStream,
    idempotency: Option<(String, [u8; 32])>,
}

impl Input for AddToCounter {
    type Wire<'a> = AddBody;

    fn from_wire(wire: AddBody, received: &Received) -> Result<Self> {
        let session = session(wire.kind, wire.key)?;
        let steps = vec![Step::Count { counter: wire.counter.0, by: wire.by.unwrap_or(1) }];
        let change = Change { session, about: None, steps };
        Ok(Self { change, idempotency: received.idempotency(ADD) })
    }
}

impl Input for Compacting {
    type Wire<'a> = CompactBody<'a>;

    fn from_wire(wire: CompactBody<'_>, received: &Received) -> Result<Self> {
        let document = wire.document.map(|it| {
            Ok::<_, crate::domain::Error>((it.name.0, content("document.append", it.append)?))
        });
        let compact = CompactStream {
            session: session(wire.kind, wire.key)?,
            stream: wire.stream.0,
            through_seq: wire.through_seq,
            expected_head: wire.expected_head,
            expected_count: wire.count,
            archive_stream_prefix: wire.archive_stream_prefix.0,
            replacement: entries(wire.replacement, received),
            document: document.transpose()?,
            archive_id: None,
        };
        Ok(Self { compact, idempotency: received.idempotency(COMPACT) })
    }
}
