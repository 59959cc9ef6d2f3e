//! Tests that a server without keys answers local programs, and nobody else.

use serde_json::json;

use crate::memory::Memory;
use crate::server::{JSON, Server};

#[tokio::test]
async fn local_programs_are_answered_as_the_default_tenant() {
    let server = Server::keyless().await;
    let all = json!(["read", "append", "write"]);
    let local = json!({
        "tenant": "default", "credential": "local",
        "capabilities": {
            "threads": all, "namespaces": all, "sessions": all, "snapshots": all, "tenant": ["read", "write"]
        }
    });
    assert_eq!(server.get("/v1/whoami").await.ok().json(), local);
    for host in ["localhost:7070", "[::1]:7070", "127.0.0.1:7070"] {
        server.get_with("/v1/whoami", &[("host", host)]).await.ok();
    }
}

#[tokio::test]
async fn whatever_did_not_come_from_a_local_program_is_refused_on_every_route() {
    let server = Server::keyless().await;
    let refused = [
        ("host", "evil.test:7070", "forbidden_host"),
        ("host", "127.0.0.1:7071", "forbidden_host"),
        ("host", "localhost", "forbidden_host"),
        ("origin", "http://evil.test", "forbidden_origin"),
        ("origin", "null", "forbidden_origin"),
        ("sec-fetch-site", "cross-site", "forbidden_origin"),
        ("x-forwarded-for", "203.0.113.7", "forbidden_forwarding"),
        ("x-forwarded-host", "127.0.0.1", "forbidden_forwarding"),
        ("forwarded", "for=203.0.113.7", "forbidden_forwarding"),
        ("via", "1.1 proxy", "forbidden_forwarding"),
        ("x-real-ip", "203.0.113.7", "forbidden_forwarding"),
        ("x-client-ip", "203.0.113.7", "forbidden_forwarding"),
        ("x-cluster-client-ip", "203.0.113.7", "forbidden_forwarding"),
        ("x-original-forwarded-for", "203.0.113.7", "forbidden_forwarding"),
        ("true-client-ip", "203.0.113.7", "forbidden_forwarding"),
        ("cf-connecting-ip", "203.0.113.7", "forbidden_forwarding"),
        ("cf-ray", "1", "forbidden_forwarding"),
        ("fastly-client-ip", "203.0.113.7", "forbidden_forwarding"),
        ("fly-client-ip", "203.0.113.7", "forbidden_forwarding"),
        ("x-envoy-external-address", "203.0.113.7", "forbidden_forwarding"),
        ("x-azure-clientip", "203.0.113.7", "forbidden_forwarding"),
    ];
    for (name, value, code) in refused {
        for path in ["/v1/whoami", "/v1/threads", "/metrics", "/healthz", "/openapi.json"] {
            server.get_with(path, &[(name, value)]).await.assert_problem(403, code);
        }
        let headers = [("content-type", JSON), (name, value)];
        let commit = server.send("POST", "/v1/checkpoints/commit", &headers, b"{}".to_vec()).await;
        commit.assert_problem(403, code);
    }
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn web_pages_get_no_leave_to_read() {
    let server = Server::keyless().await;
    let own = [("origin", "http://127.0.0.1:7070"), ("sec-fetch-site", "same-origin")];
    let answer = server.get_with("/v1/whoami", &own).await.ok();
    assert!(answer.headers.keys().all(|it| !it.as_str().starts_with("access-control-")));
    let headers = [("origin", "http://127.0.0.1:7070"), ("access-control-request-method", "POST")];
    let preflight = server.send("OPTIONS", "/v1/checkpoints/commit", &headers, vec![]).await;
    assert_eq!(preflight.status, 405);
    assert!(preflight.headers.keys().all(|it| !it.as_str().starts_with("access-control-")));
}

#[tokio::test]
async fn a_key_that_nobody_made_is_not_ignored() {
    let server = Server::keyless().await;
    let answer = server.get_with("/v1/whoami", &[("x-api-key", "tk_nobody")]).await;
    answer.assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn an_address_that_others_reach_is_not_served_without_keys() {
    let server = Server::on("0.0.0.0:7070", Memory::default()).await;
    assert!(server.app.authenticator.is_unprotected());
    let answer = server.send("GET", "/v1/whoami", &[("host", "127.0.0.1:7070")], vec![]).await;
    assert_eq!(answer.status, 401);
}
