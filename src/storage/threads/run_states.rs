//! Stores the states of threads that were derived from their checkpoints, with one SQL for both engines.

use std::ops::Bound;

use async_trait::async_trait;
use serde_json::json;

use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::threads::run_state::{
    Derived, FirstMessage, KeptState, RunState, RunStateStorage, SeenThread, StalePosition,
    StaleThread,
};
use crate::storage::db::access::{OWN_WORK, SqlRow};
use crate::storage::sessions::SessionEngine;
use crate::storage::threads::derived_details::{list_wrong_values, put_derived_details};
use crate::storage::threads::derived_rows::{PutDerived, ROW_OF_ID, limit_value, put_derived};
use crate::storage::threads::thread_filter::SHOWN;

const COLUMNS: &str = "tenant, thread_id, thread_key, updated_at, checkpoint_count, size_bytes, cast(title_misses as bigint)";

/// $1 tenant, $2 thread key, $3 limit.
const LIST_STALE: &str = "
select {columns} from threads where {tenant_in_index} = $1 and is_stale and {shown} and thread_key > $2
order by thread_key limit $3";

/// $1 the derived states, $2 tenant. A thread that changed since takes a state that is newer than its own, and stays stale. Rows are looked
/// up as in [`super::aliases`].
const PUT: &str = "
with d as materialized (
    select cast($2 as text) as tenant, cast(j.value ->> 0 as bigint) as thread_key, j.value ->> 1 as thread_id,
        cast(j.value ->> 2 as bigint) as updated_at, cast(j.value ->> 3 as bigint) as checkpoint_count,
        cast(j.value ->> 4 as bigint) as size_bytes, cast(j.value ->> 5 as integer) as state,
        cast(j.value ->> 6 as integer) as misses, cast(j.value ->> 7 as integer) as has_values
    {from_each}
), f as materialized (select d.* from d {free})
update threads set run_state = f.state,
    run_at = case when f.updated_at > run_of and f.updated_at > run_at then f.updated_at else run_at end,
    run_of = f.updated_at,
    values_of = case when f.has_values > 0 then f.updated_at else f.has_values end,
    title_misses = case when f.misses < 0 then -1 when title_misses < 0 then title_misses else title_misses + f.misses end,
    is_stale = not (threads.updated_at = f.updated_at and threads.checkpoint_count = f.checkpoint_count
        and threads.size_bytes = f.size_bytes)
from f
where threads.tenant = f.tenant and threads.thread_id = f.thread_id and threads.thread_key = f.thread_key
    and threads.is_stale and f.thread_id = f.thread_id || ''
    and (f.updated_at > run_of or (threads.updated_at = f.updated_at and threads.checkpoint_count = f.checkpoint_count
        and threads.size_bytes = f.size_bytes))
returning threads.thread_key";

/// Short values of these were never read, or not kept because somebody wrote to the thread.
const UNREAD: &str = "values_of <> run_of and values_of = 0 and not is_stale and {shown}";

/// $1 limit.
const MARK_UNREAD: &str = "
update threads set is_stale = true where (tenant, thread_id) in (
    select tenant, thread_id from threads where {unread} limit $1 {skip_locked})
returning 1";

/// Rows that nobody else writes to.
const FREE: &str = "{probe} {skip_locked}";

#[async_trait]
impl<T: SessionEngine> RunStateStorage for T {
    /// One round trip.
    async fn list_stale_threads(
        &self,
        tenant: &str,
        after_key: i64,
        limit: usize,
    ) -> Result<Vec<StaleThread>> {
        let text = LIST_STALE.replace("{columns}", COLUMNS).replace("{shown}", SHOWN);
        let binds = [tenant.into(), after_key.into(), limit_value(limit)];
        let rows = self.read_rows(tenant, &self.dialect().fill(&text), &binds).await?;
        rows.iter().map(read).collect()
    }

    /// One round trip.
    async fn list_quiet_stale_threads(
        &self,
        (tenant, after_key): &StalePosition,
        changed_before: Micros,
        limit: usize,
    ) -> Result<Vec<StaleThread>> {
        let text = format!(
            "select {COLUMNS} from threads where is_stale and {SHOWN} and updated_at < $3
                and ({{tenant_in_index}}, thread_key) > ($1, $2)
             order by {{tenant_in_index}}, thread_key limit $4"
        );
        let binds = [
            tenant.as_str().into(),
            (*after_key).into(),
            changed_before.into(),
            limit_value(limit),
        ];
        let rows = self.read_rows(OWN_WORK, &self.dialect().fill(&text), &binds).await?;
        rows.iter().map(read).collect()
    }

    /// One round trip.
    async fn list_run_states(
        &self,
        from: Bound<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<KeptState>> {
        let (operator, (tenant, thread_id)) = match from {
            Bound::Included(place) => (">=", place),
            Bound::Excluded(place) => (">", place),
            Bound::Unbounded => (">=", ("", "")),
        };
        let text = format!(
            "select {COLUMNS}, cast(run_state as bigint), cast(values_of = run_of as integer) from threads
             where not is_stale and {SHOWN} and (tenant, thread_id) {operator} ($1, $2) order by tenant, thread_id limit $3"
        );
        let binds = [tenant.into(), thread_id.into(), limit_value(limit)];
        let rows = self.read_rows(OWN_WORK, &text, &binds).await?;
        let kept = |row: &SqlRow| {
            let (thread, state) = (read(row)?, RunState::of_number(row.integer(7)?));
            Ok(KeptState { thread, state, has_values: row.integer(8)? != 0 })
        };
        rows.iter().map(kept).collect()
    }

    /// One round trip, none where no thread is given.
    async fn list_wrong_values(&self, tenant: &str, derived: &[&Derived]) -> Result<Vec<i64>> {
        list_wrong_values(self, tenant, derived).await
    }

    /// One round trip.
    async fn count_stale_threads(&self, limit: u64) -> Result<u64> {
        let text = format!(
            "select count(*) from (select 1 from threads where is_stale and {SHOWN} limit $1) stale"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX).into();
        let rows = self.read_rows(OWN_WORK, &text, &[limit]).await?;
        rows.first().map_or(Ok(0), |it| Ok(it.integer(0)?.unsigned_abs()))
    }

    /// One round trip.
    async fn mark_stale(&self, tenant: &str, thread_key: i64) -> Result<()> {
        let text = "update threads set is_stale = true
            where {tenant_in_index} = $1 and thread_key = $2 returning thread_key";
        let binds = [tenant.into(), thread_key.into()];
        self.write_rows(tenant, &self.dialect().fill(text), &binds).await.map(drop)
    }

    /// One round trip; three more where there are such threads.
    async fn mark_unread_stale(&self, limit: usize) -> Result<usize> {
        let unread = UNREAD.replace("{shown}", SHOWN);
        let any = format!("select 1 from threads where {unread} limit 1");
        if self.read_rows(OWN_WORK, &any, &[]).await?.is_empty() {
            return Ok(0);
        }
        let mut access = self.begin_write().await?;
        let text = self.dialect().fill(&MARK_UNREAD.replace("{unread}", &unread));
        let marked = access.rows(&text, &[limit_value(limit)]).await?;
        access.end().await?;
        Ok(marked.len())
    }

    /// One round trip; one more for each thread that is being written to; one for details, and five more where those change.
    async fn put_run_states(&self, tenant: &str, derived: &[Derived]) -> Result<()> {
        let details = put_derived_details(self, tenant, derived).await?;
        let derived: Vec<&Derived> =
            derived.iter().filter(|it| !details.left.contains(&it.seen.thread_key)).collect();
        let probe = self.dialect().probe("x.thread_key", "threads", "x", ROW_OF_ID);
        let among = |free: &str| PUT.replace("{free}", free).replace("{probe}", &probe);
        let statement = PutDerived { free: among(FREE), any: among("") };
        let row = |it: &&Derived| {
            let Derived { thread_id, seen, state, first_message, short_values, .. } = it;
            let SeenThread { thread_key, updated_at, checkpoint_count, size_bytes } = *seen;
            let misses = match first_message {
                FirstMessage::Unread => 0,
                FirstMessage::Absent => 1,
                FirstMessage::Found(_) => -i64::from(details.titled.contains(&thread_key)),
            };
            let state = state.number();
            let has_values = match short_values {
                None => -1,
                Some(_) if details.damaged.contains(&thread_key) => -1,
                Some(_) => i64::from(details.kept_values.contains(&thread_key)),
            };
            let seen = json!([
                thread_key,
                thread_id,
                updated_at,
                checkpoint_count,
                size_bytes,
                state,
                misses,
                has_values
            ]);
            (thread_key, seen)
        };
        put_derived(self, tenant, &statement, &derived, row).await
    }
}

fn read(row: &SqlRow) -> Result<StaleThread> {
    Ok(StaleThread {
        tenant: row.text(0)?.to_owned(),
        thread_id: row.text(1)?.to_owned(),
        seen: SeenThread {
            thread_key: row.integer(2)?,
            updated_at: row.integer(3)?,
            checkpoint_count: row.integer(4)?,
            size_bytes: row.integer(5)?,
        },
        title_misses: row.integer(6)?,
    })
}
