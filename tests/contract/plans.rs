//! Counts the index rows that PostgreSQL reads: a thread's owner does not change its look-up, a subject's listing reads only its own
//! threads, and commits stay heap-only.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::threads::run_state::Status;
use threadkeep::domain::threads::thread::{ThreadQuery, ThreadSort};
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::storage::{self, StorageConfig};

use crate::granted_callers::{Desk, exact, prefix, subject, tenant, with};
use crate::harness::{Harness, config, masters};

/// 20,000 threads of nobody's and 50 of ann's, before there are statistics of the tables.
const FILL: &str = "
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
    checkpoint_count, size_bytes, owner, run_of, is_stale)
select 'tenant-a', 't:' || n, n, n, 'g', 0, n, n, 0, 0, case when n % 400 = 0 then 'ann' end, n, false
from generate_series(1, 20000) n;
insert into scopes (tenant, scope_id, epoch, next_no) select 'tenant-a', n, n, 1 from generate_series(1, 20000) n";

/// What a server's work adds to a number in the statistics. They are complete when its connections have ended and the number
/// moves no more.
pub async fn added_by(
    h: &Harness,
    number: String,
    work: impl AsyncFnOnce(&Arc<dyn Storage>),
) -> i64 {
    let before = settled(h, &number).await;
    let config = StorageConfig { exclusive: false, ..config(h.url()) };
    let storage = storage::open(&config).await.unwrap();
    work(&storage).await;
    storage.close().await;
    settled(h, &number).await - before
}

async fn added(h: &Harness, number: String, work: impl AsyncFnOnce(Desk)) -> i64 {
    added_by(h, number, async |storage| work(Desk::on(storage).await).await).await
}

async fn settled(h: &Harness, number: &str) -> i64 {
    let mut last = (-1, 0);
    while last.1 < 5 {
        let counted = h.count(number).await;
        last = if counted == last.0 { (counted, last.1 + 1) } else { (counted, 0) };
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    last.0
}

/// Entries of an index that were read.
pub fn entries(index: &str) -> String {
    format!(
        "select coalesce(sum(idx_tup_read), 0)::bigint from pg_stat_user_indexes where indexrelname = '{index}'"
    )
}

async fn list(desk: &Desk, caller: &Caller, sort: ThreadSort) -> usize {
    let query = ThreadQuery { limit: 10, sort, ..ThreadQuery::default() };
    desk.threads.list(caller, query).await.unwrap().threads.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_are_asked_for_by_index() {
    // No server made these rows: with a master key they are nobody's.
    if masters().is_some() {
        return;
    }
    let h = Harness::postgres().await;
    // Plans are looked at as they are without statistics, and a worker that makes some may come at any time.
    h.sql("alter table threads set (autovacuum_enabled = off)").await;
    h.sql(FILL).await;
    let ann = subject("ann");
    for (sort, entries_max) in [(ThreadSort::Created, 12), (ThreadSort::ThreadId, 50)] {
        let read = added(&h, entries("threads_owner"), async |desk| {
            for _ in 0..20 {
                assert_eq!(list(&desk, &ann, sort).await, 10);
            }
        });
        let read = read.await;
        assert!((200..=20 * entries_max).contains(&read), "{sort:?}: {read} entries for 20 pages");
    }
    // One thread, whoever asks: one entry of the key's index.
    for caller in [&tenant(), &ann, &with("one", vec![exact("t:400", Actions::ALL)])] {
        let read = added(&h, entries("threads_pkey"), async |desk| {
            for _ in 0..20 {
                assert!(desk.thread(caller, "t:400").await.is_some());
                assert_eq!(desk.latest_id(caller, "t:400").await, None);
            }
        });
        assert_eq!(read.await, 40, "{}", caller.credential);
    }
    let below = with("below", vec![prefix("t:19/", Actions::ALL), prefix("t:", Actions::ALL)]);
    let read = added(&h, entries("threads_pkey"), async |desk| {
        for _ in 0..20 {
            assert_eq!(list(&desk, &below, ThreadSort::ThreadId).await, 10);
        }
    });
    let read = read.await;
    assert!(read <= 20 * 12, "{read} entries for 20 pages of 10 threads");
    let read = added(&h, entries("threads_created"), async |desk| {
        for _ in 0..20 {
            assert_eq!(list(&desk, &tenant(), ThreadSort::Created).await, 10);
        }
    });
    let read = read.await;
    assert!((200..=20 * 14).contains(&read), "{read} entries for 20 pages of 10 threads");
    let sequential = "select seq_scan from pg_stat_user_tables where relname = 'threads'";
    assert_eq!(settled(&h, sequential).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_to_owned_threads_stay_heap_only() {
    let h = Harness::postgres().await;
    let updates = "select n_tup_upd * 1000 + n_tup_hot_upd from pg_stat_user_tables
        where relname = 'threads'";
    let counted = added(&h, updates.into(), async |desk| {
        for at in 0..100 {
            desk.put(&subject("ann"), "t", &format!("{at:03}")).await.unwrap();
        }
    });
    let (updates, heap_only) = {
        let counted = counted.await;
        (counted / 1_000, counted % 1_000)
    };
    // Now and then a page is full, because something else still looks at its old rows.
    assert!(updates == 99 && heap_only >= 95, "{heap_only} of {updates}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_in_a_rare_state_are_found_by_index() {
    if masters().is_some() {
        return;
    }
    let h = Harness::postgres().await;
    h.sql("alter table threads set (autovacuum_enabled = off)").await;
    h.sql(FILL).await;
    h.sql("update threads set run_state = 1 where thread_key % 10 = 0").await;
    h.sql("update threads set is_stale = false, run_of = updated_at").await;
    for (sort, index) in [
        (ThreadSort::Created, "threads_run_state_created"),
        (ThreadSort::Updated, "threads_run_state"),
    ] {
        let read = added(&h, entries(index), async |desk| {
            for _ in 0..20 {
                let statuses = vec![Status::Interrupted];
                let query = ThreadQuery { statuses, limit: 10, sort, ..ThreadQuery::default() };
                let page = desk.threads.list(&tenant(), query).await.unwrap();
                assert_eq!(page.threads.len(), 10);
            }
        });
        let read = read.await;
        assert!((200..=20 * 14).contains(&read), "{sort:?}: {read} entries for 20 pages of 10");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn walks_in_the_background_go_on_by_index() {
    if masters().is_some() {
        return;
    }
    let h = Harness::postgres().await;
    h.sql("alter table threads set (autovacuum_enabled = off)").await;
    h.sql(&FILL.replace("n, false\n", "0, true\n")).await;
    let behind = ("tenant-a".to_owned(), 15_000);
    let read = added_by(&h, entries("threads_stale"), async |storage| {
        for _ in 0..20 {
            let page = storage.list_quiet_stale_threads(&behind, Micros::MAX, 50).await.unwrap();
            assert_eq!((page.len(), page[0].seen.thread_key), (50, 15_001));
        }
    });
    assert!((1_000..=1_100).contains(&read.await), "20 pages of 50 stale threads");
    let read = added_by(&h, entries("threads_unaliased"), async |storage| {
        for _ in 0..20 {
            let page = storage.list_all_unaliased_threads(&behind, 50).await.unwrap();
            assert_eq!((page.len(), page[0].thread_key), (50, 15_001));
        }
    });
    assert!((1_000..=1_100).contains(&read.await), "20 pages of 50 threads without an alias");
}
