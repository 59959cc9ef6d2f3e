//! Deleting the checkpoints of runs: one transaction per thread.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Row;

use super::removal::{begin, carry_out, check, key_of, lock, stored_rows};
use super::{PostgresStorage, failure};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::storage::retention::without;

impl PostgresStorage {
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
        let tenant = caller.tenant.as_str();
        let mut connection = self.pool.get().await?;
        let mut transaction = begin(&mut connection).await?;
        if let Some(gate) = lock(&mut transaction, tenant, thread_id).await? {
            check(&gate, None, None)?;
            let rows = stored_rows(&mut transaction, &secret, tenant, gate.thread_key).await?;
            let plan = without(&rows, doomed, &key_of(&secret));
            if plan.removed > 0 {
                let place = (tenant, thread_id);
                let bases = self.make_bases(&mut transaction, &secret, place, &plan).await?;
                carry_out(&mut transaction, tenant, &gate, &plan, bases).await?;
            }
        }
        transaction.commit().await.map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(())
    }
}
