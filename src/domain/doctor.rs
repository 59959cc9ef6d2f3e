//! What an examination of the stored data asks and finds: counts by kind, and where the first findings are. Names
//! places, never values, keys of items or contents.

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
    /// A thread's `checkpoint_count` or `size_bytes` differs from its rows.
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
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub count: u64,
    /// As stored.
    pub bytes: u64,
}

/// Where something was found. What is not known there is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub state: State,
    pub what: Noun,
    #[serde(flatten)]
    pub place: Place,
    pub detail: &'static str,
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
        place: Place,
        detail: &'static str,
    ) {
        self.add(state, what, 1, bytes);
        if self.places.len() < PLACES_MAX {
            self.places.push(Finding { state, what, place, detail });
        } else {
            self.places_left_off += 1;
        }
    }

    /// Nothing is damaged, missing or counted wrongly. Orphans do not matter here: they harm nobody.
    pub fn is_sound(&self) -> bool {
        let bad = [State::Damaged, State::Missing, State::Unreadable, State::WrongCounter];
        bad.iter().all(|state| !self.counts.contains_key(state))
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
            report.find(State::Damaged, Noun::Values, 7, Place::default(), "a value");
        }
        assert!(!report.is_sound());
        assert_eq!(report.tally(State::Damaged, Noun::Values), Tally { count: 105, bytes: 735 });
        assert_eq!((report.places.len(), report.places_left_off), (PLACES_MAX, 5));
    }
}
