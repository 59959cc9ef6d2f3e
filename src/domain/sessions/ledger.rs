//! Applies the changes of many callers to sessions in memory: it takes the locked rows and returns the rows to write and the answers. Pure,
//! and the same for every engine.
//!
//! **Invariants:** entries of a log have the numbers 1, 2, … without a gap. A stream that had been there before continues behind its old
//! numbers. A change happens whole or not at all.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::SESSION;
use super::change::{Done, PreparedChange, PreparedEntry, Step, StepDone};
use super::name::SessionName;
use super::steps::{Draft, Refusal};
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error};

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

impl LogRow {
    /// How many entries a stream shows.
    pub fn count(&self) -> i64 {
        self.version + self.ceiling.unwrap_or(self.head) - self.floor
    }
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
    /// Sessions whose rows are not as a server wrote them: nothing is written to them.
    pub forged: HashSet<usize>,
    pub logs: HashMap<LogKey, LogRow>,
    /// Last numbers of streams that are not there and were there before.
    pub former: HashMap<LogKey, i64>,
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
    Stale {
        scope_id: Option<i64>,
    },
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
    /// Last numbers of streams that were deleted.
    pub former: BTreeMap<LogKey, i64>,
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

    /// The streams that an append would begin.
    pub fn begun(&self, state: &State) -> BTreeSet<LogKey> {
        let appends = self.steps().filter_map(|(at, step)| match step {
            Step::Append(it) => Some((at, Part::Stream, it.stream.clone())),
            _ => None,
        });
        appends.filter(|key| !state.logs.contains_key(key)).collect()
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
            if state.forged.contains(&session) {
                let detail = "the row of a session is not as a server wrote it";
                return Outcome::Refused(Error::Integrity(detail.into()));
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
    let mut draft = Draft::new(batch.now, session, state, row);
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
        let empty =
            |it: &Step<PreparedEntry>| matches!(it, Step::Append(it) if it.entries.is_empty());
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
