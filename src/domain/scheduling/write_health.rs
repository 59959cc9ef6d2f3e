//! Remembers that writes fail for a reason of the whole database, such as a full disk, and tries by itself whether they succeed again.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use crate::domain::engine::Engine;
use crate::domain::error::{Error, Result};

const TRIES_EVERY: Duration = Duration::from_secs(1);

/// Whether the last write failed for a reason of the whole database. What is wrong with one tenant's request is none.
pub struct WriteHealth {
    storage: Arc<dyn Engine>,
    /// Why writes fail.
    failing: Mutex<Option<String>>,
    /// Somebody wants a write to be tried.
    checks: Notify,
}

impl WriteHealth {
    pub fn new(storage: Arc<dyn Engine>) -> Self {
        Self { storage, failing: Mutex::default(), checks: Notify::new() }
    }

    /// Looks at the error of a request or of work in the background.
    pub fn note(&self, error: &Error) {
        match error {
            Error::Obstacle { detail, .. } => self.note_obstacle(detail),
            Error::CommitUnknown { .. } => self.request_check(),
            _ => {}
        }
    }

    /// Something is in the way of the whole database: this holds until a write succeeds.
    pub fn note_obstacle(&self, detail: &str) {
        self.remember(detail);
        self.request_check();
    }

    fn remember(&self, detail: &str) {
        if self.failing().replace(detail.to_owned()).is_none() {
            tracing::warn!(cause = detail, "writes fail: not ready until one succeeds");
        }
    }

    /// Lets `run` try a write.
    pub fn request_check(&self) {
        self.checks.notify_one();
    }

    /// Costs nothing.
    ///
    /// # Errors
    /// `Unavailable` while writes fail.
    pub fn check(&self) -> Result<()> {
        match &*self.failing() {
            None => Ok(()),
            Some(cause) => {
                let detail = format!("writes fail: {cause}");
                Err(Error::Unavailable { detail, retry_after: TRIES_EVERY })
            }
        }
    }

    /// Tries a small write when a check is requested, and again and again while writes fail.
    pub async fn run(self: Arc<Self>) {
        loop {
            self.checks.notified().await;
            while !self.try_write().await {
                tokio::time::sleep(TRIES_EVERY).await;
            }
        }
    }

    /// False: writes fail.
    async fn try_write(&self) -> bool {
        match self.storage.try_write().await {
            Ok(()) => {
                if self.failing().take().is_some() {
                    tracing::warn!("writes succeed again");
                }
            }
            Err(Error::Obstacle { detail, .. }) => self.remember(&detail),
            // A database that is away is seen by whoever asks for readiness.
            Err(error) => tracing::warn!(%error, "whether writes succeed could not be tried"),
        }
        self.failing().is_none()
    }

    fn failing(&self) -> MutexGuard<'_, Option<String>> {
        self.failing.lock().expect("nothing panics while it is held")
    }
}
