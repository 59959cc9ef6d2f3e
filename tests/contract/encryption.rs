//! Tests that with encryption no readable content is stored, and that moved or planted rows are not read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aho_corasick::AhoCorasick;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{ListQuery, View};
use threadkeep::domain::checkpoints::service::write;
use threadkeep::domain::doctor::Examine;
use threadkeep::domain::store::item::Item;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::CopyThread;
use threadkeep::domain::{Error, Result};

use crate::commands::{Put, Writes};
use crate::harness::{
    Harness, NEVER, caller_of, commit, everything, pruning, target, thread_id, value,
};
use crate::packs::{PLACED, later};
use crate::store::{Store, keys, search};
use crate::thread_details::details;

const ITEMS: &[&str] = &["remembered"];

/// Letters that no compression shortens; they stand in values as they are.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b"0123456789abcdef"[usize::try_from(state >> 60).unwrap()])
    };
    (0..length).map(|_| next()).collect()
}

/// Bytes that no compression shortens.
pub fn marker(seed: u64) -> Vec<u8> {
    hex::decode(noise(seed, 48)).unwrap()
}

pub fn secret(seed: u64) -> threadkeep::domain::checkpoints::checkpoint::Value {
    value("msgpack", marker(seed))
}

/// A value of many chunks, with markers in it.
pub fn large(seeds: std::ops::Range<u64>) -> threadkeep::domain::checkpoints::checkpoint::Value {
    let pieces = seeds.map(|seed| [marker(seed), marker(seed ^ 0xffff)].concat().repeat(8));
    value("msgpack", pieces.collect::<Vec<_>>().concat())
}

/// Markers of all values, writes, chunks and bases of the story.
pub fn markers(base: u64) -> Vec<Vec<u8>> {
    (1..12).chain(100..160).map(|it| marker(base + it)).collect()
}

/// Everything that content goes through, with markers that no other test has: threads, writes, copies of both kinds, a prune with bases, packs.
pub async fn tell(h: &Harness, base: u64) {
    let run = r#"{"run_id":"r0","counters_since_delta_snapshot":{"m":[1,1]},"source":"loop"}"#;
    let put = |id: &str| Put::new(id).metadata(run);
    h.put(put("0").sets_value("m", "1", secret(base + 1)).sets_value("s", "1", secret(base + 2)))
        .await;
    h.write(Writes::new("0", "task").write_value(0, "m", secret(base + 3))).await;
    h.put(put("1").parent("0").empties("m", "2").carries("s", "1")).await;
    h.write(Writes::new("1", "task").write_value(0, "m", secret(base + 4)).write_value(
        -1,
        "e",
        secret(base + 5),
    ))
    .await;
    let put = put("2").parent("1").empties("m", "3").carries("s", "1");
    h.put(put.sets_value("large", "2", large(base + 100..base + 160))).await;
    h.write(Writes::new("2", "t").write_value(0, "a", secret(base + 6)).write_value(
        1,
        "b",
        large(base + 100..base + 130),
    ))
    .await;
    let metadata = format!(r#"{{"secret":"{}"}}"#, hex::encode(marker(base + 9)));
    details(h, "t", &hex::encode(marker(base + 10)), &metadata).await;
    let shared = CopyThread {
        source: thread_id("t"),
        target: thread_id("shared"),
        idempotency: None,
        full: None,
    };
    h.storage.copy_thread(&h.caller, &shared).await.unwrap();
    let owned = CopyThread { target: thread_id("owned"), ..shared };
    let owner = Caller { subject: Some("ann".into()), ..h.caller.clone() };
    h.storage.copy_thread(&owner, &owned).await.unwrap();
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    h.storage.move_content(later(2)).await.unwrap();
    let late =
        Put::new("3").parent("2").carries("large", "2").sets_value("late", "1", secret(base + 7));
    h.put(late).await;
    let store = Store::on(h).await;
    let document = |seeds: std::ops::Range<u64>| {
        let fields = seeds.map(|seed| format!("\"f{seed}\":\"{}\"", hex::encode(marker(seed))));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    store.put(ITEMS, "small", &document(base + 8..base + 12)).await;
    store.put(ITEMS, "large", &document(base + 100..base + 900)).await;
}

/// What the story reads back to.
pub async fn told(h: &Harness, base: u64) -> (Vec<Vec<View>>, Vec<Item>) {
    let store = Store::on(h).await;
    // The filter looks into the values.
    let wanted = hex::encode(marker(base + 8));
    let found = store.search(search(ITEMS, &format!("{{\"f{}\":\"{wanted}\"}}", base + 8))).await;
    assert_eq!(keys(&found.items), ["small"]);
    let items = store.scan(search(ITEMS, "{}")).await;
    assert_eq!(items.len(), 2);
    let mut all = Vec::new();
    for thread in ["t", "shared", "owned"] {
        let shown = h.storage.get_thread(&h.caller, &thread_id(thread)).await.unwrap().unwrap();
        assert_eq!(shown.details.title, Some(hex::encode(marker(base + 10))), "{thread}");
        all.push(h.all(thread).await);
    }
    let target = target("t", "", Some("2"));
    let history = h.storage.get_history(&h.caller, &target, &["m".into()]).await.unwrap().unwrap();
    assert_eq!(history.bases.len(), 1, "the prune left a base");
    assert!(history.bases[0].writes.iter().any(|(_, it)| it.data == marker(base + 3)));
    (all, items)
}

/// How many of the markers are in some bytes, as they are or as hexadecimal digits.
pub fn count_in(place: &[u8], markers: &[Vec<u8>]) -> usize {
    let forms = markers.iter().flat_map(|marker| {
        let digits = hex::encode(marker);
        [marker.clone(), digits.to_uppercase().into_bytes(), digits.into_bytes()]
    });
    let search = AhoCorasick::new(forms).unwrap();
    let found: BTreeSet<usize> =
        search.find_iter(place).map(|it| it.pattern().as_usize() / 3).collect();
    found.len()
}

/// Files that were written since.
fn files_in(folder: &Path, since: SystemTime, found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files_in(&path, since, found),
            // A file that goes meanwhile holds nothing any more.
            path => {
                let modified = entry.metadata().and_then(|it| it.modified());
                found.extend(
                    modified.and_then(
                        |it| {
                            if it < since { Ok(Vec::new()) } else { fs::read(path) }
                        },
                    ),
                );
            }
        }
    }
}

/// How many of the markers are found in tables, files and objects.
async fn found(h: &Harness, objects: &Path, (base, since): (u64, SystemTime)) -> usize {
    let mut places = Vec::new();
    for table in h.tables().await {
        places.push(h.dump(&table).await.into_bytes());
    }
    let files = h.files().await;
    let of_database = if h.is_sqlite() {
        vec![files]
    } else {
        let name =
            h.count("select oid::bigint from pg_database where datname = current_database()");
        vec![files.join("base").join(name.await.to_string()), files.join("pg_wal")]
    };
    for folder in of_database.iter().map(PathBuf::as_path).chain([objects]) {
        let before = places.len();
        files_in(folder, since, &mut places);
        assert!(places.len() > before, "nothing in {}", folder.display());
    }
    count_in(&places.concat(), &markers(base))
}

/// Sealed things that say of themselves that they are not encrypted.
async fn plain_envelopes(h: &Harness) -> i64 {
    let mut count = 0;
    for (table, column, prefix) in [
        ("checkpoints", "documents", 8),
        ("delta_bases", "document", 20),
        ("manifests", "body", 0),
        ("writes", "body", 0),
        ("items", "body", 0),
    ] {
        assert!(h.count(&format!("select count(*) from {table}")).await > 0, "{table}");
        let key_length = if h.is_sqlite() {
            format!("substr(hex({column}), {}, 2) = '00'", 2 * (prefix + 2) + 1)
        } else {
            format!("get_byte({column}, {}) = 0", prefix + 2)
        };
        count += h.count(&format!("select count(*) from {table} where {key_length}")).await;
    }
    count
}

fn folder_store() -> (tempfile::TempDir, Arc<dyn ObjectStore>) {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    (folder, Arc::new(store))
}

pub async fn what_is_stored_shows_nothing_of_what_was_said(h: Harness) {
    let (since, (folder, store)) = (SystemTime::now() - Duration::from_secs(2), folder_store());
    let h = h.encrypting(Some(store)).await;
    let base = rand::random::<u32>().into();
    tell(&h, base).await;
    assert!(h.count(PLACED).await > 10);
    told(&h, base).await;
    assert_eq!(found(&h, folder.path(), (base, since)).await, 0);
    assert_eq!(plain_envelopes(&h).await, 0);
    // The keys neither: a wrapped one has 64 bytes and what wraps it.
    assert_eq!(h.count("select cast(max(length(secret)) as bigint) from tenants").await, 0);
    // What stays readable is what docs/operate/encryption.md says.
    for (table, name) in
        [("threads", "shared"), ("writes", "task"), ("checkpoints", "r0"), ("items", ITEMS[0])]
    {
        let shown = h.dump(table).await;
        let digits = hex::encode(name);
        assert!(shown.contains(name) || shown.to_lowercase().contains(&digits), "{table}");
    }
}

/// The search would find them.
pub async fn without_encryption_the_search_finds_what_was_said(h: Harness) {
    if crate::harness::masters().is_some() {
        return;
    }
    let (since, (folder, store)) = (SystemTime::now() - Duration::from_secs(2), folder_store());
    let h = h.with_objects(store).await;
    let base = rand::random::<u32>().into();
    tell(&h, base).await;
    let found = found(&h, folder.path(), (base, since)).await;
    // Of 71. Where chunks are cut is random, and what is cut in two is not found: 59 to 71 were.
    assert!(found > 45, "{found}");
    assert!(plain_envelopes(&h).await > 10);
}

pub async fn read(h: &Harness, caller: &Caller, thread: &str) -> Vec<Result<Vec<View>>> {
    let get = h.storage.get_checkpoint(caller, &target(thread, "", None), &["m".into()]).await;
    let query = ListQuery { thread_id: Some(thread_id(thread)), ..everything() };
    let list = h.storage.list_checkpoints(caller, &query).await;
    vec![get.map(|found| found.view.into_iter().collect()), list.map(|page| page.views)]
}

async fn all_are_damage(h: &Harness, caller: &Caller, thread: &str, what: &str) {
    for result in read(h, caller, thread).await {
        let error = result.expect_err(what);
        assert!(matches!(error, Error::Integrity(_)), "{what}: {error}");
    }
}

pub async fn a_row_that_was_moved_does_not_open(h: Harness) {
    let h = h.encrypting(None).await;
    let other = caller_of("tenant-b");
    for (caller, thread, seed) in [(&h.caller, "t", 1), (&h.caller, "u", 2), (&other, "t", 3)] {
        // Everything is of equal length and shape, and ids are the same.
        let put = Put::new("1").sets_value("a", "1", secret(seed)).sets_value(
            "b",
            "1",
            secret(seed + 10),
        );
        let group = Writes::new("1", "task").write_value(0, "w", secret(seed)).write_value(
            1,
            "w",
            secret(seed + 10),
        );
        let ops = commit(thread, vec![put.op(), group.op()]);
        write(&*h.storage, &h.queue, caller, &ops, NEVER).await.unwrap();
    }
    let key = |tenant: &str, thread: &str, column: &str| {
        format!(
            "(select {column} from threads where tenant = '{tenant}' and thread_id = '{thread}')"
        )
    };
    let mine = |column| key("tenant-a", "t", column);
    let foreign =
        [key("tenant-a", "u", "scope_id"), key("tenant-b", "t", "scope_id"), mine("scope_id")];
    let foreign_keys = [key("tenant-a", "u", "thread_key"), key("tenant-b", "t", "thread_key")];
    let value = |scope: &str, no: u32| {
        format!("from manifests o where o.scope_id = {scope} and o.no = {no}")
    };
    let mut moves = Vec::new();
    for scope in &foreign {
        // Another row as a whole: only what is bound can tell.
        let no = if *scope == mine("scope_id") { 2 } else { 1 };
        let from = value(scope, no);
        let set = ["tag", "size_bytes", "digest", "body"]
            .map(|it| format!("{it} = (select o.{it} {from})"));
        moves.push((
            "manifests",
            set.join(", "),
            format!("scope_id = {} and no = 1", mine("scope_id")),
        ));
        let set = format!("body = (select o.body {from})");
        moves.push(("manifests", set, format!("scope_id = {} and no = 1", mine("scope_id"))));
    }
    for thread in &foreign_keys {
        let set = format!(
            "documents = (select o.documents from checkpoints o where o.thread_key = {thread})"
        );
        moves.push(("checkpoints", set, format!("thread_key = {}", mine("thread_key"))));
    }
    for (thread, idx) in foreign_keys.iter().map(|it| (it, 0)).chain([(&mine("thread_key"), 1)]) {
        let from = format!("from writes o where o.thread_key = {thread} and o.idx = {idx}");
        let set = ["tag", "size_bytes", "digest", "body"]
            .map(|it| format!("{it} = (select o.{it} {from})"));
        moves.push((
            "writes",
            set.join(", "),
            format!("thread_key = {} and idx = 0", mine("thread_key")),
        ));
    }
    assert_eq!(moves.len(), 11);
    for (table, set, rows) in moves {
        let saved = format!("create table saved as select * from {table} where {rows}");
        h.sql(&format!("{saved}; update {table} set {set} where {rows}")).await;
        all_are_damage(&h, &h.caller, "t", &set).await;
        let report =
            h.storage.examine(&Examine { tenant: None, fix: false, now: 0 }).await.unwrap();
        assert!(!report.is_sound(), "the doctor sees {set}");
        h.sql(&format!("delete from {table} where {rows}; insert into {table} select * from saved; drop table saved"))
            .await;
        assert!(read(&h, &h.caller, "t").await.iter().all(Result::is_ok), "{set}");
    }
    // Numbers in a map are not sealed, what they lead to is.
    let swapped = if h.is_sqlite() {
        "map = unhex(substr(hex(map), 1, 32) || substr(hex(map), 73, 8) || substr(hex(map), 41, 32) \
            || substr(hex(map), 33, 8))"
    } else {
        "value_nos = array[value_nos[2], value_nos[1]]"
    };
    let of_t = format!("thread_key = {}", mine("thread_key"));
    h.sql(&format!("update checkpoints set {swapped} where {of_t}")).await;
    all_are_damage(&h, &h.caller, "t", "a map").await;
}

pub async fn a_planted_plain_row_is_refused(h: Harness) {
    let h = h.encrypting(None).await;
    let put = Put::new("1").sets_value("a", "1", secret(1)).sets_value("l", "1", large(100..120));
    h.put(put).await;
    h.write(Writes::new("1", "task").write_value(0, "w", secret(2))).await;
    let sqlite = h.is_sqlite();
    let concat = |prefix: &str, rest: &str| {
        if sqlite {
            return format!("unhex(hex({prefix}) || hex({rest}))");
        }
        format!("{prefix} || {rest}")
    };
    let plain = if sqlite { "x'010000'" } else { "'\\x010000'::bytea" };
    let bytes = hex::encode(marker(1));
    let bytes = if sqlite { format!("x'{bytes}'") } else { format!("'\\x{bytes}'::bytea") };
    let envelope = concat(plain, &bytes);
    let documents = concat("substr(documents, 1, 8)", &envelope);
    for (table, column, planted, rows) in [
        ("manifests", "body", envelope.as_str(), "parts is null"),
        ("manifests", "body", &envelope, "parts is not null"),
        ("writes", "body", &envelope, "idx = 0"),
        ("checkpoints", "documents", &documents, "checkpoint_id = '1'"),
        ("chunks", "body", &envelope, "length(body) > 60"),
    ] {
        let saved = format!("create table saved as select * from {table} where {rows}");
        h.sql(&format!("{saved}; update {table} set {column} = {planted} where {rows}")).await;
        all_are_damage(&h, &h.caller, "t", table).await;
        let mend = format!("delete from {table} where {column} = {planted}");
        h.sql(&format!("{mend}; insert into {table} select * from saved; drop table saved")).await;
        assert!(read(&h, &h.caller, "t").await.iter().all(Result::is_ok), "{table}");
    }
}
