//! Declares the storage of words.

use async_trait::async_trait;

use super::item::Scope;
use super::namespace::Namespace;
use super::ranking::Candidate;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;

#[async_trait]
pub trait TextStorage: Send + Sync {
    /// Living items in scope with at least one of the words, the newest first where there are more than `rows_max`. The filter of
    /// the scope is not asked. None: values are encrypted, and no words are kept beside them. One round trip.
    async fn list_text_candidates(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        words: &[i64],
        now: Micros,
    ) -> Result<Option<Vec<Candidate>>>;
}
