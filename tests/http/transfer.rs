//! Tests the export of a tenant from one server and its import into another.

use serde_json::{Value, json};

use crate::drive_world::World;
use crate::server::{Answer, JSON};
use crate::wire::{base64, commit, put};

async fn ask(it: &World, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", it.tenant.as_str()), ("content-type", JSON)];
    it.server.send("POST", path, &headers, body.to_string().into_bytes()).await
}

async fn import(it: &World, query: &str, file: &[u8]) -> Answer {
    let path = format!("/v1/import{query}");
    it.server.send("POST", &path, &[("x-api-key", &it.tenant)], file.to_vec()).await
}

async fn fill(it: &World, thread: &str, id: &str) {
    ask(it, "/v1/checkpoints/commit", &commit(thread, &[put(id, &base64(b"x"))])).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_moves_as_a_file() {
    let (from, to) = (World::new().await, World::new().await);
    fill(&from, "a/b", "1").await;
    fill(&from, "c", "1").await;
    let session = json!({"kind": "k", "key": ["s"], "entries": [{"data": {"n": 1}}]});
    ask(&from, "/v1/sessions/append", &session).await.ok();
    let answer = ask(&from, "/v1/export", &json!({})).await.ok();
    assert_eq!(answer.headers["content-type"], "application/vnd.threadkeep.export");
    assert!(String::from_utf8_lossy(&answer.body[..200]).contains("NOT ENCRYPTED"));
    let file = answer.body;
    let would = import(&to, "?dry_run=true", &file).await.ok().json();
    assert_eq!((&would["dry_run"], &would["threads"]["created"]), (&json!(true), &json!(2)));
    let done = import(&to, "", &file).await.ok().json();
    assert_eq!((&done["threads"]["created"], &done["sessions"]["created"]), (&json!(2), &json!(1)));
    let again = import(&to, "", &file).await.ok().json();
    assert_eq!(
        again["threads"],
        json!({"created": 0, "unchanged": 2, "replaced": 0, "conflicts": 0})
    );
    let found = ask(&to, "/v1/threads/get", &json!({"thread_id": "a/b"})).await.ok().json();
    assert_eq!(found["thread"]["checkpoint_count"], 1, "{found}");
    let listed = ask(&to, "/v1/sessions/load", &json!({"kind": "k", "key": ["s"]})).await.ok();
    assert_eq!(listed.json()["entries"][0]["data"], json!({"n": 1}));
    fill(&to, "c", "2").await;
    import(&to, "", &file).await.assert_problem(409, "import_conflict");
    let replaced = import(&to, "?overwrite=true", &file).await.ok().json();
    assert_eq!(replaced["threads"]["replaced"], 1);
    let acts = it_acts(&to).await;
    assert!(acts.contains(&"imported".to_owned()), "{acts:?}");
    assert!(it_acts(&from).await.contains(&"exported".to_owned()));
}

async fn it_acts(it: &World) -> Vec<String> {
    let events = it.get(&it.tenant, "/v1/audit").await.ok().json();
    let act = |it: &Value| it["act"].as_str().unwrap().to_owned();
    events["events"].as_array().unwrap().iter().map(act).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_whole_file_is_refused_by_name() {
    let it = World::new().await;
    fill(&it, "t", "1").await;
    let file = ask(&it, "/v1/export", &json!({"threads": ["t"]})).await.ok().body;
    import(&it, "", b"something else").await.assert_problem(422, "export_damaged");
    import(&it, "", &file[..file.len() - 1]).await.assert_problem(422, "export_truncated");
    let mut damaged = file.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    import(&it, "", &damaged).await.assert_problem(422, "export_damaged");
    import(&it, "?dry_run=1", &file).await.assert_problem(422, "invalid");
    ask(&it, "/v1/export", &json!({"threads": ["absent"]})).await.assert_problem(404, "not_found");
    let absent = json!({"sessions": [{"kind": "k", "key": ["s"]}]});
    ask(&it, "/v1/export", &absent).await.assert_problem(404, "session_not_found");
    ask(&it, "/v1/export", &json!({"threads": [""]})).await.assert_problem(422, "invalid");
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", JSON)];
    let denied = it.server.send("POST", "/v1/export", &headers, b"{}".to_vec()).await;
    denied.assert_problem(403, "not_granted");
}
