//! Stores titles and metadata of threads, with one SQL for both engines. The row is sealed in the thread's scope. It has the key of the
//! thread, so restores and deletions need not know of it.

use async_trait::async_trait;

use super::details_document::{DetailsRow, open};
use super::thread_filter::OwnedThread;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, random_hex, random_id};
use crate::domain::scheduling::contention::Contention;
use crate::domain::threads::alias::stored_alias;
use crate::domain::threads::details::{
    CreateThread, Created, Details, ThreadDetailsStorage, UpdateThread,
};
use crate::domain::threads::thread::THREAD;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, Accessible, Dialect, SqlValue};
use crate::storage::sessions::SessionEngine;
use crate::storage::snapshots::answers;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 thread id. Whoever changes details of the thread has its row.
const LOCK_THREAD: &str = "select thread_key, scope_id, owner, mac from threads
    where tenant = $1 and thread_id = $2 {lock}";

/// $1 tenant, $2 thread key.
const GET: &str =
    "select version, document from thread_details where tenant = $1 and thread_key = $2";

/// $1 tenant, $2 thread key, $3 version, $4 document, $5 projection, $6 whether it has marks, $7 the folded title, $8 whether it has a ttl:
/// the next sweep looks when that ends.
pub const PUT: &str = "
insert into thread_details (tenant, thread_key, version, document, projection, has_marks, title_folded, ttl_due)
values ($1, $2, $3, $4, {thread_projection}, $6 <> 0, nullif($7, ''), case when $8 <> 0 then 0 end)
on conflict (tenant, thread_key) do update set version = excluded.version, document = excluded.document,
    projection = excluded.projection, has_marks = excluded.has_marks, title_folded = excluded.title_folded,
    ttl_due = excluded.ttl_due
returning 1";

/// $1 tenant, $2 thread key, $3 the time, $4 whether it has a title. Details change nothing of the run and of the values; a thread
/// that has lost its title gets one when it is derived again.
const TOUCH: &str = "
update threads set updated_at = case when $3 > updated_at then $3 else updated_at + 1 end,
    run_of = case when not is_stale then case when $3 > updated_at then $3 else updated_at + 1 end else run_of end,
    values_of = case when is_stale or values_of <> run_of then values_of when $3 > updated_at then $3 else updated_at + 1 end,
    is_stale = is_stale or ($4 = 0 and title_misses < 0),
    title_misses = case when $4 <> 0 then -1 when title_misses < 0 then 0 else title_misses end
where tenant = $1 and thread_key = $2";

/// $1 tenant, $2 thread id.
const TAKE_TOMBSTONE: &str = "delete from thread_tombstones where tenant = $1 and thread_id = $2
    returning generation, fence, owner";

/// $1 tenant, $2 thread id, $3 and $4 its key and scope, $5 generation, $6 fence, $7 whether it has an owner, $8 the owner, $9 MAC or
/// empty, $10 alias or empty, $11 whether it has a title. No row: another server made the thread at the same moment.
const INSERT_THREAD: &str = "
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
    checkpoint_count, size_bytes, owner, mac, alias, title_misses)
select $1, $2, $3, $4, $5, $6, n.now, n.now, 0, 0, case when $7 <> 0 then $8 end, case when length($9) > 0 then $9 end,
    nullif($10, ''), case when $11 <> 0 then -1 else 0 end
from (select {now} as now) n where true
on conflict (tenant, thread_id) do nothing
returning 1";

/// $1 tenant, $2 scope.
const INSERT_SCOPE: &str =
    "insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $2, $2, 1)";

/// $1 tenant, $2 thread key.
const INSERT_HOLDER: &str = "insert into scope_holders (tenant, scope_id, kind, holder)
    select t.tenant, t.scope_id, 'thread', {holder} from threads t where t.tenant = $1 and t.thread_key = $2";

/// A thread whose row is locked.
struct LockedThread {
    thread_key: i64,
    scope_id: i64,
}

#[async_trait]
impl<T: SessionEngine> ThreadDetailsStorage for T {
    /// Round trips on PostgreSQL: begin, the thread, the tombstone, the thread's row, its scope and holder, the details, commit; two
    /// more for a request with a key.
    async fn create_thread(&self, caller: &Caller, request: &CreateThread) -> Result<Created> {
        let secret = self.session_secret(&caller.tenant).await?;
        self.check_room()?;
        let mut contention = Contention::default();
        loop {
            let mut access = self.begin_write_for(&caller.tenant).await?;
            let creating = Creating { caller, request, secret: &secret };
            match creating.run(self, access.as_mut()).await {
                Ok(Some(created)) => {
                    access.end().await?;
                    return Ok(created);
                }
                Ok(None) => drop(access),
                Err(error) => return Err(error),
            }
            contention.lost("the thread keeps").await?;
        }
    }

    /// Round trips on PostgreSQL: begin, the thread, its details, the change, the time, commit; two more for a request with a key.
    async fn update_thread(&self, caller: &Caller, request: &UpdateThread) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        self.check_room()?;
        let mut access = self.begin_write_for(&caller.tenant).await?;
        update(self, access.as_mut(), (caller, &secret), request).await?;
        access.end().await
    }
}

async fn update<T: SessionEngine>(
    engine: &T,
    access: &mut dyn Access,
    (caller, secret): (&Caller, &TenantSecret),
    request: &UpdateThread,
) -> Result<()> {
    let asked = request.idempotency.as_ref();
    if answers::find::<()>(access, caller, asked).await?.is_some() {
        return Ok(());
    }
    let thread = OwnedThread::by(caller, request.thread_id.as_str(), request.action());
    let locked = match lock(engine, access, thread, secret).await {
        // To whoever may write to nothing but what is his, another's thread is not there.
        Err(Error::Conflict(Conflict::ThreadTaken)) | Ok(None) => {
            return Err(Error::NotFound(THREAD));
        }
        locked => locked?.expect("just matched"),
    };
    let key = [SqlValue::from(thread.tenant), locked.thread_key.into()];
    let stored = access.rows(GET, &key).await?;
    let before = match stored.first() {
        Some(row) => open(secret, locked.scope_id, row.integer(0)?, row.bytes(1)?)?,
        None => Details::default(),
    };
    let after = before.updated(request, Clock::System.now())?;
    if after != before {
        let ids = (locked.thread_key, locked.scope_id);
        put_details(access, engine.dialect(), (thread.tenant, secret), ids, &after).await?;
    }
    let now = Clock::System.now();
    let is_titled = after.shown_title().is_some();
    access.rows(TOUCH, &[&key[..], &[now.into(), is_titled.into()]].concat()).await?;
    answers::keep(access, caller, asked, &(), now).await
}

/// One attempt to create a thread.
struct Creating<'a> {
    caller: &'a Caller,
    request: &'a CreateThread,
    secret: &'a TenantSecret,
}

impl Creating<'_> {
    /// None: another server made the thread at the same moment.
    async fn run<T: SessionEngine>(
        &self,
        engine: &T,
        access: &mut dyn Access,
    ) -> Result<Option<Created>> {
        let asked = self.request.idempotency.as_ref();
        if let Some(created) = answers::find(access, self.caller, asked).await? {
            return Ok(Some(created));
        }
        let Some(is_new) = self.make(engine, access).await? else { return Ok(None) };
        let created = Created { thread_id: self.request.thread_id.to_string(), is_new };
        let now = Clock::System.now();
        answers::keep(access, self.caller, asked, &created, now).await?;
        Ok(Some(created))
    }

    /// Whether it made the thread. None: another server made it at the same moment.
    async fn make<T: SessionEngine>(
        &self,
        engine: &T,
        access: &mut dyn Access,
    ) -> Result<Option<bool>> {
        let thread = OwnedThread::by(self.caller, self.request.thread_id.as_str(), Action::Append);
        if lock(engine, access, thread, self.secret).await?.is_some() {
            return Ok(Some(false));
        }
        let details = Details::of_new(self.request, Clock::System.now())?;
        if let Some(full) = self.request.full {
            return Err(Error::QuotaExceeded(full));
        }
        let name = [SqlValue::from(thread.tenant), thread.thread_id.into()];
        let left = access.rows(TAKE_TOMBSTONE, &name).await?;
        let (mut generation, mut fence) = (random_hex(), 0);
        if let Some(row) = left.first()
            && !thread.is_taken(row.optional_text(2)?)
        {
            (generation, fence) = (row.text(0)?.to_owned(), row.integer(1)?);
        }
        let made = LockedThread { thread_key: random_id(), scope_id: random_id() };
        let owner = self.caller.subject.as_deref();
        let ids = (made.thread_key, made.scope_id);
        let mac = OwnerRow::thread(thread.thread_id, ids, owner).mac_cell(self.secret);
        let row = [
            made.thread_key.into(),
            made.scope_id.into(),
            generation.as_str().into(),
            fence.into(),
            owner.is_some().into(),
            owner.unwrap_or_default().into(),
            mac,
            stored_alias(thread.thread_id).unwrap_or_default().as_str().into(),
            details.shown_title().is_some().into(),
        ];
        let insert = engine.dialect().fill(INSERT_THREAD);
        if access.rows(&insert, &[&name[..], &row].concat()).await?.is_empty() {
            return Ok(None);
        }
        let tenant = SqlValue::from(thread.tenant);
        access.rows(INSERT_SCOPE, &[tenant.clone(), made.scope_id.into()]).await?;
        let holder = engine.dialect().fill(INSERT_HOLDER);
        access.rows(&holder, &[tenant, made.thread_key.into()]).await?;
        let place = (thread.tenant, self.secret);
        put_details(access, engine.dialect(), place, ids, &details).await?;
        Ok(Some(true))
    }
}

/// Finds a thread and locks its row. `ThreadTaken` where it is another's.
async fn lock<T: SessionEngine>(
    engine: &T,
    access: &mut dyn Access,
    thread: OwnedThread<'_>,
    secret: &TenantSecret,
) -> Result<Option<LockedThread>> {
    let text = engine.dialect().fill(LOCK_THREAD);
    let found = access.rows(&text, &[thread.tenant.into(), thread.thread_id.into()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let (thread_key, scope_id) = (row.integer(0)?, row.integer(1)?);
    let owner = row.optional_text(2)?;
    if thread.is_taken(owner) {
        return Err(Error::Conflict(Conflict::ThreadTaken));
    }
    OwnerRow::thread(thread.thread_id, (thread_key, scope_id), owner)
        .check(secret, row.optional_bytes(3)?)?;
    Ok(Some(LockedThread { thread_key, scope_id }))
}

/// Writes the details of a thread that has this key and scope; none for those that nobody has set.
///
/// # Errors
/// `Integrity` for metadata that is no JSON object; a database that cannot be written.
pub async fn put_details(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, secret): (&str, &TenantSecret),
    (thread_key, scope_id): (i64, i64),
    details: &Details,
) -> Result<()> {
    if *details == Details::default() {
        return Ok(());
    }
    let row = DetailsRow::new(tenant, secret, scope_id, details)?;
    let binds = [&[tenant.into(), thread_key.into()][..], &row.cells()].concat();
    access.rows(&dialect.fill(PUT), &binds).await.map(drop)
}

/// Takes away what filters looked at: a part of `threadkeep encrypt`.
///
/// # Errors
/// A database that cannot be written.
pub async fn hide_details(engine: &dyn Accessible, tenant: &str) -> Result<()> {
    const HIDE: &str =
        "update thread_details set projection = null, title_folded = null, has_marks = 0 <> 0
        where tenant = $1 and (projection is not null or title_folded is not null)";
    let mut access = engine.begin_write().await?;
    access.rows(HIDE, &[tenant.into()]).await?;
    access.end().await
}
