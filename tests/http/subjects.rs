//! Tests the list of subjects and the erasure of one: who may, what they answer, and what the server forgets.

use serde_json::json;
use threadkeep::domain::threads::details::Details;
use threadkeep::domain::threads::run_state::Run;
use threadkeep::domain::threads::thread::Thread;
use tokio::time::Duration;

use crate::memory::Memory;
use crate::server::{HOST, Server, add_key};

fn thread(thread_id: &str, owner: &str) -> Thread {
    Thread {
        thread_id: thread_id.into(),
        created_at: 1,
        updated_at: 1,
        last_step: None,
        checkpoint_count: 0,
        size_bytes: 0,
        generation: "g".into(),
        owner: Some(owner.into()),
        graph_id: None,
        assistant_id: None,
        user_id: None,
        details: Details::default(),
        run: Run::default(),
    }
}

/// A tenant's key and one of the subject `ann`.
async fn server() -> (Server, String, String) {
    let storage = Memory::default();
    let (owner, ann) = (add_key(&storage, "acme"), add_key(&storage, "acme"));
    storage.keys.lock().unwrap()[1].subject = Some("ann".into());
    (Server::on(HOST, storage).await, owner, ann)
}

async fn erase(server: &Server, key: &str, query: &str) -> crate::server::Answer {
    let path = format!("/v1/subjects{query}");
    server.send("DELETE", &path, &[("x-api-key", key)], Vec::new()).await
}

#[tokio::test]
async fn an_erasure_answers_what_went_and_then_zeros() {
    let (server, owner, _) = server().await;
    *server.storage.threads.lock().unwrap() =
        vec![thread("1", "ann"), thread("2", "bob"), thread("3", "ann")];
    let receipt = erase(&server, &owner, "?subject=ann").await.ok().json();
    assert_eq!((&receipt["threads"], &receipt["keys"]), (&json!(2), &json!(1)), "{receipt}");
    assert_eq!(server.storage.threads.lock().unwrap().len(), 1);
    let again = erase(&server, &owner, "?subject=ann").await.ok().json();
    assert!(again.as_object().unwrap().values().all(|it| *it == 0), "{again}");
}

#[tokio::test]
async fn only_the_whole_tenant_erases() {
    let (server, _, ann) = server().await;
    erase(&server, &ann, "?subject=ann").await.assert_problem(403, "not_granted");
    erase(&server, "tk_x", "?subject=ann").await.assert_problem(401, "unauthorized");
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn a_subject_is_any_text_but_not_none() {
    let (server, owner, _) = server().await;
    for (query, field) in [
        ("", "subject"),
        ("?subject=", "subject"),
        ("?subject=a%00b", "subject"),
        (&format!("?subject={}", "a".repeat(513)), "subject"),
        ("?subject=a&force=1", "force"),
    ] {
        let answer = erase(&server, &owner, query).await;
        answer.assert_problem(422, "invalid");
        assert!(answer.json()["detail"].to_string().contains(field), "{query}: {}", answer.json());
    }
    assert!(server.storage.is_untouched());
    erase(&server, &owner, "?subject=..%2Fa%20b%3Aann%40acme").await.ok();
    assert!(server.storage.calls()[0].contains("of ../a b:ann@acme in acme"));
}

#[tokio::test]
async fn values_of_erased_threads_leave_the_memory() {
    let (server, owner, _) = server().await;
    *server.storage.threads.lock().unwrap() = vec![thread("1", "ann")];
    for id in ["1", "2"] {
        let put = json!({"thread_id": id, "ops": [{"checkpoint": {
            "checkpoint_id": "1", "skeleton": {"v": 4, "channel_versions": {"m": 1}}, "metadata": {},
            "values": [{"channel": "m", "version": 1, "tag": "msgpack", "data": "QUJD".repeat(2_000)}]
        }}]});
        let headers = [("content-type", "application/json"), ("x-api-key", owner.as_str())];
        let body = put.to_string().into_bytes();
        server.send("POST", "/v1/checkpoints/commit", &headers, body).await.ok();
    }
    let before = server.app.values.bytes();
    erase(&server, &owner, "?subject=ann").await.ok();
    let after = server.app.values.bytes();
    assert!(before > 12_000 && after > 0 && after * 2 <= before, "{before} bytes, then {after}");
}

#[tokio::test]
async fn an_erasure_goes_on_when_the_caller_leaves() {
    let (server, owner, _) = server().await;
    let threads = (0..200).map(|at| thread(&at.to_string(), "ann")).collect();
    *server.storage.threads.lock().unwrap() = threads;
    tokio::select! {
        biased;
        answer = erase(&server, &owner, "?subject=ann") => panic!("{answer:?} before the caller left"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(server.storage.threads.lock().unwrap().len(), 200, "nothing happened before");
    for _ in 0..1_000 {
        if server.storage.threads.lock().unwrap().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} threads are left", server.storage.threads.lock().unwrap().len());
}

#[tokio::test]
async fn a_storage_that_fails_is_told() {
    let (server, owner, _) = server().await;
    server.storage.fail(|| threadkeep::domain::Error::Internal("SECRET".into()));
    let answer = erase(&server, &owner, "?subject=ann").await;
    answer.assert_problem(500, "internal");
    assert!(!String::from_utf8_lossy(&answer.body).contains("SECRET"));
}

#[tokio::test]
async fn subjects_are_listed_in_pages_for_the_whole_tenant() {
    let (server, owner, ann) = server().await;
    *server.storage.threads.lock().unwrap() =
        vec![thread("1", "bob"), thread("2", "ann"), thread("3", "bob"), thread("4", "c\u{fc}")];
    let list = async |query: &str| {
        let path = format!("/v1/subjects{query}");
        server.get_with(&path, &[("x-api-key", &owner)]).await
    };
    let all = list("").await.ok().json();
    let subjects = all["subjects"].as_array().unwrap();
    let ann_has = json!({"subject": "ann", "keys": 0, "threads": 1, "sessions": 0, "snapshots": 0, "items": 0,
        "size_bytes": 0, "partial": false});
    assert_eq!((subjects.len(), &subjects[0], all.get("next_cursor")), (3, &ann_has, None));
    let (mut paged, mut query) = (Vec::new(), "?limit=1".to_owned());
    loop {
        let page = list(&query).await.ok().json();
        paged.extend(page["subjects"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=1&cursor={next}");
    }
    assert_eq!(&paged, subjects);
    assert_eq!(list("?limit=0").await.ok().json(), json!({"subjects": []}));
    for (query, field) in
        [("?limit=-1", "limit"), ("?limit=x", "limit"), ("?zz=1", "zz"), ("?cursor=e30", "cursor")]
    {
        let answer = list(query).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{query}");
    }
    let refused = server.get_with("/v1/subjects", &[("x-api-key", &ann)]).await;
    refused.assert_problem(403, "not_granted");
}
