//! Reads what a removal needs to know of a thread, and counts the content that it frees. [`content`] is the one place
//! that knows how values are stored.

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::bases::read_stored;
use super::errors::storage_error;
use super::history::Ground;
use super::rows::RowSet;
use crate::domain::retention::Removed;
use crate::domain::{Error, Result};
use crate::storage::freed::{BaseSize, Contents, WriteGroup, WriteKind};

const CONTENT: &str = "
with going as materialized (
    select size_bytes, digest, body from manifests
    where tenant = $1 and scope_id = $2 and ($3 is null or no in (select value from json_each($3)))
), named as materialized (
    select distinct digest from manifests
    where tenant = $1 and scope_id = $2 and body is null and $3 is not null
        and no not in (select value from json_each($3))
)
select count(*) as amount, coalesce(sum(size_bytes), 0) as size_bytes,
    coalesce(sum(length(body)), 0) + coalesce((
        select sum(length(k.body)) from chunks k where k.tenant = $1 and k.scope_id = $2
            and k.name in (select digest from going where body is null)
            and k.name not in (select digest from named)), 0) as stored_bytes
from going";

/// Values and chunks that nothing names once these numbers are gone; None: all of the scope.
pub(super) async fn content(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    nos: Option<&[u32]>,
) -> Result<Removed> {
    if nos.is_some_and(<[u32]>::is_empty) {
        return Ok(Removed::default());
    }
    let row = sqlx::query(CONTENT)
        .bind(ground.tenant.name)
        .bind(ground.scope_id)
        .bind(nos.map(|it| json!(it).to_string()))
        .fetch_one(connection)
        .await
        .map_err(storage_error)?;
    Ok(Removed {
        values: row.try_get("amount").map_err(storage_error)?,
        size_bytes: row.try_get("size_bytes").map_err(storage_error)?,
        stored_bytes: row.try_get("stored_bytes").map_err(storage_error)?,
        ..Removed::default()
    })
}

const WRITES: &str = "
select ns, checkpoint_id,
    case channel when '__interrupt__' then 1 when '__pregel_tasks' then 2 else 0 end as kind,
    count(*) as amount, coalesce(sum(size_bytes) filter (where value_no is null), 0) as size_bytes,
    coalesce(sum(length(body)), 0) as stored_bytes,
    json_group_array(value_no) filter (where value_no is not null) as nos
from writes where tenant = $1 and thread_key = $2 group by 1, 2, 3";

/// All of a thread but its values.
pub(super) async fn contents(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
) -> Result<Contents> {
    let rows = read_stored(connection, ground).await?;
    let updated =
        sqlx::query("select updated_at from threads where tenant = $1 and thread_key = $2")
            .bind(ground.tenant.name)
            .bind(ground.thread_key)
            .fetch_one(&mut *connection)
            .await
            .map_err(storage_error)?;
    let groups = sqlx::query(WRITES)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .fetch_all(connection)
        .await
        .map_err(storage_error)?;
    let mut writes = Vec::with_capacity(groups.len());
    for row in groups {
        let nos: String = row.try_get("nos").map_err(storage_error)?;
        let nos = serde_json::from_str(&nos)
            .map_err(|_| Error::Integrity("a write names no number of a value".into()))?;
        writes.push(WriteGroup {
            ns: row.try_get("ns").map_err(storage_error)?,
            id: row.try_get("checkpoint_id").map_err(storage_error)?,
            kind: WriteKind::of(row.try_get("kind").map_err(storage_error)?),
            count: row.try_get("amount").map_err(storage_error)?,
            size_bytes: row.try_get("size_bytes").map_err(storage_error)?,
            stored_bytes: row.try_get("stored_bytes").map_err(storage_error)?,
            nos,
        });
    }
    Ok(Contents { updated_at: updated.try_get(0).map_err(storage_error)?, rows, writes })
}

pub(super) async fn stored_bases(
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
    .await
    .map_err(storage_error)?;
    let base = |row: &sqlx::sqlite::SqliteRow| {
        Ok(BaseSize {
            ns: row.try_get("ns")?,
            id: row.try_get("checkpoint_id")?,
            channel: row.try_get("channel")?,
            stored_bytes: row.try_get("stored_bytes")?,
        })
    };
    rows.iter().map(|row| base(row).map_err(storage_error)).collect()
}

/// Sizes of the documents that `make_bases` made.
pub(super) fn sizes(made: &RowSet) -> Vec<BaseSize> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let size = |row: &serde_json::Value| BaseSize {
        ns: text(&row[0]),
        id: text(&row[1]),
        channel: text(&row[2]),
        stored_bytes: row[4].as_i64().unwrap_or_default(),
    };
    made.rows().iter().map(size).collect()
}
