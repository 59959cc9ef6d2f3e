//! Replaces one thread by another: their rows change names, under the scope locks of both scopes.

use super::restore::again;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::names::ThreadId;
use crate::domain::snapshots::restore::ThreadMove;
use crate::domain::threads::alias::stored_alias;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, Dialect, SqlValue, lock_scope};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// A thread that is restored.
pub struct Exchange<'a> {
    pub caller: &'a Caller,
    pub secret: &'a TenantSecret,
    pub dialect: &'static Dialect,
    /// Its number in the restore.
    pub at: usize,
    pub it: &'a ThreadMove,
    /// The copy that becomes the thread.
    pub staged: ThreadId,
    /// The name that the thread gets which was there.
    pub replaced: ThreadId,
}

/// The thread that is there.
pub struct There {
    pub generation: String,
    pub owner: Option<String>,
    pub checkpoints: i64,
    pub size_bytes: i64,
    fence: i64,
    held: bool,
    ids: Ids,
    updated_at: Micros,
}

impl There {
    pub fn thread_key(&self) -> i64 {
        self.ids.0
    }

    /// Every commit moves the time, every removal the counts.
    pub fn is_unchanged_since(&self, earlier: &Self) -> bool {
        let state = |it: &Self| (it.ids, it.updated_at, it.checkpoints, it.size_bytes);
        state(self) == state(earlier)
    }
}

/// Key and scope of a thread.
type Ids = (i64, i64);

pub struct Exchanged {
    pub generation: String,
    pub replaced: Option<There>,
}

/// $1 tenant, $2 thread. The clock is the database's.
const THERE: &str = "
select t.generation, t.owner, t.checkpoint_count, t.size_bytes, t.fence, coalesce(t.lease_expires_at, 0), {now},
    t.thread_key, t.scope_id, t.mac, t.updated_at
from threads t where t.tenant = $1 and t.thread_id = $2";

/// $1 tenant, $2 and $3 threads: the entries by which they hold their scopes. An engine may name holders by ids.
const LET_GO: &str = "
delete from scope_holders where tenant = $1 and kind = 'thread' and (scope_id, holder) in (
    select t.scope_id, {holder} from threads t where t.tenant = $1 and t.thread_id in ($2, $3))";
const HOLD: &str = "
insert into scope_holders (tenant, scope_id, kind, holder)
select t.tenant, t.scope_id, 'thread', {holder} from threads t where t.tenant = $1 and t.thread_id in ($2, $3)";

/// $1 tenant, $2 the thread: a batch that waits at the scope lock looks again.
pub const RAISE: &str = "
update scopes set epoch = epoch + 1 where tenant = $1 and scope_id in (
    select t.scope_id from threads t where t.tenant = $1 and t.thread_id = $2)";

/// $1 tenant, $2 from, $3 to, $4 and $5 the MAC and the alias that go with that name.
const RENAME: &str = "
update threads set thread_id = $3, mac = case when length($4) > 0 then $4 end, alias = nullif($5, '') where tenant = $1 and thread_id = $2";

/// $1 tenant, $2 the copy, $3 what was there: it keeps fence, lease and the time at which it was made. Both have one owner.
const TAKE_OVER: &str = "
update threads set fence = o.fence, lease_holder = o.lease_holder, lease_expires_at = o.lease_expires_at,
    created_at = o.created_at
from threads o where o.tenant = $1 and o.thread_id = $3 and threads.tenant = $1 and threads.thread_id = $2";

/// $1 tenant, $2 what was there.
const DROP_LEASE: &str = "
update threads set lease_holder = null, lease_expires_at = null where tenant = $1 and thread_id = $2";

/// $1 tenant, $2 thread. Nobody looks for the ttl of a hidden thread.
const LOOK_FOR_TTL: &str = "
update thread_details set ttl_due = 0 where ttl_due is not null and tenant = $1
    and thread_key in (select t.thread_key from threads t where t.tenant = $1 and t.thread_id = $2)";

/// $1 tenant, $2 thread, $3 generation, $4 the least fence.
const BEGIN: &str = "
update threads set generation = $3, fence = case when fence < $4 then $4 else fence end
where tenant = $1 and thread_id = $2 returning thread_id";

impl Exchange<'_> {
    /// Locks the scopes of all copies and of everything that is there, in the order of batches.
    ///
    /// # Errors
    /// A database that cannot be written.
    pub async fn lock_all(
        access: &mut dyn Access,
        (dialect, tenant): (&Dialect, &str),
        all: &[Self],
        of_sessions: Vec<i64>,
    ) -> Result<()> {
        let mut scopes = of_sessions;
        for it in all {
            scopes.extend(it.scopes(access).await?);
        }
        scopes.sort_unstable();
        scopes.dedup();
        for scope_id in &scopes {
            lock_scope(access, dialect, tenant, *scope_id).await?;
        }
        for it in all {
            if it.scopes(access).await?.iter().any(|it| scopes.binary_search(it).is_err()) {
                return Err(again("the thread was made again meanwhile"));
            }
        }
        Ok(())
    }

    async fn scopes(&self, access: &mut dyn Access) -> Result<Vec<i64>> {
        let text =
            "select t.scope_id from threads t where t.tenant = $1 and t.thread_id in ($2, $3)";
        let rows = access.rows(text, &self.binds(&self.staged, &self.it.into)).await?;
        rows.iter().map(|row| row.integer(0)).collect()
    }

    /// The thread that is there, if it may be replaced.
    ///
    /// # Errors
    /// `ThreadTaken`; `ThreadExists` where another id was asked for; `LeaseHeld`, `FenceStale`.
    pub async fn check(&self, access: &mut dyn Access) -> Result<Option<There>> {
        let now = if self.dialect.has_lateral {
            "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
        } else {
            "cast(unixepoch('subsec') * 1000000 as integer)"
        };
        let into = self.it.into.as_str();
        let binds = [SqlValue::from(self.caller.tenant.as_str()), into.into()];
        let rows = access.rows(&THERE.replace("{now}", now), &binds).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let there = There {
            generation: row.text(0)?.to_owned(),
            owner: row.optional_text(1)?.map(str::to_owned),
            checkpoints: row.integer(2)?,
            size_bytes: row.integer(3)?,
            fence: row.integer(4)?,
            held: row.integer(5)? > row.integer(6)?,
            ids: (row.integer(7)?, row.integer(8)?),
            updated_at: row.integer(10)?,
        };
        let found = OwnerRow::thread(into, there.ids, there.owner.as_deref());
        found.check(self.secret, row.optional_bytes(9)?)?;
        let owned = OwnedThread::by(self.caller, into, Action::Write);
        if owned.is_taken(there.owner.as_deref()) {
            return Err(Error::Conflict(Conflict::ThreadTaken));
        }
        if !self.it.in_place() {
            return Err(Error::Conflict(Conflict::ThreadExists));
        }
        match self.it.fence {
            None if there.held => Err(Error::Conflict(Conflict::LeaseHeld)),
            Some(fence) if fence != there.fence => {
                Err(Error::Conflict(Conflict::FenceStale { current: there.fence }))
            }
            _ => Ok(Some(there)),
        }
    }

    /// Under the scope locks. `owner` is whose a new thread is.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn carry_out(
        &self,
        access: &mut dyn Access,
        owner: Option<String>,
    ) -> Result<Exchanged> {
        let there = self.check(access).await?;
        let expected = there.as_ref().map_or(&owner, |it| &it.owner);
        let (ids, owner_of_copy) = self.find_copy(access).await?;
        if owner_of_copy != *expected {
            return Err(again("the thread was made by somebody else meanwhile"));
        }
        let into = &self.it.into;
        access.rows(&self.dialect.fill(LET_GO), &self.binds(&self.staged, into)).await?;
        let fence;
        if let Some(there) = &there {
            let binds = [self.tenant(), into.as_str().into()];
            access.rows(RAISE, &binds).await?;
            self.rename(access, (into, &self.replaced), (there.ids, expected.as_deref())).await?;
            access.rows(TAKE_OVER, &self.binds(&self.staged, &self.replaced)).await?;
            let binds = [self.tenant(), self.replaced.as_str().into()];
            access.rows(DROP_LEASE, &binds).await?;
            // Nobody holds it: who held it once, until it ran out, is refused as well.
            let is_lost = self.it.fence.is_none() && there.fence > 0;
            fence = if is_lost { there.fence + 1 } else { 0 };
        } else {
            fence = self.fence_of_tombstone(access).await?;
        }
        self.rename(access, (&self.staged, into), (ids, expected.as_deref())).await?;
        let generation = random_hex();
        let binds = [self.tenant(), into.as_str().into(), generation.as_str().into(), fence.into()];
        if access.rows(BEGIN, &binds).await?.is_empty() {
            return Err(again("the copy was removed meanwhile"));
        }
        access.rows(LOOK_FOR_TTL, &[self.tenant(), into.as_str().into()]).await?;
        access.rows(&self.dialect.fill(HOLD), &self.binds(into, &self.replaced)).await?;
        Ok(Exchanged { generation, replaced: there })
    }

    async fn find_copy(&self, access: &mut dyn Access) -> Result<(Ids, Option<String>)> {
        find_hidden(access, (&self.caller.tenant, self.secret), &self.staged).await
    }

    async fn rename(
        &self,
        access: &mut dyn Access,
        (from, to): (&ThreadId, &ThreadId),
        (ids, owner): (Ids, Option<&str>),
    ) -> Result<()> {
        let mac = OwnerRow::thread(to.as_str(), ids, owner).mac_cell(self.secret);
        let alias = stored_alias(to.as_str()).unwrap_or_default();
        let binds = [&self.binds(from, to)[..], &[mac, alias.as_str().into()]].concat();
        access.rows(RENAME, &binds).await?;
        Ok(())
    }

    /// A deleted thread that is made again goes on from the fence that it had, which nobody holds any more.
    async fn fence_of_tombstone(&self, access: &mut dyn Access) -> Result<i64> {
        let text =
            "delete from thread_tombstones where tenant = $1 and thread_id = $2 returning fence";
        let rows = access.rows(text, &[self.tenant(), self.it.into.as_str().into()]).await?;
        let fence = rows.first().map_or(Ok(0), |row| row.integer(0))?;
        Ok(fence + i64::from(fence > 0))
    }

    fn tenant(&self) -> SqlValue {
        self.caller.tenant.as_str().into()
    }

    fn binds(&self, one: &ThreadId, other: &ThreadId) -> [SqlValue; 3] {
        [self.tenant(), one.as_str().into(), other.as_str().into()]
    }
}

/// A hidden thread with its owner, as a server wrote them.
async fn find_hidden(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    hidden: &ThreadId,
) -> Result<(Ids, Option<String>)> {
    let text = "select t.owner, t.thread_key, t.scope_id, t.mac from threads t
        where t.tenant = $1 and t.thread_id = $2";
    let rows = access.rows(text, &[tenant.into(), hidden.as_str().into()]).await?;
    let row = rows.first().ok_or_else(|| again("the copy was removed meanwhile"))?;
    let (ids, owner) = ((row.integer(1)?, row.integer(2)?), row.optional_text(0)?);
    OwnerRow::thread(hidden.as_str(), ids, owner).check(secret, row.optional_bytes(3)?)?;
    Ok((ids, owner.map(str::to_owned)))
}

/// A part of a snapshot says whose it is, and decides who restores it. The copy that it keeps is signed.
///
/// # Errors
/// `Integrity` where the two differ.
pub async fn check_part(
    access: &mut dyn Access,
    of: (&str, &TenantSecret),
    (hidden, owner): (&ThreadId, Option<&str>),
) -> Result<()> {
    check_owner(of.1, owner, find_hidden(access, of, hidden).await?.1.as_deref())
}

/// As [`check_part`], of a copy that was found.
///
/// # Errors
/// As [`check_part`].
pub fn check_owner(secret: &TenantSecret, said: Option<&str>, signed: Option<&str>) -> Result<()> {
    if secret.cipher().is_none() || said == signed {
        return Ok(());
    }
    Err(Error::Integrity("a part of a snapshot names another owner than it was taken from".into()))
}
