//! Runs an examination without watching its progress.

use super::Result;
use super::doctor::{Examine, Progress, Report};
use super::storage::Storage;

impl dyn Storage + '_ {
    /// # Errors
    /// A database that cannot be asked. Damage is in the report.
    pub async fn examine(&self, request: &Examine) -> Result<Report> {
        self.examine_watched(request, &Progress::default()).await
    }
}
