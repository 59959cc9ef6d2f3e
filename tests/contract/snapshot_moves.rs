//! Tests restores into other names and for other owners: the data is complete under the new name. Nothing is shared or changed that must
//! not be.

use std::sync::Arc;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::sessions::change::Step;
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::restore::{Chosen, Restore, RestoreSession};
use threadkeep::domain::snapshots::storage::ListSnapshots;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::store::vector::Metric;
use threadkeep::domain::{Conflict, Error, Result};

use crate::contents::{Files, noise};
use crate::granted_callers;
use crate::harness::{Harness, masters};
use crate::item_vectors::{near, put_near, scores};
use crate::item_words::{declare as declare_words, finding, walk};
use crate::session_calls::{self as sessions, all_of_kind, append, entry, name, put};
use crate::snapshot_calls::{Desk, check_sound, in_place, moved, of};
use crate::snapshot_items::{furnish, seen, taking};
use crate::snapshot_sessions::{seen as seen_of, taking as taking_sessions};
use crate::store::{Store, keys, scope};

/// Walks over words begin when every server must have heard of them.
const WALKS_BEGIN: i64 = 60_000_000;

/// Restores beside puts.
const ROUNDS: u64 = 8;
const PUTS: u64 = 12;

fn conflict<T: std::fmt::Debug>(done: Result<T>) -> Conflict {
    match done.unwrap_err() {
        Error::Conflict(it) => it,
        other => panic!("{other}"),
    }
}

async fn delete_all_snapshots(h: &Harness, desk: &Desk) {
    let all = ListSnapshots { limit: 99, ..Default::default() };
    for snapshot in desk.snapshots.list(&h.caller, all).await.unwrap().snapshots {
        desk.delete(h, &snapshot.id).await;
    }
}

pub async fn a_namespace_goes_into_another(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    furnish(&store, "a").await;
    furnish(&store, "ab").await;
    if masters().is_none() {
        store.try_put(put_near(&["a"], "near", "{}", &[&[1.0, 0.0]])).await.unwrap();
    }
    let then = seen(&store, &["a"]).await;
    desk.take(&h.caller, taking("s", &[&["a"]])).await.unwrap();
    store.put(&["a"], "small", r#"{"n":2}"#).await;
    store.put(&["x"], "beside", "{}").await;
    let later = seen(&store, &["a"]).await;
    let request = moved("s", &[(&["a"], Some(&["x", "y"]))]);
    let would = Restore { dry_run: true, ..request.clone() };
    let would = desk.restore(&h.caller, &would).await.unwrap();
    assert!(seen(&store, &["x", "y"]).await.is_empty(), "a dry run changes nothing");
    let done = desk.restore(&h.caller, &request).await.unwrap();
    let there: Vec<String> = seen(&store, &["x", "y"])
        .await
        .iter()
        .map(|it| it.replace(r#""x", "y""#, r#""a""#))
        .collect();
    assert_eq!(there, then);
    assert_eq!(seen(&store, &["a"]).await, later, "where it came from nothing changes");
    assert!(store.get(&["x"], "beside").await.is_some());
    assert_eq!((would.namespaces, done.safety_snapshot_id), (done.namespaces.clone(), None));
    let counts = &done.namespaces[0];
    assert_eq!(
        (counts.namespace.clone(), counts.into.clone()),
        (vec!["a".into()], vec!["x".into(), "y".into()])
    );
    assert_eq!(counts.written, i64::try_from(then.len()).unwrap());
    if masters().is_none() {
        let page = store.search(near(&["x", "y"], "{}", &[1.0, 0.0], Metric::Cosine)).await;
        assert_eq!(scores(&page.items)[0], ("near".to_owned(), Some(1.0)));
    }
    // There must be nothing, below it neither.
    for into in [&["x", "y"][..], &["x"]] {
        let refused = desk.restore(&h.caller, &moved("s", &[(&["a"], Some(into))])).await;
        assert_eq!(conflict(refused), Conflict::NamespaceExists { name: into.join("/") });
    }
    check_sound(&h).await;
    // It needs neither the snapshot nor where it came from.
    delete_all_snapshots(&h, &desk).await;
    for (labels, key) in [(&["a"][..], "small"), (&["a"], "large"), (&["a", "files"], "/notes.md")]
    {
        store.delete(labels, key).await;
    }
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(seen(&store, &["x", "y"]).await.len(), then.len());
    assert_eq!(h.count("select count(*) from snapshot_items").await, 0);
    assert_eq!(h.count("select count(*) from item_versions where version < 0").await, 0);
    check_sound(&h).await;
}

/// Both happen, or the restore is refused; what was acknowledged stays in either case.
pub async fn a_put_into_a_namespace_that_is_made_stays(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    for number in 0..20 {
        store.put(&["a"], &format!("k{number}"), "{}").await;
    }
    desk.take(&h.caller, taking("s", &[&["a"]])).await.unwrap();
    for round in 0..ROUNDS {
        let into = round.to_string();
        let place = ["into", &into];
        let request = moved("s", &[(&["a"], Some(&place))]);
        let puts = async {
            // So that some meet the check, others the writes, and some the end.
            for number in 0..PUTS {
                store.put(&place, &format!("mine{number}"), "{}").await;
            }
        };
        let (done, ()) = tokio::join!(desk.restore(&h.caller, &request), puts);
        let restored = match done {
            Ok(_) => 20,
            refused => {
                let name = place.join("/");
                assert_eq!(conflict(refused), Conflict::NamespaceExists { name });
                0
            }
        };
        assert_eq!(store.count(scope(&place, "{}")).await, restored + PUTS, "round {round}");
    }
    check_sound(&h).await;
}

pub async fn large_files_and_words_follow_their_namespace(h: Harness) {
    let files = Files::on(&h).await;
    let store = &files.store;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    let bytes = noise(1, (5 << 20) + 17);
    files.upload("/a.bin", &bytes).await;
    declare_words(store, &["cid"], &["$"]).await;
    store.put(&["ann", "workspace"], "said", r#"{"text":"a sparrow sings"}"#).await;
    desk.take(&h.caller, taking("s", &[&["ann"]])).await.unwrap();
    // Within its root a content is shared, in another one there is another.
    for (into, contents) in [(&["ann", "copies"][..], 1), (&["cid"], 2)] {
        let refused = moved("s", &[(&["ann"], Some(into))]);
        desk.restore(&h.caller, &refused).await.unwrap();
        assert_eq!(h.count("select count(*) from contents").await, contents);
    }
    store.clock.advance(WALKS_BEGIN);
    walk(store).await;
    assert_eq!(keys(&store.search(finding(&["cid"], "sparrow")).await.items), ["said"]);
    files.delete("/a.bin").await;
    store.delete(&["ann", "copies", "workspace"], "/a.bin").await;
    delete_all_snapshots(&h, &desk).await;
    files.sweep_all().await;
    assert_eq!(h.count("select count(*) from contents").await, 1);
    let address = crate::store::address(&["cid", "workspace"], "/a.bin");
    assert!(files.try_read_at(&address).await.unwrap().unwrap() == bytes);
    check_sound(&h).await;
}

fn into_session(from: &SessionName, to: &SessionName) -> Restore {
    let one = RestoreSession { session: from.clone(), into: Some(to.clone()) };
    Restore {
        threads: Chosen::These(Vec::new()),
        sessions: Chosen::These(vec![one]),
        ..in_place("s")
    }
}

pub async fn a_session_goes_into_another_key(h: Harness) {
    let (desk, agents) = (Desk::on(&h).await, sessions::Desk::on(&h).await);
    let (session, other) = (name(&["p", "s"]), name(&["p", "other"]));
    let large = format!("\"{}\"", "y".repeat(200_000));
    let steps = vec![
        append("", vec![entry(Some("a"), "1"), entry(None, &large)]),
        put("NOTES.md", "then", None),
        Step::Count { counter: "c".into(), by: 3 },
    ];
    agents.change(&session, steps).await.unwrap();
    let then = seen_of(&agents, &session).await;
    desk.take(&h.caller, taking_sessions("s", std::slice::from_ref(&session))).await.unwrap();
    agents.append(&session, &["\"later\""]).await.unwrap();
    let later = seen_of(&agents, &session).await;
    let request = into_session(&session, &other);
    let would = Restore { dry_run: true, ..request.clone() };
    let would = desk.restore(&h.caller, &would).await.unwrap();
    assert_eq!(agents.list(all_of_kind()).await.len(), 1);
    let done = desk.restore(&h.caller, &request).await.unwrap();
    assert_eq!((would.sessions, done.safety_snapshot_id), (done.sessions.clone(), None));
    assert!(done.sessions[0].created && done.sessions[0].into == ["p", "other"]);
    assert_eq!(seen_of(&agents, &other).await, then);
    assert_eq!(seen_of(&agents, &session).await, later);
    assert_eq!(conflict(desk.restore(&h.caller, &request).await), Conflict::SessionExists);
    check_sound(&h).await;
    // Both go on by themselves.
    agents.append(&other, &["\"on\""]).await.unwrap();
    assert_eq!(seen_of(&agents, &session).await, later);
    agents.delete(&session).await;
    delete_all_snapshots(&h, &desk).await;
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(seen_of(&agents, &other).await.0.len(), then.0.len() + 1);
    check_sound(&h).await;
}

pub async fn what_is_made_belongs_to_whom_the_request_says(h: Harness) {
    let (desk, ann) = (Desk::on(&h).await, granted_callers::subject("ann"));
    let threads = granted_callers::Desk::on(&h.storage).await;
    threads.put(&ann, "t", "1").await.unwrap();
    let named = |subject: &str| Caller { subject: Some(subject.into()), ..h.caller.clone() };
    let agents = sessions::Desk::of(&h.storage, &named("ann")).await;
    let (session, other) = (name(&["p", "s"]), name(&["p", "other"]));
    agents.append(&session, &["1"]).await.unwrap();
    let request = TakeSnapshot { sessions: vec![session.clone()], ..of("s", &["t"], History::All) };
    desk.take(&h.caller, request).await.unwrap();
    let both = |subjects: &[(&str, &str)]| Restore {
        subjects: subjects.iter().map(|(from, to)| ((*from).into(), (*to).into())).collect(),
        sessions: into_session(&session, &other).sessions,
        ..crate::snapshot_calls::into("s", &[("t", "b")])
    };
    let as_ann = desk.restore(&named("ann"), &both(&[("ann", "cid")])).await;
    assert!(matches!(as_ann, Err(Error::NotGranted(_))), "{as_ann:?}");
    assert!(crate::snapshot_calls::seen(&h, "b").await.is_none());
    desk.restore(&h.caller, &both(&[("ann", "bob"), ("cid", "dan")])).await.unwrap();
    assert_eq!(threads.owner("b").await.as_deref(), Some("bob"));
    assert_eq!(threads.owner("t").await.as_deref(), Some("ann"), "what is there stays whose it is");
    let of = |owner: &str, key: &SessionName| {
        let key = hex::encode_upper(key.key_bytes());
        let hex = if h.is_sqlite() { "hex(key)" } else { "upper(encode(key, 'hex'))" };
        format!(
            "select count(*) from sessions where kind not like ':%' and owner = '{owner}' and {hex} = '{key}'"
        )
    };
    assert_eq!(h.count(&of("bob", &other)).await, 1);
    assert_eq!(h.count(&of("ann", &session)).await, 1);
    let bobs = agents.for_caller(named("bob"));
    assert_eq!(bobs.texts(&other, "").await, ["1"]);
    // Erasing her takes nothing of his.
    let erasures = threadkeep::domain::tenants::erasure::Erasures::new(
        h.storage.clone(),
        Arc::new(Clock::System),
    );
    erasures.erase(&h.caller, "ann", |_| {}).await.unwrap();
    assert_eq!(bobs.texts(&other, "").await, ["1"]);
    assert!(crate::snapshot_calls::seen(&h, "t").await.is_none());
    assert!(crate::snapshot_calls::seen(&h, "b").await.is_some());
    check_sound(&h).await;
}
