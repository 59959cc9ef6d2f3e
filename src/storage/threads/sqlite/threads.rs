//! Reads threads for listings, without their values.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use super::listing::Statement;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::threads::thread::{Thread, ThreadQuery};
use crate::domain::tokens::grants::Action;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::threads::search::{
    Ask, Counted, DetailsColumns, FoundPage, FoundThread, RunColumns, ThreadPages,
    secret_unless_destroyed, with_details,
};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

pub(super) const COLUMNS: &str =
    "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes,
    generation, owner, graph_id, assistant_id, user_id, thread_key, scope_id, mac, run_state,
    run_at, is_stale, lease_expires_at, title_misses";

/// Joins the details `d` of a thread `t`. $1 tenant.
const PROBE_DETAILS: &str = "thread_details d on d.tenant = $1 and d.thread_key = t.thread_key";

impl SqliteStorage {
    pub(in crate::storage) async fn read_thread(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<Thread>> {
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        let secret = secret_unless_destroyed(self, &caller.tenant).await?;
        let page = format!(
            "select {COLUMNS} from threads
             where tenant = $1 and thread_id = $2 and ($3 is null or owner = $3)"
        );
        let text = with_details(COLUMNS, &page, PROBE_DETAILS, "thread_id");
        let mut reader = self.connections.begin_read_for(&caller.tenant).await?;
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(thread.owner)
            .fetch_optional(&mut *reader)
            .await?;
        reader.end().await?;
        let found = row.map(|it| read(&it, secret.as_ref(), true)).transpose()?.flatten();
        Ok(found.map(|it| it.thread))
    }
}

#[async_trait]
impl ThreadPages for SqliteStorage {
    async fn thread_page(
        &self,
        caller: &Caller,
        secret: Option<&TenantSecret>,
        ask: Ask<'_>,
    ) -> Result<FoundPage> {
        let statement = Statement::new(caller, secret, ask);
        let columns = format!("{COLUMNS}, is_certain, has_asked_values");
        let text = with_details(&columns, &statement.page(), PROBE_DETAILS, statement.order());
        let mut reader = self.connections.begin_search(&caller.tenant).await?;
        let rows = statement.bind(text).fetch_all(&mut *reader).await?;
        reader.end().await?;
        let mut found = FoundPage::default();
        for row in &rows {
            let Some(mut one) = read(row, secret, row.try_get("is_certain")?)? else {
                found.is_cut = true;
                break;
            };
            one.thread.run.has_asked_values = row.try_get("has_asked_values")?;
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
        let ask = Ask { query, only_uncertain: false };
        let statement = Statement::new(caller, secret, ask);
        if !statement.decides() {
            return Ok(None);
        }
        let mut reader = self.connections.begin_search(&caller.tenant).await?;
        let row = statement.bind(statement.count()).fetch_one(&mut *reader).await?;
        reader.end().await?;
        let (certain, uncertain): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let (certain, uncertain) = (certain.unsigned_abs(), uncertain.unsigned_abs());
        Ok(Some(Counted { certain, uncertain }))
    }
}

/// A row of [`with_details`], held against its MAC. None: the answer ends before it.
fn read(
    row: &SqliteRow,
    secret: Option<&TenantSecret>,
    is_certain: bool,
) -> Result<Option<FoundThread>> {
    let thread_id: String = row.try_get("thread_id")?;
    let owner: Option<String> = row.try_get("owner")?;
    let scope_id = row.try_get("scope_id")?;
    if let Some(secret) = secret {
        let ids = (row.try_get("thread_key")?, scope_id);
        OwnerRow::thread(&thread_id, ids, owner.as_deref()).check(secret, row.try_get("mac")?)?;
    }
    let columns = DetailsColumns {
        scope_id,
        version: row.try_get("details_version")?,
        document: row.try_get("document")?,
    };
    let Some(details) = columns.open(secret)? else { return Ok(None) };
    let thread = Thread {
        thread_id,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        last_step: row.try_get("last_step")?,
        checkpoint_count: row.try_get("checkpoint_count")?,
        size_bytes: row.try_get("size_bytes")?,
        generation: row.try_get("generation")?,
        owner,
        graph_id: row.try_get("graph_id")?,
        assistant_id: row.try_get("assistant_id")?,
        user_id: row.try_get("user_id")?,
        details,
        run: RunColumns {
            thread_key: row.try_get("thread_key")?,
            run_state: row.try_get("run_state")?,
            run_at: row.try_get("run_at")?,
            is_stale: row.try_get("is_stale")?,
            lease_expires_at: row.try_get("lease_expires_at")?,
            title_misses: row.try_get("title_misses")?,
        }
        .read(),
    };
    Ok(Some(FoundThread { thread, is_certain }))
}
