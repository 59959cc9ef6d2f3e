//! Reads rows with one SQL text on both engines, for work that reads whole tenants outside of a request. [`Dialect`] is the one place with
//! the differences between the engines.

use async_trait::async_trait;

pub use super::sql_row::{SqlRow, SqlValue};
use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::domain::{Error, Result};
use crate::storage::objects::Objects;
use crate::storage::tokens::rights::RightsMemory;

/// Rows that a page looks at, and bytes after which it ends; a larger row is a page of its own.
pub const PAGE_ROWS: i64 = 256;
const PAGE_BYTES: i64 = 8 << 20;
/// Names in one statement. Lists are filled up to it, so that the text of a statement stays the same.
pub const NAMES_MAX: usize = 256;
/// Work of the server itself, among the tenants that take turns: no tenant has this name.
pub const OWN_WORK: &str = "";

/// What the engines write differently. Stands in statements as `{name}`.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// `{thread_of_holder}`: joins `threads t` to `scope_holders h`.
    pub thread_of_holder: &'static str,
    /// `{holder}`: how `threads t` is called in `scope_holders`.
    pub holder: &'static str,
    /// `{map}`: three columns with the map of a checkpoint, for [`crate::storage::maintenance::doctor::maps`].
    pub map: &'static str,
    /// `{map_bytes}`: what the map takes.
    pub map_bytes: &'static str,
    /// `{packed}`: whether the `body` of a chunk is the place of one that lies in a pack.
    pub packed: &'static str,
    /// `{after_item}`: what comes after the item whose namespace is $2, as a bound value has it, and whose key is $3.
    pub after_item: &'static str,
    /// `{after_version}`: the same for the version $4 of an item.
    pub after_version: &'static str,
    /// `{this_item}`: whether it is the item whose namespace is $2, as a bound value has it, and whose key is $3.
    pub this_item: &'static str,
    /// `{hide_item}`: assignments, each behind a comma, after which no index shows anything of the item; $1 is the tenant.
    pub hide_item: &'static str,
    /// What no namespace comes before.
    pub first_namespace: &'static str,
    /// `{namespace}`: the namespace that is $2, as a bound value has it.
    pub namespace: &'static str,
    /// `{tenant_in_index}`: the tenant as indexes have it that are not a table's primary key.
    pub tenant_in_index: &'static str,
    /// `{numbers}`: the vector that is $9: as a text of an array, or as bytes.
    pub numbers: &'static str,
    /// `{skip_locked}`: ends a statement that locks those of its rows that nobody else has locked.
    pub skip_locked: &'static str,
    /// `{no_uuid}`: whether the id of a thread is other than a UUID in its usual spelling.
    pub no_uuid: &'static str,
    /// `{lock}`: ends a statement that locks the rows it reads.
    pub lock: &'static str,
    /// `{from_each}`: from the elements of the JSON list that is $1, as `j.value`.
    pub from_each: &'static str,
    /// Whether a join may look each row up by itself.
    pub has_lateral: bool,
    /// `{random}`: 32 random hexadecimal digits, others for each row.
    pub random: &'static str,
    /// `{now}`: the database's clock, in microseconds.
    pub now: &'static str,
    /// Whether filters are asked of an index.
    pub has_projection: bool,
    /// `{thread_projection}`: what an index of the details of threads looks at, from the text that is $5; empty for nothing.
    pub thread_projection: &'static str,
    /// `{sends_from}`: the removed checkpoint whose pending sends belong to this one.
    pub sends_from: &'static str,
    /// Whether pending sends of a removed parent stay as its writes; else they are a delta base.
    pub keeps_senders: bool,
    /// `{row_namespace}`: the namespace of an item in a row of `storage/export/items_put.rs`.
    pub row_namespace: &'static str,
    /// `{row_numbers}`: the vector in such a row.
    pub row_numbers: &'static str,
    /// `{vector_cell}`: a vector as a text of an array, or as bytes.
    pub vector_cell: &'static str,
    /// Columns of what filters look at, each behind a comma, and what they have in such a row.
    pub projection_columns: &'static str,
    pub projection_values: &'static str,
    /// Tell the followers of the store of the items in such rows. $3 tenant.
    pub log_items: &'static [&'static str],
    /// Inserts checkpoints from rows: `storage/export/staging.rs` says which cells they have. $3 tenant, $4 thread key.
    pub checkpoint_rows: &'static str,
}

impl Dialect {
    pub fn fill(&self, text: &str) -> String {
        let fields = [
            ("{thread_of_holder}", self.thread_of_holder),
            ("{holder}", self.holder),
            ("{map}", self.map),
            ("{map_bytes}", self.map_bytes),
            ("{packed}", self.packed),
            ("{after_item}", self.after_item),
            ("{after_version}", self.after_version),
            ("{namespace}", self.namespace),
            ("{tenant_in_index}", self.tenant_in_index),
            ("{numbers}", self.numbers),
            ("{skip_locked}", self.skip_locked),
            ("{no_uuid}", self.no_uuid),
            ("{this_item}", self.this_item),
            ("{hide_item}", self.hide_item),
            ("{lock}", self.lock),
            ("{from_each}", self.from_each),
            ("{now}", self.now),
            ("{random}", self.random),
            ("{thread_projection}", self.thread_projection),
            ("{sends_from}", self.sends_from),
            ("{row_namespace}", self.row_namespace),
            ("{row_numbers}", self.row_numbers),
            ("{vector_cell}", self.vector_cell),
        ];
        fields.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Joins the one row of a table that a condition on its key finds, by the index whatever the statistics say.
    pub fn probe(&self, columns: &str, table: &str, alias: &str, condition: &str) -> String {
        self.join([columns, table, alias, condition], "limit 1")
    }

    /// As [`Self::probe`], of all rows that a condition on the beginning of the key finds.
    pub fn probe_all(&self, columns: &str, table: &str, alias: &str, condition: &str) -> String {
        self.join([columns, table, alias, condition], "offset 0")
    }

    fn join(&self, [columns, table, alias, condition]: [&str; 4], end: &str) -> String {
        if self.has_lateral {
            return format!(
                "cross join lateral (select {columns} from {table} {alias} where {condition} {end}) {alias}"
            );
        }
        // A cross join keeps this order. Else SQLite may go through the table, and through the whole list again for each of its rows.
        format!("cross join {table} {alias} on {condition}")
    }

    /// A join that names a value, and its name: a look-up by an expression may miss its index for what the expression costs.
    pub fn naming(&self, value: &str) -> (String, String) {
        let join = format!("cross join lateral (select {value} as value offset 0) named");
        let named = (join, "named.value".to_owned());
        if self.has_lateral { named } else { (String::new(), value.to_owned()) }
    }
}

/// A transaction.
#[async_trait]
pub trait Access: Send {
    /// Runs a statement. `$1` is the first of `binds`.
    async fn rows(&mut self, statement: &str, binds: &[SqlValue]) -> Result<Vec<SqlRow>>;

    /// The same, where the database cannot read on: the rows that came before, and why it ended.
    async fn rows_before_damage(
        &mut self,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<(Vec<SqlRow>, Option<Error>)> {
        match self.rows(statement, binds).await {
            Err(error @ Error::Integrity(_)) => Ok((Vec::new(), Some(error))),
            rows => Ok((rows?, None)),
        }
    }

    /// Runs statements that write different rows; none needs what another wrote. Answers how many rows the first returned.
    /// One round trip where the engine can.
    async fn run_all(&mut self, statements: &[(String, Vec<SqlValue>)]) -> Result<usize> {
        let mut first = None;
        for (text, binds) in statements {
            let count = self.rows(text, binds).await?.len();
            first.get_or_insert(count);
        }
        Ok(first.unwrap_or(0))
    }

    /// Ends the transaction; what it wrote is durable then.
    async fn end(self: Box<Self>) -> Result<()>;
}

/// Something is wrong with the pages of the database's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPage {
    /// Where it can be told.
    pub table: Option<String>,
    /// In the engine's words, which tell numbers and names of tables and indexes.
    pub detail: String,
}

/// An engine that can be looked at and repaired from outside of requests.
#[async_trait]
pub trait Accessible: Send + Sync {
    fn dialect(&self) -> &'static Dialect;

    /// What the engine itself finds wrong with the pages of its file, and in which table; where it can look.
    async fn check_pages(&self) -> Result<Vec<BadPage>> {
        Ok(Vec::new())
    }

    /// What the content of a tenant that exists is named and sealed with, as the database says now.
    async fn secret_of(&self, tenant: &str) -> Result<TenantSecret>;

    /// What secrets of the database are wrapped with, where something does.
    fn masters(&self) -> Option<&MasterKeys>;

    /// What this process has seen of the rows that decide rights.
    fn rights(&self) -> &RightsMemory;

    /// Where packed content lies.
    fn objects(&self) -> Option<&Objects>;

    /// One state of the database, to be read only.
    async fn begin_read(&self) -> Result<Box<dyn Access + '_>>;

    /// As [`Self::begin_read`], for a request of a tenant: where readers are few, tenants take turns.
    async fn begin_read_for(&self, _tenant: &str) -> Result<Box<dyn Access + '_>> {
        self.begin_read().await
    }

    /// As [`Self::begin_read_for`], for what may go through many rows: it ends with `ReadTooLong` when its time is over.
    async fn begin_search_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>>;

    /// As [`Self::begin_read`], for keys and readiness: never waits for reads of data.
    async fn begin_priority_read(&self) -> Result<Box<dyn Access + '_>>;

    /// Whether there is room for what adds, where the engine keeps some for what deletes.
    ///
    /// # Errors
    /// `Obstacle` while the disk is full.
    fn check_room(&self) -> Result<()> {
        Ok(())
    }

    /// A transaction that writes. Code that changes content locks the scope first, with [`lock_scope`].
    async fn begin_write(&self) -> Result<Box<dyn Access + '_>>;

    /// As [`Self::begin_write`], for a request of a tenant: where there is one writer, tenants take turns, and none waits for
    /// the turn of work in slices.
    async fn begin_write_for(&self, _tenant: &str) -> Result<Box<dyn Access + '_>> {
        self.begin_write().await
    }

    /// As [`Self::begin_write_for`], for keys, revocations and signing secrets: never waits for a connection that data has.
    async fn begin_rights_write(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        self.begin_write_for(tenant).await
    }

    /// As [`Self::begin_write`], for what adds rows. It asks for room once nothing else writes: what asked before could take the room that
    /// was given up for deleting meanwhile.
    async fn begin_adding(&self) -> Result<Box<dyn Access + '_>> {
        let access = self.begin_write().await?;
        if let Err(full) = self.check_room() {
            access.end().await?;
            return Err(full);
        }
        Ok(access)
    }

    /// Runs one statement that reads, as [`Self::begin_read_for`]. One round trip where the engine can.
    async fn read_rows(
        &self,
        tenant: &str,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<Vec<SqlRow>> {
        let mut access = self.begin_read_for(tenant).await?;
        let rows = access.rows(statement, binds).await?;
        access.end().await?;
        Ok(rows)
    }

    /// Runs one statement that reads, as [`Self::begin_search_for`]. One round trip where the engine can.
    async fn search_rows(
        &self,
        tenant: &str,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<Vec<SqlRow>> {
        let mut access = self.begin_search_for(tenant).await?;
        let rows = access.rows(statement, binds).await?;
        access.end().await?;
        Ok(rows)
    }

    /// Runs one statement that writes, as [`Self::begin_write_for`]. One round trip where the engine can.
    async fn write_rows(
        &self,
        tenant: &str,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<Vec<SqlRow>> {
        let mut access = self.begin_write_for(tenant).await?;
        let rows = access.rows(statement, binds).await?;
        access.end().await?;
        Ok(rows)
    }

    /// Removes in slices the rows of a thread key that no thread has, and of a scope that nobody holds.
    async fn remove_unreachable(&self, tenant: &str, thread_key: i64, scope_id: i64) -> Result<()>;
}

/// Locks a scope against commits and removals, in a transaction of [`Accessible::begin_write`]. False: there is none.
///
/// # Errors
/// A database that cannot be read.
pub async fn lock_scope(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    scope_id: i64,
) -> Result<bool> {
    let text = "select scope_id from scopes where tenant = $1 and scope_id = $2 {lock}";
    let binds = [tenant.into(), scope_id.into()];
    Ok(!access.rows(&dialect.fill(text), &binds).await?.is_empty())
}

/// Rows of one table in the order of its key.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub columns: &'a str,
    /// An expression for the bytes that a row takes in memory once it is read.
    pub size: &'a str,
    /// From `from` to `order by …`; what follows the last of its binds is the limit.
    pub rows: &'a str,
}

/// The next rows of a source, as many as a page may have: two statements. No rows: it is at its end.
///
/// # Errors
/// A database that cannot be read.
pub async fn page(
    access: &mut dyn Access,
    dialect: &Dialect,
    source: &Source<'_>,
    binds: &[SqlValue],
) -> Result<Vec<SqlRow>> {
    page_of(access, dialect, source, (binds, PAGE_ROWS)).await
}

/// As [`page`], with at most so many rows.
///
/// # Errors
/// A database that cannot be read.
pub async fn page_of(
    access: &mut dyn Access,
    dialect: &Dialect,
    source: &Source<'_>,
    (binds, rows_max): (&[SqlValue], i64),
) -> Result<Vec<SqlRow>> {
    let limit = binds.len() + 1;
    let with_limit = |count: i64| [binds, &[SqlValue::Integer(count)]].concat();
    let text = dialect.fill(&format!("select {} {} limit ${limit}", source.size, source.rows));
    let sizes = access.rows(&text, &with_limit(rows_max)).await?;
    let (mut count, mut bytes) = (0, 0_i64);
    for size in &sizes {
        bytes = bytes.saturating_add(size.integer(0)?);
        if count > 0 && bytes > PAGE_BYTES {
            break;
        }
        count += 1;
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let text = dialect.fill(&format!("select {} {} limit ${limit}", source.columns, source.rows));
    access.rows(&text, &with_limit(count)).await
}

/// Rows that have one of some names or numbers in a column. `text` ends before the list; `binds` come first in it.
///
/// # Errors
/// A database that cannot be read.
pub async fn rows_named(
    access: &mut dyn Access,
    text: &str,
    binds: &[SqlValue],
    names: &[SqlValue],
) -> Result<Vec<SqlRow>> {
    let places: Vec<String> =
        (0..NAMES_MAX).map(|at| format!("${}", binds.len() + at + 1)).collect();
    let statement = format!("{text} ({})", places.join(", "));
    let mut rows = Vec::new();
    for names in names.chunks(NAMES_MAX) {
        let fill = std::iter::repeat_n(&names[names.len() - 1], NAMES_MAX - names.len());
        let binds: Vec<SqlValue> = binds.iter().chain(names).chain(fill).cloned().collect();
        rows.extend(access.rows(&statement, &binds).await?);
    }
    Ok(rows)
}
