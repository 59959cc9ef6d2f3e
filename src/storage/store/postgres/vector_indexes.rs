//! Creates the extension `vector` and indexes of vectors. Only searches by meaning need them.
//!
//! An index covers one model, one number of dimensions and one metric, of all tenants. The statement still names the tenant. The index is
//! made in the background, outside of transactions, when a search first has so many candidates that it would help.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, Executor, Row};

use crate::domain::store::vector::{Metric, Model};
use crate::domain::{Error, Result};
use crate::storage::postgres::connection::Connection;
use crate::storage::postgres::failure;
use crate::storage::postgres::pool::Pool;
use crate::storage::postgres::servers::Servers;

/// Longer vectors are indexed as half-precision numbers, and again longer ones not at all: limits of the extension.
const DIMS_WHOLE_MAX: usize = 2_000;
const DIMS_HALF_MAX: usize = 4_000;
/// Each index slows down every put of vectors of its model, and all are looked at when a statement is planned.
const INDEXES_MAX: i64 = 64;
/// After a failure the next one waits.
const RETRY_AFTER: Duration = Duration::from_mins(1);
/// Any fixed number, for locks that only builders of indexes take.
const LOCK: i32 = 0x7665_6374;

/// What this process knows of them.
pub struct VectorIndexes {
    servers: Servers,
    /// The schema may be changed.
    migrates: bool,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    extension: Extension,
    valid: HashSet<String>,
    building: HashSet<String>,
    failed_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Extension {
    #[default]
    Missing,
    /// Before 0.8 an index may find fewer than there are.
    WithoutIterativeScan,
    Ready,
}

impl VectorIndexes {
    pub fn new(servers: Servers, migrates: bool) -> Self {
        Self { servers, migrates, known: Arc::default() }
    }

    /// Makes the extension where it is there to be made and may be, and looks for indexes.
    ///
    /// # Errors
    /// Those of the database; not that the extension is missing.
    pub async fn refresh(&self, pool: &Pool) -> Result<()> {
        let mut connection = pool.get().await?;
        let extension = find_extension(&mut connection, self.migrates).await?;
        let rows = sqlx::query(
            "select c.relname::text as name from pg_index x join pg_class c on c.oid = x.indexrelid
             where x.indrelid = to_regclass('item_vectors') and x.indisvalid and not x.indisprimary",
        )
        .fetch_all(&mut *connection)
        .await?;
        let mut known = self.known.lock().expect("nothing panics while it is held");
        known.extension = extension;
        known.valid = rows.iter().map(|row| row.get("name")).collect();
        Ok(())
    }

    /// # Errors
    /// 422 that says what is missing. Looked for again each time, so that nothing has to be started anew.
    pub async fn require(&self, pool: &Pool) -> Result<()> {
        let is_missing = || {
            let known = self.known.lock().expect("nothing panics while it is held");
            known.extension == Extension::Missing
        };
        if is_missing() {
            self.refresh(pool).await?;
        }
        if !is_missing() {
            return Ok(());
        }
        let detail = "search_needs_pgvector: the database has no extension `vector`; install pgvector on its server, \
            and let a user who may run `create extension vector`. Everything else works without";
        Err(Error::invalid("query_vector", detail))
    }

    /// Whether there is an index; where there is none it is begun, unless there never will be.
    pub fn find(&self, model: &Model, metric: Metric, dims: usize) -> bool {
        if dims > DIMS_HALF_MAX {
            return false;
        }
        let name = name_of(model, metric, dims);
        let mut known = self.known.lock().expect("nothing panics while it is held");
        if known.extension != Extension::Ready {
            return false;
        }
        if known.valid.contains(&name) {
            return true;
        }
        let waits = known.failed_at.is_some_and(|it| it.elapsed() < RETRY_AFTER);
        if !waits && known.building.insert(name.clone()) {
            let building = Building {
                text: text_of(&name, model, metric, dims),
                name,
                servers: self.servers.clone(),
                known: Arc::clone(&self.known),
            };
            tokio::spawn(building.run());
        }
        false
    }
}

/// The type that vectors are indexed as.
pub fn kind_of(dims: usize) -> &'static str {
    if dims > DIMS_WHOLE_MAX { "halfvec" } else { "vector" }
}

/// An index on its way.
struct Building {
    name: String,
    text: String,
    servers: Servers,
    known: Arc<Mutex<Known>>,
}

impl Building {
    async fn run(self) {
        let began = Instant::now();
        let result = self.build().await;
        let mut known = self.known.lock().expect("nothing panics while it is held");
        known.building.remove(&self.name);
        match result {
            Ok(true) => {
                tracing::info!(index = self.name, seconds = began.elapsed().as_secs(), "built");
                known.valid.insert(self.name);
            }
            // Another server builds it, or there are too many: looked for again later.
            Ok(false) => known.failed_at = Some(Instant::now()),
            Err(error) => {
                tracing::warn!(%error, index = self.name, "an index of vectors was not built");
                known.failed_at = Some(Instant::now());
            }
        }
    }

    /// On a connection of its own, which takes the lock with it when it closes.
    async fn build(&self) -> sqlx::Result<bool> {
        let mut connection = self.servers.connect().await?.connection;
        let lock = "select pg_try_advisory_lock($1, hashtext($2)) as locked";
        let row = sqlx::query(lock).bind(LOCK).bind(&self.name).fetch_one(&mut connection).await?;
        if !row.get::<bool, _>("locked") {
            return Ok(false);
        }
        let row = sqlx::query(
            "select count(*) as count, bool_or(c.relname = $1 and not x.indisvalid) as is_broken
             from pg_index x join pg_class c on c.oid = x.indexrelid
             where x.indrelid = to_regclass('item_vectors')",
        )
        .bind(&self.name)
        .fetch_one(&mut connection)
        .await?;
        if row.get::<i64, _>("count") > INDEXES_MAX {
            tracing::warn!(max = INDEXES_MAX, "there are too many indexes of vectors for another");
            return Ok(false);
        }
        // A server that died left it half done.
        if row.get::<Option<bool>, _>("is_broken") == Some(true) {
            let drop = format!("drop index concurrently if exists \"{}\"", self.name);
            connection.execute(AssertSqlSafe(drop)).await?;
        }
        connection.execute("set maintenance_work_mem = '256MB'").await?;
        connection.execute(AssertSqlSafe(self.text.clone())).await?;
        connection.close().await?;
        Ok(true)
    }
}

/// Names of models are no names of indexes.
fn name_of(model: &Model, metric: Metric, dims: usize) -> String {
    let metric = match metric {
        Metric::Cosine => "cosine",
        Metric::L2 => "l2",
        Metric::InnerProduct => "ip",
    };
    let digest = hex::encode(&Sha256::digest(model.as_str())[..8]);
    format!("item_vectors_{metric}_{dims}_{digest}")
}

fn text_of(name: &str, model: &Model, metric: Metric, dims: usize) -> String {
    let (kind, model) = (kind_of(dims), model.as_str());
    let operators = match metric {
        Metric::Cosine => "cosine_ops",
        Metric::L2 => "l2_ops",
        Metric::InnerProduct => "ip_ops",
    };
    format!(
        "create index concurrently if not exists \"{name}\" on item_vectors
         using hnsw ((vector::{kind}({dims})) {kind}_{operators}) with (m = 16, ef_construction = 128)
         where model = '{model}' and dims = {dims}"
    )
}

/// Whoever may not make it leaves it to who may.
async fn find_extension(connection: &mut Connection, migrates: bool) -> Result<Extension> {
    const FIND: &str = "
        select exists (select from pg_available_extensions where name = 'vector') as is_available,
            (select string_to_array(extversion, '.')::integer[] >= '{0,8}' from pg_extension
             where extname = 'vector') as is_new";
    for _ in 0..2 {
        let row = sqlx::query(FIND).fetch_one(&mut *connection).await;
        let row = row?;
        match row.get::<Option<bool>, _>("is_new") {
            Some(true) => return Ok(Extension::Ready),
            Some(false) => return Ok(Extension::WithoutIterativeScan),
            None if !migrates || !row.get::<bool, _>("is_available") => {
                return Ok(Extension::Missing);
            }
            None => {}
        }
        let made = connection.execute("create extension if not exists vector").await;
        if let Err(error) = made {
            if failure::is_connection(&error) {
                return Err(error.into());
            }
            tracing::warn!(%error, "the extension `vector` is there but was not made");
            return Ok(Extension::Missing);
        }
    }
    Ok(Extension::Missing)
}
