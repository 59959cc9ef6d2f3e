//! Deletes the checkpoints of runs: one transaction per thread.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{AssertSqlSafe, Row};

use super::reading::Walked;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::scheduling::read_memory::UNCOUNTED;
use crate::domain::tokens::grants::Action;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::threads::postgres::removal::{begin, carry_out, check, key_of, lock};
use crate::storage::threads::postgres::retention_estimate::{ThreadKeys, stored_rows};
use crate::storage::threads::retention::without;
use crate::storage::threads::thread_filter::{OwnedThread, SHOWN, ThreadFilter, Way};

/// $1 tenant, $2 run ids; the ways in follow.
const OF_RUNS: &str = "
select t.thread_id, c.ns, c.checkpoint_id from checkpoints c
join threads t on t.tenant = c.tenant and t.thread_key = c.thread_key
where c.tenant = $1 and c.run_id = any ($2)";

/// $3 owner, $4 ids, $5 and $6 where prefixes begin and end.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "t.owner = $3",
        Way::Exact => "t.thread_id = any ($4)",
        Way::Prefix => {
            "exists (select from unnest($5::text[], $6::text[]) r (first, last) \
             where t.thread_id >= r.first and t.thread_id < r.last)"
        }
    }
}

impl PostgresStorage {
    pub(in crate::storage) async fn remove_runs(
        &self,
        caller: &Caller,
        run_ids: &[String],
    ) -> Result<()> {
        let listed = ThreadFilter::by(caller, Action::Write);
        let text =
            format!("{OF_RUNS} and {SHOWN}{} order by t.thread_id", listed.condition(way_in));
        let rows = sqlx::query(AssertSqlSafe(text))
            .bind(&caller.tenant)
            .bind(run_ids)
            .bind(listed.owner)
            .bind(listed.exact)
            .bind(listed.firsts)
            .bind(listed.ends)
            .fetch_all(&mut *self.pool.get_for(&caller.tenant).await?)
            .await?;
        let mut threads: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        for row in rows {
            threads
                .entry(row.get("thread_id"))
                .or_default()
                .insert((row.get("ns"), row.get("checkpoint_id")));
        }
        for (thread_id, doomed) in threads {
            self.remove_checkpoints(caller, &thread_id, &doomed).await?;
        }
        Ok(())
    }

    /// A thread that is gone is no error.
    async fn remove_checkpoints(
        &self,
        caller: &Caller,
        thread_id: &str,
        doomed: &BTreeSet<(String, String)>,
    ) -> Result<()> {
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        loop {
            let thread = OwnedThread::by(caller, thread_id, Action::Write);
            let removed = self.try_removal(thread, doomed, (&secret, &prefetch)).await;
            if prefetch.is_complete() {
                return removed;
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    /// Changes nothing where the prefetch lacks content.
    async fn try_removal(
        &self,
        thread: OwnedThread<'_>,
        doomed: &BTreeSet<(String, String)>,
        (secret, prefetch): (&TenantSecret, &PackPrefetch),
    ) -> Result<()> {
        let (tenant, thread_id) = (thread.tenant, thread.thread_id);
        let mut connection = self.pool.get_for(tenant).await?;
        let mut transaction = begin(&mut connection).await?;
        if let Some(locked) = lock(&mut transaction, thread).await? {
            check(&locked, None, None)?;
            locked.check_mac(secret)?;
            let (thread_key, scope_id) = (locked.thread_key, locked.scope_id);
            let rows =
                stored_rows(&mut transaction, secret, ThreadKeys { tenant, thread_key, scope_id })
                    .await?;
            let plan = without(&rows, doomed, &key_of(secret));
            if plan.removed > 0 {
                let place = Walked {
                    tenant,
                    thread_id,
                    scope_id,
                    large_values: LargeValues::Whole,
                    memory: &UNCOUNTED,
                };
                let plan_and_prefetch = (&plan, prefetch);
                let bases =
                    self.make_bases(&mut transaction, secret, place, plan_and_prefetch).await?;
                if !prefetch.is_complete() {
                    transaction.rollback().await?;
                    return Ok(());
                }
                carry_out(&mut transaction, tenant, &locked, &plan, bases).await?;
            }
        }
        transaction.commit().await?;
        Ok(())
    }
}
