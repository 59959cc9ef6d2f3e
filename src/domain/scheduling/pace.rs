//! Measures how fast a client sends or takes a body. A client must move so many bytes a second, with a pause now and then. Our own work is
//! not counted.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::limits::LIMITS;

/// A client may be this far behind the least rate.
pub const PATIENCE: Duration = Duration::from_secs(LIMITS.body_pause_seconds_max);
/// A body that is so far behind is slow.
const SLOW: Duration = Duration::from_secs(1);
/// Speeds of what has just begun mean nothing.
const MEASURED_MIN: Duration = Duration::from_millis(50);

/// The way of one body. What is gained by speed is not saved up: a fast beginning pays for no pause later.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Seconds that the client is behind the least rate.
    behind: Duration,
    waiting_since: Option<Instant>,
    waited: Duration,
    moved_bytes: u64,
}

impl Pace {
    /// From now on it is the client's turn.
    pub fn wait(&mut self, now: Instant) {
        self.waiting_since.get_or_insert(now);
    }

    /// The client has moved so many bytes, and it is our turn.
    pub fn moved(&mut self, bytes: u64, now: Instant) {
        let waited = self.waiting(now);
        self.waiting_since = None;
        self.waited += waited;
        self.moved_bytes += bytes;
        self.behind = (self.behind + waited).saturating_sub(time_of(bytes));
    }

    /// How far behind the client is.
    pub fn behind(&self, now: Instant) -> Duration {
        self.behind + self.waiting(now)
    }

    pub fn is_slow(&self, now: Instant) -> bool {
        self.behind(now) >= SLOW
    }

    /// How long the client may still wait until it has moved something.
    pub fn left(&self, patience: Duration, now: Instant) -> Duration {
        patience.saturating_sub(self.behind(now))
    }

    /// Bytes per second of the client's time.
    pub fn bytes_per_second(&self, now: Instant) -> u64 {
        let time = (self.waited + self.waiting(now)).max(MEASURED_MIN);
        let speed = u128::from(self.moved_bytes) * 1_000_000 / time.as_micros();
        u64::try_from(speed).unwrap_or(u64::MAX)
    }

    fn waiting(&self, now: Instant) -> Duration {
        self.waiting_since.map_or(Duration::ZERO, |it| now.saturating_duration_since(it))
    }
}

/// What so many bytes take at the least rate.
pub fn time_of(bytes: u64) -> Duration {
    Duration::from_micros(bytes.saturating_mul(1_000_000) / LIMITS.body_bytes_per_second_min)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_body_takes_its_size_at_the_least_rate_and_one_pause(
            steps in prop::collection::vec((0_u64..200_000, 0_u64..40_000), 1..60),
        ) {
            let begun = Instant::now();
            let (mut pace, mut now, mut bytes, mut ours) = (Pace::default(), begun, 0, Duration::ZERO);
            for (moved, milliseconds) in steps {
                pace.wait(now);
                now += Duration::from_millis(milliseconds);
                if pace.left(PATIENCE, now).is_zero() {
                    break;
                }
                pace.moved(moved, now);
                bytes += moved;
                // Our own work in between is free.
                now += Duration::from_secs(100);
                ours += Duration::from_secs(100);
                let allowed = time_of(bytes) + PATIENCE + Duration::from_millis(1);
                prop_assert!(now - begun <= allowed + ours);
            }
        }
    }

    #[test]
    fn a_fast_beginning_pays_for_no_pause() {
        let mut now = Instant::now();
        let mut pace = Pace::default();
        pace.wait(now);
        pace.moved(1 << 30, now);
        pace.wait(now);
        now += PATIENCE;
        assert!(pace.left(PATIENCE, now).is_zero());
    }

    #[test]
    fn one_byte_every_twenty_seconds_is_not_enough() {
        let mut now = Instant::now();
        let mut pace = Pace::default();
        let mut bytes = 0;
        loop {
            pace.wait(now);
            now += Duration::from_secs(20);
            if pace.left(PATIENCE, now).is_zero() {
                break;
            }
            pace.moved(1, now);
            bytes += 1;
        }
        assert_eq!(bytes, 1);
    }
}
