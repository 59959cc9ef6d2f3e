//! Tests Agentrail's sessions: their owners, and the Inspector's report about them.

use serde_json::{Value, json};
use threadkeep::app::Outside;
use threadkeep::domain::agentrail::OtherUser;

use crate::sessions::World;

const SESSION: &str = "/agentrail/v1/t/t/s/s";

async fn ask_for(it: &World, user: &str) -> crate::server::Answer {
    it.send("PUT", SESSION, &json!({"userId": user, "agentId": "helper"})).await
}

#[tokio::test]
async fn a_session_of_another_user_is_answered_or_refused_as_it_was_configured() {
    for (other, status, code) in [
        (OtherUser::Answered, 200, ""),
        (OtherUser::Conflict, 409, "session_taken"),
        (OtherUser::Forbidden, 403, "not_granted"),
    ] {
        let outside = Outside { agentrail_other_user: other, ..Outside::default() };
        let it = World::with(outside).await;
        assert_eq!(ask_for(&it, "ann").await.ok().json()["created"], true);
        assert_eq!(ask_for(&it, "ann").await.ok().json()["created"], false);
        let answer = ask_for(&it, "bob").await;
        match status {
            200 => assert_eq!(answer.ok().json()["created"], false),
            _ => answer.assert_problem(status, code),
        }
        // It stays the first one's.
        let of = |user: &str| format!("/agentrail/v1/t/t/users/{user}/sessions");
        assert_eq!(it.get(&of("ann")).await.ok().json()["sessions"][0]["sessionId"], "s");
        assert_eq!(it.get(&of("bob")).await.ok().json()["sessions"], json!([]));
    }
}

#[tokio::test]
async fn the_inspector_says_what_failed_and_what_was_used() {
    let it = World::new().await;
    let of = |session: &str, more: &str| format!("/agentrail/v1/t/t/s/{session}{more}");
    let trace = async |session: &str, kinds: &[&str]| {
        let number = rand::random::<u64>();
        let envelope = |(at, kind): (usize, &&str)| {
            json!({"id": format!("{number}-{at}"), "sequence": at, "timestamp": "2", "source": "runtime",
                "event": {"type": kind, "status": "failed"}})
        };
        let envelopes: Vec<Value> = kinds.iter().enumerate().map(envelope).collect();
        it.send("POST", &of(session, "/trace"), &json!({"envelopes": envelopes})).await.ok();
    };
    let message = json!({"messages": [{"role": "user", "content": "hi"}]});
    it.send("POST", &of("quiet", "/messages"), &message).await.ok();
    trace("fine", &["error", "agent_start", "turn.start", "turn.complete", "agent_end"]).await;
    trace("failed", &["agent_start", "error", "agent_end", "session.end"]).await;
    trace("run", &["orchestration_run_start", "orchestration_run_complete"]).await;
    for used in [40, 2] {
        let usage = json!({"inputTokens": used - 1, "outputTokens": 1, "totalTokens": used});
        it.send("POST", &of("fine", "/turns"), &usage).await.ok();
    }
    let shown = async || {
        let found = it.get("/__inspector/sessions").await.ok().json();
        let session = |id: &str| {
            let all = found["sessions"].as_array().unwrap();
            all.iter().find(|it| it["sessionId"] == id).cloned().unwrap()
        };
        ["quiet", "fine", "failed", "run"].map(session)
    };
    let [quiet, fine, failed, run] = shown().await;
    assert_eq!(
        (&fine["status"], &fine["turns"], &fine["tokens"]),
        (&json!("idle"), &json!(2), &json!(42))
    );
    assert_eq!((&failed["status"], &run["status"]), (&json!("error"), &json!("error")));
    for absent in ["status", "turns", "tokens"] {
        assert!(quiet.get(absent).is_none(), "{quiet}");
    }
    assert!(failed.get("turns").is_none(), "{failed}");
    // What begins anew has not failed yet.
    trace("failed", &["agent_start"]).await;
    assert_eq!(shown().await[2]["status"], "idle");
}

#[tokio::test]
async fn a_key_in_the_body_is_a_name() {
    let it = World::new().await;
    let message = json!({"role": "user", "content": "hi"});
    it.send("POST", &format!("{SESSION}/messages"), &json!({"messages": [message]})).await.ok();
    let compaction =
        json!({"throughSeq": 1, "expectedHead": 1, "compressedCount": 1, "placeholder": message});
    for (route, body) in [
        ("messages", json!({"messages": [message]})),
        ("turns", json!({"totalTokens": 5})),
        ("compact", compaction),
    ] {
        for key in ["\0", "a\0b", "", &"k".repeat(256)] {
            let mut body = body.clone();
            body["idempotencyKey"] = json!(key);
            let answer = it.send("POST", &format!("{SESSION}/{route}"), &body).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.json()["field"], "idempotencyKey", "{route}");
        }
    }
    let sent = json!({"messages": [message], "idempotencyKey": "á key of an agent"});
    for _ in 0..2 {
        let answer = it.send("POST", &format!("{SESSION}/messages"), &sent).await.ok();
        assert_eq!(answer.json(), json!({"firstSeq": 2, "lastSeq": 2}));
    }
}
