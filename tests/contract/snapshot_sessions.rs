//! Tests snapshots of sessions, and that everything in a snapshot is of one moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use threadkeep::domain::clock::Clock;
use threadkeep::domain::sessions::change::Step;
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::restore::Restore;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::threads::storage::DeleteThread;

use crate::commands::Put;
use crate::harness::{Harness, commit, thread_id};
use crate::session_calls::{self as sessions, all_of_kind, append, entry, name, put};
use crate::snapshot_calls::{Desk, check_sound, in_place, of};
use crate::store::{Store, namespace};

pub fn taking(id: &str, all: &[SessionName]) -> TakeSnapshot {
    TakeSnapshot { sessions: all.to_vec(), ..of(id, &[], History::All) }
}

pub async fn seen(
    desk: &sessions::Desk,
    session: &SessionName,
) -> (Vec<String>, Option<String>, i64) {
    let counters = desk.sessions.get_counters(&desk.caller, session, &["c"]).await.unwrap();
    (desk.texts(session, "").await, desk.document(session, "NOTES.md").await, counters[0])
}

pub async fn a_session_is_what_it_was(h: Harness) {
    let (desk, agents) = (Desk::on(&h).await, sessions::Desk::on(&h).await);
    let (session, beside) = (name(&["p", "s"]), name(&["p", "t"]));
    let large = format!("\"{}\"", "y".repeat(200_000));
    for it in [&session, &beside] {
        let steps = vec![
            append("", vec![entry(Some("a"), "1"), entry(None, &large)]),
            put("NOTES.md", "then", None),
            Step::Count { counter: "c".into(), by: 3 },
        ];
        agents.change(it, steps).await.unwrap();
    }
    let then = seen(&agents, &session).await;
    let snapshot =
        desk.take(&h.caller, taking("s", std::slice::from_ref(&session))).await.unwrap().snapshot;
    assert_eq!(snapshot.sessions[0].entries, 3);
    agents.append(&session, &["\"later\"", &large.replace('y', "z")]).await.unwrap();
    agents.change(&session, vec![put("NOTES.md", "later", None)]).await.unwrap();
    let (later, other) = (seen(&agents, &session).await, seen(&agents, &beside).await);
    let done = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(seen(&agents, &session).await, then);
    assert_eq!(seen(&agents, &beside).await, other);
    // The document that was replaced has left its piece.
    assert_eq!((done.sessions[0].entries, done.sessions[0].replaced_entries), (3, 5));
    assert_eq!(agents.list(all_of_kind()).await.len(), 2, "nobody lists what a snapshot keeps");
    // It goes on from there, and the snapshot stays what it is.
    agents.append(&session, &["\"on\""]).await.unwrap();
    check_sound(&h).await;
    let safety = done.safety_snapshot_id.unwrap();
    desk.restore(&h.caller, &in_place(&safety)).await.unwrap();
    assert_eq!(seen(&agents, &session).await, later);
    // Without the session, and without a trace of it.
    agents.delete(&session).await;
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    let done = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert!(done.sessions[0].created);
    assert_eq!(seen(&agents, &session).await, then);
    check_sound(&h).await;
    let all =
        threadkeep::domain::snapshots::storage::ListSnapshots { limit: 9, ..Default::default() };
    for snapshot in desk.snapshots.list(&h.caller, all).await.unwrap().snapshots {
        desk.delete(&h, &snapshot.id).await;
    }
    for it in [&session, &beside] {
        agents.delete(it).await;
    }
    for table in
        ["sessions", "session_logs", "session_entries", "chunks", "scopes", "scope_holders"]
    {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
}

/// A writer puts n into thread, item and session, in this order, while snapshots are taken: none of them shows what came
/// later without what came before.
pub async fn a_snapshot_is_one_moment(h: Harness) {
    let (desk, agents) = (Desk::on(&h).await, sessions::Desk::on(&h).await);
    let (store, session) = (Store::on(&h).await, name(&["p", "s"]));
    let stop = Arc::new(AtomicBool::new(false));
    let h = Arc::new(h);
    let writer = {
        let (h, stop, session) = (Arc::clone(&h), Arc::clone(&stop), session.clone());
        let large = "x".repeat(40_000);
        async move {
            for n in 1_u32.. {
                let put = Put::new(&format!("{n:06}")).sets("n", &n.to_string(), &n.to_string());
                h.commit(commit("t", vec![put.op()])).await.unwrap();
                let value = format!(r#"{{"n":{n},"rest":"{large}"}}"#);
                store.put(&["n"], "k", &value).await;
                agents.append(&session, &[&n.to_string()]).await.unwrap();
                if stop.load(SeqCst) {
                    return (n, store, agents);
                }
            }
            unreachable!()
        }
    };
    let writer = tokio::spawn(writer);
    let mut taken = 0;
    while taken < 12 {
        let request = TakeSnapshot {
            sessions: vec![session.clone()],
            namespaces: vec![namespace(&["n"])],
            ..of(&format!("s{taken}"), &["t"], History::All)
        };
        match desk.take(&h.caller, request).await {
            Ok(_) => taken += 1,
            // Nothing is there yet.
            Err(threadkeep::domain::Error::NotFound(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
    stop.store(true, SeqCst);
    let (last, store, agents) = writer.await.unwrap();
    let mut before = 0;
    for at in 0..taken {
        desk.restore(&h.caller, &in_place(&format!("s{at}"))).await.unwrap();
        let view = h.latest("t").await.unwrap();
        let thread: u32 = crate::harness::values(&view)["n"].parse().unwrap();
        let item = store.get(&["n"], "k").await.map_or(0, |it| {
            let value: serde_json::Value = serde_json::from_slice(&it.value.unwrap()).unwrap();
            u32::try_from(value["n"].as_u64().unwrap()).unwrap()
        });
        let entries = agents.texts(&session, "").await;
        let session = u32::try_from(entries.len()).unwrap();
        assert!(
            thread >= item && item >= session && thread <= session + 1,
            "{thread} {item} {session}"
        );
        assert_eq!(entries.last().map(|it| it.parse().unwrap()), Some(session));
        assert!(thread >= before && thread <= last);
        before = thread;
    }
    check_sound(&h).await;
}

/// Where it goes and comes again while the snapshot is taken, it is there or it is not; nobody is told to try again.
pub async fn a_snapshot_is_taken_beside_what_comes_and_goes(h: Harness) {
    let (desk, agents) = (Desk::on(&h).await, sessions::Desk::on(&h).await);
    let (stop, session) = (Arc::new(AtomicBool::new(false)), name(&["p", "s"]));
    let h = Arc::new(h);
    let writer = {
        let (h, stop, session) = (Arc::clone(&h), Arc::clone(&stop), session.clone());
        async move {
            let gone = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
            while !stop.load(SeqCst) {
                let put = Put::new("000001").sets("n", "1", "1");
                h.commit(commit("t", vec![put.op()])).await.unwrap();
                agents.append(&session, &["first"]).await.unwrap();
                agents.delete(&session).await;
                h.storage.delete_thread(&h.caller, &gone).await.unwrap();
            }
        }
    };
    let writer = tokio::spawn(writer);
    let mut taken = 0;
    for at in 0..200 {
        let id = format!("s{at}");
        let (threads, sessions) =
            if at % 2 == 0 { (&[][..], vec![session.clone()]) } else { (&["t"][..], Vec::new()) };
        let request = TakeSnapshot { sessions, ..of(&id, threads, History::All) };
        match desk.take(&h.caller, request).await {
            Ok(_) => taken += 1,
            Err(threadkeep::domain::Error::NotFound(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    stop.store(true, SeqCst);
    writer.await.unwrap();
    assert!(taken > 0);
    check_sound(&h).await;
}

/// Both lock many scopes: in one order, whatever the order of the request.
pub async fn takes_and_restores_of_the_same_things_wait_for_each_other(h: Harness) {
    let (desk, agents) = (Desk::on(&h).await, sessions::Desk::on(&h).await);
    let store = Store::on(&h).await;
    let names: Vec<SessionName> = (0..6).map(|at| name(&["p", &at.to_string()])).collect();
    for session in &names {
        agents.append(session, &["first"]).await.unwrap();
    }
    for thread in ["t", "u"] {
        let put = Put::new("000001").sets("n", "1", "1");
        h.commit(commit(thread, vec![put.op()])).await.unwrap();
    }
    store.put(&["n"], "k", "{}").await;
    let all = |id: &str| TakeSnapshot {
        sessions: names.clone(),
        namespaces: vec![namespace(&["n"])],
        ..of(id, &["t", "u"], History::All)
    };
    desk.take(&h.caller, all("base")).await.unwrap();
    let restore = Restore { safety: false, ..in_place("base") };
    for round in 0..12 {
        let id = format!("s{round}");
        let (taken, restored) =
            tokio::join!(desk.take(&h.caller, all(&id)), desk.restore(&h.caller, &restore));
        assert!(taken.is_ok(), "{taken:?}");
        assert!(restored.is_ok(), "{restored:?}");
    }
    check_sound(&h).await;
}
