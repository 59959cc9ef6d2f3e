//! Tests exports and imports of sessions.

use threadkeep::domain::export::records::Existing;
use threadkeep::domain::sessions::change::Step;

use crate::doctor::examine;
use crate::export_files::{exported, imported, options, other_engine, read_in};
use crate::harness::{Harness, conflict};
use crate::session_calls::{Desk, append, compaction, entry, extend, name, put};

async fn populate(h: &Harness) -> Desk {
    let desk = Desk::on(h).await;
    let session = name(&["p", "with/slash"]);
    let large = format!("\"{}\"", "y".repeat(200_000));
    let texts: Vec<String> = (1..=12).map(|it| it.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    desk.append(&session, &texts).await.unwrap();
    let steps = vec![
        append("sub", vec![entry(Some("a\0b"), &large), entry(None, "2")]),
        put("summary", "first", None),
        extend("summary", " and more"),
        Step::Count { counter: "c".into(), by: 3 },
        append("gone", vec![entry(None, "0")]),
    ];
    desk.change(&session, steps).await.unwrap();
    desk.compact(&compaction(&session, 4, 12)).await.unwrap();
    let again = compaction(&session, 6, 12);
    let again =
        threadkeep::domain::sessions::service::CompactStream { expected_count: Some(3), ..again };
    desk.compact(&again).await.unwrap();
    let steps = vec![
        Step::DeleteStream { stream: "gone".into() },
        put("summary", "second", None),
        extend("summary", ", grown"),
    ];
    desk.change(&session, steps).await.unwrap();
    desk.append(&name(&["other"]), &["\"x\""]).await.unwrap();
    desk
}

pub async fn sessions_travel_to_the_other_engine_and_back(h: Harness) {
    let desk = populate(&h).await;
    let first = exported(&h).await;
    let between = other_engine(&h).await;
    assert_eq!(imported(&between, &first).await.sessions.created, 2);
    assert_eq!(exported(&between).await, first);
    let back = if h.is_sqlite() { Harness::sqlite().await } else { Harness::postgres().await };
    imported(&back, &exported(&between).await).await;
    assert_eq!(exported(&back).await, first);
    let session = name(&["p", "with/slash"]);
    for it in [&between, &back] {
        let there = Desk::on(it).await;
        for stream in ["", "sub", "archives/0001", "archives/0002", "gone"] {
            let (here, there) = (desk.texts(&session, stream).await, there.texts(&session, stream));
            assert_eq!(there.await, here, "{stream}");
        }
        assert_eq!(there.document(&session, "summary").await.as_deref(), Some("second, grown"));
        let counters = there.sessions.get_counters(&there.caller, &session, &["c"]).await;
        assert_eq!(counters.unwrap(), [3]);
        let report = examine(it, false).await;
        assert!(report.is_sound(), "{report:?}");
        // Numbers go on, and an id that came comes no second time.
        let steps = vec![append("sub", vec![entry(Some("a\0b"), "1"), entry(Some("new"), "3")])];
        there.change(&session, steps).await.unwrap();
        assert_eq!(there.texts(&session, "sub").await.len(), 3);
        there.append(&session, &["13"]).await.unwrap();
    }
}

pub async fn a_session_that_moved_on_is_refused_or_replaced(h: Harness) {
    let desk = populate(&h).await;
    let file = exported(&h).await;
    let again = imported(&h, &file).await;
    assert_eq!((again.sessions.unchanged, again.sessions.created), (2, 0));
    let other = name(&["other"]);
    desk.append(&other, &["\"later\""]).await.unwrap();
    let refused = conflict(read_in(&h, &h.caller, &file, &options(Existing::Refuse)).await);
    assert!(refused.to_string().contains("kind other"), "{refused}");
    assert_eq!(desk.texts(&other, "").await.len(), 2);
    let done = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!((done.sessions.replaced, done.sessions.unchanged), (1, 1));
    assert_eq!(desk.texts(&other, "").await, ["\"x\""]);
    desk.append(&other, &["\"again\""]).await.unwrap();
    let report = examine(&h, true).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(h.count("select count(*) from garbage").await, 0);
}
