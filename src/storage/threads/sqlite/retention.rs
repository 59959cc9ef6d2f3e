//! Removes what a retention rule removes from one thread, in transactions short enough for the one writer. Each counts its removals. A dry
//! run reads the same and changes nothing.

use async_trait::async_trait;

use super::delete::REMOVE_THREAD;
use super::removal_rows::{Removal, delete, swap};
use super::retention_estimate::{content, contents, sizes, stored_bases};
use super::thread_row::{ThreadRow, read_thread_row};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::threads::retention::{Claim, PruneRequest, Pruned, Removed, Retained, Rule};
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::checkpoints::sqlite::bases::{ThreadState, make_bases, read_state, recount};
use crate::storage::checkpoints::sqlite::history::Ground;
use crate::storage::checkpoints::sqlite::views::Tenant;
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::Write;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::threads::policies::{RetentionEngine, forget_policy, record};
use crate::storage::threads::retention::Plan;
use crate::storage::threads::retention_estimate::{BaseSize, Bases, Contents, Decision};
use crate::storage::threads::thread_filter::OwnedThread;

/// What one transaction writes or deletes, with a share for each row: some ten milliseconds of the writer.
const PART_BYTES: i64 = 1 << 20;

/// After so many attempts a part is made with the writer: the thread changes all the time.
const ATTEMPTS_MAX: u32 = 3;

/// A rule for a thread, and the round that it is applied in.
struct Job<'a> {
    thread: OwnedThread<'a>,
    secret: &'a TenantSecret,
    rule: Rule,
    round: Option<(&'a Claim, Micros)>,
}

/// One transaction's work.
struct Part {
    retained: Retained,
    is_last: bool,
    /// Key of what is left of it for slices.
    garbage: Option<(i64, i64)>,
}

/// What goes next of a thread, with the bases of what stays.
struct NextPart {
    state: ThreadState,
    contents: Contents,
    decision: Decision,
    /// What stays moves when that is little; else what goes is deleted, in parts where it is much too.
    moves: bool,
    is_last: bool,
    stored: Vec<BaseSize>,
    made: RowSet,
}

#[async_trait]
impl RetentionEngine for SqliteStorage {
    async fn retain(&self, claim: &Claim, thread_id: &str, now: Micros) -> Result<Retained> {
        let secret = self.secret(&claim.tenant).await?;
        let thread = OwnedThread::by_server(&claim.tenant, thread_id);
        let job = Job { thread, secret: &secret, rule: claim.rule(), round: Some((claim, now)) };
        self.apply(&job, claim.rules.dry_run).await
    }

    async fn retain_by(&self, tenant: &str, thread_id: &str, rule: Rule) -> Result<Retained> {
        let secret = self.secret(tenant).await?;
        let thread = OwnedThread::by_server(tenant, thread_id);
        self.apply(&Job { thread, secret: &secret, rule, round: None }, false).await
    }
}

impl SqliteStorage {
    /// A thread whose lease is held fails the call before anything of it is removed; threads before it in the
    /// list are pruned then.
    pub(in crate::storage) async fn prune(
        &self,
        caller: &Caller,
        request: &PruneRequest,
    ) -> Result<Vec<Pruned>> {
        let secret = self.secret(&caller.tenant).await?;
        let mut all = Vec::with_capacity(request.thread_ids.len());
        for thread_id in &request.thread_ids {
            let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Write);
            let job = Job { thread, secret: &secret, rule: request.rule, round: None };
            match self.apply(&job, request.dry_run).await? {
                Retained::Pruned(pruned) => all.push(pruned),
                Retained::LeaseHeld => return Err(Error::Conflict(Conflict::LeaseHeld)),
                Retained::Untouched | Retained::NotClaimed => all.push(Pruned::default()),
            }
        }
        Ok(all)
    }

    /// Looks with a reader first: of most threads nothing goes, and the writer is left alone.
    async fn apply(&self, job: &Job<'_>, dry_run: bool) -> Result<Retained> {
        let would = self.look(job, dry_run).await?;
        if dry_run || matches!(would, Retained::Untouched | Retained::LeaseHeld) {
            return Ok(would);
        }
        let mut total = Pruned::default();
        loop {
            let part = self.remove_part(job).await?;
            let Retained::Pruned(pruned) = part.retained else {
                // Somebody was faster with what is left.
                let begun = total != Pruned::default() && part.retained == Retained::Untouched;
                return Ok(if begun { Retained::Pruned(total) } else { part.retained });
            };
            if let Some((thread_key, scope_id)) = part.garbage {
                let tenant = job.thread.tenant.to_owned();
                self.collect(&Garbage { tenant, thread_key, scope_id }).await?;
            }
            total.removed += pruned.removed;
            total.deleted = pruned.deleted;
            if part.is_last {
                return Ok(Retained::Pruned(total));
            }
        }
    }

    /// What would go; only a dry run counts it.
    async fn look(&self, job: &Job<'_>, count: bool) -> Result<Retained> {
        let prefetch = PackPrefetch::default();
        loop {
            let would = self.try_look(job, count, &prefetch).await;
            if prefetch.is_complete() {
                return would;
            }
            prefetch.fetch_missing(self.objects.as_deref(), job.secret).await?;
        }
    }

    /// From one snapshot. Counts for nothing where the prefetch lacks content.
    async fn try_look(
        &self,
        job: &Job<'_>,
        count: bool,
        prefetch: &PackPrefetch,
    ) -> Result<Retained> {
        let mut read = self.connections.begin_read().await?;
        let found = read_thread_row(&mut read, job.thread).await?;
        let mut retained = Retained::Untouched;
        if let Some(row) = found {
            row.check_mac(job.thread.thread_id, job.secret)?;
            let ground = job.ground(&row, prefetch);
            let contents = contents(&mut read, ground).await?;
            let decision = job.decide(&contents);
            retained = match decision {
                // A call is refused even where nothing would go; a round has nothing to skip then.
                Decision::Nothing if job.round.is_some() || !row.held => Retained::Untouched,
                _ if row.held => Retained::LeaseHeld,
                _ if !count => Retained::Pruned(Pruned::default()),
                Decision::Delete => {
                    let removed = everything(&mut read, ground, &contents).await?;
                    Retained::Pruned(Pruned { removed, deleted: true })
                }
                Decision::Keep(plan) => {
                    let bases = make_bases(&mut read, ground, &plan.orphans).await?;
                    let stored = stored_bases(&mut read, ground).await?;
                    let bases = Bases { stored, made: sizes(&bases) };
                    let removed = estimate(&mut read, ground, (&contents, &plan), &bases).await?;
                    Retained::Pruned(Pruned { removed, deleted: false })
                }
                Decision::Nothing => Retained::Untouched,
            };
        }
        read.end().await?;
        Ok(retained)
    }

    /// One part. What it needs of the object store, and the bases, are made between two transactions, without the writer.
    async fn remove_part(&self, job: &Job<'_>) -> Result<Part> {
        let prefetch = PackPrefetch::default();
        let mut attempts = 0;
        loop {
            let is_last_attempt = attempts == ATTEMPTS_MAX;
            let next = self.prepare(job, &prefetch).await;
            if prefetch.is_complete() {
                let part = self.try_part(job, &prefetch, (next?, is_last_attempt)).await;
                if prefetch.is_complete() {
                    match part? {
                        Some(part) => return Ok(part),
                        None => attempts += 1,
                    }
                    continue;
                }
            }
            prefetch.fetch_missing(self.objects.as_deref(), job.secret).await?;
        }
    }

    /// What goes next, from one snapshot. None: there is no such thread, or its lease is held.
    async fn prepare<'a>(
        &self,
        job: &Job<'a>,
        prefetch: &'a PackPrefetch,
    ) -> Result<Option<NextPart>> {
        let mut read = self.connections.begin_read_for(job.thread.tenant).await?;
        let next = match read_thread_row(&mut read, job.thread).await? {
            Some(row) if !row.held => Some(next_part(&mut read, job, &row, prefetch).await?),
            _ => None,
        };
        read.end().await?;
        Ok(next)
    }

    /// One transaction: removes no more than a part, counts it in the round. Nothing of it is left where the prefetch lacks content. None: the
    /// thread changed since the part was prepared.
    async fn try_part<'a>(
        &self,
        job: &Job<'a>,
        prefetch: &'a PackPrefetch,
        (next, is_last_attempt): (Option<NextPart>, bool),
    ) -> Result<Option<Part>> {
        let none = |retained| Part { retained, is_last: true, garbage: None };
        let mut write = self.connections.begin_write_for(job.thread.tenant).await?;
        let part = match read_thread_row(&mut write, job.thread).await? {
            None => none(Retained::Untouched),
            Some(row) if row.held => none(Retained::LeaseHeld),
            Some(row) => {
                let state = read_state(&mut write, job.ground(&row, prefetch)).await?;
                let next = match next.filter(|it| it.state == state) {
                    Some(next) => next,
                    None if is_last_attempt => next_part(&mut write, job, &row, prefetch).await?,
                    None => {
                        write.rollback().await?;
                        return Ok(None);
                    }
                };
                remove(&mut write, job, (&row, next), prefetch).await?
            }
        };
        let Retained::Pruned(pruned) = part.retained else {
            write.rollback().await?;
            return Ok(Some(part));
        };
        if !record(&mut write, job.round, job.thread.thread_id, &pruned, part.is_last).await? {
            write.rollback().await?;
            return Ok(Some(none(Retained::NotClaimed)));
        }
        write.commit().await?;
        Ok(Some(part))
    }
}

impl<'a> Job<'a> {
    fn ground(&self, row: &ThreadRow, prefetch: &'a PackPrefetch) -> Ground<'a> {
        let tenant = Tenant::new(self.thread.tenant, self.secret, prefetch);
        Ground { tenant, thread_key: row.thread_key, scope_id: row.scope_id }
    }

    fn decide(&self, contents: &Contents) -> Decision {
        contents.decide(&self.rule, &|name| channel_key(self.secret, name))
    }
}

/// Decides what goes next, and seals the bases that it needs.
async fn next_part<'a>(
    connection: &mut sqlx::SqliteConnection,
    job: &Job<'a>,
    row: &ThreadRow,
    prefetch: &'a PackPrefetch,
) -> Result<NextPart> {
    let (ground, secret) = (job.ground(row, prefetch), job.secret);
    row.check_mac(job.thread.thread_id, secret)?;
    let state = read_state(connection, ground).await?;
    let contents = contents(connection, ground).await?;
    let mut decision = job.decide(&contents);
    let (mut moves, mut is_last) = (false, true);
    let (mut stored, mut made) = (Vec::new(), RowSet::default());
    if let Decision::Keep(plan) = &mut decision {
        stored = stored_bases(connection, ground).await?;
        let key = |name: &str| channel_key(secret, name);
        moves = stays_is_little(&contents, plan, &stored);
        if !moves
            && let Some(part) = plan.part(&contents.rows, &contents.weights(), PART_BYTES, &key)
        {
            (*plan, is_last) = (part, false);
        }
        made = make_bases(connection, ground, &plan.orphans).await?;
    }
    Ok(NextPart { state, contents, decision, moves, is_last, stored, made })
}

async fn remove<'a>(
    write: &mut Write<'_>,
    job: &Job<'a>,
    (row, next): (&ThreadRow, NextPart),
    prefetch: &'a PackPrefetch,
) -> Result<Part> {
    let (ground, secret) = (job.ground(row, prefetch), job.secret);
    row.check_mac(job.thread.thread_id, secret)?;
    let NextPart { contents, decision, moves, is_last, stored, made, .. } = next;
    let untouched = Part { retained: Retained::Untouched, is_last: true, garbage: None };
    let plan = match decision {
        Decision::Keep(plan) => plan,
        Decision::Delete => return remove_whole(write, job, ground, &contents).await,
        Decision::Nothing => return Ok(untouched),
    };
    if !prefetch.is_complete() {
        return Ok(untouched);
    }
    let bases = Bases { stored, made: sizes(&made) };
    let removed = estimate(write, ground, (&contents, &plan), &bases).await?;
    let thread_id = job.thread.thread_id;
    let owner = row.owner.as_deref();
    let removal =
        Removal { ground, thread_id, owner, contents: &contents, plan: &plan, bases: made };
    let (thread_key, garbage_key) =
        if moves { swap(write, removal).await? } else { delete(write, removal).await? };
    let thread = (thread_key, row.scope_id);
    recount(write, job.thread.tenant, job.thread.thread_id, thread).await?;
    let retained = Retained::Pruned(Pruned { removed, deleted: false });
    Ok(Part { retained, is_last, garbage: Some((garbage_key, row.scope_id)) })
}

async fn remove_whole(
    write: &mut Write<'_>,
    job: &Job<'_>,
    ground: Ground<'_>,
    contents: &Contents,
) -> Result<Part> {
    let removed = everything(write, ground, contents).await?;
    sqlx::query(REMOVE_THREAD)
        .bind(job.thread.tenant)
        .bind(job.thread.thread_id)
        .execute(&mut **write)
        .await?;
    if job.round.is_none() {
        forget_policy(write, job.thread.tenant, job.thread.thread_id).await?;
    }
    let retained = Retained::Pruned(Pruned { removed, deleted: true });
    Ok(Part { retained, is_last: true, garbage: Some((ground.thread_key, ground.scope_id)) })
}

/// Whether a move of what stays, with its writes and bases, writes less than a deletion of what goes.
fn stays_is_little(contents: &Contents, plan: &Plan, bases: &[BaseSize]) -> bool {
    let weight = contents.weights();
    let stays = |ns: &str, id: &str| plan.kept.contains(&(ns.to_owned(), id.to_owned()));
    let (mut staying, mut going) = (0, 0);
    for row in &contents.rows {
        *if stays(&row.ns, &row.id) { &mut staying } else { &mut going } += weight(row);
    }
    for base in bases {
        *if stays(&base.ns, &base.id) { &mut staying } else { &mut going } += base.stored_bytes;
    }
    staying <= PART_BYTES && staying < going
}

async fn estimate(
    connection: &mut sqlx::SqliteConnection,
    ground: Ground<'_>,
    (contents, plan): (&Contents, &Plan),
    bases: &Bases,
) -> Result<Removed> {
    let mut removed = contents.removed(plan, bases, false);
    removed += content(connection, ground, &contents.leaving(plan, false)).await?;
    Ok(removed)
}

async fn everything(
    connection: &mut sqlx::SqliteConnection,
    ground: Ground<'_>,
    contents: &Contents,
) -> Result<Removed> {
    let mut removed = contents.everything(&stored_bases(connection, ground).await?);
    removed += content(connection, ground, &contents.leaving_whole()).await?;
    Ok(removed)
}
