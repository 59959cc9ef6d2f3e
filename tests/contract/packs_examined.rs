//! Tests examinations of packed content, and that it counts as before in reports of storage and of removals.

use std::collections::BTreeSet;
use std::sync::Arc;

use object_store::PutPayload;
use object_store::path::Path;
use threadkeep::domain::Error;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::doctor::Noun::{Chunks, Packs, Values};
use threadkeep::domain::doctor::State::{
    Checked, Damaged, Missing, Moved, Repaired, Unreadable, WrongCounter,
};
use threadkeep::domain::doctor::{Examine, Noun, Report, State};
use threadkeep::domain::storage::Storage;
use threadkeep::domain::threads::retention::{PruneRequest, Pruned, Rule};
use threadkeep::storage::{self, StorageConfig};

use crate::commands::{Put, Writes};
use crate::delta::counting;
use crate::harness::{Harness, commit, config, pruning, thread_id};
use crate::packs::{PLACED, check_store, grow, large, later, with_store};

async fn examine(storage: &Arc<dyn Storage>, fix: bool) -> Report {
    let request = Examine { tenant: None, fix, now: later(9) };
    storage.examine(&request).await.unwrap()
}

/// What was found, without what was found in order.
fn found(report: &Report) -> BTreeSet<(State, Noun)> {
    let found = report.counts().filter(|(state, _, _)| *state != Checked);
    found.map(|(state, noun, _)| (state, noun)).collect()
}

async fn counted(h: &Harness, text: &str) -> u64 {
    h.count(text).await.unsigned_abs()
}

/// The packed thread `t`, and a server beside that has no store.
async fn packed(h: &Harness) -> Arc<dyn Storage> {
    grow(h, "t", 1, 30).await;
    h.storage.move_content(later(2)).await.unwrap();
    assert!(h.count(PLACED).await > 20);
    storage::open(&StorageConfig { exclusive: false, ..config(h.url()) }).await.unwrap()
}

pub async fn packed_content_is_read_where_the_store_is_given(h: Harness) {
    let (h, store) = with_store(h).await;
    let without = packed(&h).await;
    let report = examine(&h.storage, false).await;
    assert_eq!(found(&report), BTreeSet::new(), "{report:?}");
    let tally = |report: &Report, state, noun| report.tally(state, noun).count;
    let (packs, chunks) = ("select count(*) from packs", "select count(*) from chunks");
    assert_eq!(tally(&report, Checked, Packs), counted(&h, packs).await);
    assert_eq!(tally(&report, Checked, Chunks), counted(&h, chunks).await);
    let values = tally(&report, Checked, Values);
    assert_eq!(values, counted(&h, "select count(*) from manifests").await);
    // Without the store it is counted and nothing is said against it.
    let report = examine(&without, false).await;
    let moved = BTreeSet::from([(Moved, Packs), (Moved, Chunks), (Moved, Values)]);
    assert_eq!(found(&report), moved, "{report:?}");
    assert!(report.is_sound());
    assert_eq!(tally(&report, Moved, Chunks), counted(&h, PLACED).await);
    assert_eq!(tally(&report, Moved, Packs), counted(&h, packs).await);
    assert_eq!(tally(&report, Moved, Values) + tally(&report, Checked, Values), values);
    let live = counted(&h, "select cast(sum(live_bytes) as bigint) from packs").await;
    assert_eq!(report.tally(Moved, Chunks).bytes, live);
    store.down.store(true, std::sync::atomic::Ordering::SeqCst);
    let request = Examine { tenant: None, fix: false, now: later(9) };
    assert!(h.storage.examine(&request).await.unwrap_err().is_retryable(), "nothing is known then");
}

pub async fn damage_in_the_store_is_found(h: Harness) {
    let (h, store) = with_store(h).await;
    packed(&h).await;
    let objects: Vec<(Path, PutPayload)> = store.remove_all().await;
    // None of the packs is there: it is another store, and nothing is said of what is stored.
    for fix in [false, true] {
        let request = Examine { tenant: None, fix, now: later(9) };
        let refused = h.storage.examine(&request).await.unwrap_err();
        let Error::Invalid { field, .. } = &refused else { panic!("{refused}") };
        assert_eq!(field, "object-store-url");
        assert!(refused.to_string().contains("was the bucket, the prefix or the folder changed?"));
    }
    store.put_back(objects[1..].to_vec()).await;
    let report = examine(&h.storage, true).await;
    assert_eq!(found(&report), BTreeSet::from([(Missing, Packs), (Unreadable, Values)]));
    assert_eq!(report.tally(Missing, Packs).count, 1);
    store.put_back(objects.clone()).await;
    assert_eq!(found(&examine(&h.storage, false).await), BTreeSet::new());
    let bytes =
        |payload: &PutPayload| -> Vec<u8> { payload.iter().flat_map(|it| it.to_vec()).collect() };
    // The last chunk of the first pack is cut.
    let (path, whole) = objects[0].clone();
    let mut cut = bytes(&whole);
    cut.pop();
    store.put_back(vec![(path.clone(), cut.into())]).await;
    let report = examine(&h.storage, false).await;
    let damage = [(Damaged, Packs), (Damaged, Chunks), (Unreadable, Values)];
    assert_eq!(found(&report), BTreeSet::from(damage), "{report:?}");
    assert_eq!((report.tally(Damaged, Packs).count, report.tally(Damaged, Chunks).count), (1, 1));
    assert!(!report.is_sound());
    // One flipped byte is one chunk.
    let mut flipped = bytes(&whole);
    *flipped.last_mut().unwrap() ^= 1;
    store.put_back(vec![(path.clone(), flipped.into())]).await;
    let report = examine(&h.storage, false).await;
    assert_eq!(
        found(&report),
        BTreeSet::from(damage[1..].try_into().map(|it: [_; 2]| it).unwrap())
    );
    assert_eq!(report.tally(Damaged, Chunks).count, 1);
    store.put_back(vec![(path, whole)]).await;
    assert_eq!(found(&examine(&h.storage, false).await), BTreeSet::new());
}

pub async fn counters_of_packs_are_found_and_corrected(h: Harness) {
    let (h, store) = with_store(h).await;
    packed(&h).await;
    let live = "select cast(sum(live_bytes) as bigint) from packs";
    let before = h.count(live).await;
    h.sql("update packs set live_bytes = live_bytes + 1").await;
    let packs = counted(&h, "select count(*) from packs").await;
    let report = examine(&h.storage, false).await;
    assert_eq!(found(&report), BTreeSet::from([(WrongCounter, Packs)]), "{report:?}");
    assert_eq!(report.tally(WrongCounter, Packs).count, packs);
    let report = examine(&h.storage, true).await;
    assert_eq!(found(&report), BTreeSet::from([(Repaired, Packs)]), "{report:?}");
    assert_eq!(h.count(live).await, before);
    // An orphan in a pack goes, and the pack counts what is left. It has another chunk's content: that is damage.
    let name = if h.is_sqlite() { "zeroblob(12)" } else { "decode(repeat('00', 12), 'hex')" };
    h.sql(&format!(
        "insert into chunks (tenant, scope_id, name, body)
         select tenant, scope_id, {name}, body from chunks where length(body) = 25 limit 1"
    ))
    .await;
    examine(&h.storage, true).await;
    assert_eq!(h.count(live).await, before);
    check_store(&h, &store).await;
    assert_eq!(found(&examine(&h.storage, false).await), BTreeSet::new());
    h.sql("delete from packs").await;
    let report = examine(&h.storage, false).await;
    assert_eq!(found(&report), BTreeSet::from([(Missing, Packs)]), "{report:?}");
    assert_eq!(report.tally(Missing, Packs).count, packs);
}

async fn prune(h: &Harness, rule: Rule, dry_run: bool) -> Pruned {
    let request = PruneRequest { dry_run, ..pruning(&["t"], rule) };
    h.storage.prune_threads(&h.caller, &request).await.unwrap()[0]
}

/// Bases that a prune writes are made of what lies in packs: what they take is known only from their content.
pub async fn packed_content_counts_as_much_as_before(h: Harness) {
    let (h, store) = with_store(h).await;
    for at in 1..=12_usize {
        let (id, version) = (format!("{at:04}"), at.to_string());
        let put = Put::new(&id).metadata(&counting(&["m"])).parent(&format!("{:04}", at - 1));
        let put = match at % 5 {
            1 => put.sets("m", &version, &large(20 + at)),
            _ => put.empties("m", &version),
        };
        let write = Writes::new(&id, "task").write(0, "m", &large(30 + at));
        h.commit(commit("t", vec![put.op(), write.op()])).await.unwrap();
    }
    let stored = async || {
        let caller = Caller::of_tenant("tenant-a");
        h.storage.get_storage_use(&caller, &thread_id("t")).await.unwrap().unwrap()
    };
    let rules = [Rule::keep(3, None), Rule::KEEP_LATEST, Rule::DELETE];
    let mut before = Vec::new();
    for rule in rules {
        before.push(prune(&h, rule, true).await);
    }
    let taken = stored().await;
    h.storage.move_content(later(2)).await.unwrap();
    assert!(h.count(PLACED).await > 20);
    assert_eq!(stored().await, taken);
    for (rule, before) in rules.into_iter().zip(before) {
        assert!(before.removed.checkpoints > 0 && before.removed.stored_bytes != 0);
        assert_eq!(prune(&h, rule, true).await, before, "{rule:?}");
    }
    for rule in rules {
        let would = prune(&h, rule, true).await;
        assert_eq!(prune(&h, rule, false).await, would, "{rule:?}");
        check_store(&h, &store).await;
    }
}
