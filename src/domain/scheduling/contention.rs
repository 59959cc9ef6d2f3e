//! Retries a change of one thing that several servers change. Each server reads it and writes on the version that it read. If another was
//! first, it reads again.
//!
//! Two servers at the same pace could meet in the same order every time, so that one never comes first. A change that has lost twice waits
//! for a moment of random length. Time bounds the attempts, not only the number of losses. The code that writes checks the deadline of the
//! request.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::domain::error::{Error, Result};

/// One change, for as long as others are first.
#[derive(Debug)]
pub struct Contention {
    began: Instant,
    lost: u32,
}

impl Default for Contention {
    fn default() -> Self {
        Self { began: Instant::now(), lost: 0 }
    }
}

impl Contention {
    /// Most changes meet one other, which is over when they read again.
    const AT_ONCE: u32 = 2;
    const PAUSE_MICROS_MAX: u64 = 16_000;
    /// Also where one attempt takes seconds.
    const AT_LEAST: u32 = 5;
    const GIVES_UP_AFTER: Duration = Duration::from_secs(10);

    /// To be called when another was first; then read again. `what` is the beginning of a sentence: "the file keeps".
    ///
    /// # Errors
    /// `Unavailable` after ten seconds and five attempts.
    pub async fn lost(&mut self, what: &str) -> Result<()> {
        if self.may_try_again().await {
            return Ok(());
        }
        Err(Error::Unavailable {
            detail: format!("{what} being changed by others"),
            retry_after: Duration::from_millis(500),
        })
    }

    /// The same for who has an error of his own to answer with.
    pub async fn may_try_again(&mut self) -> bool {
        self.lost += 1;
        if self.lost >= Self::AT_LEAST && self.began.elapsed() > Self::GIVES_UP_AFTER {
            return false;
        }
        if self.lost > Self::AT_ONCE {
            let doubled = 500_u64 << (self.lost - Self::AT_ONCE).min(8);
            let micros = rand::random_range(0..doubled.min(Self::PAUSE_MICROS_MAX));
            sleep(Duration::from_micros(micros)).await;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_time_that_ends_the_attempts() {
        let mut contention = Contention::default();
        let mut lost = 0;
        let error = loop {
            match contention.lost("the file keeps").await {
                Ok(()) => lost += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Unavailable { .. }));
        assert!(contention.began.elapsed() > Contention::GIVES_UP_AFTER);
        assert!(lost > 500, "{lost} attempts");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_attempts_are_made_five_times() {
        let mut contention = Contention::default();
        for _ in 1..Contention::AT_LEAST {
            sleep(2 * Contention::GIVES_UP_AFTER).await;
            contention.lost("the file keeps").await.unwrap();
        }
        assert!(contention.lost("the file keeps").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_has_lost_often_waits() {
        let mut contention = Contention::default();
        for _ in 0..Contention::AT_ONCE {
            contention.lost("the file keeps").await.unwrap();
        }
        assert!(contention.began.elapsed().is_zero());
        for _ in 0..20 {
            contention.lost("the file keeps").await.unwrap();
        }
        assert!(!contention.began.elapsed().is_zero());
    }
}
