//! Stores the parts of checkpoint values that are too large for a body. They are sent before the commit that names them, and read after the
//! answer that names them. The parts in their order are the value.

use bytes::Bytes;

use super::checkpoint::{Commit, LargeValues, NewPart, Value};
use super::service::{Checkpoints, write};
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error, Result};
use crate::domain::names::{ThreadId, Writer};
use crate::domain::scheduling::contention::Contention;
use crate::domain::tokens::grants::Action;

impl Checkpoints {
    /// Keeps a part of a value for a day. Makes the thread where there is none. Four round trips.
    ///
    /// # Errors
    /// As [`Checkpoints::commit`].
    pub async fn put_part(
        &self,
        caller: &Caller,
        part: &NewPart,
        deadline: Micros,
    ) -> Result<Bytes> {
        caller.require_thread(&part.thread_id, Action::Append)?;
        part.check()?;
        self.quotas.require_bytes(caller)?;
        let mut contention = Contention::default();
        loop {
            self.clock.require_before(deadline)?;
            if let Some(name) = self.storage.put_value_part(caller, part, self.clock.now()).await? {
                return Ok(name);
            }
            let nothing = Commit {
                thread_id: part.thread_id.clone(),
                generation: part.generation.clone(),
                fence: part.fence,
                writer: Writer::new(String::new())?,
                ops: Vec::new(),
                full: self.quotas.threads_full(caller),
            };
            write(&*self.storage, &self.commits, caller, &nothing, deadline).await?;
            contention.lost("the thread keeps").await?;
        }
    }

    /// The bytes of a part that a read named.
    ///
    /// # Errors
    /// 409 `parts_missing` where it is gone; `NotGranted`.
    pub async fn get_part(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        name: &[u8],
    ) -> Result<Bytes> {
        caller.require(Permission::Threads(Action::Read))?;
        let missing = || Error::Conflict(Conflict::PartsMissing { field: "name".into() });
        if !caller.may_read_thread(thread_id) {
            return Err(missing());
        }
        self.storage.get_value_part(caller, thread_id, name).await?.ok_or_else(missing)
    }
}

/// Refuses an answer with a value that does not fit into a body, to a reader who did not ask for parts.
///
/// # Errors
/// 413 naming `value_parts`.
pub fn require_whole<'a>(
    large_values: LargeValues,
    mut values: impl Iterator<Item = &'a Value>,
) -> Result<()> {
    if large_values != LargeValues::Inline {
        return Ok(());
    }
    let in_parts = values.find_map(|it| it.in_parts.as_ref());
    in_parts.map_or(Ok(()), |it| Err(Error::ComesInParts { size_bytes: it.size_bytes }))
}
