//! Remembers the secrets of tenants, and how long this process trusts them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::MutexGuard;

use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::domain::scheduling::turns::Turns;
use crate::storage::tokens::rights::RightsMemory;

/// How often a key that encrypts is looked for in the database: one that was destroyed is forgotten by then.
const TRUSTED: Duration = Duration::from_secs(2);

pub struct SecretMemory {
    masters: Option<Arc<MasterKeys>>,
    known: RwLock<HashMap<String, Known>>,
    started: Instant,
    /// Of tenants that are not known.
    turns: Turns,
    /// Of rows that decide rights.
    pub rights: RightsMemory,
}

struct Known {
    secret: TenantSecret,
    /// Milliseconds after the start until when it is trusted.
    until: AtomicU64,
}

/// What the memory says of a tenant.
pub enum Memory {
    Trusted(TenantSecret),
    /// To be looked for again, by this caller; others go on with it meanwhile.
    Expired(TenantSecret),
    Unknown,
}

impl SecretMemory {
    pub fn new(masters: Option<Arc<MasterKeys>>) -> Self {
        Self {
            masters,
            known: RwLock::default(),
            started: Instant::now(),
            turns: Turns::default(),
            rights: RightsMemory::default(),
        }
    }

    pub fn masters(&self) -> Option<&MasterKeys> {
        self.masters.as_deref()
    }

    pub fn look_up(&self, tenant: &str) -> Memory {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = known.get(tenant) else { return Memory::Unknown };
        let secret = known.secret.clone();
        if self.masters.is_none() {
            return Memory::Trusted(secret);
        }
        let (now, until) = (self.now(), known.until.load(Ordering::Relaxed));
        let mine = || {
            let next = now + as_millis(TRUSTED);
            let swapped =
                known.until.compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed);
            swapped.is_ok()
        };
        if now >= until && mine() { Memory::Expired(secret) } else { Memory::Trusted(secret) }
    }

    /// Waits until nobody else looks for the secret of a tenant that is not known. Calls that meet a new tenant together do not queue for the
    /// database: the first one makes the secret, the others find it in the memory.
    pub async fn take_turn(&self, tenant: &str) -> (MutexGuard<'_, ()>, Memory) {
        let turn = self.turns.take(tenant).await;
        (turn, self.look_up(tenant))
    }

    pub fn insert(&self, tenant: &str, secret: &TenantSecret) {
        let until = AtomicU64::new(self.now() + as_millis(TRUSTED));
        let known = Known { secret: secret.clone(), until };
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(tenant.to_owned(), known);
    }

    /// The look-up of an expired secret failed: the next caller tries.
    pub fn expire(&self, tenant: &str) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(tenant) {
            known.until.store(0, Ordering::Relaxed);
        }
    }

    pub fn forget(&self, tenant: &str) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(tenant);
    }

    fn now(&self) -> u64 {
        as_millis(self.started.elapsed()) + 1
    }
}

fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
