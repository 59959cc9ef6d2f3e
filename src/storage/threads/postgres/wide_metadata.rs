//! Remembers which metadata has so many matches that threads are walked in their order.

use std::time::Duration;

use moka::sync::Cache;

use crate::domain::json::filter::Filter;
use crate::domain::threads::thread::ThreadQuery;

/// How long it is remembered that metadata has more matches, and of how many searches.
const WIDE_FOR: Duration = Duration::from_mins(1);
const WIDE_MAX: u64 = 10_000;

/// Metadata that lately had more matches than are found by the index: tenant and conditions.
pub(in crate::storage) struct WideMetadata(Cache<(String, Vec<Filter>), ()>);

impl Default for WideMetadata {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(WIDE_MAX).time_to_live(WIDE_FOR).build())
    }
}

impl WideMetadata {
    pub(super) fn has(&self, tenant: &str, query: &ThreadQuery) -> bool {
        self.0.contains_key(&(tenant.to_owned(), query.details.metadata.clone()))
    }

    pub(super) fn learn(&self, tenant: &str, query: &ThreadQuery) {
        self.0.insert((tenant.to_owned(), query.details.metadata.clone()), ());
    }
}
