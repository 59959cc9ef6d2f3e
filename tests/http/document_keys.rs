//! Tests that the document says of each route whether it needs a key.

use serde_json::json;

use crate::document::operations;
use crate::server::{JSON, Server};

/// How routes begin that need a key.
const BELOW: &str = "/v1/ /api/ /agentrail/v1/ /__inspector/ /i/{token}/ /metrics \
    /threads /store/ /assistants /runs /mcp /a2a/ /ui/";

#[tokio::test]
async fn a_route_needs_a_key_exactly_when_the_document_says_so() {
    let (server, _) = Server::with_keys(&["acme"]).await;
    for (path, method, operation) in operations() {
        let answer = server.send(&method, &path, &[("content-type", JSON)], b"{}".to_vec()).await;
        let security = operation["security"].as_array().unwrap();
        // An empty object says that nothing has to be presented.
        let needs_key = !security.is_empty() && !security.contains(&json!({}));
        assert_eq!(answer.status == 401, needs_key, "{method} {path}: {}", answer.status);
        assert_eq!(operation["x-permission"].is_string(), !security.is_empty(), "{method} {path}");
        let is_below = BELOW.split(' ').any(|it| path.starts_with(it));
        // A signed address is a key itself.
        let is_open = ["/api/storage/open", "/v1/info"].contains(&path.as_str());
        assert_eq!(is_below && !is_open, needs_key, "{method} {path}");
    }
}
