//! Waits for a database that does not answer when the server starts, as long as the operator wants.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::exit;
use crate::domain::Result;
use crate::domain::storage::Storage;
use crate::storage::{self, StorageConfig};

const TRY_EVERY: Duration = Duration::from_millis(500);

/// Opens the storage; tries again while the database is away, for `patience`.
///
/// # Errors
/// That of the last attempt.
pub(super) async fn open(config: &StorageConfig, patience: Duration) -> Result<Arc<dyn Storage>> {
    let until = Instant::now() + patience;
    let mut is_told = false;
    loop {
        let error = match storage::open(config).await {
            Err(error) if exit::is_database_away(&error) && Instant::now() < until => error,
            opened => return opened,
        };
        if !is_told {
            is_told = true;
            let seconds = patience.as_secs();
            tracing::warn!("{error}; trying again for {seconds} seconds (--wait-for-database)");
        }
        sleep(TRY_EVERY.min(until.saturating_duration_since(Instant::now()))).await;
    }
}
