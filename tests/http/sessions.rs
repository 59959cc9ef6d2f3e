//! Tests sessions over HTTP, on a real engine: both forms of bodies, Agentrail's routes, and the Inspector.

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::app::Outside;
use threadkeep::domain::tenants::operators::OPERATORS;

use crate::ownership::open;
use crate::server::{Answer, JSON, MSGPACK, Server, create_key, create_operator};

pub struct World {
    pub server: Server,
    pub key: String,
    /// The key of an operator.
    pub operator: String,
    _folder: TempDir,
}

impl World {
    pub async fn new() -> Self {
        Self::with(Outside::default()).await
    }

    pub async fn with(outside: Outside) -> Self {
        let folder = TempDir::new().unwrap();
        let storage = open(&folder).await;
        let key = create_key(&storage, "acme", "key_acme", None).await;
        let operator = create_operator(&storage, OPERATORS).await;
        let server = Server::over(storage, outside).await;
        Self { server, key, operator, _folder: folder }
    }

    async fn raw(&self, method: &str, path: &str, media: &str, body: Vec<u8>) -> Answer {
        let headers =
            [("content-type", media), ("accept", media), ("x-api-key", self.key.as_str())];
        self.server.send(method, path, &headers, body).await
    }

    pub async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.raw(method, path, JSON, body).await
    }

    /// Any route.
    pub async fn call(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, body).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", &format!("/v1/sessions/{path}"), body).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &Value::Null).await
    }

    async fn with_key(&self, path: &str, key: &str, body: &Value) -> Answer {
        let headers =
            [("content-type", JSON), ("x-api-key", self.key.as_str()), ("idempotency-key", key)];
        self.server.send("POST", path, &headers, body.to_string().into_bytes()).await
    }
}

fn with(mut more: Value) -> Value {
    more["kind"] = json!("claude");
    more["key"] = json!(["-home/x", "s 1"]);
    more
}

#[tokio::test]
async fn what_is_absent_is_said_by_its_code() {
    let it = World::new().await;
    it.post("load", &with(json!({}))).await.assert_problem(404, "session_not_found");
    let named = with(json!({"name": "d"}));
    it.post("documents/get", &named).await.assert_problem(404, "document_not_found");
    it.post("append", &with(json!({"entries": []}))).await.ok();
    it.post("load", &with(json!({}))).await.assert_problem(404, "session_not_found");
    it.post("delete", &with(json!({}))).await.ok();
}

#[tokio::test]
async fn entries_are_exact_in_both_forms() {
    let it = World::new().await;
    let text = r#"{ "a":1.0,"nul":"\u0000","lone":"\ud800","big":12345678901234567890123 }"#;
    let body =
        format!(r#"{{"kind":"claude","key":["-home/x","s 1"],"entries":[{{"data":{text}}}]}}"#);
    it.raw("POST", "/v1/sessions/append", JSON, body.into_bytes()).await.ok();
    let loaded = it.post("load", &with(json!({}))).await.ok();
    assert!(String::from_utf8(loaded.body).unwrap().contains(text));
    let packed = rmp_serde::to_vec_named(&with(json!({}))).unwrap();
    let answer = it.raw("POST", "/v1/sessions/load", MSGPACK, packed).await.ok();
    assert!(answer.body.windows(text.len()).any(|it| it == text.as_bytes()), "bin with the text");
    // A document may be any string.
    let put = r#"{"kind":"claude","key":["-home/x","s 1"],"name":"d","content":"a\u0000\ud800b"}"#;
    let path = "/v1/sessions/documents/put";
    it.raw("POST", path, JSON, put.as_bytes().to_vec()).await.ok();
    let found = it.post("documents/get", &with(json!({"name": "d"}))).await.ok();
    assert!(String::from_utf8(found.body).unwrap().contains(r#""a\u0000\ud800b""#));
}

#[tokio::test]
async fn conflicts_say_what_there_is() {
    let it = World::new().await;
    let entries = json!([{"id": "1", "data": 1}, {"data": 2}]);
    it.post("append", &with(json!({"entries": entries}))).await.ok();
    let moved = it.post("append", &with(json!({"entries": entries, "if_head": 1}))).await;
    moved.assert_problem(409, "head_moved");
    assert_eq!(moved.json()["current_head"], 2);
    let document = json!({"name": "summary", "content": "s", "if_version": 0});
    let both = with(json!({"entries": [{"data": 3}], "document": document}));
    let first = it.post("append", &both).await.ok().json();
    let again = it.post("append", &both).await;
    again.assert_problem(409, "version_conflict");
    assert_eq!(again.json()["current_version"], first["document_version"]);
    assert_eq!(it.post("load", &with(json!({}))).await.ok().json()["head"], 3);
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_answered_like_the_first() {
    let it = World::new().await;
    let body = with(json!({"entries": [{"data": 1}]}));
    let first = it.with_key("/v1/sessions/append", "k-1", &body).await.ok();
    let second = it.with_key("/v1/sessions/append", "k-1", &body).await.ok();
    assert_eq!(first.body, second.body);
    let other = with(json!({"entries": [{"data": 2}]}));
    let mismatch = it.with_key("/v1/sessions/append", "k-1", &other).await;
    mismatch.assert_problem(422, "idempotency_mismatch");
    let add = with(json!({"counter": "turns", "by": 2}));
    for _ in 0..2 {
        let counted = it.with_key("/v1/sessions/counters/add", "k-2", &add).await.ok();
        assert_eq!(counted.json(), json!({"value": 2}));
    }
}

#[tokio::test]
async fn limits_are_named() {
    let it = World::new().await;
    let key = |key: Value| json!({"kind": "claude", "key": key});
    for (body, field) in [
        (key(json!([])), "key"),
        (key(json!(["x".repeat(1_100)])), "key"),
        (key(json!(["a", "b", "c", "d", "e", "f", "g", "h", "i"])), "key"),
        (json!({"kind": "No", "key": ["a"]}), "kind"),
        (with(json!({"stream": "x".repeat(513)})), "stream"),
        (with(json!({"after_seq": -1})), "after_seq"),
        (with(json!({"limit": 1, "tail": 1})), "tail"),
        (with(json!({"limit": 10_001})), "limit"),
    ] {
        let answer = it.post("load", &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
    }
    let answer = it.post("create", &with(json!({"user": "a\u{0}"}))).await;
    answer.assert_problem(422, "invalid");
}

#[tokio::test]
async fn agentrails_sessions_live_under_odd_ids() {
    let it = World::new().await;
    let of = |more: &str| format!("/agentrail/v1/t/a%2Fb/s/%2E%2E%00x{more}");
    let made = it.send("PUT", &of(""), &json!({"userId": "ann", "agentId": "a"})).await.ok();
    let made = made.json();
    assert_eq!((&made["sessionId"], &made["created"]), (&json!("..\0x"), &json!(true)));
    let again = it.send("PUT", &of(""), &json!({"userId": "eve", "agentId": "a"})).await.ok();
    assert_eq!(again.json()["created"], false);
    it.get(&of("/messages")).await.assert_problem(404, "session_not_found");
    let message = |it: i64| json!({"role": "user", "content": format!("m{it}"), "x": null});
    let messages: Vec<Value> = (0..30).map(message).collect();
    let done = it.send("POST", &of("/messages"), &json!({"messages": messages})).await.ok();
    assert_eq!(done.json(), json!({"firstSeq": 1, "lastSeq": 30}));
    let all = it.get(&of("/messages")).await.ok().json();
    assert_eq!(all, json!({"messages": messages, "headSeq": 30, "count": 30}));
    let two = it.get(&of("/messages?limit=2")).await.ok().json();
    assert_eq!(two, json!({"messages": messages[28..], "headSeq": 30, "count": 30}));
    for turn in 0..2 {
        let body = json!({"totalTokens": 5, "idempotencyKey": format!("t{turn}")});
        for _ in 0..2 {
            let done = it.send("POST", &of("/turns"), &body).await.ok().json();
            assert_eq!(done, json!({"turnIndex": turn}));
        }
    }
    it.get("/agentrail/v1/t/a%FF/s/x/messages").await.assert_problem(422, "invalid");
    let listed = it.get("/agentrail/v1/t/a%2Fb/users/ann/sessions?limit=5").await.ok().json();
    assert_eq!(listed["sessions"][0]["sessionId"], "..\0x");
}

#[tokio::test]
async fn agentrails_messages_are_compacted() {
    let it = World::new().await;
    let of = |more: &str| format!("/agentrail/v1/t/t/s/s{more}");
    let messages: Vec<Value> = (0..30).map(|it| json!({"role": "user", "content": it})).collect();
    it.send("POST", &of("/messages"), &json!({"messages": messages})).await.ok();
    let compact = async |through: i64, count: i64, id: Value| {
        let body = json!({
            "throughSeq": through, "expectedHead": 30, "compressedCount": count, "archiveId": id,
            "placeholder": {"role": "user", "content": "Archive ID: {archive_id}"},
            "notesAppend": "## {archive_id}"
        });
        it.send("POST", &of("/compact"), &body).await
    };
    let done = compact(10, 10, json!("0007")).await.ok().json();
    assert_eq!(done, json!({"archiveId": "0007"}));
    compact(12, 3, json!("0007")).await.assert_problem(409, "head_moved");
    compact(12, 12, Value::Null).await.assert_problem(409, "head_moved");
    compact(12, 3, json!("7")).await.assert_problem(422, "invalid");
    let next = compact(12, 3, Value::Null).await.ok().json();
    assert_eq!(next, json!({"archiveId": "0008"}));
    let all = it.get(&of("/messages")).await.ok().json();
    assert_eq!((&all["headSeq"], &all["count"]), (&json!(30), &json!(19)));
    assert_eq!(all["messages"][0]["content"], "Archive ID: 0008");
    assert_eq!(all["messages"][1], messages[12]);
    let archives = it.get(&of("/archives")).await.ok().json();
    assert_eq!(archives, json!({"archives": [{"archiveId": "0007"}, {"archiveId": "0008"}]}));
    let archive = it.get(&of("/archives/0007")).await.ok().json();
    assert_eq!(archive, json!({"messages": messages[..10]}));
    let notes = it.get("/agentrail/v1/t/t/memo/session/s/NOTES.md").await.ok().json();
    assert_eq!((&notes["content"], &notes["bytes"]), (&json!("## 0007## 0008"), &json!(14)));
}

#[tokio::test]
async fn agentrails_documents_are_kept() {
    let it = World::new().await;
    let of = |more: &str| format!("/agentrail/v1/t/t/s/s{more}");
    let memo = "/agentrail/v1/t/t/memo/user/ann/USER.md";
    it.get(memo).await.assert_problem(404, "document_not_found");
    it.send("PUT", memo, &json!({"content": "a"})).await.ok();
    it.send("POST", &format!("{memo}/append"), &json!({"content": "b"})).await.ok();
    assert_eq!(it.get(memo).await.ok().json()["content"], "ab");
    it.get("/agentrail/v1/t/t/memo/other/ann/USER.md").await.assert_problem(422, "invalid");
    it.get(&of("/artifacts/toolu_1")).await.assert_problem(404, "document_not_found");
    it.send("PUT", &of("/artifacts/toolu%2F1"), &json!({"content": "out"})).await.ok();
    let artifacts = it.get(&of("/artifacts")).await.ok().json();
    assert_eq!(artifacts, json!({"artifacts": ["toolu/1"]}));
    assert_eq!(it.get(&of("/artifacts/toolu%2F1")).await.ok().json()["content"], "out");
    it.send("PUT", &of("/todos"), &json!({"content": "todo"})).await.ok();
    assert_eq!(it.get(&of("/todos")).await.ok().json()["content"], "todo");
    it.send("POST", &of("/skill-logs"), &json!({"skillName": "x"})).await.ok();
    let agent = of("/orch/agents/a%2F1");
    let event = json!({"eventId": "1", "type": "input_enqueued"});
    it.send("POST", &format!("{agent}/mailbox"), &json!({"events": [event]})).await.ok();
    let own = it.get(&format!("{agent}/mailbox")).await.ok().json();
    assert_eq!(own, json!({"events": [event]}));
    let other = it.get(&of("/orch/agents/b/mailbox")).await.ok().json();
    assert_eq!(other, json!({"events": []}));
    for (name, value) in [("mailbox-state", "state"), ("history", "history")] {
        it.get(&format!("{agent}/{name}")).await.assert_problem(404, "document_not_found");
        it.send("PUT", &format!("{agent}/{name}"), &json!({value: [1, null]})).await.ok();
        let found = it.get(&format!("{agent}/{name}")).await.ok().json();
        assert_eq!(found, json!({value: [1, null]}));
    }
}

#[tokio::test]
async fn a_trace_and_an_orchestration_are_kept_and_inspected() {
    let it = World::new().await;
    let of = |more: &str| format!("/agentrail/v1/t/t/s/s{more}");
    assert_eq!(it.get(&of("/trace")).await.ok().json(), json!({"envelopes": []}));
    let envelope =
        |id: &str| json!({"id": id, "sequence": 0, "timestamp": "2", "event": {"a": null}});
    for ids in [["a", "b"], ["b", "c"]] {
        let envelopes = ids.map(envelope);
        it.send("POST", &of("/trace"), &json!({"envelopes": envelopes})).await.ok();
    }
    let trace = it.get(&of("/trace")).await.ok().json();
    assert_eq!(trace, json!({"envelopes": [envelope("a"), envelope("b"), envelope("c")]}));
    let unnamed = it.send("POST", &of("/trace"), &json!({"envelopes": [{"sequence": 1}]})).await;
    unnamed.assert_problem(422, "invalid");
    it.get(&of("/orch/snapshot")).await.assert_problem(404, "document_not_found");
    let event = json!({"eventId": "1", "occurredAt": "1", "runId": "r", "type": "run_started",
        "initialTask": {"id": "k"}});
    let both = json!({"event": event, "snapshot": {"runs": {}}});
    it.send("POST", &of("/orch/events"), &both).await.ok();
    it.send("POST", &of("/orch/events"), &json!({"events": [event]})).await.ok();
    assert_eq!(it.get(&of("/orch/events")).await.ok().json(), json!({"events": [event]}));
    let snapshot = it.get(&of("/orch/snapshot")).await.ok().json();
    assert_eq!(snapshot, json!({"snapshot": {"runs": {}}}));
    it.send("POST", &of("/turns"), &json!({"totalTokens": 9})).await.ok();
    let sessions = it.get("/__inspector/sessions").await.ok().json();
    let first = &sessions["sessions"][0];
    assert_eq!((&first["tenantId"], &first["turns"]), (&json!("t"), &json!(1)));
    assert_eq!(first["tokens"], 9);
    let shown = it.get("/__inspector/sessions/s/trace?tenantId=t").await.ok().json();
    let ids: Vec<&Value> = shown["events"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["1", "a", "b", "c"], "by time");
    let shown = it.get("/__inspector/sessions/s/orchestration?tenantId=t").await.ok().json();
    assert_eq!(shown["run"]["status"], "running");
    let nothing = it.get("/__inspector/sessions/none/messages").await.ok().json();
    assert_eq!(nothing, json!({"messages": []}));
    let nothing = it.get("/__inspector/sessions/none/orchestration").await.ok().json();
    assert_eq!(nothing, json!({"run": null, "agents": [], "events": []}));
}

#[tokio::test]
async fn an_address_of_the_inspector_has_a_token_that_only_reads() {
    let it = World::new().await;
    let message = json!({"messages": [{"role": "user", "content": "hi"}]});
    it.send("POST", "/agentrail/v1/t/default/s/s/messages", &message).await.ok();
    let mint = async |grants: Value| {
        let token = it.send("POST", "/v1/tokens", &json!({"grants": grants})).await.ok().json();
        token["token"].as_str().unwrap().to_owned()
    };
    let of = |actions: Value| json!([{"prefix": "agentrail:", "actions": actions}]);
    let reader = mint(json!({"sessions": of(json!(["read"]))})).await;
    let writer = mint(json!({"sessions": of(json!(["read", "write"]))})).await;
    let threads = json!([{"id": "t", "actions": ["append"]}]);
    let mixed = mint(json!({"sessions": of(json!(["read"])), "threads": threads})).await;
    let ask = async |token: &str, what: &str| {
        it.server.get(&format!("/i/{token}/__inspector/{what}")).await
    };
    assert_eq!(ask(&reader, "health").await.ok().json(), json!({"status": "ok"}));
    let messages = ask(&reader, "sessions/s/messages").await.ok().json();
    assert_eq!(messages, json!({"messages": [{"role": "user", "content": "hi"}]}));
    let sessions = ask(&reader, "sessions").await.ok().json();
    assert_eq!(sessions["sessions"][0]["sessionId"], "s");
    for token in [writer.as_str(), &mixed, &it.key] {
        let refused = ask(token, "sessions").await;
        refused.assert_problem(403, "not_granted");
        assert_eq!(refused.json()["error"], refused.json()["detail"]);
    }
    ask("tks_nonsense", "sessions").await.assert_problem(401, "unauthorized");
    let unknown = it.server.get("/__inspector/sessions").await;
    unknown.assert_problem(401, "unauthorized");
    assert!(unknown.json()["error"].is_string());
    // Refusals are counted by route; what stood in the path is not there.
    it.server.app.refusals.flush().await.unwrap();
    let events = String::from_utf8(it.get("/v1/audit").await.ok().body).unwrap();
    assert!(events.contains("/i/{token}/__inspector/sessions"), "{events}");
    assert!(!events.contains("tks_") && !events.contains(&it.key), "{events}");
}

#[tokio::test]
async fn kinds_of_sessions_are_listed_in_pages() {
    let it = World::new().await;
    let kinds = async |body: Value| it.post("kinds", &body).await.ok().json();
    assert_eq!(kinds(json!({})).await, json!({"kinds": []}));
    for (kind, key) in [("claude", "1"), ("claude", "2"), ("agentrail", "1")] {
        it.post("create", &json!({"kind": kind, "key": [key]})).await.ok();
    }
    let all = kinds(json!({})).await;
    let found = all["kinds"].as_array().unwrap();
    let shown: Vec<_> =
        found.iter().map(|it| (&it["kind"], &it["sessions"], &it["partial"])).collect();
    let expected = [("agentrail", 1), ("claude", 2)]
        .map(|(kind, count)| (json!(kind), json!(count), json!(false)));
    assert_eq!(shown, expected.iter().map(|it| (&it.0, &it.1, &it.2)).collect::<Vec<_>>());
    assert!(found.iter().all(|it| it["updated_at_ms"].as_i64().unwrap() > 1_600_000_000_000));
    let first = kinds(json!({"limit": 1})).await;
    let rest = kinds(json!({"limit": 1, "cursor": first["next_cursor"]})).await;
    assert_eq!((&first["kinds"][0], &rest["kinds"][0]), (&found[0], &found[1]));
    assert_eq!(rest.get("next_cursor"), None);
    for (body, field) in [
        (json!({"cursor": "e30"}), "cursor"),
        (json!({"limit": -1}), "limit"),
        (json!({"kind": "a"}), "kind"),
    ] {
        let answer = it.post("kinds", &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
    }
}
