//! Tests that subjects with sessions are erased, that the doctor examines sessions, and that sessions are encrypted.

use std::sync::Arc;

use threadkeep::domain::clock::Clock;
use threadkeep::domain::doctor::{Noun, Report, State};
use threadkeep::domain::sessions::change::{About, Change, Step};
use threadkeep::domain::sessions::loading::Load;
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::sessions::service::SessionCall;
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::doctor::examine;
use crate::harness::{Harness, NEVER, config, master_keys, masters};
use crate::session_calls::*;
use crate::subjects::{ANN, BOB, erase, speaking_for, tables_with};

const TABLES: [&str; 6] =
    ["sessions", "session_logs", "session_entries", "scopes", "scope_holders", "chunks"];

/// Text that no compression shortens below its length in hex.
fn large(of: &str) -> String {
    let pieces = (0..4_000).map(|at| blake3::hash(format!("{of}{at}").as_bytes()).to_hex());
    format!("\"{}\"", pieces.map(|it| it.to_string()).collect::<String>())
}

/// A session with everything that one has: entries in rows and in chunks, ids, streams, a document in pieces, a counter, an archive, a
/// title, a remembered answer, something deleted.
async fn fill(desk: &Desk, of: &str) -> SessionName {
    let session = name(&[of, "s"]);
    let about =
        About { user: Some(of.into()), agent: Some("helper".into()), title: Some(title(of)) };
    let asking = SessionCall { caller: &desk.caller, idempotency: None, deadline: NEVER };
    let change = Change { session: session.clone(), about: Some(about), steps: Vec::new() };
    desk.sessions.change(&asking, change).await.unwrap();
    let steps = vec![
        append("", vec![entry(Some(of), &said(of)), entry(None, &large(of)), entry(None, "3")]),
        append("gone", vec![entry(None, &said(of))]),
        put("summary", &said(of), None),
        extend("summary", &said(of)),
        Step::Count { counter: format!("count of {of}"), by: 3 },
    ];
    let key = format!("key of {of}");
    desk.change_once(&session, steps, Some((&key, 7))).await.unwrap();
    desk.compact(&compaction(&session, 1, 3)).await.unwrap();
    desk.change(&session, vec![Step::DeleteStream { stream: "gone".into() }]).await.unwrap();
    session
}

fn said(of: &str) -> String {
    format!("\"said by {of}\"")
}

fn title(of: &str) -> String {
    format!("a title of {of}")
}

/// But for what a collection has still to do.
async fn sound(h: &Harness) {
    let report = examine(h, false).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.tally(State::Orphan, Noun::Entries).count, 0, "{report:?}");
}

/// All that reads of a session.
async fn told(desk: &Desk, session: &SessionName) -> (Vec<String>, Vec<String>, Option<String>) {
    let visible = desk.texts(session, "").await;
    let archived = desk.texts(session, "archives/0001").await;
    (visible, archived, desk.document(session, "summary").await)
}

pub async fn an_erased_subject_leaves_nothing_of_its_sessions(h: Harness) {
    let desk = Desk::on(&h).await;
    let (ann, bob) =
        (desk.for_caller(speaking_for(Some(ANN))), desk.for_caller(speaking_for(Some(BOB))));
    let others = fill(&bob, BOB).await;
    let mut counts = Vec::new();
    for table in TABLES {
        counts.push(h.count(&format!("select count(*) from {table}")).await);
    }
    let own = fill(&ann, ANN).await;
    // One that was deleted before, and is garbage by now.
    let deleted = name(&[ANN, "deleted"]);
    ann.append(&deleted, &[&said(ANN), &large(ANN)]).await.unwrap();
    ann.delete(&deleted).await;
    let traces = tables_with(&h, ANN).await;
    for table in ["sessions", "session_logs", "session_entries"] {
        assert!(traces.contains(&table), "{table}: {traces:?}");
    }
    let before = told(&bob, &others).await;
    let receipt = erase(&h.storage, ANN).await;
    assert_eq!(receipt.sessions, 1, "{receipt:?}");
    assert!(receipt.size_bytes > 200_000 && receipt.chunks > 0, "{receipt:?}");
    assert_eq!(tables_with(&h, ANN).await, Vec::<&str>::new());
    for (table, before) in TABLES.iter().zip(&counts) {
        let left = h.count(&format!("select count(*) from {table}")).await;
        assert_eq!(left, *before, "{table}");
    }
    assert_eq!(h.count("select count(*) from garbage where owner = 'ann-of-acme'").await, 0);
    assert_eq!(ann.load(&own, Load::default()).await, None);
    assert_eq!(told(&bob, &others).await, before);
    // What a collection had still to do of its content is done by the next one; its row is two random numbers.
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    sound(&h).await;
    assert_eq!(erase(&h.storage, ANN).await.sessions, 0);
    // Made again, it is another one.
    assert!(ann.append(&own, &["\"new\""]).await.unwrap().created);
    assert_eq!(ann.texts(&own, "").await, ["\"new\""]);
}

pub async fn the_doctor_finds_damaged_and_missing_entries(h: Harness) {
    let desk = Desk::on(&h).await;
    let session = fill(&desk, "x").await;
    sound(&h).await;
    let counted = |report: &Report, state| report.tally(state, Noun::Entries).count;
    // In a stream, by hand: other bytes, and none.
    let small = "parts is null and era = 0";
    h.sql(&format!(
        "update session_entries set digest = (select max(digest) from session_entries where not ({small}))
         where {small} and seq = 3"
    ))
    .await;
    let report = examine(&h, true).await;
    assert_eq!(counted(&report, State::Damaged), 1, "{report:?}");
    let load = Load { stream: String::new(), ..Load::default() };
    assert!(desk.sessions.load(&desk.caller, &session, &load).await.is_err());
    h.sql(&format!("delete from session_entries where {small} and seq = 3")).await;
    let report = examine(&h, true).await;
    assert_eq!(counted(&report, State::Damaged), 0, "{report:?}");
    assert_eq!(counted(&report, State::Missing), 1, "{report:?}");
    // A chunk of a large one: what it was is not read as something else.
    h.sql("delete from chunks where name = (select min(name) from chunks)").await;
    let report = examine(&h, true).await;
    assert_eq!(counted(&report, State::Unreadable), 1, "{report:?}");
    assert!(report.tally(State::Missing, Noun::Chunks).count > 0, "{report:?}");
    let read = desk.sessions.load(&desk.caller, &session, &load).await;
    assert!(read.is_err(), "{read:?}");
}

pub async fn the_doctor_removes_entries_of_no_session(h: Harness) {
    let desk = Desk::on(&h).await;
    let session = fill(&desk, "x").await;
    let before = told(&desk, &session).await;
    let stray = fill(&desk, "y").await;
    h.sql("delete from sessions where session_no = (select max(session_no) from sessions)").await;
    let lost = if desk.load(&session, Load::default()).await.is_none() { session } else { stray };
    assert_eq!(desk.load(&lost, Load::default()).await, None);
    let found = examine(&h, false).await;
    assert!(found.tally(State::Orphan, Noun::Entries).count >= 4, "{found:?}");
    let repaired = examine(&h, true).await;
    assert!(repaired.tally(State::Repaired, Noun::Entries).count >= 4, "{repaired:?}");
    let left = examine(&h, false).await;
    assert_eq!(left.tally(State::Orphan, Noun::Entries).count, 0, "{left:?}");
    let other = if lost == name(&["x", "s"]) { name(&["y", "s"]) } else { name(&["x", "s"]) };
    let after = told(&desk, &other).await;
    assert_eq!((after.0.len(), after.1.len()), (before.0.len(), before.1.len()));
}

pub async fn turning_encryption_on_seals_sessions(h: Harness) {
    let desk = Desk::on(&h).await;
    let session = fill(&desk, "x").await;
    let before = told(&desk, &session).await;
    assert!(before.0.len() == 3 && before.1.len() == 1 && before.2.is_some(), "{before:?}");
    let readable = [said("x"), title("x"), large("x")[1..200].to_owned()];
    if masters().is_none() {
        // What is short stands in a row as it is; compressed, the long one does not.
        let dump = format!("{}{}", h.dump("session_entries").await, h.dump("sessions").await);
        assert!(shows(&dump, &readable[1]), "a title");
        let encryption = Encryption::Begins(master_keys(7));
        let command = StorageConfig { exclusive: false, encryption, ..config(h.url()) };
        let encrypting = storage::open(&command).await.unwrap();
        assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
        encrypting.close().await;
    }
    let h = if masters().is_none() { h.encrypting(None).await } else { h };
    for table in ["sessions", "session_logs", "session_entries", "chunks", "idempotency"] {
        let dump = h.dump(table).await;
        for text in &readable {
            assert!(!shows(&dump, text), "{table} shows {text}");
        }
    }
    let desk = Desk::of(&h.storage, &h.caller).await;
    assert_eq!(told(&desk, &session).await, before);
    let listed = desk.sessions.list(&desk.caller, all_of_kind()).await.unwrap().sessions;
    assert_eq!(listed[0].title.as_deref(), Some(&*title("x")));
    sound(&h).await;
    // Whoever did not know that it is encrypted now goes on.
    let others = Arc::clone(&h.storage);
    let done = Desk::of(&others, &h.caller).await.append(&session, &[&said("x")]).await.unwrap();
    assert_eq!(appended(&done).3, 1);
    assert!(!shows(&h.dump("session_entries").await, &said("x")));
}

fn shows(dump: &str, text: &str) -> bool {
    dump.contains(text) || dump.to_lowercase().contains(&hex::encode(text))
}
