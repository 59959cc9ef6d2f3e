//! Names where the titles of threads come from.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::threads::title::TitleFrom;

/// Where a title comes from.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TitleFrom)]
pub enum TitleFromOut {
    Set,
    Metadata,
    FirstMessage,
}

impl From<TitleFrom> for TitleFromOut {
    fn from(from: TitleFrom) -> Self {
        match from {
            TitleFrom::Set => Self::Set,
            TitleFrom::Metadata => Self::Metadata,
            TitleFrom::FirstMessage => Self::FirstMessage,
        }
    }
}
