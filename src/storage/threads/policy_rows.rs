//! Turns policies, rounds and reports into rows: their statements, their binds, and how a row is read. The SQL is the same for both
//! engines.

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::names::ThreadId;
use crate::domain::threads::retention::{Claim, Done, Policy, Pruned, Removed, Report, Rules};
use crate::domain::tokens::grants::Action;
use crate::storage::db::access::{SqlRow, SqlValue};

/// How long a claim holds without progress. Each removal and each page of threads holds it for longer.
pub const CLAIM_HELD: Micros = 120 * 1_000_000;
/// Servers' clocks may differ by so much before a changed thread is taken for an unchanged one.
const CLOCKS_DIFFER: Micros = 300 * 1_000_000;

/// No row: the thread is not the caller's. $1 tenant, $2 kind, $3 thread, $4 to $8 rules, $9 now, $10 and $11 [`owner`].
pub const PUT: &str = "
insert into retention_policies (tenant, kind, thread_id, expire_after_seconds, keep_last, older_than_seconds,
    keep_interrupted, dry_run, created_at, updated_at, due_at)
select $1, $2, $3, $4, $5, $6, $7 <> 0, $8 <> 0, $9, $9, $9
where $10 = 0 or exists (select 1 from threads o
    where o.tenant = $1 and o.thread_id = $3 and o.owner = $11)
on conflict (tenant, kind, thread_id) do update set
    expire_after_seconds = excluded.expire_after_seconds, keep_last = excluded.keep_last,
    older_than_seconds = excluded.older_than_seconds, keep_interrupted = excluded.keep_interrupted,
    dry_run = excluded.dry_run, updated_at = excluded.updated_at, due_at = excluded.due_at,
    round_started_at = null, claimed_by = null, claimed_until = null, last_thread_id = '', examined = 0,
    expired = 0, pruned = 0, skipped = 0, errors = 0, last_error = null, removed_checkpoints = 0,
    removed_writes = 0, removed_values = 0, removed_size_bytes = 0, removed_stored_bytes = 0, swept_to = null
returning thread_id, expire_after_seconds, keep_last, older_than_seconds, keep_interrupted, dry_run, created_at,
    updated_at, due_at";

/// $1 tenant, $2 thread that would get its own, $3 and $4 [`owner`]: how many others have one, and whether it is the caller's.
pub const COUNT_OTHERS: &str = "
select (select count(*) from retention_policies p
        where p.tenant = $1 and p.kind = 'thread' and p.thread_id <> $2) as others,
    $3 = 0 or exists (select 1 from threads o
        where o.tenant = $1 and o.thread_id = $2 and o.owner = $4) as is_reached";

/// $1 tenant, $2 kind, $3 thread, $4 and $5 [`owner`].
pub const GET: &str = "
select thread_id, expire_after_seconds, keep_last, older_than_seconds, keep_interrupted, dry_run, created_at,
    updated_at, due_at
from retention_policies where tenant = $1 and kind = $2 and thread_id = $3
  and ($4 = 0 or exists (select 1 from threads o
      where o.tenant = $1 and o.thread_id = $3 and o.owner = $5))";

/// $1 tenant, $2 kind and $3 thread of the last one of the page before, $4 limit. The tenant's kind comes before that of threads.
pub const LIST: &str = "
select thread_id, expire_after_seconds, keep_last, older_than_seconds, keep_interrupted, dry_run, created_at,
    updated_at, due_at
from retention_policies where tenant = $1 and (kind, thread_id) > ($2, $3)
order by kind, thread_id limit $4";

/// As [`GET`].
pub const DELETE: &str = "
delete from retention_policies where tenant = $1 and kind = $2 and thread_id = $3
  and ($4 = 0 or exists (select 1 from threads o
      where o.tenant = $1 and o.thread_id = $3 and o.owner = $5))
returning 1";

/// A thread without its own policy falls under the tenant's again, which may have passed it long ago.
pub const LOOK_AGAIN: &str =
    "update retention_policies set swept_to = null where tenant = $1 and kind = 'tenant'";

/// $1 tenant, $2 kind or empty for all, $3 thread, $4 now, $5 and $6 [`owner`].
pub const REQUEST: &str = "
update retention_policies set due_at = $4
where tenant = $1 and ($2 = '' or (kind = $2 and thread_id = $3))
  and ($5 = 0 or exists (select 1 from threads o
      where o.tenant = $1 and o.thread_id = $3 and o.owner = $6))
returning 1";

/// $1 now, $2 due again, $3 token, $4 claimed until. Servers take different rows and none waits for another.
pub const CLAIM: &str = "
update retention_policies set
    due_at = case when round_started_at is null then $2 else due_at end,
    round_started_at = coalesce(round_started_at, $1), claimed_by = $3, claimed_until = $4
where (tenant, kind, thread_id) = (
    select tenant, kind, thread_id from retention_policies
    where (due_at <= $1 or round_started_at is not null) and (claimed_until is null or claimed_until <= $1)
    order by due_at limit 1 {skip_locked})
returning tenant, thread_id, expire_after_seconds, keep_last, older_than_seconds, keep_interrupted, dry_run,
    round_started_at, last_thread_id, swept_to";

/// Threads under a tenant's policy. $1 tenant, $2 the last one done, $3 expire before, $4 keep last, $5 unchanged
/// since, $6 limit.
pub const LIST_THREADS: &str = "
select t.thread_id from threads t
where t.tenant = $1 and t.thread_id > $2 and octet_length(t.thread_id) <= 512
  and (t.updated_at < $3 or (t.checkpoint_count > $4 and t.updated_at >= $5))
  and not exists (select 1 from retention_policies o
      where o.tenant = $1 and o.kind = 'thread' and o.thread_id = t.thread_id)
order by t.thread_id limit $6";

/// The same for the one thread $7, while the round has not passed it.
pub const LIST_ONE_THREAD: &str = "
select t.thread_id from threads t
where t.tenant = $1 and t.thread_id = $7 and t.thread_id > $2
  and (t.updated_at < $3 or (t.checkpoint_count > $4 and t.updated_at >= $5))
limit $6";

/// Counts a removal in its own transaction. No row: the claim is lost, or the thread has its own policy now. $1 to $4
/// the claim, $5 claimed until, $6 and $7 threads, $8 to $12 what went, $13 the thread.
pub const RECORD: &str = "
update retention_policies set claimed_until = $5, examined = examined + $6 + $7, expired = expired + $6,
    pruned = pruned + $7, removed_checkpoints = removed_checkpoints + $8,
    removed_writes = removed_writes + $9, removed_values = removed_values + $10,
    removed_size_bytes = removed_size_bytes + $11, removed_stored_bytes = removed_stored_bytes + $12
where tenant = $1 and kind = $2 and thread_id = $3 and claimed_by = $4
  and (kind = 'thread' or not exists (select 1 from retention_policies o
      where o.tenant = $1 and o.kind = 'thread' and o.thread_id = $13))
returning 1";

/// $1 to $4 the claim, $5 claimed until, $6 last thread, $7 to $11 threads, $12 to $16 what would go, $17 last error or
/// empty.
pub const ADVANCE: &str = "
update retention_policies set claimed_until = $5, last_thread_id = $6, examined = examined + $7,
    expired = expired + $8, pruned = pruned + $9, skipped = skipped + $10, errors = errors + $11,
    removed_checkpoints = removed_checkpoints + $12, removed_writes = removed_writes + $13,
    removed_values = removed_values + $14, removed_size_bytes = removed_size_bytes + $15,
    removed_stored_bytes = removed_stored_bytes + $16, last_error = coalesce(nullif($17, ''), last_error)
where tenant = $1 and kind = $2 and thread_id = $3 and claimed_by = $4
returning 1";

/// The end of a round, in one transaction. A thread's report is its owner's, also when the round has just deleted the
/// thread. $1 to $4 the claim, $5 now, $6 report id.
pub const REPORT: &str = "
insert into retention_reports (tenant, report_id, kind, thread_id, started_at, finished_at, dry_run, has_removed,
    examined, expired, pruned, skipped, errors, last_error, removed_checkpoints, removed_writes, removed_values,
    removed_size_bytes, removed_stored_bytes, owner)
select tenant, $6, kind, thread_id, round_started_at, $5, dry_run,
    case when dry_run then false else expired + pruned > 0 end, examined, expired, pruned, skipped, errors,
    last_error, removed_checkpoints, removed_writes, removed_values, removed_size_bytes, removed_stored_bytes,
    coalesce((select o.owner from threads o where o.tenant = $1 and o.thread_id = $3),
        (select d.owner from thread_tombstones d where d.tenant = $1 and d.thread_id = $3))
from retention_policies where tenant = $1 and kind = $2 and thread_id = $3 and claimed_by = $4
returning 1";

/// After [`REPORT`]: a report of nothing replaces the one before. $1 to $3 the policy, $4 the new report.
pub const REPLACE_REPORT: &str = "
delete from retention_reports where tenant = $1 and kind = $2 and thread_id = $3 and not has_removed
    and report_id <> $4";

/// $1 to $4 the claim, $5 swept to.
pub const END_ROUND: &str = "
update retention_policies set
    swept_to = case when skipped = 0 and errors = 0 and not dry_run then $5 else swept_to end,
    round_started_at = null, claimed_by = null, claimed_until = null, last_thread_id = '', examined = 0,
    expired = 0, pruned = 0, skipped = 0, errors = 0, last_error = null, removed_checkpoints = 0,
    removed_writes = 0, removed_values = 0, removed_size_bytes = 0, removed_stored_bytes = 0
where tenant = $1 and kind = $2 and thread_id = $3 and claimed_by = $4";

/// A thread's own policy goes with the thread that it has deleted.
pub const FORGET_EXPIRED: &str = "
delete from retention_policies where tenant = $1 and kind = $2 and thread_id = $3 and claimed_by = $4
    and kind = 'thread' and expired > 0 and not dry_run";

/// $1 tenant, $2 thread or empty, $3 and $4 the last one of the page before or null, $5 limit, $6 and $7 [`owner`], who must have
/// owned the thread then too: another may have had the id before.
pub const LIST_REPORTS: &str = "
select report_id, thread_id, started_at, finished_at, dry_run, examined, expired, pruned, skipped, errors, last_error,
    removed_checkpoints, removed_writes, removed_values, removed_size_bytes, removed_stored_bytes
from retention_reports r
where r.tenant = $1 and ($2 = '' or (r.kind = 'thread' and r.thread_id = $2))
  and (cast($3 as bigint) is null or (r.finished_at, r.report_id) < ($3, $4))
  and ($6 = 0 or exists (select 1 from threads o
      where o.tenant = $1 and o.thread_id = $2 and o.owner = $7 and o.owner = r.owner))
order by finished_at desc, report_id desc limit $5";

pub const EXPIRE_REPORTS: &str =
    "delete from retention_reports where finished_at < $1 and tenant is not null";

/// The key of a policy: its kind and its thread, empty for the tenant's.
pub fn key(thread_id: Option<&ThreadId>) -> (&'static str, &str) {
    claim_key(thread_id.map(ThreadId::as_str))
}

/// Whether the thread of a policy must have a certain owner, and which. Nobody has to own a tenant's, which only who has the whole tenant
/// asks for.
pub fn owner(caller: &Caller, thread_id: Option<&ThreadId>, action: Action) -> [SqlValue; 2] {
    let owner = thread_id.and_then(|it| caller.thread_owner(it.as_str(), action));
    // An empty owner is nobody, where the grants deny: not anybody.
    [owner.is_some().into(), owner.unwrap_or_default().into()]
}

/// In the place of [`owner`], for the server itself.
pub fn any_owner() -> [SqlValue; 2] {
    [false.into(), "".into()]
}

fn claim_key(thread_id: Option<&str>) -> (&'static str, &str) {
    thread_id.map_or(("tenant", ""), |it| ("thread", it))
}

/// What [`LIST_THREADS`] asks of a thread: (expire before, keep last, unchanged since).
pub fn candidates(claim: &Claim) -> (Micros, i64, Micros) {
    let rule = claim.rule();
    let keep_last = rule.keep.map_or(i64::MAX, |keep| i64::from(keep.last));
    (rule.expire_before.unwrap_or(Micros::MIN), keep_last, claim.swept_to.unwrap_or(Micros::MIN))
}

/// What the round has settled when it ends: of a thread without a commit since then nothing can go that was not old
/// enough now.
pub fn swept_to(claim: &Claim) -> Micros {
    let since = claim.rule().keep.and_then(|keep| keep.since);
    since.unwrap_or(Micros::MAX).min(claim.started_at).saturating_sub(CLOCKS_DIFFER)
}

/// (expired, pruned) of one thread; `is_last` is false for all parts of a removal but the last.
pub fn threads_of(pruned: &Pruned, is_last: bool) -> (i64, i64) {
    (i64::from(is_last && pruned.deleted), i64::from(is_last && !pruned.deleted))
}

/// Binds $1 to $4, and what comes after them.
pub fn of_claim(claim: &Claim, others: &[SqlValue]) -> Vec<SqlValue> {
    let (kind, thread) = claim_key(claim.thread_id.as_deref());
    let key = [claim.tenant.as_str(), kind, thread, claim.token.as_str()].map(SqlValue::from);
    [&key[..], others].concat()
}

/// From [`PUT`] and [`GET`].
///
/// # Errors
/// `Integrity`, as for the next ones.
pub fn read_policy(row: &SqlRow) -> Result<Policy> {
    Ok(Policy {
        thread_id: read_thread_id(row, 0)?,
        rules: read_rules(row, 1)?,
        created_at: row.integer(6)?,
        updated_at: row.integer(7)?,
        due_at: row.integer(8)?,
    })
}

/// From [`CLAIM`].
///
/// # Errors
/// `Integrity`.
pub fn read_claim(row: &SqlRow, token: String) -> Result<Claim> {
    Ok(Claim {
        tenant: row.text(0)?.to_owned(),
        thread_id: read_thread_id(row, 1)?,
        token,
        rules: read_rules(row, 2)?,
        started_at: row.integer(7)?,
        last_thread_id: row.text(8)?.to_owned(),
        swept_to: row.optional_integer(9)?,
    })
}

/// From [`LIST_REPORTS`].
///
/// # Errors
/// `Integrity`.
pub fn read_report(row: &SqlRow) -> Result<Report> {
    Ok(Report {
        report_id: row.text(0)?.to_owned(),
        thread_id: read_thread_id(row, 1)?,
        started_at: row.integer(2)?,
        finished_at: row.integer(3)?,
        dry_run: row.boolean(4)?,
        done: Done {
            examined: row.integer(5)?,
            expired: row.integer(6)?,
            pruned: row.integer(7)?,
            skipped: row.integer(8)?,
            errors: row.integer(9)?,
            removed: Removed {
                checkpoints: row.integer(11)?,
                writes: row.integer(12)?,
                values: row.integer(13)?,
                size_bytes: row.integer(14)?,
                stored_bytes: row.integer(15)?,
            },
        },
        last_error: row.optional_text(10)?.map(str::to_owned),
    })
}

/// The tenant's policy has an empty one.
fn read_thread_id(row: &SqlRow, at: usize) -> Result<Option<String>> {
    Ok(Some(row.text(at)?).filter(|it| !it.is_empty()).map(str::to_owned))
}

/// Five columns from `at` on.
fn read_rules(row: &SqlRow, at: usize) -> Result<Rules> {
    let keep_last = row.optional_integer(at + 1)?;
    Ok(Rules {
        expire_after_seconds: row.optional_integer(at)?,
        keep_last: keep_last.map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
        older_than_seconds: row.optional_integer(at + 2)?,
        keep_interrupted: row.boolean(at + 3)?,
        dry_run: row.boolean(at + 4)?,
    })
}
