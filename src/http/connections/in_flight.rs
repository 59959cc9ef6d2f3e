//! Limits how many requests a tenant and a credential have under way on connections whose address says nothing: behind a proxy one address
//! stands for many clients, and all connections are its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::domain::scheduling::shares::Holder;
use crate::http::request::problem::{Code, Problem};

/// Requests of all such connections.
#[derive(Debug)]
pub struct InFlight {
    tenant_max: usize,
    credential_max: usize,
    counts: Mutex<HashMap<String, OfTenant>>,
}

#[derive(Debug, Default)]
struct OfTenant {
    all: usize,
    credentials: HashMap<String, usize>,
}

/// One request until its answer was sent. It counts once it is known who asks.
#[derive(Debug)]
pub struct Flight {
    all: Arc<InFlight>,
    holder: OnceLock<Holder>,
}

impl InFlight {
    /// Of so many places a tenant has one half, and a credential one quarter.
    pub fn new(places: usize) -> Arc<Self> {
        let (tenant_max, credential_max) = (places.div_ceil(2), places.div_ceil(4));
        Arc::new(Self { tenant_max, credential_max, counts: Mutex::default() })
    }

    pub fn begin(self: &Arc<Self>) -> Arc<Flight> {
        Arc::new(Flight { all: Arc::clone(self), holder: OnceLock::new() })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, OfTenant>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// Counts the request as one of this holder.
    ///
    /// # Errors
    /// 503 `overloaded` where the holder's tenant or its credential has as many as it may.
    pub fn belongs_to(&self, holder: &Holder) -> Result<(), Problem> {
        if self.holder.get().is_some() {
            return Ok(());
        }
        let InFlight { tenant_max, credential_max, .. } = *self.all;
        let mut counts = self.all.counts();
        let of_tenant = counts.get(holder.tenant());
        let all = of_tenant.map_or(0, |it| it.all);
        let own = of_tenant.and_then(|it| it.credentials.get(holder.credential()));
        for (whose, count, max) in
            [("credential", own.copied().unwrap_or(0), credential_max), ("tenant", all, tenant_max)]
        {
            if count >= max {
                let detail =
                    format!("the {whose} has as many requests under way as it may; try again");
                return Err(Problem::new(Code::Overloaded, detail).limited(max as u64));
            }
        }
        if self.holder.set(holder.clone()).is_ok() {
            let of_tenant = counts.entry(holder.tenant().to_owned()).or_default();
            of_tenant.all += 1;
            *of_tenant.credentials.entry(holder.credential().to_owned()).or_default() += 1;
        }
        Ok(())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let Some(holder) = self.holder.get() else { return };
        let mut counts = self.all.counts();
        let Some(of_tenant) = counts.get_mut(holder.tenant()) else { return };
        of_tenant.all -= 1;
        if let Some(own) = of_tenant.credentials.get_mut(holder.credential()) {
            *own -= 1;
            if *own == 0 {
                of_tenant.credentials.remove(holder.credential());
            }
        }
        if of_tenant.all == 0 {
            counts.remove(holder.tenant());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_until_it_is_over_and_once() {
        let all = InFlight::new(8);
        let (ann, bob) = (Holder::new("acme", "ann"), Holder::new("acme", "bob"));
        let begin = |of: &Holder| {
            let flight = all.begin();
            flight.belongs_to(of).map(|()| flight).map_err(|it| it.code)
        };
        let mut anns = vec![begin(&ann).unwrap(), begin(&ann).unwrap()];
        anns[0].belongs_to(&ann).unwrap();
        assert_eq!(begin(&ann).unwrap_err(), Code::Overloaded);
        let bobs = [begin(&bob).unwrap(), begin(&bob).unwrap()];
        assert_eq!(begin(&Holder::new("acme", "carl")).unwrap_err(), Code::Overloaded);
        let other = begin(&Holder::new("globex", "ann")).unwrap();
        drop(anns.pop());
        anns.push(begin(&ann).unwrap());
        drop((anns, bobs, other));
        assert!(all.counts().is_empty());
    }
}
