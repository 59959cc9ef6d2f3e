//! Copies a thread. Its rows are staged under a key that no thread has, in slices, from one state of the source. One last transaction makes
//! them a thread.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::copy_answers::{store_answer, stored_answer};
use super::copy_rows::{OF_SCOPE, OF_THREAD, read_slice, slices};
use super::thread_row::{ThreadRow, read_thread_row, read_unless_taken, take_identity};
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::caller::Caller;
use crate::domain::clock::random_id;
use crate::domain::scheduling::contention::Contention;
use crate::domain::threads::alias::stored_alias;
use crate::domain::threads::storage::CopyThread;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::maintenance::resealing::{Change, Resealer, seal_all_again};
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::objects::pack_location::PackLocation;
use crate::storage::objects::packs::Scope;
use crate::storage::objects::sqlite::packs::read_places;
use crate::storage::objects::stage_packed;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::Read;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

impl SqliteStorage {
    /// For the same owner the content is shared; for another it is copied, so that erasing one never depends on the other.
    pub(in crate::storage) async fn copy(
        &self,
        caller: &Caller,
        request: &CopyThread,
    ) -> Result<u64> {
        let mut contention = Contention::default();
        loop {
            match self.copy_once(caller, request).await {
                // Content of the source was removed during the copy.
                Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
                answer => return answer?,
            }
        }
    }

    /// The inner result is the last word; an outer one may be tried again.
    async fn copy_once(&self, caller: &Caller, request: &CopyThread) -> Result<Result<u64>> {
        let tenant = caller.tenant.as_str();
        let mut read = self.connections.begin_read_for(tenant).await?;
        if let Some(answer) = stored_answer(&mut read, caller, request).await? {
            read.end().await?;
            return Ok(Ok(answer));
        }
        let secret = self.secret(tenant).await?;
        let source = OwnedThread::by(caller, request.source.as_str(), Action::Read);
        let Some(source) = read_thread_row(&mut read, source).await? else {
            read.end().await?;
            let mut write = self.connections.begin_write_for(tenant).await?;
            store_answer(&mut write, caller, request, 0).await?;
            write.commit().await?;
            return Ok(Ok(0));
        };
        source.check_mac(request.source.as_str(), &secret)?;
        let target = OwnedThread::by(caller, request.target.as_str(), Action::Append);
        let target = find_target(&mut read, (target, &secret), request).await?;
        let owner = target.map_or_else(|| caller.subject.clone(), |row| row.owner);
        let shares = source.owner == owner;
        let epoch = read_epoch(&mut read, tenant, source.scope_id).await?;
        let copy = Copy {
            epoch: shares.then_some(epoch).flatten(),
            staged: Garbage {
                tenant: tenant.to_owned(),
                thread_key: random_id(),
                scope_id: if shares { source.scope_id } else { random_id() },
            },
            source,
            owner,
        };
        self.register(&copy.staged).await?;
        let result = self.stage(&mut read, &copy).await;
        read.end().await?;
        let flipped = match result {
            Ok(places) => match self.complete(&copy, &secret, places).await {
                Ok(()) => self.flip((caller, &secret), request, &copy).await.map(Ok),
                Err(error) => Ok(Err(error)),
            },
            Err(error) => Err(error),
        };
        if !matches!(flipped, Ok(Ok(_))) {
            self.collect(&copy.staged).await?;
        }
        flipped
    }

    /// What a copy for another owner needs besides its rows: packed content, and, where it is encrypted, to be sealed for its
    /// own scope. Nobody sees the rows yet, so a crash leaves nothing but garbage.
    async fn complete(
        &self,
        copy: &Copy,
        secret: &TenantSecret,
        places: Vec<(PackLocation, Name)>,
    ) -> Result<()> {
        self.stage_packed(copy, places).await?;
        let (None, Some(cipher)) = (copy.epoch, secret.cipher()) else { return Ok(()) };
        let staged = &copy.staged;
        let (tenant, scope_id) = (staged.tenant.as_str(), staged.scope_id);
        let change = Change::From(copy.source.scope_id);
        let resealer = Resealer { cipher, tenant, scope_id, change };
        let key = staged.thread_key;
        seal_all_again(self, &resealer, Some(key)).await
    }

    /// Packed content of the source, now that no transaction waits for the store.
    async fn stage_packed(&self, copy: &Copy, places: Vec<(PackLocation, Name)>) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let scope = |id| Scope { tenant: copy.staged.tenant.clone(), id };
        let (from, to) = (scope(copy.source.scope_id), scope(copy.staged.scope_id));
        let key = copy.staged.thread_key;
        stage_packed(self.objects.as_deref(), self, (&from, Some(places)), &to, key).await
    }

    /// From here on a crash leaves rows that the sweep removes.
    pub(in crate::storage) async fn register(&self, staged: &Garbage) -> Result<()> {
        let mut write = self.connections.begin_write_for(&staged.tenant).await?;
        sqlx::query(
            "insert into garbage (tenant, thread_key, scope_id, created_at)
             values ($1, $2, $3, cast(unixepoch('subsec') * 1000000 as integer))",
        )
        .bind(&staged.tenant)
        .bind(staged.thread_key)
        .bind(staged.scope_id)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    /// Answers the places of packed chunks that the copy needs too.
    async fn stage(&self, read: &mut Read<'_>, copy: &Copy) -> Result<Vec<(PackLocation, Name)>> {
        let (source, staged) = (&copy.source, &copy.staged);
        let of_scope = if copy.epoch.is_some() { &[] } else { &OF_SCOPE[..] };
        for (tables, from, to) in [
            (&OF_THREAD[..], source.thread_key, staged.thread_key),
            (of_scope, source.scope_id, staged.scope_id),
        ] {
            for table in tables {
                for slice in slices(read, &staged.tenant, table, from).await? {
                    let (statement, rows) = read_slice(read, table, &slice).await?;
                    self.write_slice(staged, statement, rows, to).await?;
                }
            }
        }
        if copy.epoch.is_some() {
            return Ok(Vec::new());
        }
        read_places(read, (&staged.tenant, source.scope_id)).await
    }

    pub(in crate::storage) async fn write_slice(
        &self,
        staged: &Garbage,
        statement: String,
        mut rows: RowSet,
        key: i64,
    ) -> Result<()> {
        if rows.blob.is_empty() {
            // SQLite takes a part of an empty blob for null.
            rows.blob.push(0);
        }
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        check_registered(&mut write, staged).await?;
        sqlx::query(AssertSqlSafe(statement))
            .bind(rows.json())
            .bind(rows.blob)
            .bind(&staged.tenant)
            .bind(key)
            .execute(&mut *write)
            .await?;
        write.commit().await
    }

    /// Makes the staged rows a thread, with the answer for repeated requests.
    async fn flip(
        &self,
        (caller, secret): (&Caller, &TenantSecret),
        request: &CopyThread,
        copy: &Copy,
    ) -> Result<u64> {
        let (tenant, staged) = (caller.tenant.as_str(), &copy.staged);
        let thread = OwnedThread::by(caller, request.target.as_str(), Action::Append);
        let target = thread.thread_id;
        let mut write = self.connections.begin_write_for(tenant).await?;
        let mut old = None;
        let refused = match stored_answer(&mut write, caller, request).await {
            // The same request ran beside this one and was first.
            Ok(Some(answer)) => Some(Ok(answer)),
            Ok(None) => match find_target(&mut write, (thread, secret), request).await {
                Ok(found) => {
                    old = found;
                    None
                }
                Err(error) => Some(Err(error)),
            },
            Err(error) => Some(Err(error)),
        };
        if let Some(answer) = refused {
            write.rollback().await?;
            if answer.is_ok() {
                self.collect(staged).await?;
            }
            return answer;
        }
        check_registered(&mut write, staged).await?;
        copy.check_epoch(&mut write).await?;
        copy.check_owner(caller, old.as_ref())?;
        let (generation, fence) = if let Some(row) = &old {
            (row.generation.clone(), row.fence)
        } else {
            let identity = take_identity(&mut write, thread).await?;
            (identity.generation, identity.fence)
        };
        let made = (staged.thread_key, staged.scope_id);
        let mac = OwnerRow::thread(target, made, copy.owner.as_deref()).mac(secret);
        sqlx::query(FLIP)
            .bind(tenant)
            .bind(target)
            .bind(staged.thread_key)
            .bind(staged.scope_id)
            .bind(generation)
            .bind(fence)
            .bind(&copy.owner)
            .bind(request.source.as_str())
            .bind(old.as_ref().map(|row| row.thread_key))
            .bind(old.as_ref().map(|row| row.scope_id))
            .bind(mac)
            .bind(stored_alias(target))
            .execute(&mut *write)
            .await?;
        let count = describe(&mut write, tenant, target, copy).await?;
        store_answer(&mut write, caller, request, count).await?;
        write.commit().await?;
        Ok(count)
    }
}

/// An empty thread of the target's id (made by a lease) keeps its row and gives its keys to the garbage.
const FLIP: &str = "
insert into garbage (tenant, thread_key, scope_id, created_at)
select $1, $9, $10, cast(unixepoch('subsec') * 1000000 as integer) where $9 is not null;
delete from scope_holders where tenant = $1 and scope_id = $10 and kind = 'thread' and holder = $2;
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
                     last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id, mac, alias)
select $1, $2, $3, $4, $5, $6, n.now, n.now, s.last_step, 0, 0, $7, s.graph_id, s.assistant_id, s.user_id, $11, $12
from (select cast(unixepoch('subsec') * 1000000 as integer) as now) n
left join threads s on s.tenant = $1 and s.thread_id = $8
where true
on conflict (tenant, thread_id) do update set
    thread_key = excluded.thread_key, scope_id = excluded.scope_id, mac = excluded.mac, updated_at = excluded.updated_at,
    last_step = excluded.last_step, graph_id = excluded.graph_id,
    assistant_id = excluded.assistant_id, user_id = excluded.user_id, title_misses = excluded.title_misses;
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $4, 'thread', $2);
delete from garbage where tenant = $1 and thread_key = $3";

const DESCRIBE: &str = "
insert into scopes (tenant, scope_id, epoch, next_no)
select $1, $4, $3, coalesce(max(no), 0) + 1 from manifests where tenant = $1 and scope_id = $4
on conflict (tenant, scope_id) do nothing;
update threads set
    checkpoint_count = (select count(*) from checkpoints c where c.tenant = $1 and c.thread_key = $3),
    size_bytes = $5
where tenant = $1 and thread_id = $2
returning checkpoint_count";

async fn describe(
    connection: &mut SqliteConnection,
    tenant: &str,
    target: &str,
    copy: &Copy,
) -> Result<u64> {
    let row = sqlx::query(DESCRIBE)
        .bind(tenant)
        .bind(target)
        .bind(copy.staged.thread_key)
        .bind(copy.staged.scope_id)
        .bind(copy.source.size_bytes)
        .fetch_one(connection)
        .await?;
    let count: i64 = row.try_get(0)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A copy on its way.
struct Copy {
    source: ThreadRow,
    /// Of the thread that it makes or fills.
    owner: Option<String>,
    /// Epoch of the source's scope when its rows were read, for a copy that shares it.
    epoch: Option<i64>,
    staged: Garbage,
}

impl Copy {
    /// Who the target belongs to decided whether content is shared.
    fn check_owner(&self, caller: &Caller, target: Option<&ThreadRow>) -> Result<()> {
        let owner = target.map_or(caller.subject.as_deref(), |row| row.owner.as_deref());
        if self.owner.as_deref() == owner {
            return Ok(());
        }
        Err(Error::Unavailable {
            detail: "the target was made during the copy".into(),
            retry_after: std::time::Duration::from_secs(1),
        })
    }

    /// Content that the staged rows name may be gone when the epoch rose: staged rows hold nothing.
    async fn check_epoch(&self, write: &mut SqliteConnection) -> Result<()> {
        let current = read_epoch(write, &self.staged.tenant, self.source.scope_id).await?;
        if self.epoch.is_none() || self.epoch == current {
            return Ok(());
        }
        Err(Error::Unavailable {
            detail: "content was removed from the source during the copy".into(),
            retry_after: std::time::Duration::from_secs(1),
        })
    }
}

pub(in crate::storage) async fn read_epoch(
    connection: &mut SqliteConnection,
    tenant: &str,
    scope_id: i64,
) -> Result<Option<i64>> {
    let row = sqlx::query("select epoch from scopes where tenant = $1 and scope_id = $2")
        .bind(tenant)
        .bind(scope_id)
        .fetch_optional(connection)
        .await?;
    row.map(|row| row.try_get(0).map_err(Error::from)).transpose()
}

/// The target, if it is there. Conflict when it is another's, when it holds a lease, or anything at all.
async fn find_target(
    connection: &mut SqliteConnection,
    (thread, secret): (OwnedThread<'_>, &TenantSecret),
    request: &CopyThread,
) -> Result<Option<ThreadRow>> {
    let found = read_unless_taken(connection, thread).await?;
    let Some(target) = found else { return request.check_room(false).map(|()| None) };
    target.check_mac(thread.thread_id, secret)?;
    let row = sqlx::query(
        "select exists (select 1 from checkpoints where tenant = $1 and thread_key = $2)
             or exists (select 1 from writes where tenant = $1 and thread_key = $2)",
    )
    .bind(thread.tenant)
    .bind(target.thread_key)
    .fetch_one(connection)
    .await?;
    if row.try_get(0)? {
        return Err(Error::Conflict(Conflict::ThreadExists));
    }
    target.check(None, None)?;
    request.check_room(true).map(|()| Some(target))
}

/// A sweep that takes the staged rows for those of a crash ends the copy, never half of it.
pub(in crate::storage) async fn check_registered(
    connection: &mut SqliteConnection,
    staged: &Garbage,
) -> Result<()> {
    let row = sqlx::query("select 1 from garbage where tenant = $1 and thread_key = $2")
        .bind(&staged.tenant)
        .bind(staged.thread_key)
        .fetch_optional(connection)
        .await?;
    let lost = || Error::Unavailable {
        detail: "the copy took too long".into(),
        retry_after: std::time::Duration::from_secs(1),
    };
    row.map(|_| ()).ok_or_else(lost)
}
