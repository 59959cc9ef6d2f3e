//! Sessions: streams, documents and counters, through the same queue as the server's.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::grants::{Actions, Grant, Scoped, Selector};
use threadkeep::domain::quotas::Quotas;
use threadkeep::domain::rates::Rates;
use threadkeep::domain::sessions::change::{
    About, Append, Change, Done, NewEntry, PutDocument, Step, StepDone,
};
use threadkeep::domain::sessions::commit::SessionCommit;
use threadkeep::domain::sessions::loading::{Load, Loaded};
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::sessions::service::{Asking, CompactStream, Sessions};
use threadkeep::domain::sessions::storage::{FindDocuments, ListSessions};
use threadkeep::domain::storage::Storage;
use threadkeep::domain::{Conflict, Error, Result};
use tokio::task::JoinHandle;

use crate::harness::{Harness, NEVER, conflict, masters};

/// What callers use, on one server.
pub struct Desk {
    pub sessions: Arc<Sessions>,
    pub caller: Caller,
}

impl Desk {
    pub async fn of(storage: &Arc<dyn Storage>, caller: &Caller) -> Self {
        let clock = Arc::new(Clock::System);
        let quotas = Quotas::load(Arc::clone(storage), Arc::clone(&clock), Rates::default()).await;
        let commits = Arc::new(SessionCommit::start(storage, &clock));
        let sessions = Sessions::new(Arc::clone(storage), commits, clock, Arc::new(quotas.unwrap()));
        Self { sessions: Arc::new(sessions), caller: caller.clone() }
    }

    pub async fn on(harness: &Harness) -> Self {
        Self::of(&harness.storage, &harness.caller).await
    }

    /// The same server for somebody else.
    pub fn for_caller(&self, caller: Caller) -> Self {
        Self { sessions: Arc::clone(&self.sessions), caller }
    }

    pub async fn change(&self, session: &SessionName, steps: Vec<Step<NewEntry>>) -> Result<Done> {
        self.change_once(session, steps, None).await
    }

    async fn change_once(
        &self,
        session: &SessionName,
        steps: Vec<Step<NewEntry>>,
        key: Option<(&str, u8)>,
    ) -> Result<Done> {
        let idempotency = key.map(|(key, digest)| (key.to_owned(), [digest; 32]));
        let asking = Asking { caller: &self.caller, idempotency, deadline: NEVER };
        let change = Change { session: session.clone(), about: None, steps };
        self.sessions.change(&asking, change).await
    }

    pub async fn append(&self, session: &SessionName, texts: &[&str]) -> Result<Done> {
        let entries = texts.iter().map(|it| entry(None, it)).collect();
        self.change(session, vec![append("", entries)]).await
    }

    pub async fn load(&self, session: &SessionName, load: Load) -> Option<Loaded> {
        self.sessions.load(&self.caller, session, &load).await.unwrap()
    }

    /// All texts of a stream.
    pub async fn texts(&self, session: &SessionName, stream: &str) -> Vec<String> {
        let load = Load { stream: stream.into(), ..Load::default() };
        let loaded = self.load(session, load).await.unwrap_or_default();
        assert!(!loaded.more);
        loaded.entries.iter().map(|it| String::from_utf8(it.data.to_vec()).unwrap()).collect()
    }

    async fn document(&self, session: &SessionName, name: &str) -> Option<String> {
        let found = self.sessions.get_document(&self.caller, session, name).await.unwrap()?;
        assert_eq!(found.document.size_bytes, i64::try_from(found.text.len()).unwrap());
        Some(String::from_utf8(found.text.to_vec()).unwrap())
    }

    async fn list(&self, query: ListSessions) -> Vec<Vec<String>> {
        let page = self.sessions.list(&self.caller, query).await.unwrap();
        page.sessions.into_iter().map(|it| it.name.key().to_vec()).collect()
    }

    async fn compact(&self, compact: &CompactStream) -> Result<(String, Done)> {
        let asking = Asking { caller: &self.caller, idempotency: None, deadline: NEVER };
        self.sessions.compact(&asking, compact).await
    }

    async fn delete(&self, session: &SessionName) {
        let asking = Asking { caller: &self.caller, idempotency: None, deadline: NEVER };
        self.sessions.delete(&asking, session).await.unwrap();
    }
}

/// With a memory of its own where there can be two servers.
pub async fn another_server(harness: &Harness) -> Desk {
    let storage = match harness.storage.name() {
        "sqlite" => Arc::clone(&harness.storage),
        _ => harness.open_with(masters(), None).await.unwrap(),
    };
    Desk::of(&storage, &harness.caller).await
}

pub fn name(key: &[&str]) -> SessionName {
    SessionName::new("kind", key.iter().map(|it| (*it).to_owned()).collect()).unwrap()
}

pub fn entry(id: Option<&str>, text: &str) -> NewEntry {
    NewEntry { id: id.map(str::to_owned), text: Bytes::from(text.to_owned()) }
}

pub fn append(stream: &str, entries: Vec<NewEntry>) -> Step<NewEntry> {
    Step::Append(Append { stream: stream.into(), entries, if_head: None })
}

fn put(name: &str, text: &str, if_version: Option<i64>) -> Step<NewEntry> {
    let content = entry(None, text);
    Step::PutDocument(PutDocument { name: name.into(), content, if_version, only_joins: false })
}

fn extend(name: &str, text: &str) -> Step<NewEntry> {
    Step::ExtendDocument { name: name.into(), content: entry(None, text) }
}

fn appended(done: &Done) -> (Option<i64>, Option<i64>, i64, i64) {
    match done.steps[0] {
        StepDone::Appended { first, last, head, appended } => (first, last, head, appended),
        ref other => panic!("{other:?}"),
    }
}

fn version(step: &StepDone) -> i64 {
    match step {
        StepDone::Stored { version, .. } => *version,
        other => panic!("{other:?}"),
    }
}

fn all_of_kind() -> ListSessions {
    ListSessions { kind: "kind".into(), limit: 500, ..ListSessions::default() }
}

pub fn compaction(session: &SessionName, through_seq: i64, expected_head: i64) -> CompactStream {
    CompactStream {
        session: session.clone(),
        stream: String::new(),
        through_seq,
        expected_head,
        expected_count: None,
        archive_stream_prefix: "archives/".into(),
        replacement: vec![entry(None, r#""see {archive_id}""#)],
        document: Some(("NOTES.md".into(), entry(None, "[{archive_id}]"))),
        archive_id: None,
        steps: Vec::new(),
    }
}

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

pub async fn sessions_are_listed_newest_first(harness: Harness) {
    let desk = Desk::on(&harness).await;
    let create = async |key: &[&str], user: &str| {
        let about = About { user: Some(user.into()), title: Some(format!("of {user}")), ..About::default() };
        let asking = Asking { caller: &desk.caller, idempotency: None, deadline: NEVER };
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
    assert_eq!(streams.iter().map(|it| (it.stream.as_str(), it.head)).collect::<Vec<_>>(), [("sub", 1)]);
}

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
    for (table, left) in [("sessions", 2), ("session_logs", 8), ("session_entries", 8), ("scopes", 2)] {
        let count = harness.count(&format!("select count(*) from {table}")).await;
        assert_eq!(count, left, "{table}");
    }
    let chunks = "select count(distinct scope_id) from chunks";
    assert_eq!(harness.count(chunks).await, 2);
    // Made again, it has nothing of before, and another scope.
    let done = desk.append(&session, &["\"new\""]).await.unwrap();
    assert_eq!((appended(&done), done.created), ((Some(1), Some(1), 1, 1), true));
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
    assert_eq!(all.entries.iter().map(|it| it.seq).collect::<Vec<_>>(), (4..=12).collect::<Vec<_>>());
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
    assert_eq!(tail.entries.iter().map(|it| it.seq).collect::<Vec<_>>(), (6..=13).collect::<Vec<_>>());
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
    desk.change(&session, vec![Step::DeleteStream { stream: "archives/0002".into() }]).await.unwrap();
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
    assert_eq!(conflict(bob.change(&session, vec![put("d", "y", None)]).await), Conflict::SessionTaken);
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
    assert_eq!(ann.texts(&session, "").await, ["1", "3"]);
}
