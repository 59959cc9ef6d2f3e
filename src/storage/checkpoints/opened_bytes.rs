//! Counts the bytes of the values that a read is about to open, holds memory for them, and refuses a read that would open too many. It is
//! the same for every engine.

use super::value_parts::comes_as_names;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::read_memory::{ReadBytes, ReadMemory};
use crate::domain::{Error, Result};
use crate::storage::content::documents::size_of_document;

/// Checkpoints of a page whose values have more bytes together are read one after the other.
const LISTED_TOGETHER_BYTES_MAX: u64 = 16 << 20;
/// Stored bytes of the documents of one slice of a listing, but for one that is larger.
pub const LISTED_DOCUMENTS_BYTES: usize = 16 << 20;

/// What one answer opens.
pub struct OpenedBytes {
    large_values: LargeValues,
    limit: u64,
    sum: u64,
    held: ReadBytes,
}

impl OpenedBytes {
    /// Of an answer, or of one checkpoint of a page.
    pub fn of(memory: &ReadMemory, large_values: LargeValues) -> Self {
        let (limit, held) = (large_values.together_bytes_max(), memory.begin());
        Self { large_values, limit, sum: 0, held }
    }

    /// Of some checkpoints of a page. Where they are too large together, each is read alone.
    pub fn of_page(memory: &ReadMemory, large_values: LargeValues) -> Self {
        Self { limit: LISTED_TOGETHER_BYTES_MAX, ..Self::of(memory, large_values) }
    }

    /// Of what one delta base of a removal is made of. Once it is made, it is read like an answer.
    pub fn of_base(memory: &ReadMemory, large_values: LargeValues) -> Self {
        let limit = LIMITS.bytes_in_flight_per_tenant_max;
        Self { limit, ..Self::of(memory, large_values) }
    }

    pub fn limit(&self) -> i64 {
        self.limit.cast_signed()
    }

    /// Those that were counted.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.sum).unwrap_or(usize::MAX)
    }

    /// Counts a value with its list of chunks, if it comes with its bytes.
    ///
    /// # Errors
    /// `ValuesTooLarge`.
    pub fn count_value(&mut self, size_bytes: i32, list: Option<&[u8]>) -> Result<()> {
        let is_named = || list.is_some_and(|it| comes_as_names(size_bytes, it, self.large_values));
        if self.large_values.leaves_out(size_bytes) || is_named() {
            return Ok(());
        }
        self.count(u64::from(size_bytes.unsigned_abs()))
    }

    /// Counts a delta base.
    ///
    /// # Errors
    /// As [`Self::count_value`].
    pub fn count_base(&mut self, sealed: &[u8]) -> Result<()> {
        self.count(u64::from(size_of_document(sealed)))
    }

    /// Holds memory for what was counted, before it is opened.
    ///
    /// # Errors
    /// `NoRoom`.
    pub async fn hold(&mut self) -> Result<()> {
        self.held.hold(self.sum).await
    }

    fn count(&mut self, bytes: u64) -> Result<()> {
        self.sum += bytes;
        if self.sum > self.limit {
            return Err(Error::ValuesTooLarge { limit: self.limit });
        }
        Ok(())
    }
}

/// Says why a removal cannot make a base.
pub fn base_error(error: Error) -> Error {
    match error {
        Error::ValuesTooLarge { limit } => Error::BaseTooLarge { limit },
        other => other,
    }
}
