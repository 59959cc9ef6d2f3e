//! Serves Agentrail's sessions: the routes of its adapters. Each id is one percent-encoded segment of the path. They are stored as ordinary
//! sessions (`domain/agentrail.rs`), so `/v1/sessions` shows and deletes them too.

pub mod inspector;
pub mod memory;
pub mod messages;
pub mod orchestration;

use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::request::decode::{Input, Received};
use super::request::exact::{Exact, ExactOut, Text};
pub use super::request::path_ids::PathIds;
use super::request::problem::Problem;
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::limits::LIMITS;
use crate::domain::sessions::change::{Change, Done, NewEntry, PutDocument, Step};
use crate::domain::sessions::loading::{Load, Loaded};
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::service::{SessionCall, append};
use crate::domain::sessions::{DOCUMENT, SESSION};
use crate::domain::{Error, Result, agentrail, names};

/// Pages of one answer: 64 MiB of entries and more are not read at once.
const PAGES_MAX: usize = 64;

impl PathIds {
    pub fn session(&self) -> Result<SessionName> {
        agentrail::session(self.id("tenant"), self.id("session"))
    }
}

/// Exact JSON values that travel together.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AgentrailList)]
pub struct ExactList {
    #[serde(flatten)]
    #[schema(value_type = HashMap<String, Vec<Exact>>)]
    list: HashMap<&'static str, Vec<ExactOut>>,
}

impl ExactList {
    pub fn of(name: &'static str, loaded: Loaded) -> Self {
        Self { list: HashMap::from([(name, values(loaded))]) }
    }
}

pub fn values(loaded: Loaded) -> Vec<ExactOut> {
    loaded.entries.into_iter().map(|it| ExactOut(it.data)).collect()
}

/// All of a stream, or the last ones.
pub async fn all(
    app: &App,
    caller: &Caller,
    session: &SessionName,
    load: Load,
) -> Result<Option<Loaded>> {
    let first = app.sessions.load(caller, session, &load).await?;
    let Some(mut all) = first else { return Ok(None) };
    for _ in 0..PAGES_MAX {
        if !all.more || load.is_tail() {
            return Ok(Some(all));
        }
        let after_seq = all.entries.last().map(|it| it.seq);
        let next = Load { after_seq, ..load.clone() };
        let Some(page) = app.sessions.load(caller, session, &next).await? else { break };
        all = Loaded { entries: [all.entries, page.entries].concat(), ..page };
    }
    if all.more {
        let limit = crate::domain::limits::LIMITS.session_load_bytes_max * PAGES_MAX as u64;
        return Err(Error::TooLarge { field: "the log".into(), limit });
    }
    Ok(Some(all))
}

/// A whole stream; of one that was never written nothing.
pub async fn stream(
    app: &App,
    caller: &Caller,
    session: &SessionName,
    stream: &str,
) -> Result<Loaded> {
    let load = Load { stream: stream.to_owned(), ..Load::default() };
    Ok(all(app, caller, session, load).await?.unwrap_or_default())
}

/// The text of a document.
pub async fn document(
    app: &App,
    caller: &Caller,
    session: &SessionName,
    name: &str,
) -> Result<crate::domain::sessions::Content> {
    let found = app.sessions.get_document(caller, session, name).await?;
    found.ok_or(Error::NotFound(DOCUMENT))
}

pub async fn change(
    app: &App,
    asking: &SessionCall<'_>,
    session: SessionName,
    steps: Vec<Step<NewEntry>>,
) -> Result<Done> {
    app.sessions.change(asking, Change { session, about: None, steps }).await
}

pub fn put(name: impl Into<String>, text: Bytes) -> Step<NewEntry> {
    let content = NewEntry { id: None, text };
    Step::PutDocument(PutDocument {
        name: name.into(),
        content,
        if_version: None,
        only_joins: false,
    })
}

/// Entries whose ids stand in them under a name.
pub fn logged(to: impl Into<String>, texts: Vec<Bytes>, id: &str) -> Result<Step<NewEntry>> {
    let entry = |text: Bytes| {
        let value: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|_| Error::invalid(id, format!("{id} must be in an object")))?;
        let found = value[id].as_str().map(str::to_owned);
        let found = found.ok_or_else(|| Error::invalid(id, format!("{id} must be a string")))?;
        Ok(NewEntry { id: Some(found), text })
    };
    Ok(append(to, texts.into_iter().map(entry).collect::<Result<_>>()?))
}

/// Without what else was in the body.
pub fn own(text: &Exact<'_>, received: &Received) -> Bytes {
    Bytes::copy_from_slice(&text.part_of(&received.body))
}

pub fn session_absent() -> Problem {
    Error::NotFound(SESSION).into()
}

/// A text that replaces, or extends, a document.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentrailContent)]
pub struct ContentBody {
    content: Text,
}

pub struct ContentIn {
    pub text: Bytes,
    pub idempotency: Option<(String, [u8; 32])>,
}

impl Input for ContentIn {
    type Wire<'a> = ContentBody;

    fn from_wire(wire: ContentBody, received: &Received) -> Result<Self> {
        let text = Bytes::from(wire.content.0);
        Ok(Self { text, idempotency: received.idempotency("agentrail content") })
    }
}

/// The key of the header, or that of the body.
///
/// # Errors
/// 422 for a key of the body that is empty, longer than a key of the header may be, or has a NUL. Other text is allowed: agents derive
/// keys from their own ids.
fn key(
    received: &Received,
    given: Option<Text>,
    route: &str,
) -> Result<Option<(String, [u8; 32])>> {
    if let Some(of_header) = received.idempotency(route) {
        return Ok(Some(of_header));
    }
    let Some(Text(given)) = given else { return Ok(None) };
    names::check("idempotencyKey", &given, LIMITS.idempotency_key_bytes_max, false)?;
    Ok(Some((given, received.digest(route))))
}
