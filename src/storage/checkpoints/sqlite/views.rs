//! Loads checkpoints with everything that belongs to them: four statements for any number of them. Nothing is opened before its size was
//! counted.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::values::{ValueRef, fetch_counted, open_values, read_values};
use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::{
    LargeValues, PENDING_SENDS, PendingWrite, Value, View, WriteCall,
};
use crate::domain::checkpoints::wanted::{self, WantedChannels};
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::scheduling::read_memory::{self, ReadMemory};
use crate::domain::{Error, Result};
use crate::storage::checkpoints::base_document::open_base;
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::channel_map::Entry;
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::prepare::{channels_of, version_key};
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::documents::{open_documents, size_of_documents};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::rows::RowSet;

/// A checkpoint's row and where its values are.
#[derive(Debug, Clone)]
pub(in crate::storage) struct CheckpointRow {
    pub(in crate::storage) thread_id: String,
    pub(in crate::storage) thread_key: i64,
    pub(in crate::storage) scope_id: i64,
    pub(in crate::storage) ns: String,
    pub(in crate::storage) id: String,
    pub(in crate::storage) parent: Option<String>,
    pub(in crate::storage) map: Vec<Entry>,
    pub(in crate::storage) documents: Vec<u8>,
    pub(in crate::storage) legacy: bool,
    pub(in crate::storage) delta_channels: Vec<String>,
}

/// Columns that [`CheckpointRow::read`] wants, of `checkpoints c`.
pub(in crate::storage) const COLUMNS: &str =
    "c.ns, c.checkpoint_id, c.parent_id, c.map, c.documents, c.legacy, c.delta_channels";

impl CheckpointRow {
    pub(in crate::storage) fn read(row: &SqliteRow, thread: (String, i64, i64)) -> Result<Self> {
        let (thread_id, thread_key, scope_id) = thread;
        let map: Vec<u8> = row.try_get("map")?;
        let delta_channels: String = row.try_get("delta_channels")?;
        let damaged = |_| Error::Integrity("the list of delta channels is damaged".into());
        Ok(Self {
            thread_id,
            thread_key,
            scope_id,
            ns: row.try_get("ns")?,
            id: row.try_get("checkpoint_id")?,
            parent: row.try_get("parent_id")?,
            map: channel_map::unpack(&map)?,
            documents: row.try_get("documents")?,
            legacy: row.try_get("legacy")?,
            delta_channels: serde_json::from_str(&delta_channels).map_err(damaged)?,
        })
    }

    pub(in crate::storage) fn at(&self) -> CheckpointAt<'_> {
        CheckpointAt { scope_id: self.scope_id, ns: &self.ns, id: &self.id }
    }
}

/// The tenant whose rows are read, and the secret that opens them.
#[derive(Clone, Copy)]
pub(in crate::storage) struct Tenant<'a> {
    pub(in crate::storage) name: &'a str,
    pub(in crate::storage) secret: &'a TenantSecret,
    /// Content of packs that this operation has fetched.
    pub(in crate::storage) prefetch: &'a PackPrefetch,
    pub(in crate::storage) large_values: LargeValues,
    pub(in crate::storage) wanted: &'a WantedChannels,
    pub(in crate::storage) memory: &'a ReadMemory,
}

impl<'a> Tenant<'a> {
    /// For reads that need the bytes of all values.
    pub(in crate::storage) fn new(
        name: &'a str,
        secret: &'a TenantSecret,
        prefetch: &'a PackPrefetch,
    ) -> Self {
        let memory = &read_memory::UNCOUNTED;
        let large_values = LargeValues::Whole;
        Self { name, secret, prefetch, large_values, wanted: wanted::ALL, memory }
    }

    pub(in crate::storage) fn of(&self) -> (&'a str, &'a TenantSecret) {
        (self.name, self.secret)
    }

    pub(in crate::storage) fn reading(
        self,
        (large_values, wanted): (LargeValues, &'a WantedChannels),
        memory: &'a ReadMemory,
    ) -> Self {
        Self { large_values, wanted, memory, ..self }
    }
}

/// Fills in the documents of some checkpoints, in the order of `rows`.
pub(super) async fn load_views(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    (rows, mut views): (&[CheckpointRow], Vec<View>),
    opened: &mut OpenedBytes,
) -> Result<Vec<View>> {
    load_values(connection, tenant, (rows, &mut views), opened).await?;
    let own = places(rows.iter().map(|row| Some(row.id.as_str())), rows);
    for (at, write) in read_writes(connection, tenant, (&own, None), opened).await? {
        views[at].writes.push(write);
    }
    load_bases(connection, tenant, (&own, &mut views), opened).await?;
    load_sends(connection, tenant, (rows, &mut views), opened).await?;
    for view in &mut views {
        let with_value = |name: &String| view.values.iter().any(|(it, _)| it == name);
        view.delta_channels.retain(|channel| !with_value(channel));
    }
    Ok(views)
}

/// A view without values, writes and bases.
pub(in crate::storage) fn documents(tenant: Tenant<'_>, row: &CheckpointRow) -> Result<View> {
    let open = || open_documents(tenant.secret, row.at(), &row.documents);
    let (skeleton, metadata) =
        cpu_pool::run_here_at_once(tenant.name, size_of_documents(&row.documents), open)?;
    Ok(View {
        thread_id: row.thread_id.clone(),
        ns: row.ns.clone(),
        id: row.id.clone(),
        parent: row.parent.clone(),
        skeleton,
        metadata,
        delta_channels: wanted_of(tenant, &row.delta_channels),
        ..View::default()
    })
}

fn wanted_of(tenant: Tenant<'_>, channels: &[String]) -> Vec<String> {
    channels.iter().filter(|it| tenant.wanted.has(it)).cloned().collect()
}

async fn load_values(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    (rows, views): (&[CheckpointRow], &mut [View]),
    opened: &mut OpenedBytes,
) -> Result<()> {
    let mut names: Vec<(usize, String)> = Vec::new();
    let mut wanted = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let channels = channel_map::channel_names(&views[at].skeleton, row.map.len())?;
        let versions = versions_of(tenant, &views[at], &row.map)?;
        for (position, (channel, entry)) in channels.into_iter().zip(&row.map).enumerate() {
            if entry.value_no != 0 {
                let version = versions.as_ref().map(|it| it[position]);
                let (scope_id, no) = (row.scope_id, entry.value_no);
                let is_wanted = tenant.wanted.has(&channel);
                wanted.push(ValueRef { scope_id, no, version_key: version, is_wanted });
                names.push((at, channel));
            }
        }
    }
    let values = read_values(connection, tenant, &wanted, opened).await?;
    for ((at, channel), value) in names.into_iter().zip(values) {
        views[at].values.push((channel, value));
    }
    Ok(())
}

/// Keys of the versions in the order of the map, from the skeleton, which nobody can have exchanged. None without encryption:
/// values are not bound to them then.
fn versions_of(tenant: Tenant<'_>, view: &View, map: &[Entry]) -> Result<Option<Vec<i64>>> {
    if tenant.secret.cipher().is_none() {
        return Ok(None);
    }
    let key = |(channel, version): (String, String)| {
        version_key(tenant.secret, &view.ns, &channel, &version)
    };
    let keys: Vec<i64> = channels_of(&view.skeleton)?.map(key).collect();
    if keys.iter().copied().eq(map.iter().map(|it| it.version_key)) {
        return Ok(Some(keys));
    }
    Err(Error::Integrity("a map does not list the versions of the skeleton".into()))
}

/// A checkpoint whose writes or bases are wanted.
pub(super) struct CheckpointKeys<'a> {
    pub(in crate::storage) at: usize,
    pub(in crate::storage) thread_key: i64,
    pub(in crate::storage) scope_id: i64,
    pub(in crate::storage) ns: &'a str,
    pub(in crate::storage) id: &'a str,
}

/// Places of some ids beside `rows`; None is left out.
fn places<'a>(
    ids: impl Iterator<Item = Option<&'a str>>,
    rows: &'a [CheckpointRow],
) -> Vec<CheckpointKeys<'a>> {
    let placed = ids.zip(rows).enumerate().filter_map(|(at, (id, row))| {
        let (thread_key, scope_id, ns) = (row.thread_key, row.scope_id, row.ns.as_str());
        Some(CheckpointKeys { at, thread_key, scope_id, ns, id: id? })
    });
    placed.collect()
}

const READ_WRITES: &str = "
select j.value ->> 0 as position, j.value ->> 2 as scope_id, w.task_id, w.idx, w.channel, w.tag, w.size_bytes,
       w.digest, w.body, w.parts, null as left_out_bytes, w.writer, w.seq
from jsonb_each($2) j
cross join writes w on w.tenant = $1 and w.thread_key = j.value ->> 1 and w.ns = j.value ->> 3
    and w.checkpoint_id = j.value ->> 4
    and ($3 is null or w.channel in (select value from json_each($3)))
order by j.key, w.task_path, w.task_id, w.idx";

/// Writes with the position of their place, each place's in (`task_path`, `task_id`, `idx`) order; of some
/// channels or, with None, of all.
pub(super) async fn read_writes(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    (places, channels): (&[CheckpointKeys<'_>], Option<&[String]>),
    opened: &mut OpenedBytes,
) -> Result<Vec<(usize, PendingWrite)>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let set: RowSet = places.iter().map(place_json).collect();
    let found = sqlx::query(READ_WRITES)
        .bind(tenant.name)
        .bind(set.json())
        .bind(channels.map(|it| json!(it).to_string()));
    let rows = fetch_counted(connection, found, opened).await?;
    let writes = rows.iter().map(WriteKey::read).collect::<Result<Vec<_>>>()?;
    let at: HashMap<usize, &CheckpointKeys<'_>> = places.iter().map(|it| (it.at, it)).collect();
    let row = |index: usize| writes[index].row(at[&writes[index].position]);
    let values = open_values(connection, tenant, &rows, row).await?;
    let write = |(key, value): (WriteKey, Value)| {
        let WriteKey { position, task_id, channel, call, .. } = key;
        (position, PendingWrite { task_id, channel, value, call })
    };
    Ok(writes.into_iter().zip(values).map(write).collect())
}

/// Which write a row is.
struct WriteKey {
    position: usize,
    task_id: String,
    idx: i64,
    channel: String,
    call: Option<WriteCall>,
}

impl WriteKey {
    fn read(row: &SqliteRow) -> Result<Self> {
        let idx: i64 = row.try_get("idx")?;
        let writer: Option<String> = row.try_get("writer")?;
        let seq: Option<i64> = row.try_get("seq")?;
        Ok(Self {
            position: position(row)?,
            task_id: row.try_get("task_id")?,
            idx,
            channel: row.try_get("channel")?,
            call: WriteCall::of_row(idx, writer, seq),
        })
    }

    fn row<'a>(&'a self, place: &CheckpointKeys<'a>) -> ValueRow<'a> {
        ValueRow::Write {
            ns: place.ns,
            checkpoint_id: place.id,
            task_id: &self.task_id,
            idx: self.idx,
            channel: &self.channel,
        }
    }
}

fn place_json(place: &CheckpointKeys<'_>) -> serde_json::Value {
    json!([place.at, place.thread_key, place.scope_id, place.ns, place.id])
}

fn position(row: &SqliteRow) -> Result<usize> {
    let position: i64 = row.try_get("position")?;
    Ok(usize::try_from(position).expect("positions are made from indexes"))
}

const READ_BASES: &str = "
select j.value ->> 0 as position, b.channel, b.document
from jsonb_each($2) j
cross join delta_bases b on b.tenant = $1 and b.thread_key = j.value ->> 1 and b.ns = j.value ->> 3
    and b.checkpoint_id = j.value ->> 4
order by j.key, b.channel";

/// Delta bases with the position of their place, in channel order; among them the removed parent's sends.
pub(super) async fn read_bases(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    places: &[CheckpointKeys<'_>],
    opened: &mut OpenedBytes,
) -> Result<Vec<(usize, crate::domain::checkpoints::history::Base)>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let set: RowSet = places.iter().map(place_json).collect();
    let mut rows =
        sqlx::query(READ_BASES).bind(tenant.name).bind(set.json()).fetch_all(connection).await?;
    let before = opened.bytes();
    let is_wanted =
        |row: &SqliteRow| row.try_get("channel").is_ok_and(|it: &str| tenant.wanted.has(it));
    rows.retain(is_wanted);
    for row in &rows {
        opened.count_base(row.try_get("document")?)?;
    }
    opened.hold().await?;
    let at: HashMap<usize, &CheckpointKeys<'_>> = places.iter().map(|it| (it.at, it)).collect();
    let base = |row: &SqliteRow| {
        let channel: String = row.try_get("channel")?;
        let position = position(row)?;
        let place = at[&position];
        let at = CheckpointAt { scope_id: place.scope_id, ns: place.ns, id: place.id };
        Ok((position, open_base(tenant.secret, at, channel, row.try_get("document")?)?))
    };
    let size = size_of(rows.len(), opened.bytes() - before);
    cpu_pool::run_here_at_once(tenant.name, size, || rows.iter().map(base).collect())
}

async fn load_bases(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    (own, views): (&[CheckpointKeys<'_>], &mut [View]),
    opened: &mut OpenedBytes,
) -> Result<()> {
    for (at, base) in read_bases(connection, tenant, own, opened).await? {
        if base.channel == PENDING_SENDS {
            views[at].pending_sends = base.writes.into_iter().map(|(_, value)| value).collect();
        } else {
            views[at].bases.push(base);
        }
    }
    Ok(())
}

/// The sends that checkpoints before format 4 find at their parent, as long as that is stored.
async fn load_sends(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    (rows, views): (&[CheckpointRow], &mut [View]),
    opened: &mut OpenedBytes,
) -> Result<()> {
    let parents = rows.iter().map(|row| row.parent.as_deref().filter(|_| row.legacy));
    let parents = places(parents, rows);
    let channel = [PENDING_SENDS.to_owned()];
    let parents = (parents.as_slice(), Some(channel.as_slice()));
    for (at, write) in read_writes(connection, tenant, parents, opened).await? {
        views[at].pending_sends.push(write.value);
    }
    Ok(())
}

/// Decoded bytes that a view adds to a page.
pub(in crate::storage) fn size_bytes(view: &View) -> usize {
    let documents: usize = [&view.skeleton, &view.metadata].into_iter().map(Bytes::len).sum();
    let values: usize = view.all_values().map(|it| it.data.len() + 64).sum();
    documents + values + 256
}
