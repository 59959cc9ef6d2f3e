//! Tests real connections: keep-alive, HTTP/2, a stop that lets running requests finish, deadlines.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use threadkeep::domain::limits::LIMITS;
use threadkeep::http::connections::listener::{self, Bounds};

use crate::memory::Memory;
use crate::server::{JSON, Server, add_key};

/// More than fit where nobody says how many may wait.
const CROWD: usize = 1_500;
const PATIENCE: Duration = Duration::from_mins(1);

struct Running {
    server: Server,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    stream: TcpStream,
    host: String,
}

async fn start(storage: Memory) -> Running {
    start_within(storage, Bounds::default()).await
}

async fn start_within(storage: Memory, bounds: Bounds) -> Running {
    let socket = listener::bind("127.0.0.1:0").await.unwrap();
    let host = socket.local_addr().unwrap().to_string();
    let server = Server::on(&host, storage).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let router = server.router.clone();
    let task = tokio::spawn(async move {
        listener::serve(socket, router, bounds, async { drop(stopped.await) }).await;
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

/// What arrives until the connection ends.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut all)).await.ok();
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_whatever_it_has_begun() {
    let bounds = Bounds { head_within: Duration::from_millis(50), ..Bounds::default() };
    let running = start_within(Memory::default(), bounds).await;
    let preface = "PRI * HTTP/2.0\r\n\r\n";
    for begun in ["", "P", "GET / HTTP/1.1\r\nhost: x", preface] {
        let mut stream = TcpStream::connect(&running.host).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut end = Vec::new();
        let closed = stream.read_to_end(&mut end);
        let closed = tokio::time::timeout(Duration::from_secs(10), closed).await;
        assert!(closed.is_ok(), "{begun:?} keeps its connection");
    }
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_there_is_room_when_another_ends() {
    let bounds = Bounds { connections_max: 1, ..Bounds::default() };
    let mut running = start_within(Memory::default(), bounds).await;
    write(&mut running, "/v1/whoami", "").await;
    assert!(read(&mut running).await.starts_with("HTTP/1.1 200 OK\r\n"));
    let answer = rest(&mut TcpStream::connect(&running.host).await.unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    let named = ["\"code\":\"overloaded\"", "\"limit\":1", "retry-after: 1\r\n"];
    assert!(named.iter().all(|it| answer.contains(it)), "{answer}");
    running.stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut running.stream).await, "");
    let again = async {
        loop {
            running.stream = TcpStream::connect(&running.host).await.unwrap();
            write(&mut running, "/v1/whoami", "").await;
            if read(&mut running).await.starts_with("HTTP/1.1 200 OK\r\n") {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), again).await.expect("its place is free");
}

#[tokio::test]
async fn a_head_over_its_limit_is_refused_with_its_code_however_large() {
    let running = start(Memory::default()).await;
    let sizes = [
        (33 << 10, 0, "url"),
        (100, 70 << 10, "head"),
        (90_000, 0, "head"),
        (1 << 20, 0, "head"),
        (9, 1 << 20, "head"),
    ];
    for (url, headers, field) in sizes {
        let (url, headers) = ("a".repeat(url), "a".repeat(headers));
        let head = format!(
            "GET /healthz?{url} HTTP/1.1\r\nhost: {}\r\nx-long: {headers}\r\nconnection: close\r\n\r\n",
            running.host
        );
        let (mut reader, mut writer) =
            TcpStream::connect(&running.host).await.unwrap().into_split();
        // What is not read any more cannot be sent.
        let sent = tokio::spawn(async move {
            writer.write_all(head.as_bytes()).await.ok();
            // Who says that he is done is not waited for.
            std::future::pending::<()>().await;
        });
        let mut answer = vec![0; 4_096];
        let read = reader.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 431 "), "{field}: {answer}");
        assert!(answer.contains("\"code\":\"head_too_large\""), "{field}: {answer}");
        assert!(answer.contains(&format!("\"field\":\"{field}\"")), "{field}: {answer}");
        sent.abort();
    }
}

/// Whoever finds no place among those that wait to be accepted believes that he is connected, and would wait for ever.
#[tokio::test]
async fn many_who_come_at_one_time_are_all_accepted() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).unwrap();
    let socket = listener::bind("127.0.0.1:0").await.unwrap();
    let host = socket.local_addr().unwrap().to_string();
    let mut streams = Vec::new();
    for _ in 0..CROWD {
        let connected = tokio::time::timeout(PATIENCE, TcpStream::connect(&host)).await;
        streams.push(connected.expect("there is a place to wait").unwrap());
    }
    let router = Server::on(&host, Memory::default()).await.router;
    let bounds = Bounds { head_within: Duration::from_millis(100), ..Bounds::default() };
    let task = tokio::spawn(async move {
        listener::serve(socket, router, bounds, std::future::pending()).await;
    });
    for mut stream in streams {
        let closed = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
        assert!(closed.expect("accepted, and closed for its silence").is_err());
    }
    task.abort();
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

const SOON: Duration = Duration::from_millis(100);

fn short() -> Bounds {
    Bounds { head_within: SOON, stall_max: SOON, ..Bounds::default() }
}

/// HTTP/2 with prior knowledge, which answers pings and acknowledges settings.
async fn http2(host: &str) -> hyper::client::conn::http2::SendRequest<axum::body::Body> {
    let stream = TokioIo::new(TcpStream::connect(host).await.unwrap());
    let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = builder.handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[tokio::test]
async fn an_http2_connection_without_a_request_ends_whatever_it_answers() {
    let running = start_within(Memory::default(), short()).await;
    let sender = http2(&running.host).await;
    let ended = async {
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("it ends");
}

/// Answers of a large value, of which nothing is read: as many as fit at one time.
#[tokio::test]
async fn who_reads_nothing_is_cut_off_and_its_memory_comes_back() {
    let bounds = Bounds { stall_max: SOON, ..Bounds::default() };
    let running = start_within(Memory::default(), bounds).await;
    let data = "A".repeat(20 << 20);
    let put = format!(
        r#"{{"thread_id":"t","ops":[{{"checkpoint":{{"checkpoint_id":"1","skeleton":{{"v":4,"channel_versions":{{"m":1}}}},"metadata":{{}},"values":[{{"channel":"m","version":1,"tag":"x","data":"{data}"}}]}}}}]}}"#
    );
    let server = &running.server;
    let headers = [("content-type", JSON), ("host", running.host.as_str())];
    server.send("POST", "/v1/checkpoints/commit", &headers, put.into_bytes()).await.ok();
    let mut silent = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(&running.host).await.unwrap();
        let ask = format!(
            "POST /v1/checkpoints/get HTTP/1.1\r\nhost: {}\r\ncontent-type: {JSON}\r\ncontent-length: 17\r\n\r\n{{\"thread_id\":\"t\"}}",
            running.host
        );
        stream.write_all(ask.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let held = |server: &Server| server.app.shares.held_bytes();
    let begun = async {
        while held(server) < 4 << 20 {
            tokio::task::yield_now().await;
        }
        server.get_with("/v1/whoami", &headers[1..]).await.ok();
        assert!(held(server) <= LIMITS.bytes_in_flight_per_tenant_max);
        while held(server) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.expect("their memory comes back");
    for mut stream in silent {
        let mut all = Vec::new();
        // Whatever was on its way, and then the end.
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("cut off").ok();
        assert!(all.len() < 20 << 20);
    }
}

/// One answered request on each of these connections, which stay open.
async fn ask_on(stream: &mut TcpStream, host: &str, path: &str, key: &str) -> Option<String> {
    let ask = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\n\r\n");
    stream.write_all(ask.as_bytes()).await.ok()?;
    let mut bytes = vec![0; 16 << 10];
    let read = stream.read(&mut bytes).await.ok().filter(|it| *it > 0)?;
    Some(String::from_utf8(bytes[..read].to_vec()).unwrap())
}

#[tokio::test]
async fn connections_that_never_say_who_they_are_make_room_for_those_that_do() {
    let storage = Memory::default();
    let key = add_key(&storage, "acme");
    let bounds = Bounds { connections_max: 40, ..Bounds::default() };
    let running = start_within(storage, bounds).await;
    let mut known = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&running.host).await.unwrap();
        let answer = ask_on(&mut stream, &running.host, "/v1/whoami", &key).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        known.push(stream);
    }
    let mut strangers = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(&running.host).await.unwrap();
        let answer = ask_on(&mut stream, &running.host, "/healthz", "").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        strangers.push(stream);
    }
    let mut left = 0;
    for stream in &mut strangers {
        left += usize::from(ask_on(stream, &running.host, "/healthz", "").await.is_some());
    }
    assert!(left <= 10, "{left} strangers are left");
    for stream in &mut known {
        let answer = ask_on(stream, &running.host, "/v1/whoami", &key).await;
        assert!(answer.is_some_and(|it| it.starts_with("HTTP/1.1 200 ")));
    }
}
