//! Decides which ids of threads answers show: their own, or below the address `/uuid` their aliases, for clients that take UUIDs only.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::json;

use crate::decode::Json;
use crate::domain::Result;
use crate::domain::json::exact_fields;
use crate::domain::threads::alias::alias;

/// Where the routes are a second time.
pub const UUID_BASE: &str = "/uuid";

const THREAD_ID: &str = "thread_id";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShownIds {
    #[default]
    Own,
    Aliases,
}

impl<S: Sync> FromRequestParts<S> for ShownIds {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or_default())
    }
}

impl ShownIds {
    pub fn of(self, thread_id: &str) -> String {
        match self {
            Self::Own => thread_id.to_owned(),
            Self::Aliases => alias(thread_id),
        }
    }

    /// Metadata of a thread, which people may have set. Exact text.
    ///
    /// # Errors
    /// `Integrity` for text that is no JSON object.
    pub fn in_metadata(self, thread_id: &str, metadata: String) -> Result<String> {
        let shown = self.of(thread_id);
        // Most have none, and are not read.
        if shown == thread_id || !metadata.contains(THREAD_ID) {
            return Ok(metadata);
        }
        let read = serde_json::from_str::<serde_json::Value>(&metadata).unwrap_or_default();
        if read[THREAD_ID] != *thread_id {
            return Ok(metadata);
        }
        let shown = json!({ THREAD_ID: shown }).to_string();
        exact_fields::merge(metadata.as_bytes(), shown.as_bytes())
    }
}

/// Metadata of a checkpoint: a copy of a thread is shown under its own id.
pub fn in_checkpoint_metadata(mut metadata: Json, shown: &str) -> Json {
    if let Json::Object(fields) = &mut metadata {
        for (_, value) in fields.iter_mut().filter(|(name, _)| name == THREAD_ID) {
            *value = Json::text(shown);
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_shows_an_alias_where_it_names_the_thread() {
        let own = r#"{"a":1.0,"thread_id":"t-1"}"#.to_owned();
        let shown = ShownIds::Aliases.in_metadata("t-1", own.clone()).unwrap();
        assert_eq!(shown, format!(r#"{{"a":1.0,"thread_id":"{}"}}"#, alias("t-1")));
        assert_eq!(ShownIds::Own.in_metadata("t-1", own.clone()).unwrap(), own);
        assert_eq!(ShownIds::Aliases.in_metadata("t-2", own.clone()).unwrap(), own);
    }
}
