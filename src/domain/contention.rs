//! Changes of one thing through several servers. Each reads it and writes it on the version that it read; where another was first, it
//! reads again.
//!
//! Two that go on at the same pace could meet in the same order every time, so that one of them never came first. Who has lost twice
//! waits for a moment of random length, and how long somebody tries is bounded by time, not only by how often the others were first.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::clock::{Clock, Micros};
use super::error::{Error, Result};

/// One change, for as long as others are first.
#[derive(Debug)]
pub struct Contention {
    began: Instant,
    deadline: Micros,
    lost: u32,
}

impl Contention {
    /// Most changes meet one other, which is over when they read again.
    const AT_ONCE: u32 = 2;
    const PAUSE_MICROS_MAX: u64 = 16_000;
    /// Also where one attempt takes seconds.
    const AT_LEAST: u32 = 5;
    const GIVES_UP_AFTER: Duration = Duration::from_secs(10);

    /// The deadline is that of the request.
    pub fn new(deadline: Micros) -> Self {
        Self { began: Instant::now(), deadline, lost: 0 }
    }

    /// To be called when another was first; then read again.
    ///
    /// # Errors
    /// `Unavailable` after ten seconds and five attempts, or at the deadline.
    pub async fn lost(&mut self, clock: &Clock, what: &str) -> Result<()> {
        if self.may_try_again(clock).await {
            return Ok(());
        }
        Err(Error::Unavailable {
            detail: format!("{what} being changed by others"),
            retry_after: Duration::from_millis(500),
        })
    }

    /// The same for who has an error of his own to answer with. False: after ten seconds and five attempts, or at the deadline.
    pub async fn may_try_again(&mut self, clock: &Clock) -> bool {
        self.lost += 1;
        let is_over = self.lost >= Self::AT_LEAST && self.began.elapsed() > Self::GIVES_UP_AFTER;
        if is_over || clock.now() > self.deadline {
            return false;
        }
        if self.lost > Self::AT_ONCE {
            let longest =
                (500_u64 << (self.lost - Self::AT_ONCE).min(8)).min(Self::PAUSE_MICROS_MAX);
            sleep(Duration::from_micros(rand::random_range(0..longest))).await;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn clock() -> Clock {
        Clock::Fixed(Mutex::new(7))
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_time_that_ends_the_attempts() {
        let mut contention = Contention::new(Micros::MAX);
        let mut lost = 0;
        let error = loop {
            match contention.lost(&clock(), "the file keeps").await {
                Ok(()) => lost += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Unavailable { .. }));
        assert!(contention.began.elapsed() > Contention::GIVES_UP_AFTER);
        assert!(lost > 500, "{lost} attempts");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_tries_after_the_deadline() {
        let clock = clock();
        let mut contention = Contention::new(8);
        contention.lost(&clock, "the file keeps").await.unwrap();
        clock.advance(2);
        assert!(contention.lost(&clock, "the file keeps").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn slow_attempts_are_made_five_times() {
        let mut contention = Contention::new(Micros::MAX);
        for _ in 1..Contention::AT_LEAST {
            sleep(Contention::GIVES_UP_AFTER).await;
            contention.lost(&clock(), "the file keeps").await.unwrap();
        }
        assert!(contention.lost(&clock(), "the file keeps").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_has_lost_often_waits() {
        let mut contention = Contention::new(Micros::MAX);
        for _ in 0..Contention::AT_ONCE {
            contention.lost(&clock(), "the file keeps").await.unwrap();
        }
        assert!(contention.began.elapsed().is_zero());
        for _ in 0..20 {
            contention.lost(&clock(), "the file keeps").await.unwrap();
        }
        assert!(!contention.began.elapsed().is_zero());
    }
}
