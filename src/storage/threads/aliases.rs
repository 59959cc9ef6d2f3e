//! Stores the UUID aliases of threads, with one SQL for both engines. A row whose id is a UUID in its usual spelling has none.

use async_trait::async_trait;
use serde_json::json;

use crate::domain::Result;
use crate::domain::threads::alias_lookup::{
    AliasPosition, AliasStorage, FoundName, UnaliasedThread,
};
use crate::storage::db::access::{OWN_WORK, SqlRow};
use crate::storage::sessions::SessionEngine;
use crate::storage::threads::derived_rows::{PutDerived, ROW_OF_ID, limit_value, put_derived};
use crate::storage::threads::thread_filter::SHOWN;

/// $1 names, $2 tenant. Each is looked up by itself.
const BY_ID: (&str, &str) = ("thread_id, owner", "t.tenant = $2 and t.thread_id = j.value ->> 0");
const BY_ALIAS: (&str, &str) =
    ("thread_id, owner", "{tenant_in_index} = $2 and t.alias = j.value ->> 0");

/// $1 tenant, $2 thread key, $3 limit.
const LIST_UNALIASED: &str = "
select tenant, thread_key, thread_id from threads
where {tenant_in_index} = $1 and alias is null and {shown} and {no_uuid} and thread_key > $2
order by thread_key limit $3";

/// $1 tenant and $2 thread key before the first, $3 limit.
const LIST_ALL_UNALIASED: &str = "
select tenant, thread_key, thread_id from threads where alias is null and {shown} and {no_uuid}
    and ({tenant_in_index}, thread_key) > ($1, $2)
order by {tenant_in_index}, thread_key limit $3";

/// $1 rows, $2 tenant. A thread that has another id by now is passed over. PostgreSQL is told in two ways to look each row up by its key,
/// whatever the statistics say: the tenant is a column of the rows, and a condition that always holds makes the rows count as few.
const PUT: &str = "
with d as materialized (
    select cast($2 as text) as tenant, cast(j.value ->> 0 as bigint) as thread_key, j.value ->> 1 as thread_id,
        j.value ->> 2 as alias
    {from_each}
), f as materialized ({rows})
update threads set alias = f.alias from f
where threads.tenant = f.tenant and threads.thread_id = f.thread_id and threads.thread_key = f.thread_key
    and threads.alias is null and f.thread_id = f.thread_id || ''
returning threads.thread_key";

const ALL_ROWS: &str = "select tenant, thread_key, thread_id, alias from d";

/// Rows that nobody else writes to.
const FREE_ROWS: &str = "
    select d.tenant, d.thread_key, d.thread_id, d.alias from d {probe} {skip_locked}";

#[async_trait]
impl<T: SessionEngine> AliasStorage for T {
    /// One round trip.
    async fn list_threads_named(&self, tenant: &str, names: &[String]) -> Result<Vec<FoundName>> {
        let dialect = self.dialect();
        let by_id = dialect.probe(BY_ID.0, "threads", "t", BY_ID.1);
        let by_alias = dialect.probe_all(BY_ALIAS.0, "threads", "t", BY_ALIAS.1);
        let shown = SHOWN.replace("thread_id", "t.thread_id");
        let text = format!(
            "select t.thread_id, t.owner {{from_each}} {by_id}
             union select t.thread_id, t.owner {{from_each}} {by_alias} where {shown}"
        );
        let names = json!(names.iter().map(|it| [it]).collect::<Vec<_>>()).to_string();
        let binds = [names.as_str().into(), tenant.into()];
        let rows = self.read_rows(tenant, &dialect.fill(&text), &binds).await?;
        let found = |row: &SqlRow| {
            let owner = row.optional_text(1)?.map(str::to_owned);
            Ok(FoundName { thread_id: row.text(0)?.to_owned(), owner })
        };
        rows.iter().map(found).collect()
    }

    /// One round trip.
    async fn list_unaliased_threads(
        &self,
        tenant: &str,
        after_key: i64,
        limit: usize,
    ) -> Result<Vec<UnaliasedThread>> {
        let binds = [tenant.into(), after_key.into(), limit_value(limit)];
        let text = self.dialect().fill(&LIST_UNALIASED.replace("{shown}", SHOWN));
        self.read_rows(tenant, &text, &binds).await?.iter().map(read).collect()
    }

    /// One round trip.
    async fn list_all_unaliased_threads(
        &self,
        (tenant, after_key): &AliasPosition,
        limit: usize,
    ) -> Result<Vec<UnaliasedThread>> {
        let binds = [tenant.as_str().into(), (*after_key).into(), limit_value(limit)];
        let text = self.dialect().fill(&LIST_ALL_UNALIASED.replace("{shown}", SHOWN));
        self.read_rows(OWN_WORK, &text, &binds).await?.iter().map(read).collect()
    }

    /// One round trip; one more for each thread that is being written to.
    async fn put_aliases(&self, tenant: &str, aliases: &[(UnaliasedThread, String)]) -> Result<()> {
        let dialect = self.dialect();
        let probe = dialect.probe("x.thread_key", "threads", "x", ROW_OF_ID);
        let among = |rows: &str| PUT.replace("{rows}", rows).replace("{probe}", &probe);
        let statement = PutDerived { free: among(FREE_ROWS), any: among(ALL_ROWS) };
        let row = |(it, alias): &(UnaliasedThread, String)| {
            (it.thread_key, json!([it.thread_key, it.thread_id, alias]))
        };
        put_derived(self, tenant, &statement, aliases, row).await
    }
}

fn read(row: &SqlRow) -> Result<UnaliasedThread> {
    Ok(UnaliasedThread {
        tenant: row.text(0)?.to_owned(),
        thread_key: row.integer(1)?,
        thread_id: row.text(2)?.to_owned(),
    })
}
