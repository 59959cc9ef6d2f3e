//! Deletes the checkpoints of runs: one transaction per thread.

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

use super::bases::{make_bases, read_stored, recount};
use super::history::Ground;
use super::views::Tenant;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::random_id;
use crate::domain::tokens::grants::Action;
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::{RowSet, ids_json, prefixes_json};
use crate::storage::threads::retention;
use crate::storage::threads::sqlite::thread_row::read_thread_row;
use crate::storage::threads::thread_filter::{OwnedThread, SHOWN, ThreadFilter, Way};

/// $1 tenant, $2 run ids; the ways in follow.
const OF_RUNS: &str = "
select distinct t.thread_id
from jsonb_each($2) j
cross join checkpoints c on c.tenant = $1 and c.run_id = j.value
cross join threads t on t.tenant = $1 and t.thread_key = c.thread_key
where true";

/// $3 owner, $4 ids, $5 prefixes.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "t.owner = $3",
        Way::Exact => "t.thread_id in (select value from json_each($4))",
        Way::Prefix => {
            "exists (select 1 from jsonb_each($5) r
                where t.thread_id >= r.value ->> 0 and t.thread_id < r.value ->> 1)"
        }
    }
}

impl SqliteStorage {
    /// A thread whose lease is held fails the call before anything of it is removed; threads before it, in the
    /// order of their ids, are done then.
    pub(in crate::storage) async fn remove_runs(
        &self,
        caller: &Caller,
        run_ids: &[String],
    ) -> Result<()> {
        if run_ids.is_empty() {
            return Ok(());
        }
        let secret = self.secret(&caller.tenant).await?;
        let runs = json!(run_ids).to_string();
        let mut read = self.connections.begin_read().await?;
        let listed = ThreadFilter::by(caller, Action::Write);
        let text =
            format!("{OF_RUNS} and {SHOWN}{} order by t.thread_id", listed.condition(way_in));
        let threads = sqlx::query(AssertSqlSafe(text))
            .bind(&caller.tenant)
            .bind(&runs)
            .bind(&listed.owner)
            .bind(ids_json(&listed))
            .bind(prefixes_json(&listed))
            .fetch_all(&mut *read)
            .await?;
        read.end().await?;
        for row in threads {
            let thread_id: String = row.try_get(0)?;
            self.remove_runs_of(caller, &secret, &thread_id, &runs).await?;
        }
        Ok(())
    }

    async fn remove_runs_of(
        &self,
        caller: &Caller,
        secret: &TenantSecret,
        thread_id: &str,
        runs: &str,
    ) -> Result<()> {
        let prefetch = PackPrefetch::default();
        loop {
            let removed =
                self.try_remove_runs_of(caller, secret, (thread_id, runs), &prefetch).await;
            if prefetch.is_complete() {
                return removed;
            }
            prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
        }
    }

    async fn try_remove_runs_of(
        &self,
        caller: &Caller,
        secret: &TenantSecret,
        (thread_id, runs): (&str, &str),
        prefetch: &PackPrefetch,
    ) -> Result<()> {
        let tenant = Tenant::new(&caller.tenant, secret, prefetch);
        let thread = OwnedThread::by(caller, thread_id, Action::Write);
        let mut write = self.connections.begin_write_for(&caller.tenant).await?;
        let Some(row) = read_thread_row(&mut write, thread).await? else {
            return write.rollback().await;
        };
        if let Err(error) = row.check(None, None).and_then(|()| row.check_mac(thread_id, secret)) {
            write.rollback().await?;
            return Err(error);
        }
        let of_runs = sqlx::query(
            "select ns, checkpoint_id from checkpoints
             where tenant = $1 and thread_key = $2 and run_id in (select value from json_each($3))",
        )
        .bind(tenant.name)
        .bind(row.thread_key)
        .bind(runs)
        .fetch_all(&mut *write)
        .await?;
        let mut removed = BTreeSet::new();
        for found in of_runs {
            let ns: String = found.try_get(0)?;
            removed.insert((ns, found.try_get::<String, _>(1)?));
        }
        if removed.is_empty() {
            return write.rollback().await;
        }
        let ground = Ground { tenant, thread_key: row.thread_key, scope_id: row.scope_id };
        let stored = read_stored(&mut write, ground).await?;
        let plan = retention::without(&stored, &removed, &|name| channel_key(secret, name));
        let bases = make_bases(&mut write, ground, &plan.orphans).await?;
        if let Err(lacks) = prefetch.require() {
            write.rollback().await?;
            return Err(lacks);
        }
        let orphans: RowSet = plan.orphans.iter().map(|it| json!([it.ns, it.id])).collect();
        let removed: RowSet = removed.iter().map(|(ns, id)| json!([ns, id])).collect();
        let garbage_key = random_id();
        sqlx::query(REMOVE)
            .bind(tenant.name)
            .bind(row.thread_key)
            .bind(removed.json())
            .bind(orphans.json())
            .bind(bases.json())
            .bind(bases.blob)
            .bind(garbage_key)
            .bind(row.scope_id)
            .execute(&mut *write)
            .await?;
        recount(&mut write, tenant.name, thread_id, (row.thread_key, row.scope_id)).await?;
        write.commit().await?;
        let garbage = Garbage {
            tenant: caller.tenant.clone(),
            thread_key: garbage_key,
            scope_id: row.scope_id,
        };
        self.collect(&garbage).await?;
        Ok(())
    }
}

/// The garbage row names no rows of a thread, only the scope whose values may be nobody's now.
const REMOVE: &str = "
insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
select $1, $2, j.value ->> 0, j.value ->> 1, j.value ->> 2, substr($6, j.value ->> 3, j.value ->> 4)
from jsonb_each($5) j where true on conflict do nothing;
update checkpoints set parent_id = null
where tenant = $1 and thread_key = $2
  and (ns, checkpoint_id) in (select j.value ->> 0, j.value ->> 1 from jsonb_each($4) j);
delete from writes where rowid in (
    select w.rowid from jsonb_each($3) j
    cross join writes w on w.tenant = $1 and w.thread_key = $2 and w.ns = j.value ->> 0
        and w.checkpoint_id = j.value ->> 1);
delete from delta_bases where rowid in (
    select b.rowid from jsonb_each($3) j
    cross join delta_bases b on b.tenant = $1 and b.thread_key = $2 and b.ns = j.value ->> 0
        and b.checkpoint_id = j.value ->> 1);
delete from checkpoints where rowid in (
    select c.rowid from jsonb_each($3) j
    cross join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = j.value ->> 0
        and c.checkpoint_id = j.value ->> 1);
insert into garbage (tenant, thread_key, scope_id, created_at)
values ($1, $7, $8, cast(unixepoch('subsec') * 1000000 as integer))";
