//! Back door. The only room that knows SQL, Redis or object storage. One folder per engine, one file per noun.

pub mod access;
pub mod audit_rows;
pub mod base_document;
pub mod channel_map;
pub mod chunk_memory;
mod credentials;
pub mod doctor;
pub mod freed;
pub mod items;
pub mod marks;
pub mod objects;
pub mod policy_rows;
pub mod postgres;
pub mod prepare;
pub mod quota_rows;
pub mod retention;
pub mod sealing;
pub mod sought;
pub mod sqlite;
pub mod storage_use;
pub mod tables;
pub mod walk;

use std::path::Path;
use std::sync::Arc;

use self::objects::Objects;
use crate::domain::storage::Storage;
use crate::domain::{Error, Result};

/// Where the data lives and how it is reached.
#[derive(Debug, Clone)]
pub struct StorageConfig {
    /// `postgres://…` or `sqlite://path`.
    pub url: String,
    pub migrate: bool,
    /// Accept a database that may lose acknowledged writes.
    pub allow_unsafe: bool,
    pub connections: usize,
    /// This is a server: an embedded database serves one at a time. Short commands run beside it.
    pub exclusive: bool,
    /// Where packed content lies. A server without it refuses a database that has some.
    pub objects: Option<Arc<Objects>>,
}

/// Opens the engine that the URL names.
///
/// # Errors
/// `Unavailable` when it cannot be reached, `Invalid` when it must not be used as it is.
pub async fn open(config: &StorageConfig) -> Result<Arc<dyn Storage>> {
    match config.url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => {
            Ok(Arc::new(postgres::PostgresStorage::open(config).await?))
        }
        Some(("sqlite", path)) => {
            let config = sqlite::SqliteConfig {
                path: Path::new(path),
                migrate: config.migrate,
                exclusive: config.exclusive,
                objects: config.objects.clone(),
            };
            Ok(Arc::new(sqlite::SqliteStorage::open(config).await?))
        }
        _ => Err(Error::invalid(
            "database-url",
            "--database-url must begin with postgres:// or sqlite://",
        )),
    }
}
