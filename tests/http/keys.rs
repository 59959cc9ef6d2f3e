//! Tests the calls on keys, the list of tokens and credentials that only read a tenant, over a real engine.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::auth::issuers::Issuers;

use crate::matrix::{World, post};
use crate::ownership::{ALL, ANN, Shared, open};
use crate::server::{Answer, JSON, Server};
use crate::tokens::{SECOND, id, text, whoami};

const KEYS: &str = "/v1/keys";
const REVOKE: &str = "/v1/keys/revoke";
const TOKENS: &str = "/v1/tokens";

async fn get(server: &Server, who: &str, path: &str) -> Answer {
    server.get_with(path, &[("x-api-key", who)]).await
}

fn secret(answer: &Answer) -> String {
    answer.json()["key"].as_str().unwrap().to_owned()
}

async fn create(server: &Server, who: &str, body: Value) -> Answer {
    post(server, who, KEYS, &body).await.ok()
}

#[tokio::test]
async fn a_key_is_made_listed_and_revoked_with_its_tokens() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let all = keys[ALL].as_str();
    let made = create(server, all, json!({"name": "deploy ü"})).await;
    let (new, about) = (secret(&made), made.json());
    assert_eq!((&about["name"], &about["read_only"]), (&json!("deploy ü"), &json!(false)));
    assert!(new.starts_with("tk_") && new.starts_with(about["prefix"].as_str().unwrap()));
    assert_eq!(about["prefix"].as_str().unwrap().len(), 8);
    // Before it is used: when a key was used last is told some time later.
    let listed = get(server, all, KEYS).await.ok().json();
    let mut expected = about.clone();
    expected.as_object_mut().unwrap().remove("key");
    let listed = listed["keys"].as_array().unwrap().clone();
    assert_eq!(listed.last(), Some(&expected));
    let ids: Vec<&str> = listed.iter().map(|it| it["key_id"].as_str().unwrap()).collect();
    assert_eq!(ids[..3], ["key_all", "key_ann", "key_bob"]);
    assert_eq!((&listed[0]["name"], &listed[0]["prefix"]), (&Value::Null, &Value::Null));
    assert_eq!(listed[1]["subject"], "ann");
    let token = text(&post(server, &new, TOKENS, &json!({"subject": "ann"})).await.ok());
    whoami(server, &token).await.ok();
    let body = json!({"key_id": about["key_id"]});
    for _ in 0..2 {
        let revoked = post(server, all, REVOKE, &body).await.ok();
        assert_eq!(revoked.json(), body);
    }
    whoami(server, &new).await.assert_problem(401, "unauthorized");
    whoami(server, &token).await.assert_problem(401, "token_revoked");
    let listed = get(server, all, KEYS).await.ok().json();
    assert!(listed["keys"][3]["revoked_at"].is_string());
    // Once each, and as the command line writes them.
    for act in ["key_created", "key_revoked"] {
        let events = get(server, all, &format!("/v1/audit?act={act}")).await.ok().json();
        // The others were made before, and the sweep of the log takes their acts at some time.
        let of_key = |it: &&Value| it["object"] == about["key_id"];
        let events: Vec<&Value> =
            events["events"].as_array().unwrap().iter().filter(of_key).collect();
        assert_eq!(events.len(), 1, "{act}");
        assert_eq!(events[0]["actor"], "key_all");
    }
}

#[tokio::test]
async fn keys_are_listed_in_pages() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let all = keys[ALL].as_str();
    for at in 0..4 {
        create(server, all, json!({"name": at.to_string()})).await;
    }
    let whole = get(server, all, KEYS).await.ok().json();
    assert!(whole["next_cursor"].is_null());
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(server, all, &format!("{KEYS}?limit=3{cursor}")).await.ok().json();
        let rows = page["keys"].as_array().unwrap();
        assert!(rows.len() <= 3);
        paged.extend(rows.clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(json!(paged), whole["keys"]);
    assert_eq!(paged.len(), 7);
    let none = get(server, all, &format!("{KEYS}?limit=0")).await.ok();
    assert_eq!(none.json(), json!({"keys": []}));
}

#[tokio::test]
async fn the_key_that_asks_is_revoked_only_if_it_says_so() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let all = keys[ALL].as_str();
    let own = json!({"key_id": "key_all"});
    let refused = post(server, all, REVOKE, &own).await;
    refused.assert_problem(422, "invalid");
    assert_eq!(refused.field(), "key_id");
    whoami(server, all).await.ok();
    post(server, all, REVOKE, &json!({"key_id": "key_all", "own": true})).await.ok();
    whoami(server, all).await.assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn only_a_key_that_writes_the_tenant_makes_and_revokes_keys() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let all = keys[ALL].as_str();
    let reads = secret(&create(server, all, json!({"read_only": true})).await);
    let mint = async |body: Value| text(&post(server, all, TOKENS, &body).await.ok());
    let token_reads = mint(json!({"read_only": true})).await;
    let whole = mint(json!({"grants": {"tenant": ["read", "write"]}})).await;
    let part = mint(json!({"grants": {"threads": [{"prefix": "a:", "actions": ["read"]}]}})).await;
    for (who, lists) in
        [(&reads, true), (&token_reads, true), (&whole, true), (&part, false), (&keys[ANN], false)]
    {
        let listed = get(server, who, KEYS).await;
        if lists {
            listed.ok();
        } else {
            listed.assert_problem(403, "not_granted");
            get(server, who, TOKENS).await.assert_problem(403, "not_granted");
        }
        let made = post(server, who, KEYS, &json!({"read_only": true})).await;
        made.assert_problem(403, "not_granted");
        let revoked = post(server, who, REVOKE, &json!({"key_id": "key_bob"})).await;
        revoked.assert_problem(403, "not_granted");
    }
    // A token of the whole tenant does everything else.
    post(server, &whole, "/v1/threads/create", &json!({"thread_id": "t"})).await.ok();
    post(server, &whole, TOKENS, &json!({"subject": "ann"}))
        .await
        .assert_problem(403, "not_granted");
    whoami(server, &keys[1]).await.ok();
}

#[tokio::test]
async fn a_server_without_keys_makes_none_over_http() {
    let folder = TempDir::new().unwrap();
    let server = Server::over(open(&folder).await, Issuers::default()).await;
    assert_eq!(server.get(KEYS).await.ok().json(), json!({"keys": []}));
    server.post(KEYS, &json!({})).await.assert_problem(403, "not_granted");
    server.post(REVOKE, &json!({"key_id": "key_1"})).await.assert_problem(403, "not_granted");
    server.get("/v1/whoami").await.ok();
}

#[tokio::test]
async fn bad_input_is_told_with_its_field_and_limit() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let all = keys[ALL].as_str();
    for (path, body, field, limit) in [
        (KEYS, json!({"name": ""}), "name", json!(100)),
        (KEYS, json!({"name": "x".repeat(101)}), "name", json!(100)),
        (KEYS, json!({"name": "a\nb"}), "name", json!(100)),
        (KEYS, json!({"subject": ""}), "subject", json!(512)),
        (KEYS, json!({"read_only": "yes"}), "read_only", Value::Null),
        (KEYS, json!({"text": "tk_mine"}), "text", Value::Null),
        (REVOKE, json!({}), "key_id", Value::Null),
        (REVOKE, json!({"key_id": ""}), "key_id", Value::Null),
        (REVOKE, json!({"key_id": "k".repeat(65)}), "key_id", json!(64)),
        (
            TOKENS,
            json!({"read_only": true, "grants": {"tenant": ["read"]}}),
            "read_only",
            Value::Null,
        ),
        (
            TOKENS,
            json!({"subject": "a", "grants": {"tenant": ["read"]}}),
            "grants.tenant",
            Value::Null,
        ),
        (TOKENS, json!({"grants": {"tenant": []}}), "grants.tenant.actions", Value::Null),
    ] {
        let refused = post(server, all, path, &body).await;
        refused.assert_problem(422, "invalid");
        assert_eq!((refused.field().as_str(), &refused.json()["limit"]), (field, &limit), "{body}");
    }
    for path in [KEYS, TOKENS] {
        for (query, field) in [("limit=-1", "limit"), ("cursor=x", "cursor"), ("page=1", "page")] {
            let refused = get(server, all, &format!("{path}?{query}")).await;
            refused.assert_problem(422, "invalid");
            assert_eq!(refused.field(), field, "{path}?{query}");
        }
    }
    let absent = post(server, all, REVOKE, &json!({"key_id": "key_none"})).await;
    absent.assert_problem(404, "not_found");
    post(server, &keys[ANN], REVOKE, &json!({"key_id": "key_none"}))
        .await
        .assert_problem(403, "not_granted");
}

#[tokio::test]
async fn what_a_credential_can_do_is_told_in_short() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let all = keys[ALL].as_str();
    let every = json!(["read", "append", "write"]);
    let of = |things: &Value, tenant: Value| {
        json!({
            "threads": things, "namespaces": things, "sessions": things, "snapshots": things,
            "tenant": tenant
        })
    };
    let reads = of(&json!(["read"]), json!(["read"]));
    let key_reads = secret(&create(server, all, json!({"read_only": true})).await);
    let of_ann = json!({"read_only": true, "subject": "ann"});
    let ann_reads = secret(&create(server, all, of_ann.clone()).await);
    let mint = async |body: Value| text(&post(server, all, TOKENS, &body).await.ok());
    for (who, expected, grants) in [
        (all.to_owned(), of(&every, json!(["read", "write"])), Value::Null),
        (key_reads, reads.clone(), json!({"tenant": ["read"]})),
        (mint(json!({"read_only": true})).await, reads.clone(), json!({"tenant": ["read"]})),
        (
            mint(json!({"grants": {"tenant": ["read", "write"]}})).await,
            of(&every, json!(["read", "write"])),
            Value::Null,
        ),
    ] {
        let found = whoami(server, &who).await.ok().json();
        assert_eq!((&found["capabilities"], &found["grants"]), (&expected, &grants));
    }
    for who in [ann_reads, mint(of_ann).await] {
        let found = whoami(server, &who).await.ok().json();
        assert_eq!(found["capabilities"], of(&json!(["read"]), json!([])));
        assert_eq!(found["subject"], "ann");
    }
    let ann = whoami(server, &keys[ANN]).await.ok().json();
    assert_eq!(ann["capabilities"], of(&every, json!([])));
}

#[tokio::test]
async fn a_token_that_reads_the_tenant_narrows_to_reading() {
    let Shared { server, keys, .. } = &Shared::new().await;
    let body = json!({"read_only": true});
    let token = text(&post(server, &keys[ALL], TOKENS, &body).await.ok());
    let narrow = async |grants: Value| {
        post(server, &token, "/v1/tokens/narrow", &json!({"grants": grants})).await
    };
    let same = post(server, &token, "/v1/tokens/narrow", &json!({})).await.ok();
    assert_eq!(same.json()["grants"], json!({"tenant": ["read"]}));
    narrow(json!({"threads": [{"id": "t", "actions": ["read"]}]})).await.ok();
    narrow(json!({"namespaces": [{"prefix": [], "actions": ["read"]}]})).await.ok();
    for wider in [
        json!({"tenant": ["read", "write"]}),
        json!({"threads": [{"id": "t", "actions": ["append"]}]}),
        json!({"namespaces": [{"prefix": [], "actions": ["write"]}]}),
    ] {
        narrow(wider).await.assert_problem(403, "not_granted");
    }
    let create = post(server, &text(&same), "/v1/threads/create", &json!({"thread_id": "t"})).await;
    create.assert_problem(403, "not_granted");
}

#[tokio::test]
async fn tokens_that_live_are_listed() {
    let it = World::new().await;
    let (server, clock) = (&it.server, Arc::clone(&it.server.app.clock));
    let listed = async || {
        let page = get(server, &it.acme, TOKENS).await.ok().json();
        page["tokens"].as_array().unwrap().clone()
    };
    let before = listed().await.len();
    let mint = async |body: Value| post(server, &it.acme, TOKENS, &body).await.ok();
    let short = mint(json!({"subject": "ann", "ttl_seconds": 10})).await;
    let reads = mint(json!({"read_only": true})).await;
    let child = post(server, &text(&reads), "/v1/tokens/narrow", &json!({})).await.ok();
    let tokens = listed().await;
    assert_eq!(tokens.len(), before + 2, "what was narrowed is in no list");
    let of = |answer: &Answer| tokens.iter().find(|it| it["token_id"] == id(answer)).cloned();
    assert!(of(&child).is_none());
    let (short_row, reads_row) = (of(&short).unwrap(), of(&reads).unwrap());
    assert_eq!(short_row["expires_at"], short.json()["expires_at"]);
    assert_eq!((&short_row["read_only"], &reads_row["read_only"]), (&json!(false), &json!(true)));
    assert_eq!(short_row["minter"], "key_first");
    // A page of one event each leads through all of them.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(server, &it.acme, &format!("{TOKENS}?limit=1{cursor}")).await.ok().json();
        paged.extend(page["tokens"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, tokens);
    let other = get(server, &it.globex, TOKENS).await.ok().json();
    assert_eq!(other, json!({"tokens": []}), "of another tenant");
    post(server, &it.acme, "/v1/tokens/revoke", &json!({"token_id": id(&reads)})).await.ok();
    clock.advance(10 * SECOND);
    assert_eq!(listed().await.len(), before, "one was revoked, one has expired");
    clock.advance(86_400 * SECOND);
    assert!(listed().await.is_empty());
    let headers = [("content-type", JSON), ("x-api-key", it.acme.as_str())];
    server.send("GET", TOKENS, &headers, vec![]).await.ok();
}
