//! Adds up what a thread takes, from maps and sizes: no value is read, and only documents of checkpoints that are needed
//! to tell the names of channels. The same for every engine.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::thread_filter::OwnedThread;
use crate::content::keys::TenantSecret;
use crate::domain::limits::LIMITS;
use crate::domain::tenants::storage_use::{ChannelUse, StorageUse};
use crate::domain::{Error, Result};
use crate::storage::checkpoints::prepare::{channel_key, channels_of};
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::open_documents;
use crate::storage::db::access::{Access, Accessible, Dialect, Source, SqlValue, page};
use crate::storage::maintenance::doctor::read_map;
use crate::storage::tokens::owner_macs::OwnerRow;

const THREAD: &str = "
select t.thread_key, t.scope_id,
    (select count(*) from scope_holders h where h.tenant = t.tenant and h.scope_id = t.scope_id), t.owner, t.mac
from threads t where t.tenant = $1 and t.thread_id = $2";

/// The same for a thread of the owner $3.
const OWN_THREAD: &str = "
select t.thread_key, t.scope_id,
    (select count(*) from scope_holders h where h.tenant = t.tenant and h.scope_id = t.scope_id), t.owner, t.mac
from threads t where t.tenant = $1 and t.thread_id = $2 and t.owner = $3";

/// Rows of the thread and its scope. $2 thread key, $3 scope.
const COUNTS: &str = "
select (select count(*) from checkpoints where tenant = $1 and thread_key = $2),
    (select count(*) from writes where tenant = $1 and thread_key = $2),
    (select count(*) from manifests where tenant = $1 and scope_id = $3),
    (select count(*) from chunks where tenant = $1 and scope_id = $3)";

/// Of packed chunks counts what they take in their packs.
const SUMS: &str = "
select cast(
        (select coalesce(sum(size_bytes), 0) from checkpoints where tenant = $1 and thread_key = $2)
        + (select coalesce(sum(size_bytes), 0) from writes where tenant = $1 and thread_key = $2)
    as bigint),
    cast(
        (select coalesce(sum(size_bytes), 0) from writes where tenant = $1 and thread_key = $2)
    as bigint),
    cast(
        (select coalesce(sum(length(documents) + {map_bytes}), 0) from checkpoints
            where tenant = $1 and thread_key = $2)
        + (select coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) from writes
            where tenant = $1 and thread_key = $2)
        + (select coalesce(sum(length(document)), 0) from delta_bases
            where tenant = $1 and thread_key = $2)
    as bigint),
    cast(
        (select coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) from manifests
            where tenant = $1 and scope_id = $3)
        + (select coalesce(sum(length(body)), 0) from chunks
            where tenant = $1 and scope_id = $3 and not {packed})
        + (select coalesce(sum(live_bytes), 0) from packs where tenant = $1 and scope_id = $3)
    as bigint)";

const MAPS: Source<'static> = Source {
    columns: "ns, checkpoint_id, {map}",
    size: "{map_bytes}",
    rows:
        "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
        order by ns, checkpoint_id",
};

const SIZES: Source<'static> = Source {
    columns: "no, size_bytes",
    size: "16",
    rows: "from manifests where tenant = $1 and scope_id = $2 and no > $3 order by no",
};

/// One channel while it is added up. `newest` orders by checkpoint id.
#[derive(Default)]
struct Channel {
    numbers: HashSet<u32>,
    newest: Option<(String, u32)>,
    /// A checkpoint that lists it.
    place: Option<(String, String)>,
}

/// One state of the thread. None: there is no such thread.
///
/// # Errors
/// `Invalid` for a thread with too many rows to be added up in a request; `Integrity` when documents are damaged.
pub async fn storage_use(
    engine: &dyn Accessible,
    thread: OwnedThread<'_>,
    secret: &TenantSecret,
) -> Result<Option<StorageUse>> {
    let mut access = engine.begin_search_for(thread.tenant).await?;
    let found = add_up(access.as_mut(), engine.dialect(), thread, secret).await;
    access.end().await?;
    found
}

async fn add_up(
    access: &mut dyn Access,
    dialect: &Dialect,
    thread: OwnedThread<'_>,
    secret: &TenantSecret,
) -> Result<Option<StorageUse>> {
    let tenant = thread.tenant;
    let key = [tenant.into(), thread.thread_id.into()];
    let found = match thread.owner {
        None => access.rows(THREAD, &key).await?,
        Some(owner) => access.rows(OWN_THREAD, &[&key[..], &[owner.into()]].concat()).await?,
    };
    let Some(row) = found.first() else { return Ok(None) };
    let (thread_key, scope_id, holders) = (row.integer(0)?, row.integer(1)?, row.integer(2)?);
    OwnerRow::thread(thread.thread_id, (thread_key, scope_id), row.optional_text(3)?)
        .check(secret, row.optional_bytes(4)?)?;
    let binds = [tenant.into(), thread_key.into(), scope_id.into()];
    let counts = access.rows(COUNTS, &binds).await?;
    let counts = (0..4).map(|at| Ok(counts[0].integer(at)?.unsigned_abs()));
    let counts = counts.collect::<Result<Vec<_>>>()?;
    check_rows(counts.iter().sum())?;
    let sums = access.rows(&dialect.fill(SUMS), &binds).await?;
    let sum = |at: usize| Ok::<_, Error>(sums[0].integer(at)?.unsigned_abs());
    let channels = read_channels(access, dialect, &binds[..2]).await?;
    let sizes = read_sizes(access, dialect, &[tenant.into(), scope_id.into()]).await?;
    let size = |no: &u32| sizes.get(no).copied().unwrap_or_default();
    let shown: HashSet<&u32> = channels.values().flat_map(|it| &it.numbers).collect();
    let names = read_names(access, &binds, secret, &channels).await?;
    let mut uses = Vec::with_capacity(channels.len());
    for (key, channel) in &channels {
        uses.push(ChannelUse {
            channel: names.get(key).cloned().ok_or_else(unnamed)?,
            versions: channel.numbers.len() as u64,
            logical_bytes: channel.numbers.iter().map(size).sum(),
            newest_bytes: channel.newest.as_ref().map_or(0, |(_, no)| size(no)),
        });
    }
    uses.sort_by(|a, b| (b.logical_bytes, &a.channel).cmp(&(a.logical_bytes, &b.channel)));
    Ok(Some(StorageUse {
        logical_bytes: sum(0)? + shown.iter().map(|no| size(no)).sum::<u64>(),
        writes_bytes: sum(1)?,
        stored_bytes: sum(2)? + sum(3)?,
        content_bytes: sum(3)?,
        checkpoints: counts[0],
        versions: shown.len() as u64,
        writes: counts[1],
        chunks: counts[3],
        shared_with: holders.unsigned_abs().saturating_sub(1),
        channels: uses,
    }))
}

/// What is added up in one request is bounded: numbers and sizes of all rows are in memory then.
fn check_rows(count: u64) -> Result<()> {
    let limit = LIMITS.storage_report_rows_max;
    if count <= limit {
        return Ok(());
    }
    let detail =
        format!("the thread has {count} rows, at most {limit} are added up in one request");
    Err(Error::out_of_range("thread_id", detail, limit))
}

/// Channels of all checkpoints by their keys.
async fn read_channels(
    access: &mut dyn Access,
    dialect: &Dialect,
    thread: &[SqlValue],
) -> Result<HashMap<i64, Channel>> {
    let mut channels: HashMap<i64, Channel> = HashMap::new();
    let mut after = vec![SqlValue::from(""), SqlValue::from("")];
    loop {
        let rows = page(access, dialect, &MAPS, &[thread, &after].concat()).await?;
        let Some(last) = rows.last() else { return Ok(channels) };
        after = last.0[..2].to_vec();
        for row in &rows {
            let (ns, id) = (row.text(0)?, row.text(1)?);
            for entry in read_map(row, 2)? {
                let channel = channels.entry(entry.channel_key).or_default();
                channel.place = Some((ns.to_owned(), id.to_owned()));
                if entry.value_no == 0 {
                    continue;
                }
                channel.numbers.insert(entry.value_no);
                if channel.newest.as_ref().is_none_or(|(newest, _)| newest.as_str() <= id) {
                    channel.newest = Some((id.to_owned(), entry.value_no));
                }
            }
        }
    }
}

/// Sizes of a scope's values by number.
async fn read_sizes(
    access: &mut dyn Access,
    dialect: &Dialect,
    scope: &[SqlValue],
) -> Result<HashMap<u32, u64>> {
    let (mut sizes, mut after) = (HashMap::new(), i64::MIN);
    loop {
        let rows = page(access, dialect, &SIZES, &[scope, &[after.into()]].concat()).await?;
        let Some(last) = rows.last() else { return Ok(sizes) };
        after = last.integer(0)?;
        for row in &rows {
            let no = u32::try_from(row.integer(0)?).unwrap_or(0);
            sizes.insert(no, row.integer(1)?.unsigned_abs());
        }
    }
}

/// Names of channels by their keys, from as few checkpoints as list them all. `thread`: tenant, thread key, scope.
async fn read_names(
    access: &mut dyn Access,
    thread: &[SqlValue; 3],
    secret: &TenantSecret,
    channels: &HashMap<i64, Channel>,
) -> Result<HashMap<i64, String>> {
    let (thread, scope) = thread.split_at(2);
    let SqlValue::Integer(scope_id) = scope[0] else { return Err(unnamed()) };
    let text = "select documents from checkpoints
        where tenant = $1 and thread_key = $2 and ns = $3 and checkpoint_id = $4";
    let places: BTreeSet<&(String, String)> =
        channels.values().filter_map(|it| it.place.as_ref()).collect();
    let mut names = HashMap::new();
    for (ns, id) in places {
        let place = [SqlValue::from(ns.as_str()), SqlValue::from(id.as_str())];
        let rows = access.rows(text, &[thread, &place].concat()).await?;
        let at = CheckpointAt { scope_id, ns, id };
        let (skeleton, _) =
            open_documents(secret, at, rows.first().ok_or_else(unnamed)?.bytes(0)?)?;
        let listed = channels_of(&skeleton)?;
        names.extend(listed.map(|(channel, _)| (channel_key(secret, &channel), channel)));
    }
    Ok(names)
}

fn unnamed() -> Error {
    Error::Integrity("a channel of a map is not in the skeleton".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_too_many_rows_is_refused_with_field_and_limit() {
        check_rows(1_000_000).unwrap();
        let Err(Error::Invalid { field, limit, .. }) = check_rows(1_000_001) else { panic!() };
        assert_eq!((field.as_str(), limit), ("thread_id", Some(1_000_000)));
    }
}
