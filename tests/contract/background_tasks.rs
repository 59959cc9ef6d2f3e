//! Tests that background work which ends the process is counted, run alone, parked and released. A dropped server simulates its death.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::json::field_path::FieldPath;
use threadkeep::domain::scheduling::background_tasks::{self, DEATHS_COUNT, Kind, begin};
use threadkeep::domain::storage::Storage;
use threadkeep::domain::store::embedding::{Embedder, Embeddings, Refused};
use threadkeep::domain::store::indexing::Indexer;
use threadkeep::domain::store::item::ChangeItem;
use threadkeep::domain::store::vector::{Model, Vector};
use threadkeep::domain::store::word_walks::WordWalks;
use tokio::sync::Notify;

use crate::commands::Put;
use crate::delta::chain;
use crate::harness::{Harness, commit, masters};
use crate::item_words::declare;
use crate::packs::{later, with_store};
use crate::store::{SECOND, START, Store, change};
use crate::sweeping::{KEEP_TWO, Server};

const CLAIM: Micros = 121 * SECOND;
const ROWS: &str = "select count(*) from background_tasks";

/// Another server on the same data.
async fn server(h: &Harness) -> Arc<dyn Storage> {
    h.open_with(masters(), None).await.unwrap()
}

/// Ends a server as the end of its process would.
async fn die(h: &Harness, server: Arc<dyn Storage>) {
    let number = server.running().server;
    assert_eq!(Arc::strong_count(&server), 1, "something still has the server");
    drop(server);
    if !h.is_sqlite() {
        let held = format!(
            "select count(*) from pg_locks where locktype = 'advisory' and objid = {number}"
        );
        while h.count(&held).await > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// A server that dies with a group, or with a unit of it that runs alone. Answers how many deaths it had found.
async fn dies_with(h: &Harness, unit: &str, now: Micros) -> i64 {
    let server = server(h).await;
    let found = server.begin_group(Kind::Words, now).await.unwrap();
    let group = begin(&*server, Kind::Words, now).await.unwrap();
    if !group.is_together() {
        let work = group.run(("tenant-a", unit), now, std::future::pending::<Result<()>>());
        let began = async {
            let alone = format!("{ROWS} where ran_alone = 1 and parked_at is null");
            while h.count(&alone).await == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = work => panic!("it ended"), () = began => {} }
    }
    drop(group);
    die(h, server).await;
    found.deaths
}

pub async fn a_unit_that_ends_the_process_alone_is_put_aside(h: Harness) {
    let deaths = [dies_with(&h, "7", 10).await, dies_with(&h, "7", 20).await];
    assert_eq!((deaths, dies_with(&h, "7", 30).await), ([0, 1], 2));
    let group = begin(&*h.storage, Kind::Words, 40).await.unwrap();
    assert!(!group.is_together() && group.names_units());
    let ran = |unit: &'static str| group.run(("tenant-a", unit), 50, async move { Ok(unit) });
    assert_eq!((ran("7").await.unwrap(), ran("8").await.unwrap()), (None, Some("8")));
    // Another tenant has other units.
    let other = group.run(("tenant-b", "7"), 50, async { Ok(()) }).await.unwrap();
    assert_eq!(other, Some(()));
    group.end(Ok(())).await.unwrap();
    // Another kind of work goes on as before.
    let other = begin(&*h.storage, Kind::Packing, 60).await.unwrap();
    assert!(other.is_together() && !other.names_units());
    other.end(Ok(())).await.unwrap();
    let parked = h.storage.list_parked(None).await.unwrap();
    let shown = |tenant| h.storage.list_parked(Some(tenant));
    assert_eq!((parked.len(), parked[0].attempts, parked[0].parked_at), (1, 3, 40));
    let told = (&*parked[0].tenant, &*parked[0].kind, &*parked[0].unit);
    assert_eq!(told, ("tenant-a", "words", "7"));
    assert_eq!(parked[0].reason, "the process ended while it ran alone");
    assert_eq!(
        (shown("tenant-a").await.unwrap(), shown("tenant-b").await.unwrap()),
        (parked, vec![])
    );
    assert_eq!(h.storage.release_parked(Some("tenant-b")).await.unwrap(), 0);
    assert_eq!(h.storage.release_parked(Some("tenant-a")).await.unwrap(), 1);
    // Long after the last death, units run together again.
    let group = begin(&*h.storage, Kind::Words, 41 + DEATHS_COUNT).await.unwrap();
    assert!(group.is_together() && !group.is_parked("tenant-a", "7"));
    group.end(Ok(())).await.unwrap();
    assert_eq!(h.count(ROWS).await, 0, "healthy work leaves nothing");
}

pub async fn deaths_far_apart_do_not_add_up(h: Harness) {
    for at in 0..4 {
        let found = dies_with(&h, "7", 10 + at * 2 * DEATHS_COUNT).await;
        assert_eq!(found, i64::from(at > 0));
    }
}

pub async fn an_orderly_stop_and_an_error_are_no_deaths(h: Harness) {
    for now in 1..4 {
        let server = server(&h).await;
        let group = begin(&*server, Kind::Words, now).await.unwrap();
        assert!(group.is_together());
        background_tasks::stop(&*server).await;
        tokio::select! {
            biased;
            _ = begin(&*server, Kind::Words, now) => panic!("work begins on a server that stops"),
            () = tokio::task::yield_now() => {}
        }
        drop(group);
        die(&h, server).await;
    }
    let group = begin(&*h.storage, Kind::Words, 5).await.unwrap();
    let failed: Result<()> = Err(threadkeep::domain::Error::Internal("no".into()));
    group.end(failed).await.unwrap_err();
    assert_eq!(h.count(ROWS).await, 0);
}

pub async fn a_server_that_is_alive_has_not_died(h: Harness) {
    let (one, two) = (server(&h).await, server(&h).await);
    for now in 1..4 {
        let first = begin(&*one, Kind::Words, now).await.unwrap();
        let second = begin(&*two, Kind::Words, now).await.unwrap();
        assert!(first.is_together() && second.is_together());
        second.end(Ok(())).await.unwrap();
        assert_eq!(h.count(ROWS).await, 1, "that of the other server stays");
        first.end(Ok(())).await.unwrap();
    }
    die(&h, one).await;
    die(&h, two).await;
}

/// Ends the process at one text.
struct Deadly {
    model: Model,
    met: Arc<Notify>,
    kills: bool,
}

impl Deadly {
    fn new(met: &Arc<Notify>, kills: bool) -> Self {
        Self { model: Model::new("deadly").unwrap(), met: Arc::clone(met), kills }
    }
}

#[async_trait]
impl Embeddings for Deadly {
    fn model(&self) -> &Model {
        &self.model
    }

    fn dims(&self) -> usize {
        1
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vector>, Refused> {
        if self.kills && texts.iter().any(|it| it.contains("deadly")) {
            self.met.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(texts.iter().map(|_| Vector::new("v", vec![1.0]).unwrap()).collect())
    }
}

fn indexed(key: &str, text: &str) -> ChangeItem {
    let mut put = change(&["n"], key, Some(&format!("{{\"t\":\"{text}\"}}")));
    put.value.as_mut().unwrap().index = vec![FieldPath::new("t").unwrap()];
    put
}

/// Lets a server make vectors until it dies, or until there is nothing to do. Whether it died.
async fn makes_vectors(h: &Harness, clock: &Arc<Clock>, kills: bool) -> bool {
    let (storage, met) = (server(h).await, Arc::new(Notify::new()));
    let embeddings = Arc::new(Deadly::new(&met, kills));
    let worker = Indexer::new(storage.clone(), embeddings, Arc::clone(clock), Arc::default());
    let died = tokio::select! {
        () = async { while worker.round().await.unwrap() {} } => false,
        () = met.notified() => true,
    };
    drop(worker);
    die(h, storage).await;
    clock.advance(CLAIM);
    died
}

pub async fn vectors_of_others_are_made_beside_a_deadly_item(h: Harness) {
    if masters().is_some() {
        // No vectors are made there.
        return;
    }
    let Store { items, settings, quotas, clock, caller, storage } = Store::on(&h).await;
    let embedder = Embedder::new(Some(Arc::new(Deadly::new(&Arc::default(), true)) as _));
    let items = Arc::into_inner(items).unwrap().with_embeddings(embedder, Arc::default());
    let store = Store { items: Arc::new(items), settings, quotas, clock, caller, storage };
    for key in ["a", "b"] {
        store.try_put(indexed(key, "good")).await.unwrap();
    }
    let deadly = store.try_put(indexed("c", "deadly")).await.unwrap();
    for key in ["d", "e"] {
        store.try_put(indexed(key, "good")).await.unwrap();
    }
    for at in 0..3 {
        assert!(makes_vectors(&h, &store.clock, true).await, "round {at}");
    }
    for _ in 0..2 {
        assert!(!makes_vectors(&h, &store.clock, true).await);
        assert_eq!(h.count("select count(*) from item_vectors").await, 4);
    }
    let parked = h.storage.list_parked(None).await.unwrap();
    assert_eq!(parked.len(), 1);
    let told = (&*parked[0].kind, parked[0].unit.parse().unwrap(), parked[0].attempts);
    assert_eq!(told, ("vectors", deadly, 3));
    // A change of the item is another unit; so is what was released.
    h.storage.release_parked(None).await.unwrap();
    store.clock.advance(3_600 * SECOND);
    assert!(!makes_vectors(&h, &store.clock, false).await);
    assert_eq!(h.count("select count(*) from item_vectors").await, 5);
}

/// A row as a server that died has left it.
async fn left_alone(h: &Harness, kind: &str, unit: &str) {
    let insert = "insert into background_tasks (tenant, kind, unit, server, attempts, ran_alone, started_at)";
    h.sql(&format!("{insert} values ('tenant-a', '{kind}', '{unit}', -7, 1, 1, 1)")).await;
}

/// As if two groups had ended with their process.
async fn died_twice(h: &Harness, kind: &str, now: Micros) {
    let insert = "insert into background_tasks (tenant, kind, unit, server, attempts, started_at)";
    h.sql(&format!("{insert} values ('', '{kind}', '', 0, 2, {now})")).await;
}

pub async fn words_of_others_are_made_beside_a_deadly_item(h: Harness) {
    if masters().is_some() {
        // No words are made there.
        return;
    }
    for alone in [false, true] {
        let name = if alone { "alone" } else { "together" };
        let store = Store::on(&h).await;
        store.clock.advance(if alone { 2 * CLAIM } else { CLAIM });
        for at in 0..5 {
            store.put(&[name], &format!("k{at}"), r#"{"t":"word"}"#).await;
        }
        let of_two = format!(
            "select version from items where cast(key as text) like '%k2' {}",
            "and tenant = 'tenant-a'"
        );
        let of_two = if h.is_sqlite() {
            of_two
        } else {
            of_two.replace("cast(key as text)", "convert_from(key, 'UTF8')")
        };
        let version = h.count(&format!("{of_two} order by version desc limit 1")).await;
        left_alone(&h, "words", &version.to_string()).await;
        if alone {
            died_twice(&h, "words", START).await;
        }
        declare(&store, &[name], &["$"]).await;
        store.clock.advance(10 * SECOND);
        let settings = Arc::clone(&store.settings);
        let walks = WordWalks::new(store.storage.clone(), settings, Arc::clone(&store.clock));
        assert_eq!(walks.work().await.unwrap(), 1);
        let with = "select count(*) from items where words is not null";
        assert_eq!(h.count(with).await, if alone { 8 } else { 4 });
    }
    assert_eq!(h.count(&format!("{ROWS} where parked_at is null and server <> 0")).await, 0);
    assert_eq!(h.storage.list_parked(Some("tenant-a")).await.unwrap().len(), 2);
}

pub async fn other_scopes_are_packed_beside_a_deadly_one(h: Harness) {
    let (h, _) = with_store(h).await;
    for thread in ["a", "b"] {
        let put = Put::new("1").sets("m", "1", &crate::content::list(400));
        h.commit(commit(thread, vec![put.op()])).await.unwrap();
    }
    let scope = h.count("select scope_id from threads where thread_id = 'a'").await;
    left_alone(&h, "packing", &scope.to_string()).await;
    died_twice(&h, "packing", later(2)).await;
    h.storage.move_content(later(2)).await.unwrap();
    let packs = |of: &str| format!("select count(*) from packs where scope_id {of} {scope}");
    assert_eq!(h.count(&packs("=")).await, 0);
    assert!(h.count(&packs("<>")).await > 0);
    let parked = h.storage.list_parked(None).await.unwrap();
    assert_eq!((parked.len(), &*parked[0].kind), (1, "packing"));
    h.storage.release_parked(None).await.unwrap();
    h.storage.move_content(later(3)).await.unwrap();
    assert!(h.count(&packs("=")).await > 0);
    let begun = format!("{ROWS} where server <> 0");
    assert_eq!(h.count(&begun).await, 0);
}

pub async fn other_threads_are_pruned_beside_a_deadly_one(h: Harness) {
    for thread in ["a", "b", "c"] {
        chain(&h, thread, 5, &[]).await;
    }
    let generation = h.texts("select generation from threads where thread_id = 'b'").await;
    left_alone(&h, "retention", &generation[0]).await;
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    assert_eq!(server.sweep_after(SECOND).await, 1);
    let kept = |thread: &str| {
        let of = format!(
            "from threads t join checkpoints c on c.thread_key = t.thread_key where t.thread_id = '{thread}'"
        );
        format!("select count(*) {of}")
    };
    assert_eq!((h.count(&kept("a")).await, h.count(&kept("b")).await), (2, 5));
    assert_eq!(h.count(&kept("c")).await, 2);
    let parked = h.storage.list_parked(None).await.unwrap();
    assert_eq!((parked.len(), &*parked[0].kind, &parked[0].unit), (1, "retention", &generation[0]));
}
