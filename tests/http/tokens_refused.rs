//! Tests what the token calls refuse, which tokens open nothing, and that tenants see nothing of each other.

use serde_json::{Value, json};

use crate::memory::Memory;
use crate::server::{HOST, Server, add_key};
use crate::tokens::{Fleet, SECOND, id, post, text, whoami};

#[tokio::test]
async fn bad_input_is_refused_with_its_field() {
    let fleet = Fleet::of(1).await;
    let grants = |grants: Value| json!({"subject": "ann", "grants": grants});
    let thread =
        |grant: Value| grants(json!({"threads": [{"id": "t", "actions": ["read"]}, grant]}));
    let many = vec![json!({"id": "t", "actions": ["read"]}); 65];
    for (body, field) in [
        (json!({"subject": ""}), "subject"),
        (json!({"subject": 1}), "subject"),
        (json!({"subject": "a\0"}), "subject"),
        (json!({"subject": "x".repeat(513)}), "subject"),
        (json!({"subject": "ann", "ttl_seconds": 0}), "ttl_seconds"),
        (json!({"subject": "ann", "ttl_seconds": 86_401}), "ttl_seconds"),
        (json!({"subject": "ann", "ttl_seconds": -1}), "ttl_seconds"),
        (json!({"subject": "ann", "tenant": "globex"}), "tenant"),
        (grants(json!({})), "grants"),
        (grants(json!({"files": []})), "grants.files"),
        (grants(json!({"threads": many})), "grants.threads"),
        (thread(json!({"id": "t"})), "grants.threads[1].actions"),
        (thread(json!({"id": "t", "actions": []})), "grants.threads[1].actions"),
        (thread(json!({"id": "t", "actions": ["delete"]})), "grants.threads[1].actions[0]"),
        (thread(json!({"actions": ["read"]})), "grants.threads[1]"),
        (thread(json!({"id": "t", "prefix": "t:", "actions": ["read"]})), "grants.threads[1]"),
        (thread(json!({"owned": false, "actions": ["read"]})), "grants.threads[1]"),
        (thread(json!({"id": "", "actions": ["read"]})), "grants.threads[1]"),
        (thread(json!({"prefix": "acme", "actions": ["read"]})), "grants.threads[1]"),
        (thread(json!({"prefix": "", "actions": ["read"]})), "grants.threads[1]"),
        (thread(json!({"id": "t", "actions": ["read"], "x": 1})), "grants.threads[1].x"),
        (grants(json!({"namespaces": [{"actions": ["read"]}]})), "grants.namespaces[0].prefix"),
        (
            grants(json!({"namespaces": [{"prefix": ["bob"], "actions": ["read"]}]})),
            "grants.namespaces[0]",
        ),
        (
            grants(json!({"namespaces": [{"prefix": ["ann", "a.b"], "actions": ["read"]}]})),
            "grants.namespaces[0]",
        ),
        (
            json!({"grants": {"sessions": [{"owned": true, "actions": ["read"]}]}}),
            "grants.sessions[0]",
        ),
    ] {
        let refused = fleet.post("/v1/tokens", fleet.key(), &body).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field, "{body}");
    }
    let long: Vec<Value> = (0..30)
        .map(|at| json!({"id": format!("{at}{}", "x".repeat(200)), "actions": ["read"]}))
        .collect();
    let refused = fleet.post("/v1/tokens", fleet.key(), &grants(json!({"threads": long}))).await;
    refused.assert_problem(413, "too_large");
    assert_eq!(refused.field(), "grants");
    assert!(fleet.storage.revocations.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_key_with_a_subject_makes_tokens_for_it_alone() {
    let storage = Memory::default();
    let key = add_key(&storage, "acme");
    storage.keys.lock().unwrap()[0].subject = Some("ann".into());
    let server = Server::on(HOST, storage).await;
    let own = post(&server, "/v1/tokens", &key, &json!({})).await.ok().json();
    assert_eq!(own["subject"], "ann");
    post(&server, "/v1/tokens", &key, &json!({"subject": "ann"})).await.ok();
    let other = json!({"subject": "bob"});
    post(&server, "/v1/tokens", &key, &other).await.assert_problem(403, "not_granted");
    let beyond = json!({"grants": {"threads": [{"id": "t", "actions": ["read"]}]}});
    post(&server, "/v1/tokens", &key, &beyond).await.assert_problem(403, "not_granted");
    let by_id = json!({"token_id": own["token_id"]});
    post(&server, "/v1/tokens/revoke", &key, &by_id).await.assert_problem(403, "not_granted");
    let by_text = json!({"token": own["token"]});
    post(&server, "/v1/tokens/revoke", &key, &by_text).await.ok();
    let dead = whoami(&server, own["token"].as_str().unwrap()).await;
    dead.assert_problem(401, "token_revoked");
}

#[tokio::test]
async fn tampered_and_invented_tokens_all_look_the_same() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    let unknown = whoami(&fleet.servers[0], "tk_unknown").await.json()["detail"].clone();
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let refused = whoami(&fleet.servers[0], std::str::from_utf8(&changed).unwrap()).await;
        refused.assert_problem(401, "unauthorized");
        assert_eq!(refused.json()["detail"], unknown, "{at}");
    }
    whoami(&fleet.servers[0], &token).await.ok();
    // An expired one that was tampered with does not tell when it ended.
    fleet.clock.advance(4_000 * SECOND);
    let last = if token.ends_with('A') { 'Q' } else { 'A' };
    let changed = format!("{}{last}", &token[..token.len() - 1]);
    whoami(&fleet.servers[0], &changed).await.assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_token_in_a_query_string_is_no_token() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    for name in ["token", "access_token", "api_key", "x-api-key", "authorization"] {
        let answer = fleet.servers[0].get(&format!("/v1/whoami?{name}={token}")).await;
        answer.assert_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn tenants_never_meet() {
    let fleet = Fleet::of(1).await;
    let [acme, globex] = [&fleet.keys[0], &fleet.keys[1]];
    let answer = fleet.post("/v1/tokens", acme, &json!({"subject": "ann"})).await.ok();
    let (token, token_id) = (text(&answer), id(&answer));
    let other = fleet.mint(globex, &json!({"subject": "ann"})).await;
    assert_eq!(whoami(&fleet.servers[0], &token).await.ok().json()["tenant"], "acme");
    assert_eq!(whoami(&fleet.servers[0], &other).await.ok().json()["tenant"], "globex");
    // The other tenant may name the id, and only marks an id of its own by that.
    fleet.post("/v1/tokens/revoke", globex, &json!({"token_id": token_id})).await.ok();
    whoami(&fleet.servers[0], &token).await.ok();
    // By its text it looks like any text that is no token.
    let revoke = async |credential: &str, token: &str| {
        let answer = fleet.post("/v1/tokens/revoke", credential, &json!({"token": token})).await;
        answer.assert_problem(404, "not_found");
        answer.json()["detail"].clone()
    };
    let absent = revoke(globex, "nonsense").await;
    assert_eq!(revoke(globex, &token).await, absent);
    assert_eq!(revoke(&other, &token).await, absent);
    assert_eq!(revoke(&token, "tks_0123456789abcdef.A.A").await, absent);
    whoami(&fleet.servers[0], &token).await.ok();
}

#[tokio::test]
async fn a_token_revokes_itself_and_what_came_from_it() {
    let fleet = Fleet::of(1).await;
    let revoke = async |credential: &str, body: Value| {
        fleet.post("/v1/tokens/revoke", credential, &body).await
    };
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    let child = fleet.post("/v1/tokens/narrow", &token, &json!({})).await.ok();
    let (child, child_id) = (text(&child), id(&child));
    let sibling = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    revoke(&token, json!({"token_id": child_id})).await.assert_problem(403, "not_granted");
    revoke(&child, json!({"token": token})).await.assert_problem(404, "not_found");
    revoke(&token, json!({"token": sibling})).await.assert_problem(404, "not_found");
    for body in [json!({"token_id": "x"}), json!({"token_id": "x", "token": "y"}), json!({"id": 1})]
    {
        revoke(&token, body).await.assert_problem(422, "invalid");
    }
    revoke(fleet.key(), json!({})).await.assert_problem(422, "invalid");
    assert_eq!(id(&revoke(&token, json!({"token": child})).await.ok()), child_id);
    whoami(&fleet.servers[0], &child).await.assert_problem(401, "token_revoked");
    whoami(&fleet.servers[0], &token).await.ok();
    // Again, by somebody who may: the same answer.
    revoke(&token, json!({"token": child})).await.ok();
    revoke(fleet.key(), json!({"token_id": child_id})).await.ok();
}

#[tokio::test]
async fn tokens_cannot_fill_the_table_of_revocations() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    let child = fleet.narrow(&token, &json!({})).await;
    fleet.post("/v1/tokens/revoke", &token, &json!({"token": child})).await.ok();
    let one = fleet.storage.revocations.lock().unwrap()[0].clone();
    *fleet.storage.revocations.lock().unwrap() = vec![one; 10_000];
    let refused = fleet.post("/v1/tokens/revoke", &token, &json!({})).await;
    refused.assert_problem(422, "invalid");
    assert_eq!(refused.json()["limit"], 10_000);
    let token_id = whoami(&fleet.servers[0], &token).await.ok().json()["credential"].clone();
    fleet.post("/v1/tokens/revoke", fleet.key(), &json!({"token_id": token_id})).await.ok();
    whoami(&fleet.servers[0], &token).await.assert_problem(401, "token_revoked");
}

/// Whoever reads the log of the tenant sees that somebody still comes with a token that ended.
#[tokio::test]
async fn tokens_that_ended_are_counted_for_their_tenant() {
    let fleet = Fleet::of(1).await;
    let short = json!({"subject": "a", "ttl_seconds": 1});
    let expired = fleet.post("/v1/tokens", fleet.key(), &short).await.ok();
    let revoked = fleet.post("/v1/tokens", &fleet.keys[1], &json!({"subject": "a"})).await.ok();
    post(&fleet.servers[0], "/v1/tokens/revoke", &text(&revoked), &json!({})).await.ok();
    fleet.clock.advance(2 * SECOND);
    for _ in 0..3 {
        whoami(&fleet.servers[0], &text(&expired)).await.assert_problem(401, "token_expired");
    }
    whoami(&fleet.servers[0], &text(&revoked)).await.assert_problem(401, "token_revoked");
    // Forged: whose it says it is does not count.
    whoami(&fleet.servers[0], &format!("{}A", text(&expired)))
        .await
        .assert_problem(401, "unauthorized");
    fleet.servers[0].app.refusals.flush().await.unwrap();
    let rows = fleet.storage.accounts.refusals.lock().unwrap();
    let row = |(it, count): (&threadkeep::domain::tenants::refusals::Refusal, &i64)| {
        (it.tenant.clone(), it.credential.clone(), it.code, *count)
    };
    let expected = [
        (String::new(), String::new(), "unauthorized", 1),
        ("acme".into(), id(&expired), "token_expired", 3),
        ("globex".into(), id(&revoked), "token_revoked", 1),
    ];
    assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), expected);
}
