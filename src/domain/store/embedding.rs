//! Declares the endpoint that makes vectors for the server, and makes the vectors of search questions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::item::{ChangeItem, ItemOp, SearchItems, SearchMode};
use super::vector::{Model, Near, Vector};
use crate::domain::error::{Error, Result};

/// What makes vectors of texts.
#[async_trait]
pub trait Embeddings: Send + Sync {
    /// Kept with each vector.
    fn model(&self) -> &Model;

    fn dims(&self) -> usize;

    /// One vector per text, in their order.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vector>, Refused>;
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Another time may be better.
    ForNow(String),
    /// These texts are not taken; others may be.
    Texts(String),
}

/// The endpoint of this server, if there is one.
#[derive(Clone, Default)]
pub struct Embedder(Option<Arc<dyn Embeddings>>);

impl Embedder {
    pub fn new(embeddings: Option<Arc<dyn Embeddings>>) -> Self {
        Self(embeddings)
    }

    pub fn get(&self) -> Option<&Arc<dyn Embeddings>> {
        self.0.as_ref()
    }

    /// # Errors
    /// 422 naming the field where there is none.
    pub fn require(&self, field: &str) -> Result<&Arc<dyn Embeddings>> {
        self.0.as_ref().ok_or_else(|| {
            let detail = "search_needs_embeddings: this server has no endpoint for embeddings (--embeddings-url); \
                send vectors instead";
            Error::invalid(field, detail)
        })
    }

    /// An operation that this server can do.
    ///
    /// # Errors
    /// As [`Self::require`].
    pub fn check(&self, op: ItemOp) -> Result<ItemOp> {
        match &op {
            ItemOp::Change(ChangeItem { value: Some(value), .. }) if !value.index.is_empty() => {
                self.require("index")?;
            }
            ItemOp::Search(SearchItems { mode: SearchMode::Question { .. }, .. }) => {
                self.require("query")?;
            }
            _ => {}
        }
        Ok(op)
    }

    /// The search with the vector of its question.
    ///
    /// # Errors
    /// 422 without an endpoint, or where it does not take the question; 503 where it does not answer.
    pub async fn resolve(&self, query: SearchItems) -> Result<SearchItems> {
        let SearchMode::Question { text, metric, words } = &query.mode else { return Ok(query) };
        let embeddings = self.require("query")?;
        let asked = [text.clone()];
        let vector = match embeddings.embed(&asked).await {
            Ok(vectors) => vectors.into_iter().next(),
            Err(Refused::Texts(detail)) => {
                tracing::warn!(detail, "the endpoint for embeddings takes no question");
                return Err(Error::invalid(
                    "query",
                    "the endpoint for embeddings does not take it",
                ));
            }
            Err(Refused::ForNow(detail)) => return Err(away(&detail)),
        };
        let vector = vector.ok_or_else(|| Error::Internal("a question has no vector".into()))?;
        let near = Near { model: embeddings.model().clone(), metric: *metric, vector };
        let mode = match words {
            Some(words) => SearchMode::Hybrid(words.clone(), near),
            None => SearchMode::Vector(near),
        };
        Ok(SearchItems { mode, ..query })
    }
}

fn away(detail: &str) -> Error {
    tracing::warn!(detail, "the endpoint for embeddings gave none");
    Error::Unavailable {
        detail: "the endpoint for embeddings gives none now".into(),
        retry_after: Duration::from_secs(1),
    }
}
