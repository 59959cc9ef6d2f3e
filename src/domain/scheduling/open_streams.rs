//! Counts streams that are held open, and limits how many the server, a tenant and a holder may have.

use std::sync::Arc;

use super::shares::Holder;
use super::tally::{Counted, Full, Most, Tally, Whose};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::metric_families as families;

const MOST: Most = Most {
    credential: LIMITS.event_streams_per_credential_max,
    tenant: LIMITS.event_streams_per_tenant_max,
    all: LIMITS.event_streams_max,
};

/// Streams of this server.
pub struct OpenStreams(Arc<Tally>);

/// The place of one stream.
pub struct OpenStream {
    _counted: Counted,
}

impl Default for OpenStreams {
    fn default() -> Self {
        Self(Tally::new(MOST))
    }
}

impl OpenStreams {
    /// # Errors
    /// `TooManyStreams`.
    pub fn open(&self, tenant: &str, holder: &str) -> Result<OpenStream> {
        let counted = self.0.count(&Holder::new(tenant, holder)).map_err(too_many)?;
        metrics::gauge!(families::EVENT_STREAMS).increment(1);
        Ok(OpenStream { _counted: counted })
    }
}

fn too_many(Full { whose, limit }: Full) -> Error {
    let whose = match whose {
        Whose::Credential => "one credential",
        Whose::Tenant => "a tenant",
        Whose::All => "a server",
    };
    Error::TooManyStreams { whose, limit }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        metrics::gauge!(families::EVENT_STREAMS).decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_stream_has_ended() {
        let streams = OpenStreams::default();
        let own = LIMITS.event_streams_per_credential_max;
        let mut open: Vec<_> = (0..own).map(|_| streams.open("acme", "ann").unwrap()).collect();
        assert!(streams.open("acme", "ann").is_err());
        // Others have places of their own.
        let others = [("acme", "bob"), ("other", "ann")];
        let others: Vec<_> = others.map(|(a, b)| streams.open(a, b).unwrap()).into();
        open.pop();
        open.push(streams.open("acme", "ann").unwrap());
        drop((open, others));
        assert!(streams.0.is_empty());
    }

    #[test]
    fn a_tenant_leaves_places_to_others() {
        let streams = OpenStreams::default();
        let open = |at: u64| streams.open("acme", &format!("holder {at}"));
        let all: Vec<_> = (0..LIMITS.event_streams_per_tenant_max).map(open).collect();
        assert!(all.iter().all(Result::is_ok));
        assert!(open(u64::MAX).is_err());
        assert!(streams.open("other", "ann").is_ok());
    }
}
