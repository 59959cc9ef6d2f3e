//! Tests what one credential may hold: connections to the database for searches, and requests that are under way behind a proxy.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::engine::PoolUse;
use threadkeep::domain::storage::Storage;
use threadkeep::http::connections::listener::{self, Bounds};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::drive_world::World;
use crate::memory::Memory;
use crate::server::{JSON, Server, create_key, new_key};

const LOOKS_MAX: usize = 2_000;
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Searches that an embedded database runs at one time.
const SEARCHES: usize = 6;

/// The table takes for ever to be read.
const ENDLESS: &str = "
pragma legacy_alter_table = on; begin;
alter table sessions rename to sessions_kept;
create view sessions as select k.* from (
    select (with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n) as count) e
cross join sessions_kept k where e.count > 0;
commit";
const AS_BEFORE: &str = "
pragma legacy_alter_table = on; begin;
drop view sessions; alter table sessions_kept rename to sessions; commit";

fn list(server: &Arc<Server>, key: &str) -> JoinHandle<u16> {
    let (server, key) = (Arc::clone(server), key.to_owned());
    tokio::spawn(async move {
        let headers = [("x-api-key", key.as_str()), ("content-type", JSON)];
        server
            .send("POST", "/v1/sessions/list", &headers, br#"{"kind":"kind"}"#.to_vec())
            .await
            .status
    })
}

/// Waits until so many connections for searches are in use, and so many calls wait for one.
async fn searches(storage: &Arc<dyn Storage>, in_use: usize, waiting: usize) {
    let mut found = None;
    for _ in 0..LOOKS_MAX {
        let pools = storage.pools();
        found = pools.into_iter().find(|it| it.name == "searches");
        let PoolUse { in_use: used, waiting: waits, max, .. } = found.as_ref().unwrap();
        assert_eq!(*max, SEARCHES);
        if (*used, *waits) == (in_use, waiting) {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("not {in_use} in use and {waiting} waiting, but {found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_credential_leaves_connections_for_searches_to_others() {
    let world = World::new().await;
    let globex = create_key(&world.storage, "globex", "key_globex", None).await;
    world.execute(ENDLESS).await;
    let server = Arc::new(Server {
        app: Arc::clone(&world.server.app),
        storage: Arc::clone(&world.server.storage),
        router: world.server.router.clone(),
    });
    let many = |key: &str| (0..SEARCHES).map(|_| list(&server, key)).collect::<Vec<_>>();
    // A quarter, rounded up.
    let mut lists = many(&world.ann);
    searches(&world.storage, 2, SEARCHES - 2).await;
    // Another one of the tenant, which has a half.
    lists.extend(many(&world.bob));
    searches(&world.storage, 3, 2 * SEARCHES - 3).await;
    lists.extend(many(&globex));
    searches(&world.storage, 5, 3 * SEARCHES - 5).await;
    lists.iter().for_each(JoinHandle::abort);
    searches(&world.storage, 0, 0).await;
    world.execute(AS_BEFORE).await;
    assert_eq!(list(&server, &world.ann).await.unwrap(), 200);
}

struct Proxied {
    host: String,
    /// For requests that are answered.
    stream: TcpStream,
}

impl Proxied {
    async fn start(storage: Memory, bounds: Bounds) -> Self {
        let socket = listener::bind("127.0.0.1:0").await.unwrap();
        let host = socket.local_addr().unwrap().to_string();
        let router = Server::on(&host, storage).await.router;
        tokio::spawn(listener::serve(socket, router, bounds, std::future::pending()));
        let stream = TcpStream::connect(&host).await.unwrap();
        Self { host, stream }
    }

    /// A body that is announced and does not come.
    async fn hang(&self, key: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        let head = format!(
            "PUT /v1/files/content?ns=n&path=/f HTTP/1.1\r\nhost: {}\r\nx-api-key: {key}\r\n\
             content-length: 1000\r\n\r\n",
            self.host
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    async fn ask(&mut self, key: &str) -> String {
        let host = &self.host;
        let ask = format!("GET /v1/whoami HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\n\r\n");
        self.stream.write_all(ask.as_bytes()).await.unwrap();
        let mut bytes = vec![0; 16 << 10];
        let read = self.stream.read(&mut bytes).await.unwrap();
        String::from_utf8(bytes[..read].to_vec()).unwrap()
    }

    /// Asks until it is answered with this status.
    async fn until(&mut self, key: &str, status: u16) -> String {
        for _ in 0..LOOKS_MAX {
            let answer = self.ask(key).await;
            if answer.starts_with(&format!("HTTP/1.1 {status} ")) {
                return answer;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("never {status}");
    }
}

/// This machine stands for a proxy: its connections are not counted by their address.
#[tokio::test]
async fn requests_under_way_behind_a_proxy_are_shared_out_by_tenant_and_credential() {
    let storage = Memory::default();
    let made =
        [("acme", "key_ann"), ("acme", "key_bob"), ("acme", "key_carl"), ("globex", "key_g")];
    let keys = made.map(|(tenant, key_id)| {
        let (key, text) = new_key(tenant, key_id, None);
        storage.keys.lock().unwrap().push(key);
        text
    });
    let [ann, bob, carl, globex] = &keys;
    let bounds = Bounds { connections_max: 8, ..Bounds::default() };
    let mut server = Proxied::start(storage, bounds).await;
    server.until(ann, 200).await;
    let anns = [server.hang(ann).await, server.hang(ann).await];
    let refused = server.until(ann, 503).await;
    assert!(refused.contains("overloaded") && refused.contains("\"limit\":2"), "{refused}");
    server.until(bob, 200).await;
    let bobs = [server.hang(bob).await, server.hang(bob).await];
    let refused = server.until(carl, 503).await;
    assert!(refused.contains("the tenant") && refused.contains("\"limit\":4"), "{refused}");
    assert!(server.ask(globex).await.starts_with("HTTP/1.1 200 "));
    drop(anns);
    server.until(ann, 200).await;
    server.until(carl, 200).await;
    drop(bobs);
}
