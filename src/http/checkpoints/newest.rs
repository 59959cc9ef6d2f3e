//! Reads the newest states of threads that lists show.

use crate::app::App;
use crate::decode::Budget;
use crate::decode::state::{State, state};
use crate::decode::values::size_bytes;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{LargeValues, Target};
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::names::{CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};

/// The newest state of the root graph, with `shown_bytes_max` of its values at most. None: there is no checkpoint, or it cannot be shown; a
/// list does not fail for one of its threads. One round trip, and one more where its values are too large together.
///
/// # Errors
/// A storage that cannot be read; stored bytes that are damaged.
pub async fn newest_state(
    app: &App,
    caller: &Caller,
    thread_id: &str,
    (large_values, shown_bytes_max): (LargeValues, u64),
) -> Result<Option<State>> {
    let thread_id = ThreadId::new(thread_id)?;
    let (ns, wanted) = (CheckpointNs::root(), WantedChannels::All);
    let target = Target { thread_id, ns, id: None, large_values, wanted };
    let found = match app.checkpoints.get(caller, &target, &[], None).await {
        Err(Error::ValuesTooLarge { .. }) if large_values != LargeValues::Shown => {
            let short = Target { large_values: LargeValues::Short, ..target };
            app.checkpoints.get(caller, &short, &[], None).await
        }
        found => found,
    };
    let found = match found {
        Err(Error::ValuesTooLarge { .. }) => return Ok(None),
        found => found?.0,
    };
    let shown = cpu_pool::run_sized(&caller.tenant, size_bytes(&found), move || {
        state(&found, true, &mut Budget::new(shown_bytes_max))
    });
    Ok(shown.await?.unwrap_or_default())
}
