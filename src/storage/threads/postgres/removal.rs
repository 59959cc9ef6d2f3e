//! Removes checkpoints from a thread, and whole threads. A transaction takes the scope lock first. Later statements delete what nothing
//! names any more and raise the epoch.

use std::collections::BTreeSet;

use sqlx::{Executor, Row};

use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::history::{Base, Chain};
use crate::domain::scheduling::cpu_pool;
use crate::domain::threads::storage::DeleteThread;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::checkpoints::base_document::{seal_base, size_of_base};
use crate::storage::checkpoints::opened_bytes::{OpenedBytes, base_error};
use crate::storage::checkpoints::postgres::reading::Walked;
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::postgres::collect;
use crate::storage::maintenance::postgres::garbage::{remove_garbage, replace_with_tombstone};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::access::BorrowedTransaction;
use crate::storage::postgres::connection::{Connection, Transaction};
use crate::storage::threads::policies::forget_policy;
use crate::storage::threads::retention::{Orphan, Plan};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// A thread whose scope lock this transaction holds.
pub(in crate::storage) struct LockedThread {
    pub thread_id: String,
    pub thread_key: i64,
    pub scope_id: i64,
    pub generation: String,
    pub fence: i64,
    pub owner: Option<String>,
    pub leased: bool,
    mac: Option<Vec<u8>>,
}

impl LockedThread {
    /// Before anything of the thread is opened, and before its owner is taken over.
    pub(in crate::storage) fn check_mac(&self, secret: &TenantSecret) -> Result<()> {
        let ids = (self.thread_key, self.scope_id);
        let row = OwnerRow::thread(&self.thread_id, ids, self.owner.as_deref());
        row.check(secret, self.mac.as_deref())
    }
}

/// Begins a removal: its statements go over a whole thread, where hashing beats look-ups.
pub(in crate::storage) async fn begin(connection: &mut Connection) -> Result<Transaction<'_>> {
    let mut transaction = connection.begin().await?;
    transaction.execute("set local enable_hashjoin = on; set local enable_seqscan = on").await?;
    Ok(transaction)
}

/// Locks the scope and the thread against commits and other removals. None: no such thread for whoever asks.
pub(in crate::storage) async fn lock(
    connection: &mut Connection,
    thread: OwnedThread<'_>,
) -> Result<Option<LockedThread>> {
    let row = sqlx::query(
        "select x.thread_key, x.scope_id, x.generation, x.fence, x.owner, x.mac,
            coalesce(x.lease_expires_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint,
                false) as leased
         from threads x join scopes s on s.tenant = x.tenant and s.scope_id = x.scope_id
         where x.tenant = $1 and x.thread_id = $2 and ($3::text is null or x.owner = $3)
         for update of s, x",
    )
    .bind(thread.tenant)
    .bind(thread.thread_id)
    .bind(thread.owner)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| LockedThread {
        thread_id: thread.thread_id.to_owned(),
        thread_key: row.get("thread_key"),
        scope_id: row.get("scope_id"),
        generation: row.get("generation"),
        fence: row.get("fence"),
        owner: row.get("owner"),
        leased: row.get("leased"),
        mac: row.get("mac"),
    }))
}

impl PostgresStorage {
    /// Makes the bases that a plan needs, before anything is removed. Where the prefetch lacks a pack, the bases have the
    /// right sizes but must not be written.
    pub(in crate::storage) async fn make_bases(
        &self,
        connection: &mut Connection,
        secret: &TenantSecret,
        place: Walked<'_>,
        (plan, packs): (&Plan, &PackPrefetch),
    ) -> Result<Vec<NewBase>> {
        let mut made = Vec::new();
        for orphan in &plan.orphans {
            let bases = self.bases_for(connection, secret, place, (orphan, packs)).await;
            for base in bases.map_err(base_error)? {
                let scope_id = place.scope_id;
                let at = CheckpointAt { scope_id, ns: &orphan.ns, id: &orphan.id };
                let seal = || seal_base(secret, at, &base);
                let sealed = cpu_pool::run_here_at_once(place.tenant, size_of_base(&base), seal)?;
                let document = sealed.to_vec();
                let (ns, id) = (orphan.ns.clone(), orphan.id.clone());
                made.push(NewBase { ns, id, channel: base.channel, document });
            }
        }
        Ok(made)
    }

    /// What the walk finds before anything is removed.
    async fn bases_for(
        &self,
        connection: &mut Connection,
        secret: &TenantSecret,
        place: Walked<'_>,
        (orphan, packs): (&Orphan, &PackPrefetch),
    ) -> Result<Vec<Base>> {
        let (mut chain, mut absent) = (Chain::default(), BTreeSet::new());
        let mut opened = OpenedBytes::of_base(place.memory, place.large_values);
        let start = Some(orphan.parent.as_str());
        while let Some(gap) = chain.gap(&orphan.ns, start, &orphan.channels, &absent) {
            let nodes =
                self.read_walk(connection, secret, (place, &gap), packs, &mut opened).await?;
            if nodes.is_empty() {
                absent.insert((gap.ns, gap.start));
            } else {
                chain.add(nodes);
            }
        }
        let bases = orphan.channels.iter().map(|channel| {
            let history = chain.history(&orphan.ns, &[], start, channel);
            Base { channel: channel.clone(), seed: history.seed, writes: history.writes }
        });
        Ok(bases.collect())
    }

    pub(in crate::storage) async fn remove_thread(
        &self,
        caller: &Caller,
        request: &DeleteThread,
    ) -> Result<bool> {
        let tenant = caller.tenant.as_str();
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Write);
        let mut connection = self.pool.get_for(tenant).await?;
        let mut transaction = begin(&mut connection).await?;
        let locked = lock(&mut transaction, thread).await?;
        if let Some(locked) = &locked {
            check(locked, request.generation.as_deref(), request.fence)?;
            replace_with_tombstone(&mut transaction, tenant, locked).await?;
            let mut access = BorrowedTransaction(&mut transaction);
            forget_policy(&mut access, tenant, &locked.thread_id).await?;
        }
        transaction.commit().await?;
        if let Some(locked) = &locked {
            self.known.remove(tenant, thread.thread_id);
            self.chunks.forget(tenant, thread.thread_id);
            remove_garbage(&mut connection, tenant, locked.thread_key, locked.scope_id).await?;
        }
        Ok(locked.is_some())
    }
}

/// The conditions that guard every kind of write to a thread.
pub(in crate::storage) fn check(
    locked: &LockedThread,
    generation: Option<&str>,
    fence: Option<i64>,
) -> Result<()> {
    if generation.is_some_and(|it| it != locked.generation) {
        return Err(Error::Conflict(Conflict::ThreadRestored {
            current: locked.generation.clone(),
        }));
    }
    match fence {
        None if locked.leased => Err(Error::Conflict(Conflict::LeaseHeld)),
        Some(fence) if fence != locked.fence => {
            Err(Error::Conflict(Conflict::FenceStale { current: locked.fence }))
        }
        _ => Ok(()),
    }
}

/// A base that is written with a removal.
pub(in crate::storage) struct NewBase {
    pub ns: String,
    pub id: String,
    pub channel: String,
    pub document: Vec<u8>,
}

/// Carries out a plan inside the caller's transaction.
pub(in crate::storage) async fn carry_out(
    connection: &mut Connection,
    tenant: &str,
    locked: &LockedThread,
    plan: &Plan,
    bases: Vec<NewBase>,
) -> Result<()> {
    cut_off(connection, (tenant, locked.thread_key), &plan.orphans, bases).await?;
    // From here on every statement is about most of a thread. Without statistics the planner takes the thread for small
    // and compares each row with each: 2,400 of 3,000 checkpoints took 10 s.
    connection.execute("set local enable_nestloop = off").await?;
    remove_rows(connection, tenant, locked, plan).await?;
    collect(connection, tenant, locked.scope_id).await?;
    count_again(connection, tenant, locked).await
}

/// Writes the bases of checkpoints that stay and takes their parent pointers away.
async fn cut_off(
    connection: &mut Connection,
    place: (&str, i64),
    orphans: &[Orphan],
    bases: Vec<NewBase>,
) -> Result<()> {
    if orphans.is_empty() {
        return Ok(());
    }
    let (mut nss, mut ids, mut channels, mut documents) = (vec![], vec![], vec![], vec![]);
    for base in bases {
        nss.push(base.ns);
        ids.push(base.id);
        channels.push(base.channel);
        documents.push(base.document);
    }
    sqlx::query(
        "with cut as (
            update checkpoints c set parent_id = null,
                sends_from = case when c.legacy then o.parent end
            from unnest($3::text[], $4::text[], $5::text[]) o (ns, id, parent)
            where c.tenant = $1 and c.thread_key = $2 and c.ns = o.ns and c.checkpoint_id = o.id
         )
         insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
         select $1, $2, b.ns, b.id, b.channel, b.document
         from unnest($6::text[], $7::text[], $8::text[], $9::bytea[]) b (ns, id, channel, document)
         on conflict do nothing",
    )
    .bind(place.0)
    .bind(place.1)
    .bind(orphans.iter().map(|it| it.ns.clone()).collect::<Vec<_>>())
    .bind(orphans.iter().map(|it| it.id.clone()).collect::<Vec<_>>())
    .bind(orphans.iter().map(|it| it.parent.clone()).collect::<Vec<_>>())
    .bind(nss)
    .bind(ids)
    .bind(channels)
    .bind(documents)
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the checkpoints that do not stay, their bases and their writes. Pending sends that a checkpoint
/// of an old format needs stay with their id.
async fn remove_rows(
    connection: &mut Connection,
    tenant: &str,
    locked: &LockedThread,
    plan: &Plan,
) -> Result<()> {
    let stays: (Vec<String>, Vec<String>) = plan.kept.iter().cloned().unzip();
    let held = sqlx::query(
        "select distinct ns, checkpoint_id from writes where tenant = $1 and thread_key = $2",
    )
    .bind(tenant)
    .bind(locked.thread_key)
    .fetch_all(&mut *connection)
    .await?;
    let (mut nss, mut ids) = (Vec::new(), Vec::new());
    for row in &held {
        let (ns, id): (String, String) = (row.get("ns"), row.get("checkpoint_id"));
        if !plan.keeps_writes(&ns, &id) {
            nss.push(ns);
            ids.push(id);
        }
    }
    for (text, nss, ids) in [
        (
            "delete from checkpoints c where c.tenant = $1 and c.thread_key = $2
                and not exists (select from unnest($3::text[], $4::text[]) k (ns, id)
                    where k.ns = c.ns and k.id = c.checkpoint_id)",
            &stays.0,
            &stays.1,
        ),
        (
            "delete from delta_bases b where b.tenant = $1 and b.thread_key = $2
                and not exists (select from unnest($3::text[], $4::text[]) k (ns, id)
                    where k.ns = b.ns and k.id = b.checkpoint_id)",
            &stays.0,
            &stays.1,
        ),
        (
            "delete from writes w using unnest($3::text[], $4::text[]) k (ns, id)
             where w.tenant = $1 and w.thread_key = $2 and w.ns = k.ns and w.checkpoint_id = k.id
               and not (w.channel = '__pregel_tasks' and exists (
                    select from checkpoints c where c.tenant = $1 and c.thread_key = $2
                        and c.ns = w.ns and c.sends_from = w.checkpoint_id))",
            &nss,
            &ids,
        ),
    ] {
        sqlx::query(text)
            .bind(tenant)
            .bind(locked.thread_key)
            .bind(nss)
            .bind(ids)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Key of a channel as the shared rules ask for it.
pub(in crate::storage) fn key_of(secret: &TenantSecret) -> impl Fn(&str) -> i64 {
    let secret = secret.clone();
    move |channel| channel_key(&secret, channel)
}

/// Makes the counts of a thread true after a removal.
async fn count_again(
    connection: &mut Connection,
    tenant: &str,
    locked: &LockedThread,
) -> Result<()> {
    sqlx::query(
        "update threads t set
            checkpoint_count = (select count(*) from checkpoints c
                where c.tenant = $1 and c.thread_key = $3),
            size_bytes = coalesce((select sum(c.size_bytes) from checkpoints c
                    where c.tenant = $1 and c.thread_key = $3), 0)
                + coalesce((select sum(m.size_bytes) from manifests m
                    where m.tenant = $1 and m.scope_id = $2 and m.no in (
                        select unnest(c.value_nos) from checkpoints c
                        where c.tenant = $1 and c.thread_key = $3)), 0)
                + coalesce((select sum(w.size_bytes) from writes w
                    where w.tenant = $1 and w.thread_key = $3), 0)
         where t.tenant = $1 and t.thread_key = $3",
    )
    .bind(tenant)
    .bind(locked.scope_id)
    .bind(locked.thread_key)
    .execute(connection)
    .await?;
    Ok(())
}
