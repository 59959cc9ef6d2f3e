//! Tests prunes by rank and age, retention policies and reports: which requests arrive, which are refused, and their answers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use threadkeep::domain::clock::Micros;
use threadkeep::domain::threads::retention::{Done, Removed, Report};

use crate::server::{MSGPACK, Server};

const PRUNE: &str = "/v1/checkpoints/prune";
const LIST: &str = "/v1/retention/policies";
const PUT: &str = "/v1/retention/policies/put";
const GET: &str = "/v1/retention/policies/get";
const DELETE: &str = "/v1/retention/policies/delete";
const RUN: &str = "/v1/retention/run";
const REPORTS: &str = "/v1/retention/reports";

/// The rule of the only prune that arrived.
async fn rule_of(body: Value) -> (String, Micros) {
    let server = Server::keyless().await;
    server.post(PRUNE, &body).await.ok();
    let mut calls = server.storage.calls();
    assert_eq!(calls.len(), 1);
    (calls.remove(0), server.app.clock.now())
}

#[tokio::test]
async fn a_prune_reaches_the_storage_as_it_was_asked() {
    let keep = |last: u32, since: &str, interrupted: bool, dry_run: bool| {
        format!(
            "prune [\"t\"] Rule {{ expire_before: None, unchanged_since: None, keep: Some(Keep {{ last: {last}, since: {since} }}), \
             keep_interrupted: {interrupted} }} {dry_run}"
        )
    };
    let cases = [
        (json!({"strategy": "keep_latest"}), keep(1, "None", false, false)),
        (json!({"keep_last": 7}), keep(7, "None", false, false)),
        (
            json!({"strategy": "keep_latest", "keep_last": 1_000_000, "dry_run": true}),
            keep(1_000_000, "None", false, true),
        ),
        (
            json!({"older_than": "2001-09-09T01:46:40Z", "keep_interrupted": true}),
            keep(1, "Some(1000000000000000)", true, false),
        ),
    ];
    for (mut body, expected) in cases {
        body["thread_ids"] = json!(["t"]);
        assert_eq!(rule_of(body).await.0, expected);
    }
    let (call, _) = rule_of(json!({"thread_ids": ["t"], "strategy": "delete"})).await;
    assert!(call.contains(&format!("expire_before: Some({})", i64::MAX)), "{call}");
    let twice = json!({"thread_ids": ["t", "u", "t"], "keep_last": 1});
    assert!(rule_of(twice).await.0.starts_with("prune [\"t\", \"u\"]"));
}

#[tokio::test]
async fn an_age_in_seconds_counts_back_from_now() {
    let (call, now) = rule_of(json!({"thread_ids": ["t"], "older_than": 60})).await;
    let since = call.split("since: Some(").nth(1).and_then(|it| it.split(')').next()).unwrap();
    let seconds = (now - since.parse::<Micros>().unwrap()) / 1_000_000;
    assert!((60..90).contains(&seconds), "{call}");
}

#[tokio::test]
async fn an_age_travels_in_both_forms() {
    let server = Server::keyless().await;
    for age in [json!(60), json!("2001-09-09T01:46:40Z")] {
        let body = json!({"thread_ids": ["t"], "older_than": age});
        let body = rmp_serde::to_vec_named(&Plain(&body)).unwrap();
        server.post_bytes(PRUNE, MSGPACK, body).await.ok();
    }
    let body = json!({"thread_ids": ["t"], "older_than": 1.5});
    let body = rmp_serde::to_vec_named(&Plain(&body)).unwrap();
    let refused = server.post_bytes(PRUNE, MSGPACK, body).await;
    refused.assert_problem(422, "invalid");
    assert_eq!(refused.field(), "older_than");
}

/// Numbers of JSON values as numbers: with arbitrary precision they would be maps.
struct Plain<'a>(&'a Value);

impl serde::Serialize for Plain<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match number.as_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                None => serializer.serialize_f64(number.as_f64().unwrap()),
            },
            Value::Array(items) => serializer.collect_seq(items.iter().map(Plain)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, Plain(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

#[tokio::test]
async fn the_report_sums_what_went() {
    let server = Server::keyless().await;
    let body = json!({"thread_ids": ["t", "u"], "keep_last": 1, "dry_run": true});
    let answer = server.post(PRUNE, &body).await.ok().json();
    let of = |checkpoints: i64, stored_bytes: i64| json!({"checkpoints": checkpoints, "writes": 0, "values": 0, "size_bytes": 0, "stored_bytes": stored_bytes});
    assert_eq!((&answer["dry_run"], &answer["total"]), (&json!(true), &of(6, -10)));
    let mut thread = of(3, -5);
    thread["thread_id"] = json!("u");
    thread["deleted"] = json!(false);
    assert_eq!(answer["threads"][1], thread);
    let empty = server.post(PRUNE, &json!({"thread_ids": [], "keep_last": 1})).await.ok().json();
    assert_eq!((&empty["threads"], &empty["total"]), (&json!([]), &of(0, 0)));
}

#[tokio::test]
async fn prunes_out_of_range_are_invalid() {
    let limits = [("keep_last", 1_000_000_i64), ("older_than", 3_153_600_000)];
    let mut cases = vec![
        (json!({}), "strategy", None),
        (json!({"keep_interrupted": true, "dry_run": true}), "strategy", None),
        (json!({"strategy": "delete", "keep_last": 2}), "keep_last", None),
        (json!({"strategy": "delete", "older_than": 2}), "older_than", None),
        (json!({"keep_last": "2"}), "keep_last", None),
        (json!({"keep_last": 1.5}), "keep_last", None),
        (json!({"older_than": "yesterday"}), "older_than", None),
        (json!({"older_than": "\0"}), "older_than", None),
        (json!({"older_than": 1.5}), "older_than", None),
        (json!({"older_than": {"a": 1}}), "older_than.a", None),
        (json!({"older_than": [1]}), "older_than", None),
        (json!({"older_than": true}), "older_than", None),
        (json!({"keep_last": 1, "keep": 1}), "keep", None),
        (json!({"keep_last": 1, "dry_run": "yes"}), "dry_run", None),
    ];
    for (field, limit) in limits {
        for value in [0, -1, limit + 1, i64::MAX, i64::MIN] {
            cases.push((json!({field: value}), field, Some(limit)));
        }
    }
    let server = Server::keyless().await;
    for (mut body, field, limit) in cases {
        body["thread_ids"] = json!(["t"]);
        let answer = server.post(PRUNE, &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{body}");
        assert_eq!(answer.json().get("limit").and_then(Value::as_i64), limit, "{body}");
    }
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn policies_are_put_got_and_deleted() {
    let (server, keys) = Server::with_keys(&["acme", "other"]).await;
    let post = async |key: usize, path: &str, body: Value| {
        let key = format!("Bearer {}", keys[key]);
        let headers = [("content-type", "application/json"), ("authorization", key.as_str())];
        server.send("POST", path, &headers, body.to_string().into_bytes()).await.ok().json()
    };
    let put = post(0, PUT, json!({"keep_last": 3, "dry_run": true})).await;
    assert_eq!((&put["policy"]["keep_last"], &put["policy"]["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(put["policy"]["keep_interrupted"], true, "by default");
    assert!(put["policy"].get("thread_id").is_none() && put["policy"]["due_at"].is_string());
    let exempt = post(0, PUT, json!({"thread_id": "a/../b", "keep_interrupted": false})).await;
    assert_eq!(exempt["policy"]["thread_id"], "a/../b", "a thread may be exempt");
    assert_eq!(post(0, GET, json!({})).await, put);
    assert_eq!(post(0, GET, json!({"thread_id": "a/../b"})).await, exempt);
    assert_eq!(post(1, GET, json!({})).await, json!({}), "of another tenant");
    assert_eq!(post(0, RUN, json!({})).await, json!({"policies": 2}));
    assert_eq!(post(0, RUN, json!({"thread_id": "a/../b"})).await, json!({"policies": 1}));
    assert_eq!(post(1, RUN, json!({})).await, json!({"policies": 0}));
    assert_eq!(post(0, DELETE, json!({})).await, json!({}));
    assert_eq!(post(0, GET, json!({})).await, json!({}));
    assert_eq!(post(0, GET, json!({"thread_id": "a/../b"})).await, exempt);
}

#[tokio::test]
async fn policies_are_listed_in_pages_and_of_the_own_tenant() {
    let (server, keys) = Server::with_keys(&["acme", "other"]).await;
    let list = async |key: usize, query: &str| {
        let key = keys[key].as_str();
        server.get_with(&format!("{LIST}{query}"), &[("x-api-key", key)]).await.ok().json()
    };
    assert_eq!(list(0, "").await, json!({"policies": []}));
    let mut put = Vec::new();
    for body in [
        json!({"keep_last": 3, "dry_run": true}),
        json!({"thread_id": "a/../b", "expire_after_seconds": 60}),
        json!({"thread_id": "b"}),
    ] {
        let headers = [("content-type", "application/json"), ("x-api-key", keys[0].as_str())];
        let answer = server.send("POST", PUT, &headers, body.to_string().into_bytes()).await.ok();
        put.push(answer.json()["policy"].clone());
    }
    assert_eq!(list(0, "").await, json!({"policies": put}));
    assert_eq!(list(0, "?limit=0").await, json!({"policies": []}));
    assert_eq!(list(1, "").await, json!({"policies": []}));
    let (mut paged, mut query) = (Vec::new(), "?limit=1".to_owned());
    loop {
        let page = list(0, &query).await;
        paged.extend(page["policies"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=1&cursor={next}");
    }
    assert_eq!(paged, put);
    assert!(paged[0].get("thread_id").is_none(), "the tenant's own comes first");
}

#[tokio::test]
async fn policies_out_of_range_are_invalid() {
    let mut cases = vec![
        (PUT, json!({}), "keep_last", None),
        (PUT, json!({"dry_run": true, "keep_interrupted": true}), "keep_last", None),
        (PUT, json!({"keep_last": 1, "strategy": "delete"}), "strategy", None),
        (PUT, json!({"keep_last": 1, "thread_id": ""}), "thread_id", None),
        (PUT, json!({"keep_last": 1, "thread_id": "\0"}), "thread_id", None),
        (PUT, json!({"keep_last": "all"}), "keep_last", None),
        (GET, json!({"thread_id": ""}), "thread_id", None),
        (GET, json!({"tenant": "other"}), "tenant", None),
        (DELETE, json!({"thread_id": 1}), "thread_id", None),
        (RUN, json!({"now": true}), "now", None),
    ];
    for (field, limit) in [
        ("keep_last", 1_000_000_i64),
        ("older_than_seconds", 3_153_600_000),
        ("expire_after_seconds", 3_153_600_000),
    ] {
        for value in [0, -1, limit + 1, i64::MAX, i64::MIN] {
            cases.push((PUT, json!({field: value}), field, Some(limit)));
        }
    }
    let server = Server::keyless().await;
    for (path, body, field, limit) in cases {
        let answer = server.post(path, &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{path} {body}");
        assert_eq!(answer.json().get("limit").and_then(Value::as_i64), limit, "{body}");
    }
    for (query, field) in
        [("limit=-1", "limit"), ("limit=x", "limit"), ("zz=1", "zz"), ("cursor=e30", "cursor")]
    {
        for path in [REPORTS, LIST] {
            let answer = server.get(&format!("{path}?{query}")).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.field(), field, "{path}?{query}");
        }
    }
    // A cursor of this listing with an id that no thread has.
    let forged = URL_SAFE_NO_PAD.encode(json!(["policies", ""]).to_string());
    let answer = server.get(&format!("{LIST}?cursor={forged}")).await;
    answer.assert_problem(422, "invalid");
    assert_eq!(answer.field(), "cursor");
    server.get(&format!("{REPORTS}?thread_id=%00")).await.assert_problem(422, "invalid");
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn reports_come_in_pages() {
    let server = Server::keyless().await;
    let report = |at: i64| Report {
        report_id: format!("r{at}"),
        thread_id: (at == 1).then(|| "t".to_owned()),
        started_at: at * 1_000_000,
        finished_at: at * 1_000_000,
        dry_run: at == 2,
        done: Done {
            examined: 9,
            pruned: at,
            removed: Removed { checkpoints: 4, ..Removed::default() },
            ..Done::default()
        },
        last_error: None,
    };
    let reports = (1..=3).rev().map(report).collect();
    server.storage.reports.lock().unwrap().insert("default".into(), reports);
    let first = server.get(&format!("{REPORTS}?limit=2")).await.ok().json();
    let ids = |page: &Value| -> Vec<String> {
        let all = page["reports"].as_array().unwrap().iter();
        all.map(|it| it["report_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&first), ["r3", "r2"]);
    assert_eq!(first["reports"][0]["removed"]["checkpoints"], 4);
    assert_eq!(first["reports"][0]["started_at"], "1970-01-01T00:00:03.000000Z");
    assert_eq!(first["reports"][1]["dry_run"], true);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = server.get(&format!("{REPORTS}?limit=2&cursor={cursor}")).await.ok().json();
    assert_eq!((ids(&second), second.get("next_cursor")), (vec!["r1".to_owned()], None));
    let first = &second["reports"][0];
    assert_eq!((&first["thread_id"], &first["threads_examined"]), (&json!("t"), &json!(9)));
    server.get(&format!("{REPORTS}?thread_id=t")).await.ok();
    assert!(server.storage.calls().last().unwrap().contains("\"t\""));
}
