//! What changes of many callers do to sessions, decided in memory: from the rows as they are under the gates to the rows that
//! are written and the answers. Pure, and the same for every engine.
//!
//! **Invariants:** entries of a log have the numbers 1, 2, … without a gap; a change happens whole or not at all.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::change::{Append, Compact, Done, PreparedChange, PreparedEntry, PutDocument, Step, StepDone};
use super::SESSION;
use super::name::SessionName;
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error};
use crate::domain::limits::LIMITS;

/// What a row of `session_logs` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    Stream = 0,
    Document = 1,
    Counter = 2,
    /// Its rows are to be removed.
    Removed = 3,
}

/// A session as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub session_no: i64,
    pub scope_id: i64,
    /// Of the content scope.
    pub epoch: i64,
    pub owner: Option<String>,
    pub updated_at: Micros,
    pub archives: i64,
    pub next_log: i64,
    pub size_bytes: i64,
}

/// A row of `session_logs`; see the migration for what it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRow {
    pub log_no: i64,
    pub era: i64,
    pub floor: i64,
    pub ceiling: Option<i64>,
    pub head: i64,
    pub compacted_head: i64,
    pub version: i64,
    pub size_bytes: i64,
    pub updated_at: Micros,
}

/// Which log: session of the batch, part, name.
pub type LogKey = (usize, Part, String);

/// Changes that are written together, and the sessions that they are about.
#[derive(Debug, Default)]
pub struct Batch {
    pub now: Micros,
    pub commands: Vec<PreparedChange>,
    /// (tenant, name), in that order.
    pub sessions: Vec<(String, SessionName)>,
    /// Of each command.
    pub session_of: Vec<usize>,
}

/// The rows as they are, all of one moment.
#[derive(Debug, Default)]
pub struct State {
    pub sessions: Vec<Option<SessionRow>>,
    pub logs: HashMap<LogKey, LogRow>,
    /// Ids that a stream has, of those that the batch brings.
    pub ids: HashSet<(usize, String, String)>,
    /// Answers of earlier requests with the key of a command; None: of another request.
    pub priors: HashMap<usize, Option<Done>>,
}

/// How a command ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    Done(Done),
    Refused(Error),
    /// It was prepared for a scope, an epoch or an archive that is not the one: prepare it again.
    Stale { scope_id: Option<i64> },
}

/// Rows to write.
#[derive(Debug, Default)]
pub struct Effects {
    /// Sessions to make, with the command that describes each.
    pub made: BTreeMap<usize, usize>,
    /// Their rows, and those of all others that change.
    pub sessions: BTreeMap<usize, SessionRow>,
    /// None: the row goes.
    pub logs: BTreeMap<LogKey, Option<LogRow>>,
    pub entries: Vec<EntryRow>,
    /// Pieces of documents that go: session, log, through which number.
    pub gone: BTreeMap<(usize, i64), i64>,
    /// Sessions that leave content behind.
    pub trash: BTreeSet<usize>,
    /// Commands whose chunks are written.
    pub writers: Vec<usize>,
    /// Answers to keep, by command.
    pub answers: Vec<(usize, Done)>,
}

#[derive(Debug, Clone)]
pub struct EntryRow {
    pub session: usize,
    pub log_no: i64,
    pub era: i64,
    pub seq: i64,
    pub at: Micros,
    pub entry: PreparedEntry,
}

impl Batch {
    pub fn new(commands: Vec<PreparedChange>, now: Micros) -> Self {
        let key = |it: &PreparedChange| (it.tenant.clone(), it.session.clone());
        let sessions: BTreeSet<(String, SessionName)> = commands.iter().map(key).collect();
        let sessions: Vec<(String, SessionName)> = sessions.into_iter().collect();
        let at = |it: &PreparedChange| sessions.binary_search(&key(it)).unwrap_or_default();
        let session_of = commands.iter().map(at).collect();
        Self { now, commands, sessions, session_of }
    }

    /// The logs that decide.
    pub fn logs(&self) -> BTreeSet<LogKey> {
        let mut keys = BTreeSet::new();
        for (at, step) in self.steps() {
            let mut want = |part, name: &String| keys.insert((at, part, name.clone()));
            match step {
                Step::Append(it) => want(Part::Stream, &it.stream),
                Step::PutDocument(it) => want(Part::Document, &it.name),
                Step::ExtendDocument { name, .. } | Step::DeleteDocument { name } => {
                    want(Part::Document, name)
                }
                Step::DeleteStream { stream } => want(Part::Stream, stream),
                Step::Count { counter, .. } => want(Part::Counter, counter),
                Step::Compact(it) => {
                    want(Part::Stream, &it.archive_stream);
                    if let Some((name, _)) = &it.document {
                        want(Part::Document, name);
                    }
                    want(Part::Stream, &it.stream)
                }
            };
        }
        keys
    }

    /// The ids that decide: session, stream, id.
    pub fn ids(&self) -> BTreeSet<(usize, String, String)> {
        let mut ids = BTreeSet::new();
        for (at, step) in self.steps() {
            let Step::Append(append) = step else { continue };
            let own = append.entries.iter().filter_map(|it| it.id.clone());
            ids.extend(own.map(|id| (at, append.stream.clone(), id)));
        }
        ids
    }

    fn steps(&self) -> impl Iterator<Item = (usize, &Step<PreparedEntry>)> {
        let commands = self.commands.iter().zip(&self.session_of);
        commands.flat_map(|(command, at)| command.steps.iter().map(move |it| (*at, it)))
    }
}

/// Decides everything. `may_make` says of a command whether its scope may make a session.
pub fn settle(
    batch: &Batch,
    mut state: State,
    may_make: impl Fn(&PreparedChange) -> bool,
) -> (Vec<Outcome>, Effects) {
    let mut effects = Effects::default();
    let mut outcomes = Vec::with_capacity(batch.commands.len());
    for (at, command) in batch.commands.iter().enumerate() {
        let prior = state.priors.get(&at).cloned();
        outcomes.push(match prior {
            Some(Some(done)) => Outcome::Done(done),
            Some(None) => Outcome::Refused(Error::IdempotencyMismatch),
            None => settle_one(batch, at, &mut state, &mut effects, may_make(command)),
        });
    }
    effects.drop_gone();
    (outcomes, effects)
}

fn settle_one(
    batch: &Batch,
    at: usize,
    state: &mut State,
    effects: &mut Effects,
    may_make: bool,
) -> Outcome {
    let (command, session) = (&batch.commands[at], batch.session_of[at]);
    let found = state.sessions[session].clone();
    let (row, created) = match found {
        Some(row) => {
            if command.if_owner.is_some() && command.if_owner != row.owner {
                // What is another's is absent to a removal.
                return if command.only_removes() {
                    Outcome::Done(command.nothing_removed())
                } else {
                    Outcome::Refused(Error::Conflict(Conflict::SessionTaken))
                };
            }
            let other_scope = command.needs_scope && command.scope.id != row.scope_id;
            let other_epoch = command.epoch.is_some_and(|it| it != row.epoch);
            if other_scope || other_epoch {
                return Outcome::Stale { scope_id: Some(row.scope_id) };
            }
            (row, false)
        }
        None if command.adds_nothing() => return command.appended_nothing(),
        None if command.only_removes() => return Outcome::Done(command.nothing_removed()),
        None if command.steps.iter().any(|it| matches!(it, Step::Compact(_))) => {
            return Outcome::Refused(Error::NotFound(SESSION));
        }
        None if !may_make || command.epoch.is_some() => return Outcome::Stale { scope_id: None },
        None => (command.new_session(batch.now), true),
    };
    let mut draft = Draft { now: batch.now, session, state, row, logs: BTreeMap::new(), entries: Vec::new(),
        ids: HashSet::new(), gone: Vec::new(), has_trash: false };
    let mut done = Done { created, steps: Vec::new() };
    for step in &command.steps {
        match draft.step(step) {
            Ok(it) => done.steps.push(it),
            Err(Refusal::Error(error)) => return Outcome::Refused(error),
            Err(Refusal::Stale) => return Outcome::Stale { scope_id: Some(draft.row.scope_id) },
        }
    }
    let changes = created || !draft.logs.is_empty();
    if changes {
        draft.row.updated_at = draft.row.updated_at.max(batch.now);
        draft.keep(effects);
        effects.writers.push(at);
        if created {
            effects.made.insert(session, at);
        }
    }
    if command.idempotency.is_some() {
        effects.answers.push((at, done.clone()));
    }
    Outcome::Done(done)
}

impl PreparedChange {
    /// Such a change makes no session.
    fn only_removes(&self) -> bool {
        let removes =
            |it: &Step<_>| matches!(it, Step::DeleteDocument { .. } | Step::DeleteStream { .. });
        self.about.is_none() && !self.steps.is_empty() && self.steps.iter().all(removes)
    }

    /// Appends of no entries, which make no session either.
    fn adds_nothing(&self) -> bool {
        let empty = |it: &Step<PreparedEntry>| matches!(it, Step::Append(it) if it.entries.is_empty());
        !self.steps.is_empty() && self.steps.iter().all(empty)
    }

    fn appended_nothing(&self) -> Outcome {
        let heads = self.steps.iter().filter_map(|it| match it {
            Step::Append(append) => append.if_head,
            _ => None,
        });
        if heads.into_iter().any(|it| it != 0) {
            return Outcome::Refused(Error::Conflict(Conflict::HeadMoved { current: 0 }));
        }
        let none = |_| StepDone::Appended { first: None, last: None, head: 0, appended: 0 };
        Outcome::Done(Done { created: false, steps: self.steps.iter().map(none).collect() })
    }

    fn nothing_removed(&self) -> Done {
        Done { created: false, steps: self.steps.iter().map(|_| StepDone::Deleted).collect() }
    }

    fn new_session(&self, now: Micros) -> SessionRow {
        SessionRow {
            session_no: crate::domain::clock::random_id(),
            scope_id: self.scope.id,
            epoch: crate::domain::clock::random_id(),
            owner: self.owner.clone(),
            updated_at: now,
            archives: 0,
            next_log: 1,
            size_bytes: 0,
        }
    }
}

enum Refusal {
    Error(Error),
    Stale,
}

impl From<Conflict> for Refusal {
    fn from(conflict: Conflict) -> Self {
        Self::Error(Error::Conflict(conflict))
    }
}

/// One command's effects, until all of its steps are through.
struct Draft<'a> {
    now: Micros,
    session: usize,
    state: &'a mut State,
    row: SessionRow,
    logs: BTreeMap<LogKey, Option<LogRow>>,
    entries: Vec<EntryRow>,
    ids: HashSet<(usize, String, String)>,
    gone: Vec<((usize, i64), i64)>,
    has_trash: bool,
}

type Stepped = Result<StepDone, Refusal>;

impl Draft<'_> {
    fn step(&mut self, step: &Step<PreparedEntry>) -> Stepped {
        match step {
            Step::Append(append) => self.append(append),
            Step::PutDocument(put) => self.put(put),
            Step::ExtendDocument { name, content } => self.extend(name, content),
            Step::DeleteDocument { name } => Ok(self.remove(Part::Document, name)),
            Step::DeleteStream { stream } => Ok(self.remove(Part::Stream, stream)),
            Step::Count { counter, by } => self.count(counter, *by),
            Step::Compact(compact) => self.compact(compact),
        }
    }

    fn append(&mut self, append: &Append<PreparedEntry>) -> Stepped {
        let mut log = self.log(Part::Stream, &append.stream).unwrap_or_default();
        if append.if_head.is_some_and(|it| it != log.head) {
            return Err(Conflict::HeadMoved { current: log.head }.into());
        }
        if log.ceiling.is_some() {
            let detail = "stream: nothing can be appended to an archive";
            return Err(Refusal::Error(Error::invalid("stream", detail)));
        }
        let before = log.head;
        for entry in &append.entries {
            let id = entry.id.clone().map(|id| (self.session, append.stream.clone(), id));
            if let Some(id) = id {
                // Only the first of a log with this id stays.
                let is_new = !self.state.ids.contains(&id) && self.ids.insert(id);
                if !is_new {
                    continue;
                }
            }
            if log.log_no == 0 {
                log.log_no = self.next_log();
            }
            log.head += 1;
            self.store(&log, (0, log.head), entry);
        }
        let appended = log.head - before;
        let (first, last) =
            if appended > 0 { (Some(before + 1), Some(log.head)) } else { (None, None) };
        let head = log.head;
        if appended > 0 {
            log.updated_at = log.updated_at.max(self.now);
            self.set(Part::Stream, &append.stream, Some(log));
        }
        Ok(StepDone::Appended { first, last, head, appended })
    }

    fn put(&mut self, put: &PutDocument<PreparedEntry>) -> Stepped {
        let found = self.log(Part::Document, &put.name);
        let current = found.as_ref().map_or(0, |it| it.version);
        if put.if_version.is_some_and(|it| it != current) {
            return Err(Conflict::VersionConflict { current }.into());
        }
        let mut log = match found {
            Some(log) => log,
            None => self.new_document(),
        };
        self.row.size_bytes -= log.size_bytes;
        self.has_trash |= log.size_bytes > 0;
        if log.head > log.floor {
            self.gone.push(((self.session, log.log_no), log.head));
        }
        log.floor = log.head;
        log.size_bytes = 0;
        let version = log.version;
        self.piece(&put.name, log, &put.content, put.only_joins.then_some(version))
    }

    fn extend(&mut self, name: &str, content: &PreparedEntry) -> Stepped {
        let log = match self.log(Part::Document, name) {
            Some(log) => log,
            None => self.new_document(),
        };
        self.piece(name, log, content, None)
    }

    /// Adds a piece. With a version to keep, the time stays too.
    fn piece(
        &mut self,
        name: &str,
        mut log: LogRow,
        content: &PreparedEntry,
        kept_version: Option<i64>,
    ) -> Stepped {
        let limit = LIMITS.value_bytes_max;
        log.size_bytes += i64::from(content.sealed.size_bytes);
        if log.size_bytes.unsigned_abs() > limit {
            return Err(Refusal::Error(Error::TooLarge { field: "content".into(), limit }));
        }
        log.head += 1;
        self.store(&log, (0, log.head), content);
        if kept_version.is_none() {
            // The first one begins at the time, so that no number comes twice for a name.
            log.version = if log.version == 0 { self.now } else { log.version + 1 };
            log.updated_at = log.updated_at.max(self.now);
        }
        let stored = StepDone::Stored {
            version: log.version,
            updated_at: log.updated_at,
            size_bytes: log.size_bytes,
            pieces: log.head - log.floor,
        };
        self.set(Part::Document, name, Some(log));
        Ok(stored)
    }

    fn count(&mut self, counter: &str, by: i64) -> Stepped {
        let mut log = self.log(Part::Counter, counter).unwrap_or_default();
        let overflow = || Error::invalid("by", "by: the counter would leave the range of 53 bits");
        let range = -(1_i64 << 53)..=1_i64 << 53;
        let value = log.head.checked_add(by).filter(|it| range.contains(it));
        log.head = value.ok_or_else(|| Refusal::Error(overflow()))?;
        log.updated_at = log.updated_at.max(self.now);
        let value = log.head;
        self.set(Part::Counter, counter, Some(log));
        Ok(StepDone::Counted { value })
    }

    fn remove(&mut self, part: Part, name: &str) -> StepDone {
        if let Some(log) = self.log(part, name) {
            // Its rows go in slices, later; nobody finds them any more.
            let grave = format!("{}-{}-{name}", log.log_no, log.era);
            self.set(part, name, None);
            self.set(Part::Removed, &grave, Some(log));
            self.has_trash = true;
        }
        StepDone::Deleted
    }

    fn compact(&mut self, compact: &Compact<PreparedEntry>) -> Stepped {
        let log = self.log(Part::Stream, &compact.stream).filter(|it| it.ceiling.is_none());
        let Some(mut log) = log else { return Err(Refusal::Error(Error::NotFound(SESSION))) };
        let moved = || Refusal::from(Conflict::HeadMoved { current: log.head });
        let (through, head) = (compact.through_seq, log.head);
        if compact.expected_head != head || through <= log.floor || through > head {
            return Err(moved());
        }
        let count = log.version + through - log.floor;
        match compact.expected_count {
            Some(expected) if expected != count => return Err(moved()),
            // Without a count: whoever asks may not have seen the last compaction.
            None if log.era > 0 && log.compacted_head == head => return Err(moved()),
            _ => {}
        }
        if compact.archives_before != self.row.archives {
            return Err(Refusal::Stale);
        }
        let placed = i64::try_from(compact.replacement.len()).unwrap_or(i64::MAX);
        if placed > count || placed > through {
            let detail = "replacement has more entries than it replaces";
            return Err(Refusal::Error(Error::invalid("replacement", detail)));
        }
        if self.log(Part::Stream, &compact.archive_stream).is_some() {
            let detail = "archive_stream_prefix: there is a stream of the archive's name";
            return Err(Refusal::Error(Error::invalid("archive_stream_prefix", detail)));
        }
        let archive = LogRow { ceiling: Some(through), head: through, updated_at: self.now, ..log.clone() };
        self.set(Part::Stream, &compact.archive_stream, Some(archive));
        self.row.archives += 1;
        log = LogRow { era: self.row.archives, floor: through, version: placed, compacted_head: head,
            updated_at: log.updated_at.max(self.now), ..log };
        for (at, entry) in (1..).zip(&compact.replacement) {
            self.store(&log, (log.era, through - placed + at), entry);
        }
        self.set(Part::Stream, &compact.stream, Some(log));
        if let Some((name, content)) = &compact.document {
            self.extend(name, content)?;
        }
        Ok(StepDone::Compacted { archive: self.row.archives, head })
    }

    fn log(&self, part: Part, name: &str) -> Option<LogRow> {
        let key = (self.session, part, name.to_owned());
        match self.logs.get(&key) {
            Some(changed) => changed.clone(),
            None => self.state.logs.get(&key).cloned(),
        }
    }

    fn set(&mut self, part: Part, name: &str, log: Option<LogRow>) {
        self.logs.insert((self.session, part, name.to_owned()), log);
    }

    fn new_document(&mut self) -> LogRow {
        LogRow { log_no: self.next_log(), ..LogRow::default() }
    }

    fn next_log(&mut self) -> i64 {
        self.row.next_log += 1;
        self.row.next_log - 1
    }

    fn store(&mut self, log: &LogRow, (era, seq): (i64, i64), entry: &PreparedEntry) {
        self.row.size_bytes += i64::from(entry.sealed.size_bytes);
        let (session, log_no, at) = (self.session, log.log_no, self.now);
        self.entries.push(EntryRow { session, log_no, era, seq, at, entry: entry.clone() });
    }

    /// All steps are through: what they did is what the next command finds.
    fn keep(self, effects: &mut Effects) {
        let Self { session, state, row, logs, entries, ids, gone, has_trash, .. } = self;
        for (key, log) in &logs {
            match log {
                Some(log) => drop(state.logs.insert(key.clone(), log.clone())),
                None => {
                    state.logs.remove(key);
                    // Ids of a stream that is gone are free.
                    state.ids.retain(|(at, stream, _)| (*at, Part::Stream, stream) != (key.0, key.1, &key.2));
                }
            }
        }
        state.ids.extend(ids);
        state.sessions[session] = Some(row.clone());
        effects.sessions.insert(session, row);
        effects.logs.extend(logs);
        effects.entries.extend(entries);
        for (log, through) in gone {
            let last = effects.gone.entry(log).or_default();
            *last = through.max(*last);
        }
        if has_trash {
            effects.trash.insert(session);
        }
    }
}

impl Effects {
    /// Pieces that came and went in one batch are not written.
    fn drop_gone(&mut self) {
        let Self { entries, gone, .. } = self;
        entries.retain(|it| gone.get(&(it.session, it.log_no)).is_none_or(|last| it.seq > *last));
    }

    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.answers.is_empty()
    }
}
