//! Tests that lists end when their time is over. The tables are locked, as a list that goes through very many rows would wait for them.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use sqlx::{Connection, Executor, PgConnection};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::sessions::storage::FindDocuments;
use threadkeep::domain::snapshots::storage::ListSnapshots;
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::tenants::audit::EventQuery;
use threadkeep::domain::threads::retention::ReportQuery;
use threadkeep::domain::{Error, Result};
use threadkeep::storage::{self, StorageConfig};
use tokio::time::timeout;

use crate::commands::Put;
use crate::granted_callers;
use crate::harness::{Harness, commit, config, thread_id};
use crate::session_calls::{Desk, all_of_kind, name};
use crate::store::Store;

const LOCK: &str =
    "begin; lock table threads, checkpoints, sessions, session_logs, snapshots, audit_events,
    retention_reports, items in access exclusive mode";
/// Half of them are for lists, and each list waits on one.
const CONNECTIONS: usize = 24;
/// A list without a limit would wait for the lock until this time is over.
const PATIENCE: Duration = Duration::from_secs(5 * LIMITS.search_seconds_max);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_list_ends_when_its_time_is_over() {
    let mut h = Harness::postgres().await;
    let many = StorageConfig { exclusive: false, connections: CONNECTIONS, ..config(h.url()) };
    h.storage = storage::open(&many).await.unwrap();
    h.queue = GroupCommit::start(h.storage.clone(), &Arc::new(Clock::System));
    h.commit(commit("t", vec![Put::new("1").op()])).await.unwrap();
    let threads = granted_callers::Desk::on(&h.storage).await;
    let sessions = Desk::on(&h).await;
    let session = name(&["s"]);
    sessions.append(&session, &["1"]).await.unwrap();
    let find = FindDocuments { kind: "kind".into(), key_prefix: Vec::new(), name: "d".into() };
    let events = EventQuery { since: None, until: None, act: None, limit: 9, after: None };
    let reports = ReportQuery { thread_id: None, limit: 9, after: None };
    let snapshots = ListSnapshots { limit: 9, ..ListSnapshots::default() };
    let (caller, id, timeline) = (&h.caller, thread_id("t"), crate::timelines::all("t"));
    let items = Store::on(&h).await.items;
    let everywhere = Namespace::default();
    let lists: Vec<(&str, BoxFuture<Result<()>>)> = vec![
        ("sessions", ended(sessions.sessions.list(&sessions.caller, all_of_kind()))),
        ("streams", ended(sessions.sessions.list_streams(&sessions.caller, &session))),
        ("documents", ended(sessions.sessions.list_documents(&sessions.caller, &session, ""))),
        ("found documents", ended(sessions.sessions.find_documents(&sessions.caller, &find))),
        ("snapshots", ended(h.storage.list_snapshots(caller, &snapshots))),
        ("events", ended(h.storage.list_events(&caller.tenant, &events))),
        ("reports", ended(threads.policies.list_reports(caller, reports))),
        ("timeline", ended(h.storage.list_timeline(caller, &timeline))),
        ("largest namespaces", ended(items.largest_namespaces(caller, &everywhere, 9))),
        ("storage", ended(threads.threads.get_storage_use(caller, &id))),
    ];
    let mut locking = PgConnection::connect(h.url()).await.unwrap();
    locking.execute(LOCK).await.unwrap();
    let ends = lists.into_iter().map(async |(what, list)| {
        let end = timeout(PATIENCE, list).await.unwrap_or_else(|_| panic!("{what} did not end"));
        assert!(matches!(end, Err(Error::ReadTooLong)), "{what}: {end:?}");
    });
    join_all(ends).await;
    locking.execute("rollback").await.unwrap();
    assert_eq!(sessions.sessions.list_streams(&sessions.caller, &session).await.unwrap().len(), 1);
}

fn ended<'a, T>(list: impl Future<Output = Result<T>> + Send + 'a) -> BoxFuture<'a, Result<()>> {
    Box::pin(async { list.await.map(drop) })
}
