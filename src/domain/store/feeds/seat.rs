//! Counts the followers of the change feed, and limits how many a tenant and a holder may have.

use std::sync::Arc;

use super::Feeds;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::metric_families as families;

/// A place among the followers.
pub(in crate::domain) struct Seat {
    pub(in crate::domain) feeds: Arc<Feeds>,
    pub(in crate::domain) tenant: String,
    /// None: the whole tenant's.
    holder: Option<String>,
}

impl Seat {
    pub(super) fn take(feeds: &Arc<Feeds>, tenant: String, holder: Option<&str>) -> Result<Self> {
        let mut hub = feeds.hub();
        check("a server", hub.followers, LIMITS.feed_followers_max)?;
        if let Some(followed) = hub.tenants.get(&tenant) {
            check("a tenant", followed.followers, LIMITS.feed_followers_per_tenant_max)?;
            if let Some(holder) = holder {
                let own = followed.holders.get(holder).copied().unwrap_or(0);
                let whose = "tokens of one key and subject";
                check(whose, own, LIMITS.feed_followers_per_credential_max)?;
                // A key of the whole tenant always finds a seat.
                let whose = "all tokens of a tenant together";
                check(whose, followed.scoped, LIMITS.feed_followers_scoped_max)?;
            }
        }
        let now = feeds.clock.now();
        let followed = hub.tenants.entry(tenant.clone()).or_default();
        if followed.followers == 0 {
            followed.renewed_at = now;
        }
        followed.followers += 1;
        let holder = holder.map(str::to_owned);
        if let Some(holder) = &holder {
            followed.scoped += 1;
            *followed.holders.entry(holder.clone()).or_default() += 1;
        }
        hub.followers += 1;
        metrics::gauge!(families::FEED_FOLLOWERS).set(hub.followers as f64);
        Ok(Self { feeds: Arc::clone(feeds), tenant, holder })
    }
}

fn check(whose: &'static str, followers: u64, limit: u64) -> Result<()> {
    if followers < limit { Ok(()) } else { Err(Error::TooManyFollowers { whose, limit }) }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut hub = self.feeds.hub();
        hub.followers -= 1;
        metrics::gauge!(families::FEED_FOLLOWERS).set(hub.followers as f64);
        if let Some(followed) = hub.tenants.get_mut(&self.tenant) {
            followed.followers -= 1;
            if let Some(holder) = &self.holder
                && let Some(own) = followed.holders.get_mut(holder)
            {
                followed.scoped -= 1;
                *own -= 1;
                if *own == 0 {
                    followed.holders.remove(holder);
                }
            }
            if followed.followers == 0 {
                hub.tenants.remove(&self.tenant);
            }
        }
    }
}
