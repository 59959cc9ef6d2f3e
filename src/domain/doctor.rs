//! Defines the request and the report of an examination of stored data: counts by kind, and the places of the first findings. A report
//! names places, never values, item keys or contents.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::clock::Micros;

/// Places that a report lists; the counts go on.
pub const PLACES_MAX: usize = 100;

/// What is to be examined.
#[derive(Debug, Clone)]
pub struct Examine {
    /// None: every tenant.
    pub tenant: Option<String>,
    /// Remove what nobody can reach and correct counters. Damaged data is never removed.
    pub fix: bool,
    pub now: Micros,
}

/// What was found of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Read, opened and held against its digest.
    Checked,
    /// Does not open, does not match its digest, or contradicts the row it stands in.
    Damaged,
    /// Something names it, and it is not there.
    Missing,
    /// Sound itself, but a chunk that it needs is damaged or missing.
    Unreadable,
    /// The database could not read it, or something that it has to be held against: a page of its file is damaged.
    Unread,
    /// A thread's `checkpoint_count` or `size_bytes` differs from its rows, its state or short values from its newest checkpoint, or its alias
    /// from its id.
    WrongCounter,
    /// Nothing leads to it. Costs space, harms nobody.
    Orphan,
    /// A value of a version that no checkpoint lists yet: legitimate.
    Unlisted,
    /// Cut off by a removal, and still to be removed in slices.
    Garbage,
    /// Whether it has orphans cannot be known, because what would name them is damaged or missing.
    Undecided,
    /// Lies in an object store, or needs what lies there, and none was given: not looked at.
    Moved,
    /// Its tenant's key was destroyed: nobody can read it.
    Destroyed,
    /// Removed or corrected by this examination.
    Repaired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Noun {
    Tenants,
    Threads,
    /// Titles and metadata of threads.
    ThreadDetails,
    /// UUIDs by which threads are found.
    Aliases,
    /// How threads stand and the short values that they are found by, as they were derived from their newest checkpoints.
    RunStates,
    /// Whose they are.
    Sessions,
    /// Which content scope their roots have.
    Namespaces,
    Scopes,
    Holders,
    /// Skeleton and metadata of a checkpoint.
    Documents,
    /// Channel → (version, value) of a checkpoint.
    Maps,
    Bases,
    Writes,
    Items,
    /// Earlier versions of items.
    ItemVersions,
    /// Of sessions: entries of streams and pieces of documents.
    Entries,
    /// What they say that they keep, and what is kept for none.
    Snapshots,
    Values,
    Chunks,
    /// Objects with cold chunks, and their rows.
    Packs,
    /// Checkpoints, writes and bases of one thread key.
    Rows,
    /// Of the file of the embedded database.
    Pages,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub count: u64,
    /// As stored.
    pub bytes: u64,
}

/// Where something was found. What is not known there is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FindingPlace {
    pub tenant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_ns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// Of an item; not its key, which says what is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Vec<String>>,
    /// Of the database, where the place is known no better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub state: State,
    pub what: Noun,
    #[serde(flatten)]
    pub place: FindingPlace,
    pub detail: Cow<'static, str>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    #[serde(flatten)]
    counts: BTreeMap<State, BTreeMap<Noun, Tally>>,
    /// The first [`PLACES_MAX`] findings that need a person.
    pub places: Vec<Finding>,
    pub places_left_off: u64,
}

impl Report {
    pub fn tally(&self, state: State, noun: Noun) -> Tally {
        self.counts.get(&state).and_then(|it| it.get(&noun)).copied().unwrap_or_default()
    }

    pub fn add(&mut self, state: State, noun: Noun, count: u64, bytes: u64) {
        if count > 0 {
            let tally = self.counts.entry(state).or_default().entry(noun).or_default();
            tally.count += count;
            tally.bytes += bytes;
        }
    }

    /// Counts a finding and says where it is.
    pub fn find(
        &mut self,
        state: State,
        what: Noun,
        bytes: u64,
        place: FindingPlace,
        detail: impl Into<Cow<'static, str>>,
    ) {
        self.add(state, what, 1, bytes);
        if self.places.len() < PLACES_MAX {
            self.places.push(Finding { state, what, place, detail: detail.into() });
        } else {
            self.places_left_off += 1;
        }
    }

    /// Adds what a part of the examination found.
    pub fn merge(&mut self, part: Self) {
        for (state, noun, tally) in part.counts() {
            self.add(state, noun, tally.count, tally.bytes);
        }
        let room = PLACES_MAX - self.places.len();
        self.places_left_off +=
            part.places_left_off + part.places.len().saturating_sub(room) as u64;
        self.places.extend(part.places.into_iter().take(room));
    }

    /// Nothing is damaged, missing, unread or counted wrongly. Orphans do not matter here: they harm nobody.
    pub fn is_sound(&self) -> bool {
        let bad =
            [State::Damaged, State::Missing, State::Unreadable, State::Unread, State::WrongCounter];
        bad.iter().all(|state| !self.counts.contains_key(state))
    }

    /// Everything that was to be examined could be read. Where not, nothing is repaired: what looks as if nobody named it
    /// may be named there.
    pub fn is_all_read(&self) -> bool {
        let has_bad_pages = self.tally(State::Damaged, Noun::Pages).count > 0;
        !has_bad_pages && !self.counts.contains_key(&State::Unread)
    }

    /// Every count, by state and noun.
    pub fn counts(&self) -> impl Iterator<Item = (State, Noun, Tally)> {
        self.counts.iter().flat_map(|(state, nouns)| {
            nouns.iter().map(move |(noun, tally)| (*state, *noun, *tally))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphans_are_sound_and_places_are_bounded() {
        let mut report = Report::default();
        report.add(State::Orphan, Noun::Chunks, 3, 90);
        report.add(State::Damaged, Noun::Chunks, 0, 0);
        assert!(report.is_sound());
        for _ in 0..PLACES_MAX + 5 {
            report.find(State::Damaged, Noun::Values, 7, FindingPlace::default(), "a value");
        }
        assert!(!report.is_sound());
        assert_eq!(report.tally(State::Damaged, Noun::Values), Tally { count: 105, bytes: 735 });
        assert_eq!((report.places.len(), report.places_left_off), (PLACES_MAX, 5));
        let mut whole = Report::default();
        whole.find(State::Unread, Noun::Threads, 0, FindingPlace::default(), "a thread");
        assert!(!whole.is_sound() && !whole.is_all_read());
        whole.merge(report);
        assert_eq!(whole.tally(State::Damaged, Noun::Values), Tally { count: 105, bytes: 735 });
        assert_eq!((whole.places.len(), whole.places_left_off), (PLACES_MAX, 6));
    }
}
