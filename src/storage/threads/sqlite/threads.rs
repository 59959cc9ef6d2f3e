//! Reads threads for listings, without their values.

use async_trait::async_trait;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Row, Sqlite};

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::threads::thread::{Thread, ThreadQuery, ThreadSort};
use crate::domain::tokens::grants::Action;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::{ids_json, prefixes_json};
use crate::storage::threads::search::{
    Ask, DetailsColumns, FoundPage, FoundThread, RunColumns, ThreadPages, is_sealed,
    secret_unless_destroyed, with_details,
};
use crate::storage::threads::status_conditions;
use crate::storage::threads::thread_filter::{OwnedThread, SHOWN, ThreadFilter, Way};
use crate::storage::tokens::owner_macs::OwnerRow;

const COLUMNS: &str = "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes,
    generation, owner, graph_id, assistant_id, user_id, thread_key, scope_id, mac, run_state,
    run_at, is_stale, lease_expires_at";

/// Joins the details `d` of a thread `t`. $1 tenant.
const PROBE_DETAILS: &str = "thread_details d on d.tenant = $1 and d.thread_key = t.thread_key";

/// The bind of [`ThreadQuery::busy_since`].
const BUSY_SINCE: &str = "$20";
const NOW: &str = "cast(unixepoch('subsec') * 1000000 as integer)";

/// $1 tenant, $2 and $3 position, $4 to $7 labels and prefix, $9 to $11 the ways in, $12 ids, $13 owner, $14 to $17 times, $18 the folded
/// text that a title has in it, null where nothing looks at titles, $19 what the id begins with.
const CONDITIONS: &str = "
    and ($4 is null or graph_id = $4) and ($5 is null or assistant_id = $5)
    and ($6 is null or user_id = $6)
    and ($7 is null or substr(thread_id, 1, length($7)) = $7)
    and ($12 is null or thread_id in (select value from json_each($12)))
    and ($13 is null or owner = $13)
    and ($14 is null or created_at >= $14) and ($15 is null or created_at < $15)
    and ($16 is null or updated_at >= $16) and ($17 is null or updated_at < $17)
    and ($18 is null or substr(thread_id, 1, length($19)) = $19
        or exists (select 1 from thread_details i where i.tenant = $1 and i.thread_key = threads.thread_key
            and instr(i.title_folded, $18) > 0))";

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
        let query = ask.query;
        let filter = ThreadFilter::by(caller, Action::Read);
        // The text is put together from constants only; everything a caller chose is bound.
        let (direction, beyond) = if query.ascending { ("asc", ">") } else { ("desc", "<") };
        let timed = |time: &str| {
            (
                format!("({time}, thread_id) {beyond} ($2, $3)"),
                format!("{time} {direction}, thread_id {direction}"),
            )
        };
        let status_place = status_conditions::place(BUSY_SINCE, NOW);
        let (after, order) = match query.sort {
            ThreadSort::Created => timed("created_at"),
            ThreadSort::Updated => timed("updated_at"),
            ThreadSort::StateUpdated => timed("run_at"),
            ThreadSort::Status => timed(&status_place),
            ThreadSort::ThreadId => {
                (format!("thread_id {beyond} $3"), format!("thread_id {direction}"))
            }
        };
        let conditions = conditions(query, &filter);
        let part = |guard: &str, (after, order): &(String, String)| {
            format!(
                "select {COLUMNS} from threads
                 where tenant = $1 and {SHOWN}{guard} and ($3 is null or {after}){conditions}
                 order by {order} limit $8"
            )
        };
        let page = match query.sort {
            // A thread that is not stale has the time of its last change in an index, too.
            ThreadSort::Updated => format!(
                "select * from (select * from ({}) union all select * from ({})) order by {order} limit $8",
                part(" and not is_stale", &timed("run_of")),
                part(" and is_stale", &timed("updated_at"))
            ),
            _ => part("", &(after, order.clone())),
        };
        let text = with_details(COLUMNS, &page, PROBE_DETAILS, &order);
        let mut reader = self.connections.begin_search(&caller.tenant).await?;
        let bound = bind((caller, secret), query, &filter, text);
        let rows = bound.fetch_all(&mut *reader).await?;
        reader.end().await?;
        let details = &query.details;
        let is_certain =
            details.metadata.is_empty() && (details.words.is_none() || !is_sealed(secret));
        let mut found = FoundPage::default();
        for row in &rows {
            let Some(thread) = read(row, secret, is_certain)? else {
                found.is_cut = true;
                break;
            };
            found.threads.push(thread);
        }
        Ok(found)
    }

    async fn count_certain(
        &self,
        caller: &Caller,
        secret: Option<&TenantSecret>,
        query: &ThreadQuery,
    ) -> Result<Option<u64>> {
        let is_blind = query.details.words.is_some() && is_sealed(secret);
        if !query.details.metadata.is_empty() || is_blind {
            return Ok(None);
        }
        let filter = ThreadFilter::by(caller, Action::Read);
        let text = format!(
            "select count(*) from threads
             where tenant = $1 and {SHOWN} and $2 is null and $3 is null{} limit $8",
            conditions(query, &filter)
        );
        let mut reader = self.connections.begin_search(&caller.tenant).await?;
        let counted = ThreadQuery { after: None, limit: 1, ..query.clone() };
        let bound = bind((caller, secret), &counted, &filter, text);
        let row = bound.fetch_one(&mut *reader).await?;
        reader.end().await?;
        Ok(Some(row.try_get::<i64, _>(0)?.unsigned_abs()))
    }
}

fn conditions(query: &ThreadQuery, filter: &ThreadFilter) -> String {
    let status = status_conditions::condition(query, BUSY_SINCE, NOW);
    // Each statement has the same binds.
    format!("{CONDITIONS}{status} and {BUSY_SINCE} is not null{}", filter.condition(way_in))
}

fn bind<'q>(
    (caller, secret): (&'q Caller, Option<&TenantSecret>),
    query: &'q ThreadQuery,
    filter: &ThreadFilter,
    text: String,
) -> Query<'q, Sqlite, SqliteArguments> {
    // Where content is encrypted no title can be compared here.
    let words = query.details.words.as_ref().filter(|_| !is_sealed(secret));
    sqlx::query(AssertSqlSafe(text))
        .bind(&caller.tenant)
        .bind(query.after.as_ref().map(|it| it.time))
        .bind(query.after.as_ref().map(|it| it.thread_id.as_str()))
        .bind(&query.graph_id)
        .bind(&query.assistant_id)
        .bind(&query.user_id)
        .bind(&query.prefix)
        .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
        .bind(filter.owner.clone())
        .bind(ids_json(filter))
        .bind(prefixes_json(filter))
        .bind(query.ids.as_ref().map(|it| serde_json::json!(it).to_string()))
        .bind(&query.owner)
        .bind(query.created.after)
        .bind(query.created.before)
        .bind(query.updated.after)
        .bind(query.updated.before)
        .bind(words.map(|it| it.folded.as_str()))
        .bind(words.map(|it| it.text.as_str()))
        .bind(query.busy_since)
}

/// $9 owner, $10 ids, $11 prefixes. One file's threads are few enough for the other ways to look through them in order.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "owner = $9",
        Way::Exact => "thread_id in (select value from json_each($10))",
        Way::Prefix => {
            "exists (select 1 from jsonb_each($11) r
                where thread_id >= r.value ->> 0 and thread_id < r.value ->> 1)"
        }
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
        }
        .read(),
    };
    Ok(Some(FoundThread { thread, is_certain }))
}
