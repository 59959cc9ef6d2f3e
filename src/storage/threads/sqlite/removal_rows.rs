//! Carries out a removal plan in the caller's transaction, with as few written rows as possible. Either the kept rows move to a new thread
//! key, or the removed rows are deleted in place.

use serde_json::json;
use sqlx::sqlite::SqliteConnection;

use crate::domain::Result;
use crate::domain::clock::random_id;
use crate::storage::checkpoints::sqlite::history::Ground;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::threads::retention::Plan;
use crate::storage::threads::retention_estimate::Contents;
use crate::storage::tokens::owner_macs::OwnerRow;

/// A plan with the documents of the bases that it needs.
pub(in crate::storage) struct Removal<'a> {
    pub(in crate::storage) ground: Ground<'a>,
    pub(in crate::storage) thread_id: &'a str,
    pub(in crate::storage) owner: Option<&'a str>,
    pub(in crate::storage) contents: &'a Contents,
    pub(in crate::storage) plan: &'a Plan,
    pub(in crate::storage) bases: RowSet,
}

/// $1 tenant, $2 thread key, $3 new key, $4 what stays, $5 checkpoints whose writes go, $6 and $7 new bases, $8 scope,
/// $9 thread, $10 the MAC that goes with the new key.
const SWAP: &str = "
insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, map, documents, size_bytes,
                         legacy, run_id, delta_channels, created_at)
select c.tenant, $3, c.ns, c.checkpoint_id, case when j.value ->> 2 then null else c.parent_id end, c.map,
       c.documents, c.size_bytes, c.legacy, c.run_id, c.delta_channels, c.created_at
from jsonb_each($4) j
cross join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = j.value ->> 0
    and c.checkpoint_id = j.value ->> 1;
insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
                    tag, size_bytes, digest, body, parts)
select w.tenant, $3, w.ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel, w.writer, w.seq,
       w.tag, w.size_bytes, w.digest, w.body, w.parts
from writes w
where w.tenant = $1 and w.thread_key = $2
  and (w.ns, w.checkpoint_id) not in (select j.value ->> 0, j.value ->> 1 from jsonb_each($5) j);
insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
select b.tenant, $3, b.ns, b.checkpoint_id, b.channel, b.document
from jsonb_each($4) j
cross join delta_bases b on b.tenant = $1 and b.thread_key = $2 and b.ns = j.value ->> 0
    and b.checkpoint_id = j.value ->> 1;
insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
select $1, $3, j.value ->> 0, j.value ->> 1, j.value ->> 2, substr($7, j.value ->> 3, j.value ->> 4)
from jsonb_each($6) j where true on conflict do nothing;
insert into garbage (tenant, thread_key, scope_id, created_at)
values ($1, $2, $8, cast(unixepoch('subsec') * 1000000 as integer));
update thread_details set thread_key = $3 where tenant = $1 and thread_key = $2;
update threads set thread_key = $3, mac = $10 where tenant = $1 and thread_id = $9";

/// $1 tenant, $2 thread key, $3 key of the garbage, $4 what goes, $5 checkpoints whose writes go, $6 and $7 new bases,
/// $8 scope, $9 what loses its parent. The garbage names no rows of a thread, only the scope whose values may be
/// nobody's now.
const DELETE: &str = "
insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
select $1, $2, j.value ->> 0, j.value ->> 1, j.value ->> 2, substr($7, j.value ->> 3, j.value ->> 4)
from jsonb_each($6) j where true on conflict do nothing;
update checkpoints set parent_id = null
where tenant = $1 and thread_key = $2
  and (ns, checkpoint_id) in (select j.value ->> 0, j.value ->> 1 from jsonb_each($9) j);
delete from writes where rowid in (
    select w.rowid from jsonb_each($5) j
    cross join writes w on w.tenant = $1 and w.thread_key = $2 and w.ns = j.value ->> 0
        and w.checkpoint_id = j.value ->> 1);
delete from delta_bases where rowid in (
    select b.rowid from jsonb_each($4) j
    cross join delta_bases b on b.tenant = $1 and b.thread_key = $2 and b.ns = j.value ->> 0
        and b.checkpoint_id = j.value ->> 1);
delete from checkpoints where rowid in (
    select c.rowid from jsonb_each($4) j
    cross join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = j.value ->> 0
        and c.checkpoint_id = j.value ->> 1);
insert into garbage (tenant, thread_key, scope_id, created_at)
values ($1, $3, $8, cast(unixepoch('subsec') * 1000000 as integer))";

/// Moves what stays. Answers the thread's new key; its old one is garbage.
pub(in crate::storage) async fn swap(
    connection: &mut SqliteConnection,
    removal: Removal<'_>,
) -> Result<(i64, i64)> {
    let (ground, plan, new_key) = (removal.ground, removal.plan, random_id());
    let orphaned = |ns: &str, id: &str| plan.orphans.iter().any(|it| it.ns == ns && it.id == id);
    let kept = plan.kept.iter();
    let moved = OwnerRow::thread(removal.thread_id, (new_key, ground.scope_id), removal.owner);
    let kept: RowSet = kept.map(|(ns, id)| json!([ns, id, i32::from(orphaned(ns, id))])).collect();
    sqlx::query(SWAP)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .bind(new_key)
        .bind(kept.json())
        .bind(written_on(&removal).json())
        .bind(removal.bases.json())
        .bind(&removal.bases.blob)
        .bind(ground.scope_id)
        .bind(removal.thread_id)
        .bind(moved.mac(ground.tenant.secret))
        .execute(connection)
        .await?;
    Ok((new_key, ground.thread_key))
}

/// Deletes what goes. Answers the thread's key, and that of the garbage.
pub(in crate::storage) async fn delete(
    connection: &mut SqliteConnection,
    removal: Removal<'_>,
) -> Result<(i64, i64)> {
    let (ground, plan, garbage_key) = (removal.ground, removal.plan, random_id());
    let gone: RowSet = plan.gone.iter().map(|(ns, id)| json!([ns, id])).collect();
    let orphans: RowSet = plan.orphans.iter().map(|it| json!([it.ns, it.id])).collect();
    sqlx::query(DELETE)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .bind(garbage_key)
        .bind(gone.json())
        .bind(written_on(&removal).json())
        .bind(removal.bases.json())
        .bind(&removal.bases.blob)
        .bind(ground.scope_id)
        .bind(orphans.json())
        .execute(connection)
        .await?;
    Ok((ground.thread_key, garbage_key))
}

/// Checkpoints, stored or not, whose writes go.
fn written_on(removal: &Removal<'_>) -> RowSet {
    let writes = removal.contents.writes.iter();
    let mut places: Vec<(&str, &str)> = writes
        .filter(|it| !removal.plan.keeps_writes(&it.ns, &it.id))
        .map(|it| (it.ns.as_str(), it.id.as_str()))
        .collect();
    places.dedup();
    places.into_iter().map(|(ns, id)| json!([ns, id])).collect()
}
