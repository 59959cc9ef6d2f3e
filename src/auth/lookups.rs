//! Limits look-ups of unknown keys, so that a flood of invented keys costs the storage little.

use std::collections::VecDeque;

use crate::domain::clock::Micros;

/// How long an answer about one hash is kept, and the time over which look-ups are counted.
const WINDOW: Micros = 1_000_000;
/// Look-ups in one window, whatever arrives.
pub const LOOKUPS_MAX: usize = 20;

/// The look-ups of the last second, oldest first: at most [`LOOKUPS_MAX`].
#[derive(Debug, Default)]
pub struct Lookups {
    recent: VecDeque<Lookup>,
}

#[derive(Debug)]
struct Lookup {
    hash: [u8; 32],
    at: Micros,
    /// Also one that was cut short.
    failed: bool,
}

/// What is to be done about an unknown key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Look it up, then tell [`Lookups::answered`].
    LookUp,
    /// It was not there within the last second.
    Unknown,
    /// There were too many look-ups of others: nothing is known about it.
    TooMany,
    /// It was looked up within the last second, and the storage did not answer.
    Failed,
}

impl Lookups {
    /// Decides about a key. A look-up counts from here on, whatever becomes of it.
    pub fn begin(&mut self, hash: &[u8; 32], now: Micros) -> Verdict {
        // A clock that was set back keeps nothing.
        self.recent.retain(|it| (0..WINDOW).contains(&(now - it.at)));
        if let Some(last) = self.recent.iter().find(|it| it.hash == *hash) {
            return if last.failed { Verdict::Failed } else { Verdict::Unknown };
        }
        if self.recent.len() >= LOOKUPS_MAX {
            return Verdict::TooMany;
        }
        self.recent.push_back(Lookup { hash: *hash, at: now, failed: true });
        Verdict::LookUp
    }

    /// The storage has answered the look-up of this key.
    pub fn answered(&mut self, hash: &[u8; 32]) {
        if let Some(lookup) = self.recent.iter_mut().find(|it| it.hash == *hash) {
            lookup.failed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_looked_up_once_a_second_and_twenty_in_all() {
        let mut lookups = Lookups::default();
        let hash = |at: usize| [u8::try_from(at).unwrap(); 32];
        for at in 0..LOOKUPS_MAX {
            assert_eq!(lookups.begin(&hash(at), 0), Verdict::LookUp);
            lookups.answered(&hash(at));
            assert_eq!(lookups.begin(&hash(at), WINDOW - 1), Verdict::Unknown);
        }
        assert_eq!(lookups.begin(&hash(99), WINDOW - 1), Verdict::TooMany);
        assert_eq!(lookups.begin(&hash(99), WINDOW), Verdict::LookUp);
        assert_eq!(lookups.begin(&hash(99), WINDOW), Verdict::Failed, "no answer came yet");
        assert_eq!(lookups.begin(&hash(0), WINDOW), Verdict::LookUp);
        assert_eq!(lookups.begin(&hash(0), 0), Verdict::LookUp, "the clock was set back");
    }
}
