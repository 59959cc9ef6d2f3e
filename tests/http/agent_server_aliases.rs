//! Tests UUID aliases of threads on the wire of the LangGraph Agent Server: they are understood everywhere, and shown below `/uuid`.

use serde_json::{Value, json};
use threadkeep::domain::threads::alias::alias;

use crate::agent_server_states::world;
use crate::drive_world::World;
use crate::server::{Answer, JSON, Server};
use crate::wire::{COMMIT, base64, commit, put};

const USUAL: &str = "01a1fd27-88d5-7136-a8f3-1c19969e5021";

async fn send(it: &World, who: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", who), ("content-type", JSON)];
    it.server.send(method, path, &headers, body.to_string().into_bytes()).await
}

async fn post(it: &World, path: &str, body: &Value) -> Answer {
    send(it, &it.ann, "POST", path, body).await
}

/// All ids of threads in an answer, by where they stand.
fn ids(answer: &Value, name: &str, found: &mut Vec<(String, String)>) {
    match answer {
        Value::Object(fields) => {
            for (field, value) in fields {
                if field == "thread_id" {
                    found.push((name.to_owned(), value.as_str().unwrap().to_owned()));
                }
                ids(value, field, found);
            }
        }
        Value::Array(all) => all.iter().for_each(|it| ids(it, name, found)),
        _ => {}
    }
}

fn named(answer: &Answer) -> Vec<(String, String)> {
    let mut found = Vec::new();
    ids(&answer.json(), "", &mut found);
    found
}

/// Each call that shows a thread, with a body for those by POST.
fn calls(id: &str) -> Vec<(&'static str, String, Value)> {
    let get = |rest: &str| ("GET", format!("/threads/{id}{rest}"), Value::Null);
    let post = |rest: &str, body: Value| ("POST", format!("/threads/{id}{rest}"), body);
    vec![
        get(""),
        get("/state"),
        get("/state?subgraphs=true"),
        get("/state/1ef4f797-8335-6428-8001-8a1503f9b875"),
        post("/state/checkpoint", json!({"checkpoint": {"thread_id": "other"}})),
        get("/history"),
        post("/history", json!({"limit": 10})),
        get("/storage"),
        ("PATCH", format!("/threads/{id}"), json!({"metadata": {"a": 1}})),
        ("POST", "/threads/search".into(), json!({"ids": [id]})),
        ("POST", "/threads".into(), json!({"thread_id": id, "if_exists": "do_nothing"})),
    ]
}

#[tokio::test]
async fn an_alias_is_understood_everywhere_and_shown_below_uuid() {
    let it = world().await;
    send(&it, &it.ann, "PATCH", "/threads/t", &json!({"metadata": {"thread_id": "t"}})).await.ok();
    let uuid = alias("t");
    for asked in ["t", &uuid, &uuid.to_uppercase(), &uuid.replace('-', "")] {
        for (method, path, body) in calls(asked) {
            for (base, shown) in [("", "t"), ("/uuid", uuid.as_str())] {
                let answer = send(&it, &it.ann, method, &format!("{base}{path}"), &body).await.ok();
                let found = named(&answer);
                assert!(!found.is_empty(), "{method} {base}{path}");
                for (place, id) in &found {
                    assert_eq!(id, shown, "{method} {base}{path}: {place}");
                }
            }
        }
    }
    let count = post(&it, "/threads/count", &json!({"ids": [uuid, "empty", "t"]})).await.ok();
    assert_eq!(count.json(), 2);
    for (path, status) in [
        (format!("/threads/{uuid}/runs"), 200),
        (format!("/uuid/threads/{uuid}/runs"), 200),
        (format!("/uuid/threads/{uuid}/stream"), 422),
    ] {
        assert_eq!(it.get(&it.ann, &path).await.status, status, "{path}");
    }
    let again = post(&it, "/uuid/threads", &json!({"thread_id": uuid})).await;
    again.assert_problem(409, "thread_exists");
    assert_eq!(again.json()["detail"], format!("Thread with ID {uuid} already exists"));
    let pruned = json!({"thread_ids": [uuid, "t", alias("empty")], "strategy": "keep_latest"});
    let pruned = post(&it, "/uuid/threads/prune", &pruned).await.ok().json();
    assert_eq!(pruned, json!({"pruned_count": 2}));
    let copy = post(&it, &format!("/uuid/threads/{uuid}/copy"), &json!({})).await.ok().json();
    let copied = copy["thread_id"].as_str().unwrap();
    assert_eq!(
        it.get(&it.ann, &format!("/threads/{copied}")).await.ok().json()["thread_id"],
        copied
    );
    let path = format!("/uuid/threads/{uuid}");
    assert_eq!(send(&it, &it.ann, "DELETE", &path, &Value::Null).await.status, 204);
    assert_eq!(it.get(&it.ann, "/threads/t").await.status, 404);
    let absent = it.get(&it.ann, &path).await;
    absent.assert_problem(404, "thread_not_found");
    assert_eq!(absent.json()["detail"], format!("Thread with ID {uuid} not found"));
}

#[tokio::test]
async fn foreign_threads_look_absent_by_their_aliases() {
    let it = world().await;
    let uuid = alias("t");
    let nobody = alias("nobody's");
    for base in ["", "/uuid"] {
        let asked = async |(method, path, body): (&str, String, Value)| {
            send(&it, &it.bob, method, &format!("{base}{path}"), &body).await
        };
        for (foreign, nobodys) in calls(&uuid).into_iter().zip(calls(&nobody)).take(9) {
            let path = foreign.1.clone();
            let (answer, absent) = (asked(foreign).await, asked(nobodys).await);
            assert_eq!(answer.problem(), absent.problem(), "{path}");
            let told = |answer: &Answer| answer.json()["detail"].as_str().unwrap().to_owned();
            assert_eq!(told(&answer), told(&absent).replace(&nobody, &uuid), "{path}");
        }
        let path = format!("{base}/threads/{uuid}");
        assert_eq!(send(&it, &it.bob, "DELETE", &path, &Value::Null).await.status, 404);
        let path = format!("{base}/threads/{uuid}/copy");
        assert_eq!(send(&it, &it.bob, "POST", &path, &Value::Null).await.status, 409);
        let body = json!({"ids": [uuid, "t"]});
        let search = format!("{base}/threads/search");
        assert_eq!(send(&it, &it.bob, "POST", &search, &body).await.ok().json(), json!([]));
    }
    let grants = json!({"grants": {"threads": [{"prefix": "team:", "actions": ["read"]}]}});
    let minted = send(&it, &it.tenant, "POST", "/v1/tokens", &grants).await.ok().json();
    let token = minted["token"].as_str().unwrap();
    // Grants are of real ids: a UUID begins with no such prefix.
    post(&it, "/threads", &json!({"thread_id": "team:1"})).await.ok();
    let shared = it.get(token, &format!("/uuid/threads/{}", alias("team:1"))).await.ok().json();
    assert_eq!(shared["thread_id"], alias("team:1"));
    assert_eq!(it.get(token, &format!("/threads/{uuid}")).await.status, 404);
    // His own thread may have the name that is the alias of another's.
    let own = send(&it, &it.bob, "POST", "/threads", &json!({"thread_id": uuid})).await.ok().json();
    assert_eq!(own["thread_id"], uuid);
    assert_eq!(it.get(&it.bob, &format!("/threads/{uuid}")).await.ok().json()["thread_id"], uuid);
    assert_eq!(it.get(&it.ann, &format!("/threads/{uuid}")).await.ok().json()["thread_id"], "t");
}

#[tokio::test]
async fn ids_that_paths_cannot_have_are_reached() {
    let it = World::new().await;
    for id in ["a/b", ".", "..", "x?y#z%41", "search", "\u{1}\u{7f}", "uuid", USUAL] {
        post(&it, "/threads", &json!({"thread_id": id})).await.ok();
        let path = format!("/threads/{}", alias(id));
        assert_eq!(it.get(&it.ann, &path).await.ok().json()["thread_id"], id);
        let shown = it.get(&it.ann, &format!("/uuid{path}")).await.ok().json();
        assert_eq!(shown["thread_id"], alias(id));
    }
    let name = it.get(&it.ann, "/uuid/threads/search").await.ok().json();
    assert_eq!(name["thread_id"], alias("search"));
    // Below /uuid there are the routes of this wire alone.
    assert_eq!(it.get(&it.ann, "/uuid/v1/threads").await.status, 404);
    assert_eq!(it.get(&it.ann, "/uuid/ok").await.status, 200);
    assert_eq!(it.get(&it.ann, "/uuid").await.ok().json(), json!({"ok": true}));
    assert_eq!(it.get(&it.ann, "/uuid/threads/").await.status, 307);
    it.get(&it.ann, "/uuid/threads").await.assert_problem(405, "method_not_allowed");
}

#[tokio::test]
async fn native_calls_tell_both_names() {
    let it = world().await;
    let body = json!({"thread_id": "t"});
    let got = post(&it, "/v1/threads/get", &body).await.ok().json();
    let listed = it.get(&it.ann, "/v1/threads?prefix=t").await.ok().json();
    let found = post(&it, "/v1/threads/search", &json!({"ids": ["t"]})).await.ok().json();
    for thread in [&got["thread"], &listed["threads"][0], &found["threads"][0]] {
        assert_eq!((&thread["thread_id"], &thread["uuid"]), (&json!("t"), &json!(alias("t"))));
    }
}

#[tokio::test]
async fn reads_of_an_id_that_is_there_look_for_no_alias() {
    let server = Server::keyless().await;
    server.post(COMMIT, &commit(USUAL, &[put("1", &base64(b"x"))])).await.ok();
    for path in ["/state", "/history"] {
        let before = server.storage.calls().len();
        server.get(&format!("/threads/{USUAL}{path}")).await.ok();
        assert_eq!(server.storage.calls().len(), before + 1, "{path}");
        server
            .get(&format!("/threads/{}{path}", alias("none")))
            .await
            .assert_problem(404, "thread_not_found");
        let asked = server.storage.calls().split_off(before + 1);
        assert!(asked.iter().any(|it| it == "list_threads_named"), "{path}: {asked:?}");
    }
}
