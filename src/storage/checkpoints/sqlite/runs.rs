//! Deletes the checkpoints of runs: one transaction per thread. What it writes is made before the transaction, without the writer.

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::bases::{ThreadState, make_bases, read_state, read_stored, recount};
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

/// After so many attempts what goes is prepared with the writer: the thread changes all the time.
const ATTEMPTS_MAX: u32 = 3;

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
        let mut attempts = 0;
        let asked = Asked { caller, secret, thread_id, runs };
        loop {
            let going = self.prepare_removal(&asked, &prefetch).await;
            if prefetch.is_complete() {
                let Some(going) = going? else { return Ok(()) };
                let is_last_attempt = attempts == ATTEMPTS_MAX;
                let removed = self.try_remove(&asked, (going, is_last_attempt), &prefetch).await;
                if prefetch.is_complete() {
                    if removed? {
                        return Ok(());
                    }
                    attempts += 1;
                    continue;
                }
            }
            prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
        }
    }

    /// What goes of a thread, from one snapshot and without the writer. None: nothing does.
    async fn prepare_removal(
        &self,
        asked: &Asked<'_>,
        prefetch: &PackPrefetch,
    ) -> Result<Option<Going>> {
        let mut read = self.connections.begin_read_for(&asked.caller.tenant).await?;
        let going = match asked.find(&mut read, prefetch).await? {
            Some(ground) => going(&mut read, ground, asked.runs).await?,
            None => None,
        };
        read.end().await?;
        Ok(going)
    }

    /// One transaction. False: the thread changed since what goes was prepared.
    async fn try_remove(
        &self,
        asked: &Asked<'_>,
        (prepared, is_last_attempt): (Going, bool),
        prefetch: &PackPrefetch,
    ) -> Result<bool> {
        let tenant = asked.caller.tenant.as_str();
        let mut write = self.connections.begin_write_for(tenant).await?;
        let found = match asked.find(&mut write, prefetch).await {
            Ok(found) => found,
            Err(error) => {
                write.rollback().await?;
                return Err(error);
            }
        };
        let Some(ground) = found else {
            write.rollback().await?;
            return Ok(true);
        };
        let mut prepared = Some(prepared);
        if prepared.as_ref().map(|it| &it.state) != Some(&read_state(&mut write, ground).await?) {
            if !is_last_attempt {
                write.rollback().await?;
                return Ok(false);
            }
            prepared = going(&mut write, ground, asked.runs).await?;
        }
        let Some(Going { removed, orphans, bases, .. }) = prepared else {
            write.rollback().await?;
            return Ok(true);
        };
        if let Err(lacks) = prefetch.require() {
            write.rollback().await?;
            return Err(lacks);
        }
        let (thread_key, scope_id) = (ground.thread_key, ground.scope_id);
        let garbage_key = random_id();
        sqlx::query(REMOVE)
            .bind(tenant)
            .bind(thread_key)
            .bind(removed.json())
            .bind(orphans.json())
            .bind(bases.json())
            .bind(bases.blob)
            .bind(garbage_key)
            .bind(scope_id)
            .execute(&mut *write)
            .await?;
        recount(&mut write, tenant, asked.thread_id, (thread_key, scope_id)).await?;
        write.commit().await?;
        let garbage = Garbage { tenant: tenant.to_owned(), thread_key: garbage_key, scope_id };
        self.collect(&garbage).await?;
        Ok(true)
    }
}

/// Runs of a thread that are to be removed.
struct Asked<'a> {
    caller: &'a Caller,
    secret: &'a TenantSecret,
    thread_id: &'a str,
    runs: &'a str,
}

/// What goes of a thread, with the bases of what stays.
struct Going {
    state: ThreadState,
    removed: RowSet,
    orphans: RowSet,
    bases: RowSet,
}

impl<'a> Asked<'a> {
    /// The thread, where it may be written. None: there is none.
    async fn find(
        &self,
        connection: &mut SqliteConnection,
        prefetch: &'a PackPrefetch,
    ) -> Result<Option<Ground<'a>>> {
        let thread = OwnedThread::by(self.caller, self.thread_id, Action::Write);
        let Some(row) = read_thread_row(connection, thread).await? else { return Ok(None) };
        row.check(None, None)?;
        row.check_mac(self.thread_id, self.secret)?;
        let tenant = Tenant::new(&self.caller.tenant, self.secret, prefetch);
        Ok(Some(Ground { tenant, thread_key: row.thread_key, scope_id: row.scope_id }))
    }
}

async fn going(
    connection: &mut SqliteConnection,
    ground: Ground<'_>,
    runs: &str,
) -> Result<Option<Going>> {
    let of_runs = sqlx::query(
        "select ns, checkpoint_id from checkpoints
         where tenant = $1 and thread_key = $2 and run_id in (select value from json_each($3))",
    )
    .bind(ground.tenant.name)
    .bind(ground.thread_key)
    .bind(runs)
    .fetch_all(&mut *connection)
    .await?;
    let mut removed = BTreeSet::new();
    for found in of_runs {
        let ns: String = found.try_get(0)?;
        removed.insert((ns, found.try_get::<String, _>(1)?));
    }
    if removed.is_empty() {
        return Ok(None);
    }
    let state = read_state(connection, ground).await?;
    let stored = read_stored(connection, ground).await?;
    let secret = ground.tenant.secret;
    let plan = retention::without(&stored, &removed, &|name| channel_key(secret, name));
    let bases = make_bases(connection, ground, &plan.orphans).await?;
    let orphans: RowSet = plan.orphans.iter().map(|it| json!([it.ns, it.id])).collect();
    let removed: RowSet = removed.iter().map(|(ns, id)| json!([ns, id])).collect();
    Ok(Some(Going { state, removed, orphans, bases }))
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
