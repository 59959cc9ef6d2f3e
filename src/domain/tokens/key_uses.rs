//! Notes the day of each key's last use. It is written every [`FLUSH_EVERY`], once for a key and day, and never by a request.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::key::Key;
use super::storage::KeyStorage;
use crate::domain::clock::{Clock, DAY, Micros};
use crate::domain::error::Result;
use crate::domain::scheduling::task_health::TaskHealth;

pub const FLUSH_EVERY: Duration = Duration::from_secs(30);
/// Rows of one transaction.
const SLICE: usize = 100;

/// A key that was used on a day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyUse {
    pub tenant: String,
    pub key_id: String,
    /// Since 1970 UTC.
    pub day: i64,
}

/// The uses of keys that this server has seen.
pub struct KeyUses {
    storage: Arc<dyn KeyStorage>,
    clock: Arc<Clock>,
    noted: RwLock<Noted>,
}

#[derive(Default)]
struct Noted {
    /// By the hash of a key: the day that was noted last.
    days: HashMap<[u8; 32], i64>,
    /// What is not written yet, with the hashes.
    waiting: Vec<(KeyUse, [u8; 32])>,
}

impl KeyUses {
    pub fn new(storage: Arc<dyn KeyStorage>, clock: Arc<Clock>) -> Self {
        Self { storage, clock, noted: RwLock::default() }
    }

    /// Notes that a key is used now. Costs a look into a map but for the first use on a day.
    pub fn note(&self, key: &Key, now: Micros) {
        let day = now.div_euclid(DAY);
        let is_known = |noted: &Noted| noted.days.get(&key.hash).is_some_and(|it| *it >= day);
        if is_known(&self.noted.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut noted = self.noted.write().unwrap_or_else(PoisonError::into_inner);
        if is_known(&noted) {
            return;
        }
        noted.days.insert(key.hash, day);
        let (tenant, key_id) = (key.tenant.clone(), key.key_id.clone());
        noted.waiting.push((KeyUse { tenant, key_id, day }, key.hash));
    }

    /// Never returns.
    pub async fn run(self: Arc<Self>, health: TaskHealth) {
        let health = health.every(FLUSH_EVERY);
        let mut ticks = tokio::time::interval(FLUSH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let flushed = self.flush().await;
            health.note(&flushed);
            if let Err(error) = flushed {
                tracing::warn!(%error, "when keys were used last could not be written; their next use is noted again");
            }
        }
    }

    /// Writes what was noted. What could not be written is dropped: the next use of the key is noted again.
    ///
    /// # Errors
    /// A storage that cannot be written.
    pub async fn flush(&self) -> Result<()> {
        let today = self.clock.now().div_euclid(DAY);
        let mut waiting = {
            let mut noted = self.noted.write().unwrap_or_else(PoisonError::into_inner);
            noted.days.retain(|_, day| *day >= today);
            std::mem::take(&mut noted.waiting)
        };
        // Servers that write the same rows take them in the same order.
        waiting.sort();
        let mut done = Ok(());
        for slice in waiting.chunks(SLICE) {
            let uses: Vec<KeyUse> = slice.iter().map(|(it, _)| it.clone()).collect();
            let written = self.storage.put_key_uses(&uses).await;
            if written.is_err() {
                let mut noted = self.noted.write().unwrap_or_else(PoisonError::into_inner);
                noted.days.retain(|hash, _| !slice.iter().any(|(_, it)| it == hash));
            }
            done = done.and(written);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use async_trait::async_trait;

    use super::*;
    use crate::domain::Error;
    use crate::domain::tenants::audit::Act;
    use crate::domain::tokens::key::{KeyQuery, ShownKey};

    #[derive(Default)]
    struct Stored {
        written: Mutex<Vec<KeyUse>>,
        fails: AtomicBool,
    }

    #[async_trait]
    impl KeyStorage for Stored {
        async fn create_key(&self, _: &Key, _: &Act) -> Result<()> {
            unreachable!()
        }

        async fn list_keys(&self, _: &str, _: &KeyQuery) -> Result<Vec<Key>> {
            unreachable!()
        }

        async fn count_keys(&self, _: &str) -> Result<u64> {
            unreachable!()
        }

        async fn revoke_key(&self, _: &str, _: &str, _: &Act) -> Result<bool> {
            unreachable!()
        }

        async fn put_key_uses(&self, uses: &[KeyUse]) -> Result<()> {
            if self.fails.load(Relaxed) {
                return Err(Error::Internal("on demand".into()));
            }
            self.written.lock().unwrap().extend_from_slice(uses);
            Ok(())
        }
    }

    fn key(tenant: &str, byte: u8) -> Key {
        Key {
            key_id: "key_1".into(),
            tenant: tenant.into(),
            subject: None,
            hash: [byte; 32],
            created_at: 0,
            revoked_at: None,
            expires_at: None,
            shown: ShownKey::default(),
        }
    }

    #[tokio::test]
    async fn a_use_is_written_once_a_day_and_again_after_a_failure() {
        let stored = Arc::new(Stored::default());
        let clock = Arc::new(Clock::Fixed((3 * DAY).into()));
        let storage: Arc<dyn KeyStorage> = stored.clone();
        let uses = KeyUses::new(storage, Arc::clone(&clock));
        let (one, two) = (key("a", 1), key("b", 2));
        let written = || {
            let all = std::mem::take(&mut *stored.written.lock().unwrap());
            all.into_iter().map(|it| (it.tenant, it.day)).collect::<Vec<_>>()
        };
        for _ in 0..3 {
            uses.note(&two, 4 * DAY - 1);
            uses.note(&one, 3 * DAY);
        }
        uses.flush().await.unwrap();
        assert_eq!(written(), [("a".into(), 3), ("b".into(), 3)]);
        uses.note(&one, 3 * DAY + 5);
        uses.note(&one, 2 * DAY);
        uses.flush().await.unwrap();
        assert_eq!(written(), [], "on this day it was noted, and the clock went back");
        clock.advance(DAY);
        stored.fails.store(true, Relaxed);
        uses.note(&one, 4 * DAY);
        assert!(uses.flush().await.is_err());
        stored.fails.store(false, Relaxed);
        uses.flush().await.unwrap();
        assert_eq!(written(), [], "it was dropped");
        uses.note(&one, 4 * DAY);
        uses.flush().await.unwrap();
        assert_eq!(written(), [("a".into(), 4)]);
    }
}
