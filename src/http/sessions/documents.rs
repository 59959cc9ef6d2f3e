//! Serves `POST /v1/sessions/documents/…`: `put`, `get`, `append`, `list`, `find`, `delete`.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::{ContentIn, ContentOut};
use super::wire::{content, session, text, texts};
use super::{asking, milliseconds, only};
use crate::app::App;
use crate::domain::sessions::change::{Change, NewEntry, PutDocument, Step, StepDone};
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::storage::FindDocuments;
use crate::domain::sessions::{Content, DOCUMENT, Document};
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::problem::Problem;
use crate::http::store::wire::version;

const PUT: &str = "/v1/sessions/documents/put";
const APPEND: &str = "/v1/sessions/documents/append";

/// Put a document
///
/// Creates it, or replaces all of it. Without `if_version` the last put wins. To replace needs `write`, to create one (`if_version` 0)
/// `append`.
#[utoipa::path(
    post, path = PUT, operation_id = "put_document", tag = "sessions",
    request_body(content = PutDocumentBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"], "name": "NOTES.md", "content": "# Notes"})),
    responses(
        (status = 200, description = "Durable", body = StoredDocument,
            example = json!({"version": 1_769_860_800_000_000_i64, "updated_at_ms": 1_769_860_800_000_i64, "size": 7})),
        (status = 409, description = "`version_conflict`, `session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, call: Call<Storing<true>>) -> Answer {
    store(&app, call).await
}

/// Append to a document
///
/// Behind what it has, in one statement; creates it where there is none.
#[utoipa::path(
    post, path = APPEND, operation_id = "append_document", tag = "sessions",
    request_body(content = AppendDocumentBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"], "name": "NOTES.md", "content": "\nmore"})),
    responses(
        (status = 200, description = "Durable", body = StoredDocument,
            example = json!({"version": 1_769_860_800_000_001_i64, "updated_at_ms": 1_769_860_800_000_i64, "size": 12})),
        (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn append(State(app): State<Arc<App>>, call: Call<Storing<false>>) -> Answer {
    store(&app, call).await
}

async fn store<const REPLACES: bool>(app: &App, call: Call<Storing<REPLACES>>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = asking(&caller, deadline, input.idempotency);
    match only(app.sessions.change(&asking, input.change).await?)? {
        StepDone::Stored { version, updated_at, size_bytes, .. } => {
            let updated_at_ms = milliseconds(updated_at);
            reply.with(&StoredDocument { version, updated_at_ms, size: size_bytes }).await
        }
        _ => Err(Problem::internal("a document has another outcome")),
    }
}

/// Get a document
#[utoipa::path(
    post, path = "/v1/sessions/documents/get", operation_id = "get_document", tag = "sessions",
    request_body(content = NameBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"], "name": "NOTES.md"})),
    responses(
        (status = 200, description = "With its content", body = DocumentOut, example = json!({"content": "# Notes",
            "version": 1_769_860_800_000_000_i64, "updated_at_ms": 1_769_860_800_000_i64, "size": 7})),
        (status = 404, description = "`document_not_found`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<OneDocument>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let found = app.sessions.get_document(&caller, &input.session, &input.name).await?;
    reply.with(&DocumentOut::from(found.ok_or(Error::NotFound(DOCUMENT))?)).await
}

/// List documents
///
/// By name, of one session, without their contents.
#[utoipa::path(
    post, path = "/v1/sessions/documents/list", operation_id = "list_documents", tag = "sessions",
    request_body(content = ListDocumentsBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"]})),
    responses((status = 200, description = "All of them", body = Documents, example = json!({"documents": [
        {"name": "NOTES.md", "version": 1_769_860_800_000_000_i64, "updated_at_ms": 1_769_860_800_000_i64, "size": 7}]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<ListDocuments>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let found = app.sessions.list_documents(&caller, &input.session, &input.name_prefix).await?;
    reply
        .with(&Documents { documents: found.into_iter().map(ListedDocument::from).collect() })
        .await
}

/// Find documents
///
/// Those of one name of all sessions below a prefix, by key: at most 10,000, and 64 MiB of contents.
#[utoipa::path(
    post, path = "/v1/sessions/documents/find", operation_id = "find_documents", tag = "sessions",
    request_body(content = FindBody, example = json!({"kind": "claude", "key_prefix": ["my-project"], "name": "summary"})),
    responses((status = 200, description = "All of them", body = FoundDocuments, example = json!({"documents": [
        {"key": ["my-project", "3f0c"], "content": "{}", "version": 1_769_860_800_000_000_i64, "updated_at_ms": 1_769_860_800_000_i64}]}))),
)]
pub async fn find(State(app): State<Arc<App>>, call: Call<FindDocuments>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let found = app.sessions.find_documents(&caller, &input).await?;
    let document = |(session, it): (SessionName, Content)| FoundDocument {
        key: session.key().to_vec(),
        content: ContentOut(it.text),
        version: it.document.version,
        updated_at_ms: milliseconds(it.document.updated_at),
    };
    reply.with(&FoundDocuments { documents: found.into_iter().map(document).collect() }).await
}

/// Delete a document
///
/// No error when there is none.
#[utoipa::path(
    post, path = "/v1/sessions/documents/delete", operation_id = "delete_document", tag = "sessions",
    request_body(content = NameBody, example = json!({"kind": "agentrail", "key": ["acme", "s-1"], "name": "NOTES.md"})),
    responses((status = 200, description = "Deleted, or never there", body = Empty)),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<OneDocument>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![Step::DeleteDocument { name: input.name }];
    let change = Change { session: input.session, about: None, steps };
    app.sessions.change(&asking(&caller, deadline, None), change).await?;
    reply.done().await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutDocument)]
pub struct PutDocumentBody<'a> {
    kind: Text,
    key: Vec<Text>,
    name: Text,
    #[serde(borrow)]
    content: ContentIn<'a>,
    /// The version that the document must have; 0: there must be none. Absent: the last put wins.
    #[schema(minimum = 0)]
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AppendDocument)]
pub struct AppendDocumentBody<'a> {
    kind: Text,
    key: Vec<Text>,
    name: Text,
    #[serde(borrow)]
    content: ContentIn<'a>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OneDocument)]
pub struct NameBody {
    kind: Text,
    key: Vec<Text>,
    name: Text,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListDocuments)]
pub struct ListDocumentsBody {
    kind: Text,
    key: Vec<Text>,
    name_prefix: Option<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FindDocuments)]
pub struct FindBody {
    kind: Text,
    /// First parts of the keys. Absent: all.
    key_prefix: Option<Vec<Text>>,
    name: Text,
}

#[derive(Serialize, ToSchema)]
pub struct StoredDocument {
    version: i64,
    updated_at_ms: i64,
    /// Of the whole content, in bytes of UTF-8; of what was sent, where the caller may not read the session.
    size: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Document)]
pub struct DocumentOut {
    #[schema(value_type = ContentIn)]
    content: ContentOut,
    version: i64,
    updated_at_ms: i64,
    size: i64,
}

#[derive(Serialize, ToSchema)]
pub struct ListedDocument {
    name: String,
    version: i64,
    updated_at_ms: i64,
    size: i64,
}

#[derive(Serialize, ToSchema)]
pub struct Documents {
    documents: Vec<ListedDocument>,
}

#[derive(Serialize, ToSchema)]
pub struct FoundDocument {
    key: Vec<String>,
    #[schema(value_type = ContentIn)]
    content: ContentOut,
    version: i64,
    updated_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
pub struct FoundDocuments {
    documents: Vec<FoundDocument>,
}

/// A put or, without `REPLACES`, an append.
pub struct Storing<const REPLACES: bool> {
    change: Change,
    idempotency: Option<(String, [u8; 32])>,
}

pub struct OneDocument {
    session: SessionName,
    name: String,
}

pub struct ListDocuments {
    session: SessionName,
    name_prefix: String,
}

impl From<Content> for DocumentOut {
    fn from(content: Content) -> Self {
        let Document { version, updated_at, size_bytes, .. } = content.document;
        let updated_at_ms = milliseconds(updated_at);
        Self { content: ContentOut(content.text), version, updated_at_ms, size: size_bytes }
    }
}

impl From<Document> for ListedDocument {
    fn from(document: Document) -> Self {
        Self {
            name: document.name,
            version: document.version,
            updated_at_ms: milliseconds(document.updated_at),
            size: document.size_bytes,
        }
    }
}

impl Input for Storing<true> {
    type Wire<'a> = PutDocumentBody<'a>;

    fn from_wire(wire: PutDocumentBody<'_>, received: &Received) -> Result<Self> {
        let content = content("content", wire.content)?;
        let name = wire.name.0;
        let if_version = wire.if_version.map(version).transpose()?;
        let put = PutDocument { name, content, if_version, only_joins: false };
        // Without a condition a second put is like the first.
        let idempotency = wire.if_version.and_then(|_| received.idempotency(PUT));
        let session = session(wire.kind, wire.key)?;
        Ok(Self { change: one(session, Step::PutDocument(put)), idempotency })
    }
}

impl Input for Storing<false> {
    type Wire<'a> = AppendDocumentBody<'a>;

    fn from_wire(wire: AppendDocumentBody<'_>, received: &Received) -> Result<Self> {
        let content = content("content", wire.content)?;
        let step = Step::ExtendDocument { name: wire.name.0, content };
        let session = session(wire.kind, wire.key)?;
        Ok(Self { change: one(session, step), idempotency: received.idempotency(APPEND) })
    }
}

impl Input for OneDocument {
    type Wire<'a> = NameBody;

    fn from_wire(wire: NameBody, _: &Received) -> Result<Self> {
        Ok(Self { session: session(wire.kind, wire.key)?, name: wire.name.0 })
    }
}

impl Input for ListDocuments {
    type Wire<'a> = ListDocumentsBody;

    fn from_wire(wire: ListDocumentsBody, _: &Received) -> Result<Self> {
        let name_prefix = text(wire.name_prefix).unwrap_or_default();
        Ok(Self { session: session(wire.kind, wire.key)?, name_prefix })
    }
}

impl Input for FindDocuments {
    type Wire<'a> = FindBody;

    fn from_wire(wire: FindBody, _: &Received) -> Result<Self> {
        let key_prefix = texts(wire.key_prefix.unwrap_or_default());
        Ok(Self { kind: wire.kind.0, key_prefix, name: wire.name.0 })
    }
}

fn one(session: SessionName, step: Step<NewEntry>) -> Change {
    Change { session, about: None, steps: vec![step] }
}
