//! Tests refused uploads on real connections. A client that sends everything before it reads gets the answer with the reason, and no reset,
//! however much was still to come.

use std::time::Duration;

use serde_json::json;
use tar::{Builder, EntryType, Header};
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::quotas::Quota;
use threadkeep::http::connections::listener::{self, Bounds};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::bodies::fill;
use crate::drive_world::World;
use crate::server::JSON;

const PATIENCE: Duration = Duration::from_mins(2);
const PIECE: usize = 1 << 20;
/// More than any buffer between the two sides.
const PIECES: usize = 96;

struct Listening {
    world: World,
    host: String,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listening {
    async fn new() -> Self {
        let world = World::new().await;
        let socket = listener::bind("127.0.0.1:0").await.unwrap();
        let host = socket.local_addr().unwrap().to_string();
        let router = world.server.router.clone();
        let task = tokio::spawn(async move {
            listener::serve(socket, router, Bounds::default(), std::future::pending()).await;
        });
        Self { world, host, task }
    }

    async fn begin(&self, request: &str, who: &str, more: &str, length: usize) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {}\r\nx-api-key: {who}\r\ncontent-length: {length}\r\n\
             {more}connection: close\r\n\r\n",
            self.host
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    /// Sends all of it, and reads then.
    async fn send(&self, request: &str, who: &str, first: &[u8]) -> String {
        let mut stream = self.begin(request, who, "", first.len() + PIECES * PIECE).await;
        let piece = vec![7; PIECE];
        let all = async {
            stream.write_all(first).await.unwrap();
            for _ in 0..PIECES {
                stream.write_all(&piece).await.expect("the server takes what is sent");
            }
            rest(&mut stream).await
        };
        tokio::time::timeout(PATIENCE, all).await.expect("it is answered")
    }

    /// A token that only reads.
    async fn reader(&self) -> String {
        let reads = json!({"snapshots": [{"id": "s", "actions": ["read"]}]});
        let grants = json!({"grants": reads}).to_string().into_bytes();
        let headers = [("x-api-key", self.world.tenant.as_str()), ("content-type", JSON)];
        let minted = self.world.server.send("POST", "/v1/tokens", &headers, grants).await.ok();
        minted.json()["token"].as_str().unwrap().to_owned()
    }
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[track_caller]
fn assert_refused(answer: &str, status: u16, said: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{said}: {answer}");
    assert!(answer.contains(said), "{said}: {answer}");
}

/// A member that is refused, and the beginning of a large one behind it.
fn faulty() -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let mut link = Header::new_gnu();
    link.set_entry_type(EntryType::Symlink);
    link.set_size(0);
    builder.append_link(&mut link, "escape", "/etc/passwd").unwrap();
    let mut large = Header::new_gnu();
    large.set_path("large.bin").unwrap();
    large.set_size((PIECES * PIECE) as u64);
    large.set_cksum();
    let mut bytes = builder.get_ref().clone();
    bytes.extend_from_slice(large.as_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_read_by_who_sends_everything_first() {
    let it = Listening::new().await;
    let (ann, reader) = (it.world.ann.clone(), it.reader().await);
    let archive = "PUT /v1/snapshots/archive?workspace=w";
    let content = "PUT /v1/files/content?ns=ann&ns=workspace&path=/f";
    for (request, who, first, status, said) in [
        (archive, &ann, faulty(), 422, "escape"),
        ("POST /v1/sandboxes/artifacts", &ann, faulty(), 422, "escape"),
        ("PUT /v1/snapshots/archive?workspace=", &ann, Vec::new(), 422, "workspace"),
        ("PUT /v1/files/content?ns=ann&ns=workspace", &ann, Vec::new(), 422, "path"),
        (archive, &reader, Vec::new(), 403, "not_granted"),
        (archive, &"nobody".to_owned(), Vec::new(), 401, "unauthorized"),
    ] {
        assert_refused(&it.send(request, who, &first).await, status, said);
    }
    let taken = fill(&it.world.server, 0);
    for request in [archive, content] {
        assert_refused(&it.send(request, &ann, &[]).await, 503, "overloaded");
    }
    drop(taken);
    let quota = Quota { bytes_max: Some(0), ..Quota::default() };
    let act = Act::of_operator("acme", ActKind::QuotaSet, "", 0);
    it.world.storage.put_quota("acme", &quota, &act).await.unwrap();
    it.world.server.app.quotas.poll().await.unwrap();
    for request in [archive, content] {
        assert_refused(&it.send(request, &ann, &[]).await, 413, "quota_exceeded");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_to_be_asked_for_a_body_is_refused_without_it() {
    let it = Listening::new().await;
    let expect = "expect: 100-continue\r\n";
    for request in ["PUT /v1/snapshots/archive?workspace=", "PUT /v1/files/content?ns=ann"] {
        let mut stream = it.begin(request, &it.world.ann, expect, PIECE).await;
        let answer = tokio::time::timeout(PATIENCE, rest(&mut stream)).await;
        assert_refused(&answer.expect("the connection ends"), 422, "invalid");
    }
}
