//! Lists the namespaces that hold items, in their order or the largest first, with what the caller may read of them.

use super::item::{CountedItems, ListNamespaces, NamespacePage};
use super::namespace::Namespace;
use super::service::Items;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::pages::{COUNTED_MAX, COUNTED_ROWS_MAX, cut};

impl Items {
    pub(super) async fn list_namespaces(
        &self,
        caller: &Caller,
        query: ListNamespaces,
    ) -> Result<NamespacePage> {
        let within = query.prefix().readable(caller);
        let most = if query.counts { COUNTED_ROWS_MAX } else { usize::MAX };
        let limit = query.limit.min(most);
        if within.is_empty() || limit == 0 {
            let counts = query.counts.then(Vec::new);
            return Ok(NamespacePage { counts, ..NamespacePage::default() });
        }
        // One more than asked for tells whether there is a next page.
        let (query, now) = (ListNamespaces { limit: limit + 1, ..query }, self.clock.now());
        let mut namespaces = self.storage.list_namespaces(caller, &within, &query, now).await?;
        let next = cut(&mut namespaces, limit, Namespace::clone);
        let mut counts = None;
        if query.counts {
            counts = Some(self.count_each(caller, &namespaces, now).await?);
        }
        Ok(NamespacePage { namespaces, counts, next })
    }

    /// Of each namespace the items in it and below it that the caller may read.
    async fn count_each(
        &self,
        caller: &Caller,
        namespaces: &[Namespace],
        now: Micros,
    ) -> Result<Vec<u64>> {
        let readable: Vec<_> = namespaces.iter().map(|it| it.readable(caller)).collect();
        let counted = self.storage.count_below(&caller.tenant, &readable.concat(), now).await?;
        let mut counted = counted.iter().map(|it| it.items);
        let most = COUNTED_MAX.unsigned_abs();
        let sum = |it: &Vec<Namespace>| counted.by_ref().take(it.len()).sum::<u64>().min(most);
        Ok(readable.iter().map(sum).collect())
    }

    /// The namespaces below a prefix whose items have the most bytes, at most [`COUNTED_ROWS_MAX`]. Each stands for itself, without what
    /// is below it. Goes through all items there that the caller may read.
    ///
    /// # Errors
    /// `ReadTooLong` where they are too many.
    pub async fn largest_namespaces(
        &self,
        caller: &Caller,
        prefix: &Namespace,
        limit: usize,
    ) -> Result<Vec<(Namespace, CountedItems)>> {
        let within = prefix.readable(caller);
        let limit = limit.min(COUNTED_ROWS_MAX);
        if within.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let (tenant, now) = (&caller.tenant, self.clock.now());
        self.storage.largest_namespaces(tenant, &within, limit, now).await
    }
}
