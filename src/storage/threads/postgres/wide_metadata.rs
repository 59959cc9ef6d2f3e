//! Remembers which metadata and values have so many matches that threads are walked in their order.

use std::time::Duration;

use moka::sync::Cache;

use crate::domain::json::filter::Filter;
use crate::domain::threads::thread::ThreadQuery;

/// How long it is remembered that metadata has more matches, and of how many searches.
const WIDE_FOR: Duration = Duration::from_mins(1);
const WIDE_MAX: u64 = 10_000;

/// Metadata and values that lately had more matches than are found by the index: tenant and conditions.
pub(in crate::storage) struct WideMetadata(Cache<Key, ()>);

type Key = (String, [Vec<Filter>; 2]);

fn key(tenant: &str, query: &ThreadQuery) -> Key {
    (tenant.to_owned(), [query.details.metadata.clone(), query.values.clone()])
}

impl Default for WideMetadata {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(WIDE_MAX).time_to_live(WIDE_FOR).build())
    }
}

impl WideMetadata {
    pub(super) fn has(&self, tenant: &str, query: &ThreadQuery) -> bool {
        self.0.contains_key(&key(tenant, query))
    }

    pub(super) fn learn(&self, tenant: &str, query: &ThreadQuery) {
        self.0.insert(key(tenant, query), ());
    }
}
