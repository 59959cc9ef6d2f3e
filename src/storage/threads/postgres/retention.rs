//! Removes what a retention rule removes from one thread. Each transaction counts its removals. A dry run reads the same and changes
//! nothing.

use async_trait::async_trait;
use sqlx::Row;

use super::removal::{LockedThread, NewBase, begin, carry_out, check, key_of, lock};
use super::retention_estimate::{ThreadKeys, content, contents, stored_bases};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::clock::Micros;
use crate::domain::scheduling::read_memory::UNCOUNTED;
use crate::domain::threads::retention::{Claim, PruneRequest, Pruned, Retained, Rule};
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::checkpoints::postgres::reading::Walked;
use crate::storage::maintenance::postgres::garbage::{remove_garbage, replace_with_tombstone};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::access::BorrowedTransaction;
use crate::storage::postgres::connection::Connection;
use crate::storage::threads::policies::{RetentionEngine, forget_policy, record};
use crate::storage::threads::retention::Plan;
use crate::storage::threads::retention_estimate::{BaseSize, Bases, Contents, Decision};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// Of the rows that one transaction removes, with a share for each row: well below a second.
const PART_BYTES: i64 = 8 << 20;

/// A rule for a thread, and the round that it is applied in.
struct Job<'a> {
    thread: OwnedThread<'a>,
    rule: Rule,
    round: Option<(&'a Claim, Micros)>,
}

/// One transaction's work.
struct Part {
    retained: Retained,
    is_last: bool,
}

#[async_trait]
impl RetentionEngine for PostgresStorage {
    async fn retain(&self, claim: &Claim, thread_id: &str, now: Micros) -> Result<Retained> {
        let thread = OwnedThread::by_server(&claim.tenant, thread_id);
        let job = Job { thread, rule: claim.rule(), round: Some((claim, now)) };
        self.clear_pool_on_loss(self.apply(&job, claim.rules.dry_run).await)
    }

    async fn retain_by(&self, tenant: &str, thread_id: &str, rule: Rule) -> Result<Retained> {
        let job = Job { thread: OwnedThread::by_server(tenant, thread_id), rule, round: None };
        self.clear_pool_on_loss(self.apply(&job, false).await)
    }
}

impl PostgresStorage {
    /// A thread whose lease is held fails the call before anything of it is removed; threads before it in the
    /// list are pruned then.
    pub(in crate::storage) async fn prune(
        &self,
        caller: &Caller,
        request: &PruneRequest,
    ) -> Result<Vec<Pruned>> {
        let mut all = Vec::with_capacity(request.thread_ids.len());
        for thread_id in &request.thread_ids {
            let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Write);
            let job = Job { thread, rule: request.rule, round: None };
            match self.apply(&job, request.dry_run).await? {
                Retained::Pruned(pruned) => all.push(pruned),
                Retained::LeaseHeld => return Err(Error::Conflict(Conflict::LeaseHeld)),
                Retained::Untouched | Retained::NotClaimed => all.push(Pruned::default()),
            }
        }
        Ok(all)
    }

    /// Looks without a lock first: of most threads nothing goes.
    async fn apply(&self, job: &Job<'_>, dry_run: bool) -> Result<Retained> {
        let secret = self.secret(job.thread.tenant).await?;
        let would = self.look(job, &secret, dry_run).await?;
        if dry_run || matches!(would, Retained::Untouched | Retained::LeaseHeld) {
            return Ok(would);
        }
        let mut total = Pruned::default();
        loop {
            let part = self.remove_part(job, &secret).await?;
            let Retained::Pruned(pruned) = part.retained else {
                // Somebody was faster with what is left.
                let begun = total != Pruned::default() && part.retained == Retained::Untouched;
                return Ok(if begun { Retained::Pruned(total) } else { part.retained });
            };
            total.removed += pruned.removed;
            total.deleted = pruned.deleted;
            if part.is_last {
                return Ok(Retained::Pruned(total));
            }
        }
    }

    /// What would go; only a dry run counts it.
    async fn look(&self, job: &Job<'_>, secret: &TenantSecret, count: bool) -> Result<Retained> {
        let prefetch = PackPrefetch::default();
        loop {
            let would = self.try_look(job, (secret, &prefetch), count).await;
            if prefetch.is_complete() {
                return would;
            }
            prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
        }
    }

    /// From one snapshot. Counts for nothing where the prefetch lacks content.
    async fn try_look(
        &self,
        job: &Job<'_>,
        (secret, prefetch): (&TenantSecret, &PackPrefetch),
        count: bool,
    ) -> Result<Retained> {
        let mut connection = self.pool.get_for(job.thread.tenant).await?;
        let mut transaction =
            connection.begin_with("begin isolation level repeatable read read only").await?;
        let found = sqlx::query(
            "select thread_key, scope_id, owner, mac,
                coalesce(lease_expires_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint,
                    false) as leased
             from threads
             where tenant = $1 and thread_id = $2 and ($3::text is null or owner = $3)",
        )
        .bind(job.thread.tenant)
        .bind(job.thread.thread_id)
        .bind(job.thread.owner)
        .fetch_optional(&mut *transaction)
        .await?;
        let mut retained = Retained::Untouched;
        if let Some(row) = found {
            let (thread_key, scope_id) = (row.get("thread_key"), row.get("scope_id"));
            let leased: bool = row.get("leased");
            OwnerRow::thread(job.thread.thread_id, (thread_key, scope_id), row.get("owner"))
                .check(secret, row.get("mac"))?;
            let place = ThreadKeys { tenant: job.thread.tenant, thread_key, scope_id };
            let contents = contents(&mut transaction, secret, place).await?;
            let decision = contents.decide(&job.rule, &key_of(secret));
            retained = match decision {
                // A call is refused even where nothing would go; a round has nothing to skip then.
                Decision::Nothing if job.round.is_some() || !leased => Retained::Untouched,
                _ if leased => Retained::LeaseHeld,
                _ if !count => Retained::Pruned(Pruned::default()),
                Decision::Delete => {
                    let removed = everything(&mut transaction, place, &contents).await?;
                    Retained::Pruned(Pruned { removed, deleted: true })
                }
                Decision::Keep(plan) => {
                    let at = Walked {
                        tenant: job.thread.tenant,
                        thread_id: job.thread.thread_id,
                        scope_id,
                        large_values: LargeValues::Whole,
                        memory: &UNCOUNTED,
                    };
                    let plan_and_prefetch = (&plan, prefetch);
                    let bases =
                        self.make_bases(&mut transaction, secret, at, plan_and_prefetch).await?;
                    let removed =
                        estimate(&mut transaction, place, (&contents, &plan), &bases).await?;
                    Retained::Pruned(Pruned { removed, deleted: false })
                }
                Decision::Nothing => Retained::Untouched,
            };
        }
        transaction.commit().await?;
        Ok(retained)
    }

    /// One part. What it needs of the object store is fetched between two transactions, without a lock.
    async fn remove_part(&self, job: &Job<'_>, secret: &TenantSecret) -> Result<Part> {
        let prefetch = PackPrefetch::default();
        loop {
            let part = self.try_part(job, secret, &prefetch).await;
            if prefetch.is_complete() {
                return part;
            }
            prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
        }
    }

    /// One transaction: locks, decides again, removes no more than a part, counts it in the round. Nothing of it is left
    /// where the prefetch lacks content.
    async fn try_part(
        &self,
        job: &Job<'_>,
        secret: &TenantSecret,
        prefetch: &PackPrefetch,
    ) -> Result<Part> {
        let mut connection = self.pool.get_for(job.thread.tenant).await?;
        let mut transaction = begin(&mut connection).await?;
        let locked = lock(&mut transaction, job.thread).await?;
        let part = match &locked {
            None => Part { retained: Retained::Untouched, is_last: true },
            Some(locked) if check(locked, None, None).is_err() => {
                Part { retained: Retained::LeaseHeld, is_last: true }
            }
            Some(locked) => {
                self.remove_locked(&mut transaction, job, (secret, prefetch), locked).await?
            }
        };
        let Retained::Pruned(pruned) = part.retained else {
            transaction.rollback().await?;
            return Ok(part);
        };
        let mut access = BorrowedTransaction(&mut transaction);
        let counted = record(&mut access, job.round, job.thread.thread_id, &pruned, part.is_last);
        if !counted.await? {
            transaction.rollback().await?;
            return Ok(Part { retained: Retained::NotClaimed, is_last: true });
        }
        transaction.commit().await?;
        if let Some(locked) = locked.filter(|_| pruned.deleted) {
            self.known.remove(job.thread.tenant, job.thread.thread_id);
            remove_garbage(&mut connection, job.thread.tenant, locked.thread_key, locked.scope_id)
                .await?;
        }
        Ok(part)
    }

    async fn remove_locked(
        &self,
        connection: &mut Connection,
        job: &Job<'_>,
        (secret, prefetch): (&TenantSecret, &PackPrefetch),
        locked: &LockedThread,
    ) -> Result<Part> {
        locked.check_mac(secret)?;
        let (thread_key, scope_id) = (locked.thread_key, locked.scope_id);
        let place = ThreadKeys { tenant: job.thread.tenant, thread_key, scope_id };
        let contents = contents(connection, secret, place).await?;
        let channel_key = key_of(secret);
        let plan = match contents.decide(&job.rule, &channel_key) {
            Decision::Nothing => return Ok(Part { retained: Retained::Untouched, is_last: true }),
            Decision::Delete => {
                let removed = everything(connection, place, &contents).await?;
                replace_with_tombstone(connection, job.thread.tenant, locked).await?;
                if job.round.is_none() {
                    let mut access = BorrowedTransaction(connection);
                    forget_policy(&mut access, job.thread.tenant, job.thread.thread_id).await?;
                }
                let retained = Retained::Pruned(Pruned { removed, deleted: true });
                return Ok(Part { retained, is_last: true });
            }
            Decision::Keep(plan) => plan,
        };
        let part = plan.part(&contents.rows, &contents.weights(), PART_BYTES, &channel_key);
        let is_last = part.is_none();
        let plan = part.unwrap_or(plan);
        let at = Walked {
            tenant: job.thread.tenant,
            thread_id: job.thread.thread_id,
            scope_id,
            large_values: LargeValues::Whole,
            memory: &UNCOUNTED,
        };
        let bases = self.make_bases(connection, secret, at, (&plan, prefetch)).await?;
        if !prefetch.is_complete() {
            return Ok(Part { retained: Retained::Untouched, is_last: true });
        }
        let removed = estimate(connection, place, (&contents, &plan), &bases).await?;
        carry_out(connection, job.thread.tenant, locked, &plan, bases).await?;
        Ok(Part { retained: Retained::Pruned(Pruned { removed, deleted: false }), is_last })
    }
}

async fn estimate(
    connection: &mut Connection,
    place: ThreadKeys<'_>,
    (contents, plan): (&Contents, &Plan),
    made: &[NewBase],
) -> Result<crate::domain::threads::retention::Removed> {
    let size = |base: &NewBase| BaseSize {
        ns: base.ns.clone(),
        id: base.id.clone(),
        channel: base.channel.clone(),
        stored_bytes: i64::try_from(base.document.len()).unwrap_or(i64::MAX),
    };
    let stored = stored_bases(connection, place).await?;
    let bases = Bases { stored, made: made.iter().map(size).collect() };
    let mut removed = contents.removed(plan, &bases, true);
    removed += content(connection, place, &contents.leaving(plan, true)).await?;
    Ok(removed)
}

async fn everything(
    connection: &mut Connection,
    place: ThreadKeys<'_>,
    contents: &Contents,
) -> Result<crate::domain::threads::retention::Removed> {
    let mut removed = contents.everything(&stored_bases(connection, place).await?);
    removed += content(connection, place, &contents.leaving_whole()).await?;
    Ok(removed)
}
