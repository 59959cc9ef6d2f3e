//! Lists checkpoints in pages, newest first, from one snapshot of the database.

use std::collections::{BTreeSet, HashMap};

use futures::TryStreamExt as _;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::list_details::{ReadWay, read_details};
use super::reading::Walked;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{ListCursor, ListQuery, View};
use crate::domain::checkpoints::history::Chain;
use crate::domain::checkpoints::storage::Page;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::opened_bytes::{LISTED_DOCUMENTS_BYTES, OpenedBytes};
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::{open_documents, size_of_documents};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;
use crate::storage::threads::thread_filter::{OwnedThread, SHOWN, ThreadFilter, Way};
use crate::storage::tokens::owner_macs::OwnerRow;

/// Rows that one request looks at when a filter rejects most of them.
const SCAN_MAX: usize = 10_000;
const SLICE: usize = 500;
/// A row of the page before its values are read.
pub(super) struct ListedRow {
    pub thread_key: i64,
    pub scope_id: i64,
    pub sends_from: Option<String>,
    pub map: HashMap<i64, i32>,
    pub view: View,
}

/// The one thread of a listing.
struct Only {
    thread_key: i64,
    scope_id: i64,
}

impl PostgresStorage {
    pub(in crate::storage) async fn read_page(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<Page> {
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        loop {
            let page = match self.try_page(&secret, caller, query, &prefetch).await {
                Err(Error::Unavailable { .. }) => {
                    self.pool.clear();
                    self.try_page(&secret, caller, query, &prefetch).await
                }
                result => result,
            }?;
            if prefetch.is_complete() {
                return Ok(page);
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    async fn try_page(
        &self,
        secret: &TenantSecret,
        caller: &Caller,
        query: &ListQuery,
        prefetch: &PackPrefetch,
    ) -> Result<Page> {
        let mut connection = self.searches.get(&caller.tenant).await?;
        connection.open("begin isolation level repeatable read, read only").await?;
        let page = self.read_in_snapshot(&mut connection, secret, caller, query, prefetch).await?;
        connection.end("commit").await?;
        Ok(page)
    }

    async fn read_in_snapshot(
        &self,
        connection: &mut Connection,
        secret: &TenantSecret,
        caller: &Caller,
        query: &ListQuery,
        prefetch: &PackPrefetch,
    ) -> Result<Page> {
        let only = match &query.thread_id {
            None => None,
            Some(id) => match find_thread(connection, (caller, secret), id.as_str()).await? {
                Some(only) => Some(only),
                None => return Ok(Page::default()),
            },
        };
        let (mut listed, mut next) =
            self.scan(connection, secret, caller, query, only.as_ref()).await?;
        let mut page = Page::default();
        if query.values {
            let size_max = usize::try_from(LIMITS.list_bytes_max).unwrap_or(usize::MAX);
            let way = ReadWay {
                prefetch,
                memory: &caller.memory,
                large_values: query.large_values,
                wanted: &query.wanted,
            };
            let kept = read_details(connection, secret, &caller.tenant, &mut listed, size_max, way)
                .await?;
            if kept < listed.len() {
                listed.truncate(kept);
                next = listed.last().map(|row| cursor_of(&row.view));
            }
            if let (Some(asked), Some(thread)) = (&query.history_channels, &query.thread_id) {
                let place = Walked {
                    tenant: &caller.tenant,
                    thread_id: thread.as_str(),
                    scope_id: only.as_ref().map_or(0, |it| it.scope_id),
                    large_values: query.large_values,
                    memory: &caller.memory,
                };
                let chain = (&mut page.chain, prefetch);
                let channels =
                    self.read_chain(connection, secret, place, &listed, asked, chain).await?;
                page.history_channels = channels.into_iter().collect();
            }
        }
        page.views = listed.into_iter().map(|row| row.view).collect();
        page.next = next;
        Ok(page)
    }

    /// Rows that match, and where the next page begins.
    async fn scan(
        &self,
        connection: &mut Connection,
        secret: &TenantSecret,
        caller: &Caller,
        query: &ListQuery,
        only: Option<&Only>,
    ) -> Result<(Vec<ListedRow>, Option<ListCursor>)> {
        let mut listed: Vec<ListedRow> = Vec::new();
        let mut after = query.after.clone();
        let (mut scanned, mut bytes) = (0, 0);
        while listed.len() < query.limit {
            let wanted = if query.filter.is_some() { SLICE } else { query.limit - listed.len() };
            let (rows, is_last) =
                read_slice(connection, caller, query, only, after.as_ref(), wanted).await?;
            scanned += rows.len();
            let documents = rows.iter().map(|row| size_of_documents(row.get("documents"))).sum();
            let size = size_of(rows.len(), documents);
            let is_full = cpu_pool::run_here_at_once(&caller.tenant, size, || {
                for row in &rows {
                    let entry = read_row(secret, query, only, row)?;
                    let position = cursor_of(&entry.view);
                    if matches(query, &entry.view)? {
                        bytes += (entry.view.skeleton.len() + entry.view.metadata.len()) as u64;
                        if bytes > LIMITS.list_bytes_max && !listed.is_empty() {
                            return Ok(true);
                        }
                        listed.push(entry);
                    }
                    after = Some(position);
                    if listed.len() == query.limit {
                        return Ok(true);
                    }
                }
                Ok::<_, Error>(false)
            })?;
            if is_full {
                return Ok((listed, after));
            }
            if is_last {
                return Ok((listed, None));
            }
            if scanned >= SCAN_MAX {
                return Ok((listed, after));
            }
        }
        Ok((listed, after))
    }

    /// The nodes that the histories of all rows need, each once. One round trip per gap: one, and one more per
    /// snapshot that the page crosses.
    async fn read_chain(
        &self,
        connection: &mut Connection,
        secret: &TenantSecret,
        place: Walked<'_>,
        listed: &[ListedRow],
        asked: &[String],
        (chain, prefetch): (&mut Chain, &PackPrefetch),
    ) -> Result<BTreeSet<String>> {
        let mut opened = OpenedBytes::of(place.memory, place.large_values);
        let mut absent = BTreeSet::new();
        let mut all = BTreeSet::new();
        for row in listed {
            // Channels that were asked for count without a version too: the caller answers from this chain.
            let valueless =
                |it: &&String| row.map.get(&channel_key(secret, it)).is_none_or(|no| *no == 0);
            let channels: BTreeSet<String> =
                row.view.delta_channels.iter().chain(asked).filter(valueless).cloned().collect();
            all.extend(channels.iter().cloned());
            let based = |it: &String| row.view.bases.iter().any(|base| base.channel == *it);
            let open: Vec<String> = channels.into_iter().filter(|it| !based(it)).collect();
            let start = row.view.parent.as_deref();
            while let Some(gap) = chain.gap(&row.view.ns, start, &open, &absent) {
                let walk = (place, &gap);
                let nodes = self.read_walk(connection, secret, walk, prefetch, &mut opened).await?;
                if nodes.is_empty() {
                    absent.insert((gap.ns, gap.start));
                } else {
                    chain.add(nodes);
                }
            }
        }
        Ok(all)
    }
}

async fn find_thread(
    connection: &mut Connection,
    (caller, secret): (&Caller, &TenantSecret),
    thread_id: &str,
) -> Result<Option<Only>> {
    let thread = OwnedThread::by(caller, thread_id, Action::Read);
    let row = sqlx::query(
        "select thread_key, scope_id, owner, mac from threads
         where tenant = $1 and thread_id = $2 and ($3::text is null or owner = $3)",
    )
    .bind(thread.tenant)
    .bind(thread.thread_id)
    .bind(thread.owner)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let (thread_key, scope_id) = (row.get("thread_key"), row.get("scope_id"));
    OwnerRow::thread(thread_id, (thread_key, scope_id), row.get("owner"))
        .check(secret, row.get("mac"))?;
    Ok(Some(Only { thread_key, scope_id }))
}

/// One slice of rows, as far as their documents fit, and whether it is the last one. Only fixed fragments enter the text; every value is bound.
async fn read_slice(
    connection: &mut Connection,
    caller: &Caller,
    query: &ListQuery,
    only: Option<&Only>,
    after: Option<&ListCursor>,
    wanted: usize,
) -> Result<(Vec<PgRow>, bool)> {
    let listed = ThreadFilter::by(caller, Action::Read);
    let columns = "c.ns, c.checkpoint_id, c.parent_id, c.channel_keys, c.value_nos, \
         c.documents, c.legacy, coalesce(c.sends_from, c.parent_id) as sends_from, c.delta_channels";
    let mut text = match only {
        Some(_) => {
            format!("select {columns} from checkpoints c where c.tenant = $1 and c.thread_key = $2")
        }
        None => format!(
            "select {columns}, t.thread_key, t.scope_id, t.thread_id, t.owner, t.mac from threads t \
             join checkpoints c on c.tenant = t.tenant and c.thread_key = t.thread_key \
             where t.tenant = $1 and $2::bigint is null and {SHOWN}"
        ),
    };
    if only.is_none() {
        text += &listed.condition(way_in);
    }
    if query.ns.is_some() {
        text += " and c.ns = $3";
    }
    if query.id.is_some() {
        text += " and c.checkpoint_id = $4";
    }
    if query.before.is_some() {
        text += " and c.checkpoint_id < $5";
    }
    if query.since.is_some() {
        text += " and c.checkpoint_id > $14";
    }
    if after.is_some() {
        text += " and c.checkpoint_id <= $6 and (c.checkpoint_id < $6 or ";
        text += match only {
            Some(_) => "c.ns > $8)",
            None => "(t.thread_id, c.ns) > ($7, $8))",
        };
    }
    // Within one namespace the primary key gives the order without a sort.
    text += match (only, &query.ns) {
        (Some(_), Some(_)) => " order by c.checkpoint_id desc limit $9",
        (Some(_), None) => " order by c.checkpoint_id desc, c.ns limit $9",
        (None, _) => " order by c.checkpoint_id desc, t.thread_id, c.ns limit $9",
    };
    let mut found = sqlx::query(AssertSqlSafe(text))
        .bind(&caller.tenant)
        .bind(only.map(|it| it.thread_key))
        .bind(query.ns.as_ref().map(|it| it.as_str().to_owned()))
        .bind(query.id.as_ref().map(|it| it.as_str().to_owned()))
        .bind(query.before.as_ref().map(|it| it.as_str().to_owned()))
        .bind(after.map(|it| it.id.clone()))
        .bind(after.map(|it| it.thread_id.clone()))
        .bind(after.map(|it| it.ns.clone()))
        .bind(i64::try_from(wanted).unwrap_or(i64::MAX))
        .bind(listed.owner)
        .bind(listed.exact)
        .bind(listed.firsts)
        .bind(listed.ends)
        .bind(query.since.as_ref().map(|it| it.as_str().to_owned()))
        .fetch(connection);
    let (mut rows, mut bytes, mut count) = (Vec::new(), 0, 0);
    while let Some(row) = found.try_next().await? {
        count += 1;
        // The others are read and dropped, so that the connection can be used further.
        if bytes <= LISTED_DOCUMENTS_BYTES {
            bytes += row.get::<&[u8], _>("documents").len();
            rows.push(row);
        }
    }
    let is_last = count < wanted && count == rows.len();
    Ok((rows, is_last))
}

/// $10 owner, $11 ids, $12 and $13 where prefixes begin and end.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "t.owner = $10",
        Way::Exact => "t.thread_id = any ($11)",
        Way::Prefix => {
            "exists (select from unnest($12::text[], $13::text[]) r (first, last) \
             where t.thread_id >= r.first and t.thread_id < r.last)"
        }
    }
}

fn read_row(
    secret: &TenantSecret,
    query: &ListQuery,
    only: Option<&Only>,
    row: &PgRow,
) -> Result<ListedRow> {
    let keys: Vec<i64> = row.get("channel_keys");
    let nos: Vec<i32> = row.get("value_nos");
    let legacy: bool = row.get("legacy");
    let thread_id = match &query.thread_id {
        Some(id) => id.to_string(),
        None => row.get("thread_id"),
    };
    let scope_id = only.map_or_else(|| row.get("scope_id"), |it| it.scope_id);
    if only.is_none() {
        OwnerRow::thread(&thread_id, (row.get("thread_key"), scope_id), row.get("owner"))
            .check(secret, row.get("mac"))?;
    }
    let mut delta_channels: Vec<String> =
        row.get::<Option<Vec<String>>, _>("delta_channels").unwrap_or_default();
    delta_channels.retain(|it| query.wanted.has(it));
    let at = CheckpointAt { scope_id, ns: row.get("ns"), id: row.get("checkpoint_id") };
    let (skeleton, metadata) = open_documents(secret, at, row.get("documents"))?;
    Ok(ListedRow {
        thread_key: only.map_or_else(|| row.get("thread_key"), |it| it.thread_key),
        scope_id,
        sends_from: row.get::<Option<String>, _>("sends_from").filter(|_| legacy),
        map: keys.into_iter().zip(nos).collect(),
        view: View {
            thread_id,
            ns: row.get("ns"),
            id: row.get("checkpoint_id"),
            parent: row.get("parent_id"),
            skeleton,
            metadata,
            delta_channels,
            ..View::default()
        },
    })
}

fn matches(query: &ListQuery, view: &View) -> Result<bool> {
    let Some(filter) = &query.filter else {
        return Ok(true);
    };
    let metadata = exact_json::parse("metadata", &view.metadata)
        .map_err(|_| Error::Integrity("stored metadata cannot be read".into()))?;
    Ok(exact_json::contains(&metadata, filter))
}

fn cursor_of(view: &View) -> ListCursor {
    ListCursor { id: view.id.clone(), thread_id: view.thread_id.clone(), ns: view.ns.clone() }
}
