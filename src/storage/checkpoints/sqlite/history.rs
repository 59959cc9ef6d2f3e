//! Reads what the walk along the parent chain of a delta history needs, in few statements whatever its length.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::values::{ValueRef, read_values};
use super::views::{self, CheckpointKeys, Tenant};
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::Target;
use crate::domain::checkpoints::history::{Base, Chain, Gap, Node};
use crate::domain::checkpoints::storage::TargetHistory;
use crate::domain::checkpoints::wanted;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::checkpoints::walk::{Ancestor, Step, Walk};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::threads::thread_filter::OwnedThread;

/// Ancestors in the first slice of a walk; each further slice is four times as long.
const FIRST_SLICE: i64 = 64;
const LONGEST_SLICE: i64 = 4_096;

/// Where a walk takes place.
#[derive(Clone, Copy)]
pub(in crate::storage) struct Ground<'a> {
    pub(in crate::storage) tenant: Tenant<'a>,
    pub(in crate::storage) thread_key: i64,
    pub(in crate::storage) scope_id: i64,
}

impl SqliteStorage {
    pub(in crate::storage) async fn read_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>> {
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch)
            .reading((target.large_values, wanted::ALL), &caller.memory);
        loop {
            let owned = (OwnedThread::by(caller, target.thread_id.as_str(), Action::Read), target);
            let history = self.try_history(tenant, owned, channels).await;
            if prefetch.is_complete() {
                return history;
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    async fn try_history(
        &self,
        tenant: Tenant<'_>,
        owned: (OwnedThread<'_>, &Target),
        channels: &[String],
    ) -> Result<Option<TargetHistory>> {
        let mut read = self.connections.begin_read_for(tenant.name).await?;
        let found = self.find_target(&mut read, owned, tenant.secret).await?;
        let history = match found.and_then(|found| found.checkpoint) {
            None => None,
            Some(row) => {
                let (thread_key, scope_id) = (row.thread_key, row.scope_id);
                let place =
                    CheckpointKeys { at: 0, thread_key, scope_id, ns: &row.ns, id: &row.id };
                let mut opened = OpenedBytes::of(tenant.memory, tenant.large_values);
                let mut bases = views::read_bases(&mut read, tenant, &[place], &mut opened).await?;
                bases.retain(|(_, base)| channels.contains(&base.channel));
                let bases: Vec<Base> = bases.into_iter().map(|(_, base)| base).collect();
                let mut chain = Chain::default();
                let ground = Ground { tenant, thread_key, scope_id };
                let mut wants = vec![Want::new(&row.ns, row.parent.as_deref(), channels, &bases)];
                fill(&mut read, ground, (&mut chain, &mut opened), &mut wants).await?;
                Some(TargetHistory { checkpoint_id: row.id, parent: row.parent, bases, chain })
            }
        };
        read.end().await?;
        Ok(history)
    }
}

/// The history of some channels from one checkpoint's parent on.
pub(in crate::storage) struct Want<'a> {
    ns: &'a str,
    parent: Option<&'a str>,
    channels: Vec<String>,
}

impl<'a> Want<'a> {
    /// Channels that the checkpoint itself has a base for need no walk.
    pub(in crate::storage) fn new(
        ns: &'a str,
        parent: Option<&'a str>,
        channels: &[String],
        bases: &[Base],
    ) -> Self {
        let own = |channel: &&String| bases.iter().any(|base| base.channel == **channel);
        let channels = channels.iter().filter(|it| !own(it)).cloned().collect();
        Self { ns, parent, channels }
    }
}

/// Reads into the chain whatever the histories wanted still miss.
pub(in crate::storage) async fn fill(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    (chain, opened): (&mut Chain, &mut OpenedBytes),
    wants: &mut [Want<'_>],
) -> Result<()> {
    let mut absent = BTreeSet::new();
    for want in wants {
        while let Some(gap) = chain.gap(want.ns, want.parent, &want.channels, &absent) {
            let (nodes, missing) = read_walk(connection, ground, &gap, opened).await?;
            if nodes.is_empty() && missing.is_none() {
                return Err(Error::Internal("a walk made no progress".into()));
            }
            absent.extend(missing.map(|id| (want.ns.to_owned(), id)));
            chain.add(nodes);
        }
    }
    Ok(())
}

/// Reads one walk until every channel stopped. Answers also the id at which the chain is broken.
async fn read_walk(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    gap: &Gap,
    opened: &mut OpenedBytes,
) -> Result<(Vec<Node>, Option<String>)> {
    let key = |channel: &String| (channel.clone(), channel_key(ground.tenant.secret, channel));
    let mut walk = Walk::new(gap.channels.iter().map(key).collect());
    let mut next = Some(gap.start.clone());
    let mut missing = None;
    let mut slice = FIRST_SLICE;
    while let Some(start) = next.take() {
        let ancestors = read_ancestors(connection, ground, &gap.ns, &start, slice).await?;
        if ancestors.is_empty() {
            missing = Some(start);
            break;
        }
        let full = i64::try_from(ancestors.len()).unwrap_or(0) == slice;
        for ancestor in ancestors {
            next = walk.visit(ancestor);
            if next.is_none() {
                break;
            }
        }
        if !full && next.is_some() {
            missing = next.take();
        }
        slice = (slice * 4).min(LONGEST_SLICE);
    }
    let nodes = load_nodes(connection, ground, (&gap.ns, walk.steps), opened).await?;
    Ok((nodes, missing))
}

const READ_ANCESTORS: &str = "
with recursive walk (depth, checkpoint_id, parent_id, map) as (
    select 1, checkpoint_id, parent_id, map from checkpoints
    where tenant = $1 and thread_key = $2 and ns = $3 and checkpoint_id = $4
    union all
    select w.depth + 1, c.checkpoint_id, c.parent_id, c.map
    from walk w
    cross join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = $3
        and c.checkpoint_id = w.parent_id
    where w.depth < $5
)
select w.checkpoint_id, w.parent_id, w.map, (
    select json_group_array(b.channel) from delta_bases b
    where b.tenant = $1 and b.thread_key = $2 and b.ns = $3 and b.checkpoint_id = w.checkpoint_id) as bases
from walk w order by w.depth";

async fn read_ancestors(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    ns: &str,
    start: &str,
    count: i64,
) -> Result<Vec<Ancestor>> {
    let rows = sqlx::query(READ_ANCESTORS)
        .bind(ground.tenant.name)
        .bind(ground.thread_key)
        .bind(ns)
        .bind(start)
        .bind(count)
        .fetch_all(connection)
        .await?;
    let ancestor = |row: &SqliteRow| {
        let bases: String = row.try_get("bases")?;
        let damaged = |_| Error::Integrity("the channel of a delta base is damaged".into());
        Ok(Ancestor {
            id: row.try_get("checkpoint_id")?,
            parent: row.try_get("parent_id")?,
            map: channel_map::unpack(&row.try_get::<Vec<u8>, _>("map")?)?,
            bases: serde_json::from_str(&bases).map_err(damaged)?,
        })
    };
    rows.iter().map(ancestor).collect()
}

/// Reads writes, seeds and bases of the steps of a walk: three statements.
async fn load_nodes(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    (ns, steps): (&str, Vec<Step>),
    opened: &mut OpenedBytes,
) -> Result<Vec<Node>> {
    let tenant = ground.tenant;
    let all: BTreeSet<&String> = steps.iter().flat_map(|step| &step.channels).collect();
    let all: Vec<String> = all.into_iter().cloned().collect();
    let place = |at: usize| {
        let (thread_key, scope_id) = (ground.thread_key, ground.scope_id);
        CheckpointKeys { at, thread_key, scope_id, ns, id: &steps[at].id }
    };
    let places: Vec<CheckpointKeys<'_>> = (0..steps.len()).map(place).collect();
    let writes = (places.as_slice(), Some(all.as_slice()));
    let writes = views::read_writes(connection, tenant, writes, opened).await?;
    let seeds = steps.iter().flat_map(|step| &step.seeds);
    let scope_id = ground.scope_id;
    let wanted =
        seeds.map(|(_, no)| ValueRef { scope_id, no: *no, version_key: None, is_wanted: true });
    let wanted: Vec<ValueRef> = wanted.collect();
    let mut values = read_values(connection, tenant, &wanted, opened).await?.into_iter();
    let with_bases: Vec<CheckpointKeys<'_>> =
        (0..steps.len()).filter(|at| !steps[*at].bases.is_empty()).map(place).collect();
    let mut bases: BTreeMap<usize, Vec<Base>> = BTreeMap::new();
    for (at, base) in views::read_bases(connection, tenant, &with_bases, opened).await? {
        if steps[at].bases.contains(&base.channel) {
            bases.entry(at).or_default().push(base);
        }
    }
    let mut nodes: Vec<Node> = Vec::with_capacity(steps.len());
    for (at, step) in steps.into_iter().enumerate() {
        let seeds = step.seeds.into_iter().map(|(channel, _)| {
            (channel, values.next().expect("one value was read for each seed"))
        });
        nodes.push(Node {
            ns: ns.to_owned(),
            seeds: seeds.collect(),
            writes: Vec::new(),
            bases: bases.remove(&at).unwrap_or_default(),
            read_for: step.channels,
            id: step.id,
            parent: step.parent,
        });
    }
    for (at, write) in writes {
        if nodes[at].read_for.contains(&write.channel) {
            nodes[at].writes.push((write.channel, write.task_id, write.value));
        }
    }
    Ok(nodes)
}
