//! Defines what the matrix expects of every operation: a request about a thread, and the answer for every caller.

use serde_json::{Value, json};

use crate::matrix::Route;
use crate::server::DOCUMENT;
use crate::tokens::{SECOND, START};
use crate::wire::{base64, commit, put};
use crate::{matrix_agent_server, matrix_files, matrix_sessions, matrix_snapshots};

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

#[derive(Debug, Clone)]
pub enum Request {
    /// The query, with its question mark, or nothing.
    Query(String),
    Body(Value),
    /// The session in the path, and a body; the method is the operation's.
    Path(String, Option<Value>),
    /// The thread in the path, and a body.
    Thread(String, Option<Value>),
    /// The query, with bytes as the body.
    Raw(String),
    /// The query, with an archive that has nothing in it.
    Tar(String),
    /// The query, with the file of an export that has nothing in it.
    File(String),
}

pub const OK: &str = "200";
pub const DENIED: &str = "403 not_granted";
pub const ABSENT: &str = "404 not_found";
pub const NO_THREAD: &str = "404 thread_not_found";
/// The one answer that differs from that about an absent thread.
pub const TAKEN: &str = "409 thread_taken";

/// Who presents nothing gets a part of its answer.
pub const OPEN: &str = "get_info";

/// For everybody who reaches the server, whatever they present.
pub const PUBLIC: [&str; 10] = [
    "agent_server_get_info",
    "agent_server_get_ok",
    "agent_server_get_root",
    "get_docs",
    "get_health",
    "get_openapi",
    "get_openapi_agentrail",
    "get_openapi_msgpack",
    "get_readiness",
    SIGNED,
];
/// Needs the name of a part of a large value, which `value_parts` puts: there stands who gets it.
pub const OF_LARGE_VALUES: [&str; 1] = ["get_value_part"];
/// Asks for a signature, which `drive_access` looks at.
pub const SIGNED: &str = "open_signed_file";

pub const fn answers(all: [&'static str; 5]) -> Answers {
    let [other_tenant, other_subject, other_thread, read_only, append_only] = all;
    Answers { other_tenant, other_subject, other_thread, read_only, append_only }
}

pub const READ: Answers = answers([OK, OK, OK, OK, DENIED]);
pub const REMOVE: Answers = answers([OK, OK, DENIED, DENIED, DENIED]);
pub const ADMINISTER: Answers = answers([OK, DENIED, DENIED, DENIED, DENIED]);
pub const OPERATE: Answers = answers([DENIED; 5]);
pub const ANYBODY: Answers = answers([OK, OK, OK, OK, OK]);

pub const APPEND_ITEM: Answers = answers([OK, DENIED, DENIED, DENIED, OK]);
/// A put replaces: to append is not enough.
pub const WRITE_ITEM: Answers = answers([OK, DENIED, DENIED, DENIED, DENIED]);

/// Every operation that needs a permission.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let beside = [matrix_sessions::ROWS, matrix_files::ROWS, matrix_snapshots::ROWS];
    ROWS.iter().chain(beside.into_iter().flatten()).chain(matrix_agent_server::ROWS)
}

/// What only operators may do.
pub fn is_of_operators(route: &Route) -> bool {
    permission_of(route) == "operator"
}

/// An operator looks after tenants, and gets nothing of what they keep.
pub fn answer_to_operator(route: &Route) -> &'static str {
    let is_of_a_tenant = ["mint_token", "narrow_token", "revoke_token"];
    let is_anybodys =
        permission_of(route) == "any" && !is_of_a_tenant.contains(&route.operation.as_str());
    if is_of_operators(route) || is_anybodys { "200" } else { DENIED }
}

/// Empty: everybody may ask.
fn permission_of(route: &Route) -> &'static str {
    let operation = &DOCUMENT["paths"][&route.path][&route.method.to_lowercase()];
    operation["x-permission"].as_str().unwrap_or_default()
}

/// Who reads the whole tenant gets what an operation only reads, as far as its permission says, and nothing else.
pub fn answer_to_reader(route: &Route) -> &'static str {
    // These need more than their permission says.
    let asks_for_more = ["restore_snapshot", "mint_token", "revoke_token"];
    let permission = permission_of(route);
    let reads = permission == "any" || permission.ends_with(":read");
    if reads && !asks_for_more.contains(&route.operation.as_str()) { "200" } else { DENIED }
}

const ROWS: &[Row] = &[
    row(
        "commit_checkpoints",
        |thread, _| body(commit(thread, &[put("2", &base64(b"x"))])),
        answers([OK, TAKEN, DENIED, DENIED, OK]),
    ),
    row(
        "put_value_part",
        |thread, _| body(json!({"thread_id": thread, "index": 0, "data": base64(b"part")})),
        answers([OK, TAKEN, DENIED, DENIED, OK]),
    ),
    row("get_checkpoint", |thread, _| of(thread), READ),
    row("list_checkpoints", |thread, _| of(thread), READ),
    row("list_timeline", |thread, _| of(thread), READ),
    row(
        "get_channel_history",
        |thread, _| body(json!({"thread_id": thread, "channels": ["messages"]})),
        READ,
    ),
    row("get_checkpoint_values", |thread, _| query(&format!("?thread_id={thread}")), READ),
    row("get_state", |thread, _| query(&format!("?thread_id={thread}")), READ),
    row(
        "delete_checkpoints_of_runs",
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
    // Both answer the thread, so to append alone is not enough.
    row("create_thread", |thread, _| of(thread), answers([OK, TAKEN, DENIED, DENIED, DENIED])),
    row(
        "update_thread",
        |thread, _| body(json!({"thread_id": thread, "title": "another"})),
        answers([NO_THREAD, NO_THREAD, DENIED, DENIED, DENIED]),
    ),
    row("search_threads", |_, _| body(json!({})), answers([OK, OK, DENIED, DENIED, DENIED])),
    row("count_threads", |_, _| body(json!({})), answers([OK, OK, DENIED, DENIED, DENIED])),
    // Each hears of what it may read, and of nothing else.
    row("follow_threads", |_, _| query(""), READ),
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
    row("list_retention_policies", |_, _| query(""), ADMINISTER),
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
    row("list_largest_namespaces", |_, _| body(json!({})), READ),
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
    row("get_metrics", |_, _| query(""), ADMINISTER),
    row("get_usage", |_, _| query(""), ADMINISTER),
    row("list_audit_events", |_, _| query(""), ADMINISTER),
    row("list_subjects", |_, _| query(""), ADMINISTER),
    row("delete_subject", |_, _| query("?subject=ann"), ADMINISTER),
    row("list_keys", |_, _| query(""), ADMINISTER),
    row("create_key", |_, _| body(json!({"name": "another"})), ADMINISTER),
    // A key of this name is there in every tenant.
    row("revoke_key", |_, _| body(json!({"key_id": "key_spare"})), ADMINISTER),
    row("list_tokens", |_, _| query(""), ADMINISTER),
    // About the tenant that has nothing of the thread.
    row("list_tenants", |_, _| query(""), OPERATE),
    row("get_tenant_quota", |_, _| query("?tenant=globex"), OPERATE),
    row("put_tenant_quota", |_, _| body(json!({"tenant": "globex", "items_max": 9})), OPERATE),
    row("rotate_tenant_secrets", |_, _| body(json!({"tenant": "globex"})), OPERATE),
    row("list_tenant_keys", |_, _| query("?tenant=globex"), OPERATE),
    row("create_tenant_key", |_, _| body(json!({"tenant": "globex"})), OPERATE),
    row(
        "revoke_tenant_key",
        |_, _| body(json!({"tenant": "globex", "key_id": "key_spare"})),
        OPERATE,
    ),
    row("get_limits", |_, _| query(""), ANYBODY),
    row("whoami", |_, _| query(""), ANYBODY),
    row(OPEN, |_, _| query(""), ANYBODY),
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

pub const fn row(
    operation: &'static str,
    request: fn(&str, &str) -> Request,
    answers: Answers,
) -> Row {
    Row { operation, request, answers }
}

pub fn of(thread: &str) -> Request {
    body(json!({"thread_id": thread}))
}

pub fn body(body: Value) -> Request {
    Request::Body(body)
}

pub fn query(query: &str) -> Request {
    Request::Query(query.to_owned())
}

/// A request about the item of a thread's namespace.
pub fn item(thread: &str, mut more: Value) -> Request {
    more["namespace"] = json!(["ann", thread]);
    more["key"] = json!("k");
    body(more)
}

pub fn below(thread: &str) -> Request {
    body(json!({"prefix": ["ann", thread]}))
}
