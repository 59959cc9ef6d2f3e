//! Runs the calls that change sessions: checks the permission, then makes the one call that does it.

use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::change::{About, Append, Change, Compact, Done, NewEntry, PutDocument, Step, StepDone};
use super::commit::{Ended, SessionCommit};
use super::name::SessionName;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_hex};
use crate::domain::error::{Error, Result};
use crate::domain::idempotency::Idempotency;
use crate::domain::scheduling::contention::Contention;
use crate::domain::scheduling::cpu_pool;
use crate::domain::sessions::storage::SessionStorage;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tokens::grants::Action;

/// A document of more pieces is joined into one.
const PIECES_MAX: i64 = 64;
/// Stands in what a compaction stores for the archive's id.
const MARK: &str = "{archive_id}";

/// Sessions.
pub struct Sessions {
    pub(super) storage: Arc<dyn SessionStorage>,
    commits: Arc<SessionCommit>,
    clock: Arc<Clock>,
    quotas: Arc<Quotas>,
}

/// Who changes, with which key, until when.
pub struct SessionCall<'a> {
    pub caller: &'a Caller,
    pub idempotency: Option<(String, [u8; 32])>,
    pub deadline: Micros,
}

/// A compaction as it is asked for.
#[derive(Debug, Clone)]
pub struct CompactStream {
    pub session: SessionName,
    pub stream: String,
    pub through_seq: i64,
    pub expected_head: i64,
    pub expected_count: Option<i64>,
    pub archive_stream_prefix: String,
    /// With `{archive_id}` where its id belongs.
    pub replacement: Vec<NewEntry>,
    pub document: Option<(String, NewEntry)>,
    /// The id that the archive must get; None: whatever comes next.
    pub archive_id: Option<String>,
}

impl Sessions {
    pub fn new(
        storage: Arc<dyn SessionStorage>,
        commits: Arc<SessionCommit>,
        clock: Arc<Clock>,
        quotas: Arc<Quotas>,
    ) -> Self {
        Self { storage, commits, clock, quotas }
    }

    /// Makes the session unless it is there.
    ///
    /// # Errors
    /// `SessionTaken`; `QuotaExceeded`.
    pub async fn create(
        &self,
        asking: &SessionCall<'_>,
        session: SessionName,
        about: About,
    ) -> Result<(Session, bool)> {
        let change = Change { session: session.clone(), about: Some(about), steps: Vec::new() };
        let done = self.change(asking, change).await?;
        // Whoever may append learns what it was made with, though it may not read the rest.
        let found = self.storage.get_session(asking.caller, &session, Action::Append).await?;
        let found = found.ok_or_else(|| Error::Unavailable {
            detail: "the session was deleted meanwhile".into(),
            retry_after: Duration::from_millis(100),
        })?;
        Ok((found.session, done.created))
    }

    /// Does all of it or nothing.
    ///
    /// # Errors
    /// `HeadMoved`, `VersionConflict`, `SessionTaken`; `IdempotencyMismatch`; limits; `QuotaExceeded`.
    pub async fn change(&self, asking: &SessionCall<'_>, change: Change) -> Result<Done> {
        let caller = asking.caller;
        caller.require_session(&change.session, change.needs())?;
        cpu_pool::run_here(&caller.tenant, change.size(), || change.check()).await??;
        let adds = change.about.is_some() || change.steps.iter().any(Step::adds);
        if adds {
            self.quotas.require_bytes(caller)?;
        }
        let mut done = self.commit(asking, &change).await?;
        self.join_pieces(asking, &change, &done).await;
        if !caller.may_read_where_it_appends(&change.session) {
            done.tell_only_what_was_sent(&change);
        }
        Ok(done)
    }

    async fn commit(&self, asking: &SessionCall<'_>, change: &Change) -> Result<Done> {
        let mut contention = Contention::default();
        loop {
            let SessionCall { caller, idempotency, deadline } = asking;
            let own = Self::idempotency(caller, idempotency.as_ref(), change);
            let prepared = self.storage.prepare_session(caller, change.clone(), own, *deadline);
            match self.commits.commit(prepared.await?).await? {
                Ended::Done(done) => return Ok(done),
                Ended::Stale => contention.lost("the session keeps").await?,
            }
        }
    }

    /// Without a key from the caller it is a random one where a repetition could not be told from another's change: for a
    /// connection that is lost during the commit.
    fn idempotency(
        caller: &Caller,
        given: Option<&(String, [u8; 32])>,
        change: &Change,
    ) -> Option<Idempotency> {
        if given.is_none() && change.is_repeatable() {
            return None;
        }
        let (key, digest) = given.cloned().unwrap_or_else(|| (random_hex(), [0; 32]));
        let (caller, subject) = (caller.credential.clone(), caller.subject.clone());
        Some(Idempotency { caller, key, digest, subject, note: Vec::new() })
    }

    /// # Errors
    /// `HeadMoved` when the stream is not as the caller saw it; `NotFound`.
    pub async fn compact(
        &self,
        asking: &SessionCall<'_>,
        compact: &CompactStream,
    ) -> Result<(String, Done)> {
        let caller = asking.caller;
        caller.require_session(&compact.session, Action::Write)?;
        let mut contention = Contention::default();
        loop {
            let found = self.storage.get_session(caller, &compact.session, Action::Write).await?;
            let archives_before = found.map_or(0, |it| it.archives);
            let next = archive_id(archives_before + 1);
            let id = compact.archive_id.clone().unwrap_or(next);
            let change = compact.filled(archives_before, &id)?;
            cpu_pool::run_here(&caller.tenant, change.size(), || change.check()).await??;
            self.quotas.require_bytes(caller)?;
            let own = Self::idempotency(caller, asking.idempotency.as_ref(), &change);
            let prepared = self.storage.prepare_session(caller, change, own, asking.deadline);
            if let Ended::Done(done) = self.commits.commit(prepared.await?).await? {
                let archive = done.steps.iter().find_map(|it| match it {
                    StepDone::Compacted { archive, .. } => Some(*archive),
                    _ => None,
                });
                let id = archive.filter(|_| compact.archive_id.is_none()).map_or(id, archive_id);
                return Ok((id, done));
            }
            contention.lost("the session keeps").await?;
        }
    }

    /// # Errors
    /// `NotGranted`; a storage that cannot be written.
    pub async fn delete(&self, asking: &SessionCall<'_>, session: &SessionName) -> Result<()> {
        asking.caller.require_session(session, Action::Write)?;
        self.clock.require_before(asking.deadline)?;
        self.storage.delete_session(asking.caller, session, self.clock.now()).await
    }

    /// A document that was extended often is stored anew, in one piece. What goes wrong here is tried again with the next
    /// piece; nobody waits for more than the one.
    async fn join_pieces(&self, asking: &SessionCall<'_>, change: &Change, done: &Done) {
        for (step, done) in change.steps.iter().zip(&done.steps) {
            let (Step::ExtendDocument { name, .. }, StepDone::Stored { version, pieces, .. }) =
                (step, done)
            else {
                continue;
            };
            if *pieces <= PIECES_MAX || pieces % PIECES_MAX != 1 {
                continue;
            }
            if let Err(error) = self.join(asking, &change.session, name, *version).await {
                tracing::debug!(%error, "pieces of a document stay apart for now");
            }
        }
    }

    async fn join(
        &self,
        asking: &SessionCall<'_>,
        session: &SessionName,
        name: &str,
        version: i64,
    ) -> Result<()> {
        // As the server itself: who may append need not be one who may read.
        let server = Caller::of_tenant(asking.caller.tenant.as_str());
        let found = self.storage.get_document(&server, session, name).await?;
        let Some(content) = found.filter(|it| it.document.version == version) else {
            return Ok(());
        };
        let put = PutDocument {
            name: name.to_owned(),
            content: NewEntry { id: None, text: content.text },
            if_version: Some(version),
            only_joins: true,
        };
        let steps = vec![Step::PutDocument(put)];
        let change = Change { session: session.clone(), about: None, steps };
        let asking = SessionCall { caller: &server, idempotency: None, deadline: asking.deadline };
        match self.commit(&asking, &change).await {
            Ok(_) | Err(Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// As readers of Agentrail's placeholders find them: four digits and more.
fn archive_id(number: i64) -> String {
    format!("{number:04}")
}

impl<E> Step<E> {
    fn adds(&self) -> bool {
        !matches!(self, Self::DeleteDocument { .. } | Self::DeleteStream { .. })
    }

    /// Whether a second time changes nothing more.
    pub(super) fn repeats(&self, has_id: impl Fn(&E) -> bool) -> bool {
        match self {
            Self::Append(append) => append.if_head.is_none() && append.entries.iter().all(has_id),
            Self::PutDocument(put) => put.if_version.is_none(),
            Self::DeleteDocument { .. } | Self::DeleteStream { .. } => true,
            Self::ExtendDocument { .. } | Self::Count { .. } | Self::Compact(_) => false,
        }
    }
}

impl Change {
    /// Whether a second time changes nothing more.
    fn is_repeatable(&self) -> bool {
        self.steps.iter().all(|it| it.repeats(|entry| entry.id.is_some()))
    }
}

impl CompactStream {
    /// With the archive's id in what is stored.
    ///
    /// # Errors
    /// 422 for an id of another form.
    fn filled(&self, archives_before: i64, id: &str) -> Result<Change> {
        let is_chosen = self.archive_id.is_some();
        let number = id.parse().ok().filter(|it| (1..1 << 40).contains(it) && id.len() >= 4);
        let number: i64 = number.ok_or_else(|| {
            Error::invalid("archive_id", "an archive's id is a number with four digits or more")
        })?;
        let fill = |entry: &NewEntry| {
            let text = match std::str::from_utf8(&entry.text) {
                Ok(text) => bytes::Bytes::from(text.replace(MARK, id)),
                // A mark that is not UTF-8 around it stays: documents may hold lone surrogates.
                Err(_) => entry.text.clone(),
            };
            NewEntry { id: entry.id.clone(), text }
        };
        let compact = Compact {
            stream: self.stream.clone(),
            through_seq: self.through_seq,
            expected_head: self.expected_head,
            expected_count: self.expected_count,
            archive_stream: format!("{}{id}", self.archive_stream_prefix),
            archives_before: (!is_chosen).then_some(archives_before),
            archive_number: is_chosen.then_some(number),
            replacement: self.replacement.iter().map(fill).collect(),
            document: self.document.as_ref().map(|(name, entry)| (name.clone(), fill(entry))),
        };
        let steps = vec![Step::Compact(Box::new(compact))];
        Ok(Change { session: self.session.clone(), about: None, steps })
    }
}

/// One append to one stream, the usual change.
pub fn append(stream: impl Into<String>, entries: Vec<NewEntry>) -> Step<NewEntry> {
    Step::Append(Append { stream: stream.into(), entries, if_head: None })
}
