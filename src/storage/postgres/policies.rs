//! Stores retention policies, the rounds of the sweeper and their reports.

use async_trait::async_trait;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres, Row};

use super::PostgresStorage;
use super::audit::record as record_act;
use super::connection::Connection;
use crate::domain::audit::Act;
use crate::domain::caller::Caller;
use crate::domain::checkpoint::at_most;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::grants::Action;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::retention::{
    Claim, Policy, Progress, Pruned, Report, ReportQuery, Retained, Rules,
};
use crate::domain::storage::RetentionStorage;
use crate::domain::{Error, Result};
use crate::storage::policy_rows::{self as rows, claim_key, key, owner};

/// Servers take different rows and none waits for another.
const WHICH: &str = "
    select tenant, kind, thread_id from retention_policies
    where (due_at <= $1 or round_started_at is not null) and (claimed_until is null or claimed_until <= $1)
    order by due_at limit 1 for update skip locked)";

#[async_trait]
impl RetentionStorage for PostgresStorage {
    async fn put_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        rules: &Rules,
        act: &Act,
    ) -> Result<Policy> {
        let (kind, thread) = key(thread_id);
        let owner = owner(caller, thread_id, Action::Write);
        let mut connection = self.pool.get().await?;
        if thread_id.is_some() {
            // Not locked: so many at the same time may pass the limit by as many.
            let counted = sqlx::query(rows::COUNT_OTHERS).bind(&caller.tenant).bind(thread);
            let counted = counted.bind(owner).fetch_one(&mut *connection).await?;
            let policies = usize::try_from(counted.get::<i64, _>("others") + 1);
            let policies = policies.unwrap_or(usize::MAX);
            let refused = if counted.get("is_reached") {
                at_most("thread_id", policies, LIMITS.thread_policies_max)
            } else {
                Err(Error::NotFound("thread"))
            };
            if let Err(error) = refused {
                return Err(error);
            }
        }
        let mut transaction = connection.begin().await?;
        let row = sqlx::query(rows::PUT)
            .bind(&caller.tenant)
            .bind(kind)
            .bind(thread)
            .bind(rules.expire_after_seconds)
            .bind(rules.keep_last.map(i64::from))
            .bind(rules.older_than_seconds)
            .bind(rules.keep_interrupted)
            .bind(rules.dry_run)
            .bind(act.at)
            .bind(owner)
            .fetch_optional(&mut *transaction)
            .await?;
        if row.is_some() {
            record_act(&mut transaction, act).await?;
        }
        transaction.commit().await?;
        drop(connection);
        rows::read_policy(&row.ok_or(Error::NotFound("thread"))?).map_err(Error::from)
    }

    async fn get_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
    ) -> Result<Option<Policy>> {
        let (kind, thread) = key(thread_id);
        let row = sqlx::query(rows::GET)
            .bind(&caller.tenant)
            .bind(kind)
            .bind(thread)
            .bind(owner(caller, thread_id, Action::Read))
            .fetch_optional(&mut *self.pool.get().await?)
            .await?;
        row.as_ref().map(rows::read_policy).transpose().map_err(Error::from)
    }

    async fn delete_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        act: &Act,
    ) -> Result<()> {
        let (kind, thread) = key(thread_id);
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await?;
        let delete = sqlx::query(rows::DELETE).bind(&caller.tenant).bind(kind).bind(thread);
        let delete = delete.bind(owner(caller, thread_id, Action::Write));
        let deleted = delete.execute(&mut *transaction).await?;
        if deleted.rows_affected() > 0 {
            record_act(&mut transaction, act).await?;
            let again = sqlx::query(rows::LOOK_AGAIN).bind(&caller.tenant);
            again.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    async fn list_reports(&self, caller: &Caller, query: &ReportQuery) -> Result<Vec<Report>> {
        let found = sqlx::query(rows::LIST_REPORTS)
            .bind(&caller.tenant)
            .bind(query.thread_id.as_ref().map(ThreadId::as_str))
            .bind(query.after.as_ref().map(|it| it.finished_at))
            .bind(query.after.as_ref().map(|it| it.report_id.as_str()))
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .bind(owner(caller, query.thread_id.as_ref(), Action::Read))
            .fetch_all(&mut *self.pool.get().await?)
            .await?;
        found.iter().map(|row| rows::read_report(row).map_err(Error::from)).collect()
    }

    async fn request_round(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        now: Micros,
    ) -> Result<u64> {
        let (kind, thread) = key(thread_id);
        let done = sqlx::query(rows::REQUEST)
            .bind(&caller.tenant)
            .bind(thread_id.map(|_| kind))
            .bind(thread)
            .bind(now)
            .bind(owner(caller, thread_id, Action::Write))
            .execute(&mut *self.pool.get().await?)
            .await?;
        Ok(done.rows_affected())
    }

    async fn claim_policy(&self, now: Micros, due_at: Micros) -> Result<Option<Claim>> {
        let text = format!("{}{WHICH}{}", rows::CLAIM_SET, rows::CLAIM_RETURNING);
        let token = random_hex();
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(now)
            .bind(due_at)
            .bind(&token)
            .bind(now + rows::CLAIM_HELD)
            .fetch_optional(&mut *self.pool.get().await?)
            .await?;
        row.map(|row| rows::read_claim(&row, &token)).transpose().map_err(Error::from)
    }

    async fn list_claimed_threads(&self, claim: &Claim, limit: usize) -> Result<Vec<String>> {
        let (expire_before, keep_last, unchanged_since) = rows::candidates(claim);
        let own = claim.thread_id.as_deref();
        let text = if own.is_some() { rows::LIST_ONE_THREAD } else { rows::LIST_THREADS };
        let mut query = sqlx::query(text)
            .bind(&claim.tenant)
            .bind(&claim.last_thread_id)
            .bind(expire_before)
            .bind(keep_last)
            .bind(unchanged_since)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        if let Some(thread_id) = own {
            query = query.bind(thread_id);
        }
        let found = query.fetch_all(&mut *self.pool.get().await?).await?;
        Ok(found.iter().map(|row: &PgRow| row.get("thread_id")).collect())
    }

    async fn retain_thread(&self, claim: &Claim, thread_id: &str, now: Micros) -> Result<Retained> {
        self.clear_pool_on_loss(self.retain(claim, thread_id, now).await)
    }

    async fn advance_claim(&self, claim: &Claim, progress: &Progress, now: Micros) -> Result<bool> {
        let (done, removed) = (&progress.done, &progress.done.removed);
        let query = of_claim(rows::ADVANCE, claim)
            .bind(now + rows::CLAIM_HELD)
            .bind(&progress.last_thread_id)
            .bind(done.examined)
            .bind(done.expired)
            .bind(done.pruned)
            .bind(done.skipped)
            .bind(done.errors)
            .bind(removed.checkpoints)
            .bind(removed.writes)
            .bind(removed.values)
            .bind(removed.size_bytes)
            .bind(removed.stored_bytes)
            .bind(progress.last_error);
        let done = query.execute(&mut *self.pool.get().await?).await?;
        Ok(done.rows_affected() > 0)
    }

    async fn finish_claim(&self, claim: &Claim, now: Micros) -> Result<bool> {
        let (report_id, (kind, thread)) = (random_hex(), claim_key(claim.thread_id.as_deref()));
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await?;
        let report = of_claim(rows::REPORT, claim).bind(now).bind(&report_id);
        let reported = report.execute(&mut *transaction).await?;
        let held = reported.rows_affected() > 0;
        if held {
            let replace = sqlx::query(rows::REPLACE_REPORT).bind(&claim.tenant).bind(kind);
            let replace = replace.bind(thread).bind(&report_id);
            replace.execute(&mut *transaction).await?;
            let forget = of_claim(rows::FORGET_EXPIRED, claim);
            forget.execute(&mut *transaction).await?;
            let end = of_claim(rows::END_ROUND, claim).bind(rows::swept_to(claim));
            end.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(held)
    }

    async fn expire_reports(&self, before: Micros) -> Result<()> {
        let expire = sqlx::query(rows::EXPIRE_REPORTS).bind(before);
        expire.execute(&mut *self.pool.get().await?).await?;
        Ok(())
    }
}

/// Counts what a thread's removal did in the round that it belongs to. False: the round must not do it.
pub(super) async fn record(
    connection: &mut Connection,
    round: Option<(&Claim, Micros)>,
    thread_id: &str,
    pruned: &Pruned,
    is_last: bool,
) -> Result<bool> {
    let Some((claim, now)) = round else { return Ok(true) };
    let (expired, whole) = rows::threads_of(pruned, is_last);
    let removed = &pruned.removed;
    let done = of_claim(rows::RECORD, claim)
        .bind(now + rows::CLAIM_HELD)
        .bind(expired)
        .bind(whole)
        .bind(removed.checkpoints)
        .bind(removed.writes)
        .bind(removed.values)
        .bind(removed.size_bytes)
        .bind(removed.stored_bytes)
        .bind(thread_id)
        .execute(connection)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// A thread that is deleted by a call takes its policy along.
pub(super) async fn forget_policy(
    connection: &mut Connection,
    tenant: &str,
    thread_id: &str,
) -> Result<()> {
    let delete = sqlx::query(rows::DELETE).bind(tenant).bind("thread").bind(thread_id);
    let delete = delete.bind(None::<&str>);
    delete.execute(connection).await?;
    Ok(())
}

/// Binds $1 to $4.
fn of_claim<'a>(text: &'static str, claim: &'a Claim) -> Query<'a, Postgres, PgArguments> {
    let (kind, thread) = claim_key(claim.thread_id.as_deref());
    sqlx::query(text).bind(&claim.tenant).bind(kind).bind(thread).bind(&claim.token)
}
