//! Tests files through the router: fields, texts of errors, and both media types.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Answer, JSON, MSGPACK, Server};

async fn post(server: &Server, route: &str, mut body: Value) -> Answer {
    body["namespace"] = json!(["ann", "filesystem"]);
    server.post(&format!("/v1/files/{route}"), &body).await
}

async fn with_files() -> Server {
    let server = Server::keyless().await;
    for (path, content) in [("/plan.md", "# Plan\ntea\n"), ("/notes/a.txt", "tea"), ("/i.bin", "")]
    {
        post(&server, "write", json!({"path": path, "content": content})).await.ok();
    }
    server
}

#[tokio::test]
async fn a_file_is_written_read_and_edited() {
    let server = with_files().await;
    let again = post(&server, "write", json!({"path": "/plan.md", "content": "a\nb\nc"})).await;
    assert_eq!(again.ok().json(), json!({"path": "/plan.md", "version": 2, "created": false}));
    let read = post(&server, "read", json!({"path": "/plan.md", "offset": 1, "limit": 1})).await;
    let mut read = read.ok().json();
    assert!(read["created_at"].is_string() && read["modified_at"].is_string());
    for time in ["created_at", "modified_at"] {
        read.as_object_mut().unwrap().remove(time);
    }
    assert_eq!(
        read,
        json!({"content": "b\n", "encoding": "utf-8", "media_type": "text/markdown", "version": 2, "size": 5,
            "total_lines": 3, "start_line": 2, "end_line": 2, "next_offset": 2})
    );
    let none = post(&server, "read", json!({"path": "/plan.md", "limit": 0})).await.ok().json();
    assert_eq!((&none["content"], &none["no_lines_requested"]), (&json!(""), &json!(true)));
    let edit = json!({"path": "/plan.md", "old_string": "b", "new_string": "B"});
    let edited = post(&server, "edit", edit).await.ok().json();
    assert_eq!(edited, json!({"path": "/plan.md", "occurrences": 1, "version": 3}));
    let append = json!({"path": "/plan.md", "content": "d"});
    let appended = post(&server, "append", append).await.ok().json();
    assert_eq!(appended, json!({"path": "/plan.md", "version": 4}));
    let wide = post(&server, "read", json!({"path": "/plan.md", "limit": 2_147_483_647})).await;
    assert_eq!(wide.ok().json()["content"], "a\nB\ncd");
}

#[tokio::test]
async fn listings_and_searches_show_entries() {
    let server = with_files().await;
    let found = post(&server, "ls", json!({"path": "/", "limit": 2})).await.ok().json();
    let entries = found["entries"].as_array().unwrap();
    let directory = json!({"path": "/notes/", "is_dir": true, "size": 0, "modified_at": ""});
    assert_eq!((&entries[0]["path"], &entries[1]), (&json!("/i.bin"), &directory));
    let next = json!({"path": "/", "limit": 2, "cursor": found["next_cursor"]});
    let rest = post(&server, "ls", next).await.ok().json();
    assert_eq!(
        (rest["entries"].as_array().unwrap().len(), &rest["next_cursor"]),
        (1, &Value::Null)
    );
    let entry = &rest["entries"][0];
    assert_eq!((&entry["size"], &entry["media_type"]), (&json!(11), &json!("text/markdown")));
    assert_eq!((entry["sha256"].as_str().unwrap().len(), &entry["etag"]), (64, &entry["sha256"]));
    let stat = post(&server, "stat", json!({"path": "/plan.md"})).await.ok().json();
    assert_eq!(&stat["entry"], entry);
    let found = post(&server, "glob", json!({"pattern": "*.txt"})).await.ok().json();
    assert_eq!(
        (&found["matches"][0]["path"], &found["truncated"]),
        (&json!("/notes/a.txt"), &json!(false))
    );
    let grep = json!({"pattern": "tea", "max_count": 1});
    let found = post(&server, "grep", grep).await.ok().json();
    let line = json!({"path": "/notes/a.txt", "line": 1, "text": "tea"});
    assert_eq!(found, json!({"matches": [line], "truncated": true}));
}

#[tokio::test]
#[allow(clippy::too_many_lines)]
async fn refusals_have_their_codes_and_the_texts_of_deepagents() {
    let server = with_files().await;
    for (route, body, status, code, detail) in [
        ("read", json!({"path": "/x"}), 404, "file_not_found", "File '/x' not found"),
        (
            "read",
            json!({"path": "/plan.md", "offset": 9}),
            422,
            "offset_past_end",
            "Line offset 9 exceeds file length (2 lines)",
        ),
        (
            "edit",
            json!({"path": "/x", "old_string": "a", "new_string": ""}),
            404,
            "file_not_found",
            "Error: File '/x' not found",
        ),
        (
            "edit",
            json!({"path": "/plan.md", "old_string": "", "new_string": ""}),
            422,
            "old_string_empty",
            "Error: old_string cannot be empty. Provide the exact text to replace.",
        ),
        (
            "edit",
            json!({"path": "/plan.md", "old_string": "zz", "new_string": ""}),
            422,
            "string_not_found",
            "Error: String not found in file: 'zz'",
        ),
        (
            "edit",
            json!({"path": "/plan.md", "old_string": "\n", "new_string": "", "dialect": "javascript"}),
            422,
            "not_a_file",
            "",
        ),
        (
            "write",
            json!({"path": "/a/../b", "content": ""}),
            422,
            "invalid_path",
            "Path traversal not allowed: /a/../b",
        ),
        (
            "glob",
            json!({"pattern": "../x"}),
            422,
            "invalid_glob",
            "Path traversal not allowed in glob pattern '../x'",
        ),
        (
            "write",
            json!({"path": "/plan.md", "content": "", "if_version": 0}),
            409,
            "version_conflict",
            "",
        ),
        (
            "move",
            json!({"from": "/plan.md", "to": "/i.bin"}),
            409,
            "file_exists",
            "Error: File '/i.bin' already exists",
        ),
        (
            "append",
            json!({"path": "/plan.md", "content": "", "base_sha256": "0".repeat(64)}),
            409,
            "base_mismatch",
            "",
        ),
        (
            "append",
            json!({"path": "/plan.md", "content": "", "base_sha256": "0"}),
            422,
            "invalid",
            "",
        ),
        ("delete", json!({"path": "/x"}), 404, "file_not_found", "Error: File '/x' not found"),
        ("stat", json!({"path": "/x"}), 404, "file_not_found", "File '/x' not found"),
        ("ls", json!({"path": "/", "limit": 10_001}), 422, "invalid", ""),
        ("ls", json!({"path": "/", "dialect": "perl"}), 422, "invalid", ""),
        (
            "write",
            json!({"path": "/i.png", "content": "no base64!", "dialect": "javascript"}),
            422,
            "invalid",
            "",
        ),
    ] {
        let skipped = code == "not_a_file";
        if skipped {
            server
                .post(
                    "/v1/store/put",
                    &json!({"namespace": ["ann", "filesystem"], "key": "/plan.md",
                "value": {"content": "\n"}}),
                )
                .await
                .ok();
        }
        let answer = post(&server, route, body).await;
        answer.assert_problem(status, code);
        if !detail.is_empty() {
            assert_eq!(answer.json()["detail"], detail);
        }
        if code == "invalid_path" {
            assert_eq!(answer.field(), "path");
        }
        if skipped {
            post(&server, "write", json!({"path": "/plan.md", "content": "a\nb"})).await.ok();
        }
    }
    let body = json!({"namespace": ["ann", "files.ystem"], "path": "/"});
    server.post("/v1/files/ls", &body).await.assert_problem(422, "invalid");
    let body = json!({"namespace": [], "path": "/x", "content": ""});
    server.post("/v1/files/write", &body).await.assert_problem(422, "invalid");
}

#[tokio::test]
async fn batches_answer_for_each_file() {
    let server = with_files().await;
    let files = json!({"files": [
        {"path": "/b.png", "bytes": "/wA="}, {"path": "rel", "bytes": ""}, {"path": format!("/{}", "x".repeat(1_024)), "bytes": ""},
        {"path": "/t", "bytes": "dGVh", "media_type": "text/x-tea"}
    ]});
    let results = post(&server, "upload", files).await.ok().json()["results"].clone();
    assert_eq!(results[0], json!({"path": "/b.png", "version": 1}));
    assert_eq!(
        (&results[1]["error"], &results[2]["error"]),
        (&json!("invalid_path"), &json!("invalid_path"))
    );
    let paths = json!({"paths": ["/t", "/gone", "/b.png"]});
    let results = post(&server, "download", paths).await.ok().json()["results"].clone();
    assert_eq!(
        (&results[0]["bytes"], &results[0]["media_type"]),
        (&json!("dGVh"), &json!("text/x-tea"))
    );
    assert_eq!(results[1], json!({"path": "/gone", "error": "file_not_found"}));
    assert_eq!(
        (&results[2]["bytes"], &results[2]["media_type"]),
        (&json!("/wA="), &json!("image/png"))
    );
    let read = post(&server, "read", json!({"path": "/b.png"})).await.ok().json();
    assert_eq!(
        (&read["bytes"], &read["encoding"], &read["content"]),
        (&json!("/wA="), &json!("base64"), &Value::Null)
    );
    let moved = post(&server, "move", json!({"from": "/notes", "to": "/n"})).await.ok().json();
    assert_eq!((&moved["path"], &moved["files"]), (&json!("/n"), &json!(1)));
    let copied = post(&server, "copy", json!({"from": "/n/a.txt", "to": "/c"})).await.ok().json();
    assert_eq!(copied["files"], 1);
    assert_eq!(
        post(&server, "delete", json!({"path": "/n"})).await.ok().json(),
        json!({"deleted": 1})
    );
}

/// What UTF-8 cannot hold travels as the JSON text of the string in MessagePack.
#[tokio::test]
async fn any_text_passes_both_media_types() {
    #[derive(Deserialize)]
    struct Read {
        content: serde_bytes::ByteBuf,
    }

    let server = Server::keyless().await;
    let body = r#"{"namespace":["n"],"path":"/x","content":"a\ud800\u0000"}"#;
    server.post_bytes("/v1/files/write", JSON, body).await.ok();
    let ask = r#"{"namespace":["n"],"path":"/x"}"#;
    let answer = server.post_bytes("/v1/files/read", JSON, ask).await.ok();
    assert!(String::from_utf8(answer.body).unwrap().contains(r#""content":"a\ud800\u0000""#));
    let headers = [("content-type", JSON), ("accept", MSGPACK)];
    let answer = server.send("POST", "/v1/files/read", &headers, ask.into()).await.ok();
    let read: Read = rmp_serde::from_slice(&answer.body).unwrap();
    assert_eq!(read.content.into_vec(), br#""a\ud800\u0000""#);
}

#[tokio::test]
async fn patterns_that_would_take_everything_are_refused_with_field_and_limit() {
    let server = with_files().await;
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + "a" + &close.repeat(depth);
    for (pattern, limit) in [
        (nested("{a,", "}", 8_000), 1_024),
        (nested("@(", ")", 6_000), 1_024),
        (nested("@(", ")", 40), 32),
        (nested("!(", ")", 3), 2),
        ("{1,2}".repeat(10), 1_000),
    ] {
        let of_glob = json!({"dialect": "javascript", "pattern": pattern});
        let of_grep = json!({"dialect": "javascript", "pattern": "tea", "glob": pattern});
        for (route, body, field) in [("glob", of_glob, "pattern"), ("grep", of_grep, "glob")] {
            let refused = post(&server, route, body).await;
            refused.assert_problem(422, "invalid_glob");
            assert_eq!((refused.field(), &refused.json()["limit"]), (field.into(), &json!(limit)));
        }
    }
    let path = "/".to_owned() + &"a".repeat(200);
    post(&server, "write", json!({"path": path, "content": "tea"})).await.ok();
    let found = async |pattern: &str| {
        let body = json!({"dialect": "javascript", "pattern": pattern});
        post(&server, "glob", body).await.ok().json()["matches"].as_array().unwrap().len()
    };
    assert_eq!(found("*(*(*(*(*(*(a))))))b").await, 0);
    assert_eq!(found("*(*(*(*(*(*(a))))))").await, 1);
}
