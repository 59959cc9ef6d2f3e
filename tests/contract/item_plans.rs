//! Tests that PostgreSQL finds the newest of many items by the index, with the same answer as a sort. It inserts them by a statement of its
//! own, because the effect shows only over many items.

use threadkeep::domain::store::item::{ItemCursor, ItemSort, SearchItems, Select};

use crate::harness::Harness;
use crate::plans::{added_by, entries};
use crate::store::{SECOND, START, Store, namespace, search};

/// Most of them in `a` and `b`, 700 of a time, every eleventh expired; those of `old` before all others.
const NEW: i64 = 14_000;
const OLD: i64 = 2_500;

fn fill() -> String {
    format!(
        "insert into items (tenant, namespace, key, version, created_at, updated_at, ttl_micros, expires_at,
            size_bytes, digest, body, projection, has_marks)
         select 'tenant-a', case when n > {NEW} then array['old'] when n % 4 = 0 then array['b']
                else array['a', (n % 5)::text] end,
            convert_to('k' || n, 'UTF8'), n, {START} + case when n > {NEW} then -n else n / 700 end * {SECOND}::bigint, 1,
            case when n % 11 = 0 then 1 end, case when n % 11 = 0 then 1 end, 2, '', '', '{{}}', false
         from generate_series(1, {NEW} + {OLD}) n"
    )
}

/// The keys of what lives, newest first, then by namespace and key.
fn expected(prefix: &[&str]) -> Vec<String> {
    let mut all: Vec<(i64, Vec<String>, String)> = (1..=NEW + OLD)
        .filter(|n| n % 11 != 0)
        .map(|n| {
            let (namespace, time) = match n {
                n if n > NEW => (vec!["old".to_owned()], n),
                n if n % 4 == 0 => (vec!["b".to_owned()], -(n / 700)),
                n => (vec!["a".to_owned(), (n % 5).to_string()], -(n / 700)),
            };
            (time, namespace, format!("k{n}"))
        })
        .filter(|it| it.1.iter().zip(prefix).all(|(own, asked)| own == asked))
        .filter(|it| it.1.len() >= prefix.len())
        .collect();
    all.sort();
    all.into_iter().map(|it| it.2).collect()
}

fn newest(prefix: &[&str], limit: usize) -> SearchItems {
    let mut query = search(prefix, "{}");
    (query.limit, query.select) = (limit, Select::Nothing);
    query
}

async fn page(store: &Store, query: &SearchItems) -> (Vec<String>, Option<ItemCursor>) {
    let page = store.search(query.clone()).await;
    (crate::store::keys(&page.items), page.next)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_much_are_those_of_a_sort() {
    let h = Harness::postgres().await;
    h.sql(&fill()).await;
    let store = Store::on(&h).await;
    for prefix in [&[][..], &["a"], &["b"], &["a", "3"], &["old"], &["none"]] {
        let all = expected(prefix);
        let (mut found, mut query) = (Vec::new(), newest(prefix, 600));
        loop {
            let (keys, next) = page(&store, &query).await;
            found.extend(keys);
            query.after = next;
            if query.after.is_none() {
                break;
            }
        }
        assert!(found == all, "by cursor, {prefix:?}: {} of {}", found.len(), all.len());
        for offset in [0, 1, 699, 1_500, 1_995, 2_500, 9_000, 20_000] {
            let query = SearchItems { offset, ..newest(prefix, 7) };
            let behind: Vec<String> = all.iter().skip(offset).take(7).cloned().collect();
            assert_eq!(page(&store, &query).await.0, behind, "{prefix:?} behind {offset}");
        }
    }
    let mut exact = newest(&["b"], 9);
    (exact.scope.exact, exact.scope.prefix) = (true, namespace(&["b"]));
    assert_eq!(page(&store, &exact).await.0, expected(&["b"])[..9]);
    assert_eq!(exact.sort, ItemSort::Created);
}

/// Whole tenants and large ranges are walked from their newest on; small ranges are read and sorted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_of_much_are_found_by_index() {
    let h = Harness::postgres().await;
    // Plans are looked at as they are without statistics, and a worker that makes some may come at any time.
    h.sql("alter table items set (autovacuum_enabled = off)").await;
    h.sql(&fill()).await;
    for (prefix, by_time, by_place) in [
        // Ties are read to their end: here two times 700, and what a batch of the index has.
        (&[][..], 1..=1_500, 0..=100),
        (&["b"], 1..=1_500, 2_001..=2_300),
        (&["a", "3"], 0..=0, 1_000..=6_000),
    ] {
        for (index, range) in [("items_created", by_time), ("items_pkey", by_place)] {
            let read = added_by(&h, entries(index), async |storage| {
                let store = Store::of(storage, &h.caller).await;
                assert_eq!(page(&store, &newest(prefix, 10)).await.0, expected(prefix)[..10]);
            });
            let read = read.await;
            assert!(range.contains(&read), "{prefix:?}: {read} entries of {index}");
        }
    }
}
