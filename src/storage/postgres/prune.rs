//! Pruning threads and deleting runs: one transaction per thread.

use std::collections::BTreeSet;

use sqlx::Row;

use super::removal::{Gate, begin, check, key_of, lock, stored_rows};
use super::{PostgresStorage, failure};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::checkpoint::PruneStrategy;
use crate::domain::names::ThreadId;
use crate::domain::storage::DeleteThread;
use crate::storage::objects::shelf::Shelf;
use crate::storage::retention::{Plan, Stored, keep_latest, without};

/// From the stored checkpoints and the keys of channels to what stays.
type Decide<'a> = dyn Fn(&[Stored], &dyn Fn(&str) -> i64) -> Plan + Sync + 'a;

impl PostgresStorage {
    pub(super) async fn prune(
        &self,
        caller: &Caller,
        thread_ids: &[ThreadId],
        strategy: PruneStrategy,
    ) -> Result<()> {
        for thread_id in thread_ids {
            match strategy {
                PruneStrategy::Delete => {
                    let request = DeleteThread {
                        thread_id: thread_id.clone(),
                        generation: None,
                        fence: None,
                    };
                    self.remove_thread(caller, &request).await?;
                }
                PruneStrategy::KeepLatest => {
                    self.remove_planned(caller, thread_id.as_str(), &|rows, key| {
                        keep_latest(rows, key)
                    })
                    .await?;
                }
            }
        }
        Ok(())
    }

    pub(super) async fn remove_runs(&self, caller: &Caller, run_ids: &[String]) -> Result<()> {
        let mut connection = self.pool.get().await?;
        let rows = sqlx::query(
            "select t.thread_id, c.ns, c.checkpoint_id from checkpoints c
             join threads t on t.tenant = c.tenant and t.thread_key = c.thread_key
             where c.tenant = $1 and c.run_id = any ($2) order by t.thread_id",
        )
        .bind(&caller.tenant)
        .bind(run_ids)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
        connection.release();
        let mut threads: std::collections::BTreeMap<String, BTreeSet<(String, String)>> =
            std::collections::BTreeMap::new();
        for row in rows {
            threads
                .entry(row.get("thread_id"))
                .or_default()
                .insert((row.get("ns"), row.get("checkpoint_id")));
        }
        for (thread_id, doomed) in threads {
            self.remove_planned(caller, &thread_id, &|rows, key| without(rows, &doomed, key))
                .await?;
        }
        Ok(())
    }

    /// Locks a thread, lets `decide` say what stays, and carries it out. A thread that is gone is no error.
    async fn remove_planned(
        &self,
        caller: &Caller,
        thread_id: &str,
        decide: &Decide<'_>,
    ) -> Result<()> {
        let secret: TenantSecret = self.secret(&caller.tenant).await?;
        let shelf = Shelf::default();
        loop {
            let removed = self.try_removal(caller, &secret, thread_id, (decide, &shelf)).await;
            if shelf.is_complete() {
                return removed;
            }
            shelf.restock(self.objects.as_deref(), &secret).await?;
        }
    }

    async fn try_removal(
        &self,
        caller: &Caller,
        secret: &TenantSecret,
        thread_id: &str,
        (decide, shelf): (&Decide<'_>, &Shelf),
    ) -> Result<()> {
        let tenant = caller.tenant.as_str();
        let mut connection = self.pool.get().await?;
        let mut transaction = begin(&mut connection).await?;
        let gate: Option<Gate> = lock(&mut transaction, tenant, thread_id).await?;
        if let Some(gate) = gate {
            check(&gate, None, None)?;
            let rows = stored_rows(&mut transaction, secret, tenant, &gate).await?;
            let plan = decide(&rows, &key_of(secret));
            if plan.removed > 0 {
                self.carry_out(&mut transaction, secret, tenant, &gate, (&plan, shelf)).await?;
            }
        }
        transaction.commit().await.map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(())
    }
}
