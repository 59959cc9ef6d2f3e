//! Erasing a subject: nothing of it is left anywhere, nothing of anybody else is touched, and it can stop anywhere.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::doctor::State;
use threadkeep::domain::erasure::{Erasure, Erasures, Receipt};
use threadkeep::domain::key::Key;
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::retention::{Progress, ReportQuery, Rule, Rules};
use threadkeep::domain::storage::{CopyThread, DeleteThread, Storage};
use threadkeep::domain::thread::{LeaseRequest, ThreadQuery};
use threadkeep::storage::tables::{Erase, TABLES};
use threadkeep::storage::{self, StorageConfig};

use crate::commands::{Put, Writes};
use crate::content::list;
use crate::doctor::examine;
use crate::harness::{Harness, NEVER, caller_of, commit, config, pruning, thread_id, values};
use crate::packs::{check_store, grow, later, with_store};

const TENANT: &str = "tenant-a";
/// Long enough not to be in random bytes.
const ANN: &str = "ann-of-acme";
const BOB: &str = "bob-of-acme";

fn speaking_for(subject: Option<&str>) -> Caller {
    Caller { subject: subject.map(str::to_owned), ..Caller::of_tenant(TENANT) }
}

async fn commit_as(h: &Harness, subject: Option<&str>, thread: &str, put: Put) {
    let ops = vec![put.op()];
    let prepared = h.storage.prepare(&speaking_for(subject), commit(thread, ops), NEVER).await;
    h.queue.commit(prepared.unwrap()).await.unwrap();
}

async fn copy_as(h: &Harness, subject: Option<&str>, from: &str, to: &str) {
    let (source, target) = (thread_id(from), thread_id(to));
    let idempotency = Some((format!("copy to {to}"), [7; 32]));
    let request = CopyThread { source, target, idempotency };
    let copied = h.storage.copy_thread(&speaking_for(subject), &request).await.unwrap();
    assert!(copied > 0, "{from} to {to}");
}

fn small_value(subject: &str) -> String {
    format!("small value of {subject}")
}

/// A subject with a bit of everything: {s}-1 with large and small values, writes, a delta base, a policy, a report and a lease;
/// {s}-2, a copy of it; {s}-3; {s}-old, deleted before; a key; answers.
async fn fill(h: &Harness, s: &str) {
    let who = Some(s);
    let name = |part: &str| format!("{s}-{part}");
    let run = format!(r#"{{"run_id":"{s}-run","counters_since_delta_snapshot":{{"d":[1,1]}}}}"#);
    let first = Put::new("0").metadata(&run).sets("d", "1", "seed").sets("m", "1", &list(40));
    commit_as(h, who, &name("1"), first).await;
    let writes = Writes::new("0", "task").write(0, "d", "delta").write(1, "big", &list(50));
    h.commit(commit(&name("1"), vec![writes.op()])).await.unwrap();
    let metadata = r#"{"counters_since_delta_snapshot":{"d":[1,1]}}"#;
    let second = Put::new("1").parent("0").metadata(metadata).empties("d", "2");
    let second = second.sets("m", "2", &list(60)).sets("note", "1", &small_value(s));
    commit_as(h, who, &name("1"), second).await;
    h.storage.delete_for_runs(&h.caller, &[format!("{s}-run")]).await.unwrap();
    let writes = Writes::new("1", "task").write(0, "big", &list(50)).write(1, "w", &small_value(s));
    h.commit(commit(&name("1"), vec![writes.op()])).await.unwrap();
    copy_as(h, who, &name("1"), &name("2")).await;
    commit_as(h, who, &name("3"), Put::new("0").sets("m", "1", &list(30))).await;
    commit_as(h, who, &name("old"), Put::new("0").sets("m", "1", &list(20))).await;
    for part in ["1", "old"] {
        report_on(h, &name(part)).await;
    }
    let gone = DeleteThread { thread_id: thread_id(&name("old")), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &gone).await.unwrap();
    let holder = LeaseHolder::new(name("holder")).unwrap();
    let lease =
        LeaseRequest { thread_id: thread_id(&name("1")), holder, fence: None, ttl_seconds: 600 };
    h.storage.acquire_lease(&h.caller, &lease).await.unwrap();
    h.storage.create_key(&key(s)).await.unwrap();
}

fn key(subject: &str) -> Key {
    Key {
        key_id: format!("key_of_{subject}"),
        tenant: TENANT.into(),
        subject: Some(subject.to_owned()),
        hash: [1; 32],
        created_at: 1,
        revoked_at: None,
    }
}

fn rules() -> Rules {
    Rules {
        expire_after_seconds: None,
        keep_last: Some(50),
        older_than_seconds: None,
        keep_interrupted: true,
        dry_run: false,
    }
}

/// A policy of the thread, and a finished round of it.
async fn report_on(h: &Harness, thread: &str) {
    h.storage.put_policy(&h.caller, Some(&thread_id(thread)), &rules(), 1).await.unwrap();
    let claim = h.storage.claim_policy(2, i64::MAX / 2).await.unwrap().unwrap();
    assert_eq!(claim.thread_id.as_deref(), Some(thread));
    assert!(h.storage.finish_claim(&claim, 3).await.unwrap());
}

/// Every row of a tenant in every table, as lower-case text; bytes in hex.
async fn dump(h: &Harness, tenant: &str) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for table in TABLES {
        let name = table.name;
        let statement = if h.is_sqlite() {
            let columns = format!(
                "select 'quote(' || group_concat(name, ') || '' '' || quote(') || ')'
                 from pragma_table_info('{name}')"
            );
            let there =
                format!("select name from pragma_table_info('{name}') where name = 'tenant'");
            if h.texts(&there).await.is_empty() {
                continue;
            }
            let columns = h.texts(&columns).await.remove(0);
            format!("select lower({columns}) from {name} where tenant = '{tenant}'")
        } else if name == "schema_version" {
            continue;
        } else {
            format!("select lower(x::text) from {name} x where x.tenant = '{tenant}'")
        };
        rows.extend(h.texts(&statement).await.into_iter().map(|row| (name, row)));
    }
    rows
}

/// Tables with a text in them, as text or as bytes.
async fn tables_with(h: &Harness, text: &str) -> Vec<&'static str> {
    let bytes = hex::encode(text);
    let rows = dump(h, TENANT).await.into_iter();
    let found = rows.filter(|(_, row)| row.contains(text) || row.contains(&bytes));
    let mut tables: Vec<&str> = found.map(|(table, _)| table).collect();
    tables.dedup();
    tables
}

async fn erase(storage: &Arc<dyn Storage>, subject: &str) -> Receipt {
    let erasures = Erasures::new(Arc::clone(storage));
    erasures.erase(&caller_of(TENANT), subject, |_| {}).await.unwrap()
}

/// No row has a trace, and nothing that is asked shows one.
async fn check_gone(h: &Harness, s: &str) {
    assert_eq!(tables_with(h, s).await, Vec::<&str>::new(), "{s}");
    let query = ThreadQuery { limit: 1_000, ..ThreadQuery::default() };
    let threads = h.storage.list_threads(&h.caller, &query).await.unwrap();
    assert!(threads.iter().all(|it| it.owner.as_deref() != Some(s)), "{threads:?}");
    let views = h.list(crate::harness::everything()).await.views;
    assert!(views.iter().all(|it| !it.thread_id.starts_with(s)));
    for part in ["1", "2", "3", "old"] {
        let id = thread_id(&format!("{s}-{part}"));
        assert_eq!(h.storage.get_thread(&h.caller, &id).await.unwrap(), None);
        assert_eq!(h.storage.get_storage_use(&h.caller, &id).await.unwrap(), None);
        assert_eq!(h.storage.get_policy(&h.caller, Some(&id)).await.unwrap(), None);
        let reports = ReportQuery { thread_id: Some(id.clone()), after: None, limit: 10 };
        assert!(h.storage.list_reports(&h.caller, &reports).await.unwrap().is_empty());
        let found = h.found(id.as_str(), "", None, &["d"]).await;
        assert!(
            found.generation.is_none()
                && found.view.is_none()
                && h.all(id.as_str()).await.is_empty()
        );
        let pruned =
            h.storage.prune_threads(&h.caller, &pruning(&[id.as_str()], Rule::DELETE)).await;
        assert_eq!(pruned.unwrap().iter().map(|it| it.removed.checkpoints).sum::<i64>(), 0);
    }
    let keys = h.storage.list_keys(TENANT).await.unwrap();
    assert!(keys.iter().all(|it| it.subject.as_deref() != Some(s)));
    let active = h.storage.list_active_keys().await.unwrap();
    assert!(active.iter().all(|it| it.tenant != TENANT || it.subject.as_deref() != Some(s)));
}

async fn check_sound(h: &Harness) {
    let report = examine(h, false).await;
    assert!(report.is_sound(), "{report:?}");
    assert!(report.counts().all(|(state, _, _)| state == State::Checked), "{report:?}");
}

/// What others have, and how it reads.
async fn fill_others(h: &Harness) {
    fill(h, BOB).await;
    copy_as(h, Some(BOB), "ann-of-acme-3", "bob-copy").await;
    copy_as(h, None, "ann-of-acme-3", "nobodys-copy").await;
    commit_as(h, None, "nobodys", Put::new("0").sets("m", "1", &list(10))).await;
}

async fn check_others(h: &Harness) {
    for (thread, count) in
        [("bob-copy", 30), ("nobodys-copy", 30), ("nobodys", 10), ("bob-of-acme-3", 30)]
    {
        assert_eq!(values(&h.latest(thread).await.unwrap())["m"], list(count), "{thread}");
    }
    for thread in ["bob-of-acme-1", "bob-of-acme-2"] {
        let view = h.latest(thread).await.unwrap();
        assert_eq!(values(&view)["m"], list(60));
        assert_eq!(values(&view)["note"], small_value(BOB));
        let found = h.found(thread, "", None, &["d"]).await;
        assert!(found.history_channels.contains(&"d".to_owned()));
    }
}

pub async fn an_erased_subject_leaves_no_trace_and_others_keep_everything(h: Harness) {
    fill(&h, ANN).await;
    let traces = tables_with(&h, ANN).await;
    for table in
        ["keys", "threads", "thread_tombstones", "idempotency", "garbage", "retention_policies"]
    {
        let expected = table != "garbage";
        assert_eq!(traces.contains(&table), expected, "{table}: {traces:?}");
    }
    assert!(traces.contains(&"retention_reports"), "{traces:?}");
    assert!(traces.contains(&"manifests"), "small values can be seen: {traces:?}");
    fill_others(&h).await;
    let others = ["bob", "nobody"];
    let kept = |rows: Vec<(&'static str, String)>| -> Vec<(&str, String)> {
        let mut rows: Vec<_> =
            rows.into_iter().filter(|(_, row)| others.iter().any(|it| row.contains(it))).collect();
        rows.sort();
        rows
    };
    let before = kept(dump(&h, TENANT).await);
    let receipt = erase(&h.storage, ANN).await;
    let counted =
        |it: &Receipt| (it.keys, it.threads, it.checkpoints, it.delta_bases, it.tombstones);
    assert_eq!(counted(&receipt), (1, 3, 3, 2, 1), "{receipt:?}");
    assert_eq!(receipt.writes, 4, "{receipt:?}");
    let (policies, reports) = (receipt.retention_policies, receipt.retention_reports);
    assert_eq!((policies, reports, receipt.answers, receipt.packs), (1, 2, 1, 0), "{receipt:?}");
    assert!(
        receipt.values >= 3 && receipt.chunks > 10 && receipt.size_bytes > 30_000,
        "{receipt:?}"
    );
    check_gone(&h, ANN).await;
    assert_eq!(kept(dump(&h, TENANT).await), before, "rows of others changed");
    check_others(&h).await;
    check_sound(&h).await;
    assert_eq!(erase(&h.storage, ANN).await, Receipt::default(), "a second time");
    // A thread made again is a new one.
    commit_as(&h, Some(ANN), "ann-of-acme-1", Put::new("9").sets("m", "1", "new")).await;
    assert_eq!(h.all("ann-of-acme-1").await.len(), 1);
    let receipt = erase(&h.storage, BOB).await;
    assert_eq!((receipt.threads, receipt.keys), (4, 1));
    check_sound(&h).await;
}

pub async fn an_erasure_can_stop_after_any_slice(h: Harness) {
    // Names of one length, so that sizes are equal too.
    let first = "ann-of-acme-00x";
    fill(&h, first).await;
    let whole = erase(&h.storage, first).await;
    fill_others_alone(&h).await;
    for stop in 1.. {
        let s = format!("ann-of-acme-{stop:02}x");
        fill(&h, &s).await;
        let caller = caller_of(TENANT);
        let mut erasure = Erasure::begin(h.storage.as_ref(), &caller, &s).unwrap();
        let (mut removed, mut ended) = (Receipt::default(), false);
        for _ in 0..stop {
            match erasure.next().await.unwrap() {
                Some(slice) => removed += slice.removed,
                None => ended = true,
            }
        }
        let report = examine(&h, false).await;
        assert!(report.is_sound(), "after {stop} slices: {report:?}");
        // Another server, which remembers nothing.
        let other = StorageConfig { exclusive: false, ..config(h.url()) };
        let other = storage::open(&other).await.unwrap();
        removed += erase(&other, &s).await;
        assert_eq!(removed, whole, "stopped after {stop} slices");
        check_gone(&h, &s).await;
        assert_eq!(erase(&h.storage, &s).await, Receipt::default());
        if ended {
            assert!(stop > 6, "only {stop} slices");
            break;
        }
    }
    check_sound(&h).await;
    assert_eq!(values(&h.latest("bob-of-acme-3").await.unwrap())["m"], list(30));
}

async fn fill_others_alone(h: &Harness) {
    fill(h, BOB).await;
}

/// As when the process dies: in the middle of a slice.
pub async fn an_erasure_can_be_cut_short_at_any_moment(h: Harness) {
    for at in 0..12_u64 {
        let s = format!("ann-of-acme-{at}x");
        fill(&h, &s).await;
        let short = Duration::from_micros(300 * at * at);
        let _ = tokio::time::timeout(short, erase(&h.storage, &s)).await;
        erase(&h.storage, &s).await;
        check_gone(&h, &s).await;
    }
    check_sound(&h).await;
    crate::content::check_empty(&h).await;
}

pub async fn a_subject_with_many_threads_goes_in_slices(h: Harness) {
    for at in 0..230 {
        let put = Put::new("0").sets("m", "1", "x");
        commit_as(&h, Some(ANN), &format!("ann-{at:03}"), put).await;
    }
    commit_as(&h, Some(BOB), "bob", Put::new("0").sets("m", "1", "x")).await;
    let caller = caller_of(TENANT);
    let mut erasure = Erasure::begin(h.storage.as_ref(), &caller, ANN).unwrap();
    let (mut cut, mut slices) = (0, 0);
    while let Some(slice) = erasure.next().await.unwrap() {
        assert!(slice.thread_ids.len() <= 100);
        slices += u32::from(!slice.thread_ids.is_empty());
        cut += slice.thread_ids.len();
    }
    assert_eq!(cut, 230);
    assert!(slices >= 3, "{slices} slices");
    let left = h.texts("select thread_id from threads").await;
    assert_eq!(left, ["bob"]);
    check_sound(&h).await;
}

/// A reader of the round's place would meet a name: the place moves to the thread before.
pub async fn a_round_in_progress_forgets_where_it_stood(h: Harness) {
    for (who, thread) in [(BOB, "a-bob"), (ANN, "b-ann-of-acme"), (BOB, "c-bob")] {
        commit_as(&h, Some(who), thread, Put::new("0").sets("m", "1", "x")).await;
    }
    h.storage.put_policy(&h.caller, None, &rules(), 1).await.unwrap();
    let claim = h.storage.claim_policy(2, 3).await.unwrap().unwrap();
    let done = Progress { last_thread_id: "b-ann-of-acme".into(), ..Default::default() };
    assert!(h.storage.advance_claim(&claim, &done, 4).await.unwrap());
    assert_eq!(tables_with(&h, "b-ann-of-acme").await.last(), Some(&"retention_policies"));
    erase(&h.storage, ANN).await;
    assert_eq!(tables_with(&h, ANN).await, Vec::<&str>::new());
    let place = h.texts("select last_thread_id from retention_policies").await;
    assert_eq!(place, ["a-bob"]);
}

pub async fn other_tenants_keep_a_subject_of_the_same_name(h: Harness) {
    let other = Caller { subject: Some(ANN.into()), ..Caller::of_tenant("tenant-b") };
    let put = commit("ann-of-acme-1", vec![Put::new("0").sets("m", "1", &list(30)).op()]);
    let prepared = h.storage.prepare(&other, put, NEVER).await.unwrap();
    h.queue.commit(prepared).await.unwrap();
    h.storage.create_key(&Key { tenant: "tenant-b".into(), ..key(ANN) }).await.unwrap();
    fill(&h, ANN).await;
    let before = dump(&h, "tenant-b").await;
    erase(&h.storage, ANN).await;
    check_gone(&h, ANN).await;
    assert_eq!(dump(&h, "tenant-b").await, before);
    let subject = Caller { subject: Some(ANN.into()), grants: scoped(), ..caller_of(TENANT) };
    let refused = Erasures::new(Arc::clone(&h.storage)).erase(&subject, "bob", |_| {}).await;
    assert!(matches!(refused, Err(threadkeep::domain::Error::NotGranted(_))), "{refused:?}");
}

fn scoped() -> threadkeep::domain::caller::Grants {
    let scoped = threadkeep::domain::grants::Scoped::of_subject(ANN);
    threadkeep::domain::caller::Grants::Scoped(Arc::new(scoped))
}

/// What lies in the object store goes at once, though objects are else kept for an hour.
pub async fn packs_of_an_erased_subject_go_at_once(h: Harness) {
    let (mut h, store) = with_store(h).await;
    for who in [ANN, BOB] {
        h.caller = speaking_for(Some(who));
        grow(&h, &format!("{who}-t"), 1, 25).await;
    }
    h.caller = caller_of(TENANT);
    copy_as(&h, Some(ANN), "ann-of-acme-t", "ann-of-acme-copy").await;
    h.storage.move_content(later(2)).await.unwrap();
    let all = store.objects().await.len();
    let bobs = "select count(*) from packs p join threads t on t.scope_id = p.scope_id
        and t.tenant = p.tenant where t.owner = 'bob-of-acme'";
    let bobs = usize::try_from(h.count(bobs).await).unwrap();
    assert!(bobs > 0 && all > bobs, "{all} objects, {bobs} of bob");
    let receipt = erase(&h.storage, ANN).await;
    assert_eq!((receipt.threads, receipt.packs), (2, (all - bobs) as u64), "{receipt:?}");
    check_store(&h, &store).await;
    h.storage.move_content(later(0)).await.unwrap();
    assert_eq!(store.objects().await.len(), bobs);
    assert_eq!(h.count("select count(*) from object_deletions").await, 0);
    assert_eq!(tables_with(&h, ANN).await, Vec::<&str>::new());
    crate::packs::check_grown(&h, "bob-of-acme-t", 25).await;
    check_sound(&h).await;
}

/// What an erasure leaves alone says why, and the rest is looked at by the tests above.
#[test]
fn every_table_says_what_an_erasure_does() {
    for table in TABLES {
        if let Erase::Never(why) = table.erase {
            assert!(why.len() > 10, "{}", table.name);
        }
    }
}
