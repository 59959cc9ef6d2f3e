//! Lists the calls for the comparison of two databases: every operation of the document on own and foreign data, ways around a grant, and
//! guesses at hidden data.

use serde_json::{Value, json};

use crate::matrix::{CONTENT, NOBODYS, Route, THREAD, routes};
use crate::matrix_agent_server::REFUSED;
use crate::matrix_sessions::{BY_PATH, look};
use crate::matrix_snapshots;
use crate::matrix_table::{HOLDER, OF_LARGE_VALUES, PUBLIC, Request, rows};
use crate::wire::{COMMIT, base64, commit, name, writes};

/// The thread that the credential may read.
pub const OWN: &str = "own:1";
/// Counts all tenants together, for the operator; and what is counted only from time to time, so that two answers differ by when
/// they were asked (`contract/quotas.rs` holds that it is the tenant's own).
/// A copy has an id by chance.
const NOT_COMPARED: [&str; 3] = ["agent_server_copy_thread", "get_metrics", "get_usage"];

#[derive(Debug, Clone)]
pub enum Call {
    Document(Route, Request),
    Post(&'static str, Value),
    Put(String, Vec<u8>),
}

#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    /// The thread that it is about.
    pub target: &'static str,
    pub call: Call,
    /// One side may answer that the name is another's.
    pub may_be_taken: bool,
}

const READS: [&str; 20] = [
    "agent_server_count",
    "agent_server_find",
    "agent_server_get",
    "agent_server_list",
    "agent_server_search",
    "agentrail_get",
    "agentrail_list",
    "agentrail_load",
    "count_",
    "download_",
    "find_",
    "follow_",
    "get_",
    "glob_",
    "grep_",
    "inspect_",
    "list_",
    "load_",
    "read_",
    "search_",
];
const REMOVES: [&str; 8] = [
    "agent_server_delete",
    "agent_server_prune",
    "abort_",
    "delete_",
    "prune_",
    "revoke_",
    "break_",
    "import_",
];

impl Step {
    fn operation_begins(&self, with: &[&str]) -> bool {
        with.iter().any(|it| self.name.starts_with(it))
    }

    pub fn only_reads(&self) -> bool {
        self.operation_begins(&READS)
    }

    pub fn removes(&self) -> bool {
        self.operation_begins(&REMOVES)
    }

    pub fn begins_round(&self) -> bool {
        self.operation_begins(&["run_retention"])
    }

    pub fn changes(&self) -> bool {
        !self.only_reads() && !self.removes()
    }

    fn post(name: &str, target: &'static str, path: &'static str, body: Value) -> Self {
        Self { name: name.into(), target, call: Call::Post(path, body), may_be_taken: false }
    }
}

/// Every operation, about each of the three threads. The credential's own namespaces are below `root`.
pub fn of_document(root: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for route in routes().iter().filter(|it| !NOT_COMPARED.contains(&it.operation.as_str())) {
        for target in [OWN, THREAD, NOBODYS] {
            let mut request = request(&route.operation, target);
            if target == OWN {
                request = below(request, root);
            }
            let name = format!("{} {target}", route.operation);
            let call = Call::Document(route.clone(), request);
            steps.push(Step { name, target, call, may_be_taken: false });
        }
    }
    steps
}

fn request(operation: &str, thread: &str) -> Request {
    let of_nobody = "tok_00000000000000000000000000000000";
    if PUBLIC.contains(&operation) {
        return Request::Query(String::new());
    }
    if BY_PATH.contains(&operation) {
        return look(thread);
    }
    if REFUSED.contains(&operation) {
        return Request::Thread(thread.to_owned(), Some(json!({})));
    }
    if OF_LARGE_VALUES.contains(&operation) {
        return Request::Body(json!({"thread_id": thread, "name": base64(&name(b"part"))}));
    }
    let mut rows = rows().filter(|it| it.operation == operation);
    let row = rows.next().unwrap_or_else(|| panic!("{operation} has no request in the matrix"));
    (row.request)(thread, of_nobody)
}

/// The same request about another root of namespaces.
fn below(request: Request, root: &str) -> Request {
    let in_query = |it: String| {
        it.replace("ns=ann", &format!("ns={root}"))
            .replace("namespace=ann.", &format!("namespace={root}."))
            .replace("subject=ann", &format!("subject={root}"))
    };
    match request {
        Request::Body(body) => {
            let text = body.to_string().replace("\"ann\"", &format!("\"{root}\""));
            Request::Body(serde_json::from_str(&text).unwrap())
        }
        Request::Query(query) => Request::Query(in_query(query)),
        Request::Raw(query) => Request::Raw(in_query(query)),
        Request::Tar(query) => Request::Tar(in_query(query)),
        other => other,
    }
}

/// From what is hidden to what may be read, by everything that copies.
pub fn detours(root: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for hidden in [THREAD, NOBODYS] {
        let mut add = |name: &str, path, body| {
            steps.push(Step::post(&format!("{name} {hidden}"), hidden, path, body));
        };
        let (from, to) = (json!(["ann", hidden]), json!([root, OWN]));
        add(
            "copy",
            "/v1/threads/copy",
            json!({"source_thread_id": hidden, "target_thread_id": "own:2"}),
        );
        let fork = json!({"source": hidden, "target": "own:3", "checkpoint_id": "1"});
        add("fork", "/v1/threads/fork", fork);
        for dry_run in [true, false] {
            let back = json!({"thread_id": hidden, "checkpoint_id": "1", "dry_run": dry_run});
            add("rewind", "/v1/threads/rewind", back);
        }
        for path in ["k", "/f", "/"] {
            let places = json!({"namespace": from, "to_namespace": to, "from": path, "to": format!("/stolen/{hidden}")});
            add("copy files", "/v1/files/copy", places.clone());
            add("move files", "/v1/files/move", places);
        }
        let back = json!({"namespace": to, "to_namespace": from, "from": "/f", "to": "/f", "overwrite": false});
        add("copy files into", "/v1/files/copy", back);
        for what in [
            json!({"threads": [{"thread_id": hidden}]}),
            json!({"namespaces": [{"prefix": from}]}),
            json!({"namespaces": [from]}),
            json!({"sessions": [{"kind": "kind", "key": [hidden]}]}),
        ] {
            add("take", "/v1/snapshots/take", what);
        }
        for dry_run in [true, false] {
            let into = json!([{"thread_id": hidden, "into": "own:4"}]);
            let stolen = matrix_snapshots::name(hidden);
            add(
                "restore",
                "/v1/snapshots/restore",
                json!({"snapshot_id": stolen, "threads": into, "dry_run": dry_run}),
            );
            add(
                "restore",
                "/v1/snapshots/restore",
                json!({"snapshot_id": stolen, "dry_run": dry_run}),
            );
            let over = json!([{"thread_id": OWN, "into": hidden}]);
            let own = matrix_snapshots::name(OWN);
            add(
                "restore over",
                "/v1/snapshots/restore",
                json!({"snapshot_id": own, "threads": over, "dry_run": dry_run}),
            );
            let prune = json!({"thread_ids": [hidden], "keep_last": 1, "dry_run": true});
            add("prune", "/v1/checkpoints/prune", prune);
        }
        let item = json!({"namespace": from, "key": "k"});
        let ops = json!([{"get": item}, {"search": {"prefix": from}}, {"search": {"prefix": []}}, {"search": {"prefix": ["ann"], "filter": {"note": CONTENT}}}]);
        add("batch", "/v1/store/batch", json!({"atomic": false, "ops": ops}));
        add("count", "/v1/store/count", json!({"prefix": []}));
        add(
            "words",
            "/v1/store/search",
            json!({"prefix": ["ann"], "query": CONTENT, "mode": "words"}),
        );
        let below = json!([{"match": "prefix", "path": ["ann"]}]);
        for counts in [true, false] {
            let list = json!({"conditions": below, "counts": counts});
            add("namespaces", "/v1/store/namespaces", list);
        }
        add("largest namespaces", "/v1/store/namespaces/largest", json!({}));
        add("filter", "/v1/checkpoints/list", json!({"filter": {"note": CONTENT}}));
        add("find", "/v1/sessions/documents/find", json!({"kind": "kind", "name": "NOTES.md"}));
    }
    steps
}

/// Of everything that has this name.
pub fn removals(thread: &'static str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |path, body| {
        steps.push(Step { may_be_taken: true, ..Step::post("remove", thread, path, body) });
    };
    let lease = json!({"thread_id": thread, "holder": HOLDER, "fence": 1});
    add("/v1/threads/lease/release", lease);
    add("/v1/threads/delete", json!({"thread_id": thread}));
    for (kind, key) in [("kind", json!([thread])), ("agentrail", json!(["t", thread]))] {
        add("/v1/sessions/delete", json!({"kind": kind, "key": key}));
    }
    for name in [matrix_snapshots::name(thread), matrix_snapshots::with_archive(thread)] {
        add("/v1/snapshots/delete", json!({"snapshot_id": name}));
    }
    steps
}

/// Writes of what one of the databases has already: who may not read is not told that the guess is right.
pub fn guesses() -> Vec<Step> {
    let place = json!({"namespace": ["ann", THREAD]});
    let with = |more: Value| {
        let mut all = place.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let session = json!({"kind": "kind", "key": [THREAD]});
    let of_session = |more: Value| {
        let mut all = session.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let guess = |name: &str, path, body| Step::post(&format!("guess: {name}"), THREAD, path, body);
    let value = json!({"note": CONTENT, "content": CONTENT});
    let known = json!({
        "base": base64(&name(CONTENT.as_bytes())), "sha256": base64(&name(&CONTENT.as_bytes()[..4])), "length": 4,
        "ops": [{"copy": [0, 4]}]
    });
    let entries = json!({"entries": [{"id": "e", "data": {"note": CONTENT}}]});
    vec![
        Step {
            name: "guess: a whole file".into(),
            target: THREAD,
            call: Call::Put(
                format!("/v1/files/content?ns=ann&ns={THREAD}&path=/f"),
                CONTENT.into(),
            ),
            may_be_taken: false,
        },
        guess("a difference to a value", COMMIT, commit(THREAD, &[writes("1", &[known])])),
        guess(
            "an edit",
            "/v1/files/edit",
            with(json!({"path": "k", "old_string": CONTENT, "new_string": "x"})),
        ),
        guess("an item", "/v1/store/put", with(json!({"key": "k", "value": value}))),
        guess(
            "an item's version",
            "/v1/store/put",
            with(json!({"key": "k", "value": value, "if_version": 1})),
        ),
        guess("a file", "/v1/files/write", with(json!({"path": "/f", "content": CONTENT}))),
        guess("more of a file", "/v1/files/append", with(json!({"path": "/f", "content": "x"}))),
        guess(
            "files",
            "/v1/files/upload",
            with(json!({"files": [{"path": "/f", "bytes": base64(CONTENT.as_bytes())}]})),
        ),
        guess(
            "a document",
            "/v1/sessions/documents/put",
            of_session(json!({"name": "NOTES.md", "content": CONTENT})),
        ),
        guess(
            "more of a document",
            "/v1/sessions/documents/append",
            of_session(json!({"name": "NOTES.md", "content": "x"})),
        ),
        guess("an entry", "/v1/sessions/append", of_session(entries)),
        guess("a counter", "/v1/sessions/counters/add", of_session(json!({"counter": "turns"}))),
    ]
}
