//! Implements the storage on SQLite, in the process and in one file. Results are the same as PostgreSQL's, with other SQL. Sets are bound
//! as JSON (`rows`). Rust decides conditions inside the one write transaction that runs at a time.

pub(in crate::storage) mod access;
pub(in crate::storage) mod connection;
pub(in crate::storage) mod database_file;
pub(in crate::storage) mod errors;
mod integrity_line;
pub(in crate::storage) mod living;
pub(in crate::storage) mod log_file;
pub(in crate::storage) mod log_limit;
pub(in crate::storage) mod private_files;
pub(in crate::storage) mod read_only;
mod rebuilt_copy;
pub(in crate::storage) mod reserve;
pub(in crate::storage) mod rows;
pub(in crate::storage) mod schema;
pub(in crate::storage) mod time_limit;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::Executor as _;

use self::connection::Connections;
pub use self::private_files::sibling;
pub use self::rebuilt_copy::{RebuiltCopy, rebuilt_copy};
use crate::content::master_key::MasterKeys;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::doctor::{Examine, Report};
use crate::domain::engine::{DatabaseSize, Engine, Inventory, PoolUse, Renewed};
use crate::domain::progress::Progress;
use crate::domain::scheduling::lanes::LaneStorage;
use crate::domain::scheduling::turns::Turns;
use crate::storage::ReadTimes;
use crate::storage::backups::renewal::renew;
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::content::secret_memory::SecretMemory;
use crate::storage::content::wrapped::rotate;
use crate::storage::files::contents;
use crate::storage::maintenance::encrypting::encrypt;
use crate::storage::maintenance::inventory::inventory;
use crate::storage::objects::Objects;
use crate::storage::objects::audit::{audit, check_start, missing};
use crate::storage::sessions::SessionMemory;
use crate::storage::store::models::ModelMemory;
use crate::storage::tenants::tenant_keys::{destroy, given};
use crate::storage::tokens::credentials::sweep_credentials;

/// Goes through all pages of the file.
const TABLE_SIZES: &str = "select s.tbl_name, sum(d.pgsize), null
    from (select name, pgsize from dbstat where aggregate = true) d join sqlite_schema s on s.name = d.name
    group by s.tbl_name";
/// Namespace roots whose scopes this process remembers.
const KNOWN_ROOTS_MAX: u64 = 100_000;

/// One database file.
pub struct SqliteStorage {
    pub(in crate::storage) connections: Connections,
    pub(in crate::storage) secrets: SecretMemory,
    pub(in crate::storage) chunks: ChunkMemory,
    /// (tenant, root) → its content scope. A hint: a batch finds that it is gone.
    pub(in crate::storage) roots: moka::sync::Cache<(String, String), i64>,
    pub(in crate::storage) root_turns: Turns,
    pub(in crate::storage) objects: Option<Arc<Objects>>,
    pub(in crate::storage) models: ModelMemory,
    pub(in crate::storage) sessions: SessionMemory,
    life: living::Life,
}

/// How to open a file.
#[derive(Debug, Clone)]
pub struct SqliteConfig<'a> {
    pub path: &'a Path,
    /// Bring the schema up to date; else refuse an old one.
    pub migrate: bool,
    /// Make a database where there is none; else refuse.
    pub create: bool,
    /// Take the lock of a server. Short commands run beside one and leave it alone.
    pub exclusive: bool,
    /// Where packed content lies.
    pub objects: Option<Arc<Objects>>,
    /// What the keys of tenants are wrapped with.
    pub masters: Option<Arc<MasterKeys>>,
    pub read_times: ReadTimes,
}

impl SqliteStorage {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// `Unavailable`, with advice, when another server has the file or its schema does not fit this binary.
    pub async fn open(config: SqliteConfig<'_>) -> Result<Self> {
        errors::begin_counting();
        let is_new = database_file::check_before_opening(config.path, config.create)?;
        if !(is_new || config.exclusive || config.migrate)
            && let Some(options) = read_only::options(config.path)?
        {
            let connections =
                Connections::read_only(options, config.path).ending(config.read_times);
            connections.check_reading(config.path).await?;
            schema::check(&connections).await?;
            return Ok(Self::with(connections, config));
        }
        private_files::make_folder(config.path)?;
        private_files::protect(config.path);
        let connections = Connections::new(config.path, config.exclusive)?;
        let connections = connections.ending(config.read_times);
        let opened = async {
            connections.check(config.path).await?;
            schema::migrate(&connections, config.migrate).await
        };
        if let Err(error) = opened.await {
            if is_new {
                database_file::remove_if_empty(config.path);
            }
            return Err(error);
        }
        if is_new {
            tracing::info!("made a new database {}", config.path.display());
        }
        if config.exclusive {
            connections.watch_file();
        }
        let exclusive = config.exclusive;
        let storage = Self::with(connections, config);
        if exclusive {
            check_start(storage.objects.as_deref(), &storage).await?;
        }
        Ok(storage)
    }

    fn with(connections: Connections, config: SqliteConfig<'_>) -> Self {
        Self {
            connections,
            secrets: SecretMemory::new(config.masters),
            chunks: ChunkMemory::default(),
            roots: moka::sync::Cache::new(KNOWN_ROOTS_MAX),
            root_turns: Turns::default(),
            objects: config.objects,
            models: ModelMemory::default(),
            sessions: SessionMemory::default(),
            life: living::Life::default(),
        }
    }
}

impl LaneStorage for SqliteStorage {
    fn lanes(&self) -> usize {
        1
    }
}

#[async_trait]
impl Engine for SqliteStorage {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn pools(&self) -> Vec<PoolUse> {
        self.connections.pools()
    }

    async fn measure(&self) -> Result<DatabaseSize> {
        Ok(self.connections.measure().await)
    }

    async fn take_inventory(&self) -> Result<Inventory> {
        inventory(self, TABLE_SIZES).await
    }

    async fn check_ready(&self) -> Result<()> {
        self.connections.look_at_file()?;
        self.connections.check_room()?;
        let mut read = self.connections.begin_first_read().await?;
        sqlx::query("select 1 from schema_version").fetch_one(&mut *read).await?;
        read.end().await
    }

    /// Writes the first page of the file as it is.
    async fn try_write(&self) -> Result<()> {
        self.connections.check_room()?;
        let mut write = self.connections.begin_write().await?;
        write.execute("pragma user_version = 0").await?;
        write.commit().await
    }

    async fn sweep(&self, now: Micros) -> Result<()> {
        self.sweep_items(now).await?;
        contents::sweep(self, now).await?;
        super::snapshots::removal::sweep(self, now).await?;
        self.sweep_changes(now).await?;
        self.sweep_expired(now).await?;
        sweep_credentials(self, now).await
    }

    fn moves_content_every(&self) -> Option<Duration> {
        self.objects.as_ref().map(|it| it.packing.every)
    }

    async fn move_content(&self, now: Micros) -> Result<()> {
        match &self.objects {
            Some(objects) => objects.work(self, now).await,
            None => Ok(()),
        }
    }

    async fn find_missing_content(&self) -> Result<Vec<String>> {
        missing(self.objects.as_deref(), self).await
    }

    async fn check_moved_content(&self) -> Result<Vec<String>> {
        audit(self.objects.as_deref(), self).await
    }

    async fn examine_watched(&self, request: &Examine, progress: &Progress) -> Result<Report> {
        crate::storage::maintenance::doctor::examine(self, request, progress).await
    }

    async fn rotate_master_key(&self) -> Result<u64> {
        rotate(self, given(self.secrets.masters())?).await
    }

    async fn destroy_tenant_key(&self, tenant: &str) -> Result<bool> {
        destroy(self, tenant).await
    }

    async fn encrypt_stored_watched(&self, progress: &Progress) -> Result<u64> {
        encrypt(self, self, given(self.secrets.masters())?, progress).await
    }

    async fn renew(&self, tenant: &str) -> Result<Renewed> {
        renew(self, tenant).await
    }

    async fn close(&self) {
        self.connections.close().await;
    }
}
