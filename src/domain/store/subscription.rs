//! Serves one follower of the change feed: first from the log at its own pace, then from its queue.

use std::sync::Arc;
use std::time::Duration;

use super::feed::{Change, Position, kept_since};
use super::feeds::{PAGE_CHANGES, Queue, Seat, Taken};
use crate::domain::error::Result;

/// A follower. Leaves when it is dropped.
pub struct Subscription {
    seat: Seat,
    queue: Arc<Queue>,
    /// Up to where he has got everything.
    position: Position,
    is_live: bool,
}

/// What a follower gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Changes(Vec<Arc<Change>>),
    /// Nothing came in time.
    Nothing,
    /// He was too slow, or the log was lost: changes up to [`Subscription::position`] were left out.
    Resync,
}

impl Subscription {
    pub(super) fn new(seat: Seat, queue: Arc<Queue>, position: Position) -> Self {
        Self { seat, queue, position, is_live: false }
    }

    /// Behind everything that was got.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Waits no longer than `patience` for a change.
    ///
    /// # Errors
    /// When the log cannot be read. The next call tries again.
    pub async fn next(&mut self, patience: Duration) -> Result<Step> {
        if !self.is_live {
            return self.read_log().await;
        }
        match self.take() {
            Step::Nothing => {}
            step => return Ok(step),
        }
        // What arrived since is not waited for. That nothing comes in time is no error.
        let _ = tokio::time::timeout(patience, self.queue.arrived.notified()).await;
        Ok(self.take())
    }

    fn take(&mut self) -> Step {
        let Seat { feeds, tenant, .. } = &self.seat;
        match feeds.take(tenant, &self.queue) {
            Taken::Changes(changes) => {
                if let Some(last) = changes.last() {
                    self.position = last.position.clone();
                }
                Step::Changes(changes)
            }
            Taken::Nothing(position) => {
                self.position = position.unwrap_or_else(|| self.position.clone());
                Step::Nothing
            }
            Taken::Lost(position) => {
                self.position = position.unwrap_or_else(|| self.position.clone());
                Step::Resync
            }
        }
    }

    async fn read_log(&mut self) -> Result<Step> {
        let Seat { feeds, tenant, .. } = &self.seat;
        if feeds.join(tenant, &self.queue, &self.position, false) {
            self.is_live = true;
            return Ok(Step::Nothing);
        }
        let now = feeds.clock.now();
        let after = [(tenant.clone(), self.position.clone())];
        let page = feeds.storage.read_changes(&after, PAGE_CHANGES, now).await?.pop().flatten();
        let page = match page {
            // A reader that took longer than the log is kept has lost what is gone of it.
            Some(page) if self.position.at >= kept_since(now) => page,
            _ => {
                self.position = feeds.storage.open_feed(tenant, now).await?;
                return Ok(Step::Resync);
            }
        };
        self.position = page.next;
        if page.is_whole {
            self.is_live = feeds.join(tenant, &self.queue, &self.position, true);
        }
        let changes = page.changes.into_iter().filter(|it| self.queue.has(it)).map(Arc::new);
        let changes: Vec<Arc<Change>> = changes.collect();
        Ok(if changes.is_empty() { Step::Nothing } else { Step::Changes(changes) })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.seat.feeds.leave(&self.seat.tenant, &self.queue);
    }
}
