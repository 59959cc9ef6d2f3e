//! Tests arguments, parameters and headers out of range: each has its typed answer and reaches no storage.

use serde_json::json;

use crate::server::{JSON, Server};

const COMMIT: &str = "/v1/checkpoints/commit";
const LIST: &str = "/v1/checkpoints/list";

#[tokio::test]
async fn arguments_out_of_range_are_invalid() {
    let cases = [
        (LIST, json!({"limit": -1}), "limit"),
        (LIST, json!({"filter": [1]}), "filter"),
        (LIST, json!({"filter": null, "cursor": "zz"}), "cursor"),
        (LIST, json!({"before": ""}), "before"),
        ("/v1/checkpoints/prune", json!({"thread_ids": ["t"], "strategy": "zz"}), "strategy"),
        ("/v1/checkpoints/prune", json!({"thread_ids": [""], "strategy": "delete"}), "thread_ids"),
        (
            "/v1/checkpoints/prune",
            json!({"thread_ids": vec!["t"; 1_001], "strategy": "delete"}),
            "thread_ids",
        ),
        ("/v1/checkpoints/delete-for-runs", json!({"run_ids": ["\0"]}), "run_ids"),
        ("/v1/checkpoints/history", json!({"thread_id": "t"}), "channels"),
        (
            "/v1/checkpoints/get",
            json!({"thread_id": "t", "history_channels": ["\0"]}),
            "history_channels",
        ),
        (
            "/v1/threads/lease/acquire",
            json!({"thread_id": "t", "holder": "h", "ttl_seconds": 0}),
            "ttl_seconds",
        ),
        (
            "/v1/threads/lease/acquire",
            json!({"thread_id": "t", "holder": "", "ttl_seconds": 1}),
            "holder",
        ),
        (
            "/v1/threads/lease/renew",
            json!({"thread_id": "t", "holder": "h", "ttl_seconds": 1}),
            "fence",
        ),
        (
            "/v1/threads/copy",
            json!({"source_thread_id": "t", "target_thread_id": ""}),
            "target_thread_id",
        ),
    ];
    let server = Server::keyless().await;
    for (path, body, field) in cases {
        let answer = server.post(path, &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{path} {body}");
    }
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn query_parameters_out_of_range_are_invalid() {
    let server = Server::keyless().await;
    for (query, field) in [
        ("limit=x", "limit"),
        ("limit=-1", "limit"),
        ("sort=zz", "sort"),
        ("order=up", "order"),
        ("zz=1", "zz"),
        ("prefix=%00", "prefix"),
        ("graph_id=%00", "graph_id"),
        ("cursor=e30", "cursor"),
    ] {
        let answer = server.get(&format!("/v1/threads?{query}")).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{query}");
    }
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn other_media_types_and_headers_are_refused() {
    let server = Server::keyless().await;
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
    ] {
        server.post_bytes(COMMIT, media, "{}").await.assert_problem(415, "unsupported_media_type");
    }
    server
        .send("POST", COMMIT, &[], b"{}".to_vec())
        .await
        .assert_problem(415, "unsupported_media_type");
    let send = async |name: &str, value: &str| {
        let headers = [("content-type", JSON), (name, value)];
        server.send("POST", COMMIT, &headers, b"{}".to_vec()).await
    };
    send("accept", "text/html").await.assert_problem(406, "not_acceptable");
    send("content-encoding", "br").await.assert_problem(415, "unsupported_media_type");
    for budget in ["0", "30001", "-1", "1.5", "x", ""] {
        let answer = send("threadkeep-budget-ms", budget).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(
            (answer.field().as_str(), &answer.json()["limit"]),
            ("Threadkeep-Budget-Ms", &json!(30_000))
        );
    }
    for key in ["", "a b", "ü", &"x".repeat(256)] {
        assert_eq!(send("idempotency-key", key).await.field(), "Idempotency-Key", "{key:?}");
    }
    assert!(server.storage.is_untouched());
}
