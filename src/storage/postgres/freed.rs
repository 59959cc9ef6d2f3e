//! Reads what a removal needs to know of a thread, and counts the content that it frees. [`content`] is the one place
//! that knows how values are stored.

use sqlx::Row;
use sqlx::postgres::PgConnection;

use super::failure;
use super::removal::stored_rows;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::retention::Removed;
use crate::storage::freed::{BaseSize, Contents, WriteGroup, WriteKind};

/// A thread as a removal finds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub tenant: &'a str,
    pub thread_key: i64,
    pub scope_id: i64,
}

/// Values and chunks that nothing names once these numbers are gone; None: all of the scope.
pub(super) async fn content(
    connection: &mut PgConnection,
    place: Place<'_>,
    nos: Option<&[u32]>,
) -> Result<Removed> {
    let nos: Option<Vec<i32>> =
        nos.map(|it| it.iter().map(|no| i32::try_from(*no).unwrap_or(i32::MAX)).collect());
    if nos.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Removed::default());
    }
    let row = sqlx::query(
        "with going as materialized (
            select size_bytes, digest, body from manifests
            where tenant = $1 and scope_id = $2 and ($3::integer[] is null or no = any ($3))
         ), named as materialized (
            select distinct digest from manifests
            where tenant = $1 and scope_id = $2 and body is null and not no = any ($3)
         )
         select count(*) as values, coalesce(sum(size_bytes), 0)::bigint as size_bytes,
            coalesce(sum(octet_length(body)), 0)::bigint + coalesce((
                select sum(octet_length(k.body)) from chunks k where k.tenant = $1 and k.scope_id = $2
                    and k.name in (select digest from going where body is null)
                    and k.name not in (select digest from named)), 0)::bigint as stored_bytes
         from going",
    )
    .bind(place.tenant)
    .bind(place.scope_id)
    .bind(nos)
    .fetch_one(connection)
    .await
    .map_err(|error| failure::of_call(&error))?;
    Ok(Removed {
        values: row.get("values"),
        size_bytes: row.get("size_bytes"),
        stored_bytes: row.get("stored_bytes"),
        ..Removed::default()
    })
}

/// All of a thread but its values. Three round trips.
pub(super) async fn contents(
    connection: &mut PgConnection,
    secret: &TenantSecret,
    place: Place<'_>,
) -> Result<Contents> {
    let rows = stored_rows(connection, secret, place.tenant, place.thread_key).await?;
    let updated =
        sqlx::query("select updated_at from threads where tenant = $1 and thread_key = $2")
            .bind(place.tenant)
            .bind(place.thread_key)
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
    let groups = sqlx::query(
        "select ns, checkpoint_id,
            case channel when '__interrupt__' then 1 when '__pregel_tasks' then 2 else 0 end::bigint as kind,
            count(*) as count,
            coalesce(sum(size_bytes) filter (where value_no is null), 0)::bigint as size_bytes,
            coalesce(sum(octet_length(body)), 0)::bigint as stored_bytes,
            coalesce(array_agg(value_no) filter (where value_no is not null), '{}') as nos
         from writes where tenant = $1 and thread_key = $2 group by 1, 2, 3",
    )
    .bind(place.tenant)
    .bind(place.thread_key)
    .fetch_all(connection)
    .await
    .map_err(|error| failure::of_call(&error))?;
    let writes = groups.iter().map(|row| WriteGroup {
        ns: row.get("ns"),
        id: row.get("checkpoint_id"),
        kind: WriteKind::of(row.get("kind")),
        count: row.get("count"),
        size_bytes: row.get("size_bytes"),
        stored_bytes: row.get("stored_bytes"),
        nos: row
            .get::<Vec<i32>, _>("nos")
            .into_iter()
            .filter_map(|no| u32::try_from(no).ok())
            .collect(),
    });
    Ok(Contents { updated_at: updated.get("updated_at"), rows, writes: writes.collect() })
}

pub(super) async fn stored_bases(
    connection: &mut PgConnection,
    place: Place<'_>,
) -> Result<Vec<BaseSize>> {
    let rows = sqlx::query(
        "select ns, checkpoint_id, channel, octet_length(document)::bigint as stored_bytes
         from delta_bases where tenant = $1 and thread_key = $2",
    )
    .bind(place.tenant)
    .bind(place.thread_key)
    .fetch_all(connection)
    .await
    .map_err(|error| failure::of_call(&error))?;
    let base = |row: &sqlx::postgres::PgRow| BaseSize {
        ns: row.get("ns"),
        id: row.get("checkpoint_id"),
        channel: row.get("channel"),
        stored_bytes: row.get("stored_bytes"),
    };
    Ok(rows.iter().map(base).collect())
}
