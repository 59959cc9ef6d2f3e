//! Reads what is shown as JSON. Where the values of a checkpoint are too large together, only the short ones are shown, and of the others
//! the size. The same for values of channels that are not wanted.

use super::checkpoint::{LargeValues, ListQuery, Target};
use super::storage::{CheckpointStorage, CheckpointTuple, Page};
use super::wanted::WantedChannels;
use crate::domain::caller::Caller;
use crate::domain::error::{Error, Result};

/// A checkpoint with everything that belongs to it. One more read where its values are too large to be shown, or where a channel that is not
/// wanted starts tasks that are, and has a long value.
///
/// # Errors
/// `ValuesTooLarge`; a storage that cannot be read.
pub async fn get_checkpoint(
    storage: &dyn CheckpointStorage,
    caller: &Caller,
    target: &Target,
    history_channels: &[String],
) -> Result<CheckpointTuple> {
    match storage.get_checkpoint(caller, target, history_channels).await {
        Err(Error::ValuesTooLarge { .. }) if target.large_values == LargeValues::Shown => {
            let target = Target { large_values: LargeValues::Short, ..target.clone() };
            storage.get_checkpoint(caller, &target, history_channels).await
        }
        Ok(found) if found.view.as_ref().is_some_and(|it| target.wanted.lacks_tasks(it)) => {
            let target = Target { wanted: WantedChannels::All, ..target.clone() };
            storage.get_checkpoint(caller, &target, history_channels).await
        }
        found => found,
    }
}

/// A page of checkpoints. One more read as for [`get_checkpoint`], where the values of its first one are too large to be shown.
///
/// # Errors
/// As [`get_checkpoint`].
pub async fn list_checkpoints(
    storage: &dyn CheckpointStorage,
    caller: &Caller,
    query: ListQuery,
) -> Result<Page> {
    match storage.list_checkpoints(caller, &query).await {
        Err(Error::ValuesTooLarge { .. }) if query.large_values == LargeValues::Shown => {
            let query = ListQuery { large_values: LargeValues::Short, ..query };
            storage.list_checkpoints(caller, &query).await
        }
        Ok(page) if page.views.iter().any(|it| query.wanted.lacks_tasks(it)) => {
            let query = ListQuery { wanted: WantedChannels::All, ..query };
            storage.list_checkpoints(caller, &query).await
        }
        page => page,
    }
}
