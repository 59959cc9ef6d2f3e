//! Tests archives of workspaces over HTTP, on a real engine: a staged archive comes back whole, and a wrong one is named and leaves
//! nothing.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use crate::drive_world::{World, noise};
use crate::server::{Answer, JSON};
use crate::wire::gzip;

const ARCHIVE: &str = "/v1/snapshots/archive";
const PATIENCE: Duration = Duration::from_mins(1);

/// A workspace as a sandbox packs it: folders, a file, links that lead inside.
fn workspace(large: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let mut folder = Header::new_gnu();
    folder.set_entry_type(EntryType::Directory);
    folder.set_size(0);
    builder.append_data(&mut folder, "src/", &b""[..]).unwrap();
    let mut header = Header::new_gnu();
    header.set_size(large.len() as u64);
    builder.append_data(&mut header, "src/large.bin", large).unwrap();
    link(&mut builder, "latest", "src/large.bin");
    builder.into_inner().unwrap()
}

fn link(builder: &mut Builder<Vec<u8>>, path: &str, target: &str) {
    let mut link = Header::new_gnu();
    link.set_entry_type(EntryType::Symlink);
    link.set_size(0);
    builder.append_link(&mut link, path, target).unwrap();
}

fn with_link(target: &str) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    link(&mut builder, "escape", target);
    builder.into_inner().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

async fn stage(it: &World, who: &str, query: &str, bytes: Vec<u8>) -> Answer {
    let path = format!("{ARCHIVE}?workspace=w{query}");
    it.server.send("PUT", &path, &[("x-api-key", who)], bytes).await
}

async fn take(it: &World, who: &str, id: &str, archive_id: &Value) -> Answer {
    let headers = [("content-type", JSON), ("x-api-key", who)];
    let body = json!({"snapshot_id": id, "archive": archive_id}).to_string();
    it.server.send("POST", "/v1/snapshots/take", &headers, body.into_bytes()).await
}

/// Contents, whole or not.
async fn kept(it: &World) -> i64 {
    it.count("select count(*) from contents").await
        + it.count("select count(*) from workspaces").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_comes_back_however_it_was_packed() {
    let it = World::new().await;
    let tar = workspace(&noise((5 << 20) + 7));
    let zstd = zstd::encode_all(&tar[..], 1).unwrap();
    let mut staged = Vec::new();
    for packed in [tar.clone(), gzip(&tar), zstd] {
        let query = format!("&sha256={}", sha256(&tar));
        let answer = stage(&it, &it.ann, &query, packed).await;
        assert_eq!(answer.status, 201, "{}", answer.json());
        let shown = answer.json();
        assert_eq!(shown["size_bytes"], json!(tar.len()));
        assert_eq!((&shown["file_count"], &shown["workspace"]), (&json!(2), &json!("w")));
        assert_eq!(shown["sha256"], json!(sha256(&tar)));
        staged.push(shown);
    }
    assert_eq!(take(&it, &it.ann, "s", &staged[0]["archive_id"]).await.status, 201);
    let shown = take(&it, &it.ann, "s", &staged[1]["archive_id"]).await.ok().json();
    for field in ["workspace", "size_bytes", "file_count", "sha256", "staged_at"] {
        assert_eq!(shown["archive"][field], staged[0][field], "{field}");
    }
    assert_eq!(shown["archive"].as_object().unwrap().len(), 5);
    assert!(shown["taken_at"].is_string());
    let address = format!("{ARCHIVE}?snapshot_id=s");
    let back = it.get(&it.ann, &address).await.ok();
    assert!(back.body == tar);
    let etag = format!("\"{}\"", sha256(&tar));
    for (name, value) in [
        ("content-type", "application/x-tar"),
        ("etag", etag.as_str()),
        ("content-disposition", "attachment; filename=\"w.tar\""),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(back.headers[name], value, "{name}");
    }
    let part = it.get_with(&it.ann, &address, ("range", "bytes=3000000-3000009")).await;
    assert_eq!((part.status, &part.body[..]), (206, &tar[3_000_000..3_000_010]));
    assert_eq!(it.get_with(&it.ann, &address, ("if-none-match", &etag)).await.status, 304);
    let packed = it.get_with(&it.ann, &address, ("accept-encoding", "zstd")).await.ok();
    assert_eq!(packed.headers["content-encoding"], "zstd");
    assert!(zstd::decode_all(&packed.body[..]).unwrap() == tar);
    // Bob neither sees it nor takes what ann staged; without an archive there is none.
    it.get(&it.bob, &address).await.assert_problem(404, "snapshot_not_found");
    take(&it, &it.bob, "b", &staged[2]["archive_id"])
        .await
        .assert_problem(404, "archive_not_found");
    let none = json!("arc_00000000000000000000000000000000");
    take(&it, &it.ann, "b", &none).await.assert_problem(404, "archive_not_found");
    assert_eq!(take(&it, &it.ann, "empty", &Value::Null).await.status, 201);
    let without = it.get(&it.ann, &format!("{ARCHIVE}?snapshot_id=empty")).await;
    without.assert_problem(404, "archive_not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_an_archive_is_named_and_leaves_nothing() {
    let it = World::new().await;
    let tar = workspace(&noise(3 << 20));
    let packed = gzip(&tar);
    let mut damaged = packed.clone();
    let sum = damaged.len() - 8;
    damaged[sum] ^= 1;
    let bomb = gzip(&workspace(&vec![0; 30 << 20]));
    for (bytes, said) in [
        (tar[..2 << 20].to_vec(), "cut off"),
        (packed[..packed.len() / 2].to_vec(), "cut off"),
        (damaged, "damaged"),
        (bomb, "times its size"),
        (with_link("/etc/passwd"), "\"escape\""),
        (b"this is no archive at all".to_vec(), "no tar"),
        (Vec::new(), "cut off"),
    ] {
        let answer = stage(&it, &it.ann, "", bytes).await;
        assert_eq!((answer.status, answer.field()), (422, "archive".to_owned()), "{said}");
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
        assert_eq!(problem["limit"].is_u64(), said == "times its size", "{problem}");
        assert_eq!(kept(&it).await, 0, "{said}");
    }
    assert_eq!(stage(&it, &it.ann, "&links=any", with_link("/etc/passwd")).await.status, 201);
    let before = kept(&it).await;
    for (query, field) in [
        (format!("&sha256={}", sha256(b"another")), "sha256"),
        ("&sha256=00".to_owned(), "sha256"),
        ("&links=some".to_owned(), "links"),
        ("&workspace=v".to_owned(), "workspace"),
        ("&name=v".to_owned(), "name"),
    ] {
        let answer = stage(&it, &it.ann, &query, tar.clone()).await;
        assert_eq!((answer.status, answer.field()), (422, field.to_owned()), "{query}");
    }
    for (query, field) in [("", "workspace"), ("?workspace=", "workspace")] {
        let answer = it.put(&it.ann, &format!("{ARCHIVE}{query}"), &tar).await;
        assert_eq!((answer.status, answer.field()), (422, field.to_owned()), "{query}");
    }
    let answer = take(&it, &it.ann, "s", &json!("upl_00000000000000000000000000000000")).await;
    assert_eq!((answer.status, answer.field()), (422, "archive".to_owned()));
    let headers = [("x-api-key", it.ann.as_str()), ("content-encoding", "gzip")];
    let path = format!("{ARCHIVE}?workspace=w");
    let answer = it.server.send("PUT", &path, &headers, packed).await;
    answer.assert_problem(415, "unsupported_media_type");
    assert_eq!(kept(&it).await, before);
}

/// A line that breaks, and a caller that goes away, after slices were kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let it = World::new().await;
    let tar = workspace(&noise(5 << 20));
    let path = format!("{ARCHIVE}?workspace=w");
    let headers = [("x-api-key", it.ann.as_str())];
    let most = bytes::Bytes::copy_from_slice(&tar[..tar.len() - 600]);
    let pieces = vec![Ok(most.clone()), Err(std::io::Error::other("broke"))];
    let body = axum::body::Body::from_stream(futures::stream::iter(pieces));
    let broken = it.server.send_body("PUT", &path, &headers, body).await;
    broken.assert_problem(400, "malformed_body");
    nothing_is_kept(&it).await;
    // Whole, but its sender does not live to say so.
    let whole = bytes::Bytes::copy_from_slice(&tar);
    for piece in [most, whole] {
        let arrives = futures::stream::iter([Ok::<_, std::io::Error>(piece)]);
        let never = futures::stream::pending();
        let body = axum::body::Body::from_stream(futures::StreamExt::chain(arrives, never));
        let sending = it.server.send_body("PUT", &path, &headers, body);
        let something_is_kept = async {
            while it.count("select count(*) from content_slices").await == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            answer = sending => panic!("{answer:?}"),
            kept = tokio::time::timeout(PATIENCE, something_is_kept) => kept.expect("slices are kept"),
        }
        nothing_is_kept(&it).await;
    }
}

/// Of its own accord, without a sweep.
async fn nothing_is_kept(it: &World) {
    let gone = async {
        while kept(it).await > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("it goes");
}
