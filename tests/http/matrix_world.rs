//! Stores data of every kind for one caller: a thread with a policy, its snapshots, an item, a session, Agentrail's, an upload and files.

use serde_json::{Value, json};

use crate::matrix::post;
use crate::matrix_sessions::{of_agentrail, path_of_session};
use crate::matrix_snapshots;
use crate::server::{JSON, Server};
use crate::wire::{COMMIT, base64, commit};

/// Two blocks of zeros, which end an archive.
pub const EMPTY_TAR: &[u8] = &[0; 1_024];

/// Everything is named after the thread and has this content. The namespace is below `root`, which is `who` as a subject.
/// Answers the id of an upload with a part.
pub async fn fill(server: &Server, who: &str, root: &str, thread: &str, content: &str) -> String {
    post(server, who, COMMIT, &checkpoint(thread, content)).await.ok();
    snapshots(server, who, thread).await;
    let policy = json!({"thread_id": thread, "keep_last": 5});
    post(server, who, "/v1/retention/policies/put", &policy).await.ok();
    let item = json!({
        "namespace": [root, thread], "key": "k", "value": {"note": content, "content": content}
    });
    post(server, who, "/v1/store/put", &item).await.ok();
    let session = json!({"kind": "kind", "key": [thread], "entries": [{"data": {"note": content}}],
        "document": {"name": "NOTES.md", "content": content}});
    post(server, who, "/v1/sessions/append", &session).await.ok();
    for (request, body) in of_agentrail(content) {
        let headers = [("content-type", JSON), ("x-api-key", who)];
        let (method, path) = request.split_once(' ').unwrap();
        let path = path_of_session(&format!("/agentrail/v1/t/t/{path}"), thread);
        server.send(method, &path, &headers, body.to_string().into_bytes()).await.ok();
    }
    files(server, who, root, thread, content).await
}

async fn files(server: &Server, who: &str, root: &str, thread: &str, content: &str) -> String {
    let place = json!({"namespace": [root, thread], "path": "/large"});
    let upload = post(server, who, "/v1/files/uploads", &place).await.ok().json();
    let upload_id = upload["upload_id"].as_str().unwrap().to_owned();
    let part = format!("/v1/files/uploads/{upload_id}/parts/1");
    server.send("PUT", &part, &[("x-api-key", who)], b"part".to_vec()).await.ok();
    let file = format!("/v1/files/content?ns={root}&ns={thread}&path=/f");
    let note = || content.as_bytes().to_vec();
    server.send("PUT", &file, &[("x-api-key", who)], note()).await.ok();
    server.send("POST", "/api/storage/upload?path=/f", &[("x-api-key", who)], note()).await;
    upload_id
}

/// A checkpoint of the run `run`, with a value and metadata that nobody else may see.
fn checkpoint(thread: &str, content: &str) -> Value {
    let value = json!({"channel": "messages", "version": 1, "tag": "x", "data": base64(content.as_bytes())});
    commit(
        thread,
        &[json!({"checkpoint": {
            "checkpoint_id": "1", "metadata": {"run_id": "run", "note": content},
            "skeleton": {"v": 4, "channel_versions": {"messages": 1}}, "values": [value]
        }})],
    )
}

/// One of the thread, and one with an archive.
async fn snapshots(server: &Server, who: &str, thread: &str) {
    post(server, who, "/v1/snapshots/take", &matrix_snapshots::taking(thread)).await;
    let archive = "/v1/snapshots/archive?workspace=w";
    let staged = server.send("PUT", archive, &[("x-api-key", who)], EMPTY_TAR.into()).await;
    let name = matrix_snapshots::with_archive(thread);
    let taking = json!({"snapshot_id": name, "archive": staged.json()["archive_id"]});
    post(server, who, "/v1/snapshots/take", &taking).await;
}
