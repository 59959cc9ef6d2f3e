//! Lists the servers that are alive. Each has a lock of its number on a connection of its own, which the database releases when the process
//! ends.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::PostgresStorage;
use super::servers::Servers;
use crate::domain::scheduling::background_tasks::Running;
use crate::domain::{Error, Result};
use crate::storage::db::access::Access;
use crate::storage::maintenance::background_tasks::Living;

/// Any fixed number, for locks that only show life.
const LOCK: i32 = 0x6c69_7665;
const WITHIN: Duration = Duration::from_secs(5);

/// $1 the kind of lock.
const ALIVE: &str = "select cast(objid as bigint) from pg_locks
    where locktype = 'advisory' and objsubid = 2 and cast(classid as bigint) = $1
        and database = (select oid from pg_database where datname = current_database())";

/// The connection that shows that this server is alive; none before its first background work.
pub struct Life {
    servers: Servers,
    pub running: Running,
    connection: Mutex<Option<PgConnection>>,
}

impl Life {
    pub fn new(servers: Servers) -> Self {
        Self { servers, running: Running::default(), connection: Mutex::default() }
    }

    async fn show(&self) -> sqlx::Result<()> {
        let mut held = self.connection.lock().await;
        if let Some(connection) = held.as_mut()
            && connection.ping().await.is_ok()
        {
            return Ok(());
        }
        *held = None;
        let mut connection = self.servers.connect().await?.connection;
        // Shared: the database may still hold it for a connection that broke.
        sqlx::query("select pg_advisory_lock_shared($1, $2)")
            .bind(LOCK)
            .bind(i32::try_from(self.running.server).unwrap_or(i32::MAX))
            .execute(&mut connection)
            .await?;
        *held = Some(connection);
        Ok(())
    }

    pub async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            // The database lets go of the lock in any case.
            let _ = timeout(WITHIN, connection.close()).await;
        }
    }
}

#[async_trait]
impl Living for PostgresStorage {
    fn own(&self) -> &Running {
        &self.life.running
    }

    async fn show_life(&self) -> Result<()> {
        match timeout(WITHIN, self.life.show()).await {
            Ok(shown) => shown.map_err(Error::from),
            Err(_) => Err(Error::Internal("the database does not answer".into())),
        }
    }

    async fn living(&self, access: &mut dyn Access) -> Result<Vec<i64>> {
        let rows = access.rows(ALIVE, &[i64::from(LOCK).into()]).await?;
        rows.iter().map(|row| row.integer(0)).collect()
    }
}
