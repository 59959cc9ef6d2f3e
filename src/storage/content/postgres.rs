//! Removes the content of a scope that nothing names any more. The caller has locked the scope lock in the same transaction.

use sqlx::Row;

use super::reachability::Reachability;
use crate::domain::{Error, Result};
use crate::storage::objects::pack_location::PackLocation;
use crate::storage::objects::packs::Scope;
use crate::storage::objects::postgres::pack_writes::release;
use crate::storage::postgres::connection::Connection;

/// Lists of the scope's values: of manifests, of the writes of all threads that hold the scope, of items with their earlier
/// versions, of contents of files, and of the entries of a session.
const LISTS: &str = r"
select m.parts, m.no from manifests m where m.tenant = $1 and m.scope_id = $2 and m.parts is not null
union all
select w.parts, null from scope_holders h
join writes w on w.tenant = h.tenant and w.thread_key = h.holder::bigint
where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread' and w.parts is not null
union all
select i.parts, null from items i
where i.tenant = $1 and i.scope_id = $2 and i.parts is not null
union all
select v.parts, null from item_versions v
where v.tenant = $1 and v.scope_id = $2 and v.parts is not null
union all
select s.parts, null from content_slices s where s.tenant = $1 and s.scope_id = $2
union all
select e.parts, null from sessions s
join session_entries e on e.tenant = s.tenant and e.session_no = s.session_no
where s.tenant = $1 and s.scope_id = $2 and e.parts is not null
order by no
";

/// Lists of what packs may hold, oldest value first: not of items, which may be read at any time.
const LISTS_OF_COLD: &str = r"
select m.parts, 0 as kind, m.no, 0 as start_at from manifests m
where m.tenant = $1 and m.scope_id = $2 and m.parts is not null
union all
select w.parts, 1, 0, 0 from scope_holders h
join writes w on w.tenant = h.tenant and w.thread_key = h.holder::bigint
where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread' and w.parts is not null
union all
select s.parts, 2, c.finished_at, s.start_at from contents c
join content_slices s on s.tenant = c.tenant and s.content_id = c.content_id
where c.tenant = $1 and c.scope_id = $2 and c.finished_at > 0
order by kind, no, start_at
";

/// Removes manifests that no checkpoint of a holder shows and chunks that no value names, and raises the epoch.
/// Six round trips, one more where packed chunks go.
pub(in crate::storage) async fn collect(
    connection: &mut Connection,
    tenant: &str,
    scope_id: i64,
) -> Result<()> {
    sqlx::query(
        "delete from manifests m where m.tenant = $1 and m.scope_id = $2 and m.no not in (
            select no from scope_holders h
            join checkpoints c on c.tenant = h.tenant and c.thread_key = h.holder::bigint
            cross join lateral unnest(c.value_nos) no
            where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread')",
    )
    .bind(tenant)
    .bind(scope_id)
    .execute(&mut *connection)
    .await?;
    let dead = dead_chunks(connection, tenant, scope_id).await?;
    let packed = sqlx::query(
        "with raised as (
            update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2
         ), gone as (
            delete from chunks where tenant = $1 and scope_id = $2 and name = any ($3) returning body
         )
         select body from gone where get_byte(body, 0) = 2",
    )
    .bind(tenant)
    .bind(scope_id)
    .bind(dead)
    .fetch_all(&mut *connection)
    .await?;
    let mut places = Vec::new();
    for row in &packed {
        places.extend(PackLocation::read(row.get("body"))?);
    }
    let scope = Scope { tenant: tenant.to_owned(), id: scope_id };
    release(connection, &scope, places, None).await
}

/// Lists of what of the scope packs may hold, oldest value first.
pub(in crate::storage) async fn lists_in_order(
    connection: &mut Connection,
    tenant: &str,
    scope_id: i64,
) -> Result<Vec<Vec<u8>>> {
    let rows = rows(connection, LISTS_OF_COLD, tenant, scope_id).await?;
    Ok(rows.iter().map(|row| row.get("parts")).collect())
}

/// Names of the chunks that no list of the scope leads to.
async fn dead_chunks(
    connection: &mut Connection,
    tenant: &str,
    scope_id: i64,
) -> Result<Vec<Vec<u8>>> {
    let mut marks = Reachability::default();
    for row in rows(connection, LISTS, tenant, scope_id).await? {
        marks.add_list(row.get("parts"))?;
    }
    let nodes = sqlx::query(
        "select body from chunks where tenant = $1 and scope_id = $2 and name = any ($3)",
    )
    .bind(tenant)
    .bind(scope_id)
    .bind(marks.nodes())
    .fetch_all(&mut *connection)
    .await?;
    for row in &nodes {
        marks.add_node(row.get("body"))?;
    }
    let named = "select name from chunks where tenant = $1 and scope_id = $2";
    let stored = rows(connection, named, tenant, scope_id).await?;
    let dead = stored.iter().map(|row| row.get("name")).filter(|it: &&[u8]| !marks.names(it));
    Ok(dead.map(<[u8]>::to_vec).collect())
}

async fn rows(
    connection: &mut Connection,
    text: &'static str,
    tenant: &str,
    scope_id: i64,
) -> Result<Vec<sqlx::postgres::PgRow>> {
    sqlx::query(text).bind(tenant).bind(scope_id).fetch_all(connection).await.map_err(Error::from)
}
