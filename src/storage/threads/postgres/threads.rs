//! Reads threads and lists them, without their values.

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::storage::{CopyThread, DeleteThread, ThreadStorage};
use crate::domain::tenants::storage_use::StorageUse;
use crate::domain::threads::retention::{PruneRequest, Pruned};
use crate::domain::threads::thread::{Lease, LeaseRequest, Thread, ThreadQuery, ThreadSort};
use crate::domain::tokens::grants::Action;
use crate::storage::postgres::{PostgresStorage, TENANT_IN_INDEX};
use crate::storage::threads::storage_use::storage_use;
use crate::storage::threads::thread_filter::{OwnedThread, SHOWN, ThreadFilter, Way};
use crate::storage::tokens::owner_macs::{OwnerRow, secrets_of};

const COLUMNS: &str = "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes, \
     generation, owner, graph_id, assistant_id, user_id, thread_key, scope_id, mac";

#[async_trait]
impl ThreadStorage for PostgresStorage {
    async fn get_thread(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        let text = format!(
            "select {COLUMNS} from threads
             where tenant = $1 and thread_id = $2 and ($3::text is null or owner = $3)"
        );
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(thread.owner)
            .fetch_optional(&mut *self.pool.get_for(&caller.tenant).await?)
            .await?;
        let mut found = self.read_threads(&caller.tenant, row.as_slice()).await?;
        Ok(found.pop())
    }

    async fn list_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<Vec<Thread>> {
        let listed = ThreadFilter::by(caller, Action::Read);
        let Some(text) = list_text(query, &listed.ways()) else { return Ok(Vec::new()) };
        let after = query.after.as_ref();
        let rows = sqlx::query(AssertSqlSafe(text))
            .bind(&caller.tenant)
            .bind(&query.graph_id)
            .bind(&query.assistant_id)
            .bind(&query.user_id)
            .bind(&query.prefix)
            .bind(after.map(|it| it.time))
            .bind(after.map(|it| it.thread_id.clone()))
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .bind(listed.owner)
            .bind(listed.exact)
            .bind(listed.firsts)
            .bind(listed.ends)
            .fetch_all(&mut *self.searches.get(&caller.tenant).await?)
            .await?;
        self.read_threads(&caller.tenant, &rows).await
    }

    async fn get_storage_use(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<StorageUse>> {
        let secret = self.secret(&caller.tenant).await?;
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        storage_use(self, thread, &secret).await
    }

    async fn acquire_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.take_lease(caller, request).await
    }

    async fn renew_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.extend_lease(caller, request).await
    }

    async fn release_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<()> {
        self.drop_lease(caller, request).await
    }

    async fn delete_thread(&self, caller: &Caller, request: &DeleteThread) -> Result<bool> {
        self.clear_pool_on_loss(self.remove_thread(caller, request).await)
    }

    async fn prune_threads(&self, caller: &Caller, request: &PruneRequest) -> Result<Vec<Pruned>> {
        self.clear_pool_on_loss(self.prune(caller, request).await)
    }

    async fn copy_thread(&self, caller: &Caller, request: &CopyThread) -> Result<u64> {
        self.clear_pool_on_loss(self.copy(caller, request).await)
    }
}

impl PostgresStorage {
    /// Rows of [`COLUMNS`], each held against its MAC.
    async fn read_threads(&self, tenant: &str, rows: &[PgRow]) -> Result<Vec<Thread>> {
        let secrets = secrets_of(self, rows.first().map(|_| tenant).into_iter()).await?;
        let thread = |row: &PgRow| {
            let thread = read_thread(row);
            let ids = (row.get("thread_key"), row.get("scope_id"));
            let found = OwnerRow::thread(&thread.thread_id, ids, thread.owner.as_deref());
            let secret = secrets.get(tenant);
            secret.map_or(Ok(()), |it| found.check(it, row.get("mac")))?;
            Ok(thread)
        };
        rows.iter().map(thread).collect()
    }
}

/// Only fixed fragments enter the text; every value is bound. Each way in is a page of its own by its own index; the page
/// is the first of them all. None: there is no way in.
fn list_text(query: &ThreadQuery, ways: &[Way]) -> Option<String> {
    let (sort, direction, beyond) = match (query.sort, query.ascending) {
        (ThreadSort::Created, true) => ("created_at", "asc", ">"),
        (ThreadSort::Created, false) => ("created_at", "desc", "<"),
        (ThreadSort::Updated, true) => ("updated_at", "asc", ">"),
        (ThreadSort::Updated, false) => ("updated_at", "desc", "<"),
        (ThreadSort::ThreadId, true) => ("thread_id", "asc", ">"),
        (ThreadSort::ThreadId, false) => ("thread_id", "desc", "<"),
    };
    let mut conditions = String::new();
    for (given, condition) in [
        (query.graph_id.is_some(), " and graph_id = $2"),
        (query.assistant_id.is_some(), " and assistant_id = $3"),
        (query.user_id.is_some(), " and user_id = $4"),
        (query.prefix.is_some(), " and starts_with(thread_id, $5)"),
    ] {
        if given {
            conditions += condition;
        }
    }
    if query.after.is_some() {
        conditions += &match query.sort {
            ThreadSort::ThreadId => format!(" and thread_id {beyond} $7"),
            _ => format!(" and ({sort}, thread_id) {beyond} ($6, $7)"),
        };
    }
    let order = format!("order by {sort} {direction}, thread_id {direction} limit $8");
    let of_tenant = |tenant_in_index: &str, way: &str| {
        format!(
            "select {COLUMNS} from threads where {tenant_in_index} = $1 and {SHOWN}{way}{conditions} {order}"
        )
    };
    let page = |way: &str| of_tenant("tenant", way);
    let pages = ways.iter().map(|way| match way {
        Way::Everything if query.sort == ThreadSort::Created => of_tenant(TENANT_IN_INDEX, ""),
        Way::Everything => page(""),
        Way::Owner => page(" and owner = $9"),
        Way::Exact => page(" and thread_id = any ($10)"),
        Way::Prefix => {
            let one = page(" and thread_id >= r.first and thread_id < r.last");
            format!(
                "select p.* from unnest($11::text[], $12::text[]) r (first, last)
                 cross join lateral ({one}) p"
            )
        }
    });
    let pages: Vec<String> = pages.collect();
    match (ways, &pages[..]) {
        (_, []) => None,
        ([Way::Everything | Way::Owner | Way::Exact], [page]) => Some(page.clone()),
        // A thread that there are several ways to is listed once.
        _ => {
            let all = pages.join(") union all (");
            Some(format!("select distinct {COLUMNS} from (({all})) pages {order}"))
        }
    }
}

fn read_thread(row: &PgRow) -> Thread {
    Thread {
        thread_id: row.get("thread_id"),
        created_at: row.get("created_at"),
        updated_at: row.get("updated_at"),
        last_step: row.get("last_step"),
        checkpoint_count: row.get("checkpoint_count"),
        size_bytes: row.get("size_bytes"),
        generation: row.get("generation"),
        owner: row.get("owner"),
        graph_id: row.get("graph_id"),
        assistant_id: row.get("assistant_id"),
        user_id: row.get("user_id"),
    }
}
