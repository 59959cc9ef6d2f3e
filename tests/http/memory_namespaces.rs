//! Implements the namespaces of the storage in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::store::item::{CountedItems, ListNamespaces, Scope};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::store::namespace_storage::NamespaceStorage;

use crate::memory::Memory;

#[async_trait]
impl NamespaceStorage for Memory {
    async fn list_namespaces(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &ListNamespaces,
        _: Micros,
    ) -> Result<Vec<Namespace>> {
        self.called(format!("list_namespaces {query:?}"))?;
        let found = self.found(caller, within, &Scope::default());
        let depth = query.max_depth.unwrap_or(usize::MAX);
        let mut all: Vec<Namespace> = found
            .iter()
            .map(|it| &it.address.namespace)
            .filter(|it| query.matches(it))
            .map(|it| it.truncated(depth))
            .collect();
        all.dedup();
        Ok(all.into_iter().skip(query.offset).take(query.limit).collect())
    }

    async fn count_below(
        &self,
        _: &str,
        namespaces: &[Namespace],
        _: Micros,
    ) -> Result<Vec<CountedItems>> {
        self.called("count_below")?;
        Ok(namespaces.iter().map(|_| CountedItems::default()).collect())
    }

    async fn largest_namespaces(
        &self,
        tenant: &str,
        within: &[Namespace],
        limit: usize,
        _: Micros,
    ) -> Result<Vec<(Namespace, CountedItems)>> {
        self.called(format!("largest_namespaces {limit}"))?;
        let mut found: BTreeMap<Namespace, CountedItems> = BTreeMap::new();
        for item in self.found(&Caller::of_tenant(tenant), within, &Scope::default()) {
            let counted = found.entry(item.address.namespace).or_default();
            counted.items += 1;
            counted.size_bytes += item.size_bytes.unsigned_abs();
            counted.updated_at = counted.updated_at.max(Some(item.updated_at));
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, it)| std::cmp::Reverse(it.size_bytes));
        found.truncate(limit);
        Ok(found)
    }
}
