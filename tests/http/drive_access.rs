//! Tests who reaches which files of a drive: by key, by path, by signed address, from pages.

use serde_json::json;
use threadkeep::app::Browsers;
use threadkeep::domain::tenants::audit::{Act, ActKind};

use crate::drive_world::{World, serve};
use crate::server::{Answer, HOST, JSON};
use crate::tokens::SECOND;

#[tokio::test]
async fn a_drive_is_that_of_its_subject() {
    let it = World::new().await;
    it.upload(&it.ann, "/secret.txt", b"of ann").await;
    it.get(&it.bob, "/api/storage/download?path=/secret.txt")
        .await
        .assert_problem(404, "not_found");
    assert!(it.paths(&it.bob, "?recursive=true").await.is_empty());
    it.get(&it.bob, "/api/storage/list?subject=ann").await.assert_problem(403, "not_granted");
    let of_ann =
        it.get(&it.tenant, "/api/storage/download?path=/secret.txt&subject=ann").await.ok();
    assert_eq!(of_ann.body, b"of ann");
    let unnamed = it.get(&it.tenant, "/api/storage/list").await;
    assert_eq!((unnamed.status, unnamed.field()), (422, "subject".to_owned()));
    let foreign = "/v1/files/content?ns=ann&ns=workspace&path=/secret.txt";
    it.get(&it.bob, foreign).await.assert_problem(404, "not_found");
    let put = it.server.send("PUT", foreign, &[("x-api-key", &it.bob)], b"x".to_vec()).await;
    put.assert_problem(403, "not_granted");
    it.get(&it.ann, "/api/storage/list?subject=ann").await.ok();
}

#[tokio::test]
async fn no_spelling_of_a_path_leads_out_of_a_drive() {
    let it = World::new().await;
    it.upload(&it.bob, "/secret.txt", b"of bob").await;
    for path in [
        "/../bob/workspace/secret.txt",
        "..",
        "/a/../../x",
        "/%2e%2e/x",
        "/%252e%252e/x",
        "/..%2fx",
        "/a%5c..%5cx",
        "/a/%2e/x",
        "//x",
        "/a//x",
        "/%EF%BC%8E%EF%BC%8E/x",
        "/a%E2%88%95x",
        "/%E2%80%A5/x",
        "/x%00",
        "/x%0a",
        "/threads/../x",
        "/threads/%2e%2e/x",
        "/a%2f..%2fx",
    ] {
        for call in ["download", "url", "list"] {
            let answer = it.get(&it.ann, &format!("/api/storage/{call}?path={path}")).await;
            assert_eq!((answer.status, answer.field()), (422, "path".to_owned()), "{call} {path}");
        }
        for (method, call) in [("POST", "upload"), ("DELETE", "delete")] {
            let path = format!("/api/storage/{call}?path={path}");
            let answer =
                it.server.send(method, &path, &[("x-api-key", &it.ann)], b"x".to_vec()).await;
            assert_eq!((answer.status, answer.field()), (422, "path".to_owned()), "{call} {path}");
        }
    }
    assert!(it.paths(&it.ann, "?recursive=true").await.is_empty());
}

#[tokio::test]
async fn nothing_that_an_agent_wrote_runs() {
    let it = World::new().await;
    for (name, media_type, is_shown) in [
        ("a.html", "text/html; charset=utf-8", false),
        ("a.svg", "image/svg+xml", false),
        ("a.js", "application/javascript", false),
        ("a.txt", "text/plain; charset=utf-8", true),
    ] {
        it.upload(&it.ann, &format!("/{name}"), b"<script>alert(1)</script>").await;
        let url = it.url(&it.ann, &format!("?path=/{name}")).await;
        for answer in [
            it.get(&it.ann, &format!("/api/storage/download?path=/{name}")).await.ok(),
            it.server.get(&url).await.ok(),
        ] {
            assert_eq!(answer.header("content-type"), Some(media_type));
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(
                answer.header("content-security-policy"),
                Some("sandbox; default-src 'none'")
            );
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
            assert!(answer.header("cache-control").unwrap().starts_with("private"));
            let disposition = answer.header("content-disposition").unwrap();
            assert_eq!(disposition.starts_with("inline"), is_shown, "{name}: {disposition}");
        }
    }
    // What it says it is does not count either.
    let lie = [("x-api-key", it.ann.as_str()), ("content-type", "image/png, text/html")];
    it.server.send("POST", "/api/storage/upload?path=/lie", &lie, b"<script>".to_vec()).await;
    let lie = it.get(&it.ann, "/api/storage/download?path=/lie").await.ok();
    assert_eq!(lie.header("content-type"), Some("application/octet-stream"));
    let kept = it.url(&it.ann, "?path=/a.txt&download=true").await;
    let kept = it.server.get(&kept).await.ok();
    assert!(kept.header("content-disposition").unwrap().starts_with("attachment"));
}

#[tokio::test]
async fn a_signed_address_opens_one_file_for_a_while() {
    let it = World::new().await;
    it.upload(&it.ann, "/a.txt", b"of ann").await;
    it.upload(&it.ann, "/b.txt", b"another").await;
    let made = it.get(&it.ann, "/api/storage/url?path=/a.txt&seconds=60").await.ok();
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let url = made.json()["url"].as_str().unwrap().to_owned();
    let opened = it.server.get(&url).await.ok();
    assert_eq!(opened.body, b"of ann");
    let part = it.server.get_with(&url, &[("range", "bytes=3-")]).await;
    assert_eq!((part.status, part.body), (206, b"ann".to_vec()));
    // Nothing beside it: another path, another subject, more of anything.
    for more in ["&path=/b.txt", "&subject=bob", "&u=x", "&version=1"] {
        assert_eq!(it.server.get(&format!("{url}{more}")).await.status, 422, "{more}");
    }
    let (kid, rest) = url.split_once('.').unwrap();
    let (claims, mac) = rest.split_once('.').unwrap();
    let other = it.url(&it.ann, "?path=/b.txt").await;
    let foreign_claims = other.split('.').nth(1).unwrap();
    for forged in [
        format!("{kid}.{foreign_claims}.{mac}"),
        format!("{kid}.{claims}."),
        format!("{kid}.{claims}"),
        format!("{kid}.{claims}.{mac}A"),
        "/api/storage/open?u=".to_owned(),
        "/api/storage/open?u=0123456789abcdef.AAAA.AAAA".to_owned(),
    ] {
        it.server.get(&forged).await.assert_problem(401, "unauthorized");
    }
    // An address is no key.
    let text = url.split_once("u=").unwrap().1;
    it.get(text, "/api/storage/list").await.assert_problem(401, "unauthorized");
    it.clock.advance(60 * SECOND);
    it.server.get(&url).await.assert_problem(401, "token_expired");
    it.server.get(&other).await.ok();
    for wrong in ["0", "86401", "x"] {
        let refused =
            it.get(&it.ann, &format!("/api/storage/url?path=/a.txt&seconds={wrong}")).await;
        assert_eq!((refused.status, refused.field()), (422, "seconds".to_owned()));
    }
    it.get(&it.ann, "/api/storage/url?path=/none.txt").await.assert_problem(404, "not_found");
    it.get(&it.bob, "/api/storage/url?path=/a.txt").await.assert_problem(404, "not_found");
}

#[tokio::test]
async fn an_address_ends_with_what_it_was_made_with_and_with_its_file() {
    let it = World::new().await;
    it.upload(&it.ann, "/a.txt", b"one").await;
    let of_key = it.url(&it.ann, "?path=/a.txt").await;
    let of_tenant = it.url(&it.tenant, "?path=/a.txt&subject=ann").await;
    let listed = it.get(&it.ann, "/v1/files/content?ns=ann&ns=workspace&path=/a.txt").await.ok();
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", JSON)];
    let token = it
        .server
        .send("POST", "/v1/tokens", &headers, b"{\"ttl_seconds\": 30}".to_vec())
        .await
        .ok();
    let token = token.json()["token"].as_str().unwrap().to_owned();
    let made = it.get(&token, "/api/storage/url?path=/a.txt").await.ok().json();
    let of_token = made["url"].as_str().unwrap().to_owned();
    // No longer than the token.
    let until_token = it.get(&token, "/v1/whoami").await.ok().json();
    assert_eq!(made["expires_at"], until_token["expires_at"]);
    it.server.get(&of_token).await.ok();
    let headers = [("x-api-key", token.as_str()), ("content-type", JSON)];
    it.server.send("POST", "/v1/tokens/revoke", &headers, b"{}".to_vec()).await.ok();
    it.server.get(&of_token).await.assert_problem(401, "token_revoked");
    // Tied to a version, or not.
    let place = "/v1/files/content?ns=ann&ns=workspace&path=/a.txt";
    let stored = it.put(&it.ann, place, b"one").await.ok();
    let version = stored.json()["version"].clone();
    assert_eq!(listed.body, b"one");
    let tied = it.url(&it.ann, &format!("?path=/a.txt&version={version}")).await;
    it.server.get(&tied).await.ok();
    it.upload(&it.ann, "/a.txt", b"two").await;
    it.server.get(&tied).await.assert_problem(404, "not_found");
    assert_eq!(it.server.get(&of_key).await.ok().body, b"two");
    // A file that was deleted and made again is another one.
    assert_eq!(it.delete(&it.ann, "/a.txt").await, 204);
    it.server.get(&of_key).await.assert_problem(404, "not_found");
    it.clock.advance(SECOND);
    it.upload(&it.ann, "/a.txt", b"three").await;
    it.server.get(&of_key).await.assert_problem(404, "not_found");
    // The key of ann, and then ann herself.
    let of_key = it.url(&it.ann, "?path=/a.txt").await;
    let again = it.url(&it.tenant, "?path=/a.txt&subject=ann").await;
    it.server.get(&of_tenant).await.assert_problem(404, "not_found");
    let act = Act::of_operator("acme", ActKind::KeyRevoked, "key_ann", 0);
    it.storage.revoke_key("acme", "key_ann", &act).await.unwrap();
    it.server.app.authenticator.refresh().await.unwrap();
    it.server.get(&of_key).await.assert_problem(401, "token_revoked");
    it.server.get(&again).await.ok();
    let headers = [("x-api-key", it.tenant.as_str())];
    it.server.send("DELETE", "/v1/subjects?subject=ann", &headers, Vec::new()).await.ok();
    it.server.get(&again).await.assert_problem(404, "not_found");
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[tokio::test]
async fn only_named_front_ends_call_the_server_from_a_page() {
    let it = World::new().await;
    let page = ("origin", "https://app.example.com");
    assert_eq!(allowed(&it.get_with(&it.ann, "/api/storage/list", page).await.ok()), None);
    let browsers = Browsers { cors_origins: vec![page.1.to_owned()], ..Browsers::default() };
    let (server, _) = serve(&it.storage, browsers).await;
    for path in ["/api/storage/list", "/v1/whoami"] {
        let asks = |origin: &'static str, key: &str| {
            let (key, server) = (key.to_owned(), &server);
            async move { server.get_with(path, &[("x-api-key", &key), ("origin", origin)]).await }
        };
        let answer = asks(page.1, &it.ann).await.ok();
        assert_eq!(allowed(&answer), Some(page.1));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        let exposed = answer.header("access-control-expose-headers").unwrap();
        for name in ["etag", "content-range", "retry-after", "x-request-id"] {
            assert!(exposed.split(", ").any(|it| it == name), "{name}");
        }
        // Problems say so too, or the page could not read them.
        let refused = asks(page.1, "tk_wrong").await;
        assert_eq!((refused.status, allowed(&refused)), (401, Some(page.1)));
        for other in [
            "https://evil.example.com",
            "https://app.example.com.evil.com",
            "null",
            "http://app.example.com",
        ] {
            let answer = asks(other, &it.ann).await.ok();
            assert_eq!(
                (allowed(&answer), answer.header("vary").map(|it| it.contains("origin"))),
                (None, Some(true))
            );
        }
    }
    let asked = "authorization, x-api-key, x-of-the-page";
    let preflight = [
        page,
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", asked),
        ("access-control-request-private-network", "true"),
    ];
    let app = server.router.clone();
    let ask = |path: &'static str| {
        let mut request =
            axum::http::Request::builder().method("OPTIONS").uri(path).header("host", HOST);
        for (name, value) in preflight {
            request = request.header(name, value);
        }
        tower::ServiceExt::oneshot(app.clone(), request.body(axum::body::Body::empty()).unwrap())
    };
    for path in ["/api/storage/delete", "/v1/store/get", "/threads/t/state", "/store/items"] {
        let answer = ask(path).await.unwrap();
        assert_eq!(answer.status(), 204);
        let listed = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            listed("access-control-allow-methods"),
            "GET, POST, PUT, PATCH, DELETE, OPTIONS"
        );
        assert_eq!(listed("access-control-allow-headers"), asked);
        assert_eq!(listed("access-control-allow-private-network"), "true");
        assert_eq!(listed("access-control-max-age"), "600");
    }
    // The rest is for no page.
    let answer = ask("/agentrail/v1/t/acme/s/one").await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.headers().get("access-control-allow-origin")),
        (405, None)
    );
}

#[tokio::test]
async fn files_have_a_host_of_their_own() {
    let it = World::new().await;
    it.upload(&it.ann, "/a.txt", b"x").await;
    let files_origin = Some("https://files.example.com".to_owned());
    let (server, _) = serve(&it.storage, Browsers { files_origin, ..Browsers::default() }).await;
    let key = ("x-api-key", it.ann.as_str());
    let made = server.get_with("/api/storage/url?path=/a.txt", &[key]).await.ok().json();
    let path = made["url"].as_str().unwrap().strip_prefix("https://files.example.com").unwrap();
    let there = ("host", "files.example.com");
    server.get_with(path, &[there]).await.ok();
    server.get(path).await.assert_problem(403, "forbidden_host");
    for other in ["/api/storage/list", "/v1/whoami", "/healthz"] {
        let answer = server.get_with(other, &[key, there]).await;
        answer.assert_problem(403, "forbidden_host");
    }
    server.get_with("/api/storage/list", &[key]).await.ok();
    // However its name is written: with a port, a dot at the end, capitals, or in an absolute form.
    let spellings = [
        "files.example.com:443",
        "files.example.com.",
        "files.example.com.:443",
        "FILES.example.com",
        "files.example.com:",
        "files.example.com:8080",
        "x@files.example.com",
    ];
    for host in spellings {
        let there = ("host", host);
        server.get_with("/v1/whoami", &[key, there]).await.assert_problem(403, "forbidden_host");
    }
    let absolute = "http://files.example.com/v1/whoami";
    server.get_with(absolute, &[key]).await.assert_problem(403, "forbidden_host");
    server.get_with(path, &[("host", "files.example.com:443")]).await.ok();
}

#[tokio::test]
async fn pages_and_drawings_are_shown_on_the_host_of_files_only_and_run_nothing() {
    let it = World::new().await;
    let key = ("x-api-key", it.ann.as_str());
    it.upload(&it.ann, "/a.html", b"<script>1</script>").await;
    it.upload(&it.ann, "/a.svg", b"<svg/>").await;
    it.upload(&it.ann, "/a.xml", b"<a/>").await;
    let here = "/v1/files/url?ns=ann&ns=workspace&show=isolated&path=";
    let refused = it.server.get_with(&format!("{here}/a.html"), &[key]).await;
    refused.assert_problem(422, "invalid");
    assert_eq!(refused.field(), "show");
    let files_origin = Some("https://files.example.com".to_owned());
    let (server, _) = serve(&it.storage, Browsers { files_origin, ..Browsers::default() }).await;
    let there = ("host", "files.example.com");
    let mut page = String::new();
    for (name, disposition) in [("a.html", "inline"), ("a.svg", "inline"), ("a.xml", "attachment")]
    {
        for made in
            [format!("{here}/{name}"), format!("/api/storage/url?show=isolated&path=/{name}")]
        {
            let made = server.get_with(&made, &[key]).await.ok().json();
            let path = made["url"].as_str().unwrap().strip_prefix("https://files.example.com");
            let file = server.get_with(path.unwrap(), &[there]).await.ok();
            let said = file.header("content-disposition").unwrap();
            assert!(said.starts_with(disposition), "{name}: {said}");
            let policy = file.header("content-security-policy").unwrap();
            assert!(policy.starts_with("sandbox; default-src 'none'"), "{name}: {policy}");
            assert!(!policy.contains("script") && !policy.contains("allow-"), "{policy}");
            page = path.unwrap().to_owned();
        }
    }
    // Where there is no such host any more, the address opens nothing.
    it.server.get(&page).await.assert_problem(404, "not_found");
    let plain = format!("{}/a.html", here.replace("show=isolated&", ""));
    let made = server.get_with(&plain, &[key]).await.ok().json();
    let path = made["url"].as_str().unwrap().strip_prefix("https://files.example.com").unwrap();
    let file = server.get_with(path, &[there]).await.ok();
    assert!(file.header("content-disposition").unwrap().starts_with("attachment"));
}

#[tokio::test]
async fn an_address_of_a_file_in_a_namespace_takes_the_right_to_read_it() {
    let it = World::new().await;
    let (acme, ann) = (("x-api-key", it.tenant.as_str()), ("x-api-key", it.ann.as_str()));
    let put = "/v1/files/content?ns=shared&ns=notes&path=/a.txt";
    it.server.send("PUT", put, &[acme], b"hello".to_vec()).await.ok();
    let made = "/v1/files/url?ns=shared&ns=notes&path=/a.txt";
    it.server.get_with(made, &[ann]).await.assert_problem(404, "not_found");
    let made = it.server.get_with(made, &[acme]).await.ok();
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let url = made.json()["url"].as_str().unwrap().to_owned();
    assert_eq!(it.server.get(&url).await.ok().body, b"hello");
    let cases = [
        ("show=other", "show"),
        ("show=isolated&download=true", "show"),
        ("seconds=0", "seconds"),
        ("x=1", "x"),
    ];
    for (query, field) in cases {
        let made = format!("/v1/files/url?ns=shared&ns=notes&path=/a.txt&{query}");
        let refused = it.server.get_with(&made, &[acme]).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field, "{query}");
    }
}

#[tokio::test]
async fn without_keys_there_is_one_drive() {
    let server = crate::server::Server::keyless().await;
    let storage = std::sync::Arc::clone(&server.storage);
    let item =
        json!({"namespace": ["default", "workspace"], "key": "/a.txt", "value": {"content": "x"}});
    server.post("/v1/store/put", &item).await.ok();
    let file = server.get("/api/storage/download?path=/a.txt").await.ok();
    assert_eq!(file.body, b"x");
    let forbidden = [("origin", "https://evil.example.com")];
    let answer = server.get_with("/api/storage/list", &forbidden).await;
    answer.assert_problem(403, "forbidden_origin");
    drop(storage);
}
