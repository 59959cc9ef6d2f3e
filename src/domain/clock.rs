//! Provides time and randomness, passed in so that tests decide them.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::{Error, Result};

/// Microseconds since 1970-01-01 UTC.
pub type Micros = i64;

pub const SECOND: Micros = 1_000_000;
pub const DAY: Micros = 86_400 * SECOND;

/// The system's clock, or one that a test moves.
#[derive(Debug)]
pub enum Clock {
    System,
    Fixed(Mutex<Micros>),
}

impl Clock {
    pub fn now(&self) -> Micros {
        match self {
            Self::System => {
                let since = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .expect("the system clock is after 1970");
                Micros::try_from(since.as_micros()).expect("before the year 294247")
            }
            Self::Fixed(now) => *now.lock().expect("no code panics while it holds the clock"),
        }
    }

    /// For writes that do not pass the queue of commits.
    ///
    /// # Errors
    /// `DeadlineExceeded` when the time budget has run out.
    pub fn require_before(&self, deadline: Micros) -> Result<()> {
        if self.now() <= deadline { Ok(()) } else { Err(Error::DeadlineExceeded) }
    }

    /// Moves a fixed clock; the system's clock stays.
    pub fn advance(&self, micros: Micros) {
        if let Self::Fixed(now) = self {
            *now.lock().expect("no code panics while it holds the clock") += micros;
        }
    }
}

/// A positive random 63-bit number: thread keys, scope ids.
pub fn random_id() -> i64 {
    i64::try_from(rand::random::<u64>() >> 1).expect("63 bits fit")
}

/// 128 random bits as hex: generations, request ids.
pub fn random_hex() -> String {
    hex::encode(rand::random::<[u8; 16]>())
}
