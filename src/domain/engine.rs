//! Declares the trait of a storage engine as a whole: its name, its upkeep, its encryption and its login roles. Both engines implement all
//! storage traits of the domain, with the same results; the contract suite checks that.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::clock::Micros;
use super::doctor::{Examine, Report};
use super::error::Result;
use super::progress::Progress;
use super::tenants::audit::Act;
use super::tenants::sql_role::{self, Dropped, NewSqlRole, SqlRole};
use crate::domain::scheduling::background_tasks::BackgroundTaskStorage;

/// How many connections of one pool are in use at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUse {
    pub name: &'static str,
    pub in_use: usize,
    /// Open and free.
    pub idle: usize,
    pub max: usize,
    /// Calls that wait for a connection.
    pub waiting: usize,
    /// How many were opened since the start.
    pub opened: u64,
}

/// What the database takes, as far as its engine can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseSize {
    pub main_bytes: u64,
    /// Of the log beside the file.
    pub log_bytes: Option<u64>,
    /// Free on the disk of the file.
    pub free_bytes: Option<u64>,
}

/// What was renewed in a restored database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Renewed {
    /// Threads with a new generation.
    pub threads: u64,
    pub leases_ended: u64,
}

/// A table of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    pub name: &'static str,
    /// On PostgreSQL the estimate of its statistics for a large table. None: counting took too long.
    pub rows: Option<i64>,
    /// With its indexes; None where that took too long.
    pub bytes: Option<i64>,
}

/// What a database consists of, without what is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The newest migration.
    pub schema_version: i64,
    pub tables: Vec<TableSize>,
}

#[async_trait]
pub trait Engine: BackgroundTaskStorage {
    /// `postgres` or `sqlite`.
    fn name(&self) -> &'static str;

    /// The pools of connections to the database.
    fn pools(&self) -> Vec<PoolUse> {
        Vec::new()
    }

    /// How large the database is. One round trip, or a look at the files.
    async fn measure(&self) -> Result<DatabaseSize> {
        Ok(DatabaseSize::default())
    }

    /// Its tables with their sizes. It may go through the whole database.
    async fn take_inventory(&self) -> Result<Inventory> {
        Ok(Inventory::default())
    }

    /// One trivial statement.
    async fn check_ready(&self) -> Result<()>;

    /// Whether writes succeed: tries one that changes nothing.
    async fn try_write(&self) -> Result<()> {
        Ok(())
    }

    /// Removes expired idempotency answers and tombstones; safe to run from any number of servers.
    async fn sweep(&self, now: Micros) -> Result<()>;

    /// How often cold content is to be moved out of the database; None: never.
    fn moves_content_every(&self) -> Option<Duration> {
        None
    }

    /// One round of moving cold content, and of deleting moved content that nothing needs; any number of servers may run it.
    async fn move_content(&self, _now: Micros) -> Result<()> {
        Ok(())
    }

    /// Reads all content that was moved against its names. Answers what is wrong, a sentence each.
    async fn check_moved_content(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Looks whether all content that was moved is there, without reading it. Answers what is wrong, a sentence each.
    async fn find_missing_content(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Makes a login role that reads one tenant. `Invalid` where the engine has no roles, or does not let us make one.
    async fn create_sql_role(&self, _role: &NewSqlRole, _act: &Act) -> Result<()> {
        Err(sql_role::unsupported())
    }

    async fn list_sql_roles(&self, _tenant: &str) -> Result<Vec<SqlRole>> {
        Err(sql_role::unsupported())
    }

    /// From here on the role reads nothing.
    async fn drop_sql_role(&self, _tenant: &str, _name: &str, _act: &Act) -> Result<Dropped> {
        Err(sql_role::unsupported())
    }

    /// Reads everything and holds it against its digests, in pages, beside whatever else runs, and says meanwhile how far it is.
    async fn examine_watched(&self, request: &Examine, progress: &Progress) -> Result<Report>;

    /// The same, without watching.
    async fn examine(&self, request: &Examine) -> Result<Report> {
        self.examine_watched(request, &Progress::default()).await
    }

    /// Wraps the secrets of the database with the current master key; two were given. Answers how many were changed.
    async fn rotate_master_key(&self) -> Result<u64> {
        Ok(0)
    }

    /// Makes everything that a tenant has stored unreadable, for ever. False: it has no key, or not any more.
    async fn destroy_tenant_key(&self, _tenant: &str) -> Result<bool> {
        Ok(false)
    }

    /// Encrypts what is stored, while no server runs, and says meanwhile how far it is. Answers how many tenants.
    async fn encrypt_stored_watched(&self, _progress: &Progress) -> Result<u64> {
        Ok(0)
    }

    /// The same, without watching.
    async fn encrypt_stored(&self) -> Result<u64> {
        self.encrypt_stored_watched(&Progress::default()).await
    }

    /// How many connections of other servers there are, where the engine has no lock that keeps them away.
    async fn count_other_servers(&self) -> Result<u64> {
        Ok(0)
    }

    /// Renews a tenant of a restored database, so that nobody holds anything of it: new generations, greater fences, no leases, no positions
    /// of followers.
    async fn renew(&self, _tenant: &str) -> Result<Renewed> {
        Ok(Renewed::default())
    }

    /// Refuses a database that a restore has not finished.
    async fn check_restored(&self) -> Result<()> {
        Ok(())
    }

    async fn close(&self);
}
