//! Tests the calls of operators over HTTP, on a real engine. An operator manages keys, quotas and signing secrets of all tenants. It cannot
//! read the content of a tenant.

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::tenants::operators::OPERATORS;

use crate::interference_seen::seen;
use crate::matrix::{THREAD, World, post, routes};
use crate::matrix_table::{OF_LARGE_VALUES, PUBLIC};
use crate::ownership::open;
use crate::server::{Answer, Server, create_key, create_operator};
use crate::tokens::{text, whoami};

const KEYS: &str = "/v1/operator/keys";
const REVOKE: &str = "/v1/operator/keys/revoke";
const QUOTAS: &str = "/v1/operator/quotas";
const PUT_QUOTA: &str = "/v1/operator/quotas/put";
const TENANTS: &str = "/v1/operator/tenants";
const ROTATE: &str = "/v1/operator/rotate-secrets";

/// A server that has nothing but the key of an operator.
struct Fresh {
    server: Server,
    operator: String,
    _folder: TempDir,
}

impl Fresh {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let storage = open(&folder).await;
        let operator = create_operator(&storage, OPERATORS).await;
        let server = Server::over(storage, Issuers::default()).await;
        Self { server, operator, _folder: folder }
    }

    async fn get(&self, path: &str) -> Answer {
        self.server.get_with(path, &[("x-api-key", &self.operator)]).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        post(&self.server, &self.operator, path, &body).await
    }

    async fn key(&self, body: Value) -> (String, Value) {
        let made = self.post(KEYS, body).await.ok().json();
        (made["key"].as_str().unwrap().to_owned(), made["key_id"].clone())
    }
}

async fn put_item(server: &Server, who: &str, key: &str) -> Answer {
    let item = json!({"namespace": ["notes"], "key": key, "value": {"n": 1}});
    post(server, who, "/v1/store/put", &item).await
}

#[tokio::test]
async fn a_tenants_keys_are_made_listed_used_and_revoked_over_http_only() {
    let it = &Fresh::new().await;
    it.get(&format!("{KEYS}?tenant=acme")).await.assert_problem(404, "not_found");
    let (key, key_id) = it.key(json!({"tenant": "acme", "name": "deploy"})).await;
    assert!(key.starts_with("tk_"));
    put_item(&it.server, &key, "one").await.ok();
    let who = whoami(&it.server, &key).await.ok().json();
    assert_eq!((&who["tenant"], &who["operator"]), (&json!("acme"), &Value::Null));
    let (reads, _) = it
        .key(json!({"tenant": "acme", "read_only": true, "subject": "ann", "ttl_seconds": 9}))
        .await;
    assert!(reads.starts_with("tkr_"));
    let listed = it.get(&format!("{KEYS}?tenant=acme")).await.ok().json();
    let names: Vec<&Value> =
        listed["keys"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, [&json!("deploy"), &Value::Null]);
    let tenants = it.get(TENANTS).await.ok().json();
    assert_eq!(tenants["tenants"].as_array().unwrap().len(), 1, "operators are no tenant");
    assert_eq!(
        (&tenants["tenants"][0]["tenant"], &tenants["tenants"][0]["items"]),
        (&json!("acme"), &json!(1))
    );
    it.post(REVOKE, json!({"tenant": "acme", "key_id": key_id})).await.ok();
    whoami(&it.server, &key).await.assert_problem(401, "unauthorized");
    let other = json!({"tenant": "acme", "key_id": "key_absent"});
    it.post(REVOKE, other).await.assert_problem(404, "not_found");
    // The tenant sees who did it.
    let (key, _) = it.key(json!({"tenant": "acme"})).await;
    let events = it.server.get_with("/v1/audit?act=key_revoked", &[("x-api-key", &key)]).await;
    assert_eq!(events.ok().json()["events"][0]["actor"], "key_operator");
}

#[tokio::test]
async fn operators_make_and_revoke_keys_of_operators() {
    let it = &Fresh::new().await;
    let (second, _) = it.key(json!({"operators": true, "name": "second"})).await;
    assert!(second.starts_with("tko_"));
    let who = whoami(&it.server, &second).await.ok().json();
    assert_eq!(who["operator"], true);
    for kind in ["threads", "namespaces", "sessions", "snapshots", "tenant"] {
        assert_eq!(who["capabilities"][kind], json!([]), "{kind}");
    }
    let own = json!({"operators": true, "key_id": "key_operator"});
    it.post(REVOKE, own.clone()).await.assert_problem(422, "invalid");
    post(&it.server, &second, REVOKE, &own).await.ok();
    whoami(&it.server, &it.operator).await.assert_problem(401, "unauthorized");
    let listed =
        it.server.get_with(&format!("{KEYS}?operators=true"), &[("x-api-key", &second)]).await;
    let listed = listed.ok().json();
    let states: Vec<bool> =
        listed["keys"].as_array().unwrap().iter().map(|it| it["revoked_at"].is_string()).collect();
    assert_eq!(states, [true, false]);
}

#[tokio::test]
async fn a_quota_that_an_operator_sets_holds_at_once() {
    let it = &Fresh::new().await;
    let (key, _) = it.key(json!({"tenant": "acme"})).await;
    let set = it.post(PUT_QUOTA, json!({"tenant": "acme", "items_max": 0})).await.ok().json();
    assert_eq!(set["quota"], json!({"items_max": 0}));
    put_item(&it.server, &key, "one").await.assert_problem(413, "quota_exceeded");
    let shown = it.get(&format!("{QUOTAS}?tenant=acme")).await.ok().json();
    assert_eq!((&shown["quota"], &shown["items"]), (&json!({"items_max": 0}), &json!(0)));
    it.post(PUT_QUOTA, json!({"tenant": "acme"})).await.ok();
    put_item(&it.server, &key, "one").await.ok();
    for (field, value) in [
        ("bytes_max", json!(-1)),
        ("requests_per_second", json!(0)),
        ("items_max", json!(1_u64 << 60)),
    ] {
        let refused = it.post(PUT_QUOTA, json!({"tenant": "acme", field: value})).await;
        assert_eq!(refused.status, 422, "{field}");
        assert!(String::from_utf8_lossy(&refused.body).contains(field), "{field}");
    }
    it.get(&format!("{QUOTAS}?tenant=globex")).await.assert_problem(404, "not_found");
}

#[tokio::test]
async fn tokens_end_when_an_operator_replaces_the_secrets_of_their_tenant() {
    let it = &Fresh::new().await;
    let (key, _) = it.key(json!({"tenant": "acme"})).await;
    let mint =
        async || text(&post(&it.server, &key, "/v1/tokens", &json!({"subject": "ann"})).await.ok());
    let token = mint().await;
    whoami(&it.server, &token).await.ok();
    let rotated = it.post(ROTATE, json!({"tenant": "acme"})).await.ok().json();
    assert_eq!(rotated, json!({"removed": 1}));
    whoami(&it.server, &token).await.assert_problem(401, "unauthorized");
    whoami(&it.server, &mint().await).await.ok();
    it.post(ROTATE, json!({"tenant": "globex"})).await.assert_problem(404, "not_found");
}

#[tokio::test]
async fn a_call_that_names_no_tenant_or_two_things_is_refused() {
    let it = &Fresh::new().await;
    for body in [
        json!({}),
        json!({"tenant": "acme", "operators": true}),
        json!({"tenant": OPERATORS}),
        json!({"tenant": "Acme"}),
        json!({"tenant": ""}),
        json!({"operators": false}),
    ] {
        let refused = it.post(KEYS, body.clone()).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), "tenant", "{body}");
    }
    for (field, value) in [("subject", json!("ann")), ("read_only", json!(true))] {
        let refused = it.post(KEYS, json!({"operators": true, field: value})).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field);
    }
    it.get(&format!("{TENANTS}?cursor=abc")).await.assert_problem(422, "invalid");
    it.get(&format!("{KEYS}?limit=5")).await.assert_problem(422, "invalid");
}

#[tokio::test]
async fn tenants_are_listed_in_pages() {
    let it = &Fresh::new().await;
    for tenant in ["c", "a", "b"] {
        it.key(json!({"tenant": tenant})).await;
    }
    let first = it.get(&format!("{TENANTS}?limit=2")).await.ok().json();
    let names = |page: &Value| -> Vec<String> {
        let tenants = page["tenants"].as_array().unwrap().iter();
        tenants.map(|it| it["tenant"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first), ["a", "b"]);
    let next = first["next_cursor"].as_str().unwrap();
    let second = it.get(&format!("{TENANTS}?limit=2&cursor={next}")).await.ok().json();
    assert_eq!(names(&second), ["c"]);
    assert!(second["next_cursor"].is_null());
}

/// Who can write the database but not make a key cannot turn one kind into the other by its row.
#[tokio::test]
async fn a_key_whose_row_was_moved_opens_nothing() {
    let folder = TempDir::new().unwrap();
    let storage = open(&folder).await;
    let operator = create_operator(&storage, "acme").await;
    let tenants = create_key(&storage, OPERATORS, "key_moved", None).await;
    let server = Server::over(storage, Issuers::default()).await;
    for key in [operator, tenants] {
        whoami(&server, &key).await.assert_problem(401, "unauthorized");
    }
}

/// Two servers differ only in what a tenant keeps, of the same length. An operator asks every operation of both, and gets the same.
#[tokio::test]
async fn an_operator_sees_nothing_of_what_a_tenant_keeps() {
    let mut worlds = Vec::new();
    for content in ["a boat trip in May", "a car trip in June"] {
        let folder = TempDir::new().unwrap();
        let storage = open(&folder).await;
        worlds.push(World::on(storage, folder, content).await);
    }
    let (mut asked, mut wrong) = (0, Vec::new());
    for route in routes() {
        let id = route.operation.as_str();
        let Some(row) = crate::matrix_table::rows().find(|it| it.operation == id) else {
            continue;
        };
        assert!(!PUBLIC.contains(&id) && !OF_LARGE_VALUES.contains(&id));
        let mut answers = Vec::new();
        for world in &worlds {
            let request = (row.request)(THREAD, &world.token_id);
            let headers = [("x-api-key", world.operator.as_str())];
            answers.push(seen(&world.ask_with(&route, &request, &headers).await));
        }
        asked += 1;
        if answers[0] != answers[1] {
            wrong.push(format!("{id}:\n    {}\n    {}", answers[0], answers[1]));
        }
    }
    assert!(asked > 120, "{asked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
