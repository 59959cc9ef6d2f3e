//! Prune: what stays of a thread moves to a new thread key in one transaction, so that everything else is out of
//! sight at once; its rows then go in slices.

use serde_json::json;
use sqlx::sqlite::SqliteConnection;

use super::SqliteStorage;
use super::bases::{make_bases, read_stored, recount};
use super::errors::storage_error;
use super::garbage::Garbage;
use super::history::Ground;
use super::rows::RowSet;
use super::thread_row::read_thread_row;
use super::views::Tenant;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::checkpoint::PruneStrategy;
use crate::domain::clock::random_id;
use crate::domain::names::ThreadId;
use crate::domain::storage::DeleteThread;
use crate::storage::objects::shelf::Shelf;
use crate::storage::prepare::channel_key;
use crate::storage::retention::{self, Plan};

impl SqliteStorage {
    /// A thread whose lease is held fails the call before anything of it is removed; threads before it in the
    /// list are pruned then.
    pub(super) async fn prune(
        &self,
        caller: &Caller,
        thread_ids: &[ThreadId],
        strategy: PruneStrategy,
    ) -> Result<()> {
        let secret = self.secret(&caller.tenant).await?;
        for thread_id in thread_ids {
            match strategy {
                PruneStrategy::Delete => {
                    let thread_id = thread_id.clone();
                    let request = DeleteThread { thread_id, generation: None, fence: None };
                    self.remove_thread(caller, &request).await?;
                }
                PruneStrategy::KeepLatest => {
                    self.keep_latest(caller, &secret, thread_id.as_str()).await?;
                }
            }
        }
        Ok(())
    }

    async fn keep_latest(
        &self,
        caller: &Caller,
        secret: &TenantSecret,
        thread_id: &str,
    ) -> Result<()> {
        let shelf = Shelf::default();
        loop {
            let removed = self.try_keep_latest(caller, secret, thread_id, &shelf).await;
            if shelf.is_complete() {
                return removed;
            }
            shelf.restock(self.objects.as_deref(), secret).await?;
        }
    }

    async fn try_keep_latest(
        &self,
        caller: &Caller,
        secret: &TenantSecret,
        thread_id: &str,
        shelf: &Shelf,
    ) -> Result<()> {
        let tenant = Tenant { name: &caller.tenant, secret, shelf };
        let mut write = self.connections.begin_write().await?;
        let Some(row) = read_thread_row(&mut write, tenant.name, thread_id).await? else {
            return write.rollback().await;
        };
        if let Err(conflict) = row.check(None, None) {
            write.rollback().await?;
            return Err(conflict);
        }
        let ground = Ground { tenant, thread_key: row.thread_key, scope_id: row.scope_id };
        let stored = read_stored(&mut write, ground).await?;
        let plan = retention::keep_latest(&stored, &|name| channel_key(secret, name));
        if plan.removed == 0 {
            return write.rollback().await;
        }
        let bases = make_bases(&mut write, ground, &plan.orphans).await?;
        if let Err(lacks) = shelf.require() {
            write.rollback().await?;
            return Err(lacks);
        }
        let new_key = random_id();
        swap(&mut write, ground, thread_id, new_key, &plan, bases).await?;
        recount(&mut write, tenant.name, thread_id, (new_key, row.scope_id)).await?;
        write.commit().await?;
        let garbage = Garbage {
            tenant: caller.tenant.clone(),
            thread_key: row.thread_key,
            scope_id: row.scope_id,
        };
        self.collect(&garbage).await
    }
}

/// Rows of (ns, head, dropped): with one kept checkpoint per namespace, writes stay from the head on.
fn heads(plan: &Plan) -> RowSet {
    let heads = plan.heads.iter();
    heads.map(|(ns, head)| json!([ns, head, i32::from(plan.dropped.contains(ns))])).collect()
}

const SWAP: &str = "
insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, map, documents, size_bytes,
                         legacy, run_id, delta_channels)
select c.tenant, $3, c.ns, c.checkpoint_id, case when j.value ->> 2 then null else c.parent_id end, c.map,
       c.documents, c.size_bytes, c.legacy, c.run_id, c.delta_channels
from json_each($4) j
cross join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = j.value ->> 0
    and c.checkpoint_id = j.value ->> 1;
insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
                    tag, size_bytes, digest, body, parts)
select w.tenant, $3, w.ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel, w.writer, w.seq,
       w.tag, w.size_bytes, w.digest, w.body, w.parts
from writes w left join json_each($5) h on h.value ->> 0 = w.ns
where w.tenant = $1 and w.thread_key = $2
  and (h.value is null or (not h.value ->> 2 and w.checkpoint_id >= h.value ->> 1));
insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
select b.tenant, $3, b.ns, b.checkpoint_id, b.channel, b.document
from json_each($4) j
cross join delta_bases b on b.tenant = $1 and b.thread_key = $2 and b.ns = j.value ->> 0
    and b.checkpoint_id = j.value ->> 1;
insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
select $1, $3, j.value ->> 0, j.value ->> 1, j.value ->> 2, substr($7, j.value ->> 3, j.value ->> 4)
from json_each($6) j where true on conflict do nothing;
insert into garbage (tenant, thread_key, scope_id, created_at)
values ($1, $2, $8, cast(unixepoch('subsec') * 1000000 as integer));
update threads set thread_key = $3 where tenant = $1 and thread_id = $9";

async fn swap(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    thread_id: &str,
    new_key: i64,
    plan: &Plan,
    bases: RowSet,
) -> Result<()> {
    let orphaned = |ns: &str, id: &str| plan.orphans.iter().any(|it| it.ns == ns && it.id == id);
    let kept = plan.kept.iter();
    let kept: RowSet = kept.map(|(ns, id)| json!([ns, id, i32::from(orphaned(ns, id))])).collect();
    sqlx::query(SWAP)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .bind(new_key)
        .bind(kept.json())
        .bind(heads(plan).json())
        .bind(bases.json())
        .bind(bases.blob)
        .bind(ground.scope_id)
        .bind(thread_id)
        .execute(connection)
        .await
        .map_err(storage_error)?;
    Ok(())
}
