//! Limits how many requests a tenant and a credential have under way on connections whose address says nothing: behind a proxy one address
//! stands for many clients, and all connections are its own.

use std::sync::{Arc, OnceLock};

use crate::domain::scheduling::shares::Holder;
use crate::domain::scheduling::tally::{Counted, Full, Most, Tally, Whose};
use crate::http::request::problem::{Code, Problem};

/// Requests of all such connections.
#[derive(Debug)]
pub struct InFlight(Arc<Tally>);

/// One request until its answer was sent. It counts once it is known who asks.
#[derive(Debug)]
pub struct Flight {
    all: Arc<Tally>,
    counted: OnceLock<Counted>,
}

impl InFlight {
    /// Of so many places a tenant has one half, and a credential one quarter.
    pub fn new(places: usize) -> Arc<Self> {
        let (tenant, credential) = (places.div_ceil(2) as u64, places.div_ceil(4) as u64);
        // The connections themselves have a limit.
        Arc::new(Self(Tally::new(Most { credential, tenant, all: u64::MAX })))
    }

    pub fn begin(self: &Arc<Self>) -> Arc<Flight> {
        Arc::new(Flight { all: Arc::clone(&self.0), counted: OnceLock::new() })
    }
}

impl Flight {
    /// Counts the request as one of this holder.
    ///
    /// # Errors
    /// 503 `overloaded` where the holder's tenant or its credential has as many as it may.
    pub fn belongs_to(&self, holder: &Holder) -> Result<(), Problem> {
        if self.counted.get().is_none() {
            let counted = self.all.count(holder).map_err(refusal)?;
            // Of two at one time one counts.
            drop(self.counted.set(counted));
        }
        Ok(())
    }
}

fn refusal(Full { whose, limit }: Full) -> Problem {
    let whose = match whose {
        Whose::Credential => "credential",
        Whose::Tenant | Whose::All => "tenant",
    };
    let detail = format!("the {whose} has as many requests under way as it may; try again");
    Problem::new(Code::Overloaded, detail).limited(limit)
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
        assert!(all.0.is_empty());
    }
}
