//! Selects the entries of a stream for a caller: from a number on, the last ones, or the last that fit into a budget.

use super::{Entry, tokens};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;

/// What a caller asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    pub stream: String,
    /// Only what comes behind this number.
    pub after_seq: Option<i64>,
    pub limit: Option<u64>,
    /// The last ones.
    pub tail: Option<u64>,
    pub bytes_max: Option<u64>,
    /// The last ones that fit, by the estimate for Agentrail's messages; at least one.
    pub token_budget: Option<u64>,
}

/// What one statement is asked for. At least one entry comes, whatever it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntriesQuery {
    pub stream: String,
    pub after_seq: i64,
    /// The newest before this number; None: the oldest.
    pub before_seq: Option<i64>,
    pub rows_max: u64,
    pub bytes_max: u64,
}

/// What it answers, in the order of the numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    pub entries: Vec<Entry>,
    pub head: i64,
    /// How many entries the stream shows.
    pub count: i64,
    /// There are further ones in the direction of reading.
    pub more: bool,
}

impl Load {
    /// # Errors
    /// 422 for numbers out of range, and for what cannot be asked for together.
    pub fn check(&self) -> Result<()> {
        super::name::check_name("stream", &self.stream, true)?;
        if self.after_seq.is_some_and(|it| it < 0) {
            return Err(Error::invalid("after_seq", "after_seq must be 0 or more"));
        }
        let max = LIMITS.session_entries_max;
        for (field, rows) in [("limit", self.limit), ("tail", self.tail)] {
            if rows.is_some_and(|it| it > max) {
                let detail = format!("{field} must be from 0 to {max}");
                return Err(Error::out_of_range(field, detail, max));
            }
        }
        if self.limit.is_some() && self.tail.is_some() {
            return Err(Error::invalid("tail", "tail and limit cannot be asked for together"));
        }
        Ok(())
    }

    /// Reads from the end.
    pub fn is_tail(&self) -> bool {
        self.tail.is_some() || self.token_budget.is_some()
    }

    /// How many entries at most.
    pub fn rows_max(&self) -> u64 {
        self.tail.or(self.limit).unwrap_or(LIMITS.session_entries_max)
    }

    /// What one answer may hold.
    pub fn bytes_max(&self) -> u64 {
        let max = LIMITS.session_load_bytes_max;
        self.bytes_max.unwrap_or(max).min(max)
    }
}

/// How many of the entries, newest last, fit into the rest of a budget. The first of all always does.
pub fn fitting(entries: &[Entry], left: &mut u64, is_first: bool) -> usize {
    let mut fit = 0;
    for entry in entries.iter().rev() {
        let tokens = tokens::estimate(&entry.data);
        if tokens > *left && !(is_first && fit == 0) {
            break;
        }
        *left = left.saturating_sub(tokens);
        fit += 1;
    }
    fit
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn entry(seq: i64, text: &str) -> Entry {
        let data = Bytes::from(format!(r#"{{"role":"user","content":"{text}"}}"#));
        Entry { seq, id: None, data, at: 0 }
    }

    #[test]
    fn a_budget_takes_the_newest_and_at_least_one() {
        // 4 + 4, 4 + 1, 4 + 2 tokens.
        let all = [entry(1, &"x".repeat(16)), entry(2, "abcd"), entry(3, "abcde")];
        for (budget, expected) in [(0, 1), (6, 1), (10, 1), (11, 2), (18, 2), (19, 3), (99, 3)] {
            let mut left = budget;
            assert_eq!(fitting(&all, &mut left, true), expected, "{budget}");
        }
        assert_eq!(fitting(&all, &mut 5, false), 0);
    }
}
