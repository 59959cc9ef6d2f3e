//! Tests that erasing a subject removes all of its data, touches nobody else's, and can stop at any point.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::Error;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::tenants::audit::{Act, ActKind, EventQuery};
use threadkeep::domain::tenants::erasure::{Erasure, Erasures, Receipt};
use threadkeep::domain::threads::retention::Progress;
use threadkeep::domain::tokens::grants::Scoped;
use threadkeep::domain::tokens::key::Key;
use threadkeep::storage::tables::{Erase, TABLES};
use threadkeep::storage::{self, StorageConfig};

use crate::commands::Put;
use crate::content::list;
use crate::doctor::examine;
use crate::harness::{Harness, NEVER, caller_of, commit, config, masters, values};
use crate::packs::{check_store, grow, later, with_store};
use crate::subjects::{
    ANN, BOB, TENANT, check_gone, check_others, check_sound, commit_as, copy_as, dump, erase, fill,
    fill_others, key, rules, speaking_for, tables_with,
};

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
    assert!(traces.contains(&"items") && traces.contains(&"namespace_roots"), "{traces:?}");
    let readable = masters().is_none();
    assert_eq!(traces.contains(&"manifests"), readable, "small values can be seen: {traces:?}");
    assert!(traces.contains(&"audit_events"), "{traces:?}");
    fill_others(&h).await;
    let by_another = Act {
        actor: "issuer:login:nobody:else".into(),
        ..Act::of_operator(TENANT, ActKind::TokenMinted, "tok", 1)
    };
    h.storage.record_act(&by_another).await.unwrap();
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
    assert_eq!(receipt.items, 3, "{receipt:?}");
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
    fill(&h, BOB).await;
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
    let act = Act::of(&h.caller, ActKind::PolicyPut, "", 1);
    h.storage.put_policy(&h.caller, None, &rules(), &act).await.unwrap();
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
    let act = Act::of_operator("tenant-b", ActKind::KeyCreated, "", 1);
    h.storage.create_key(&Key { tenant: "tenant-b".into(), ..key(ANN) }, &act).await.unwrap();
    fill(&h, ANN).await;
    let before = dump(&h, "tenant-b").await;
    erase(&h.storage, ANN).await;
    check_gone(&h, ANN).await;
    assert_eq!(dump(&h, "tenant-b").await, before);
    let subject = Caller { subject: Some(ANN.into()), grants: scoped(), ..caller_of(TENANT) };
    let refused = Erasures::new(h.storage.clone(), Arc::new(Clock::System))
        .erase(&subject, "bob", |_| {})
        .await;
    assert!(matches!(refused, Err(Error::NotGranted(_))), "{refused:?}");
    // Counts, and no name.
    let acts = EventQuery { act: Some(ActKind::SubjectErased), limit: 9, ..EventQuery::default() };
    let acts = h.storage.list_events(TENANT, &acts).await.unwrap();
    let [act] = acts.as_slice() else { panic!("one erasure, and nothing refused: {acts:?}") };
    assert_eq!((act.object.as_str(), act.actor.as_str()), ("", h.caller.credential.as_str()));
    assert!(!act.details.contains("\"threads\":0,"), "{act:?}");
}

fn scoped() -> Grants {
    let scoped = Scoped::of_subject(ANN);
    Grants::Scoped(Arc::new(scoped))
}

/// Content that cannot be read can still be erased.
pub async fn damaged_content_goes_like_the_rest(h: Harness) {
    fill(&h, ANN).await;
    let bytes = |hex: &str| if h.is_sqlite() { format!("x'{hex}'") } else { format!("'\\x{hex}'") };
    for (table, column) in
        [("chunks", "body"), ("manifests", "parts"), ("checkpoints", "documents")]
    {
        h.sql(&format!("update {table} set {column} = {}", bytes("0205"))).await;
    }
    let receipt = erase(&h.storage, ANN).await;
    assert_eq!((receipt.threads, receipt.checkpoints), (3, 3));
    assert_eq!(tables_with(&h, ANN).await, Vec::<&str>::new());
    crate::content::check_empty(&h).await;
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

pub async fn the_objects_of_acts_forget_an_erased_subject(h: Harness) {
    let act = |object: &str, at| Act::of_operator(TENANT, ActKind::NamespaceSettingPut, object, at);
    let named = [r#"["eve@x"]"#, r#"["eve@x","below"]"#, "eve@x", "eve@x:thread", "eve@x/thread"];
    let others = [r#"["eve@xy"]"#, r#"["users","eve"]"#, "eve@xy", "another"];
    for (at, object) in named.iter().chain(&others).enumerate() {
        h.storage.record_act(&act(object, i64::try_from(at).unwrap())).await.unwrap();
    }
    erase(&h.storage, "eve@x").await;
    let texts = h
        .texts("select object from audit_events where act = 'namespace_setting_put' order by at")
        .await;
    let expected: Vec<&str> = named.iter().map(|_| "").chain(others).collect();
    assert_eq!(texts, expected, "what was done stays");
}
