//! Reads the threads that changed lately, with one SQL for both engines: no commit writes anything for it.

use async_trait::async_trait;

use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::threads::changes::{ThreadChange, ThreadChangeKind, ThreadChangeStorage};
use crate::domain::threads::run_state::{Run, RunState};
use crate::storage::db::access::SqlRow;
use crate::storage::sessions::SessionEngine;
use crate::storage::threads::derived_rows::limit_value;
use crate::storage::threads::status_conditions::is_leased;
use crate::storage::threads::thread_filter::SHOWN;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 time, $3 limit. Each part goes through an index from its newest row on: what is not derived yet, what is, and what is gone.
const LIST: &str = "
select thread_id, owner, mac, generation, thread_key, scope_id, at, state, run_at, stale, leased, misses from (
    select * from (select {thread}, updated_at as at, 1 as stale from threads
        where {tenant_in_index} = $1 and is_stale and {shown} and updated_at >= $2 order by updated_at desc limit $3) a
    union all
    select * from (select {thread}, run_of as at, 0 as stale from threads
        where {tenant_in_index} = $1 and not is_stale and {shown} and run_of >= $2 order by run_of desc limit $3) b
    union all
    select * from (select {gone}, deleted_at as at, 0 as stale from thread_tombstones
        where {tenant_in_index} = $1 and {shown} and deleted_at >= $2 order by deleted_at desc limit $3) c
) changed order by at desc limit $3";
const THREAD: &str =
    "thread_id, owner, mac, generation, thread_key, scope_id, cast(run_state as bigint) as state,
    run_at, cast({leased} as integer) as leased, cast(title_misses as bigint) as misses";
const GONE: &str = "thread_id, owner, cast(null as bytea) as mac, generation, 0 as thread_key, 0 as scope_id, -1 as state,
    0 as run_at, 0 as leased, 0 as misses";

#[async_trait]
impl<T: SessionEngine> ThreadChangeStorage for T {
    /// One round trip.
    async fn list_changed_threads(
        &self,
        tenant: &str,
        since: Micros,
        limit: usize,
    ) -> Result<Vec<ThreadChange>> {
        let thread = THREAD.replace("{leased}", &is_leased("{now}"));
        let text = LIST.replace("{thread}", &thread).replace("{gone}", GONE);
        let text = self.dialect().fill(&text.replace("{shown}", SHOWN));
        let binds = [tenant.into(), since.into(), limit_value(limit)];
        let rows = self.read_rows(tenant, &text, &binds).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let secret = self.session_secret(tenant).await?;
        let mut changes = Vec::with_capacity(rows.len());
        for row in &rows {
            let change = read(row)?;
            let ids = (row.integer(4)?, row.integer(5)?);
            let owned = OwnerRow::thread(&change.thread_id, ids, change.owner.as_deref());
            let is_gone = change.kind == ThreadChangeKind::Delete;
            // One row that somebody has changed in the database must not end the feed of a tenant.
            if is_gone || owned.check(&secret, row.optional_bytes(2)?).is_ok() {
                changes.push(change);
            }
        }
        Ok(changes)
    }
}

fn read(row: &SqlRow) -> Result<ThreadChange> {
    let state = row.integer(7)?;
    let run = Run {
        thread_key: row.integer(4)?,
        state: RunState::of_number(state),
        changed_at: row.integer(8)?,
        is_stale: row.integer(9)? != 0,
        is_leased: row.integer(10)? != 0,
        title_misses: row.integer(11)?,
        ..Run::default()
    };
    Ok(ThreadChange {
        thread_id: row.text(0)?.to_owned(),
        owner: row.optional_text(1)?.map(str::to_owned),
        generation: row.text(3)?.to_owned(),
        at: row.integer(6)?,
        kind: if state < 0 { ThreadChangeKind::Delete } else { ThreadChangeKind::Update(run) },
    })
}
