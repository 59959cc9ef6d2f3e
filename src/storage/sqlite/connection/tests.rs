//! Tests what readers and the writer wait for, and what ends them.

use futures::future::{join, join_all};
use futures::poll;
use tokio::task::unconstrained;

use super::*;
use crate::content::keys::TenantSecret;
use crate::storage::sqlite::{SqliteConfig, SqliteStorage};

async fn stored(folder: &tempfile::TempDir) -> SqliteStorage {
    let path = folder.path().join("a.db");
    let config = SqliteConfig {
        read_times: ReadTimes::default(),
        path: &path,
        migrate: true,
        create: true,
        exclusive: true,
        objects: None,
        masters: None,
    };
    SqliteStorage::open(config).await.unwrap()
}

/// A killed process loses nothing either way: only a lost machine would show it.
#[tokio::test]
async fn what_is_committed_is_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let connections = Connections::new(&folder.path().join("a.db"), true).unwrap();
    let mut writer = connections.begin_write().await.unwrap();
    let full: i64 = sqlx::query_scalar("pragma synchronous").fetch_one(&mut *writer).await.unwrap();
    let journal: String =
        sqlx::query_scalar("pragma journal_mode").fetch_one(&mut *writer).await.unwrap();
    writer.rollback().await.unwrap();
    assert_eq!((full, journal.as_str()), (2, "wal"));
    connections.close().await;
}

/// As many searches as there are readers would else lock everybody out who has a key.
#[tokio::test]
async fn keys_and_readiness_wait_for_no_reader_of_data() {
    use crate::domain::engine::Engine as _;
    use crate::domain::tokens::storage::CredentialStorage as _;
    let folder = tempfile::tempdir().unwrap();
    let storage = stored(&folder).await;
    let mut searches = Vec::new();
    for number in 0..READERS {
        searches.push(storage.connections.begin_read().await.unwrap());
        searches.push(storage.connections.begin_search(&number.to_string()).await.unwrap());
    }
    let within = Duration::from_secs(5);
    tokio::time::timeout(within, storage.check_ready()).await.expect("ready").unwrap();
    let loaded = tokio::time::timeout(within, storage.load_credentials()).await;
    loaded.expect("the keys are read").unwrap();
    let looked_up = tokio::time::timeout(within, storage.has_key(&[0; 32])).await;
    assert!(!looked_up.expect("a key is looked up").unwrap());
    drop(searches);
}

#[tokio::test]
async fn pools_tell_what_is_in_use_and_who_waits() {
    let folder = tempfile::tempdir().unwrap();
    let storage = stored(&folder).await;
    let connections = &storage.connections;
    let used = |name: &str| {
        let found = connections.pools().into_iter().find(|it| it.name == name).unwrap();
        (found.in_use, found.max, found.waiting)
    };
    let read = connections.begin_read().await.unwrap();
    let search = connections.begin_search("a").await.unwrap();
    let write = connections.begin_write().await.unwrap();
    assert_eq!((used("readers"), used("keys")), ((1, READERS, 0), (0, FIRST_READERS, 0)));
    assert_eq!((used("searches"), used("writer")), ((1, SEARCHERS, 0), (1, 1, 0)));
    let mut second = Box::pin(unconstrained(connections.begin_write_for("a")));
    assert!(poll!(second.as_mut()).is_pending());
    assert_eq!(used("writer"), (1, 1, 1));
    // Who has left waits no more.
    drop(second);
    assert_eq!(used("writer"), (1, 1, 0));
    write.commit().await.unwrap();
    read.end().await.unwrap();
    search.end().await.unwrap();
    assert_eq!(["readers", "searches", "writer"].map(|it| used(it).0), [0; 3]);
    assert_eq!(connections.pools()[0].idle, 2);
}

#[tokio::test]
async fn keys_are_written_between_slices_and_before_what_their_tenant_has_waiting() {
    use crate::domain::tenants::audit::{Act, ActKind};
    use crate::domain::tokens::key::{Key, ShownKey};
    use crate::domain::tokens::storage::KeyStorage as _;
    let folder = tempfile::tempdir().unwrap();
    let storage = stored(&folder).await;
    let slices = storage.connections.background().await;
    let key = Key {
        key_id: "key_1".into(),
        tenant: "acme".into(),
        subject: None,
        hash: [1; 32],
        created_at: 1,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    };
    let act = Act::of_operator("acme", ActKind::KeyCreated, "", 1);
    let order = SyncMutex::new(Vec::new());
    let write = async |number: usize| {
        storage.connections.begin_write_for("acme").await.unwrap().rollback().await.unwrap();
        order.lock().unwrap().push(number);
    };
    let held = storage.connections.begin_write_for("acme").await.unwrap();
    let flood = join_all((0..50).map(write));
    let create = async {
        let made = tokio::time::timeout(Duration::from_secs(5), storage.create_key(&key, &act));
        made.await.expect("it waits for slices").unwrap();
        order.lock().unwrap().push(usize::MAX);
    };
    tokio::join!(flood, create, async { held.rollback().await.unwrap() });
    drop(slices);
    let order = order.into_inner().unwrap();
    assert!(order.iter().position(|it| *it == usize::MAX).unwrap() <= 2, "{order:?}");
}

#[tokio::test]
async fn those_that_wait_for_the_writer_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let connections = opened(&folder).await;
    let order = SyncMutex::new(Vec::new());
    let write = async |who: &'static str| {
        connections.begin_write_for(who).await.unwrap().rollback().await.unwrap();
        order.lock().unwrap().push(who);
    };
    let held = connections.begin_write_for("acme").await.unwrap();
    let flood = join_all((0..50).map(|_| write("acme")));
    let end = async { held.rollback().await.unwrap() };
    tokio::join!(flood, write("globex"), end);
    let order = order.into_inner().unwrap();
    assert!(order.iter().position(|it| *it == "globex").unwrap() <= 1, "{order:?}");
}

/// A batch of a thousand items would else be a thousand transactions before the first of them.
#[tokio::test]
async fn calls_that_meet_something_new_together_write_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let storage = stored(&folder).await;
    let held = storage.connections.begin_write().await.unwrap();
    let secrets = join_all((0..100).map(|_| storage.secret("acme")));
    let plain = TenantSecret::new([7; 32]);
    let scopes = join_all((0..100).map(|_| storage.target(("globex", &plain), "root")));
    let mut all = Box::pin(unconstrained(join(secrets, scopes)));
    let waiting = || storage.connections.writers.waiting_count();
    // They look for it before they write it.
    while waiting() < 2 {
        assert!(poll!(all.as_mut()).is_pending());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..20 {
        assert!(poll!(all.as_mut()).is_pending());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(waiting(), 2);
    held.rollback().await.unwrap();
    let (secrets, scopes) = all.await;
    let digests = secrets.into_iter().map(|it| it.unwrap().digest(b"a"));
    assert_eq!(digests.collect::<std::collections::HashSet<_>>().len(), 1);
    let ids = scopes.into_iter().map(|it| it.unwrap().scope_id);
    assert_eq!(ids.collect::<std::collections::HashSet<_>>().len(), 1);
}

/// Counts for days.
const ENDLESS: &str =
    "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n";

async fn opened(folder: &tempfile::TempDir) -> Connections {
    let connections = Connections::new(&folder.path().join("a.db"), true).unwrap();
    connections.begin_write().await.unwrap().commit().await.unwrap();
    connections
}

#[tokio::test]
async fn a_statement_ends_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let connections = opened(&folder).await;
    let mut read = connections.begin_search("acme").await.unwrap();
    read.check_time().unwrap();
    read.limit().set(Some(Duration::from_millis(20)));
    let ended = sqlx::query(ENDLESS).fetch_one(&mut *read).await.map_err(Error::from);
    assert!(matches!(ended, Err(Error::ReadTooLong)), "{:?}", ended.map(drop));
    assert!(matches!(read.check_time(), Err(Error::ReadTooLong)));
    drop(read);
    // The next one has its own time.
    let mut read = connections.begin_search("acme").await.unwrap();
    sqlx::query("select 1").fetch_one(&mut *read).await.unwrap();
    read.end().await.unwrap();
    connections.close().await;
}

#[tokio::test]
async fn a_caller_that_leaves_ends_its_statement() {
    let folder = tempfile::tempdir().unwrap();
    let connections = opened(&folder).await;
    let mut read = connections.begin_read_for("acme").await.unwrap();
    let limit = read.limit().clone();
    {
        let endless = sqlx::query(ENDLESS).fetch_one(&mut *read);
        let left = tokio::time::timeout(Duration::from_millis(50), endless).await;
        assert!(left.is_err(), "it runs");
    }
    drop(read);
    assert!(limit.is_over());
    // Closing waits for the thread of every connection; one that still counted would hold it up.
    let mut read = connections.begin_read().await.unwrap();
    sqlx::query("select 1").fetch_one(&mut *read).await.unwrap();
    read.end().await.unwrap();
    connections.close().await;
}

#[tokio::test]
async fn searches_of_one_tenant_leave_room_for_others_and_for_other_reads() {
    let folder = tempfile::tempdir().unwrap();
    let connections = opened(&folder).await;
    let mut searches = Vec::new();
    for _ in 0..SEARCHERS / 2 {
        searches.push(connections.begin_search("acme").await.unwrap());
    }
    let within = Duration::from_millis(50);
    let more = tokio::time::timeout(within, connections.begin_search("acme")).await;
    assert!(more.is_err(), "it has its share");
    searches.push(connections.begin_search("globex").await.unwrap());
    connections.begin_read_for("acme").await.unwrap().end().await.unwrap();
    drop(searches);
    connections.close().await;
}

/// A log that was cut by somebody else ends the server.
#[tokio::test]
async fn a_log_that_the_server_empties_is_not_taken_for_one_that_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let storage = stored(&folder).await;
    let connections = &storage.connections;
    let limit = LogLimit::new(&connections.options);
    for round in 0..3 {
        let mut writer = connections.begin_write().await.unwrap();
        sqlx::query("create table t (x)").execute(&mut *writer).await.unwrap();
        sqlx::query("drop table t").execute(&mut *writer).await.unwrap();
        writer.commit().await.unwrap();
        connections.file.look().unwrap();
        assert!(limit.enforce(0).await.unwrap(), "round {round}");
        connections.file.look().unwrap();
    }
}
