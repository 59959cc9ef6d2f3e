//! Reads the map of a checkpoint as either engine stores it.

use crate::domain::{Error, Result};
use crate::storage::checkpoints::channel_map::{Entry, unpack};
use crate::storage::db::access::SqlRow;

/// Reads the three columns of `{map}` from column `at` on.
///
/// # Errors
/// `Integrity` when they are no map.
pub fn read_map(row: &SqlRow, at: usize) -> Result<Vec<Entry>> {
    let first = row.bytes(at)?;
    let Some(versions) = row.optional_bytes(at + 1)? else {
        return unpack(first);
    };
    let (channels, versions, nos) = (longs(first), longs(versions), longs(row.bytes(at + 2)?));
    if channels.len() != versions.len() || channels.len() != nos.len() {
        return Err(Error::Integrity("the columns of a channel map differ in length".into()));
    }
    let entries = channels.into_iter().zip(versions).zip(nos);
    let entry = |((channel_key, version_key), no): ((i64, i64), i64)| {
        let damaged = |_| Error::Integrity("a value has a negative number".into());
        Ok(Entry { channel_key, version_key, value_no: u32::try_from(no).map_err(damaged)? })
    };
    entries.map(entry).collect()
}

fn longs(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|it| i64::from_le_bytes(*it)).collect()
}
