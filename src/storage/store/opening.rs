//! Decides which items are opened together, says how much work that is, and opens them.

use super::StoredItem;
use crate::content::keys::TenantSecret;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::Item;
use crate::domain::store::storage::OPENED_BYTES_MAX;
use crate::domain::{Error, Result};
use crate::storage::content::opening::Chunks;

/// Which values of many a read opens.
#[derive(Debug, Clone, Copy)]
pub enum Together {
    /// All. More bytes are refused.
    All(Option<u64>),
    /// Those of the first items that fit.
    First,
}

impl Together {
    /// How many of `asked` items are answered, of those that were found at these places. The others are dropped before their chunks are read.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn keep(self, found: &mut Vec<(usize, StoredItem)>, asked: usize) -> Result<usize> {
        let sum: u64 = found.iter().map(|it| it.1.item.value_bytes()).sum();
        match self {
            Self::All(Some(limit)) if sum > limit => {
                Err(Error::TooLarge { field: "ops".into(), limit })
            }
            Self::First if sum > OPENED_BYTES_MAX => {
                found.sort_by_key(|it| it.0);
                let count = count_opened(found.iter().map(|it| &it.1));
                let answered = found.get(count).map_or(asked, |it| it.0);
                found.truncate(count);
                Ok(answered)
            }
            _ => Ok(asked),
        }
    }
}

/// How many of these items are opened together: one at least.
pub fn count_opened<'a>(items: impl Iterator<Item = &'a StoredItem>) -> usize {
    let mut sum = 0;
    let fits = |it: &&StoredItem| {
        sum += it.item.value_bytes();
        sum <= OPENED_BYTES_MAX
    };
    items.take_while(fits).count().max(1)
}

/// How much work it is to open the values of items that were read.
pub fn opening_size<'a>(items: impl IntoIterator<Item = &'a &'a StoredItem>) -> usize {
    let read = items.into_iter().filter(|it| it.body.is_some());
    let (count, bytes) =
        read.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.item.value_bytes()));
    cpu_pool::size_of(count, usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Items at their places among so many.
///
/// # Errors
/// `Integrity` when one is damaged.
pub fn open_placed(
    secret: &TenantSecret,
    stored: Vec<(usize, StoredItem)>,
    chunks: &Chunks,
    count: usize,
) -> Result<Vec<Option<Item>>> {
    let mut found: Vec<Option<Item>> = (0..count).map(|_| None).collect();
    for (at, stored) in stored {
        let value = Some(stored.open(secret, chunks)?);
        found[at] = Some(Item { value, ..stored.item });
    }
    Ok(found)
}
