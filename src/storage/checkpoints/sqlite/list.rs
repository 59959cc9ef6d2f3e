//! Lists checkpoints, newest first, with the histories of a page on one shared chain.

use std::collections::BTreeSet;

use futures::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row};

use super::history::{Ground, Want, fill};
use super::views::{COLUMNS, CheckpointRow, Tenant, documents, load_views, size_bytes};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{ListCursor, ListQuery, View};
use crate::domain::checkpoints::history::channels_without_value;
use crate::domain::checkpoints::storage::Page;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::opened_bytes::{LISTED_DOCUMENTS_BYTES, OpenedBytes};
use crate::storage::content::documents::{open_documents, size_of_documents};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::{ids_json, prefixes_json};
use crate::storage::threads::thread_filter::{SHOWN, ThreadFilter, Way};
use crate::storage::tokens::owner_macs::OwnerRow;

/// Rows that one page looks at; a filter that matches less often gives short pages with a cursor.
const LOOKED_AT_MAX: usize = 10_000;
/// Rows per statement when a filter has to look at them.
const FILTER_SLICE: usize = 500;
/// Checkpoints that are loaded together.
const LOADED_TOGETHER: usize = 16;
#[expect(clippy::cast_possible_truncation, reason = "it is some MiB")]
const PAGE_BYTES: usize = LIMITS.list_bytes_max as usize;

impl SqliteStorage {
    pub(in crate::storage) async fn read_page(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<Page> {
        let limit = query.limit.min(usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX));
        if limit == 0 {
            return Ok(Page::default());
        }
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch)
            .reading((query.large_values, &query.wanted), &caller.memory);
        loop {
            let page = self.try_page(caller, tenant, query, limit).await;
            if prefetch.is_complete() {
                return page;
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    async fn try_page(
        &self,
        caller: &Caller,
        tenant: Tenant<'_>,
        query: &ListQuery,
        limit: usize,
    ) -> Result<Page> {
        let mut read = self.connections.begin_search(&caller.tenant).await?;
        let (rows, next) = scan(&mut read, (caller, tenant), query, limit).await?;
        let mut page = Page { next, ..Page::default() };
        load(&mut read, tenant, query, &rows, &mut page).await?;
        if let (Some(asked), Some(_), true) =
            (&query.history_channels, &query.thread_id, query.values)
        {
            fill_chain(&mut read, tenant, asked, &rows, &mut page).await?;
        }
        read.end().await?;
        Ok(page)
    }
}

/// Finds at most `limit` rows that match, and where the next page goes on.
async fn scan(
    connection: &mut SqliteConnection,
    (caller, tenant): (&Caller, Tenant<'_>),
    query: &ListQuery,
    limit: usize,
) -> Result<(Vec<CheckpointRow>, Option<ListCursor>)> {
    let mut rows: Vec<CheckpointRow> = Vec::new();
    let mut after = query.after.clone();
    let (mut looked_at, mut documents_bytes) = (0, 0);
    loop {
        // One more than wanted shows whether there is a next page.
        let slice = if query.filter.is_some() { FILTER_SLICE } else { limit + 1 };
        let of = (caller, tenant.secret);
        let (found, is_last) = read_slice(connection, of, query, after.as_ref(), slice).await?;
        let documents = found.iter().map(|row| size_of_documents(&row.documents)).sum();
        let size = query.filter.as_ref().map_or(0, |_| size_of(found.len(), documents));
        let is_full = cpu_pool::run_here_at_once(tenant.name, size, || {
            for row in found {
                if rows.len() == limit || documents_bytes > LISTED_DOCUMENTS_BYTES {
                    return Ok(true);
                }
                looked_at += 1;
                after = Some(cursor(&row));
                if matches(tenant, query, &row)? {
                    documents_bytes += row.documents.len();
                    rows.push(row);
                }
            }
            Ok::<_, Error>(false)
        })?;
        if is_full {
            return Ok((rows, after));
        }
        if is_last {
            return Ok((rows, None));
        }
        if looked_at >= LOOKED_AT_MAX {
            return Ok((rows, after));
        }
    }
}

fn cursor(row: &CheckpointRow) -> ListCursor {
    ListCursor { id: row.id.clone(), thread_id: row.thread_id.clone(), ns: row.ns.clone() }
}

fn matches(tenant: Tenant<'_>, query: &ListQuery, row: &CheckpointRow) -> Result<bool> {
    let Some(filter) = &query.filter else {
        return Ok(true);
    };
    let (_, metadata) = open_documents(tenant.secret, row.at(), &row.documents)?;
    Ok(exact_json::contains(&exact_json::parse("metadata", &metadata)?, filter))
}

/// One slice in the order of listings, and whether it is the last one. The inner select sorts keys only; documents are fetched for what it
/// leaves, as far as they fit.
async fn read_slice(
    connection: &mut SqliteConnection,
    (caller, secret): (&Caller, &TenantSecret),
    query: &ListQuery,
    after: Option<&ListCursor>,
    count: usize,
) -> Result<(Vec<CheckpointRow>, bool)> {
    let mut listed = ThreadFilter::by(caller, Action::Read);
    let of_thread = if let Some(thread_id) = &query.thread_id {
        listed.owner = caller.thread_owner(thread_id.as_str(), Action::Read).map(str::to_owned);
        " and t.thread_id = $2 and ($10 is null or t.owner = $10)".to_owned()
    } else {
        format!(" and {SHOWN}{}", listed.condition(way_in))
    };
    let of_ns = if query.ns.is_some() { "and k.ns = $3" } else { "" };
    let statement = format!(
        "select p.thread_id, p.thread_key, p.scope_id, p.owner, p.mac, {COLUMNS}
         from (
             select k.rowid as row_id, k.checkpoint_id, k.ns, t.thread_id, t.thread_key, t.scope_id, t.owner, t.mac
             from threads t
             cross join checkpoints k on k.tenant = t.tenant and k.thread_key = t.thread_key
             where t.tenant = $1{of_thread} {of_ns}
               and ($4 is null or k.checkpoint_id = $4) and ($5 is null or k.checkpoint_id < $5)
               and ($13 is null or k.checkpoint_id > $13)
               and ($6 is null or k.checkpoint_id < $6
                    or (k.checkpoint_id = $6 and (t.thread_id, k.ns) > ($7, $8)))
             order by k.checkpoint_id desc, t.thread_id, k.ns limit $9
         ) p
         cross join checkpoints c on c.rowid = p.row_id
         order by p.checkpoint_id desc, p.thread_id, p.ns"
    );
    let mut found = sqlx::query(AssertSqlSafe(statement))
        .bind(&caller.tenant)
        .bind(query.thread_id.as_ref().map(|it| it.as_str().to_owned()))
        .bind(query.ns.as_ref().map(|it| it.as_str().to_owned()))
        .bind(query.id.as_ref().map(|it| it.as_str().to_owned()))
        .bind(query.before.as_ref().map(|it| it.as_str().to_owned()))
        .bind(after.map(|it| it.id.clone()))
        .bind(after.map(|it| it.thread_id.clone()))
        .bind(after.map(|it| it.ns.clone()))
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
        .bind(&listed.owner)
        .bind(ids_json(&listed))
        .bind(prefixes_json(&listed))
        .bind(query.since.as_ref().map(|it| it.as_str().to_owned()))
        .fetch(connection);
    let checkpoint = |row: &SqliteRow| {
        let thread_id: String = row.try_get("thread_id")?;
        let thread_key = row.try_get("thread_key")?;
        let scope_id = row.try_get("scope_id")?;
        let owner: Option<String> = row.try_get("owner")?;
        let mac: Option<Vec<u8>> = row.try_get("mac")?;
        OwnerRow::thread(&thread_id, (thread_key, scope_id), owner.as_deref())
            .check(secret, mac.as_deref())?;
        CheckpointRow::read(row, (thread_id, thread_key, scope_id))
    };
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = found.try_next().await? {
        let row = checkpoint(&row)?;
        bytes += row.documents.len();
        rows.push(row);
        if bytes > LISTED_DOCUMENTS_BYTES {
            return Ok((rows, false));
        }
    }
    let is_last = rows.len() < count;
    Ok((rows, is_last))
}

/// $10 owner, $11 ids, $12 prefixes.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "t.owner = $10",
        Way::Exact => "t.thread_id in (select value from json_each($11))",
        Way::Prefix => {
            "exists (select 1 from jsonb_each($12) r
                where t.thread_id >= r.value ->> 0 and t.thread_id < r.value ->> 1)"
        }
    }
}

/// Loads the rows into the page until its bytes are full; the next page then begins earlier.
async fn load(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    query: &ListQuery,
    rows: &[CheckpointRow],
    page: &mut Page,
) -> Result<()> {
    let mut bytes = 0;
    while page.views.len() < rows.len() {
        let rest = &rows[page.views.len()..];
        let loaded = load_some(connection, tenant, query.values, rest).await;
        let loaded = match loaded {
            // The next page begins with it, and says so.
            Err(Error::ValuesTooLarge { .. }) if !page.views.is_empty() => Vec::new(),
            loaded => loaded?,
        };
        let is_cut = loaded.is_empty();
        let full = loaded.into_iter().any(|view| {
            bytes += size_bytes(&view);
            let is_full = bytes > PAGE_BYTES && !page.views.is_empty();
            if !is_full {
                page.views.push(view);
            }
            is_full
        });
        if is_cut || full {
            page.next = Some(cursor(&rows[page.views.len() - 1]));
            return Ok(());
        }
    }
    Ok(())
}

/// The first of these checkpoints, as many as are small enough to be loaded together, and one at least.
async fn load_some(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    with_values: bool,
    rows: &[CheckpointRow],
) -> Result<Vec<View>> {
    let (mut views, mut bytes): (Vec<View>, usize) = (Vec::new(), 0);
    for row in rows.iter().take(LOADED_TOGETHER) {
        let view = documents(tenant, row)?;
        bytes += size_bytes(&view);
        views.push(view);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    if !with_values {
        return Ok(views);
    }
    let count = views.len();
    if count > 1 {
        let mut opened = OpenedBytes::of_page(tenant.memory, tenant.large_values);
        let some = (&rows[..count], views);
        match load_views(connection, tenant, some, &mut opened).await {
            Err(Error::ValuesTooLarge { .. }) => {}
            loaded => return loaded,
        }
        views = vec![documents(tenant, &rows[0])?];
    }
    let mut opened = OpenedBytes::of(tenant.memory, tenant.large_values);
    load_views(connection, tenant, (&rows[..1], views), &mut opened).await
}

/// Every listed checkpoint gets the history of every channel that the page is about, so that the answer needs no
/// table of which checkpoint was asked for what.
async fn fill_chain(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    asked: &[String],
    rows: &[CheckpointRow],
    page: &mut Page,
) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let ground = Ground { tenant, thread_key: first.thread_key, scope_id: first.scope_id };
    let named = page.views.iter().flat_map(|view| &view.delta_channels);
    let all: BTreeSet<String> = named.chain(asked).cloned().collect();
    let all: Vec<String> = all.into_iter().collect();
    let mut wants: Vec<Want<'_>> = page
        .views
        .iter()
        .map(|view| {
            let channels = channels_without_value(&[], &all, &view.values);
            Want::new(&view.ns, view.parent.as_deref(), &channels, &view.bases)
        })
        .collect();
    let mut opened = OpenedBytes::of(tenant.memory, tenant.large_values);
    fill(connection, ground, (&mut page.chain, &mut opened), &mut wants).await?;
    drop(wants);
    page.history_channels = all;
    Ok(())
}
