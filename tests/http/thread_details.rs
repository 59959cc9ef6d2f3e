//! Tests titles and metadata of threads, their search and their count through the router, on a real engine.

use serde_json::{Value, json};

use crate::ownership::{ALL, ANN, BOB, Shared};
use crate::server::{Answer, MSGPACK};
use crate::wire::{COMMIT, base64};

const CREATE: &str = "/v1/threads/create";
const UPDATE: &str = "/v1/threads/update";
const SEARCH: &str = "/v1/threads/search";
const COUNT: &str = "/v1/threads/count";

async fn ids(shared: &Shared, who: usize, body: &Value) -> Vec<String> {
    let page = shared.post(who, SEARCH, body).await.ok().json();
    let threads = page["threads"].as_array().unwrap();
    threads.iter().map(|it| it["thread_id"].as_str().unwrap().to_owned()).collect()
}

async fn raw(shared: &Shared, path: &str, body: &str) -> Answer {
    let headers = [("content-type", "application/json"), ("x-api-key", shared.keys[ALL].as_str())];
    shared.server.send("POST", path, &headers, body.as_bytes().to_vec()).await
}

#[tokio::test]
async fn a_thread_is_created_found_changed_and_counted() {
    let shared = Shared::new().await;
    let body =
        json!({"thread_id": "t-1", "title": "Trip to Rome", "metadata": {"customer": "acme"}});
    let made = shared.post(ANN, CREATE, &body).await.ok().json();
    let first = made["thread"]["version"].as_i64().unwrap();
    assert!(made["created"] == json!(true) && first > 0);
    assert_eq!(made["thread"]["title"], "Trip to Rome");
    assert_eq!(made["thread"]["title_from"], "set");
    assert_eq!(
        (&made["thread"]["owner"], &made["thread"]["checkpoint_count"]),
        (&json!("ann"), &json!(0))
    );
    let again = shared.post(ANN, CREATE, &body).await.ok().json();
    assert_eq!((&again["created"], &again["thread"]), (&json!(false), &made["thread"]));
    let changed = json!({"thread_id": "t-1", "metadata": {"open": true}, "if_version": first});
    let changed = shared.post(ANN, UPDATE, &changed).await.ok().json();
    assert_eq!(changed["thread"]["metadata"], json!({"customer": "acme", "open": true}));
    let stale = json!({"thread_id": "t-1", "title": null, "if_version": first});
    let refused = shared.post(ANN, UPDATE, &stale).await;
    refused.assert_problem(409, "version_conflict");
    assert_eq!(refused.json()["current_version"], changed["thread"]["version"]);
    let second = changed["thread"]["version"].as_i64().unwrap();
    let no_title = json!({"thread_id": "t-1", "title": null});
    let changed = shared.post(ANN, UPDATE, &no_title).await.ok().json();
    assert!(changed["thread"].get("title").is_none());
    assert!(changed["thread"].get("title_from").is_none());
    assert!(changed["thread"]["version"].as_i64().unwrap() > second);
    for (body, found) in [
        (json!({"metadata": {"open": true}}), vec!["t-1"]),
        (json!({"metadata": {"open": false}}), vec![]),
        (json!({"q": "T-"}), vec![]),
        (json!({"q": "t-", "owner": "ann", "ids": ["t-1", "t-2"]}), vec!["t-1"]),
        (
            json!({"created_after": "2020-01-01T00:00:00Z", "updated_before": "2020-01-01T00:00:00Z"}),
            vec![],
        ),
    ] {
        for who in [ANN, ALL] {
            assert_eq!(ids(&shared, who, &body).await, found, "{body}");
            let count = shared.post(who, COUNT, &body).await.ok().json();
            assert_eq!(count, json!({"count": found.len()}), "{body}");
        }
        assert!(ids(&shared, BOB, &body).await.is_empty());
    }
    let lives = json!({"thread_id": "t-1", "ttl": {"minutes": 1.5, "strategy": "keep_latest"}});
    let changed = shared.post(ANN, UPDATE, &lives).await.ok().json();
    let ttl = &changed["thread"]["ttl"];
    assert_eq!((&ttl["minutes"], &ttl["strategy"]), (&json!(1.5), &json!("keep_latest")));
    assert!(ttl["expires_at"].as_str() > changed["thread"]["updated_at"].as_str());
    let lives_on = json!({"thread_id": "t-1", "ttl": null});
    let changed = shared.post(ANN, UPDATE, &lives_on).await.ok().json();
    assert!(changed["thread"].get("ttl").is_none());
    shared
        .post(BOB, CREATE, &json!({"thread_id": "t-1"}))
        .await
        .assert_problem(409, "thread_taken");
    shared.post(BOB, UPDATE, &no_title).await.assert_problem(404, "thread_not_found");
}

#[tokio::test]
async fn metadata_comes_back_as_it_was_sent_in_both_formats() {
    let shared = Shared::new().await;
    let text = r#"{"thread_id":"t","metadata":{"n":1.0,"big":1180591620717411303424,"odd":"\ud800\u0000","e":1e2}}"#;
    let made = raw(&shared, CREATE, text).await.ok();
    let metadata = r#"{"n":1.0,"big":1180591620717411303424,"odd":"\ud800\u0000","e":1e2}"#;
    assert!(String::from_utf8_lossy(&made.body).contains(metadata));
    let headers = [
        ("content-type", "application/json"),
        ("accept", MSGPACK),
        ("x-api-key", shared.keys[ALL].as_str()),
    ];
    let body = br#"{"metadata":{"big":1180591620717411303424}}"#.to_vec();
    let found = shared.server.send("POST", SEARCH, &headers, body).await.ok();
    let bytes = metadata.as_bytes();
    assert!(found.body.windows(bytes.len()).any(|it| it == bytes));
    let next = br#"{"metadata":{"big":1180591620717411303425}}"#.to_vec();
    let found = shared
        .server
        .send(
            "POST",
            COUNT,
            &headers[..1].iter().chain(&headers[2..]).copied().collect::<Vec<_>>(),
            next,
        )
        .await;
    assert_eq!(found.ok().json(), json!({"count": 0}));
}

#[tokio::test]
async fn bad_input_is_refused_with_its_field() {
    let shared = Shared::new().await;
    let long = "x".repeat(513);
    let title = "x".repeat(1_025);
    let large = format!(r#"{{"thread_id":"t","metadata":{{"a":"{}"}}}}"#, "x".repeat(65_536));
    let deep =
        format!(r#"{{"thread_id":"t","metadata":{{"a":{}{}}}}}"#, "[".repeat(101), "]".repeat(101));
    let many = format!(r#"{{"ids":[{}]}}"#, vec!["\"a\""; 1_001].join(","));
    let wide = format!(r#"{{"metadata":{{"a":[{}]}}}}"#, vec!["1"; 200].join(","));
    for (path, body, status, code, field) in [
        (CREATE, r#"{"thread_id":""}"#.to_owned(), 422, "invalid", "thread_id"),
        (CREATE, r#"{"ttl":{"minutes":0}}"#.to_owned(), 422, "invalid", "ttl"),
        (CREATE, r#"{"ttl":{"minutes":52560001}}"#.to_owned(), 422, "invalid", "ttl"),
        (UPDATE, r#"{"thread_id":"t","ttl":{"minutes":-1}}"#.to_owned(), 422, "invalid", "ttl"),
        (CREATE, format!(r#"{{"thread_id":"{long}"}}"#), 422, "invalid", "thread_id"),
        (CREATE, r#"{"thread_id":"a\u0000b"}"#.to_owned(), 422, "invalid", "thread_id"),
        (CREATE, format!(r#"{{"title":"{title}"}}"#), 422, "invalid", "title"),
        (CREATE, r#"{"title":"a\u0000b"}"#.to_owned(), 422, "invalid", "title"),
        (CREATE, r#"{"metadata":[]}"#.to_owned(), 422, "invalid", "metadata"),
        (CREATE, r#"{"metadata":{"a":1e99999999}}"#.to_owned(), 422, "invalid", "metadata"),
        (CREATE, large, 413, "too_large", "metadata"),
        (CREATE, deep, 422, "invalid", "metadata"),
        (UPDATE, r#"{"title":"a"}"#.to_owned(), 422, "invalid", "thread_id"),
        (UPDATE, r#"{"thread_id":"t","other":1}"#.to_owned(), 422, "invalid", "other"),
        (SEARCH, r#"{"values":[]}"#.to_owned(), 422, "invalid", "values"),
        (COUNT, r#"{"values":1}"#.to_owned(), 422, "invalid", "values"),
        (SEARCH, r#"{"limit":-1}"#.to_owned(), 422, "invalid", "limit"),
        (SEARCH, r#"{"sort":"weight"}"#.to_owned(), 422, "invalid", "sort"),
        (SEARCH, r#"{"status":["done"]}"#.to_owned(), 422, "invalid", "status[0]"),
        (SEARCH, r#"{"status":"idle"}"#.to_owned(), 422, "invalid", "status"),
        (
            COUNT,
            format!(r#"{{"status":[{}]}}"#, ["\"idle\""; 5].join(",")),
            422,
            "invalid",
            "status",
        ),
        (SEARCH, r#"{"include":["state"]}"#.to_owned(), 422, "invalid", "include[0]"),
        (
            SEARCH,
            format!(r#"{{"include":[{}]}}"#, ["\"values\""; 4].join(",")),
            422,
            "invalid",
            "include",
        ),
        (COUNT, r#"{"include":["preview"]}"#.to_owned(), 422, "invalid", "include"),
        (SEARCH, r#"{"cursor":"x"}"#.to_owned(), 422, "invalid", "cursor"),
        (SEARCH, r#"{"q":""}"#.to_owned(), 422, "invalid", "q"),
        (SEARCH, r#"{"created_after":"yesterday"}"#.to_owned(), 422, "invalid", "created_after"),
        (SEARCH, r#"{"metadata":"x"}"#.to_owned(), 422, "invalid", "metadata"),
        (SEARCH, wide, 422, "invalid", "metadata"),
        (COUNT, many, 422, "invalid", "ids"),
        (COUNT, r#"{"limit":1}"#.to_owned(), 422, "invalid", "limit"),
    ] {
        let answer = raw(&shared, path, &body).await;
        answer.assert_problem(status, code);
        assert_eq!(answer.field(), field, "{body:.100}");
    }
    for body in ["", "{", r#"{"metadata":{"a":NaN}}"#] {
        raw(&shared, CREATE, body).await.assert_problem(400, "malformed_body");
    }
    raw(&shared, UPDATE, r#"{"thread_id":"none"}"#).await.assert_problem(404, "thread_not_found");
    assert_eq!(ids(&shared, ALL, &json!({})).await, [""; 0], "nothing was made");
}

#[tokio::test]
async fn a_thread_without_an_id_gets_one_that_its_caller_may_write() {
    let shared = Shared::new().await;
    let made = shared.post(ALL, CREATE, &json!({})).await.ok().json();
    let id = made["thread"]["thread_id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "7"), "a UUID of version 7: {id}");
    let token = async |grants: Value| {
        let body = json!({"grants": {"threads": grants}});
        let minted = shared.post(ALL, "/v1/tokens", &body).await.ok().json();
        minted["token"].as_str().unwrap().to_owned()
    };
    let create = async |token: &str| {
        let headers = [("content-type", "application/json"), ("x-api-key", token)];
        shared.server.send("POST", CREATE, &headers, b"{}".to_vec()).await
    };
    let below = |prefix: &str| json!({"prefix": prefix, "actions": ["read", "append"]});
    let one = token(json!([below("team:")])).await;
    let made = create(&one).await.ok().json();
    let id = made["thread"]["thread_id"].as_str().unwrap();
    assert!(id.starts_with("team:") && id.len() == 41, "{id}");
    let two = token(json!([below("a:"), below("b:")])).await;
    create(&two).await.assert_problem(403, "not_granted");
    let named = token(json!([{"id": "x", "actions": ["read", "append"]}])).await;
    create(&named).await.assert_problem(403, "not_granted");
}

#[tokio::test]
async fn a_thread_shows_its_first_message_as_its_title() {
    let shared = Shared::new().await;
    let put = |id: &str, first: &str| {
        let messages = json!([{"type": "human", "content": first}]);
        json!({"thread_id": "t-1", "ops": [{"checkpoint": {
            "checkpoint_id": id, "metadata": {}, "skeleton": {"v": 4, "channel_versions": {"messages": id}},
            "values": [{"channel": "messages", "version": id, "tag": "msgpack", "data": base64(&rmp_serde::to_vec_named(&messages).unwrap())}]
        }}]})
    };
    shared.post(ANN, COMMIT, &put("1", "Where\n to?")).await.ok();
    let found = shared.post(ANN, SEARCH, &json!({"q": "WHERE TO"})).await.ok().json();
    let thread = &found["threads"][0];
    assert_eq!(
        (&thread["title"], &thread["title_from"], &thread["version"]),
        (&json!("Where to?"), &json!("first_message"), &json!(0))
    );
    shared.post(ANN, COMMIT, &put("2", "And then?")).await.ok();
    let listed = shared.post(ANN, SEARCH, &json!({})).await.ok().json();
    assert_eq!(listed["threads"][0]["title"], "Where to?");
    for (change, title, from) in [
        (json!({"metadata": {"title": "From metadata"}}), "From metadata", "metadata"),
        (json!({"title": "By hand"}), "By hand", "set"),
        (json!({"title": null}), "From metadata", "metadata"),
        (json!({"metadata": {"title": null}}), "Where to?", "first_message"),
    ] {
        let mut body = json!({"thread_id": "t-1"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let changed = shared.post(ANN, UPDATE, &body).await.ok().json();
        let thread = &changed["thread"];
        assert_eq!((&thread["title"], &thread["title_from"]), (&json!(title), &json!(from)));
    }
}

#[tokio::test]
async fn threads_are_found_by_the_values_of_their_newest_state() {
    let shared = Shared::new().await;
    let commit = async |who: usize, thread: &str, id: &str, stage: &str| {
        let value = base64(&rmp_serde::to_vec_named(&json!({"stage": stage, "by": "x"})).unwrap());
        let checkpoint = json!({"checkpoint": {
            "checkpoint_id": id, "metadata": {}, "skeleton": {"v": 4, "channel_versions": {"plan": id}},
            "values": [{"channel": "plan", "version": id, "tag": "msgpack", "data": value}]
        }});
        let body = json!({"thread_id": thread, "ops": [checkpoint]});
        shared.post(who, COMMIT, &body).await.ok();
    };
    shared.post(ANN, CREATE, &json!({"thread_id": "v-empty"})).await.ok();
    for at in 0..5 {
        commit(ANN, &format!("v-{at}"), "1", if at == 3 { "done" } else { "open" }).await;
    }
    commit(BOB, "v-bob", "1", "open").await;
    let open = json!({"values": {"plan": {"stage": "open"}}});
    let mut found = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut body = open.clone();
        let more = json!({"sort": "thread_id", "limit": 2, "cursor": cursor});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let page = shared.post(ANN, SEARCH, &body).await.ok().json();
        let threads = page["threads"].as_array().unwrap();
        found.extend(threads.iter().map(|it| it["thread_id"].as_str().unwrap().to_owned()));
        match page.get("next_cursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    assert_eq!(found, ["v-0", "v-1", "v-2", "v-4"]);
    assert_eq!(shared.post(ANN, COUNT, &open).await.ok().json(), json!({"count": 4}));
    assert_eq!(shared.post(ALL, COUNT, &open).await.ok().json(), json!({"count": 5}));
    // The newest checkpoint counts.
    commit(ANN, "v-0", "2", "done").await;
    let done = json!({"values": {"plan": {"stage": "done"}}, "sort": "thread_id"});
    assert_eq!(ids(&shared, ANN, &done).await, ["v-0", "v-3"]);
    let both = json!({"values": {"plan": {"stage": "done"}}, "prefix": "v-3"});
    assert_eq!(ids(&shared, ANN, &both).await, ["v-3"]);
    assert_eq!(ids(&shared, ANN, &json!({"values": {}, "prefix": "v-e"})).await, ["v-empty"]);
}
