//! Real connections: keep-alive, HTTP/2, a stop that lets running requests finish, deadlines.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use threadkeep::http::listener;

use crate::memory::Memory;
use crate::server::{JSON, Server};

struct Running {
    server: Server,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    stream: TcpStream,
    host: String,
}

async fn start(storage: Memory) -> Running {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = socket.local_addr().unwrap().to_string();
    let server = Server::on(&host, storage).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let router = server.router.clone();
    let task = tokio::spawn(async move {
        listener::serve(socket, router, async { drop(stopped.await) }).await;
    });
    let stream = TcpStream::connect(&host).await.unwrap();
    Running { server, stop, task, stream, host }
}

async fn write(running: &mut Running, path: &str, body: &str) {
    let length = body.len();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: {JSON}\r\ncontent-length: {length}\r\n\r\n{body}",
        running.host
    );
    running.stream.write_all(head.as_bytes()).await.unwrap();
}

async fn read(running: &mut Running) -> String {
    let mut bytes = vec![0; 16 << 10];
    let read = running.stream.read(&mut bytes).await.unwrap();
    String::from_utf8(bytes[..read].to_vec()).unwrap()
}

const COMMIT: &str =
    r#"{"thread_id":"t","ops":[{"writes":{"checkpoint_id":"1","task_id":"","writes":[]}}]}"#;

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let mut running = start(Memory::default()).await;
    for _ in 0..3 {
        write(&mut running, "/v1/whoami", "").await;
        assert!(read(&mut running).await.starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_refused_before_it_is_sent() {
    let mut running = start(Memory::default()).await;
    let head = format!(
        "POST /v1/threads/get HTTP/1.1\r\nhost: {}\r\ncontent-type: {JSON}\r\ncontent-length: 99999999\r\n\r\n",
        running.host
    );
    running.stream.write_all(head.as_bytes()).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(5), read(&mut running)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");
}

#[tokio::test]
async fn a_client_that_sends_too_much_reads_the_refusal_when_it_is_done() {
    let running = start(Memory::default()).await;
    let (mut reader, mut writer) = running.stream.into_split();
    let head = format!(
        "POST /v1/threads/get HTTP/1.1\r\nhost: {}\r\ncontent-type: {JSON}\r\ncontent-length: 80000000\r\n\r\n",
        running.host
    );
    writer.write_all(head.as_bytes()).await.unwrap();
    let part = vec![b' '; 1_000_000];
    for _ in 0..80 {
        writer.write_all(&part).await.expect("the server takes what is sent");
    }
    let mut answer = vec![0; 4_096];
    let read = reader.read(&mut answer).await.unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 413 "));
}

#[tokio::test]
async fn http2_is_spoken_with_prior_knowledge() {
    let mut running = start(Memory::default()).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    running.stream.write_all(preface).await.unwrap();
    let mut frame = [0; 9];
    running.stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "the server answers with its settings");
}

#[tokio::test]
async fn a_running_request_is_answered_when_the_server_stops() {
    let gate = Arc::new(Semaphore::new(0));
    let storage = Memory::default();
    *storage.gate.lock().unwrap() = Some(Arc::clone(&gate));
    let mut running = start(storage).await;
    write(&mut running, "/v1/checkpoints/commit", COMMIT).await;
    while running.server.storage.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    let Running { server, stop, task, mut stream, host } = running;
    stop.send(()).unwrap();
    let refused = async {
        while TcpStream::connect(&host).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), refused)
        .await
        .expect("no new connection is taken");
    assert!(!task.is_finished());
    gate.add_permits(1);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    task.await.unwrap();
    let storage = Arc::clone(&server.storage);
    let Server { app, router, .. } = server;
    drop(router);
    Arc::into_inner(app).expect("nothing holds the app any more").stop().await;
    assert_eq!(storage.closed.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_write_that_cannot_begin_in_its_time_is_refused_and_not_done() {
    let gate = Arc::new(Semaphore::new(0));
    let storage = Memory::default();
    *storage.gate.lock().unwrap() = Some(Arc::clone(&gate));
    let server = Arc::new(Server::on("127.0.0.1:7070", storage).await);
    let send = |server: Arc<Server>, thread: &'static str, budget: &'static str| async move {
        let headers = [("content-type", JSON), ("threadkeep-budget-ms", budget)];
        let body = COMMIT.replace("\"t\"", &format!("\"{thread}\"")).into_bytes();
        server.send("POST", "/v1/checkpoints/commit", &headers, body).await
    };
    let first = tokio::spawn(send(Arc::clone(&server), "a", "30000"));
    while server.storage.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    let late = tokio::spawn(send(Arc::clone(&server), "b", "1"));
    while server.storage.calls().len() < 2 {
        tokio::task::yield_now().await;
    }
    std::thread::sleep(Duration::from_millis(5));
    gate.add_permits(2);
    first.await.unwrap().ok();
    late.await.unwrap().assert_problem(503, "deadline_exceeded");
    assert_eq!(server.storage.commits.lock().unwrap().len(), 1);
}
