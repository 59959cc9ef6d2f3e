//! Reads threads and lists them, without their values.

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::conditions::{ASKED, COLUMNS, Conditions};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::tenants::storage_use::StorageUse;
use crate::domain::threads::retention::{PruneRequest, Pruned};
use crate::domain::threads::storage::{CopyThread, DeleteThread, ThreadStorage};
use crate::domain::threads::thread::{Lease, LeaseRequest, Thread, ThreadPage, ThreadQuery};
use crate::domain::tokens::grants::Action;
use crate::storage::postgres::PostgresStorage;
use crate::storage::threads::search::{
    self, Ask, Counted, DetailsColumns, FoundPage, FoundThread, RunColumns, ThreadPages, is_sealed,
    secret_unless_destroyed, with_details,
};
use crate::storage::threads::storage_use::storage_use;
use crate::storage::threads::thread_filter::{OwnedThread, ThreadFilter};
use crate::storage::tokens::owner_macs::OwnerRow;

/// Joins the details `d` of a thread `t`. $1 tenant.
const PROBE_DETAILS: &str = "lateral (select version, has_marks, document from thread_details d
    where d.tenant = $1 and d.thread_key = t.thread_key limit 1) d on true";

#[async_trait]
impl ThreadStorage for PostgresStorage {
    async fn get_thread(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        let page = format!(
            "select {COLUMNS} from threads
             where tenant = $1 and thread_id = $2 and ($3::text is null or owner = $3)"
        );
        let text = with_details(COLUMNS, &page, PROBE_DETAILS, "thread_id");
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        let secret = secret_unless_destroyed(self, &caller.tenant).await?;
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(thread.owner)
            .fetch_optional(&mut *self.pool.get_for(&caller.tenant).await?)
            .await?;
        let row = row.map(|it| read_found(&it, secret.as_ref(), true)).transpose()?.flatten();
        Ok(row.map(|it| it.thread))
    }

    async fn list_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<ThreadPage> {
        let secret = secret_unless_destroyed(self, &caller.tenant).await?;
        search::find(self, (caller, secret.as_ref()), query).await
    }

    async fn count_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<u64> {
        let secret = secret_unless_destroyed(self, &caller.tenant).await?;
        search::count(self, (caller, secret.as_ref()), query).await
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

#[async_trait]
impl ThreadPages for PostgresStorage {
    async fn thread_page(
        &self,
        caller: &Caller,
        secret: Option<&TenantSecret>,
        ask: Ask<'_>,
    ) -> Result<FoundPage> {
        let filter = ThreadFilter::by(caller, Action::Read);
        let is_wide = self.wide_metadata.has(&caller.tenant, ask.query);
        let conditions = Conditions::new(&caller.tenant, ask, is_sealed(secret), is_wide);
        let Some(page) = conditions.page(&filter.ways()) else { return Ok(FoundPage::default()) };
        let columns = format!("{COLUMNS}, {ASKED}");
        let text = with_details(&columns, &page, PROBE_DETAILS, &conditions.order());
        let query = conditions.bind(&caller.tenant, filter, &text);
        let rows = query.fetch_all(&mut *self.searches.get(&caller.tenant).await?).await?;
        if rows.first().is_some_and(|row| row.get("is_wide")) {
            self.wide_metadata.learn(&caller.tenant, ask.query);
        }
        let mut found = FoundPage::default();
        for row in &rows {
            let is_certain = conditions.are_certain(row);
            let Some(mut one) = read_found(row, secret, is_certain)? else {
                found.is_cut = true;
                break;
            };
            one.thread.run.has_asked_values = row.get("has_asked_values");
            found.threads.push(one);
        }
        Ok(found)
    }

    async fn count_matching(
        &self,
        caller: &Caller,
        secret: Option<&TenantSecret>,
        query: &ThreadQuery,
    ) -> Result<Option<Counted>> {
        if is_sealed(secret) && !query.details.is_empty() {
            return Ok(None);
        }
        let filter = ThreadFilter::by(caller, Action::Read);
        let ask = Ask { query, only_uncertain: false };
        let conditions = Conditions::new(&caller.tenant, ask, is_sealed(secret), false);
        let Some(text) = conditions.count(&filter.ways()) else {
            return Ok(Some(Counted::default()));
        };
        let counted = conditions.bind(&caller.tenant, filter, &text);
        let row = counted.fetch_one(&mut *self.searches.get(&caller.tenant).await?).await?;
        let [certain, uncertain] = [0, 1].map(|at| row.get::<i64, _>(at).unsigned_abs());
        Ok(Some(Counted { certain, uncertain }))
    }
}

/// A row of [`with_details`], held against its MAC. None: the answer ends before it.
fn read_found(
    row: &PgRow,
    secret: Option<&TenantSecret>,
    is_certain: bool,
) -> Result<Option<FoundThread>> {
    let (thread_id, owner): (String, Option<String>) = (row.get("thread_id"), row.get("owner"));
    let scope_id = row.get("scope_id");
    if let Some(secret) = secret {
        OwnerRow::thread(&thread_id, (row.get("thread_key"), scope_id), owner.as_deref())
            .check(secret, row.get("mac"))?;
    }
    let (version, document) = (row.get("details_version"), row.get("document"));
    let Some(details) = DetailsColumns { scope_id, version, document }.open(secret)? else {
        return Ok(None);
    };
    let thread = Thread {
        thread_id,
        created_at: row.get("created_at"),
        updated_at: row.get("updated_at"),
        last_step: row.get("last_step"),
        checkpoint_count: row.get("checkpoint_count"),
        size_bytes: row.get("size_bytes"),
        generation: row.get("generation"),
        owner,
        graph_id: row.get("graph_id"),
        assistant_id: row.get("assistant_id"),
        user_id: row.get("user_id"),
        details,
        run: RunColumns {
            thread_key: row.get("thread_key"),
            run_state: row.get::<i16, _>("run_state").into(),
            run_at: row.get("run_at"),
            is_stale: row.get("is_stale"),
            lease_expires_at: row.get("lease_expires_at"),
            title_misses: row.get::<i16, _>("title_misses").into(),
        }
        .read(),
    };
    Ok(Some(FoundThread { thread, is_certain }))
}
