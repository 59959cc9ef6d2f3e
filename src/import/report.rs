//! Counts the results of an import, and lists failures.

use serde::Serialize;

/// How many places are named; more are counted only.
const FAILURES_SHOWN_MAX: usize = 100;

/// Told of the progress, now and then.
pub type Show<'a> = dyn FnMut(&Report) + Send + 'a;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Written now; in a dry run: would be.
    pub imported: u64,
    /// There already, the same.
    pub unchanged: u64,
    /// Left as it is in the target, on purpose: newer there, or expired at the source.
    pub skipped: u64,
    pub failed: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub threads: Tally,
    pub checkpoints: Tally,
    pub writes: Tally,
    pub items: Tally,
    pub files: Tally,
    /// Of values, writes, documents and files that were written.
    pub bytes: u64,
    pub failures: Vec<Failure>,
    /// What is left out by design.
    pub notes: Vec<String>,
}

/// Something that was not brought over. Names and reasons, never contents.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// A thread, an item, a file.
    pub place: String,
    pub reason: String,
}

impl Report {
    pub fn fail(&mut self, place: String, reason: impl ToString) {
        if self.failures.len() < FAILURES_SHOWN_MAX {
            self.failures.push(Failure { place, reason: reason.to_string() });
        }
    }

    pub fn tallies(&self) -> [(&'static str, Tally); 5] {
        [
            ("threads", self.threads),
            ("checkpoints", self.checkpoints),
            ("writes", self.writes),
            ("items", self.items),
            ("files", self.files),
        ]
    }

    pub fn failed(&self) -> u64 {
        self.tallies().iter().map(|(_, it)| it.failed).sum()
    }
}
