//! Tests sessions: streams, documents and counters.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use threadkeep::domain::sessions::change::{About, Append, Step, StepDone};
use threadkeep::domain::sessions::loading::{Load, Loaded};
use threadkeep::domain::sessions::service::SessionCall;
use threadkeep::domain::sessions::storage::{FindDocuments, ListSessions};
use threadkeep::domain::{Conflict, Error};
use threadkeep::storage::{self, ReadTimes, StorageConfig};

use crate::harness::{Harness, NEVER, config, conflict};

use crate::session_calls::*;

pub async fn entries_come_back_exactly_and_in_order(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let odd = name(&["-home/x", "", "a\0\u{1}b", "..", "%2F"]);
    assert_eq!(desk.load(&odd, Load::default()).await, None);
    let large = format!(r#"{{"t":"{}"}}"#, "0123456789abcdef".repeat(700_000));
    let texts = [
        r#"{ "n" : 1.0, "big":123456789012345678901234567890, "nul":"\u0000", "lone":"\ud800" }"#,
        "null",
        r#"[1,{"unknown":[]}]"#,
        large.as_str(),
        "\"\"",
    ];
    let done = desk.append(&odd, &texts).await.unwrap();
    assert_eq!(appended(&done), (Some(1), Some(5), 5, 5));
    assert!(done.created);
    assert_eq!(desk.texts(&odd, "").await, texts);
    let again = desk.append(&odd, &["6"]).await.unwrap();
    assert_eq!((appended(&again), again.created), ((Some(6), Some(6), 6, 1), false));
    // Another server reads the same.
    let other = another_server(&harness).await;
    assert_eq!(other.texts(&odd, "").await.len(), 6);
    for stranger in [name(&["-home/x"]), name(&["-home/x", "", "a\0\u{1}b", ".."])] {
        assert_eq!(desk.load(&stranger, Load::default()).await, None);
    }
}

pub async fn an_append_of_nothing_leaves_nothing(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    let done = desk.append(&session, &[]).await.unwrap();
    assert_eq!(appended(&done), (None, None, 0, 0));
    assert_eq!(desk.load(&session, Load::default()).await, None);
    assert!(desk.list(all_of_kind()).await.is_empty());
    desk.append(&session, &["1"]).await.unwrap();
    assert_eq!(appended(&desk.append(&session, &[]).await.unwrap()), (None, None, 1, 0));
    assert_eq!(harness.count("select count(*) from sessions").await, 1);
}

pub async fn an_id_comes_once_in_a_stream(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    let of = |stream: &str, ids: &[&str]| {
        append(stream, ids.iter().map(|it| entry(Some(it), &format!("\"{it}\""))).collect())
    };
    let first = desk.change(&session, vec![of("", &["a", "b", "a"])]).await.unwrap();
    assert_eq!(appended(&first), (Some(1), Some(2), 2, 2));
    let second = desk.change(&session, vec![of("", &["b", "c", ""])]).await.unwrap();
    assert_eq!(appended(&second), (Some(3), Some(4), 4, 2));
    assert_eq!(desk.texts(&session, "").await, ["\"a\"", "\"b\"", "\"c\"", "\"\""]);
    let third = desk.change(&session, vec![of("", &["a"])]).await.unwrap();
    assert_eq!(appended(&third), (None, None, 4, 0));
    // Ids are of a stream; without one an entry is always new.
    desk.change(&session, vec![of("sub/1", &["a"])]).await.unwrap();
    assert_eq!(desk.texts(&session, "sub/1").await, ["\"a\""]);
    desk.append(&session, &["1", "1"]).await.unwrap();
    assert_eq!(desk.texts(&session, "").await.len(), 6);
    // A stream that was deleted has none.
    desk.change(&session, vec![Step::DeleteStream { stream: "sub/1".into() }]).await.unwrap();
    assert_eq!(desk.load(&session, Load { stream: "sub/1".into(), ..Load::default() }).await, None);
    desk.change(&session, vec![of("sub/1", &["a"])]).await.unwrap();
    assert_eq!(desk.texts(&session, "sub/1").await, ["\"a\""]);
}

pub async fn a_condition_on_the_head_holds_or_nothing_happens(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    let at = |if_head| {
        let entries = vec![entry(None, "1")];
        let append = Append { stream: String::new(), entries, if_head: Some(if_head) };
        vec![Step::Append(append), put("summary", "s", None)]
    };
    let refused = conflict(desk.change(&session, at(1)).await);
    assert_eq!(refused, Conflict::HeadMoved { current: 0 });
    assert_eq!(harness.count("select count(*) from sessions").await, 0);
    desk.change(&session, at(0)).await.unwrap();
    assert_eq!(conflict(desk.change(&session, at(0)).await), Conflict::HeadMoved { current: 1 });
    // A document that does not fit takes the entries with it.
    let steps = vec![append("", vec![entry(None, "2")]), put("summary", "x", Some(1))];
    assert!(matches!(
        conflict(desk.change(&session, steps).await),
        Conflict::VersionConflict { .. }
    ));
    assert_eq!(desk.texts(&session, "").await, ["1"]);
    assert_eq!(desk.document(&session, "summary").await.as_deref(), Some("s"));
}

pub async fn loads_cut_as_they_are_asked_to(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    let texts: Vec<String> = (1..=20).map(|it| format!("\"{it:08}\"")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    desk.append(&session, &texts).await.unwrap();
    let seqs = |loaded: &Loaded| loaded.entries.iter().map(|it| it.seq).collect::<Vec<_>>();
    let all = Load::default();
    for (load, expected, more) in [
        (Load { after_seq: Some(17), ..all.clone() }, vec![18, 19, 20], false),
        (Load { after_seq: Some(20), ..all.clone() }, vec![], false),
        (Load { limit: Some(2), ..all.clone() }, vec![1, 2], true),
        (Load { limit: Some(0), ..all.clone() }, vec![], true),
        (Load { after_seq: Some(18), limit: Some(2), ..all.clone() }, vec![19, 20], false),
        (Load { tail: Some(2), ..all.clone() }, vec![19, 20], true),
        (Load { tail: Some(20), ..all.clone() }, (1..=20).collect(), false),
        (Load { tail: Some(3), after_seq: Some(18), ..all.clone() }, vec![19, 20], false),
        // Ten bytes each.
        (Load { bytes_max: Some(25), ..all.clone() }, vec![1, 2, 3], true),
        (Load { bytes_max: Some(1), ..all.clone() }, vec![1], true),
        (Load { bytes_max: Some(1), tail: Some(5), ..all.clone() }, vec![20], true),
    ] {
        let loaded = desk.load(&session, load.clone()).await.unwrap();
        assert_eq!((seqs(&loaded), loaded.more, loaded.head), (expected, more, 20), "{load:?}");
    }
    let message = r#"{"role":"user","content":"12345678"}"#;
    desk.change(&session, vec![append("m", (0..300).map(|_| entry(None, message)).collect())])
        .await
        .unwrap();
    // Six tokens each: over the first page of what is looked at together.
    for (budget, expected) in [(0, 1), (17, 2), (18, 3), (1_560, 260), (10_000, 300)] {
        let load = Load { stream: "m".into(), token_budget: Some(budget), ..all.clone() };
        let loaded = desk.load(&session, load).await.unwrap();
        let expected: Vec<i64> = (301 - expected..=300).collect();
        assert_eq!((seqs(&loaded), loaded.head), (expected.clone(), 300), "{budget}");
        assert_eq!(loaded.more, expected.len() < 300);
    }
}

pub async fn a_repeated_change_is_answered_once(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    let steps = || {
        vec![
            append("", vec![entry(None, "1"), entry(Some("x"), "2")]),
            extend("NOTES.md", "n"),
            Step::Count { counter: "turns".into(), by: 1 },
        ]
    };
    let first = desk.change_once(&session, steps(), Some(("key", 1))).await.unwrap();
    let second = desk.change_once(&session, steps(), Some(("key", 1))).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(desk.texts(&session, "").await, ["1", "2"]);
    assert_eq!(desk.document(&session, "NOTES.md").await.as_deref(), Some("n"));
    let other = desk.change_once(&session, steps(), Some(("key", 2))).await.unwrap_err();
    assert!(matches!(other, Error::IdempotencyMismatch), "{other}");
    // Many at once, of which each is sent twice.
    let desk = Arc::new(desk);
    let tasks = (0..40).map(|at| {
        let (desk, session) = (Arc::clone(&desk), session.clone());
        tokio::spawn(async move {
            let key = format!("k{}", at / 2);
            let count = vec![Step::Count { counter: "many".into(), by: 1 }];
            desk.change_once(&session, count, Some((&key, 7))).await.unwrap()
        })
    });
    let mut values = BTreeSet::new();
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap().steps[0] {
            StepDone::Counted { value } => values.insert(value),
            ref other => panic!("{other:?}"),
        };
    }
    assert_eq!(values, (1..=20).collect());
}

pub async fn documents_have_versions_and_grow(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let session = name(&["s"]);
    assert_eq!(desk.document(&session, "d").await, None);
    let first = desk.change(&session, vec![put("d", "a\0b", Some(0))]).await.unwrap();
    let first = version(&first.steps[0]);
    let again = conflict(desk.change(&session, vec![put("d", "x", Some(0))]).await);
    assert_eq!(again, Conflict::VersionConflict { current: first });
    desk.change(&session, vec![put("d", "second", Some(first))]).await.unwrap();
    // Over the number of pieces that are joined, and with one that lies in chunks.
    let large = "large ".repeat(20_000);
    let mut expected = "second".to_owned();
    for at in 0..150 {
        let piece = if at == 70 { large.clone() } else { format!("|{at}") };
        desk.change(&session, vec![extend("d", &piece)]).await.unwrap();
        expected.push_str(&piece);
    }
    assert_eq!(desk.document(&session, "d").await, Some(expected.clone()));
    let pieces = harness.count("select count(*) from session_entries").await;
    assert!(pieces < 80, "{pieces} pieces");
    let listed = desk.sessions.list_documents(&desk.caller, &session, "").await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].size_bytes, i64::try_from(expected.len()).unwrap());
    // A put for each extension, and one that made it: joining changes no version.
    assert_eq!(listed[0].version, first + 151);
    let sized = "select size_bytes from sessions";
    assert_eq!(harness.count(sized).await, listed[0].size_bytes);
    desk.change(&session, vec![put("d", "", None), put("e/1", "x", None)]).await.unwrap();
    assert_eq!(desk.document(&session, "d").await.as_deref(), Some(""));
    let of = |prefix: &'static str| desk.sessions.list_documents(&desk.caller, &session, prefix);
    assert_eq!(of("e").await.unwrap().len(), 1);
    assert_eq!(of("").await.unwrap().len(), 2);
    desk.change(&session, vec![Step::DeleteDocument { name: "d".into() }]).await.unwrap();
    assert_eq!(desk.document(&session, "d").await, None);
    assert_eq!(of("").await.unwrap().len(), 1);
    let last = desk.change(&session, vec![put("d", "new", Some(0))]).await.unwrap();
    assert!(version(&last.steps[0]) > first, "no version comes twice");
}

pub async fn documents_of_many_sessions_are_found_together(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let large = "x".repeat(100_000);
    for (project, id) in [("p", "1"), ("p", "2"), ("q", "1")] {
        let text = format!("{project}{id}{large}");
        let session = name(&[project, id]);
        desk.change(&session, vec![put("summary", &text, None), extend("summary", "!")])
            .await
            .unwrap();
    }
    desk.append(&name(&["p", "3"]), &["1"]).await.unwrap();
    let find = |prefix: &[&str]| FindDocuments {
        kind: "kind".into(),
        key_prefix: prefix.iter().map(|it| (*it).to_owned()).collect(),
        name: "summary".into(),
    };
    let found = desk.sessions.find_documents(&desk.caller, &find(&["p"])).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|(name, it)| (name.key()[1].clone(), it.text[..2].to_vec(), it.text.last().copied()))
        .collect();
    let expected = |id: &str| (id.to_owned(), format!("p{id}").into_bytes(), Some(b'!'));
    assert_eq!(found, [expected("1"), expected("2")]);
    let all = desk.sessions.find_documents(&desk.caller, &find(&[])).await.unwrap();
    assert_eq!(all.len(), 3);
    assert!(desk.sessions.find_documents(&desk.caller, &find(&["r"])).await.unwrap().is_empty());
}

/// Comparing each with each of so many would take several times as long as the search may.
pub async fn thousands_of_documents_are_found_in_time(harness: Harness) {
    const SESSIONS: usize = 4_000;
    let read_times = ReadTimes { search: Duration::from_secs(4), ..ReadTimes::default() };
    let config = StorageConfig { exclusive: false, read_times, ..config(harness.url()) };
    let desk = Desk::of(&storage::open(&config).await.unwrap(), &harness.caller).await;
    let all: Vec<usize> = (0..SESSIONS).collect();
    for some in all.chunks(500) {
        let put = async |at: &usize| {
            let steps = vec![put("summary", &format!("of {at}"), None)];
            desk.change(&name(&["p", &format!("{at:04}")]), steps).await
        };
        join_all(some.iter().map(put)).await.into_iter().for_each(|it| assert!(it.is_ok()));
    }
    let find =
        FindDocuments { kind: "kind".into(), key_prefix: Vec::new(), name: "summary".into() };
    let found = desk.sessions.find_documents(&desk.caller, &find).await.unwrap();
    let texts = found.iter().map(|(_, it)| String::from_utf8(it.text.to_vec()).unwrap());
    assert!(texts.eq((0..SESSIONS).map(|at| format!("of {at}"))));
}

pub async fn sessions_are_listed_newest_first(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let create = async |key: &[&str], user: &str| {
        let about = About {
            user: Some(user.into()),
            title: Some(format!("of {user}")),
            ..About::default()
        };
        let asking = SessionCall { caller: &desk.caller, idempotency: None, deadline: NEVER };
        desk.sessions.create(&asking, name(key), about).await.unwrap()
    };
    for (key, user) in [(["p", "1"], "ann"), (["p", "2"], "bob"), (["q", "1"], "ann")] {
        assert!(create(&key, user).await.1);
    }
    // First one wins.
    let (session, created) = create(&["p", "1"], "eve").await;
    assert_eq!((session.user.as_deref(), created), (Some("ann"), false));
    assert_eq!(session.title.as_deref(), Some("of ann"));
    desk.append(&name(&["p", "1"]), &["1"]).await.unwrap();
    desk.change(&name(&["p", "2"]), vec![append("sub", vec![entry(None, "1")])]).await.unwrap();
    let all = desk.list(all_of_kind()).await;
    assert_eq!(all, [["p", "2"], ["p", "1"], ["q", "1"]]);
    let of_ann = ListSessions { user: Some("ann".into()), ..all_of_kind() };
    assert_eq!(desk.list(of_ann).await, [["p", "1"], ["q", "1"]]);
    let of_p = ListSessions { key_prefix: vec!["p".into()], ..all_of_kind() };
    assert_eq!(desk.list(of_p.clone()).await, [["p", "2"], ["p", "1"]]);
    let with_main = ListSessions { stream: Some(String::new()), ..all_of_kind() };
    assert_eq!(desk.list(with_main).await, [["p", "1"]], "only streams below are no transcript");
    let other = ListSessions { kind: "other".into(), ..all_of_kind() };
    assert!(desk.list(other).await.is_empty());
    // Page by page.
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let query = ListSessions { limit: 1, after, ..all_of_kind() };
        let page = desk.sessions.list(&desk.caller, query).await.unwrap();
        keys.extend(page.sessions.iter().map(|it| it.name.key().to_vec()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(keys, all);
    let streams = desk.sessions.list_streams(&desk.caller, &name(&["p", "2"])).await.unwrap();
    assert_eq!(
        streams.iter().map(|it| (it.stream.as_str(), it.head)).collect::<Vec<_>>(),
        [("sub", 1)]
    );
}
