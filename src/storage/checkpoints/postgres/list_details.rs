//! Reads values, writes, pending sends and bases of the rows of a page.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::chunks::{Fetched, chunks_of, fetch_counted};
use super::list::ListedRow;
use super::read_sql::{chunks_of_found, wanted_value};
use super::values::{OrderedWrite, base_of, in_order, values_in_order};
use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::{LargeValues, View};
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::opening::Chunks;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::connection::Connection;

/// Views whose values are read together.
const DETAIL_ROWS: usize = 20;

/// $1 tenant, $2 rows of the page: thread keys, $3 scopes, $4 namespaces, $5 ids, $6 where their sends are or null,
/// $7 and $8 scopes and numbers of their values, each once, $11 whether each is wanted, $9 size over which values in parts come without their chunks,
/// $10 what the values may have together to come with their chunks.
const DETAILS: &str = r"
with p as materialized (
    select * from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
    with ordinality as p (thread_key, scope_id, ns, id, sends_from, ord)
), found as materialized (
select 2 as kind, m.scope_id, m.scope_id as ord, m.no::bigint as number, null::text as a, null::text as b,
    {wanted_value}
from unnest($7::bigint[], $8::integer[], $11::boolean[]) v (scope_id, no, is_wanted)
cross join lateral (select * from manifests m
    where m.tenant = $1 and m.scope_id = v.scope_id and m.no = v.no limit 1) m
union all
select 3, p.scope_id, p.ord, w.idx, w.task_id, w.channel, w.task_path, w.tag, w.size_bytes, w.digest,
    w.body, w.parts
from p cross join lateral (select * from writes w where w.tenant = $1
    and w.thread_key = p.thread_key and w.ns = p.ns and w.checkpoint_id = p.id offset 0) w
union all
select 4, p.scope_id, p.ord, w.idx, w.task_id, w.channel, w.task_path, w.tag, w.size_bytes, w.digest,
    w.body, w.parts
from p cross join lateral (select * from writes w where w.tenant = $1
    and w.thread_key = p.thread_key and w.ns = p.ns and w.checkpoint_id = p.sends_from
    and w.channel = '__pregel_tasks' offset 0) w
union all
select 5, p.scope_id, p.ord, 0, null, b.channel, null, null, null, null, b.document, null
from p cross join lateral (select * from delta_bases b where b.tenant = $1
    and b.thread_key = p.thread_key and b.ns = p.ns and b.checkpoint_id = p.id offset 0) b
)
";

/// The last row has the chunks.
const WITH_CHUNKS: &str = r"
select kind, ord, number, a, b, c, tag, size_bytes, digest, body, parts from found
union all
select 10, 0, 0, null, null, null, null, null, null, c.body, null from content c
";

/// Assembled once per process.
static STATEMENT: LazyLock<String> = LazyLock::new(|| {
    let details = DETAILS.replace("{wanted_value}", &wanted_value());
    format!("{details}{}{WITH_CHUNKS}", chunks_of_found("f.scope_id", "$9", "$10"))
});

/// How values of a page are read.
#[derive(Clone, Copy)]
pub(super) struct ReadWay<'a> {
    pub prefetch: &'a PackPrefetch,
    pub memory: &'a ReadMemory,
    pub large_values: LargeValues,
    pub wanted: &'a WantedChannels,
}

/// Fills in values, writes, sends and bases until the page is full. Answers how many rows are complete. Round trips: one for 20 rows; one for
/// each of them where their values are too large together.
pub(super) async fn read_details(
    connection: &mut Connection,
    secret: &TenantSecret,
    tenant: &str,
    listed: &mut [ListedRow],
    size_max: usize,
    way: ReadWay<'_>,
) -> Result<usize> {
    let ReadWay { prefetch, large_values, .. } = way;
    let (mut size, mut done, mut alone_until) = (0, 0, 0);
    while done < listed.len() {
        let count = if done < alone_until { 1 } else { DETAIL_ROWS.min(listed.len() - done) };
        let group = &mut listed[done..done + count];
        let fetched = match fetch_details(connection, (tenant, secret), group, way).await {
            Err(Error::ValuesTooLarge { .. }) if count > 1 => {
                alone_until = done + count;
                continue;
            }
            // The next page begins with it, and says so.
            Err(Error::ValuesTooLarge { .. }) if done > 0 => return Ok(done),
            fetched => fetched?,
        };
        cpu_pool::run_here_at_once(tenant, fetched.whole_size(), || {
            let rows = &fetched.rows;
            let chunks = chunks_of((tenant, secret), rows, prefetch, large_values)?;
            let mut details = Details::read(secret, group, rows, &chunks)?;
            let mut places = group.iter_mut().enumerate();
            places.try_for_each(|(at, row)| details.fill(secret, &chunks, at, row))
        })?;
        for row in group {
            size += size_of(&row.view);
            if size > size_max && done > 0 {
                return Ok(done);
            }
            done += 1;
        }
    }
    Ok(done)
}

async fn fetch_details(
    connection: &mut Connection,
    (tenant, secret): (&str, &TenantSecret),
    group: &[ListedRow],
    ReadWay { memory, large_values, wanted, .. }: ReadWay<'_>,
) -> Result<Fetched> {
    let names = wanted.names();
    let keys: Option<Vec<i64>> =
        names.map(|it| it.iter().map(|it| channel_key(secret, it)).collect());
    let mut values: BTreeMap<(i64, i32), bool> = BTreeMap::new();
    for row in group {
        for (key, no) in row.map.iter().filter(|(_, no)| **no != 0) {
            let is_wanted = keys.as_ref().is_none_or(|it| it.contains(key));
            *values.entry((row.scope_id, *no)).or_default() |= is_wanted;
        }
    }
    let (places, are_wanted): (Vec<(i64, i32)>, Vec<bool>) = values.into_iter().unzip();
    let (scopes, nos): (Vec<i64>, Vec<i32>) = places.into_iter().unzip();
    let mut opened = match group {
        [_] => OpenedBytes::of(memory, large_values),
        _ => OpenedBytes::of_page(memory, large_values),
    };
    let query = sqlx::query(AssertSqlSafe(STATEMENT.as_str()))
        .bind(tenant)
        .bind(group.iter().map(|it| it.thread_key).collect::<Vec<_>>())
        .bind(group.iter().map(|it| it.scope_id).collect::<Vec<_>>())
        .bind(group.iter().map(|it| it.view.ns.clone()).collect::<Vec<_>>())
        .bind(group.iter().map(|it| it.view.id.clone()).collect::<Vec<_>>())
        .bind(group.iter().map(|it| it.sends_from.clone()).collect::<Vec<_>>())
        .bind(scopes)
        .bind(nos)
        .bind(large_values.bytes_max())
        .bind(opened.limit())
        .bind(are_wanted);
    fetch_counted(connection, query, &mut opened).await
}

#[derive(Default)]
struct Details<'r> {
    /// (scope, number) → row of a value
    values: HashMap<(i64, i64), &'r PgRow>,
    writes: BTreeMap<i64, Vec<OrderedWrite>>,
    sends: BTreeMap<i64, Vec<OrderedWrite>>,
    bases: BTreeMap<i64, Vec<crate::domain::checkpoints::history::Base>>,
}

impl<'r> Details<'r> {
    fn read(
        secret: &TenantSecret,
        group: &[ListedRow],
        rows: &'r [PgRow],
        chunks: &Chunks,
    ) -> Result<Self> {
        let mut details = Self::default();
        for row in rows {
            let ord: i64 = row.get("ord");
            match row.get::<i32, _>("kind") {
                2 => drop(details.values.insert((ord, row.get("number")), row)),
                kind @ (3 | 4) => {
                    let (of, at) = if kind == 3 {
                        (&mut details.writes, at(group, ord, |it| Some(&it.view.id)))
                    } else {
                        (&mut details.sends, at(group, ord, |it| it.sends_from.as_deref()))
                    };
                    let write = OrderedWrite::read(secret, at, chunks, row)?;
                    of.entry(ord).or_default().push(write);
                }
                5 => {
                    let at = at(group, ord, |it| Some(&it.view.id));
                    details.bases.entry(ord).or_default().push(base_of(secret, at, row)?);
                }
                _ => {}
            }
        }
        Ok(details)
    }

    fn fill(
        &mut self,
        secret: &TenantSecret,
        chunks: &Chunks,
        at: usize,
        row: &mut ListedRow,
    ) -> Result<()> {
        let ord = i64::try_from(at).unwrap_or(0) + 1;
        let own = |no| self.values.get(&(row.scope_id, no)).copied();
        let scope = (secret, row.scope_id);
        row.view.values = values_in_order(scope, &row.view, &row.map, (&own, chunks))?;
        row.view.writes = in_order(self.writes.remove(&ord).unwrap_or_default());
        let sends = in_order(self.sends.remove(&ord).unwrap_or_default());
        row.view.pending_sends = sends.into_iter().map(|write| write.value).collect();
        row.view.bases = self.bases.remove(&ord).unwrap_or_default();
        row.view.bases.sort_by(|a, b| a.channel.cmp(&b.channel));
        Ok(())
    }
}

/// A checkpoint of the row of the page with this ordinal.
fn at(
    group: &[ListedRow],
    ord: i64,
    id: impl FnOnce(&ListedRow) -> Option<&str>,
) -> CheckpointAt<'_> {
    let row = usize::try_from(ord - 1).ok().and_then(|at| group.get(at));
    let row = row.expect("the statement answers ordinals of what it was given");
    CheckpointAt { scope_id: row.scope_id, ns: &row.view.ns, id: id(row).unwrap_or_default() }
}

fn size_of(view: &View) -> usize {
    let values = view.all_values().map(|value| value.data.len());
    view.skeleton.len() + view.metadata.len() + values.sum::<usize>()
}
