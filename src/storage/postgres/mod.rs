//! Implements the storage on PostgreSQL 14 and later, for production. It uses arrays and UNNEST, one statement per operation, and needs no
//! extension.

pub(in crate::storage) mod access;
pub(in crate::storage) mod connection;
pub mod database_url;
pub(in crate::storage) mod failure;
pub(in crate::storage) mod first_connection;
pub(in crate::storage) mod living;
pub(in crate::storage) mod migrate;
pub mod notices;
pub(in crate::storage) mod other_servers;
pub(in crate::storage) mod pool;
pub(in crate::storage) mod prober;
pub(in crate::storage) mod row_security;
pub(in crate::storage) mod servers;
pub mod tls;
pub(in crate::storage) mod write_check;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::Row;

use crate::content::keys::TenantSecret;
use crate::domain::clock::Micros;
use crate::domain::doctor::{Examine, Report};
use crate::domain::engine::{DatabaseSize, Engine, Inventory, PoolUse, Renewed};
use crate::domain::progress::Progress;
use crate::domain::scheduling::lanes::LaneStorage;
use crate::domain::scheduling::turns::Turns;
use crate::domain::tenants::audit::Act;
use crate::domain::tenants::sql_role::{Dropped, NewSqlRole, SqlRole};
use crate::domain::{Error, Result};
use crate::storage::backups::renewal::{check_finished, renew};
use crate::storage::checkpoints::postgres::lean::Lean;
use crate::storage::checkpoints::postgres::{batch_sql, read_sql};
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::content::secret_memory::{Memory, SecretMemory};
use crate::storage::content::wrapped::rotate;
use crate::storage::files::contents;
use crate::storage::maintenance::encrypting::encrypt;
use crate::storage::maintenance::inventory::inventory;
use crate::storage::objects::Objects;
use crate::storage::objects::audit::{audit, check_start, missing};
use crate::storage::sessions::SessionMemory;
use crate::storage::store::models::ModelMemory;
use crate::storage::store::postgres::near::WideSearches;
use crate::storage::store::postgres::vector_indexes::VectorIndexes;
use crate::storage::tenants::tenant_keys::{destroy, given, secret_of};
use crate::storage::threads::postgres::known_threads::KnownThreads;
use crate::storage::threads::postgres::wide_metadata::WideMetadata;
use crate::storage::tokens::credentials::sweep_credentials;
use crate::storage::{ReadTimes, StorageConfig};

/// One for the poll of keys, one for a key that is looked up.
const FIRST_CONNECTIONS: usize = 2;
/// For tenants that make keys and revoke tokens at the same moment.
const RIGHTS_CONNECTIONS: usize = 2;
/// The tenant in the collation of every index on hot tables that is no primary key. A statement that asks for it in this form is
/// planned by such an index, and no look-up by primary key is (`migrations/postgres/0026_index_choice.sql`).
pub(in crate::storage) const TENANT_IN_INDEX: &str = "tenant collate \"POSIX\"";
/// The database's clock, in microseconds.
pub(in crate::storage) const NOW: &str =
    "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
const TABLE_SIZES: &str =
    "select cast(c.relname as text), pg_total_relation_size(c.oid), cast(c.reltuples as bigint)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind = 'r'";
/// Namespace roots whose scopes this process remembers.
const KNOWN_ROOTS_MAX: u64 = 100_000;

pub struct PostgresStorage {
    pub(in crate::storage) pool: pool::Pool,
    pub(in crate::storage) searches: pool::SearchPool,
    pub(in crate::storage) read_times: ReadTimes,
    /// For keys and readiness: without the keys nobody is let in, so they do not wait for data.
    pub(in crate::storage) first: pool::Pool,
    /// For writes of keys, revocations and signing secrets.
    pub(in crate::storage) rights_writes: pool::Pool,
    pub(in crate::storage) statements: batch_sql::Statements<batch_sql::Shape>,
    /// Commits to threads that this process knows.
    pub(in crate::storage) lean: Lean,
    pub(in crate::storage) reads: read_sql::ReadStatements,
    pub(in crate::storage) secrets: SecretMemory,
    pub(in crate::storage) known: KnownThreads,
    /// Threads that were seen with delta channels.
    pub(in crate::storage) delta_threads: KnownThreads,
    /// Threads that were read without meeting a split value.
    pub(in crate::storage) whole_threads: KnownThreads,
    pub(in crate::storage) chunks: ChunkMemory,
    /// (tenant, root) → its content scope. A hint: a batch finds that it is gone.
    pub(in crate::storage) roots: moka::sync::Cache<(String, String), i64>,
    pub(in crate::storage) root_turns: Turns,
    pub(in crate::storage) objects: Option<Arc<Objects>>,
    pub(in crate::storage) models: ModelMemory,
    pub(in crate::storage) sessions: SessionMemory,
    pub(in crate::storage) vector_indexes: VectorIndexes,
    pub(in crate::storage) wide_searches: WideSearches,
    pub(in crate::storage) wide_metadata: WideMetadata,
    life: living::Life,
}

impl PostgresStorage {
    /// Connects, refuses a database that cannot keep the promises, and migrates.
    ///
    /// # Errors
    /// `Obstacle` without a connection; `Invalid` with advice for a database that is not fit.
    pub async fn open(config: &StorageConfig) -> Result<Self> {
        failure::begin_counting();
        let servers = first_connection::servers(config)?;
        first_connection::check(&servers).await?;
        let storage = Self {
            read_times: config.read_times,
            vector_indexes: VectorIndexes::new(servers.clone(), config.migrate),
            life: living::Life::new(servers.clone()),
            models: ModelMemory::default(),
            wide_searches: WideSearches::default(),
            wide_metadata: WideMetadata::default(),
            sessions: SessionMemory::default(),
            searches: pool::SearchPool::new(
                &servers,
                config.connections.max(4) / 2,
                config.read_times.search,
            )?,
            first: pool::Pool::new(servers.clone(), FIRST_CONNECTIONS)?,
            rights_writes: pool::Pool::new(servers.clone(), RIGHTS_CONNECTIONS)?,
            pool: pool::Pool::new(servers, config.connections.max(2))?,
            statements: batch_sql::Statements::of(batch_sql::assemble),
            lean: Lean::default(),
            reads: read_sql::ReadStatements::assemble(),
            secrets: SecretMemory::new(config.encryption.masters()),
            known: KnownThreads::default(),
            delta_threads: KnownThreads::default(),
            whole_threads: KnownThreads::default(),
            chunks: ChunkMemory::default(),
            roots: moka::sync::Cache::new(KNOWN_ROOTS_MAX),
            root_turns: Turns::default(),
            objects: config.objects.clone(),
        };
        first_connection::check_fit(&storage.pool, config.allow_unsafe).await?;
        migrate::run(&storage.pool, config.migrate).await?;
        storage.check_sees_rows().await?;
        storage.vector_indexes.refresh(&storage.pool).await?;
        if config.exclusive {
            check_start(storage.objects.as_deref(), &storage).await?;
        }
        Ok(storage)
    }

    /// The tenant's secret; one round trip the first time this process meets the tenant. With encryption see
    /// [`tenant_keys::secret_of`].
    pub(in crate::storage) async fn secret(&self, tenant: &str) -> Result<TenantSecret> {
        let (_turn, known) = match self.secrets.look_up(tenant) {
            Memory::Trusted(secret) => return Ok(secret),
            Memory::Unknown => {
                let (turn, known) = self.secrets.take_turn(tenant).await;
                (Some(turn), known)
            }
            known @ Memory::Expired(_) => (None, known),
        };
        if let Memory::Trusted(secret) = known {
            return Ok(secret);
        }
        match self.look_for_secret(tenant, known).await {
            Err(Error::Unavailable { .. }) => {
                self.clear_pools();
                self.look_for_secret(tenant, Memory::Unknown).await
            }
            result => result,
        }
    }

    async fn look_for_secret(&self, tenant: &str, known: Memory) -> Result<TenantSecret> {
        if let Some(masters) = self.secrets.masters() {
            return secret_of(self, (&self.secrets, known), masters, tenant).await;
        }
        let stored = self.read_or_make_secret(tenant).await?;
        let bytes: [u8; 32] = stored
            .try_into()
            .map_err(|_| Error::Integrity("the tenant's secret has a wrong length".into()))?;
        let secret = TenantSecret::new(bytes);
        self.secrets.insert(tenant, &secret);
        Ok(secret)
    }

    /// Two that meet at a new tenant: the one whose insert came second reads what the first one made.
    async fn read_or_make_secret(&self, tenant: &str) -> Result<Vec<u8>> {
        let mut connection = self.pool.get().await?;
        let fresh: [u8; 32] = rand::random();
        for _ in 0..2 {
            let row = sqlx::query(
                "with made as (
                    insert into tenants (tenant, secret, created_at)
                    select $1, $2, (extract(epoch from clock_timestamp()) * 1000000)::bigint
                    where not exists (select from tenants where tenant = $1)
                    on conflict do nothing returning secret
                 )
                 select secret from made union all select secret from tenants where tenant = $1
                 limit 1",
            )
            .bind(tenant)
            .bind(&fresh[..])
            .fetch_optional(&mut *connection)
            .await?;
            if let Some(row) = row {
                return Ok(row.get("secret"));
            }
        }
        Err(Error::Internal("a tenant can be neither read nor made".into()))
    }

    /// Drops the idle connections when one broke: they are most likely dead too.
    pub(in crate::storage) fn clear_pool_on_loss<T>(&self, result: Result<T>) -> Result<T> {
        if matches!(result, Err(Error::Unavailable { .. })) {
            self.clear_pools();
        }
        result
    }

    fn close_idle(&self) {
        self.pool.close_idle();
        self.searches.close_idle();
        self.first.close_idle();
        self.rights_writes.close_idle();
    }

    fn clear_pools(&self) {
        self.pool.clear();
        self.searches.clear();
        self.first.clear();
        self.rights_writes.clear();
    }
}

impl LaneStorage for PostgresStorage {
    fn lanes(&self) -> usize {
        2
    }
}

#[async_trait]
impl Engine for PostgresStorage {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn pools(&self) -> Vec<PoolUse> {
        vec![
            self.pool.usage("data"),
            self.searches.usage("searches"),
            self.first.usage("keys"),
            self.rights_writes.usage("rights"),
        ]
    }

    async fn measure(&self) -> Result<DatabaseSize> {
        let mut connection = self.first.get().await?;
        let text = "select pg_database_size(current_database())";
        let bytes: i64 = sqlx::query_scalar(text).fetch_one(&mut *connection).await?;
        Ok(DatabaseSize { main_bytes: bytes.unsigned_abs(), ..DatabaseSize::default() })
    }

    async fn take_inventory(&self) -> Result<Inventory> {
        inventory(self, TABLE_SIZES).await
    }

    async fn check_ready(&self) -> Result<()> {
        self.clear_pool_on_loss(first_connection::check_takes_writes(&self.first).await)
    }

    async fn try_write(&self) -> Result<()> {
        self.clear_pool_on_loss(write_check::try_write(&self.pool).await)
    }

    async fn sweep(&self, now: Micros) -> Result<()> {
        self.close_idle();
        self.vector_indexes.refresh(&self.pool).await?;
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

    async fn create_sql_role(&self, role: &NewSqlRole, act: &Act) -> Result<()> {
        self.make_sql_role(role, act).await
    }

    async fn list_sql_roles(&self, tenant: &str) -> Result<Vec<SqlRole>> {
        self.read_sql_roles(tenant).await
    }

    async fn drop_sql_role(&self, tenant: &str, name: &str, act: &Act) -> Result<Dropped> {
        self.remove_sql_role(tenant, name, act).await
    }

    async fn examine_watched(&self, request: &Examine, progress: &Progress) -> Result<Report> {
        self.clear_pool_on_loss(
            crate::storage::maintenance::doctor::examine(self, request, progress).await,
        )
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

    async fn count_other_servers(&self) -> Result<u64> {
        self.count_others().await
    }

    async fn renew(&self, tenant: &str) -> Result<Renewed> {
        renew(self, tenant).await
    }

    async fn check_restored(&self) -> Result<()> {
        check_finished(self).await
    }

    async fn close(&self) {
        self.life.close().await;
        self.pool.close();
        self.searches.close();
        self.first.close();
        self.rights_writes.close();
    }
}
