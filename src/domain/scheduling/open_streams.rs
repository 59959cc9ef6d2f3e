//! Counts streams that are held open, and limits how many the server, a tenant and a holder may have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;

const METRIC: &str = "threadkeep_event_streams";

/// Streams of this server.
#[derive(Default)]
pub struct OpenStreams {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: u64,
    tenants: HashMap<String, OfTenant>,
}

#[derive(Default)]
struct OfTenant {
    all: u64,
    holders: HashMap<String, u64>,
}

/// The place of one stream.
pub struct OpenStream {
    streams: Arc<OpenStreams>,
    tenant: String,
    holder: String,
}

impl OpenStreams {
    /// # Errors
    /// 422 where there are too many.
    pub fn open(self: &Arc<Self>, tenant: &str, holder: &str) -> Result<OpenStream> {
        let mut counts = self.counts();
        let of_tenant = counts.tenants.get(tenant);
        let all_of_tenant = of_tenant.map_or(0, |it| it.all);
        let own = of_tenant.and_then(|it| it.holders.get(holder)).copied().unwrap_or(0);
        check("one credential", own, LIMITS.event_streams_per_credential_max)?;
        check("a tenant", all_of_tenant, LIMITS.event_streams_per_tenant_max)?;
        check("a server", counts.all, LIMITS.event_streams_max)?;
        counts.all += 1;
        metrics::gauge!(METRIC).increment(1);
        let of_tenant = counts.tenants.entry(tenant.to_owned()).or_default();
        of_tenant.all += 1;
        *of_tenant.holders.entry(holder.to_owned()).or_default() += 1;
        drop(counts);
        let (tenant, holder) = (tenant.to_owned(), holder.to_owned());
        Ok(OpenStream { streams: Arc::clone(self), tenant, holder })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(whose: &'static str, open: u64, limit: u64) -> Result<()> {
    if open < limit { Ok(()) } else { Err(Error::TooManyStreams { whose, limit }) }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut counts = self.streams.counts();
        counts.all -= 1;
        metrics::gauge!(METRIC).decrement(1);
        let Some(of_tenant) = counts.tenants.get_mut(&self.tenant) else { return };
        of_tenant.all -= 1;
        if let Some(own) = of_tenant.holders.get_mut(&self.holder) {
            *own -= 1;
            if *own == 0 {
                of_tenant.holders.remove(&self.holder);
            }
        }
        if of_tenant.all == 0 {
            counts.tenants.remove(&self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_stream_has_ended() {
        let streams = Arc::new(OpenStreams::default());
        let own = LIMITS.event_streams_per_credential_max;
        let mut open: Vec<_> = (0..own).map(|_| streams.open("acme", "ann").unwrap()).collect();
        assert!(streams.open("acme", "ann").is_err());
        // Others have places of their own.
        let others = [("acme", "bob"), ("other", "ann")];
        let others: Vec<_> = others.map(|(a, b)| streams.open(a, b).unwrap()).into();
        open.pop();
        open.push(streams.open("acme", "ann").unwrap());
        drop((open, others));
        let counts = streams.counts();
        assert!(counts.all == 0 && counts.tenants.is_empty());
    }

    #[test]
    fn a_tenant_leaves_places_to_others() {
        let streams = Arc::new(OpenStreams::default());
        let open = |at: u64| streams.open("acme", &format!("holder {at}"));
        let all: Vec<_> = (0..LIMITS.event_streams_per_tenant_max).map(open).collect();
        assert!(all.iter().all(Result::is_ok));
        assert!(open(u64::MAX).is_err());
        assert!(streams.open("other", "ann").is_ok());
    }
}
