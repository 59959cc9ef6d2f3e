//! Ends statements on a reader: when their time is over, and when the caller has left.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnection;

use crate::domain::Result;

/// Instructions of SQLite's machine between two looks at the clock: about a tenth of a millisecond.
const STEPS: i32 = 10_000;
const NEVER: u64 = u64::MAX;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// When what runs on one connection ends, in microseconds since the process began.
#[derive(Clone)]
pub(super) struct TimeLimit(Arc<AtomicU64>);

impl TimeLimit {
    /// Of a new connection.
    pub(in crate::storage) async fn of(connection: &mut SqliteConnection) -> Result<Self> {
        let limit = Self(Arc::new(AtomicU64::new(NEVER)));
        let looked_at = limit.clone();
        let mut handle = connection.lock_handle().await?;
        handle.set_progress_handler(STEPS, move || !looked_at.is_over());
        drop(handle);
        Ok(limit)
    }

    pub(in crate::storage) fn set(&self, within: Option<Duration>) {
        let micros = |it: Duration| u64::try_from(it.as_micros()).unwrap_or(NEVER);
        self.0.store(within.map_or(NEVER, |it| micros(START.elapsed() + it)), Ordering::Relaxed);
    }

    /// Ends the statement that runs.
    pub(in crate::storage) fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(in crate::storage) fn is_over(&self) -> bool {
        let ends = self.0.load(Ordering::Relaxed);
        ends != NEVER && u128::from(ends) <= START.elapsed().as_micros()
    }
}
