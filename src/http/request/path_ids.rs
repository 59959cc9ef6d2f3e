//! Reads the ids in a path: each is one segment, percent-decoded once.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::problem::{Code, Problem};
use crate::app::App;

/// The ids in a path, decoded.
pub struct PathIds(HashMap<String, String>);

impl FromRequestParts<Arc<App>> for PathIds {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Path(ids) = Path::from_request_parts(parts, app).await.map_err(|_| {
            Problem::new(Code::Invalid, "ids in a path are percent-encoded UTF-8").at("path")
        })?;
        Ok(Self(ids))
    }
}

impl PathIds {
    pub fn id(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}
