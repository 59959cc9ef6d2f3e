//! Opens the storage engine. Only this room knows SQL, Redis and object storage. It has one folder per noun, with the statements of each
//! engine in it, and one per engine for connections and transactions.

pub mod backups;
pub mod checkpoints;
pub mod content;
pub mod db;
mod export;
pub mod files;
pub mod maintenance;
pub mod objects;
pub mod postgres;
pub mod sessions;
pub mod snapshots;
pub mod sqlite;
pub mod store;
pub mod tables;
pub mod tenants;
pub mod threads;
pub mod tokens;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;

use self::db::access::Accessible;
use self::objects::Objects;
use self::tenants::tenant_keys::check_start;
pub use crate::content::master_key::{MasterKey, MasterKeys};
use crate::domain::limits::LIMITS;
use crate::domain::storage::Storage;
use crate::domain::{Error, Result};

/// A statement that takes longer is logged, where nothing else is set.
const SLOW: Duration = Duration::from_secs(1);

/// Where the data lives and how it is reached.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "settings that do not depend on each other")]
pub struct StorageConfig {
    /// `postgres://…` or `sqlite://path`.
    pub url: String,
    pub migrate: bool,
    /// Make the file of an embedded database where there is none.
    pub create: bool,
    /// Accept a database that may lose acknowledged writes.
    pub allow_unsafe: bool,
    pub connections: usize,
    /// This is a server: an embedded database serves one at a time. Short commands run beside it.
    pub exclusive: bool,
    /// Where packed content lies. A server without it refuses a database that has some.
    pub objects: Option<Arc<Objects>>,
    pub encryption: Encryption,
    pub read_times: ReadTimes,
}

/// When reads are ended, and which statements are slow. Nothing ends a statement that writes.
#[derive(Debug, Clone, Copy)]
pub struct ReadTimes {
    /// A search or a list as a whole.
    pub search: Duration,
    /// One statement of another read; None: it takes as long as it takes.
    pub statement: Option<Duration>,
    /// A statement that takes as long is logged, with its text and without values; None: none is.
    pub slow: Option<Duration>,
}

impl Default for ReadTimes {
    fn default() -> Self {
        Self {
            search: Duration::from_secs(LIMITS.search_seconds_max),
            statement: None,
            slow: Some(SLOW),
        }
    }
}

impl ReadTimes {
    /// Lets connections log slow statements. They are warnings of `sqlx::query`.
    fn logged<O: ConnectOptions>(self, options: O) -> O {
        let level = "warn".parse().expect("it is the name of a level");
        options.log_slow_statements(level, self.slow.unwrap_or(Duration::MAX))
    }
}

/// Whether content is encrypted: what the keys of tenants are wrapped with.
#[derive(Debug, Clone, Default)]
pub enum Encryption {
    #[default]
    Off,
    On(Arc<MasterKeys>),
    /// It is being turned on: a database with content that is not encrypted is opened too.
    Begins(Arc<MasterKeys>),
}

impl Encryption {
    pub fn masters(&self) -> Option<Arc<MasterKeys>> {
        match self {
            Self::Off => None,
            Self::On(masters) | Self::Begins(masters) => Some(Arc::clone(masters)),
        }
    }
}

impl StorageConfig {
    /// Refuses a database that the master keys do not fit.
    async fn check_encryption(&self, engine: &dyn Accessible) -> Result<()> {
        check_start(engine, &self.encryption, self.migrate).await
    }
}

/// Opens the engine that the URL names.
///
/// # Errors
/// `Unavailable` when it cannot be reached, `Invalid` when it must not be used as it is.
pub async fn open(config: &StorageConfig) -> Result<Arc<dyn Storage>> {
    match config.url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => {
            let storage = postgres::PostgresStorage::open(config).await?;
            config.check_encryption(&storage).await?;
            Ok(Arc::new(storage))
        }
        Some(("sqlite", path)) => {
            let sqlite = sqlite::SqliteConfig {
                path: Path::new(path),
                migrate: config.migrate,
                create: config.create,
                exclusive: config.exclusive,
                objects: config.objects.clone(),
                masters: config.encryption.masters(),
                read_times: config.read_times,
            };
            let storage = sqlite::SqliteStorage::open(sqlite).await?;
            config.check_encryption(&storage).await?;
            Ok(Arc::new(storage))
        }
        _ => Err(Error::invalid(
            "database-url",
            "--database-url must begin with postgres:// or sqlite://",
        )),
    }
}
