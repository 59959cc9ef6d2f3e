//! Opens a storage engine with its queue, and commits and reads in short form.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use object_store::ObjectStore;
use sqlx::{AssertSqlSafe, Connection, Executor};
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{
    Commit, LargeValues, ListQuery, Op, PendingWrite, Target, Value, View,
};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::prepared::Prepared;
use threadkeep::domain::checkpoints::service::write;
use threadkeep::domain::checkpoints::storage::{CheckpointTuple, Page, TargetHistory};
use threadkeep::domain::checkpoints::wanted::WantedChannels;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::names::{CheckpointId, CheckpointNs, Tag, ThreadId, Writer};
use threadkeep::domain::storage::Storage;
use threadkeep::domain::threads::retention::{PruneRequest, Rule};
use threadkeep::domain::{Conflict, Error, Result};
use threadkeep::storage::objects::{Objects, Packing};
use threadkeep::storage::{self, Encryption, MasterKey, MasterKeys, StorageConfig};

use crate::commands::{Put, Writes};
use crate::support::postgres;

static FILES: AtomicU32 = AtomicU32::new(0);
pub const NEVER: Micros = Micros::MAX;

pub struct Harness {
    pub storage: Arc<dyn Storage>,
    pub queue: GroupCommit,
    pub caller: Caller,
    url: String,
    folder: Option<PathBuf>,
}

impl Harness {
    pub async fn sqlite() -> Self {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tk-lite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let url = format!("sqlite://{}", folder.join("threadkeep.db").display());
        let mut harness = Self::open(url).await;
        harness.folder = Some(folder);
        harness
    }

    pub async fn postgres() -> Self {
        Self::open(postgres::fresh_database().await).await
    }

    async fn open(url: String) -> Self {
        let storage = storage::open(&config(&url)).await.unwrap();
        let queue = GroupCommit::start(storage.clone(), &Arc::new(Clock::System));
        let caller = Caller::of_tenant("tenant-a");
        Self { storage, queue, caller, url, folder: None }
    }

    /// Goes on with a server that has an object store.
    pub async fn with_objects(mut self, store: Arc<dyn ObjectStore>) -> Self {
        self.storage = self.beside(store).await;
        self.queue = GroupCommit::start(self.storage.clone(), &Arc::new(Clock::System));
        self
    }

    /// Goes on with a server that encrypts, on data that is empty or encrypted.
    pub async fn encrypting(mut self, store: Option<Arc<dyn ObjectStore>>) -> Self {
        self.storage = self.open_with(Some(master_keys(7)), store).await.unwrap();
        self.queue = GroupCommit::start(self.storage.clone(), &Arc::new(Clock::System));
        self
    }

    /// Another server on the same data, with these master keys.
    pub async fn open_with(
        &self,
        masters: Option<Arc<MasterKeys>>,
        store: Option<Arc<dyn ObjectStore>>,
    ) -> Result<Arc<dyn Storage>> {
        let (encryption, objects) = (encryption(masters), store.map(small_packs));
        storage::open(&StorageConfig { exclusive: false, encryption, objects, ..config(&self.url) })
            .await
    }

    /// Another server on the same data and object store.
    pub async fn beside(&self, store: Arc<dyn ObjectStore>) -> Arc<dyn Storage> {
        let objects = Some(small_packs(store));
        let config = StorageConfig { exclusive: false, objects, ..config(&self.url) };
        storage::open(&config).await.unwrap()
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn is_sqlite(&self) -> bool {
        self.folder.is_some()
    }

    pub async fn prepare(&self, commit: Commit) -> Prepared {
        self.storage.prepare(&self.caller, commit, NEVER).await.unwrap()
    }

    pub async fn commit(&self, commit: Commit) -> Result<String> {
        let committed = write(&*self.storage, &self.queue, &self.caller, &commit, NEVER).await?;
        Ok(committed.generation)
    }

    /// Commits to thread `t` and expects success.
    pub async fn put(&self, put: Put) {
        self.commit(commit("t", vec![put.op()])).await.unwrap();
    }

    pub async fn write(&self, writes: Writes) {
        self.commit(commit("t", vec![writes.op()])).await.unwrap();
    }

    pub async fn found(
        &self,
        thread: &str,
        ns: &str,
        id: Option<&str>,
        asked: &[&str],
    ) -> CheckpointTuple {
        let asked: Vec<String> = asked.iter().map(|it| (*it).to_owned()).collect();
        self.storage.get_checkpoint(&self.caller, &target(thread, ns, id), &asked).await.unwrap()
    }

    /// A checkpoint of the root graph of thread `t`.
    pub async fn get(&self, id: &str) -> View {
        self.found("t", "", Some(id), &[]).await.view.unwrap()
    }

    pub async fn latest(&self, thread: &str) -> Option<View> {
        self.found(thread, "", None, &[]).await.view
    }

    pub async fn history(&self, id: &str, channels: &[&str]) -> TargetHistory {
        let channels: Vec<String> = channels.iter().map(|it| (*it).to_owned()).collect();
        let target = target("t", "", Some(id));
        self.storage.get_history(&self.caller, &target, &channels).await.unwrap().unwrap()
    }

    pub async fn list(&self, query: ListQuery) -> Page {
        self.storage.list_checkpoints(&self.caller, &query).await.unwrap()
    }

    /// Every view of a thread, newest first.
    pub async fn all(&self, thread: &str) -> Vec<View> {
        self.list(ListQuery { thread_id: Some(thread_id(thread)), ..everything() }).await.views
    }

    /// Runs a statement past the engine.
    pub async fn sql(&self, statement: &str) {
        let statement = AssertSqlSafe(statement.to_owned());
        if let Some(path) = self.url.strip_prefix("sqlite://") {
            let mut connection = sqlx::SqliteConnection::connect(path).await.unwrap();
            connection.execute(statement).await.unwrap();
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            connection.execute(statement).await.unwrap();
        }
    }

    /// All rows of a table as text, binary columns as hexadecimal digits.
    pub async fn dump(&self, table: &str) -> String {
        if let Some(path) = self.url.strip_prefix("sqlite://") {
            let mut connection = sqlx::SqliteConnection::connect(path).await.unwrap();
            let columns = format!("select name from pragma_table_info('{table}')");
            let columns: Vec<String> = sqlx::query_scalar(AssertSqlSafe(columns))
                .fetch_all(&mut connection)
                .await
                .unwrap();
            let texts: Vec<String> = columns
                .iter()
                .map(|it| format!("coalesce(iif(typeof({it}) = 'blob', hex({it}), {it}), '')"))
                .collect();
            let rows = format!("select {} from {table}", texts.join(" || ' ' || "));
            let rows = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut connection).await;
            let rows: Vec<String> = rows.unwrap();
            rows.join("\n")
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            let rows = format!("select t::text from {table} t");
            let rows = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut connection).await;
            let rows: Vec<String> = rows.unwrap();
            rows.join("\n")
        }
    }

    /// Names of all tables.
    pub async fn tables(&self) -> Vec<String> {
        if let Some(path) = self.url.strip_prefix("sqlite://") {
            let mut connection = sqlx::SqliteConnection::connect(path).await.unwrap();
            let tables = sqlx::query_scalar("select name from sqlite_master where type = 'table'");
            tables.fetch_all(&mut connection).await.unwrap()
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            let tables = "select table_name::text from information_schema.tables
                where table_schema = 'public'";
            sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap()
        }
    }

    /// Folder of the database's files, after everything was written to them.
    pub async fn files(&self) -> PathBuf {
        if let Some(folder) = &self.folder {
            return folder.clone();
        }
        let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
        connection.execute("checkpoint").await.unwrap();
        let folder = sqlx::query_scalar("select current_setting('data_directory')");
        PathBuf::from(folder.fetch_one(&mut connection).await.unwrap_or_else(|_| String::new()))
    }

    /// A number that a statement answers.
    pub async fn count(&self, statement: &str) -> i64 {
        let statement = AssertSqlSafe(statement.to_owned());
        if let Some(path) = self.url.strip_prefix("sqlite://") {
            let mut connection = sqlx::SqliteConnection::connect(path).await.unwrap();
            sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
        }
    }

    /// Texts that a statement answers.
    pub async fn texts(&self, statement: &str) -> Vec<String> {
        let statement = AssertSqlSafe(statement.to_owned());
        if let Some(path) = self.url.strip_prefix("sqlite://") {
            let mut connection = sqlx::SqliteConnection::connect(path).await.unwrap();
            sqlx::query_scalar(statement).fetch_all(&mut connection).await.unwrap()
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            sqlx::query_scalar(statement).fetch_all(&mut connection).await.unwrap()
        }
    }

    /// The counters of a thread say what its rows say.
    pub async fn check_counts(&self, thread: &str) {
        let shown =
            self.storage.get_thread(&self.caller, &thread_id(thread)).await.unwrap().unwrap();
        let of = format!("from threads t where t.thread_id = '{thread}' and t.tenant = 'tenant-a'");
        let counted = format!(
            "select (select count(*) from checkpoints c where c.thread_key = t.thread_key) {of}"
        );
        let counted = self.count(&counted).await;
        assert_eq!(shown.checkpoint_count, counted, "checkpoint_count of {thread}");
        let sized = format!(
            "select cast(
                (select coalesce(sum(size_bytes), 0) from checkpoints c where c.thread_key = t.thread_key)
                + (select coalesce(sum(size_bytes), 0) from manifests m where m.scope_id = t.scope_id)
                + (select coalesce(sum(size_bytes), 0) from writes w
                   where w.thread_key = t.thread_key) as bigint) {of}"
        );
        let holders = format!(
            "select (select count(*) from scope_holders h where h.scope_id = t.scope_id) {of}"
        );
        // Values of a shared scope belong to several threads.
        if self.count(&holders).await == 1 {
            assert_eq!(shown.size_bytes, self.count(&sized).await, "size_bytes of {thread}");
        }
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        match &self.folder {
            // Leftovers of a failing test do no harm.
            Some(folder) => drop(std::fs::remove_dir_all(folder)),
            None => postgres::ended(&self.url),
        }
    }
}

pub fn small_packs(store: Arc<dyn ObjectStore>) -> Arc<Objects> {
    let packing = Packing {
        pack_bytes_min: 1,
        pack_bytes: 6 << 10,
        // What is read twice is fetched twice.
        kept_bytes_max: 0,
        ..Packing::default()
    };
    Arc::new(Objects::new(store, "prefix".into(), packing))
}

pub fn config(url: &str) -> StorageConfig {
    StorageConfig {
        create: true,
        url: url.to_owned(),
        migrate: true,
        allow_unsafe: true,
        connections: 4,
        exclusive: true,
        objects: None,
        encryption: encryption(masters()),
        read_times: threadkeep::storage::ReadTimes::default(),
    }
}

/// Every case also holds with encryption: the whole suite runs so where this variable is set.
pub fn masters() -> Option<Arc<MasterKeys>> {
    std::env::var_os("THREADKEEP_TEST_ENCRYPTED").map(|_| master_keys(7))
}

/// Settings of a command that opens what a harness wrote.
pub fn key_variables() -> Option<(&'static str, String)> {
    masters().map(|_| ("THREADKEEP_MASTER_KEY", hex::encode([7; 32])))
}

pub fn encryption(masters: Option<Arc<MasterKeys>>) -> Encryption {
    masters.map_or(Encryption::Off, Encryption::On)
}

pub fn master_keys(byte: u8) -> Arc<MasterKeys> {
    Arc::new(MasterKeys { current: MasterKey::new(&[byte; 32]), previous: None })
}

pub fn commit(thread: &str, ops: Vec<Op>) -> Commit {
    Commit {
        thread_id: thread_id(thread),
        generation: None,
        fence: None,
        writer: Writer::new("w1").unwrap(),
        ops,
        full: None,
    }
}

/// Another tenant of the same database.
pub fn caller_of(tenant: &str) -> Caller {
    Caller::of_tenant(tenant)
}

pub fn thread_id(text: &str) -> ThreadId {
    ThreadId::new(text).unwrap()
}

pub fn target(thread: &str, ns: &str, id: Option<&str>) -> Target {
    Target {
        large_values: LargeValues::Whole,
        wanted: WantedChannels::All,
        thread_id: thread_id(thread),
        ns: CheckpointNs::new(ns).unwrap(),
        id: id.map(|it| CheckpointId::new(it).unwrap()),
    }
}

pub fn pruning(threads: &[&str], rule: Rule) -> PruneRequest {
    let thread_ids = threads.iter().map(|it| thread_id(it)).collect();
    PruneRequest { thread_ids, rule, dry_run: false }
}

/// A list query without any restriction.
pub fn everything() -> ListQuery {
    ListQuery { limit: 1_000, values: true, ..ListQuery::default() }
}

pub fn value(tag: &str, data: impl Into<Bytes>) -> Value {
    Value::new(Tag::new(tag).unwrap(), data.into())
}

pub fn text(value: &Value) -> String {
    String::from_utf8_lossy(&value.data).into_owned()
}

/// channel → data of a view.
pub fn values(view: &View) -> BTreeMap<&str, String> {
    view.values.iter().map(|(channel, value)| (channel.as_str(), text(value))).collect()
}

/// `channel=data` of a view's writes, in order.
pub fn writes(view: &View) -> Vec<String> {
    let write = |it: &PendingWrite| format!("{}:{}={}", it.task_id, it.channel, text(&it.value));
    view.writes.iter().map(write).collect()
}

pub fn conflict<T: std::fmt::Debug>(result: Result<T>) -> Conflict {
    match result.unwrap_err() {
        Error::Conflict(conflict) => conflict,
        other => panic!("{other}"),
    }
}
