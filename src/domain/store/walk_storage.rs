//! Declares the storage of walks: namespaces whose items are being given their words.

use async_trait::async_trait;

use super::item::Address;
use super::namespace::Namespace;
use super::words::ItemWords;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::scheduling::background_tasks::BackgroundTaskStorage;

/// Items below a namespace whose words have to follow what is declared now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    pub tenant: String,
    pub namespace: Namespace,
    /// When the declaration was changed: another change begins another walk.
    pub changed_at: Micros,
    /// The last item that was gone through.
    pub after: Option<Address>,
}

/// An item of a walk: its version, and which fields its words are of; None: it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    pub address: Address,
    pub version: i64,
    pub fields: Option<i64>,
}

#[async_trait]
pub trait WalkStorage: BackgroundTaskStorage {
    /// A walk whose declaration was changed before `settled_at` and that nobody has; from then on this server has it.
    async fn claim_walk(
        &self,
        now: Micros,
        settled_at: Micros,
        until: Micros,
    ) -> Result<Option<Walk>>;

    /// The next items of a walk, in order.
    async fn list_walked(&self, walk: &Walk, rows_max: usize) -> Result<Vec<Walked>>;

    /// Gives items their words, or none, where they still have this version; and remembers how far the walk is, or that it
    /// is at its end.
    async fn advance_walk(
        &self,
        walk: &Walk,
        words: &[(Walked, Option<ItemWords>)],
        until: Option<Micros>,
    ) -> Result<()>;
}
