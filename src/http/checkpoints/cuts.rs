//! Reads what of each value a caller wants to be shown, and makes the `ETag` of a checkpoint that is shown.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::IntoResponse as _;
use serde::Serialize;

use crate::decode::{Budget, Cuts, Pointer};
use crate::domain::checkpoints::digest::digest;
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::{Error, Result};
use crate::http::files::raw_bytes::is_held;
use crate::http::request::call::{Answer, Reply};

/// Of each version another, so that what an update shows in another way is sent again.
const SERVER: &str = env!("CARGO_PKG_VERSION");

/// Parameters of a query, before they are checked together.
#[derive(Debug, Default)]
pub struct CutParams {
    pub string_bytes_max: Option<u64>,
    pub items_max: Option<u64>,
    pub from: Option<i64>,
    pub pointer: Option<String>,
}

impl CutParams {
    /// # Errors
    /// 422 for what is no pointer.
    pub fn into_cuts(self) -> Result<Cuts> {
        let Self { string_bytes_max, items_max, from, pointer } = self;
        let pointer = pointer.as_deref().map(Pointer::new).transpose()?;
        Ok(Cuts { string_bytes_max, items_max, from, pointer })
    }
}

/// # Errors
/// 422 naming the field.
pub fn number<T: std::str::FromStr>(field: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::invalid(field, format!("{field} must be a whole number")))
}

/// What an answer that shows values may take.
pub fn budget(bytes: u64, cuts: Cuts) -> Budget {
    if cuts == Cuts::default() {
        return Budget::new(bytes);
    }
    Budget::with_cuts(bytes, cuts)
}

/// What of a checkpoint's answer a caller holds.
pub struct Held {
    is_named: bool,
    headers: HeaderMap,
    query: String,
}

/// An answer about a checkpoint.
pub enum Shown<T> {
    /// The caller has it.
    Held(String),
    /// With its `ETag`.
    New(T, Option<String>),
}

impl Held {
    /// `is_named`: the query names the checkpoint. Of the newest, every step makes another answer, which none is held for.
    pub fn new(is_named: bool, headers: HeaderMap, uri: &Uri) -> Self {
        Self { is_named, headers, query: uri.query().unwrap_or_default().to_owned() }
    }

    /// Shows the checkpoint, where the caller does not hold that answer already.
    ///
    /// # Errors
    /// Those of `show`.
    pub fn or_show<T>(
        &self,
        found: CheckpointTuple,
        show: impl FnOnce(CheckpointTuple) -> Result<Option<T>>,
    ) -> Result<Shown<Option<T>>> {
        let is_tagged = self.is_named && found.view.is_some();
        let etag = is_tagged.then(|| format!("\"{}\"", digest(&found, &[SERVER, &self.query])));
        match etag {
            Some(etag) if is_held(&self.headers, &etag) => Ok(Shown::Held(etag)),
            etag => Ok(Shown::New(show(found)?, etag)),
        }
    }
}

impl<T> Shown<T> {
    /// The tag is weak: JSON, MessagePack and compressed bodies have the same.
    ///
    /// # Errors
    /// As [`Reply::with`].
    pub async fn reply<Body: Serialize + Sync>(
        self,
        reply: Reply,
        body: impl FnOnce(T) -> Body,
    ) -> Answer {
        let (mut response, etag) = match self {
            Self::Held(etag) => (StatusCode::NOT_MODIFIED.into_response(), Some(etag)),
            Self::New(it, etag) => (reply.with(&body(it)).await?, etag),
        };
        if let Some(etag) = etag {
            let etag = HeaderValue::from_str(&format!("W/{etag}"));
            response.headers_mut().insert(header::ETAG, etag.expect("made of hex digits"));
        }
        Ok(response)
    }
}
