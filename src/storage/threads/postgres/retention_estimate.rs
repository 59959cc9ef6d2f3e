//! Reads what a removal needs to know of a thread, and counts the content that it frees. Only [`content`] knows how values are stored.

use std::collections::BTreeMap;

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::content::keys::TenantSecret;
use crate::domain::threads::retention::Removed;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::channel_map::Entry;
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::open_documents;
use crate::storage::objects::pack_location::PackLocation;
use crate::storage::postgres::connection::Connection;
use crate::storage::threads::retention::{Stored, parents_of};
use crate::storage::threads::retention_estimate::{
    BaseSize, ContentCount, Contents, Leaving, WriteGroup, WriteKind,
};

/// A thread as a removal finds it.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct ThreadKeys<'a> {
    pub tenant: &'a str,
    pub thread_key: i64,
    pub scope_id: i64,
}

/// Reads all checkpoints of a thread, without their values.
pub(in crate::storage) async fn stored_rows(
    connection: &mut Connection,
    secret: &TenantSecret,
    place: ThreadKeys<'_>,
) -> Result<Vec<Stored>> {
    let rows = sqlx::query(
        "select ns, checkpoint_id, parent_id, channel_keys, version_keys, value_nos, legacy,
            delta_channels, sends_from, created_at, size_bytes::bigint as size_bytes,
            octet_length(documents)::bigint as stored_bytes,
            case when ns like '%:%' and checkpoint_id = max(checkpoint_id) over (partition by ns)
                then documents end as documents
         from checkpoints where tenant = $1 and thread_key = $2 order by ns, checkpoint_id",
    )
    .bind(place.tenant)
    .bind(place.thread_key)
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            let keys: Vec<i64> = row.get("channel_keys");
            let versions: Vec<i64> = row.get("version_keys");
            let nos: Vec<i32> = row.get("value_nos");
            let map = keys.into_iter().zip(versions).zip(nos);
            let map = map.map(|((channel_key, version_key), no)| Entry {
                channel_key,
                version_key,
                value_no: u32::try_from(no).unwrap_or(0),
            });
            Ok(Stored {
                ns: row.get("ns"),
                id: row.get("checkpoint_id"),
                parent: row.get("parent_id"),
                map: map.collect(),
                legacy: row.get("legacy"),
                delta_channels: row
                    .get::<Option<Vec<String>>, _>("delta_channels")
                    .unwrap_or_default(),
                parents: match row.get::<Option<&[u8]>, _>("documents") {
                    Some(sealed) => parents_of(&open_documents(secret, at(place, row), sealed)?.1),
                    None => BTreeMap::new(),
                },
                sends_from: row.get("sends_from"),
                created_at: row.get("created_at"),
                size_bytes: row.get("size_bytes"),
                stored_bytes: row.get("stored_bytes"),
            })
        })
        .collect()
}

fn at<'r>(place: ThreadKeys<'_>, row: &'r PgRow) -> CheckpointAt<'r> {
    CheckpointAt { scope_id: place.scope_id, ns: row.get("ns"), id: row.get("checkpoint_id") }
}

/// $1 tenant, $2 scope, $3 thread key. Lists of chunks of the writes of all holders.
const WRITE_LISTS: &str = "
select w.thread_key = $3 as own, w.ns, w.checkpoint_id, w.parts,
    case w.channel when '__interrupt__' then 1 when '__pregel_tasks' then 2 else 0 end::bigint as kind
from scope_holders h join writes w on w.tenant = h.tenant and w.thread_key = h.holder::bigint
where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread' and w.parts is not null and $3 is not null";

const OTHERS_VALUES: &str = "
select distinct no from scope_holders h
join checkpoints c on c.tenant = h.tenant and c.thread_key = h.holder::bigint
cross join lateral unnest(c.value_nos) no
where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread' and c.thread_key <> $3";

const VALUES: &str = "
select no, size_bytes::bigint as size_bytes, parts,
    (octet_length(body) + coalesce(octet_length(parts), 0))::bigint as stored_bytes
from manifests where tenant = $1 and scope_id = $2 and $3 is not null";

/// Values and chunks that become free when this leaves the scope. Five round trips.
pub(in crate::storage) async fn content(
    connection: &mut Connection,
    place: ThreadKeys<'_>,
    leaving: &Leaving,
) -> Result<Removed> {
    let others = rows(connection, OTHERS_VALUES, place).await?;
    let no = |row: &PgRow| u32::try_from(row.get::<i32, _>("no")).unwrap_or(0);
    let mut count = ContentCount::new(leaving, others.iter().map(no).collect());
    for row in rows(connection, VALUES, place).await? {
        let bytes = (row.get("size_bytes"), row.get("stored_bytes"));
        count.value(no(&row), bytes, row.get("parts"))?;
    }
    for row in rows(connection, WRITE_LISTS, place).await? {
        if row.get("own") {
            let kind = WriteKind::of(row.get("kind"));
            let place = (row.get("ns"), row.get("checkpoint_id"), kind);
            count.own_write(place, row.get("parts"))?;
        } else {
            count.other_write(row.get("parts"))?;
        }
    }
    let nodes = sqlx::query(
        "select body from chunks where tenant = $1 and scope_id = $2 and name = any ($3)",
    )
    .bind(place.tenant)
    .bind(place.scope_id)
    .bind(count.nodes())
    .fetch_all(&mut *connection)
    .await?;
    for row in &nodes {
        count.node(row.get("body"))?;
    }
    let chunks = "select name, octet_length(body)::bigint as bytes,
            case when octet_length(body) = 25 then body end as short
         from chunks where tenant = $1 and scope_id = $2 and $3 is not null";
    for row in rows(connection, chunks, place).await? {
        let bytes = PackLocation::stored_bytes(row.get("bytes"), row.get("short"));
        count.chunk(row.get("name"), bytes);
    }
    Ok(count.removed())
}

async fn rows(
    connection: &mut Connection,
    text: &'static str,
    place: ThreadKeys<'_>,
) -> Result<Vec<PgRow>> {
    sqlx::query(text)
        .bind(place.tenant)
        .bind(place.scope_id)
        .bind(place.thread_key)
        .fetch_all(connection)
        .await
        .map_err(Error::from)
}

/// All of a thread but its values. Three round trips.
pub(in crate::storage) async fn contents(
    connection: &mut Connection,
    secret: &TenantSecret,
    place: ThreadKeys<'_>,
) -> Result<Contents> {
    let rows = stored_rows(connection, secret, place).await?;
    let updated =
        sqlx::query("select updated_at from threads where tenant = $1 and thread_key = $2")
            .bind(place.tenant)
            .bind(place.thread_key)
            .fetch_one(&mut *connection)
            .await?;
    let groups = sqlx::query(
        "select ns, checkpoint_id,
            case channel when '__interrupt__' then 1 when '__pregel_tasks' then 2 else 0 end::bigint as kind,
            count(*) as count, sum(size_bytes)::bigint as size_bytes,
            sum(octet_length(body) + coalesce(octet_length(parts), 0))::bigint as stored_bytes
         from writes where tenant = $1 and thread_key = $2 group by 1, 2, 3",
    )
    .bind(place.tenant)
    .bind(place.thread_key)
    .fetch_all(connection)
    .await?;
    let writes = groups.iter().map(|row| WriteGroup {
        ns: row.get("ns"),
        id: row.get("checkpoint_id"),
        kind: WriteKind::of(row.get("kind")),
        count: row.get("count"),
        size_bytes: row.get("size_bytes"),
        stored_bytes: row.get("stored_bytes"),
    });
    Ok(Contents { updated_at: updated.get("updated_at"), rows, writes: writes.collect() })
}

pub(in crate::storage) async fn stored_bases(
    connection: &mut Connection,
    place: ThreadKeys<'_>,
) -> Result<Vec<BaseSize>> {
    let rows = sqlx::query(
        "select ns, checkpoint_id, channel, octet_length(document)::bigint as stored_bytes
         from delta_bases where tenant = $1 and thread_key = $2",
    )
    .bind(place.tenant)
    .bind(place.thread_key)
    .fetch_all(connection)
    .await?;
    let base = |row: &PgRow| BaseSize {
        ns: row.get("ns"),
        id: row.get("checkpoint_id"),
        channel: row.get("channel"),
        stored_bytes: row.get("stored_bytes"),
    };
    Ok(rows.iter().map(base).collect())
}
