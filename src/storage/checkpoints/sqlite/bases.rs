//! Makes delta bases: what a checkpoint keeps of ancestors that are about to be removed. Opening and sealing them takes long, so it is done
//! with a reader, before the writer begins.

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::history::{Ground, Want, fill};
use super::views::{CheckpointKeys, read_bases, read_writes};
use crate::domain::checkpoints::checkpoint::PENDING_SENDS;
use crate::domain::checkpoints::history::{Base, Chain};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::base_document::{seal_base, size_of_base};
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::opened_bytes::{OpenedBytes, base_error};
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::open_documents;
use crate::storage::maintenance::sqlite::garbage::values_of_thread;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::threads::retention::{Orphan, Stored, parents_of};

/// What changes with all that a plan of removal reads of a thread: commits and writes move its time, removals the epoch of its scope. So what
/// was read of it before a transaction holds in the transaction.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::storage) struct ThreadState {
    thread_key: i64,
    scope_id: i64,
    updated_at: i64,
    epoch: i64,
}

pub(in crate::storage) async fn read_state(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
) -> Result<ThreadState> {
    let (thread_key, scope_id) = (ground.thread_key, ground.scope_id);
    let row = sqlx::query(
        "select t.updated_at, s.epoch from threads t
         join scopes s on s.tenant = t.tenant and s.scope_id = t.scope_id
         where t.tenant = $1 and t.thread_key = $2",
    )
    .bind(ground.tenant.name)
    .bind(thread_key)
    .fetch_one(connection)
    .await?;
    Ok(ThreadState { thread_key, scope_id, updated_at: row.try_get(0)?, epoch: row.try_get(1)? })
}

/// Documents to be inserted: rows of (ns, checkpoint id, channel, start, length).
pub(in crate::storage) async fn make_bases(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    orphans: &[Orphan],
) -> Result<RowSet> {
    let mut rows = RowSet::default();
    for orphan in orphans {
        let bases = bases_of(connection, ground, orphan).await;
        for base in bases.map_err(base_error)? {
            let at = CheckpointAt { scope_id: ground.scope_id, ns: &orphan.ns, id: &orphan.id };
            let seal = || seal_base(ground.tenant.secret, at, &base);
            let sealed = cpu_pool::run_here_at_once(ground.tenant.name, size_of_base(&base), seal)?;
            let document = rows.bytes(&sealed);
            rows.push(json!([orphan.ns, orphan.id, base.channel, document.0, document.1]));
        }
    }
    Ok(rows)
}

/// What the walk of one checkpoint finds before anything is removed. One at a time: what is opened for it has a limit.
async fn bases_of(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    orphan: &Orphan,
) -> Result<Vec<Base>> {
    let own = [place(ground, &orphan.ns, &orphan.id)];
    let mut opened = OpenedBytes::of_base(ground.tenant.memory, ground.tenant.large_values);
    let stored = read_bases(connection, ground.tenant, &own, &mut opened).await?;
    let stored: Vec<Base> = stored.into_iter().map(|(_, base)| base).collect();
    let mut chain = Chain::default();
    let mut wants = [Want::new(&orphan.ns, Some(&orphan.parent), &orphan.channels, &stored)];
    fill(connection, ground, (&mut chain, &mut opened), &mut wants).await?;
    let mut sends = Base { channel: PENDING_SENDS.into(), seed: None, writes: Vec::new() };
    if orphan.legacy {
        let parents = [place(ground, &orphan.ns, &orphan.parent)];
        let channel = [PENDING_SENDS.to_owned()];
        let of_parent = (&parents[..], Some(&channel[..]));
        for (_, write) in read_writes(connection, ground.tenant, of_parent, &mut opened).await? {
            sends.writes.push((write.task_id, write.value));
        }
    }
    let is_stored = |channel: &str| stored.iter().any(|base| base.channel == channel);
    let histories = orphan.channels.iter().filter(|it| !is_stored(it)).map(|channel| {
        let history = chain.history(&orphan.ns, &[], Some(&orphan.parent), channel);
        Base { channel: channel.clone(), seed: history.seed, writes: history.writes }
    });
    // Without seed and writes the walk of a checkpoint without parent says the same.
    let made = histories.chain(std::iter::once(sends));
    Ok(made.filter(|base| base.seed.is_some() || !base.writes.is_empty()).collect())
}

fn place<'a>(ground: Ground<'_>, ns: &'a str, id: &'a str) -> CheckpointKeys<'a> {
    CheckpointKeys { at: 0, thread_key: ground.thread_key, scope_id: ground.scope_id, ns, id }
}

const READ_STORED: &str = "
select c.ns, c.checkpoint_id, c.parent_id, c.map, c.legacy, c.delta_channels, c.created_at, c.size_bytes,
       length(c.documents) as stored_bytes,
       case when instr(c.ns, ':') > 0 and c.checkpoint_id = (
           select max(m.checkpoint_id) from checkpoints m
           where m.tenant = c.tenant and m.thread_key = c.thread_key and m.ns = c.ns)
       then c.documents end as documents
from checkpoints c where c.tenant = $1 and c.thread_key = $2";

/// All checkpoints of a thread, without their values.
pub(in crate::storage) async fn read_stored(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
) -> Result<Vec<Stored>> {
    let rows = sqlx::query(READ_STORED)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .fetch_all(connection)
        .await?;
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        let delta_channels: String = row.try_get("delta_channels")?;
        let damaged = |_| Error::Integrity("the list of delta channels is damaged".into());
        let documents: Option<Vec<u8>> = row.try_get("documents")?;
        let ns: String = row.try_get("ns")?;
        let id: String = row.try_get("checkpoint_id")?;
        let at = CheckpointAt { scope_id: ground.scope_id, ns: &ns, id: &id };
        let open = |it: Vec<u8>| open_documents(ground.tenant.secret, at, &it);
        let documents = documents.map(open).transpose()?;
        stored.push(Stored {
            parent: row.try_get("parent_id")?,
            map: channel_map::unpack(&row.try_get::<Vec<u8>, _>("map")?)?,
            legacy: row.try_get("legacy")?,
            delta_channels: serde_json::from_str(&delta_channels).map_err(damaged)?,
            parents: documents.map(|(_, it)| parents_of(&it)).unwrap_or_default(),
            sends_from: None,
            created_at: row.try_get("created_at")?,
            size_bytes: row.try_get("size_bytes")?,
            stored_bytes: row.try_get("stored_bytes")?,
            ns,
            id,
        });
    }
    Ok(stored)
}

const RECOUNT: &str = "
update threads set
    checkpoint_count = (select count(*) from checkpoints c where c.tenant = $1 and c.thread_key = $3),
    size_bytes =
        (select coalesce(sum(c.size_bytes), 0) from checkpoints c where c.tenant = $1 and c.thread_key = $3)
        + (select coalesce(sum(w.size_bytes), 0) from writes w
           where w.tenant = $1 and w.thread_key = $3)
        + (select coalesce(sum(m.size_bytes), 0) from jsonb_each($5) j
           cross join manifests m on m.tenant = $1 and m.scope_id = $4 and m.no = j.value)
where tenant = $1 and thread_id = $2;
update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $4";

/// Counts again what is left of a thread after a removal, and raises the epoch of its scope.
pub(in crate::storage) async fn recount(
    connection: &mut SqliteConnection,
    tenant: &str,
    thread_id: &str,
    thread: (i64, i64),
) -> Result<()> {
    let (thread_key, scope_id) = thread;
    let named = values_of_thread(connection, tenant, thread_key).await?;
    sqlx::query(RECOUNT)
        .bind(tenant)
        .bind(thread_id)
        .bind(thread_key)
        .bind(scope_id)
        .bind(json!(named).to_string())
        .execute(connection)
        .await?;
    Ok(())
}
