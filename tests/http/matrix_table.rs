//! What the matrix expects of every operation: a request about a thread, and the answer for everybody who is let in.

use serde_json::{Value, json};

use crate::tokens::{SECOND, START};
use crate::wire::{base64, commit, put};

/// Holder and fence of the lease on the thread.
pub const HOLDER: &str = "the-holder";

/// An operation that needs a permission.
pub struct Row {
    pub operation: &'static str,
    /// About this thread; the same for any thread where the operation names none. The token is one of the owner's.
    pub request: fn(thread: &str, token_id: &str) -> Request,
    pub answers: Answers,
}

/// Status, and code of what is refused.
pub struct Answers {
    /// A key of another tenant.
    pub other_tenant: &'static str,
    /// A token of another subject of the same tenant.
    pub other_subject: &'static str,
    /// A token with all actions on another thread, which it names.
    pub other_thread: &'static str,
    /// A token with `read` on this thread.
    pub read_only: &'static str,
    /// A token with `append` on this thread.
    pub append_only: &'static str,
}

#[derive(Debug)]
pub enum Request {
    /// The query, with its question mark, or nothing.
    Query(String),
    Body(Value),
    /// The session in the path, and a body; the method is the operation's.
    Path(String, Option<Value>),
}

const OK: &str = "200";
const DENIED: &str = "403 not_granted";
const ABSENT: &str = "404 not_found";
const NO_FILE: &str = "404 file_not_found";
/// The one answer that differs from that about an absent thread.
pub const TAKEN: &str = "409 thread_taken";
pub const SESSION_TAKEN: &str = "409 session_taken";

/// Their token stands in the path: `sessions.rs` asks them.
pub const BY_PATH: [&str; 5] = [
    "inspect_health_by_token",
    "inspect_messages_by_token",
    "inspect_orchestration_by_token",
    "inspect_sessions_by_token",
    "inspect_trace_by_token",
];

/// For everybody who reaches the server, whatever they present.
pub const PUBLIC: [&str; 5] =
    ["get_docs", "get_health", "get_metrics", "get_openapi", "get_readiness"];

const fn answers(all: [&'static str; 5]) -> Answers {
    let [other_tenant, other_subject, other_thread, read_only, append_only] = all;
    Answers { other_tenant, other_subject, other_thread, read_only, append_only }
}

const READ: Answers = answers([OK, OK, OK, OK, DENIED]);
const REMOVE: Answers = answers([OK, OK, DENIED, DENIED, DENIED]);
const ADMINISTER: Answers = answers([OK, DENIED, DENIED, DENIED, DENIED]);
/// Sessions are answered about like threads, but for what is not there.
const READ_SESSION: Answers = answers([NO_SESSION, NO_SESSION, NO_SESSION, OK, DENIED]);
const READ_DOCUMENT: Answers = answers([NO_DOCUMENT, NO_DOCUMENT, NO_DOCUMENT, OK, DENIED]);
const APPEND_SESSION: Answers = answers([OK, SESSION_TAKEN, DENIED, DENIED, OK]);
const NO_SESSION: &str = "404 session_not_found";
const NO_DOCUMENT: &str = "404 document_not_found";
const ANYBODY: Answers = answers([OK, OK, OK, OK, OK]);

/// A put replaces: to append is not enough.
const WRITE_ITEM: Answers = answers([OK, DENIED, DENIED, DENIED, DENIED]);

const READ_FILE: Answers = answers([NO_FILE, NO_FILE, NO_FILE, OK, DENIED]);
const CHANGE_FILE: Answers = answers([NO_FILE, DENIED, DENIED, DENIED, DENIED]);

pub const ROWS: [Row; 105] = [
    row(
        "commit_checkpoints",
        |thread, _| body(commit(thread, &[put("2", &base64(b"x"))])),
        answers([OK, TAKEN, DENIED, DENIED, OK]),
    ),
    row("get_checkpoint", |thread, _| of(thread), READ),
    row("list_checkpoints", |thread, _| of(thread), READ),
    row(
        "get_history",
        |thread, _| body(json!({"thread_id": thread, "channels": ["messages"]})),
        READ,
    ),
    row("get_checkpoint_values", |thread, _| query(&format!("?thread_id={thread}")), READ),
    row("get_state", |thread, _| query(&format!("?thread_id={thread}")), READ),
    row(
        "delete_for_runs",
        |_, _| body(json!({"run_ids": ["run"]})),
        answers([OK, OK, OK, DENIED, DENIED]),
    ),
    row(
        "prune_threads",
        |thread, _| body(json!({"thread_ids": [thread], "strategy": "delete"})),
        REMOVE,
    ),
    row("list_threads", |_, _| query(""), answers([OK, OK, DENIED, DENIED, DENIED])),
    row("get_thread", |thread, _| of(thread), READ),
    row("get_thread_storage", |thread, _| query(&format!("?thread_id={thread}")), READ),
    row("delete_thread", |thread, _| of(thread), REMOVE),
    // The target is granted to none of the tokens that name one thread.
    row(
        "copy_thread",
        |thread, _| {
            body(
                json!({"source_thread_id": thread, "target_thread_id": format!("copy-of-{thread}")}),
            )
        },
        REMOVE,
    ),
    row(
        "acquire_lease",
        |thread, _| body(json!({"thread_id": thread, "holder": HOLDER, "ttl_seconds": 60})),
        answers([OK, TAKEN, DENIED, DENIED, OK]),
    ),
    row(
        "renew_lease",
        |thread, _| {
            body(json!({"thread_id": thread, "holder": HOLDER, "fence": 1, "ttl_seconds": 60}))
        },
        answers(["409 fence_stale", TAKEN, DENIED, DENIED, OK]),
    ),
    row(
        "release_lease",
        |thread, _| body(json!({"thread_id": thread, "holder": HOLDER, "fence": 1})),
        answers([OK, TAKEN, DENIED, DENIED, OK]),
    ),
    row(
        "put_retention_policy",
        |thread, _| body(json!({"thread_id": thread, "keep_last": 3})),
        answers([OK, ABSENT, DENIED, DENIED, DENIED]),
    ),
    row("get_retention_policy", |thread, _| of(thread), READ),
    row("delete_retention_policy", |thread, _| of(thread), REMOVE),
    row("list_retention_reports", |thread, _| query(&format!("?thread_id={thread}")), READ),
    row("run_retention", |thread, _| of(thread), REMOVE),
    // Items are in a namespace named after the thread.
    row("put_item", |thread, _| item(thread, json!({"value": {"n": 1}})), WRITE_ITEM),
    row("get_item", |thread, _| item(thread, json!({})), READ),
    row(
        "delete_item",
        |thread, _| item(thread, json!({})),
        answers([OK, DENIED, DENIED, DENIED, DENIED]),
    ),
    row("search_items", |thread, _| below(thread), READ),
    row("list_namespaces", |_, _| body(json!({})), READ),
    row("count_items", |thread, _| below(thread), READ),
    row("list_item_versions", |thread, _| item(thread, json!({})), READ),
    row("get_item_version", |thread, _| item(thread, json!({"version": 1})), READ),
    // The version that it has: the time of its put.
    row(
        "restore_item_version",
        |thread, _| item(thread, json!({"version": START + 2 * SECOND})),
        answers([ABSENT, DENIED, DENIED, DENIED, DENIED]),
    ),
    row(
        "put_namespace_setting",
        |thread, _| body(json!({"namespace": ["ann", thread], "history": 3})),
        WRITE_ITEM,
    ),
    row("get_namespace_setting", |thread, _| body(json!({"namespace": ["ann", thread]})), READ),
    row(
        "delete_namespace_setting",
        |thread, _| body(json!({"namespace": ["ann", thread]})),
        WRITE_ITEM,
    ),
    row("list_namespace_settings", |_, _| body(json!({})), READ),
    row("follow_changes", |thread, _| query(&format!("?ns=ann&ns={thread}")), READ),
    // Each operation is asked for by itself, and refused in its place.
    row(
        "run_store_batch",
        |thread, _| {
            let one = json!({"namespace": ["ann", thread], "key": "k"});
            body(json!({"atomic": false, "ops": [{"get": one}]}))
        },
        ANYBODY,
    ),
    // The session is named after the thread.
    row("create_session", |thread, _| session(thread, json!({})), APPEND_SESSION),
    row(
        "append_entries",
        |thread, _| session(thread, json!({"entries": [{"data": 1}]})),
        APPEND_SESSION,
    ),
    row("load_entries", |thread, _| session(thread, json!({})), READ_SESSION),
    row("list_streams", |thread, _| session(thread, json!({})), READ),
    row(
        "list_sessions",
        |_, _| body(json!({"kind": "kind"})),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row("delete_session", |thread, _| session(thread, json!({})), REMOVE),
    row(
        "put_document",
        |thread, _| session(thread, json!({"name": "other.md", "content": "x"})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row("get_document", |thread, _| session(thread, json!({"name": "NOTES.md"})), READ_DOCUMENT),
    row(
        "append_document",
        |thread, _| session(thread, json!({"name": "other.md", "content": "x"})),
        APPEND_SESSION,
    ),
    row("list_documents", |thread, _| session(thread, json!({})), READ),
    row(
        "find_documents",
        |_, _| body(json!({"kind": "kind", "name": "NOTES.md"})),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row("delete_document", |thread, _| session(thread, json!({"name": "other.md"})), REMOVE),
    row("add_to_counter", |thread, _| session(thread, json!({"counter": "turns"})), APPEND_SESSION),
    row(
        "compact_stream",
        |thread, _| {
            let compaction = json!({
                "stream": "", "through_seq": 1, "expected_head": 1, "archive_stream_prefix": "archives/",
                "replacement": []
            });
            session(thread, compaction)
        },
        answers(["404 session_not_found", SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    // The item is a file too.
    row("list_files", |thread, _| file(thread, json!({})), READ),
    row("download_files", |thread, _| files(thread, json!({"paths": ["k"]})), READ),
    row("glob_files", |thread, _| files(thread, json!({"pattern": "*"})), READ),
    row("grep_files", |thread, _| files(thread, json!({"pattern": "only"})), READ),
    row("read_file", |thread, _| file(thread, json!({})), READ_FILE),
    row("stat_file", |thread, _| file(thread, json!({})), READ_FILE),
    row(
        "write_file",
        |thread, _| files(thread, json!({"path": "/new", "content": ""})),
        WRITE_ITEM,
    ),
    row(
        "append_file",
        |thread, _| files(thread, json!({"path": "/new", "content": ""})),
        answers([OK, DENIED, DENIED, DENIED, OK]),
    ),
    row(
        "edit_file",
        |thread, _| file(thread, json!({"old_string": "only", "new_string": ""})),
        CHANGE_FILE,
    ),
    row(
        "upload_files",
        |thread, _| files(thread, json!({"files": [{"path": "/new", "bytes": ""}]})),
        WRITE_ITEM,
    ),
    row("delete_files", |thread, _| file(thread, json!({})), CHANGE_FILE),
    row("move_files", |thread, _| files(thread, json!({"from": "k", "to": "/new"})), CHANGE_FILE),
    row("copy_files", |thread, _| files(thread, json!({"from": "k", "to": "/new"})), CHANGE_FILE),
    // Agentrail's session is named after the thread, within its tenant `t`.
    row(
        "agentrail_list_sessions",
        |thread, _| look(thread),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row("inspect_sessions", |thread, _| look(thread), answers([OK, OK, DENIED, DENIED, DENIED])),
    row("agentrail_load_messages", |thread, _| look(thread), READ_SESSION),
    row("agentrail_load_archive", |thread, _| look(thread), READ_SESSION),
    row("agentrail_get_memo", |thread, _| look(thread), READ_DOCUMENT),
    row("agentrail_get_todos", |thread, _| look(thread), READ_DOCUMENT),
    row("agentrail_get_artifact", |thread, _| look(thread), READ_DOCUMENT),
    row("agentrail_get_snapshot", |thread, _| look(thread), READ_DOCUMENT),
    row("agentrail_get_mailbox_state", |thread, _| look(thread), READ_DOCUMENT),
    row("agentrail_get_history", |thread, _| look(thread), READ_DOCUMENT),
    row("agentrail_list_archives", |thread, _| look(thread), READ),
    row("agentrail_list_artifacts", |thread, _| look(thread), READ),
    row("agentrail_load_trace", |thread, _| look(thread), READ),
    row("agentrail_load_events", |thread, _| look(thread), READ),
    row("agentrail_load_mailbox", |thread, _| look(thread), READ),
    row("inspect_health", |thread, _| look(thread), READ),
    row("inspect_trace", |thread, _| look(thread), READ),
    row("inspect_messages", |thread, _| look(thread), READ),
    row("inspect_orchestration", |thread, _| look(thread), READ),
    row(
        "agentrail_put_session",
        |thread, _| at(thread, json!({"userId": "ann", "agentId": "a"})),
        APPEND_SESSION,
    ),
    row(
        "agentrail_append_messages",
        |thread, _| at(thread, json!({"messages": [{"role": "user"}]})),
        APPEND_SESSION,
    ),
    row("agentrail_record_turn", |thread, _| at(thread, json!({"totalTokens": 3})), APPEND_SESSION),
    row("agentrail_log_skill", |thread, _| at(thread, json!({"skillName": "s"})), APPEND_SESSION),
    row(
        "agentrail_append_trace",
        |thread, _| at(thread, json!({"envelopes": [{"id": "x"}]})),
        APPEND_SESSION,
    ),
    row(
        "agentrail_append_events",
        |thread, _| at(thread, json!({"events": [{"eventId": "x"}]})),
        APPEND_SESSION,
    ),
    row(
        "agentrail_append_mailbox",
        |thread, _| at(thread, json!({"events": [{"eventId": "x"}]})),
        APPEND_SESSION,
    ),
    row("agentrail_append_memo", |thread, _| at(thread, json!({"content": "x"})), APPEND_SESSION),
    row(
        "agentrail_compact",
        |thread, _| {
            at(
                thread,
                json!({"throughSeq": 1, "expectedHead": 1, "compressedCount": 1, "placeholder": {}}),
            )
        },
        answers(["404 session_not_found", SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row(
        "agentrail_put_memo",
        |thread, _| at(thread, json!({"content": "x"})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row(
        "agentrail_put_todos",
        |thread, _| at(thread, json!({"content": "x"})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row(
        "agentrail_put_artifact",
        |thread, _| at(thread, json!({"content": "x"})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row(
        "agentrail_put_snapshot",
        |thread, _| at(thread, json!({"snapshot": {}})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row(
        "agentrail_put_mailbox_state",
        |thread, _| at(thread, json!({"state": {}})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row(
        "agentrail_put_history",
        |thread, _| at(thread, json!({"history": []})),
        answers([OK, SESSION_TAKEN, DENIED, DENIED, DENIED]),
    ),
    row("get_usage", |_, _| query(""), ADMINISTER),
    row("list_audit_events", |_, _| query(""), ADMINISTER),
    row("delete_subject", |_, _| query("?subject=ann"), ADMINISTER),
    row("get_limits", |_, _| query(""), ANYBODY),
    row("whoami", |_, _| query(""), ANYBODY),
    row(
        "mint_token",
        |thread, _| body(json!({"grants": {"threads": [{"id": thread, "actions": ["read"]}]}})),
        ADMINISTER,
    ),
    // A key narrows to any part of its tenant.
    row(
        "narrow_token",
        |thread, _| body(json!({"grants": {"threads": [{"id": thread, "actions": ["read"]}]}})),
        answers([OK, DENIED, DENIED, OK, DENIED]),
    ),
    // Ids of tokens are not stored, so a key of another tenant cannot be told that there is none.
    row("revoke_token", |_, token_id| body(json!({"token_id": token_id})), ADMINISTER),
];

const fn row(operation: &'static str, request: fn(&str, &str) -> Request, answers: Answers) -> Row {
    Row { operation, request, answers }
}

fn of(thread: &str) -> Request {
    body(json!({"thread_id": thread}))
}

fn body(body: Value) -> Request {
    Request::Body(body)
}

fn query(query: &str) -> Request {
    Request::Query(query.to_owned())
}

/// A request about the item of a thread's namespace.
fn item(thread: &str, mut more: Value) -> Request {
    more["namespace"] = json!(["ann", thread]);
    more["key"] = json!("k");
    body(more)
}

/// Requests whose path says which session.
fn at(thread: &str, body: Value) -> Request {
    Request::Path(thread.to_owned(), Some(body))
}

fn look(thread: &str) -> Request {
    Request::Path(thread.to_owned(), None)
}

/// A request about the session that is named after a thread.
fn session(thread: &str, mut more: Value) -> Request {
    more["kind"] = json!("kind");
    more["key"] = json!([thread]);
    body(more)
}

fn files(thread: &str, mut more: Value) -> Request {
    more["namespace"] = json!(["ann", thread]);
    body(more)
}

fn file(thread: &str, mut more: Value) -> Request {
    more["path"] = json!("k");
    files(thread, more)
}

fn below(thread: &str) -> Request {
    body(json!({"prefix": ["ann", thread]}))
}
