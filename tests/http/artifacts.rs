//! Tests that archives of sandboxes become files of a drive: whole or not at all, and once.

use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use crate::drive_world::{World, noise};
use crate::server::Answer;
use crate::wire::gzip;

const DAY: &str = "/workspace/sandbox-output/2026-01-31";

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn with_link(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path, *bytes).unwrap();
    }
    let mut link = Header::new_gnu();
    link.set_entry_type(EntryType::Symlink);
    link.set_size(0);
    builder.append_link(&mut link, "escape", "/etc/passwd").unwrap();
    builder.into_inner().unwrap()
}

async fn send(it: &World, query: &str, bytes: Vec<u8>) -> Answer {
    let path = format!("/v1/sandboxes/artifacts{query}");
    it.server.send("POST", &path, &[("x-api-key", &it.ann)], bytes).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_becomes_files_and_again_costs_nothing() {
    let it = World::new().await;
    let large = noise((16 << 20) + 5);
    let files: [(&str, &[u8]); 4] = [
        ("plot.png", b"png"),
        ("./data/a.csv", b"1,2\n"),
        ("data/empty", b""),
        ("large.bin", &large),
    ];
    let plain = archive(&files);
    let gzip = gzip(&plain);
    for (at, packed) in [plain, gzip].into_iter().enumerate() {
        let stored = send(&it, "?date=2026-01-31", packed).await.ok().json();
        let counts = (&stored["stored"], &stored["unchanged"]);
        let expected = if at == 0 { (json!(4), json!(0)) } else { (json!(0), json!(4)) };
        assert_eq!(counts, (&expected.0, &expected.1), "{stored}");
        assert_eq!(stored["folder"], DAY);
    }
    let listed = it.paths(&it.ann, "?recursive=true").await;
    let shown = |path: &str| format!("/sandbox-output/2026-01-31/{path}");
    assert_eq!(listed, ["data/a.csv", "data/empty", "large.bin", "plot.png"].map(shown));
    let back = it.get(&it.ann, &format!("/api/storage/download?path={DAY}/large.bin")).await.ok();
    assert!(back.body == large);
    let one = send(&it, "?path=notes/b.txt", b"one file".to_vec()).await.ok().json();
    let path = one["files"][0]["path"].as_str().unwrap();
    assert!(path.starts_with("/workspace/sandbox-output/20") && path.ends_with("/notes/b.txt"));
    let back = it.get(&it.ann, &format!("/api/storage/download?path={path}")).await.ok();
    assert_eq!(back.body, b"one file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_bad_archive_is_stored() {
    let it = World::new().await;
    let good: [(&str, &[u8]); 1] = [("good.txt", b"x")];
    let mut cut = archive(&[("good.txt", b"x"), ("long.txt", &[7; 5_000])]);
    cut.truncate(3_000);
    let bomb = gzip(&archive(&[("good.txt", b"x"), ("zeros", &vec![0; 30 << 20])]));
    for (bytes, said) in [
        (with_link(&good), "\"escape\""),
        (cut, "cut off"),
        (bomb, "times its size"),
        (archive(&[("good.txt", b"x"), ("a%2e%2e/x", b"y")]), "a%2e%2e/x"),
        (archive(&[("good.txt", b"x"), ("a\u{2215}b", b"y")]), "a\u{2215}b"),
        (b"this is no archive at all".to_vec(), "no tar"),
    ] {
        let answer = send(&it, "", bytes).await;
        assert_eq!(
            (answer.status, answer.field()),
            (422, "archive".to_owned()),
            "{}",
            answer.json()
        );
        let detail: Value = answer.json()["detail"].clone();
        assert!(detail.as_str().unwrap().contains(said), "{detail}");
        assert!(it.paths(&it.ann, "?recursive=true").await.is_empty(), "{said}");
    }
    let pieces = vec![Ok(bytes::Bytes::from(archive(&good))), Err(std::io::Error::other("broke"))];
    let body = axum::body::Body::from_stream(futures::stream::iter(pieces));
    let headers = [("x-api-key", it.ann.as_str())];
    let broken = it.server.send_body("POST", "/v1/sandboxes/artifacts", &headers, body).await;
    broken.assert_problem(400, "malformed_body");
    for wrong in ["?date=2026-1-31", "?date=2026-02-30", "?date=..%2F..", "?date="] {
        let answer = send(&it, wrong, archive(&good)).await;
        assert_eq!((answer.status, answer.field()), (422, "date".to_owned()));
    }
    let answer = send(&it, "?path=../../x", b"x".to_vec()).await;
    assert_eq!((answer.status, answer.field()), (422, "path".to_owned()));
    assert!(it.paths(&it.ann, "?recursive=true").await.is_empty());
}
