//! Declares the trait of a storage engine for namespaces that hold items.

use async_trait::async_trait;

use super::item::{CountedItems, ListNamespaces};
use super::namespace::Namespace;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;

/// Namespaces, and what they hold. Items that have expired at `now` do not count.
#[async_trait]
pub trait NamespaceStorage: Send + Sync {
    /// Namespaces that hold items, in order.
    async fn list_namespaces(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &ListNamespaces,
        now: Micros,
    ) -> Result<Vec<Namespace>>;

    /// Of each of these ranges the items in it and below it, see [`CountedItems`]. One round trip.
    async fn count_below(
        &self,
        tenant: &str,
        namespaces: &[Namespace],
        now: Micros,
    ) -> Result<Vec<CountedItems>>;

    /// The namespaces below these prefixes with the most bytes, at most `limit`, and what each holds itself; the largest first, equal
    /// ones in order. Reads all rows of the items. One round trip.
    async fn largest_namespaces(
        &self,
        tenant: &str,
        within: &[Namespace],
        limit: usize,
        now: Micros,
    ) -> Result<Vec<(Namespace, CountedItems)>>;
}
