//! Counts what is held, by tenant and credential, and refuses what goes beyond the share of one of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::shares::Holder;

/// Counts of one kind of things.
#[derive(Debug)]
pub struct Tally {
    most: Most,
    counts: Mutex<Counts>,
}

/// How many there may be at one time.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    pub credential: u64,
    pub tenant: u64,
    /// Of all tenants.
    pub all: u64,
}

#[derive(Debug, Default)]
struct Counts {
    all: u64,
    tenants: HashMap<String, OfTenant>,
}

#[derive(Debug, Default)]
struct OfTenant {
    all: u64,
    credentials: HashMap<String, u64>,
}

/// Whose share a count is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Credential,
    Tenant,
    All,
}

/// A share that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    pub whose: Whose,
    pub limit: u64,
}

/// One thing that counts until it is dropped.
#[derive(Debug)]
pub struct Counted {
    tally: Arc<Tally>,
    holder: Holder,
}

impl Tally {
    pub fn new(most: Most) -> Arc<Self> {
        Arc::new(Self { most, counts: Mutex::default() })
    }

    /// # Errors
    /// The narrowest share that is used up.
    pub fn count(self: &Arc<Self>, holder: &Holder) -> Result<Counted, Full> {
        let mut counts = self.counts();
        let of_tenant = counts.tenants.get(holder.tenant());
        let own = of_tenant.and_then(|it| it.credentials.get(holder.credential()));
        for (whose, count, limit) in [
            (Whose::Credential, own.copied().unwrap_or(0), self.most.credential),
            (Whose::Tenant, of_tenant.map_or(0, |it| it.all), self.most.tenant),
            (Whose::All, counts.all, self.most.all),
        ] {
            if count >= limit {
                return Err(Full { whose, limit });
            }
        }
        counts.all += 1;
        let of_tenant = counts.tenants.entry(holder.tenant().to_owned()).or_default();
        of_tenant.all += 1;
        *of_tenant.credentials.entry(holder.credential().to_owned()).or_default() += 1;
        Ok(Counted { tally: Arc::clone(self), holder: holder.clone() })
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        let counts = self.counts();
        counts.all == 0 && counts.tenants.is_empty()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.tally.counts();
        counts.all -= 1;
        let Some(of_tenant) = counts.tenants.get_mut(self.holder.tenant()) else { return };
        of_tenant.all -= 1;
        if let Some(own) = of_tenant.credentials.get_mut(self.holder.credential()) {
            *own -= 1;
            if *own == 0 {
                of_tenant.credentials.remove(self.holder.credential());
            }
        }
        if of_tenant.all == 0 {
            counts.tenants.remove(self.holder.tenant());
        }
    }
}
