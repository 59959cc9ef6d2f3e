//! Reads what a removal needs to know of a thread, and counts the content that it frees. Only [`content`] knows how values are stored.

use std::collections::BTreeSet;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::domain::threads::retention::Removed;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::sqlite::bases::read_stored;
use crate::storage::checkpoints::sqlite::chunks::read_chunks;
use crate::storage::checkpoints::sqlite::history::Ground;
use crate::storage::maintenance::sqlite::garbage::{Garbage, holders, values_of_thread};
use crate::storage::objects::pack_location::PackLocation;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::threads::retention_estimate::{
    BaseSize, ContentCount, Contents, Leaving, WriteGroup, WriteKind,
};

const VALUES: &str = "
select no, size_bytes, length(body) + coalesce(length(parts), 0) as stored_bytes, parts
from manifests where tenant = $1 and scope_id = $2";

const WRITE_LISTS: &str = "
select ns, checkpoint_id, parts,
    case channel when '__interrupt__' then 1 when '__pregel_tasks' then 2 else 0 end as kind
from writes where tenant = $1 and thread_key = $2 and parts is not null";

/// Values and chunks that become free when this leaves the scope.
pub(in crate::storage) async fn content(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    leaving: &Leaving,
) -> Result<Removed> {
    let (tenant, scope_id) = (ground.tenant.name, ground.scope_id);
    let garbage = Garbage { tenant: tenant.to_owned(), thread_key: ground.thread_key, scope_id };
    let mut others = holders(connection, &garbage).await?;
    others.retain(|key| *key != ground.thread_key);
    let mut named = BTreeSet::new();
    for thread_key in &others {
        let nos = values_of_thread(connection, tenant, *thread_key).await?;
        named.extend(nos.into_iter().filter_map(|no| u32::try_from(no).ok()));
    }
    let mut count = ContentCount::new(leaving, named);
    for row in rows(connection, VALUES, (tenant, scope_id)).await? {
        let get = |name: &str| row.try_get::<i64, _>(name).map_err(Error::from);
        let no = u32::try_from(get("no")?).unwrap_or(0);
        let parts: Option<Vec<u8>> = row.try_get("parts")?;
        count.value(no, (get("size_bytes")?, get("stored_bytes")?), parts.as_deref())?;
    }
    for row in rows(connection, WRITE_LISTS, (tenant, ground.thread_key)).await? {
        let kind = WriteKind::of(row.try_get("kind")?);
        let ns = row.try_get("ns")?;
        let place = (ns, row.try_get("checkpoint_id")?, kind);
        count.own_write(place, &row.try_get::<Vec<u8>, _>("parts")?)?;
    }
    for thread_key in others {
        for row in rows(connection, WRITE_LISTS, (tenant, thread_key)).await? {
            count.other_write(&row.try_get::<Vec<u8>, _>("parts")?)?;
        }
    }
    let nodes = count.nodes();
    let nodes = nodes.iter().map(Vec::as_slice);
    for (_, body) in read_chunks(connection, (tenant, scope_id), nodes).await? {
        count.node(&body)?;
    }
    let chunks =
        "select name, length(body) as bytes, case when length(body) = 25 then body end as short
         from chunks where tenant = $1 and scope_id = $2";
    for row in rows(connection, chunks, (tenant, scope_id)).await? {
        let name: Vec<u8> = row.try_get("name")?;
        let short: Option<Vec<u8>> = row.try_get("short")?;
        let bytes = row.try_get("bytes")?;
        count.chunk(&name, PackLocation::stored_bytes(bytes, short.as_deref()));
    }
    Ok(count.removed())
}

async fn rows(
    connection: &mut SqliteConnection,
    text: &'static str,
    (tenant, key): (&str, i64),
) -> Result<Vec<SqliteRow>> {
    let query = sqlx::query(text).bind(tenant).bind(key);
    query.fetch_all(connection).await.map_err(Error::from)
}

const WRITES: &str = "
select ns, checkpoint_id,
    case channel when '__interrupt__' then 1 when '__pregel_tasks' then 2 else 0 end as kind,
    count(*) as amount, sum(size_bytes) as size_bytes,
    sum(length(body) + coalesce(length(parts), 0)) as stored_bytes
from writes where tenant = $1 and thread_key = $2 group by 1, 2, 3";

/// All of a thread but its values.
pub(in crate::storage) async fn contents(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
) -> Result<Contents> {
    let rows = read_stored(connection, ground).await?;
    let updated =
        sqlx::query("select updated_at from threads where tenant = $1 and thread_key = $2")
            .bind(ground.tenant.name)
            .bind(ground.thread_key)
            .fetch_one(&mut *connection)
            .await?;
    let groups = sqlx::query(WRITES)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .fetch_all(connection)
        .await?;
    let mut writes = Vec::with_capacity(groups.len());
    for row in groups {
        writes.push(WriteGroup {
            ns: row.try_get("ns")?,
            id: row.try_get("checkpoint_id")?,
            kind: WriteKind::of(row.try_get("kind")?),
            count: row.try_get("amount")?,
            size_bytes: row.try_get("size_bytes")?,
            stored_bytes: row.try_get("stored_bytes")?,
        });
    }
    Ok(Contents { updated_at: updated.try_get(0)?, rows, writes })
}

pub(in crate::storage) async fn stored_bases(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
) -> Result<Vec<BaseSize>> {
    let rows = sqlx::query(
        "select ns, checkpoint_id, channel, length(document) as stored_bytes
         from delta_bases where tenant = $1 and thread_key = $2",
    )
    .bind(ground.tenant.name)
    .bind(ground.thread_key)
    .fetch_all(connection)
    .await?;
    let base = |row: &SqliteRow| {
        Ok(BaseSize {
            ns: row.try_get("ns")?,
            id: row.try_get("checkpoint_id")?,
            channel: row.try_get("channel")?,
            stored_bytes: row.try_get("stored_bytes")?,
        })
    };
    rows.iter().map(base).collect()
}

/// Sizes of the documents that `make_bases` made.
pub(in crate::storage) fn sizes(made: &RowSet) -> Vec<BaseSize> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let size = |row: &serde_json::Value| BaseSize {
        ns: text(&row[0]),
        id: text(&row[1]),
        channel: text(&row[2]),
        stored_bytes: row[4].as_i64().unwrap_or_default(),
    };
    made.rows().iter().map(size).collect()
}
