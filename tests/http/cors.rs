//! Tests which pages of other origins may call the server: those that were named, and any where `*` was, on a server with keys.

use threadkeep::app::{Browsers, Outside};

use crate::agent_server::TEXT;
use crate::memory::Memory;
use crate::server::{Answer, Server, add_key};

const PAGE: &str = "http://localhost:3000";
const OTHER: &str = "https://evil.test";

async fn server(named: &[&str], with_key: bool) -> (Server, String) {
    let storage = Memory::default();
    let key = if with_key { add_key(&storage, "acme") } else { String::new() };
    let cors_origins = named.iter().map(|it| (*it).to_owned()).collect();
    let browsers = Browsers { cors_origins, ..Browsers::default() };
    (Server::with(storage, Outside { browsers, ..Outside::default() }).await, key)
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[tokio::test]
async fn a_named_page_calls_a_server_without_keys_and_no_other_does() {
    let (server, _) = server(&[PAGE], false).await;
    let site = ("sec-fetch-site", "same-site");
    for path in ["/info", "/v1/whoami", "/store/items?namespace=a&key=k"] {
        let answer = server.get_with(path, &[("origin", PAGE), site]).await.ok();
        assert_eq!(allowed(&answer), Some(PAGE), "{path}");
        let refused = server.get_with(path, &[("origin", OTHER), site]).await;
        refused.assert_problem(403, "forbidden_origin");
        server.get_with(path, &[site]).await.assert_problem(403, "forbidden_origin");
    }
    let headers = [("origin", PAGE), ("content-type", TEXT)];
    server.send("POST", "/store/items/search", &headers, b"{}".to_vec()).await.ok();
    let headers = [("origin", OTHER), ("content-type", TEXT)];
    let refused = server.send("POST", "/store/items/search", &headers, b"{}".to_vec()).await;
    refused.assert_problem(403, "forbidden_origin");
}

#[tokio::test]
async fn any_page_may_call_where_there_are_keys_and_it_was_said() {
    let (with_keys, key) = server(&["*"], true).await;
    let asked = [("origin", OTHER), ("x-api-key", key.as_str())];
    assert_eq!(allowed(&with_keys.get_with("/v1/whoami", &asked).await.ok()), Some(OTHER));
    let answer = with_keys.get_with("/threads/none/state", &asked).await;
    assert_eq!((answer.status, allowed(&answer)), (404, Some(OTHER)));
    let (keyless, _) = server(&["*"], false).await;
    let answer = keyless.get_with("/v1/whoami", &[("origin", OTHER)]).await;
    answer.assert_problem(403, "forbidden_origin");
    assert_eq!(allowed(&answer), None);
}

#[tokio::test]
async fn a_page_is_answered_before_it_has_shown_a_key_whether_it_may_call() {
    let (server, _) = server(&[PAGE], true).await;
    let asks = [("origin", PAGE), ("access-control-request-method", "PATCH")];
    for path in ["/threads/t", "/store/items", "/runs", "/v1/threads/get", "/"] {
        let answer = server.send("OPTIONS", path, &asks, Vec::new()).await;
        assert_eq!((answer.status, allowed(&answer)), (204, Some(PAGE)), "{path}");
        assert!(answer.header("access-control-allow-private-network").is_none());
        let private = [asks[0], asks[1], ("access-control-request-private-network", "true")];
        let answer = server.send("OPTIONS", path, &private, Vec::new()).await;
        assert_eq!(answer.header("access-control-allow-private-network"), Some("true"));
    }
    let answer = server.send("OPTIONS", "/metrics", &asks, Vec::new()).await;
    assert_eq!((answer.status, allowed(&answer)), (405, None));
}
