//! Limits the memory of stored values that reads have opened and that are not answered yet. It is a ledger of its own beside that of
//! bodies: all requests together, those of a tenant and those of a credential have the same shares as their bodies have.
//!
//! A read waits a moment for room, with its connection to the database. Those that have room need nothing else to go on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::room;
use super::shares::{Account, Full, Held};
use crate::domain::{Error, Result};

/// What a read opens without being counted: so small reads cost no lock.
const FREE_BYTES: u64 = 1 << 20;
/// How long a read waits for room.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the reads of one request hold, until the last clone of it is gone: as much as the largest of them. Whoever reads several times in
/// one request drops what it has read, or keeps within the limits of a page. The command line and work in the background hold nothing.
#[derive(Clone, Default)]
pub struct ReadMemory(Option<Arc<Mutex<Held>>>);

/// Of who holds nothing.
pub static UNCOUNTED: ReadMemory = ReadMemory(None);

/// What one read holds. The request holds it afterwards.
pub struct ReadBytes {
    memory: ReadMemory,
    held: Option<Held>,
}

impl ReadMemory {
    pub fn of(account: &Account) -> Self {
        Self(Some(Arc::new(Mutex::new(account.open()))))
    }

    pub fn begin(&self) -> ReadBytes {
        ReadBytes { memory: self.clone(), held: None }
    }

    /// The bytes that the request holds, as far as no read has them.
    fn request(&self) -> Option<MutexGuard<'_, Held>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReadBytes {
    /// Holds `bytes` in all for this read.
    ///
    /// # Errors
    /// `NoRoom` when there was none for some time.
    pub async fn hold(&mut self, bytes: u64) -> Result<()> {
        if bytes <= FREE_BYTES {
            return Ok(());
        }
        if self.held.is_none() {
            self.held = self.memory.request().map(|mut it| it.split(u64::MAX));
        }
        let wanted = bytes.next_multiple_of(FREE_BYTES);
        let Some(held) = self.held.as_mut().filter(|it| it.bytes() < wanted) else {
            return Ok(());
        };
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        room::wait_for(held, wanted, PATIENCE, || false).await.map_err(|full| match full {
            Full::Share(limit) => Error::NoRoom { limit },
            Full::Ended => Error::NoRoom { limit: wanted as u64 },
        })
    }
}

impl Drop for ReadBytes {
    fn drop(&mut self) {
        if let (Some(mut request), Some(own)) = (self.memory.request(), self.held.take())
            && own.bytes() > request.bytes()
        {
            *request = own;
        }
    }
}

impl std::fmt::Debug for ReadMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadMemory").finish_non_exhaustive()
    }
}

/// Callers are the same whatever they read.
impl PartialEq for ReadMemory {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ReadMemory {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scheduling::shares::{Holder, Shares, Sizes};

    const MIB: u64 = 1 << 20;
    const SIZES: Sizes = Sizes { all: 8 * MIB, tenant: 8 * MIB, credential: 4 * MIB };

    fn memory(shares: &Arc<Shares>, credential: &str) -> ReadMemory {
        ReadMemory::of(&shares.account(Holder::new("acme", credential)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_holds_its_largest_read_until_it_is_answered() {
        let shares = Shares::new(SIZES);
        let request = memory(&shares, "a");
        let hold = async |bytes| request.begin().hold(bytes).await.unwrap();
        hold(MIB).await;
        assert_eq!(shares.held_bytes(), 0, "small reads are free");
        hold(3 * MIB - 1).await;
        hold(2 * MIB).await;
        assert_eq!(shares.held_bytes(), 3 * MIB);
        let mut beside = request.begin();
        beside.hold(2 * MIB).await.unwrap();
        assert_eq!(shares.held_bytes(), 3 * MIB, "it has the bytes of the request");
        hold(2 * MIB).await;
        drop((beside, request));
        assert_eq!(shares.held_bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_is_told_after_a_moment_and_has_it_when_others_are_answered() {
        let shares = Shares::new(SIZES);
        let [first, second, third] = ["a", "b", "c"].map(|it| memory(&shares, it));
        first.begin().hold(4 * MIB).await.unwrap();
        second.begin().hold(4 * MIB).await.unwrap();
        let refused = third.begin().hold(2 * MIB).await;
        assert!(matches!(refused, Err(Error::NoRoom { limit }) if limit == 8 * MIB));
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        });
        third.begin().hold(2 * MIB).await.unwrap();
        ReadMemory::default().begin().hold(99 * MIB).await.unwrap();
        assert_eq!(shares.held_bytes(), 6 * MIB);
    }
}
