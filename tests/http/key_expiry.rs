//! Tests keys that end by themselves, and the day of the last use that the list of keys shows, over a real engine.

use serde_json::{Value, json};
use threadkeep::domain::time::rfc3339;

use crate::matrix::{World, post};
use crate::server::Answer;
use crate::tokens::{SECOND, text, whoami};

const KEYS: &str = "/v1/keys";
const DAY: i64 = 86_400 * SECOND;

async fn get(it: &World, who: &str, path: &str) -> Answer {
    it.server.get_with(path, &[("x-api-key", who)]).await
}

/// The text of a new key, and its row of the list.
async fn create(it: &World, body: &Value) -> (String, Value) {
    let made = post(&it.server, &it.acme, KEYS, body).await.ok().json();
    (made["key"].as_str().unwrap().to_owned(), listed(it, &made["key_id"]).await)
}

async fn listed(it: &World, key_id: &Value) -> Value {
    let page = get(it, &it.acme, KEYS).await.ok().json();
    let row = page["keys"].as_array().unwrap().iter().find(|row| row["key_id"] == *key_id);
    row.unwrap().clone()
}

#[tokio::test]
async fn a_key_ends_at_its_time_and_everything_that_was_made_with_it() {
    let it = World::new().await;
    let (server, clock) = (&it.server, &it.server.app.clock);
    let end_at = clock.now() + 10 * SECOND;
    let end = rfc3339(end_at);
    // A little later than a whole second: it ends at the next one.
    clock.advance(-1);
    let (key, row) = create(&it, &json!({"name": "ci", "ttl_seconds": 10})).await;
    clock.advance(1);
    assert_eq!(row["expires_at"], end);
    assert!(key.starts_with(&format!("tk_{}_", end_at / SECOND)));
    assert!(key.starts_with(row["prefix"].as_str().unwrap()));
    let (reads, _) = create(&it, &json!({"read_only": true, "ttl_seconds": 3_600})).await;
    assert_eq!(whoami(server, &key).await.ok().json()["expires_at"], end);
    let minted = post(server, &key, "/v1/tokens", &json!({"subject": "ann"})).await.ok();
    assert_eq!(minted.json()["expires_at"], end, "a token does not outlive its key");
    let child = post(server, &text(&minted), "/v1/tokens/narrow", &json!({})).await.ok();
    assert_eq!(child.json()["expires_at"], end);
    let longer = json!({"subject": "ann", "ttl_seconds": 11});
    let refused = post(server, &key, "/v1/tokens", &longer).await;
    refused.assert_problem(422, "invalid");
    assert_eq!((refused.field().as_str(), &refused.json()["limit"]), ("ttl_seconds", &json!(10)));
    let file = "ns=n&path=/a.txt";
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/octet-stream")];
    let place = format!("/v1/files/content?{file}");
    server.send("PUT", &place, &headers, b"one".to_vec()).await.ok();
    let address = get(&it, &key, &format!("/v1/files/url?{file}&seconds=3600")).await.ok().json();
    assert_eq!(address["expires_at"], end);
    let address = address["url"].as_str().unwrap();
    clock.advance(10 * SECOND - 1);
    whoami(server, &key).await.ok();
    whoami(server, &text(&child)).await.ok();
    server.get(address).await.ok();
    clock.advance(1);
    let refused = whoami(server, &key).await;
    refused.assert_problem(401, "key_expired");
    let detail = format!("the key expired at {end}; make another one");
    assert_eq!(refused.json()["detail"], detail);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    for path in ["/v1/usage", "/v1/keys", "/api/storage/list"] {
        get(&it, &key, path).await.assert_problem(401, "key_expired");
    }
    for token in [&minted, &child] {
        whoami(server, &text(token)).await.assert_problem(401, "token_expired");
    }
    server.get(address).await.assert_problem(401, "token_expired");
    let tokens = get(&it, &it.acme, "/v1/tokens").await.ok().json();
    let lives = |token: &Value| token["minter"] == row["key_id"];
    assert!(!tokens["tokens"].as_array().unwrap().iter().any(lives));
    whoami(server, &reads).await.ok();
    whoami(server, &it.acme).await.ok();
    // It stays in the list, and who still comes with it is in the log.
    assert_eq!(listed(&it, &row["key_id"]).await["revoked_at"], Value::Null);
    server.app.refusals.flush().await.unwrap();
    let events = get(&it, &it.acme, "/v1/audit?act=refused").await.ok().json();
    let of_key =
        |it: &&Value| it["actor"] == row["key_id"] && it["details"]["code"] == "key_expired";
    assert_eq!(events["events"].as_array().unwrap().iter().filter(of_key).count(), 4);
    let events = get(&it, &it.acme, "/v1/audit?act=key_created").await.ok().json();
    let made = events["events"].as_array().unwrap().iter().find(|it| it["object"] == row["key_id"]);
    assert_eq!(made.unwrap()["details"], json!({"expires_at": end}));
}

#[tokio::test]
async fn no_text_is_the_key_with_another_end() {
    let it = World::new().await;
    let (key, _) = create(&it, &json!({"ttl_seconds": 10})).await;
    let seconds = it.server.app.clock.now() / SECOND;
    let end = |after: i64| format!("{}_", seconds + after);
    for other in [String::new(), end(11), end(1_000_000)] {
        let other = key.replacen(&end(10), &other, 1);
        assert_ne!(other, key);
        whoami(&it.server, &other).await.assert_problem(401, "unauthorized");
    }
    it.server.app.clock.advance(10 * SECOND);
    // What nobody made says nothing but that.
    let invented = key.replacen(&end(10), &end(9), 1);
    whoami(&it.server, &invented).await.assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn the_list_shows_the_day_of_the_last_use() {
    let it = World::new().await;
    let (clock, uses) = (&it.server.app.clock, &it.server.app.key_uses);
    let (key, row) = create(&it, &json!({"name": "ci"})).await;
    let other = create(&it, &json!({"name": "other"})).await.1;
    assert_eq!((&row["last_used_on"], &row["expires_at"]), (&Value::Null, &Value::Null));
    let used_on = async |row: &Value| listed(&it, &row["key_id"]).await["last_used_on"].clone();
    whoami(&it.server, &key).await.ok();
    assert_eq!(used_on(&row).await, Value::Null, "no request writes it");
    uses.flush().await.unwrap();
    assert_eq!(used_on(&row).await, "2023-11-14");
    assert_eq!(used_on(&other).await, Value::Null);
    assert_eq!(used_on(&json!({"key_id": "key_first"})).await, "2023-11-14", "who asks uses one");
    let foreign = get(&it, &it.globex, KEYS).await.ok().json();
    assert_eq!(foreign["keys"][0]["last_used_on"], Value::Null, "of another tenant");
    clock.advance(DAY);
    uses.flush().await.unwrap();
    assert_eq!(used_on(&row).await, "2023-11-14");
    // Refused for what it may do, it was used all the same.
    get(&it, &key, "/v1/keys?limit=-1").await.assert_problem(422, "invalid");
    uses.flush().await.unwrap();
    assert_eq!(used_on(&row).await, "2023-11-15");
    post(&it.server, &it.acme, "/v1/keys/revoke", &json!({"key_id": row["key_id"]})).await.ok();
    clock.advance(DAY);
    whoami(&it.server, &key).await.assert_problem(401, "unauthorized");
    uses.flush().await.unwrap();
    assert_eq!(used_on(&row).await, "2023-11-15", "it opens nothing: that is no use");
}

#[tokio::test]
async fn a_life_beyond_its_limits_is_refused_with_field_and_limit() {
    let it = World::new().await;
    for ttl in [0, -1, 315_360_001, i64::MIN, i64::MAX] {
        let refused = post(&it.server, &it.acme, KEYS, &json!({"ttl_seconds": ttl})).await;
        refused.assert_problem(422, "invalid");
        let told = (refused.field(), refused.json()["limit"].clone());
        assert_eq!(told, ("ttl_seconds".to_owned(), json!(315_360_000)), "{ttl}");
    }
    for ttl in [json!("10"), json!(1.5), json!(9_223_372_036_854_775_808_u64)] {
        let refused = post(&it.server, &it.acme, KEYS, &json!({"ttl_seconds": ttl})).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), "ttl_seconds", "{ttl}");
    }
    for ttl in [1, 315_360_000] {
        let row = create(&it, &json!({"ttl_seconds": ttl})).await.1;
        assert!(row["expires_at"].is_string());
    }
    let row = create(&it, &json!({"ttl_seconds": null})).await.1;
    assert_eq!(row["expires_at"], Value::Null);
}
