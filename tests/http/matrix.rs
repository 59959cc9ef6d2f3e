//! Tests every operation of the API document as every caller who should be refused, over a real engine. An operation without a row fails,
//! and so does a row without an operation.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::app::App;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::operators::OPERATORS;
use threadkeep::http;

use crate::matrix_agent_server::{REFUSED, path_of_thread};
use crate::matrix_sessions::{BY_PATH, SESSION_TAKEN, path_of_session};
use crate::matrix_snapshots::{self, empty_export};
use crate::matrix_table::{
    DENIED, HOLDER, OF_LARGE_VALUES, OPEN, PUBLIC, Request, Row, SIGNED, TAKEN, answer_to_operator,
    answer_to_reader, is_of_operators, rows,
};
use crate::matrix_world::{EMPTY_TAR, fill};
use crate::memory::Memory;
use crate::ownership::open;
use crate::server::{
    Answer, DOCUMENT, HOST, JSON, SETTINGS, Server, create_key, create_operator, no_metrics,
};
use crate::tokens::{SECOND, START, text};
use crate::wire::{COMMIT, base64, commit, list_of, name, writes};

pub const THREAD: &str = "thread-of-ann";
pub const NOBODYS: &str = "thread-of-none";
/// Within what `ann` keeps.
pub const CONTENT: &str = "only-ann-may-see-this";

/// Ends the name of a key of each tenant that nobody presents.
const SPARE: &str = "spare";

/// A server where `ann` of `acme` has a thread with a policy and a lease, and the credentials of everybody.
pub struct World {
    pub server: Server,
    /// The key of the whole tenant.
    pub acme: String,
    pub globex: String,
    /// The key of an operator.
    pub operator: String,
    pub ann: String,
    /// Id of a token that nobody presents.
    pub token_id: String,
    /// Of an upload to the thread's namespace, with a part.
    upload_id: String,
    expired: String,
    revoked: String,
    pub bob: String,
    pub elsewhere: String,
    pub reader: String,
    /// A token that reads everything of the tenant.
    pub reads_tenant: String,
    /// For addresses of the Inspector.
    watcher: String,
    pub appender: String,
    _folder: TempDir,
}

impl World {
    pub async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self::on(open(&folder).await, folder, CONTENT).await
    }

    /// What `ann` keeps has this content.
    pub async fn on(storage: Arc<dyn Storage>, folder: TempDir, content: &str) -> Self {
        let mut keys = Vec::new();
        for (tenant, name) in
            [("acme", "first"), ("globex", "first"), ("acme", SPARE), ("globex", SPARE)]
        {
            let text = create_key(&storage, tenant, &format!("key_{name}"), None).await;
            if name != SPARE {
                keys.push(text);
            }
        }
        let operator = create_operator(&storage, OPERATORS).await;
        let (clock, listen) = (Arc::new(Clock::Fixed(START.into())), HOST.parse().unwrap());
        let none = Issuers::default();
        let app =
            App::start(storage, Arc::clone(&clock), listen, SETTINGS, Some(no_metrics()), none)
                .await;
        let app = Arc::new(app.unwrap());
        let router = http::router(&app);
        let server = Server { app, storage: Arc::new(Memory::default()), router };
        let [acme, globex] = <[String; 2]>::try_from(keys).unwrap();
        let mint = async |body: Value| post(&server, &acme, "/v1/tokens", &body).await.ok();
        let on = |thread: &str, actions: &[&str]| {
            json!({"grants": {
                "threads": [{"id": thread, "actions": actions}],
                "namespaces": [{"prefix": ["ann", thread], "actions": actions}],
                "sessions": [
                    {"id": format!("kind:{thread}"), "actions": actions},
                    {"id": format!("agentrail:t/{thread}"), "actions": actions}
                ],
                "snapshots": [
                    {"id": matrix_snapshots::name(thread), "actions": actions},
                    {"id": matrix_snapshots::with_archive(thread), "actions": actions}
                ]
            }})
        };
        let ann = text(&mint(json!({"subject": "ann"})).await);
        let spare = mint(json!({"subject": "ann"})).await.json();
        let revoked = text(&mint(json!({"subject": "ann"})).await);
        post(&server, &revoked, "/v1/tokens/revoke", &json!({})).await.ok();
        let expired = text(&mint(json!({"subject": "ann", "ttl_seconds": 1})).await);
        let bob = text(&mint(json!({"subject": "bob"})).await);
        let elsewhere = text(&mint(on("elsewhere", &["read", "append", "write"])).await);
        let reader = text(&mint(on(THREAD, &["read"])).await);
        let reads_tenant = text(&mint(json!({"read_only": true})).await);
        let watched = json!([{"prefix": "agentrail:", "actions": ["read"]}]);
        let watcher = text(&mint(json!({"grants": {"sessions": watched}})).await);
        let appender = text(&mint(on(THREAD, &["append"])).await);
        clock.advance(2 * SECOND);
        let upload_id = fill(&server, &ann, "ann", THREAD, content).await;
        let lease = json!({"thread_id": THREAD, "holder": HOLDER, "ttl_seconds": 60});
        post(&server, &ann, "/v1/threads/lease/acquire", &lease).await.ok();
        let token_id = spare["token_id"].as_str().unwrap().to_owned();
        Self {
            server,
            acme,
            globex,
            operator,
            ann,
            token_id,
            upload_id,
            expired,
            revoked,
            bob,
            elsewhere,
            reader,
            reads_tenant,
            watcher,
            appender,
            _folder: folder,
        }
    }

    /// The key that may do this.
    pub fn who_may(&self, route: &Route) -> &str {
        if is_of_operators(route) { &self.operator } else { &self.acme }
    }

    async fn ask(&self, route: &Route, who: Option<&str>, request: &Request) -> Answer {
        let headers: Vec<_> = who.map(|it| ("x-api-key", it)).into_iter().collect();
        self.ask_with(route, request, &headers).await
    }

    pub async fn ask_with(
        &self,
        route: &Route,
        request: &Request,
        headers: &[(&str, &str)],
    ) -> Answer {
        let headers: Vec<_> = [("content-type", JSON)].iter().chain(headers).copied().collect();
        let path = route.path.replace("{upload_id}", &self.upload_id).replace("{part}", "1");
        let path = path.replace("{token}", &self.watcher);
        let (path, body) = match request {
            Request::Query(query) => (format!("{path}{query}"), Vec::new()),
            Request::Body(body) => (path, body.to_string().into_bytes()),
            Request::Path(session, body) => {
                let body = body.as_ref().map(ToString::to_string).unwrap_or_default();
                (path_of_session(&path, session), body.into_bytes())
            }
            Request::Thread(thread, body) => {
                let body = body.as_ref().map(ToString::to_string).unwrap_or_default();
                (path_of_thread(&path, thread), body.into_bytes())
            }
            Request::File(query) => (format!("{path}{query}"), empty_export()),
            Request::Tar(query) => (format!("{path}{query}"), EMPTY_TAR.into()),
            Request::Raw(query) => (format!("{path}{query}"), b"raw".to_vec()),
        };
        self.server.send(&route.method, &path, &headers, body).await
    }
}

/// An operation of the document.
#[derive(Debug, Clone)]
pub struct Route {
    pub operation: String,
    pub method: String,
    pub path: String,
}

pub fn routes() -> Vec<Route> {
    let mut routes = Vec::new();
    for (path, operations) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if let Some(id) = operation["operationId"].as_str() {
                let (operation, method) = (id.to_owned(), method.to_uppercase());
                routes.push(Route { operation, method, path: path.clone() });
            }
        }
    }
    routes
}

pub fn row_of(route: &Route) -> &'static Row {
    let mut rows = rows().filter(|it| it.operation == route.operation);
    let row = rows.next().unwrap_or_else(|| panic!("{} has no row in the matrix", route.operation));
    assert!(rows.next().is_none(), "{} has two rows", route.operation);
    row
}

pub async fn post(server: &Server, who: &str, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", JSON), ("x-api-key", who)];
    server.send("POST", path, &headers, body.to_string().into_bytes()).await
}

fn outcome(answer: &Answer) -> String {
    match answer.status {
        200 | 201 | 204 => "200".into(),
        _ => format!("{} {}", answer.status, answer.problem().1),
    }
}

/// The body without the thread's name, the request's id, and what is new in every answer.
fn comparable(answer: &Answer, thread: &str) -> String {
    let id = answer.header("x-request-id").unwrap();
    let body = String::from_utf8_lossy(&answer.body).replace(id, "the request");
    let body = body.replace(thread, "the thread");
    let Ok(mut json) = serde_json::from_str::<Value>(&body) else { return body };
    for result in json.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(version) = result.get_mut("version") {
            *version = json!("fresh");
        }
    }
    for fresh in ["generation", "created_at", "updated_at", "state_updated_at", "version", "uuid"] {
        if let Some(field) = json.get_mut("thread").and_then(|it| it.get_mut(fresh)) {
            *field = json!("fresh");
        }
    }
    for fresh in [
        "generation",
        "name",
        "key",
        "key_id",
        "prefix",
        "token",
        "token_id",
        "expires_at",
        "version",
        "updated_at",
        "created_at",
        "updated_at_ms",
        "state_updated_at",
        "document_version",
        "createdAt",
        "updatedAt",
        "modified_at",
        "upload_id",
        "archive_id",
        "staged_at",
        "files",
        "stored",
        "unchanged",
    ] {
        if let Some(field) = json.get_mut(fresh) {
            *field = json!("fresh");
        }
    }
    json.to_string()
}

#[test]
fn the_matrix_has_every_operation_and_no_other() {
    let documented: BTreeSet<String> = routes().into_iter().map(|it| it.operation).collect();
    let expected =
        rows().map(|it| it.operation).chain(PUBLIC).chain(BY_PATH).chain(OF_LARGE_VALUES);
    let expected = expected.chain(REFUSED);
    let expected = expected.map(str::to_owned);
    assert_eq!(documented, expected.collect());
    let count = rows().count() + PUBLIC.len() + BY_PATH.len() + OF_LARGE_VALUES.len();
    let count = count + REFUSED.len();
    assert_eq!(documented.len(), count, "each once");
}

#[tokio::test]
async fn what_needs_no_permission_answers_everybody() {
    let it = World::new().await;
    for route in routes().into_iter().filter(|it| PUBLIC.contains(&it.operation.as_str())) {
        let nothing = Request::Query(String::new());
        for who in [None, Some("tks_nonsense"), Some(&it.expired), Some(&it.revoked), Some(&it.bob)]
        {
            if route.operation == SIGNED {
                let answer = it.ask(&route, who, &nothing).await;
                assert_eq!(outcome(&answer), "422 invalid");
                continue;
            }
            let answer = it.ask(&route, who, &nothing).await.ok();
            assert!(!String::from_utf8_lossy(&answer.body).contains(THREAD));
        }
    }
}

#[tokio::test]
async fn nobody_gets_more_than_the_matrix_says() {
    let mut wrong = Vec::new();
    let asked = |it: &&Route| {
        let elsewhere = PUBLIC.iter().chain(&BY_PATH).chain(&OF_LARGE_VALUES).chain(&REFUSED);
        !elsewhere.into_iter().any(|id| *id == it.operation)
    };
    for route in routes().iter().filter(asked) {
        wrong.extend(differences(route).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not as the row of this operation says.
async fn differences(route: &Route) -> Vec<String> {
    let it = World::new().await;
    let row = row_of(route);
    let request = (row.request)(THREAD, &it.token_id);
    let answers = &row.answers;
    let columns = [
        ("no token", None, if row.operation == OPEN { "200" } else { "401 unauthorized" }),
        ("malformed", Some("tks_0123456789abcdef.AAAA.AAAA"), "401 unauthorized"),
        ("expired", Some(it.expired.as_str()), "401 token_expired"),
        ("revoked", Some(&it.revoked), "401 token_revoked"),
        ("other tenant", Some(&it.globex), answers.other_tenant),
        ("other subject", Some(&it.bob), answers.other_subject),
        ("other thread", Some(&it.elsewhere), answers.other_thread),
        ("an operator", Some(&it.operator), answer_to_operator(route)),
        ("read-only", Some(&it.reader), answers.read_only),
        ("append-only", Some(&it.appender), answers.append_only),
        ("reads the tenant", Some(&it.reads_tenant), answer_to_reader(route)),
        // What is refused above is refused for who asks, not for what is asked.
        ("the tenant", Some(&it.acme), if is_of_operators(route) { DENIED } else { "200" }),
    ];
    let mut wrong = Vec::new();
    for (name, who, expected) in columns {
        if name == "read-only" && !route.operation.ends_with("_lease") {
            // Until here a lease was held, and told nobody that there is something to hold.
            let held = json!({"thread_id": THREAD, "holder": HOLDER, "fence": 1});
            post(&it.server, &it.ann, "/v1/threads/lease/release", &held).await.ok();
        }
        let said = format!("{} × {name}", route.operation);
        let answer = it.ask(route, who, &request).await;
        let found = outcome(&answer);
        if found != expected {
            wrong.push(format!("{said}: {found}, not {expected}"));
        }
        let may_see =
            ["read-only", "append-only", "reads the tenant", "the tenant"].contains(&name);
        if may_see {
            continue;
        }
        let body = String::from_utf8_lossy(&answer.body);
        if body.contains(THREAD) && !format!("{request:?}").contains(THREAD) {
            wrong.push(format!("{said}: names the thread: {body}"));
        }
        if body.contains(CONTENT) || body.contains(&*base64(CONTENT.as_bytes()).to_string()) {
            wrong.push(format!("{said}: shows what is kept: {body}"));
        }
        let of_absent = it.ask(route, who, &(row.request)(NOBODYS, &it.token_id)).await;
        let same = comparable(&answer, THREAD) == comparable(&of_absent, NOBODYS);
        if same == [TAKEN, SESSION_TAKEN].contains(&expected) {
            wrong.push(format!("{said}: {body}, and of an absent thread {:?}", of_absent.json()));
        }
        let own = json!({"thread_id": THREAD});
        let seen = post(&it.server, &it.ann, "/v1/checkpoints/get", &own).await;
        if !String::from_utf8_lossy(&seen.body).contains(CONTENT) {
            wrong.push(format!("{said}: the thread was touched"));
        }
    }
    wrong
}

/// Whether a base is known here is nobody's business who may not append.
#[tokio::test]
async fn a_commit_is_refused_before_its_differences_are_looked_at() {
    let it = World::new().await;
    let base = list_of(10);
    let unknown = json!({
        "base": base64(&name(&base)), "sha256": base64(&name(b"x")), "length": 1,
        "ops": [{"copy": [0, 1]}]
    });
    for thread in [THREAD, NOBODYS] {
        let body = commit(thread, &[writes("1", std::slice::from_ref(&unknown))]);
        for who in [&it.reader, &it.elsewhere] {
            post(&it.server, who, COMMIT, &body).await.assert_problem(403, "not_granted");
        }
        post(&it.server, &it.ann, COMMIT, &body).await.assert_problem(409, "resend_whole");
    }
}
