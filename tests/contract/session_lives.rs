//! Tests sessions that several callers write, read, compact and remove at the same time.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::sessions::change::Step;
use threadkeep::domain::sessions::loading::Load;
use threadkeep::domain::sessions::service::CompactStream;
use threadkeep::domain::sessions::storage::FindDocuments;
use threadkeep::domain::tokens::grants::{Actions, Grant, Scoped, Selector};
use threadkeep::domain::{Conflict, Error};
use tokio::task::JoinHandle;

use crate::harness::{Harness, conflict};

use crate::session_calls::*;

pub async fn a_deleted_session_is_gone_with_everything(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let (session, sibling) = (name(&["p", "s"]), name(&["p", "t"]));
    let large = format!("\"{}\"", "y".repeat(200_000));
    for it in [&session, &sibling, &name(&["q", "s"])] {
        let steps = vec![
            append("", vec![entry(Some("a"), "1"), entry(None, &large)]),
            append("sub", vec![entry(None, "2")]),
            put("summary", "s", None),
            Step::Count { counter: "c".into(), by: 3 },
        ];
        desk.change(it, steps).await.unwrap();
    }
    desk.delete(&name(&["p", "never"])).await;
    desk.delete(&session).await;
    assert_eq!(desk.load(&session, Load::default()).await, None);
    assert_eq!(desk.document(&session, "summary").await, None);
    let counters = desk.sessions.get_counters(&desk.caller, &session, &["c"]).await.unwrap();
    assert_eq!(counters, [0]);
    assert_eq!(desk.list(all_of_kind()).await.len(), 2);
    for (table, left) in
        [("sessions", 2), ("session_logs", 8), ("session_entries", 8), ("scopes", 2)]
    {
        let count = harness.count(&format!("select count(*) from {table}")).await;
        assert_eq!(count, left, "{table}");
    }
    let chunks = "select count(distinct scope_id) from chunks";
    assert_eq!(harness.count(chunks).await, 2);
    // Made again, it has nothing of before, another scope, and numbers behind those that it had.
    let done = desk.append(&session, &["\"new\""]).await.unwrap();
    assert_eq!((appended(&done), done.created), ((Some(3), Some(3), 3, 1), true));
    assert_eq!(desk.texts(&session, "").await, ["\"new\""]);
    assert_eq!(desk.texts(&sibling, "").await.len(), 2);
    // Of a stream only that goes, and its content with the next sweep that may take it.
    desk.change(&sibling, vec![Step::DeleteStream { stream: String::new() }]).await.unwrap();
    assert_eq!(desk.load(&sibling, Load::default()).await, None);
    assert_eq!(desk.texts(&sibling, "sub").await, ["2"]);
    harness.sql("update garbage set created_at = 0").await;
    harness.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(harness.count(chunks).await, 1);
    assert_eq!(harness.count("select count(*) from session_logs where kind = 3").await, 0);
    let wrong = "select count(*) from sessions s where s.size_bytes <>
        (select coalesce(sum(e.size_bytes), 0) from session_entries e where e.session_no = s.session_no)";
    assert_eq!(harness.count(wrong).await, 0);
}

pub async fn readers_never_see_a_number_without_the_one_before(harness: Harness) {
    let desk = Arc::new(Desk::on(&harness).await);
    let other = Arc::new(another_server(&harness).await);
    let session = name(&["s"]);
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let desk = Arc::clone(if writer % 2 == 0 { &desk } else { &other });
            let session = session.clone();
            tokio::spawn(async move {
                for at in 0..25 {
                    let text = format!("[{writer},{at}]");
                    desk.append(&session, &[&text]).await.unwrap();
                }
            })
        })
        .collect();
    let (mut next, mut texts) = (1, Vec::new());
    let mut rounds_after_the_end = 0;
    while next <= 400 && rounds_after_the_end < 2 {
        rounds_after_the_end += u32::from(writers.iter().all(JoinHandle::is_finished));
        let load = Load { after_seq: Some(next - 1), ..Load::default() };
        for entry in desk.load(&session, load).await.unwrap_or_default().entries {
            assert_eq!(entry.seq, next);
            next += 1;
            texts.push(String::from_utf8(entry.data.to_vec()).unwrap());
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    for writer in 0..16 {
        let own = texts.iter().filter(|it| it.starts_with(&format!("[{writer},")));
        let expected: Vec<String> = (0..25).map(|at| format!("[{writer},{at}]")).collect();
        assert_eq!(own.cloned().collect::<Vec<_>>(), expected, "each writer's order is kept");
    }
}

pub async fn a_compaction_archives_and_numbers_go_on(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    let missing = desk.compact(&compaction(&session, 1, 1)).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound(_)), "{missing}");
    let texts: Vec<String> = (1..=12).map(|it| it.to_string()).collect();
    desk.append(&session, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    let moved = |current| Conflict::HeadMoved { current };
    assert_eq!(conflict(desk.compact(&compaction(&session, 4, 11)).await), moved(12));
    assert_eq!(conflict(desk.compact(&compaction(&session, 13, 12)).await), moved(12));
    let (id, _) = desk.compact(&compaction(&session, 4, 12)).await.unwrap();
    assert_eq!(id, "0001");
    let all = desk.load(&session, Load::default()).await.unwrap();
    assert_eq!(
        all.entries.iter().map(|it| it.seq).collect::<Vec<_>>(),
        (4..=12).collect::<Vec<_>>()
    );
    assert_eq!(desk.texts(&session, "").await[..2], ["\"see 0001\"", "5"]);
    assert_eq!(desk.texts(&session, "archives/0001").await, ["1", "2", "3", "4"]);
    assert_eq!(desk.document(&session, "NOTES.md").await.as_deref(), Some("[0001]"));
    // Who has not seen it does not win; who says what it compresses does.
    assert_eq!(conflict(desk.compact(&compaction(&session, 6, 12)).await), moved(12));
    let unseen = CompactStream { expected_count: Some(6), ..compaction(&session, 6, 12) };
    assert_eq!(conflict(desk.compact(&unseen).await), moved(12));
    let seen = CompactStream { expected_count: Some(3), ..compaction(&session, 6, 12) };
    assert_eq!(desk.compact(&seen).await.unwrap().0, "0002");
    assert_eq!(desk.texts(&session, "archives/0002").await, ["\"see 0001\"", "5", "6"]);
    assert_eq!(desk.texts(&session, "").await[..2], ["\"see 0002\"", "7"]);
    assert_eq!(desk.texts(&session, "archives/0001").await.len(), 4);
    desk.append(&session, &["13"]).await.unwrap();
    let tail = Load { tail: Some(8), ..Load::default() };
    let tail = desk.load(&session, tail).await.unwrap();
    assert_eq!(
        tail.entries.iter().map(|it| it.seq).collect::<Vec<_>>(),
        (6..=13).collect::<Vec<_>>()
    );
    assert!(!tail.more);
    for (load, expected) in [
        (Load { limit: Some(1), ..Load::default() }, vec![6]),
        (Load { limit: Some(2), ..Load::default() }, vec![6, 7]),
        (Load { after_seq: Some(5), limit: Some(1), ..Load::default() }, vec![6]),
        (Load { after_seq: Some(6), limit: Some(1), ..Load::default() }, vec![7]),
        (Load { tail: Some(7), ..Load::default() }, (7..=13).collect()),
    ] {
        let loaded = desk.load(&session, load.clone()).await.unwrap();
        let seqs: Vec<i64> = loaded.entries.iter().map(|it| it.seq).collect();
        assert_eq!((seqs, loaded.more), (expected, true), "{load:?}");
    }
    let archived = vec![append("archives/0001", vec![entry(None, "x")])];
    assert!(matches!(desk.change(&session, archived).await, Err(Error::Invalid { .. })));
    // Without the archive the stream is as it was, and the other way round.
    desk.change(&session, vec![Step::DeleteStream { stream: "archives/0002".into() }])
        .await
        .unwrap();
    assert_eq!(desk.texts(&session, "").await.len(), 8);
    harness.sql("update garbage set created_at = 0").await;
    harness.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(desk.texts(&session, "").await.len(), 8);
    assert_eq!(desk.texts(&session, "archives/0001").await.len(), 4);
}

pub async fn compactions_that_race_have_one_winner_and_lose_nothing(harness: Harness) {
    let desk = Arc::new(Desk::on(&harness).await);
    let other = Arc::new(another_server(&harness).await);
    let session = name(&["s"]);
    let first: Vec<String> = (0..30).map(|it| format!("\"old {it}\"")).collect();
    desk.append(&session, &first.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|at| {
            let desk = Arc::clone(if at % 2 == 0 { &desk } else { &other });
            let session = session.clone();
            tokio::spawn(async move {
                if at < 4 {
                    let through = 10 + at;
                    return desk.compact(&compaction(&session, through, 30)).await.is_ok();
                }
                for round in 0..10 {
                    desk.append(&session, &[&format!("\"new {at} {round}\"")]).await.unwrap();
                }
                false
            })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        winners += u32::from(task.await.unwrap());
    }
    assert!(winners <= 1, "{winners}");
    let archived = desk.texts(&session, "archives/0001").await;
    let mut visible = desk.texts(&session, "").await;
    if winners == 1 {
        assert_eq!(visible.remove(0), "\"see 0001\"");
    }
    let all: BTreeSet<String> = archived.into_iter().chain(visible).collect();
    let new = (4..8).flat_map(|at| (0..10).map(move |round| format!("\"new {at} {round}\"")));
    assert_eq!(all, first.into_iter().chain(new).collect());
}

pub async fn a_foreign_session_is_an_absent_one(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let of = |subject: &str| {
        let grants = Grants::Scoped(Arc::new(Scoped::of_subject(subject)));
        let (subject, credential) = (Some(subject.to_owned()), format!("of {subject}"));
        desk.for_caller(Caller { subject, grants, credential, ..desk.caller.clone() })
    };
    let (ann, bob) = (of("ann"), of("bob"));
    let session = name(&["s"]);
    ann.append(&session, &["1"]).await.unwrap();
    ann.change(&session, vec![put("d", "x", None)]).await.unwrap();
    assert_eq!(bob.load(&session, Load::default()).await, None);
    assert_eq!(bob.document(&session, "d").await, None);
    assert!(bob.sessions.list_streams(&bob.caller, &session).await.unwrap().is_empty());
    assert!(bob.list(all_of_kind()).await.is_empty());
    let find = FindDocuments { kind: "kind".into(), key_prefix: Vec::new(), name: "d".into() };
    assert!(bob.sessions.find_documents(&bob.caller, &find).await.unwrap().is_empty());
    bob.delete(&session).await;
    bob.change(&session, vec![Step::DeleteStream { stream: String::new() }]).await.unwrap();
    assert_eq!(conflict(bob.append(&session, &["2"]).await), Conflict::SessionTaken);
    assert_eq!(
        conflict(bob.change(&session, vec![put("d", "y", None)]).await),
        Conflict::SessionTaken
    );
    let compacted = bob.compact(&compaction(&session, 1, 1)).await;
    assert_eq!(conflict(compacted), Conflict::SessionTaken);
    assert_eq!(ann.texts(&session, "").await, ["1"]);
    assert_eq!(ann.list(all_of_kind()).await, [["s"]]);
    // A name that is granted is written whoever owns it; only what is granted can be done.
    let grant = |selector, actions| {
        let scoped = Scoped { sessions: vec![Grant { selector, actions }], ..Scoped::default() };
        let (grants, credential) = (Grants::Scoped(Arc::new(scoped)), "granted".to_owned());
        desk.for_caller(Caller { subject: None, grants, credential, ..desk.caller.clone() })
    };
    let writer = grant(Selector::Exact("kind:s".into()), Actions::APPEND);
    writer.append(&session, &["3"]).await.unwrap();
    let refused = writer.change(&session, vec![put("d", "y", None)]).await.unwrap_err();
    assert!(matches!(refused, Error::NotGranted(_)), "{refused}");
    let read = writer.sessions.load(&writer.caller, &session, &Load::default()).await;
    assert!(matches!(read, Err(Error::NotGranted(_))));
    // To append to a name is no leave to replace what another has there.
    let both = Scoped {
        sessions: vec![
            Grant { selector: Selector::Exact("kind:s".into()), actions: Actions::APPEND },
            Grant { selector: Selector::Owned, actions: Actions::ALL },
        ],
        ..Scoped::default()
    };
    let (grants, credential) = (Grants::Scoped(Arc::new(both)), "both".to_owned());
    let subject = Some("eve".to_owned());
    let eve = desk.for_caller(Caller { subject, grants, credential, ..desk.caller.clone() });
    eve.append(&session, &["4"]).await.unwrap();
    let replaced = eve.change(&session, vec![put("d", "eve's", None)]).await;
    assert_eq!(conflict(replaced), Conflict::SessionTaken);
    eve.change(&session, vec![Step::DeleteStream { stream: String::new() }]).await.unwrap();
    eve.delete(&session).await;
    let reader = grant(Selector::Prefix("kind:p/".into()), Actions::READ);
    assert_eq!(reader.load(&session, Load::default()).await, None);
    desk.append(&name(&["p", "1"]), &["1"]).await.unwrap();
    desk.append(&name(&["pq", "1"]), &["1"]).await.unwrap();
    assert_eq!(reader.list(all_of_kind()).await, [["p", "1"]]);
    assert!(reader.append(&name(&["p", "1"]), &["2"]).await.is_err());
    // Another tenant has its own.
    let globex = desk.for_caller(Caller::of_tenant("tenant-b"));
    assert_eq!(globex.load(&session, Load::default()).await, None);
    globex.append(&session, &["\"b\""]).await.unwrap();
    globex.delete(&session).await;
    assert_eq!(ann.texts(&session, "").await, ["1", "3", "4"]);
    assert_eq!(ann.document(&session, "d").await.as_deref(), Some("x"));
}
