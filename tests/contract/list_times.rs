//! Tests that lists end when their time is over, on both engines. Their tables do not answer, as those of a list that goes through very many
//! rows would not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, join_all};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::sessions::storage::FindDocuments;
use threadkeep::domain::snapshots::storage::ListSnapshots;
use threadkeep::domain::store::item::ItemOp;
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::tenants::audit::EventQuery;
use threadkeep::domain::threads::retention::ReportQuery;
use threadkeep::domain::{Error, Result};
use threadkeep::storage::{self, ReadTimes, StorageConfig};
use tokio::time::timeout;

use crate::commands::Put;
use crate::granted_callers;
use crate::harness::{Harness, commit, config, thread_id};
use crate::session_calls::{Desk, all_of_kind, name};
use crate::store::{Store, change, scope};

/// What the lists read.
const TABLES: [&str; 8] = [
    "threads",
    "checkpoints",
    "sessions",
    "session_logs",
    "snapshots",
    "audit_events",
    "retention_reports",
    "items",
];
/// Half of them are for lists, and each list waits on one.
const CONNECTIONS: usize = 24;
/// A list without a limit would wait until this time is over.
const PATIENCE: Duration = Duration::from_secs(5 * LIMITS.search_seconds_max);

/// The tables are locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_list_ends_when_its_time_is_over() {
    let h = Harness::postgres().await;
    let many = StorageConfig { exclusive: false, connections: CONNECTIONS, ..config(h.url()) };
    let mut locking = PgConnection::connect(h.url()).await.unwrap();
    let lock = format!("begin; lock table {} in access exclusive mode", TABLES.join(", "));
    let lists = Lists::of(h, &many).await;
    locking.execute(AssertSqlSafe(lock)).await.unwrap();
    lists.check_that_each_ends().await;
    lists.check_that_a_batch_ends().await;
    locking.execute("rollback").await.unwrap();
    lists.check_that_they_list_again().await;
}

/// Nobody locks a table there, so each takes for ever to be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_list_of_an_embedded_database_ends_when_its_time_is_over() {
    let h = Harness::sqlite().await;
    let read_times = ReadTimes { search: Duration::from_millis(300), ..ReadTimes::default() };
    let soon = StorageConfig { exclusive: false, read_times, ..config(h.url()) };
    let url = h.url().to_owned();
    let lists = Lists::of(h, &soon).await;
    let endless = Endless::make(&url, &TABLES).await;
    lists.check_that_each_ends().await;
    lists.check_that_a_batch_ends().await;
    endless.end().await;
    lists.check_that_they_list_again().await;
}

/// Everything that lists something, on one server.
struct Lists {
    h: Harness,
    threads: granted_callers::Desk,
    sessions: Desk,
    session: SessionName,
}

impl Lists {
    async fn of(mut h: Harness, config: &StorageConfig) -> Self {
        h.storage = storage::open(config).await.unwrap();
        h.queue = GroupCommit::start(h.storage.clone(), &Arc::new(Clock::System));
        h.commit(commit("t", vec![Put::new("1").op()])).await.unwrap();
        let threads = granted_callers::Desk::on(&h.storage).await;
        let sessions = Desk::on(&h).await;
        let session = name(&["s"]);
        sessions.append(&session, &["1"]).await.unwrap();
        Self { h, threads, sessions, session }
    }

    async fn check_that_each_ends(&self) {
        let Self { h, threads, sessions, session } = self;
        let find = FindDocuments { kind: "kind".into(), key_prefix: Vec::new(), name: "d".into() };
        let events = EventQuery { since: None, until: None, act: None, limit: 9, after: None };
        let reports = ReportQuery { thread_id: None, limit: 9, after: None };
        let snapshots = ListSnapshots { limit: 9, ..ListSnapshots::default() };
        let (caller, id, timeline) = (&h.caller, thread_id("t"), crate::timelines::all("t"));
        let items = Store::on(h).await.items;
        let everywhere = Namespace::default();
        let lists: Vec<(&str, BoxFuture<Result<()>>)> = vec![
            ("sessions", ended(sessions.sessions.list(&sessions.caller, all_of_kind()))),
            ("streams", ended(sessions.sessions.list_streams(&sessions.caller, session))),
            ("documents", ended(sessions.sessions.list_documents(&sessions.caller, session, ""))),
            ("found documents", ended(sessions.sessions.find_documents(&sessions.caller, &find))),
            ("snapshots", ended(h.storage.list_snapshots(caller, &snapshots))),
            ("events", ended(h.storage.list_events(&caller.tenant, &events))),
            ("reports", ended(threads.policies.list_reports(caller, reports))),
            ("timeline", ended(h.storage.list_timeline(caller, &timeline))),
            ("largest namespaces", ended(items.largest_namespaces(caller, &everywhere, 9))),
            ("storage", ended(threads.threads.get_storage_use(caller, &id))),
        ];
        let ends = lists.into_iter().map(async |(what, list)| {
            let end =
                timeout(PATIENCE, list).await.unwrap_or_else(|_| panic!("{what} did not end"));
            assert!(matches!(end, Err(Error::ReadTooLong)), "{what}: {end:?}");
        });
        join_all(ends).await;
    }

    /// All of its counts have the time of one.
    async fn check_that_a_batch_ends(&self) {
        let time = Duration::from_millis(500);
        let store = Store::with_batch_time(&self.h.storage, &self.h.caller, time).await;
        let counts = |count| vec![ItemOp::Count(scope(&["n"], r#"{"n":1}"#)); count];
        let began = Instant::now();
        // As many would take minutes, one after the other.
        let counted = timeout(PATIENCE, store.batch(counts(400), false)).await;
        let counted = counted.expect("it did not end").unwrap();
        assert!(counted.iter().all(|it| matches!(it, Err(Error::ReadTooLong))));
        assert!(began.elapsed() < Duration::from_secs(LIMITS.search_seconds_max));
        let mut ops = counts(2);
        ops.push(ItemOp::Change(change(&["n"], "put", Some("{}"))));
        let together = timeout(PATIENCE, store.batch(ops, true)).await;
        assert!(matches!(together.expect("it did not end"), Err(Error::ReadTooLong)));
    }

    async fn check_that_they_list_again(&self) {
        let Self { sessions, session, .. } = self;
        assert_eq!(Store::on(&self.h).await.get(&["n"], "put").await, None);
        let streams = sessions.sessions.list_streams(&sessions.caller, session).await;
        assert_eq!(streams.unwrap().len(), 1);
    }
}

/// Tables of an embedded database that take for ever to be read, until they are as before.
pub struct Endless {
    connection: SqliteConnection,
    tables: Vec<&'static str>,
}

impl Endless {
    /// A view stands in the place of each.
    pub async fn make(url: &str, tables: &[&'static str]) -> Self {
        let path = url.strip_prefix("sqlite://").unwrap();
        let mut connection = SqliteConnection::connect(path).await.unwrap();
        let views = tables.iter().map(|it| {
            let rowid = if *it == "audit_events" { "" } else { ", k.rowid as rowid" };
            format!(
                "alter table {it} rename to {it}_kept;
                 create view {it} as select k.*{rowid} from (
                    select (with recursive n (i) as (select 1 union all select i + 1 from n)
                        select count(*) from n) as count) e
                 cross join {it}_kept k where e.count > 0;"
            )
        });
        let views: String = views.collect();
        let made = format!(
            "pragma foreign_keys = off; pragma legacy_alter_table = on; begin; {views} commit"
        );
        connection.execute(AssertSqlSafe(made)).await.unwrap();
        Self { connection, tables: tables.to_vec() }
    }

    pub async fn end(mut self) {
        let back = self
            .tables
            .iter()
            .map(|it| format!("drop view {it}; alter table {it}_kept rename to {it};"));
        let back: String = back.collect();
        let ended = self.connection.execute(AssertSqlSafe(format!("begin; {back} commit"))).await;
        ended.unwrap();
    }
}

fn ended<'a, T>(list: impl Future<Output = Result<T>> + Send + 'a) -> BoxFuture<'a, Result<()>> {
    Box::pin(async { list.await.map(drop) })
}
