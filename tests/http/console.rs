//! Tests that the console is served to browsers as files that nobody can change, and that it opens nothing else.

use std::io::Read as _;

use threadkeep::app::{Browsers, Outside};

use crate::memory::Memory;
use crate::server::{Answer, Server};

const PAGE: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

async fn server(browsers: Browsers) -> Server {
    Server::with(Memory::default(), Outside { browsers, ..Outside::default() }).await
}

async fn with_console() -> Server {
    server(Browsers { has_console: true, ..Browsers::default() }).await
}

/// The first script that the page loads, as an address of the server.
fn script(index: &Answer) -> String {
    let text = String::from_utf8_lossy(&index.body);
    let (_, from) = text.split_once("src=\"./").unwrap();
    let (path, _) = from.split_once('"').unwrap();
    format!("/console/{path}")
}

#[tokio::test]
async fn a_browser_is_led_to_the_console_and_a_program_is_not() {
    let server = with_console().await;
    let led = server.get_with("/", &[PAGE]).await;
    assert_eq!((led.status, led.header("location")), (302, Some("console/")));
    let program = server.get_with("/", &[("accept", "*/*")]).await.ok();
    assert_eq!(program.json(), serde_json::json!({"ok": true}));
    assert_eq!([led.header("vary"), program.header("vary")], [Some("accept"); 2]);
    let without_slash = server.get("/console").await;
    assert_eq!((without_slash.status, without_slash.header("location")), (302, Some("console/")));
    // The other methods of the address are what they were.
    assert_eq!(server.send("POST", "/", &[PAGE], Vec::new()).await.status, 405);
}

#[tokio::test]
async fn files_say_how_long_they_hold_and_what_the_page_may_do() {
    let server = with_console().await;
    let index = server.get("/console/").await.ok();
    let asset = server.get(&script(&index)).await.ok();
    for (answer, media, age) in [
        (&index, "text/html; charset=utf-8", "no-cache"),
        (&asset, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
    ] {
        assert_eq!(answer.header("content-type"), Some(media));
        assert_eq!(answer.header("cache-control"), Some(age));
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-src 'none'",
            "connect-src 'self'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
    }
    let text = String::from_utf8_lossy(&index.body).to_lowercase();
    assert!(
        !text.contains("<style") && !text.contains(" style=") && !text.contains(" on"),
        "{text}"
    );
    assert!(!text.contains("http:") && !text.contains("https:"), "{text}");
    for script in text.split("<script").skip(1) {
        assert!(script.split('>').next().unwrap().contains("src=\"./assets/"), "{script}");
    }
}

#[tokio::test]
async fn a_file_comes_in_the_coding_that_the_browser_takes_and_once() {
    let server = with_console().await;
    let path = script(&server.get("/console/").await.ok());
    let plain = server.get(&path).await.ok();
    assert_eq!(plain.header("content-encoding"), None);
    let gzip = server.get_with(&path, &[("accept-encoding", "gzip, deflate")]).await.ok();
    let mut opened = Vec::new();
    flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut opened).unwrap();
    let zstd = server.get_with(&path, &[("accept-encoding", "gzip, deflate, br, zstd")]).await.ok();
    for (answer, coding, opened) in
        [(&gzip, "gzip", opened), (&zstd, "zstd", zstd::decode_all(&zstd.body[..]).unwrap())]
    {
        assert_eq!(answer.header("content-encoding"), Some(coding));
        assert_eq!(answer.header("vary"), Some("accept-encoding"));
        assert_eq!(opened, plain.body, "{coding}");
    }
    let etag = plain.header("etag").unwrap();
    let again = server.get_with(&path, &[("if-none-match", etag)]).await;
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(etag)));
    let head = server.send("HEAD", &path, &[], Vec::new()).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[tokio::test]
async fn nothing_else_is_found_below_the_console() {
    let server = with_console().await;
    for path in [
        "/console/SOURCES",
        "/console/assets/",
        "/console/threads",
        "/console/../Cargo.toml",
        "/console/%2e%2e/Cargo.toml",
        "/console/assets%2Findex.html/..",
        "/console/index.html/",
    ] {
        server.get(path).await.assert_problem(404, "not_found");
    }
    let posted = server.send("POST", "/console/", &[], Vec::new()).await;
    posted.assert_problem(405, "method_not_allowed");
    let off = self::server(Browsers::default()).await;
    for path in ["/console/", "/console/index.html"] {
        off.get(path).await.assert_problem(404, "not_found");
    }
    assert_eq!(off.get_with("/", &[PAGE]).await.ok().json(), serde_json::json!({"ok": true}));
}

#[tokio::test]
async fn a_link_of_another_site_opens_the_page_and_no_data() {
    let server = with_console().await;
    let linked = [("sec-fetch-site", "cross-site"), PAGE];
    server.get_with("/console/", &linked).await.ok();
    for path in ["/v1/whoami", "/v1/threads", "/metrics"] {
        server.get_with(path, &linked).await.assert_problem(403, "forbidden_origin");
    }
    let posted = server.send("POST", "/console/", &linked, Vec::new()).await;
    posted.assert_problem(403, "forbidden_origin");
}

#[tokio::test]
async fn the_host_of_files_has_no_console() {
    let origin = "https://files.example.com";
    let browsers = Browsers {
        files_origin: Some(origin.to_owned()),
        has_console: true,
        ..Browsers::default()
    };
    let server = server(browsers).await;
    let index = server.get("/console/").await.ok();
    let policy = index.header("content-security-policy").unwrap();
    assert!(policy.contains(&format!("frame-src {origin};")), "{policy}");
    assert!(policy.contains(&format!("img-src 'self' blob: {origin};")), "{policy}");
    let there = server.get_with("/console/", &[("host", "files.example.com")]).await;
    there.assert_problem(403, "forbidden_host");
}
