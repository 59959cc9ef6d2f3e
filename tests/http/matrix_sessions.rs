//! Defines what the permission matrix expects of sessions and of Agentrail's routes.

use serde_json::{Value, json};

use crate::matrix_table::{Answers, DENIED, OK, READ, REMOVE, Request, Row, answers, body, row};

const NO_SESSION: &str = "404 session_not_found";
const NO_DOCUMENT: &str = "404 document_not_found";
/// Sessions are answered about like threads, but for what is not there.
const READ_SESSION: Answers = answers([NO_SESSION, NO_SESSION, NO_SESSION, OK, DENIED]);
const READ_DOCUMENT: Answers = answers([NO_DOCUMENT, NO_DOCUMENT, NO_DOCUMENT, OK, DENIED]);
const APPEND_SESSION: Answers = answers([OK, SESSION_TAKEN, DENIED, DENIED, OK]);
pub const SESSION_TAKEN: &str = "409 session_taken";
/// Their token stands in the path: `sessions.rs` asks them.
pub const BY_PATH: [&str; 5] = [
    "inspect_health_by_token",
    "inspect_messages_by_token",
    "inspect_orchestration_by_token",
    "inspect_sessions_by_token",
    "inspect_trace_by_token",
];

pub const ROWS: &[Row] = &[
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
    row("list_session_kinds", |_, _| body(json!({})), answers([OK, OK, DENIED, DENIED, DENIED])),
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
        "agentrail_compact_session",
        |thread, _| {
            at(
                thread,
                json!({"throughSeq": 2, "expectedHead": 3, "compressedCount": 2, "placeholder": {}}),
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
];

/// Requests whose path says which session.
fn at(thread: &str, body: Value) -> Request {
    Request::Path(thread.to_owned(), Some(body))
}

pub fn look(thread: &str) -> Request {
    Request::Path(thread.to_owned(), None)
}

/// A request about the session that is named after a thread.
fn session(thread: &str, mut more: Value) -> Request {
    more["kind"] = json!("kind");
    more["key"] = json!([thread]);
    body(more)
}

/// An address of Agentrail's, about one session.
pub fn path_of_session(template: &str, session: &str) -> String {
    let ids = [
        ("{session}", session),
        ("{owner}", session),
        ("{tenant}", "t"),
        ("{user}", "ann"),
        ("{scope}", "session"),
        ("{name}", "NOTES.md"),
        ("{agent}", "a"),
        ("{archive}", "0001"),
        ("{tool_call}", "call"),
    ];
    let path = ids.iter().fold(template.to_owned(), |path, (name, id)| path.replace(name, id));
    if path.contains("__inspector/sessions/") { path + "?tenantId=t" } else { path }
}

/// What ann has with Agentrail: everything that can be read, with this in it.
pub fn of_agentrail(content: &str) -> [(&'static str, Value); 14] {
    let message = json!({"role": "user", "content": content});
    let compaction = json!({
        "throughSeq": 1, "expectedHead": 2, "compressedCount": 1, "placeholder": message
    });
    let events = json!({"event": {"eventId": "e", "note": content}, "snapshot": {}});
    [
        ("PUT s/{session}", json!({"userId": "ann", "agentId": "a"})),
        ("POST s/{session}/messages", json!({"messages": [message, message]})),
        ("POST s/{session}/compact", compaction),
        ("POST s/{session}/messages", json!({"messages": [message]})),
        ("POST s/{session}/turns", json!({"totalTokens": 7})),
        ("POST s/{session}/trace", json!({"envelopes": [{"id": "e", "note": content}]})),
        ("POST s/{session}/orch/events", events),
        ("POST s/{session}/orch/agents/a/mailbox", json!({"events": [{"eventId": "e"}]})),
        ("PUT s/{session}/orch/agents/a/mailbox-state", json!({"state": {"note": content}})),
        ("PUT s/{session}/orch/agents/a/history", json!({"history": [content]})),
        ("PUT memo/session/{session}/NOTES.md", json!({"content": content})),
        ("PUT s/{session}/todos", json!({"content": content})),
        ("PUT s/{session}/artifacts/call", json!({"content": content})),
        ("POST s/{session}/skill-logs", json!({"note": content})),
    ]
}
