//! Changes sessions for tests, through the same queue as the server's.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::sessions::change::{
    Append, Change, Done, NewEntry, PutDocument, Step, StepDone,
};
use threadkeep::domain::sessions::commit::SessionCommit;
use threadkeep::domain::sessions::loading::{Load, Loaded};
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::sessions::service::{CompactStream, SessionCall, Sessions};
use threadkeep::domain::sessions::storage::ListSessions;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;

use crate::harness::{Harness, NEVER, masters};

/// What callers use, on one server.
pub struct Desk {
    pub sessions: Arc<Sessions>,
    pub caller: Caller,
}

impl Desk {
    pub async fn of(storage: &Arc<dyn Storage>, caller: &Caller) -> Self {
        let clock = Arc::new(Clock::System);
        let quotas = Quotas::load(storage.clone(), Arc::clone(&clock), Rates::default()).await;
        let commits = Arc::new(SessionCommit::start(storage.clone(), &clock));
        let sessions = Sessions::new(storage.clone(), commits, clock, Arc::new(quotas.unwrap()));
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

    pub async fn change_once(
        &self,
        session: &SessionName,
        steps: Vec<Step<NewEntry>>,
        key: Option<(&str, u8)>,
    ) -> Result<Done> {
        let idempotency = key.map(|(key, digest)| (key.to_owned(), [digest; 32]));
        let asking = SessionCall { caller: &self.caller, idempotency, deadline: NEVER };
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

    pub async fn document(&self, session: &SessionName, name: &str) -> Option<String> {
        let found = self.sessions.get_document(&self.caller, session, name).await.unwrap()?;
        assert_eq!(found.document.size_bytes, i64::try_from(found.text.len()).unwrap());
        Some(String::from_utf8(found.text.to_vec()).unwrap())
    }

    pub async fn list(&self, query: ListSessions) -> Vec<Vec<String>> {
        let page = self.sessions.list(&self.caller, query).await.unwrap();
        page.sessions.into_iter().map(|it| it.name.key().to_vec()).collect()
    }

    pub async fn compact(&self, compact: &CompactStream) -> Result<(String, Done)> {
        let asking = SessionCall { caller: &self.caller, idempotency: None, deadline: NEVER };
        self.sessions.compact(&asking, compact).await
    }

    pub async fn delete(&self, session: &SessionName) {
        let asking = SessionCall { caller: &self.caller, idempotency: None, deadline: NEVER };
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

pub fn put(name: &str, text: &str, if_version: Option<i64>) -> Step<NewEntry> {
    let content = entry(None, text);
    Step::PutDocument(PutDocument { name: name.into(), content, if_version, only_joins: false })
}

pub fn extend(name: &str, text: &str) -> Step<NewEntry> {
    Step::ExtendDocument { name: name.into(), content: entry(None, text) }
}

pub fn appended(done: &Done) -> (Option<i64>, Option<i64>, i64, i64) {
    match done.steps[0] {
        StepDone::Appended { first, last, head, appended } => (first, last, head, appended),
        ref other => panic!("{other:?}"),
    }
}

pub fn version(step: &StepDone) -> i64 {
    match step {
        StepDone::Stored { version, .. } => *version,
        other => panic!("{other:?}"),
    }
}

pub fn all_of_kind() -> ListSessions {
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
    }
}
