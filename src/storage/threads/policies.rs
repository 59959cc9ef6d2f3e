//! Stores retention policies, the rounds of the sweeper and their reports, with one SQL for both engines (`policy_rows.rs`).

use async_trait::async_trait;

use super::policy_rows::{self as rows, key, of_claim, owner};
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::names::at_most;
use crate::domain::tenants::audit::Act;
use crate::domain::threads::retention::{
    Claim, Policy, PolicyQuery, Progress, Pruned, Report, ReportQuery, Retained, Rule, Rules,
};
use crate::domain::threads::retention_storage::RetentionStorage;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, OWN_WORK, SqlRow, SqlValue};
use crate::storage::maintenance::background_tasks::Living;
use crate::storage::tenants::audit_rows::record as record_act;

/// An engine that removes what rules remove.
#[async_trait]
pub trait RetentionEngine: Accessible {
    /// Carries out [`RetentionStorage::retain_thread`].
    async fn retain(&self, claim: &Claim, thread_id: &str, now: Micros) -> Result<Retained>;

    /// Carries out [`TtlStorage::apply_rule`](crate::domain::threads::ttl::TtlStorage::apply_rule).
    async fn retain_by(&self, tenant: &str, thread_id: &str, rule: Rule) -> Result<Retained>;
}

/// A method without a comment on round trips takes one on PostgreSQL, but for the removal itself.
#[async_trait]
impl<T: RetentionEngine + Living> RetentionStorage for T {
    /// Round trips on PostgreSQL: begin, for a thread the count of others, the policy, the act, commit.
    async fn put_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        rules: &Rules,
        act: &Act,
    ) -> Result<Policy> {
        let (kind, thread) = key(thread_id);
        let [is_owned, owner] = owner(caller, thread_id, Action::Write);
        let mut access = self.begin_write_for(&caller.tenant).await?;
        if thread_id.is_some() {
            let binds =
                [caller.tenant.as_str().into(), thread.into(), is_owned.clone(), owner.clone()];
            // PostgreSQL locks nothing here: so many at the same time may pass the limit by as many.
            let counted = access.rows(rows::COUNT_OTHERS, &binds).await?;
            if let Err(refused) = check_others(&counted[0]) {
                access.end().await?;
                return Err(refused);
            }
        }
        let binds = [
            caller.tenant.as_str().into(),
            kind.into(),
            thread.into(),
            rules.expire_after_seconds.into(),
            rules.keep_last.map(i64::from).into(),
            rules.older_than_seconds.into(),
            rules.keep_interrupted.into(),
            rules.dry_run.into(),
            act.at.into(),
            is_owned,
            owner,
        ];
        let put = access.rows(rows::PUT, &binds).await?;
        if !put.is_empty() {
            record_act(access.as_mut(), act).await?;
        }
        access.end().await?;
        rows::read_policy(put.first().ok_or(Error::NotFound("thread"))?)
    }

    async fn get_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
    ) -> Result<Option<Policy>> {
        let binds = of_policy(caller, thread_id, Action::Read);
        let found = self.read_rows(&caller.tenant, rows::GET, &binds).await?;
        found.first().map(rows::read_policy).transpose()
    }

    async fn list_policies(&self, tenant: &str, query: &PolicyQuery) -> Result<Vec<Policy>> {
        let (kind, thread) = query.after.as_ref().map_or(("", ""), |it| key(it.thread_id.as_ref()));
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        let binds = [tenant.into(), kind.into(), thread.into(), limit.into()];
        let found = self.search_rows(tenant, rows::LIST, &binds).await?;
        found.iter().map(rows::read_policy).collect()
    }

    /// Round trips on PostgreSQL: begin, the policy, where there is one the act and the tenant's policy, commit.
    async fn delete_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        act: &Act,
    ) -> Result<()> {
        let binds = of_policy(caller, thread_id, Action::Write);
        let mut access = self.begin_write_for(&caller.tenant).await?;
        if !access.rows(rows::DELETE, &binds).await?.is_empty() {
            record_act(access.as_mut(), act).await?;
            access.rows(rows::LOOK_AGAIN, &[caller.tenant.as_str().into()]).await?;
        }
        access.end().await
    }

    async fn list_reports(&self, caller: &Caller, query: &ReportQuery) -> Result<Vec<Report>> {
        let [is_owned, owner] = owner(caller, query.thread_id.as_ref(), Action::Read);
        let after = query.after.as_ref();
        let binds = [
            caller.tenant.as_str().into(),
            query.thread_id.as_ref().map_or("", ThreadId::as_str).into(),
            after.map(|it| it.finished_at).into(),
            after.map_or("", |it| it.report_id.as_str()).into(),
            i64::try_from(query.limit).unwrap_or(i64::MAX).into(),
            is_owned,
            owner,
        ];
        let found = self.search_rows(&caller.tenant, rows::LIST_REPORTS, &binds).await?;
        found.iter().map(rows::read_report).collect()
    }

    async fn request_round(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        now: Micros,
    ) -> Result<u64> {
        let (kind, thread) = key(thread_id);
        let [is_owned, owner] = owner(caller, thread_id, Action::Write);
        let binds = [
            caller.tenant.as_str().into(),
            thread_id.map_or("", |_| kind).into(),
            thread.into(),
            now.into(),
            is_owned,
            owner,
        ];
        Ok(self.write_rows(&caller.tenant, rows::REQUEST, &binds).await?.len() as u64)
    }

    async fn claim_policy(&self, now: Micros, due_at: Micros) -> Result<Option<Claim>> {
        let token = random_hex();
        let until = now + rows::CLAIM_HELD;
        let binds = [now.into(), due_at.into(), token.as_str().into(), until.into()];
        let text = self.dialect().fill(rows::CLAIM);
        let claimed = self.write_rows(OWN_WORK, &text, &binds).await?;
        claimed.first().map(|row| rows::read_claim(row, token)).transpose()
    }

    async fn list_claimed_threads(&self, claim: &Claim, limit: usize) -> Result<Vec<String>> {
        let (expire_before, keep_last, unchanged_since) = rows::candidates(claim);
        let mut binds = vec![
            SqlValue::from(claim.tenant.as_str()),
            claim.last_thread_id.as_str().into(),
            expire_before.into(),
            keep_last.into(),
            unchanged_since.into(),
            i64::try_from(limit).unwrap_or(i64::MAX).into(),
        ];
        let own = claim.thread_id.as_deref();
        binds.extend(own.map(SqlValue::from));
        let text = if own.is_some() { rows::LIST_ONE_THREAD } else { rows::LIST_THREADS };
        let found = self.read_rows(OWN_WORK, text, &binds).await?;
        found.iter().map(|row| row.text(0).map(str::to_owned)).collect()
    }

    async fn retain_thread(&self, claim: &Claim, thread_id: &str, now: Micros) -> Result<Retained> {
        self.retain(claim, thread_id, now).await
    }

    async fn advance_claim(&self, claim: &Claim, progress: &Progress, now: Micros) -> Result<bool> {
        let (done, removed) = (&progress.done, &progress.done.removed);
        let binds = [
            (now + rows::CLAIM_HELD).into(),
            progress.last_thread_id.as_str().into(),
            done.examined.into(),
            done.expired.into(),
            done.pruned.into(),
            done.skipped.into(),
            done.errors.into(),
            removed.checkpoints.into(),
            removed.writes.into(),
            removed.values.into(),
            removed.size_bytes.into(),
            removed.stored_bytes.into(),
            progress.last_error.unwrap_or_default().into(),
        ];
        let held = self.write_rows(OWN_WORK, rows::ADVANCE, &of_claim(claim, &binds)).await?;
        Ok(!held.is_empty())
    }

    /// Round trips on PostgreSQL: begin, the report, the one before it, an expired thread's policy, the round, commit.
    async fn finish_claim(&self, claim: &Claim, now: Micros) -> Result<bool> {
        let report_id = SqlValue::Text(random_hex());
        let mut access = self.begin_write_for(OWN_WORK).await?;
        let report = of_claim(claim, &[now.into(), report_id.clone()]);
        let held = !access.rows(rows::REPORT, &report).await?.is_empty();
        if held {
            let replace = [&report[..3], &[report_id]].concat();
            access.rows(rows::REPLACE_REPORT, &replace).await?;
            access.rows(rows::FORGET_EXPIRED, &of_claim(claim, &[])).await?;
            let end = of_claim(claim, &[rows::swept_to(claim).into()]);
            access.rows(rows::END_ROUND, &end).await?;
        }
        access.end().await?;
        Ok(held)
    }

    async fn expire_reports(&self, before: Micros) -> Result<()> {
        self.write_rows(OWN_WORK, rows::EXPIRE_REPORTS, &[before.into()]).await.map(drop)
    }
}

/// Counts what a thread's removal did in the round that it belongs to, in the removal's transaction. False: the round must not do it.
///
/// # Errors
/// A database that cannot be written.
pub async fn record(
    access: &mut dyn Access,
    round: Option<(&Claim, Micros)>,
    thread_id: &str,
    pruned: &Pruned,
    is_last: bool,
) -> Result<bool> {
    let Some((claim, now)) = round else { return Ok(true) };
    let (expired, whole) = rows::threads_of(pruned, is_last);
    let removed = &pruned.removed;
    let binds = [
        (now + rows::CLAIM_HELD).into(),
        expired.into(),
        whole.into(),
        removed.checkpoints.into(),
        removed.writes.into(),
        removed.values.into(),
        removed.size_bytes.into(),
        removed.stored_bytes.into(),
        thread_id.into(),
    ];
    Ok(!access.rows(rows::RECORD, &of_claim(claim, &binds)).await?.is_empty())
}

/// A thread that is deleted by a call takes its policy along.
///
/// # Errors
/// A database that cannot be written.
pub async fn forget_policy(access: &mut dyn Access, tenant: &str, thread_id: &str) -> Result<()> {
    let key = [tenant, "thread", thread_id].map(SqlValue::from);
    let binds = [&key[..], &rows::any_owner()].concat();
    access.rows(rows::DELETE, &binds).await.map(drop)
}

/// Binds $1 to $5 of [`rows::GET`] and [`rows::DELETE`].
fn of_policy(caller: &Caller, thread_id: Option<&ThreadId>, action: Action) -> Vec<SqlValue> {
    let (kind, thread) = key(thread_id);
    let key = [caller.tenant.as_str(), kind, thread].map(SqlValue::from);
    [&key[..], &owner(caller, thread_id, action)].concat()
}

/// Whether a thread may get a policy, from [`rows::COUNT_OTHERS`].
fn check_others(counted: &SqlRow) -> Result<()> {
    if !counted.boolean(1)? {
        return Err(Error::NotFound("thread"));
    }
    let policies = usize::try_from(counted.integer(0)? + 1).unwrap_or(usize::MAX);
    at_most("thread_id", policies, LIMITS.thread_policies_max)
}
