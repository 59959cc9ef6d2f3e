//! Copies everything of a snapshot at one moment. A reader's transaction sees one state of the file, whatever is written meanwhile.
//! Everything is read in it. The writer writes it in slices under keys that no thread has, with commits between them. One last transaction
//! makes threads of them, if no content was removed from their scopes since that state. Else all of it begins again.

use async_trait::async_trait;
use sqlx::sqlite::SqliteConnection;

use super::sessions::{StagedSession, find_sessions};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_id};
use crate::domain::names::ThreadId;
use crate::domain::scheduling::contention::Contention;
use crate::domain::snapshots::take::TakeSnapshot;
use crate::domain::store::namespace::Namespace;
use crate::domain::threads::thread::THREAD;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::db::access::Accessible;
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::snapshots::SnapshotEngine;
use crate::storage::snapshots::item_sql::{self, ItemSql};
use crate::storage::snapshots::items::remove_slice;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::Read;
use crate::storage::threads::sqlite::copy_rows::{OF_THREAD, read_slice, slices};
use crate::storage::threads::sqlite::thread_row::{ThreadRow, read_thread_row};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 hidden id, $3 thread key, $4 scope, $5 generation, $6 owner, $7 created at, $8 last step, $9 size, $10 to $12
/// graph, assistant, user, $13 MAC. Its counters are those of the moment.
const MAKE: &str = "
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
                     last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id, mac)
select $1, $2, $3, $4, $5, 0, $7, cast(unixepoch('subsec') * 1000000 as integer), $8,
    (select count(*) from checkpoints c where c.tenant = $1 and c.thread_key = $3), $9, $6, $10, $11, $12, $13;
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $4, 'thread', $2);
delete from garbage where tenant = $1 and thread_key = $3";

/// A thread at the moment, and where its copy is staged.
struct Staged {
    row: ThreadRow,
    more: More,
    copy: Garbage,
}

/// What a copy has of a thread besides what decides over writes.
#[derive(sqlx::FromRow)]
struct More {
    created_at: i64,
    last_step: Option<i64>,
    graph_id: Option<String>,
    assistant_id: Option<String>,
    user_id: Option<String>,
    epoch: i64,
}

#[async_trait]
impl SnapshotEngine for SqliteStorage {
    async fn stage_session(&self, tenant: &str, scope_id: i64, numbers: (i64, i64)) -> Result<()> {
        let copy = Garbage { tenant: tenant.to_owned(), thread_key: numbers.1, scope_id };
        let mut read = self.connections.begin_read().await?;
        let staged = self.stage_session_rows(&mut read, &copy, numbers).await;
        read.end().await?;
        staged
    }

    fn item_sql(&self) -> &'static ItemSql {
        &item_sql::SQLITE
    }

    async fn copy_now(
        &self,
        caller: &Caller,
        number: i64,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Micros> {
        let secret = self.secret(&caller.tenant).await?;
        let mut contention = Contention::default();
        loop {
            match self.copy_moment((caller, &secret), number, request, now).await {
                Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
                done => return done,
            }
        }
    }
}

impl SqliteStorage {
    async fn drop_copies(&self, tenant: &str, number: i64, now: Micros) -> Result<()> {
        loop {
            let mut access = self.begin_write().await?;
            let more = remove_slice(access.as_mut(), tenant, number, now).await?;
            access.end().await?;
            if !more {
                return Ok(());
            }
        }
    }

    async fn copy_moment(
        &self,
        (caller, secret): (&Caller, &TenantSecret),
        number: i64,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Micros> {
        let mut read = self.connections.begin_read().await?;
        let staged = find_all(&mut read, (caller, secret), request).await;
        let moment = Clock::System.now();
        let staged = match staged {
            Ok(staged) => staged,
            Err(error) => {
                read.end().await?;
                return Err(error);
            }
        };
        let sessions = find_sessions(&mut read, (caller, secret), &request.sessions).await;
        let (sessions, mut copied) = match sessions {
            Ok(sessions) => (sessions, self.copy_all(&mut read, &staged).await),
            Err(error) => (Vec::new(), Err(error)),
        };
        for it in &sessions {
            if copied.is_ok() {
                let numbers = (it.row.session_no, it.copy.thread_key);
                copied = self.stage_session_rows(&mut read, &it.copy, numbers).await;
            }
        }
        let mut roots: Vec<Root> =
            sessions.iter().map(|it| (it.copy.scope_id, it.row.epoch)).collect();
        for namespace in &request.namespaces {
            if copied.is_ok() {
                let place = (caller.tenant.as_str(), number);
                roots.extend(root_of(&mut read, &caller.tenant, namespace).await?);
                copied = self.copy_items(&mut read, place, namespace, now).await;
            }
        }
        read.end().await?;
        let done = match copied {
            Ok(()) => {
                let of = (caller.tenant.as_str(), secret);
                self.show_all(of, number, (&staged, &sessions, &roots)).await
            }
            Err(error) => Err(error),
        };
        if done.is_err() {
            let copies = staged.iter().map(|it| &it.copy).chain(sessions.iter().map(|it| &it.copy));
            for copy in copies {
                self.collect(copy).await?;
            }
            // Of the next attempt there may be others.
            self.drop_copies(&caller.tenant, number, now).await?;
        }
        done.map(|()| moment)
    }

    async fn copy_all(&self, read: &mut Read<'_>, staged: &[Staged]) -> Result<()> {
        for it in staged {
            self.register(&it.copy).await?;
            for table in &OF_THREAD {
                let tenant = &it.copy.tenant;
                for slice in slices(read, tenant, table, it.row.thread_key).await? {
                    let (statement, rows) = read_slice(read, table, &slice).await?;
                    self.write_slice(&it.copy, statement, rows, it.copy.thread_key).await?;
                }
            }
        }
        Ok(())
    }

    /// Makes threads of what was staged, all in one transaction: some rows each, whatever is in them.
    async fn show_all(
        &self,
        (tenant, secret): (&str, &TenantSecret),
        number: i64,
        (staged, sessions, roots): (&[Staged], &[StagedSession], &[Root]),
    ) -> Result<()> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        for (scope_id, epoch) in roots {
            if crate::storage::threads::sqlite::copy::read_epoch(&mut write, tenant, *scope_id)
                .await?
                != Some(*epoch)
            {
                write.rollback().await?;
                return Err(removed());
            }
        }
        for (at, it) in staged.iter().enumerate() {
            if let Err(error) = it.check(&mut write).await {
                write.rollback().await?;
                return Err(error);
            }
            let hidden = ThreadId::hidden(number, at);
            let ids = (it.copy.thread_key, it.copy.scope_id);
            let copy = OwnerRow::thread(hidden.as_str(), ids, it.row.owner.as_deref());
            sqlx::query(MAKE)
                .bind(tenant)
                .bind(hidden.as_str())
                .bind(it.copy.thread_key)
                .bind(it.copy.scope_id)
                .bind(&it.row.generation)
                .bind(&it.row.owner)
                .bind(it.more.created_at)
                .bind(it.more.last_step)
                .bind(it.row.size_bytes)
                .bind(&it.more.graph_id)
                .bind(&it.more.assistant_id)
                .bind(&it.more.user_id)
                .bind(copy.mac(secret))
                .execute(&mut *write)
                .await?;
        }
        for it in sessions {
            if let Err(error) =
                crate::storage::threads::sqlite::copy::check_registered(&mut write, &it.copy).await
            {
                write.rollback().await?;
                return Err(error);
            }
            it.make(&mut write, number, secret).await?;
        }
        write.commit().await
    }
}

impl Staged {
    /// Content that the copy names may be gone when the epoch rose: what is staged holds nothing.
    async fn check(&self, write: &mut SqliteConnection) -> Result<()> {
        crate::storage::threads::sqlite::copy::check_registered(write, &self.copy).await?;
        let epoch = crate::storage::threads::sqlite::copy::read_epoch(
            write,
            &self.copy.tenant,
            self.copy.scope_id,
        )
        .await?;
        if epoch == Some(self.more.epoch) {
            return Ok(());
        }
        Err(removed())
    }
}

fn removed() -> Error {
    Error::Unavailable {
        detail: "content was removed during the snapshot".into(),
        retry_after: std::time::Duration::from_secs(1),
    }
}

/// Scope and epoch of a namespace root.
type Root = (i64, i64);

/// None: nothing of it is in chunks.
async fn root_of(
    read: &mut SqliteConnection,
    tenant: &str,
    namespace: &Namespace,
) -> Result<Option<Root>> {
    let text = "select s.scope_id, s.epoch from namespace_roots r
        join scopes s on s.tenant = r.tenant and s.scope_id = r.scope_id
        where r.tenant = $1 and r.root = $2";
    let found = sqlx::query_as(text).bind(tenant).bind(namespace.root()).fetch_optional(read);
    found.await.map_err(Error::from)
}

async fn find_all(
    read: &mut SqliteConnection,
    (caller, secret): (&Caller, &TenantSecret),
    request: &TakeSnapshot,
) -> Result<Vec<Staged>> {
    const MORE: &str = "
        select t.created_at, t.last_step, t.graph_id, t.assistant_id, t.user_id, s.epoch
        from threads t join scopes s on s.tenant = t.tenant and s.scope_id = t.scope_id
        where t.tenant = $1 and t.thread_key = $2";
    let mut staged = Vec::new();
    for thread in &request.threads {
        let owned = OwnedThread::by(caller, thread.thread_id.as_str(), Action::Read);
        let row = read_thread_row(read, owned).await?.ok_or(Error::NotFound(THREAD))?;
        row.check_mac(thread.thread_id.as_str(), secret)?;
        let more: More = sqlx::query_as(MORE)
            .bind(&caller.tenant)
            .bind(row.thread_key)
            .fetch_one(&mut *read)
            .await?;
        let copy = Garbage {
            tenant: caller.tenant.clone(),
            thread_key: random_id(),
            scope_id: row.scope_id,
        };
        staged.push(Staged { row, more, copy });
    }
    Ok(staged)
}
