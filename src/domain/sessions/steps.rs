//! Applies the steps of one change to a draft; the draft is kept only if every step succeeds.

use std::collections::{BTreeMap, HashSet};

use super::SESSION;
use super::change::{Append, Compact, PreparedEntry, PutDocument, Step, StepDone};
use super::ledger::{Effects, EntryRow, LogKey, LogRow, Part, SessionRow, State};
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error};
use crate::domain::limits::LIMITS;

/// Why a step does not happen, and nothing of its change.
pub enum Refusal {
    Error(Error),
    Stale,
}

impl From<Conflict> for Refusal {
    fn from(conflict: Conflict) -> Self {
        Self::Error(Error::Conflict(conflict))
    }
}

/// One command's effects, until all of its steps are through.
pub struct Draft<'a> {
    now: Micros,
    session: usize,
    state: &'a mut State,
    pub row: SessionRow,
    pub logs: BTreeMap<LogKey, Option<LogRow>>,
    former: BTreeMap<LogKey, i64>,
    entries: Vec<EntryRow>,
    ids: HashSet<(usize, String, String)>,
    gone: Vec<((usize, i64), i64)>,
    has_trash: bool,
}

type Stepped = Result<StepDone, Refusal>;

impl<'a> Draft<'a> {
    pub fn new(now: Micros, session: usize, state: &'a mut State, row: SessionRow) -> Self {
        Self {
            now,
            session,
            state,
            row,
            logs: BTreeMap::new(),
            former: BTreeMap::new(),
            entries: Vec::new(),
            ids: HashSet::new(),
            gone: Vec::new(),
            has_trash: false,
        }
    }
}

impl Draft<'_> {
    pub fn step(&mut self, step: &Step<PreparedEntry>) -> Stepped {
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
        let found = self.log(Part::Stream, &append.stream);
        let current = found.as_ref().map_or(0, |it| it.head);
        if append.if_head.is_some_and(|it| it != current) {
            return Err(Conflict::HeadMoved { current }.into());
        }
        let mut log = found.unwrap_or_else(|| self.new_stream(&append.stream));
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
        let head = if appended > 0 { log.head } else { current };
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
        let limit = LIMITS.document_bytes_max;
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
            if part == Part::Stream {
                // Who knows its last number would take another stream of this name for the same.
                self.former.insert((self.session, part, name.to_owned()), log.head);
            }
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
        let count = log.count() - (head - through);
        match compact.expected_count {
            Some(expected) if expected != count => return Err(moved()),
            // Without a count: whoever asks may not have seen the last compaction.
            None if log.era > 0 && log.compacted_head == head => return Err(moved()),
            _ => {}
        }
        if compact.archives_before.is_some_and(|it| it != self.row.archives) {
            return Err(Refusal::Stale);
        }
        let placed = i64::try_from(compact.replacement.len()).unwrap_or(i64::MAX);
        if placed > count || placed > through {
            let detail = "replacement has more entries than it replaces";
            return Err(Refusal::Error(Error::invalid("replacement", detail)));
        }
        let is_taken = self.log(Part::Stream, &compact.archive_stream).is_some();
        if is_taken && compact.archive_number.is_some() {
            // Somebody else compacted with this id.
            return Err(moved());
        }
        if is_taken {
            let detail = "archive_stream_prefix: there is a stream of the archive's name";
            return Err(Refusal::Error(Error::invalid("archive_stream_prefix", detail)));
        }
        let archive =
            LogRow { ceiling: Some(through), head: through, updated_at: self.now, ..log.clone() };
        self.set(Part::Stream, &compact.archive_stream, Some(archive));
        // Ids are counted on behind the greatest there was.
        let next = self.row.archives + 1;
        self.row.archives = compact.archive_number.map_or(next, |it| it.max(next));
        log = LogRow {
            era: self.row.archives,
            floor: through,
            version: placed,
            compacted_head: head,
            updated_at: log.updated_at.max(self.now),
            ..log
        };
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

    /// Behind the numbers that a stream of this name had.
    fn new_stream(&self, name: &str) -> LogRow {
        let key = (self.session, Part::Stream, name.to_owned());
        let former = self.former.get(&key).or_else(|| self.state.former.get(&key));
        let last = former.copied().unwrap_or(0);
        LogRow { floor: last, head: last, ..LogRow::default() }
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
    pub fn keep(self, effects: &mut Effects) {
        let Self { session, state, row, logs, former, entries, ids, gone, has_trash, .. } = self;
        for (key, log) in &logs {
            match log {
                Some(log) => drop(state.logs.insert(key.clone(), log.clone())),
                None => {
                    state.logs.remove(key);
                    // Ids of a stream that is gone are free.
                    state.ids.retain(|(at, stream, _)| {
                        (*at, Part::Stream, stream) != (key.0, key.1, &key.2)
                    });
                }
            }
        }
        state.ids.extend(ids);
        state.former.extend(former.clone());
        effects.former.extend(former);
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
