//! Tests what becomes of connections to PostgreSQL after calls that end well, are refused or are cut short.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::join_all;
use sqlx::{Connection, Executor, PgConnection};
use threadkeep::domain::Conflict;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::tenants::audit::{Act, ActKind, EventQuery};
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::CopyThread;
use threadkeep::domain::tokens::credential::Revocation;
use threadkeep::domain::tokens::key::{Key, ShownKey};
use threadkeep::domain::tokens::token::TokenId;
use threadkeep::storage::{self, StorageConfig};

use crate::commands::Put;
use crate::conditions::lease;
use crate::harness::{Harness, caller_of, commit, config, conflict, pruning, target, thread_id};

const LOOKS_MAX: u32 = 6_000;
pub const WAIT_FOR_A_LOCK: &str = "wait_event_type = 'Lock'";

/// Sessions of the server, by their numbers, that meet a condition.
async fn sessions(h: &Harness, condition: &str) -> BTreeSet<String> {
    let others = "select cast(pid as text) from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()";
    h.texts(&format!("{others} and {condition}")).await.into_iter().collect()
}

/// Looks at the sessions for some 30 seconds, then the test fails and does not hang.
pub async fn until(h: &Harness, condition: &str, is_met: impl Fn(&BTreeSet<String>) -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_met(&sessions(h, condition).await) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never came: {condition}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_refused_keeps_its_connection_and_leaves_no_transaction_open() {
    let h = Harness::postgres().await;
    for thread in ["t", "taken"] {
        h.commit(commit(thread, vec![Put::new("1").op()])).await.unwrap();
    }
    let taken = CopyThread {
        source: thread_id("t"),
        target: thread_id("taken"),
        idempotency: None,
        full: None,
    };
    let round = async || {
        let refused = h.storage.copy_thread(&h.caller, &taken).await;
        assert!(matches!(conflict(refused), Conflict::ThreadExists));
        h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
        h.get("1").await;
    };
    round().await;
    let before = sessions(&h, "true").await;
    for _ in 0..10 {
        round().await;
    }
    assert_eq!(sessions(&h, "true").await, before);
    assert_eq!(sessions(&h, "state like 'idle in transaction%'").await, BTreeSet::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cut_short_takes_its_connection_along() {
    let h = Arc::new(Harness::postgres().await);
    h.put(Put::new("1")).await;
    let mut lock = PgConnection::connect(h.url()).await.unwrap();
    lock.execute("begin; lock table checkpoints in access exclusive mode").await.unwrap();
    let call = tokio::spawn({
        let h = Arc::clone(&h);
        async move { drop(h.get("1").await) }
    });
    until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 1).await;
    let cut = sessions(&h, WAIT_FOR_A_LOCK).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    lock.execute("rollback").await.unwrap();
    until(&h, "true", |found| found.is_disjoint(&cut)).await;
    assert_eq!(h.get("1").await.id, "1");
}

/// The database looks twice a second whether somebody waits for a read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_whose_caller_left_ends_in_the_database_and_a_write_does_not() {
    let h = Arc::new(Harness::postgres().await);
    let query = EventQuery { since: None, until: None, act: None, limit: 9, after: None };
    let mut lock = PgConnection::connect(h.url()).await.unwrap();
    h.put(Put::new("1")).await;
    lock.execute(
        "begin; lock table audit_events in access exclusive mode; select from threads where thread_id = 't' for update",
    )
    .await
    .unwrap();
    let list = tokio::spawn({
        let h = Arc::clone(&h);
        async move { drop(h.storage.list_events("tenant-a", &query).await) }
    });
    until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 1).await;
    let read = sessions(&h, WAIT_FOR_A_LOCK).await;
    let taken = tokio::spawn({
        let h = Arc::clone(&h);
        async move {
            lease(&h, "holder").await;
        }
    });
    until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 2).await;
    let written = &sessions(&h, WAIT_FOR_A_LOCK).await - &read;
    for call in [list, taken] {
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let left = Instant::now();
    until(&h, WAIT_FOR_A_LOCK, |found| found.is_disjoint(&read)).await;
    // The time of a list ends it, too, but not so soon.
    assert!(left.elapsed() < Duration::from_secs(LIMITS.search_seconds_max) / 2);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(sessions(&h, WAIT_FOR_A_LOCK).await, written, "the write waits on");
    lock.execute("rollback").await.unwrap();
    until(&h, "true", |found| found.is_disjoint(&written)).await;
    assert_eq!(h.count("select count(*) from threads where lease_holder = 'holder'").await, 1);
}

/// Every connection for data waits, and a stolen token can be revoked and a key be made all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_revocations_are_written_while_all_data_waits() {
    let h = Harness::postgres().await;
    let few = StorageConfig { connections: 2, exclusive: false, ..config(h.url()) };
    let few = storage::open(&few).await.unwrap();
    let mut lock = PgConnection::connect(h.url()).await.unwrap();
    lock.execute("begin; lock table threads in access exclusive mode").await.unwrap();
    let reads: Vec<_> = (0..8)
        .map(|_| {
            let few = Arc::clone(&few);
            let read = async move {
                few.get_checkpoint(&caller_of("busy"), &target("t", "", None), &[]).await.unwrap();
            };
            tokio::spawn(read)
        })
        .collect();
    until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 2).await;
    let written = async {
        let act = |kind| Act::of_operator("busy", kind, "", 1);
        let key = Key {
            key_id: "key_1".into(),
            tenant: "busy".into(),
            subject: None,
            hash: [1; 32],
            created_at: 1,
            revoked_at: None,
            expires_at: None,
            shown: ShownKey::default(),
        };
        few.create_key(&key, &act(ActKind::KeyCreated)).await.unwrap();
        let revocation = Revocation {
            tenant: "busy".into(),
            token_id: TokenId::random(),
            chain: None,
            expires_at: 9,
            revoked_at: 1,
        };
        assert!(few.revoke_token(&revocation, 9, &act(ActKind::TokenRevoked)).await.unwrap());
        assert!(few.revoke_key("busy", "key_1", &act(ActKind::KeyRevoked)).await.unwrap());
    };
    // Less than a caller waits for a connection.
    tokio::time::timeout(Duration::from_secs(8), written).await.expect("they wait for data");
    lock.execute("rollback").await.unwrap();
    join_all(reads).await.into_iter().for_each(|it| it.unwrap());
}

/// What one tenant has waiting is overtaken by another tenant's call, however long it waited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_take_turns_where_connections_are_short() {
    let h = Harness::postgres().await;
    let few = StorageConfig { connections: 2, exclusive: false, ..config(h.url()) };
    let few = storage::open(&few).await.unwrap();
    let done = Arc::new(Mutex::new(Vec::new()));
    let read = |tenant: &'static str| {
        let (storage, done) = (Arc::clone(&few), Arc::clone(&done));
        tokio::spawn(async move {
            let newest = target("t", "", None);
            storage.get_checkpoint(&caller_of(tenant), &newest, &[]).await.unwrap();
            done.lock().unwrap().push(tenant);
        })
    };
    for tenant in ["busy", "quiet"] {
        read(tenant).await.unwrap();
    }
    let mut lock = PgConnection::connect(h.url()).await.unwrap();
    lock.execute("begin; lock table threads in access exclusive mode").await.unwrap();
    let many: Vec<_> = (0..40).map(|_| read("busy")).collect();
    until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 2).await;
    let one = read("quiet");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let data = few.pools().into_iter().find(|it| it.name == "data").unwrap();
    assert_eq!((data.in_use, data.max), (2, 2), "{data:?}");
    assert!(data.waiting >= 39, "{data:?}");
    lock.execute("rollback").await.unwrap();
    one.await.unwrap();
    join_all(many).await.into_iter().for_each(|it| it.unwrap());
    let data = few.pools().into_iter().find(|it| it.name == "data").unwrap();
    assert_eq!((data.in_use, data.idle, data.waiting), (0, 2, 0), "{data:?}");
    let order = done.lock().unwrap()[2..].to_vec();
    let before = order.iter().position(|it| *it == "quiet").unwrap();
    assert!(before <= 4, "{before} calls of another tenant went first");
}
