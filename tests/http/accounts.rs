//! Tests quotas and the audit log through the routes: which requests are refused, with which answer, and which rows they leave.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use threadkeep::app::Settings;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::tenants::audit::Event;
use threadkeep::domain::tenants::quotas::{POLL_EVERY, Quota, Usage};
use threadkeep::domain::tenants::rates::Rates;

use crate::memory::Memory;
use crate::server::{Answer, HOST, JSON, MSGPACK, SETTINGS, Server, add_key};

const SECOND: Micros = 1_000_000;
/// The beginning of a minute.
const START: Micros = 60 * 28_000_000 * SECOND;

/// A server whose clock stands, with keys `one` and `two` of acme, `ann` of a subject of acme, and `globex`.
struct Office {
    server: Server,
    keys: BTreeMap<&'static str, String>,
}

impl Office {
    async fn open(quota: Quota, usage: Usage) -> Self {
        Self::with(quota, usage, Rates::default()).await
    }

    async fn with(quota: Quota, usage: Usage, rates: Rates) -> Self {
        let storage = Memory::default();
        let mut keys = BTreeMap::new();
        let people = [("one", "acme"), ("two", "acme"), ("ann", "acme"), ("globex", "globex")];
        for (name, tenant) in people {
            keys.insert(name, add_key(&storage, tenant));
            let mut stored = storage.keys.lock().unwrap();
            let key = stored.last_mut().unwrap();
            name.clone_into(&mut key.key_id);
            key.subject = (name == "ann").then(|| "ann".to_owned());
        }
        storage.accounts.quotas.lock().unwrap().insert("acme".into(), quota);
        storage.accounts.usage.lock().unwrap().insert("acme".into(), usage);
        let settings = Settings { rates, ..SETTINGS };
        let clock = Clock::Fixed(START.into());
        let server = Server::with_settings(HOST, storage, settings, clock).await;
        server.app.quotas.poll().await.unwrap();
        Self { server, keys }
    }

    async fn get(&self, name: &str, path: &str) -> Answer {
        self.server.get_with(path, &[("x-api-key", &self.keys[name])]).await
    }

    async fn post(&self, name: &str, path: &str, body: impl ToString) -> Answer {
        let headers = [("content-type", JSON), ("x-api-key", self.keys[name].as_str())];
        self.server.send("POST", path, &headers, body.to_string().into_bytes()).await
    }

    async fn commit(&self, thread: &str) -> Answer {
        let checkpoint =
            json!({"checkpoint_id": "1", "skeleton": {}, "metadata": {}, "values": []});
        let body = json!({"thread_id": thread, "ops": [{"checkpoint": checkpoint}]});
        self.post("one", "/v1/checkpoints/commit", body).await
    }

    /// `tenant credential code route` → count, as written.
    async fn refusals(&self) -> BTreeMap<String, i64> {
        self.server.app.refusals.flush().await.unwrap();
        let rows = self.server.storage.accounts.refusals.lock().unwrap();
        let name = |it: &threadkeep::domain::tenants::refusals::Refusal| {
            format!("{} {} {} {}", it.tenant, it.credential, it.code, it.route)
        };
        rows.iter().map(|(refusal, count)| (name(refusal), *count)).collect()
    }
}

fn requests(per_tenant: Option<u64>, per_token: Option<u64>) -> Quota {
    Quota { rates: Rates { per_tenant, per_token }, ..Quota::default() }
}

#[tokio::test]
async fn tokens_and_tenants_are_limited_apart() {
    let office = Office::open(requests(Some(5), Some(3)), Usage::default()).await;
    for _ in 0..3 {
        office.get("one", "/v1/whoami").await.ok();
    }
    let refused = office.get("one", "/v1/whoami").await;
    refused.assert_problem(429, "too_many_requests");
    assert_eq!((refused.header("retry-after"), &refused.json()["limit"]), (Some("1"), &json!(3)));
    for _ in 0..2 {
        office.get("two", "/v1/whoami").await.ok();
    }
    let refused = office.get("two", "/v1/whoami").await;
    refused.assert_problem(429, "too_many_requests");
    assert_eq!(refused.json()["limit"], 5, "the tenant has no more");
    office.get("globex", "/v1/whoami").await.ok();
    office.server.get("/healthz").await.ok();
    office.server.app.clock.advance(SECOND);
    office.get("one", "/v1/whoami").await.ok();
}

#[tokio::test]
async fn too_many_requests_are_refused_before_anything_is_read() {
    let office = Office::open(requests(Some(1), None), Usage::default()).await;
    // What is not granted is asked for too.
    office.get("ann", "/v1/usage").await.assert_problem(403, "not_granted");
    let refused = office.post("one", "/v1/checkpoints/commit", "{").await;
    refused.assert_problem(429, "too_many_requests");
    assert!(office.server.storage.is_untouched());
}

#[tokio::test]
async fn the_servers_own_rate_holds_where_a_quota_does_not_say() {
    let rates = Rates { per_tenant: Some(2), per_token: None };
    let office = Office::with(requests(Some(3), None), Usage::default(), rates).await;
    let answered = async |name: &str| {
        let mut answered = 0;
        while office.get(name, "/v1/whoami").await.status == 200 {
            answered += 1;
        }
        answered
    };
    assert_eq!((answered("one").await, answered("globex").await), (3, 2));
    office.server.app.clock.advance(SECOND);
    let usage = office.get("globex", "/v1/usage").await.ok().json();
    assert_eq!(usage["quota"], json!({"requests_per_second": 2}));
}

#[tokio::test]
async fn a_tenant_without_room_for_threads_uses_those_it_has() {
    let quota = Quota { threads_max: Some(2), ..Quota::default() };
    let office = Office::open(quota, Usage { threads: 1, ..Usage::default() }).await;
    office.commit("t").await.ok();
    let usage = Usage { threads: 2, ..Usage::default() };
    office.server.storage.accounts.usage.lock().unwrap().insert("acme".into(), usage);
    office.server.app.quotas.poll().await.unwrap();
    office.commit("t").await.ok();
    let refused = office.commit("u").await;
    refused.assert_problem(413, "quota_exceeded");
    assert_eq!((refused.field(), &refused.json()["limit"]), ("threads".into(), &json!(2)));
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.ends_with("threads is used up: 2 of 2"), "{detail}");
    let lease = json!({"thread_id": "u", "holder": "worker", "ttl_seconds": 60});
    let copy = json!({"source_thread_id": "t", "target_thread_id": "u"});
    for (path, body) in [("/v1/threads/lease/acquire", &lease), ("/v1/threads/copy", &copy)] {
        office.post("one", path, body).await.assert_problem(413, "quota_exceeded");
    }
}

#[tokio::test]
async fn a_tenant_without_room_for_bytes_reads_and_removes() {
    let quota = Quota { bytes_max: Some(100), ..Quota::default() };
    let office = Office::open(quota, Usage { bytes: 250, ..Usage::default() }).await;
    let refused = office.commit("t").await;
    refused.assert_problem(413, "quota_exceeded");
    assert!(refused.json()["detail"].as_str().unwrap().ends_with("250 of 100"));
    assert_eq!(office.refusals().await["acme one quota_exceeded /v1/checkpoints/commit"], 1);
    for (path, body) in [
        ("/v1/checkpoints/get", json!({"thread_id": "t"})),
        ("/v1/checkpoints/prune", json!({"thread_ids": ["t"], "strategy": "delete"})),
        ("/v1/checkpoints/delete-for-runs", json!({"run_ids": ["r"]})),
        ("/v1/threads/delete", json!({"thread_id": "t"})),
        ("/v1/threads/lease/acquire", json!({"thread_id": "t", "holder": "w", "ttl_seconds": 9})),
    ] {
        office.post("one", path, body).await.ok();
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_asks_the_storage_for_nothing_but_itself() {
    let limits = Quota {
        bytes_max: Some(1 << 40),
        threads_max: Some(100),
        ..requests(Some(900), Some(900))
    };
    for (quota, reads) in [(Quota::default(), 1), (limits, 2)] {
        let office = Office::open(quota, Usage::default()).await;
        let read = || std::mem::take(&mut *office.server.storage.accounts.reads.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(1)).await;
        read();
        for _ in 0..10 {
            office.commit("t").await.ok();
        }
        assert_eq!((office.server.storage.calls(), read()), (vec!["prepare".to_owned(); 10], 0));
        tokio::time::sleep(POLL_EVERY).await;
        assert_eq!(read(), reads, "the list, and the usage of who has a limit");
    }
}

#[tokio::test]
async fn usage_is_told_to_whoever_has_the_whole_tenant() {
    let quota = Quota { bytes_max: Some(100), items_max: Some(7), ..requests(None, Some(10)) };
    let usage = Usage { bytes: 250, threads: 3, items: 0 };
    let office = Office::open(quota, usage).await;
    let told = office.get("one", "/v1/usage").await.ok().json();
    let expected = json!({
        "bytes": 250, "threads": 3, "items": 0, "measured_at": "2023-03-28T10:40:00.000000Z",
        "quota": {"bytes_max": 100, "items_max": 7, "requests_per_second_per_token": 10}
    });
    assert_eq!(told, expected);
    let told = office.get("globex", "/v1/usage").await.ok().json();
    assert_eq!((&told["bytes"], &told["quota"]), (&json!(0), &json!({})));
    office.get("ann", "/v1/usage").await.assert_problem(403, "not_granted");
}

#[tokio::test]
async fn ten_thousand_refusals_of_a_minute_are_one_row() {
    let office = Office::open(requests(None, Some(1)), Usage::default()).await;
    office.get("one", "/v1/whoami").await.ok();
    for at in 0..10_000 {
        office.get("one", "/v1/whoami").await.assert_problem(429, "too_many_requests");
        if at % 4_000 == 0 {
            office.refusals().await;
        }
        // The server's own work has its turn.
        tokio::task::yield_now().await;
    }
    let expected = [("acme one too_many_requests /v1/whoami".to_owned(), 10_000)];
    assert_eq!(office.refusals().await, BTreeMap::from(expected));
    // Nothing was written by the requests themselves.
    assert!(*office.server.storage.accounts.refusals_written.lock().unwrap() < 20);
}

#[tokio::test]
async fn refusals_say_whom_why_and_where_and_nothing_else_is_counted() {
    let office = Office::open(Quota::default(), Usage::default()).await;
    let headers = [("x-api-key", "tk_SECRET")];
    office.server.get_with("/v1/threads?prefix=SECRET", &headers).await;
    office.server.get("/v1/threads").await.assert_problem(401, "unauthorized");
    office.get("ann", "/v1/usage").await.assert_problem(403, "not_granted");
    let foreign = json!({"thread_id": "SECRET", "rules": 1});
    office.post("one", "/v1/retention/policies/put", foreign).await.assert_problem(422, "invalid");
    office.get("one", "/v1/nowhere").await;
    let expected = [
        ("  unauthorized /v1/threads".to_owned(), 2),
        ("acme ann not_granted /v1/usage".to_owned(), 1),
    ];
    assert_eq!(office.refusals().await, BTreeMap::from(expected));
}

fn event(at: Micros, id: &str) -> Event {
    Event {
        event_id: id.into(),
        at,
        actor: String::new(),
        act: "refused".into(),
        object: "t-1".into(),
        details: r#"{"code":"unauthorized"}"#.into(),
        count: 12,
    }
}

#[tokio::test]
async fn the_log_is_read_in_pages_by_whoever_has_the_whole_tenant() {
    let office = Office::open(Quota::default(), Usage::default()).await;
    let events = (1..=5).rev().map(|at| event(at * SECOND, &at.to_string())).collect();
    office.server.storage.accounts.events.lock().unwrap().insert("acme".into(), events);
    let page = office.get("one", "/v1/audit?limit=2").await.ok().json();
    let first = json!({"event_id": "5", "at": "1970-01-01T00:00:05.000000Z", "act": "refused", "object": "t-1",
        "details": {"code": "unauthorized"}, "count": 12});
    assert_eq!(page["events"][0], first);
    let mut seen: Vec<Value> = page["events"].as_array().unwrap().clone();
    let mut cursor = page["next_cursor"].as_str().map(str::to_owned);
    while let Some(next) = cursor {
        let page = office.get("one", &format!("/v1/audit?limit=2&cursor={next}")).await.ok().json();
        seen.extend(page["events"].as_array().unwrap().clone());
        cursor = page["next_cursor"].as_str().map(str::to_owned);
    }
    let ids: Vec<&str> = seen.iter().map(|it| it["event_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["5", "4", "3", "2", "1"]);
    assert_eq!(office.get("globex", "/v1/audit").await.ok().json(), json!({"events": []}));
    office.get("ann", "/v1/audit").await.assert_problem(403, "not_granted");
    let headers = [("x-api-key", office.keys["one"].as_str()), ("accept", MSGPACK)];
    let packed = office.server.get_with("/v1/audit?limit=1", &headers).await.ok();
    let text = br#"{"code":"unauthorized"}"#;
    assert!(packed.body.windows(text.len()).any(|it| it == text), "exact text as bin");
}

#[tokio::test]
async fn what_is_asked_of_the_log_reaches_the_storage_or_is_refused() {
    let office = Office::open(Quota::default(), Usage::default()).await;
    let path =
        "/v1/audit?since=1970-01-01T00:00:01Z&until=1970-01-01T00:00:02Z&act=key_created&limit=9";
    office.get("one", path).await.ok();
    let expected = "list_events acme EventQuery { since: Some(1000000), until: Some(2000000), \
        act: Some(KeyCreated), limit: 10, after: None }";
    assert_eq!(office.server.storage.calls(), [expected]);
    for (query, field) in [
        ("since=yesterday", "since"),
        ("until=1", "until"),
        ("act=key", "act"),
        ("act=", "act"),
        ("limit=-1", "limit"),
        ("cursor=x", "cursor"),
        ("tenant=globex", "tenant"),
    ] {
        let refused = office.get("one", &format!("/v1/audit?{query}")).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field, "{query}");
    }
    let refused = office.get("one", "/v1/audit?act=key").await.json();
    assert!(refused["detail"].as_str().unwrap().contains("key_created, key_revoked"));
}

#[tokio::test]
async fn a_server_that_stops_writes_what_it_counted() {
    let office = Office::open(Quota::default(), Usage::default()).await;
    office.server.get("/v1/threads").await.assert_problem(401, "unauthorized");
    let Server { app, storage, router } = office.server;
    drop(router);
    std::sync::Arc::into_inner(app).unwrap().stop().await;
    assert_eq!(storage.accounts.refusals.lock().unwrap().len(), 1);
}
