//! Stores contents of files as rows: uploads, their slices, and their end. The SQL is the same for both engines.
//!
//! **Invariant:** a slice is written with all of its chunks, under the lock of its scope and of its upload's row. So a collection sees the
//! list that names them, or comes before them.

pub mod erasing;
pub mod packing;
mod reading;
mod sealing;
mod sweeping;

pub use self::sealing::{put_chunks, seal as seal_slice};
pub use self::sweeping::{drop_content, drop_unshown, sweep};

use async_trait::async_trait;
use bytes::Bytes;

use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::contents::{
    ContentId, ContentStorage, IDLE_MAX, NewSlice, Part, Upload, Whole,
};
use crate::domain::scheduling::contention::Contention;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::{Address, Key};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, Dialect, SqlRow, SqlValue, lock_scope};
use crate::storage::store::namespaces;

const SCOPE: &str =
    "select scope_id from contents where tenant = $1 and content_id = $2 and finished_at = 0";

/// Only where the root is still there: erased with its subject, it takes no more. $1 tenant, $2 id, $3 namespace, $4 key, $5
/// scope, $6 now.
const BEGIN: &str = "
insert into contents (tenant, content_id, namespace, key, scope_id, size_bytes, digest, created_at,
    finished_at, idle_since)
select $1, $2, $3, $4, $5, 0, $7, $6, 0, $6
where exists (select 1 from scope_holders h where h.tenant = $1 and h.scope_id = $5)
returning content_id";

/// Locks the upload; nothing where it has ended.
const TOUCH: &str = "
update contents set idle_since = $3
where tenant = $1 and content_id = $2 and finished_at = 0 and exists (
    select 1 from scope_holders h where h.tenant = $1 and h.scope_id = contents.scope_id)
returning scope_id";

/// Below zero: it is of no whole content yet. $5 is where it begins in its part.
const PUT_SLICE: &str = "
insert into content_slices (tenant, content_id, attempt, no, start_at, size_bytes, scope_id, parts)
values ($1, $2, $3, $4, -1 - $5, $6, $7, $8)";

const PUT_PART: &str = "
insert into content_parts (tenant, content_id, part, attempt, size_bytes, sha256, arrived_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (tenant, content_id, part) do update set attempt = excluded.attempt,
    size_bytes = excluded.size_bytes, sha256 = excluded.sha256, arrived_at = excluded.arrived_at";

/// What was sent before and is replaced.
const DROP_ATTEMPT: &str = "
delete from content_slices where tenant = $1 and content_id = $2 and attempt = (
    select p.attempt from content_parts p where p.tenant = $1 and p.content_id = $2 and p.part = $3)
returning scope_id";

const RECOUNT: &str = "
update contents set size_bytes = (select cast(coalesce(sum(p.size_bytes), 0) as bigint)
    from content_parts p where p.tenant = $1 and p.content_id = $2)
where tenant = $1 and content_id = $2";

/// Archives have no namespace, and are no uploads of files.
const UPLOAD: &str = "
select namespace, key, created_at, idle_since, finished_at from contents
where tenant = $1 and content_id = $2 and length(namespace) > 0";

const PARTS: &str = "
select part, attempt, size_bytes, sha256 from content_parts
where tenant = $1 and content_id = $2 order by part";

const LOCKED: &str = "
select size_bytes, digest, finished_at from contents where tenant = $1 and content_id = $2 {lock}";

const PLACE: &str = "
update content_slices set start_at = $4 - 1 - start_at
where tenant = $1 and content_id = $2 and attempt = $3 and start_at < 0
returning size_bytes";

/// Slices of no part that counts.
const DROP_UNPLACED: &str = "delete from content_slices where tenant = $1 and content_id = $2 and start_at < 0 returning scope_id";

pub const FINISH: &str = "
update contents set size_bytes = $3, digest = $4, finished_at = $5, idle_since = $5
where tenant = $1 and content_id = $2";

/// What an engine does for contents in its own way.
#[async_trait]
pub trait Roots: Accessible {
    /// The content scope of a namespace root, as the database says now.
    async fn scope_of_root(&self, tenant: &str, root: &str) -> Result<i64>;
}

#[async_trait]
impl<T: Roots> ContentStorage for T {
    async fn begin_content(
        &self,
        caller: &Caller,
        place: &Address,
        now: Micros,
    ) -> Result<ContentId> {
        self.check_room()?;
        let id = ContentId::random();
        let mut contention = Contention::default();
        loop {
            let scope_id = self.scope_of_root(&caller.tenant, place.namespace.root()).await?;
            let binds = [
                key(caller, id).to_vec(),
                vec![
                    SqlValue::Bytes(namespaces::encode(&place.namespace)),
                    place.key.as_bytes().into(),
                    scope_id.into(),
                    now.into(),
                    SqlValue::Bytes(Vec::new()),
                ],
            ];
            let mut access = self.begin_write().await?;
            let made = access.rows(BEGIN, &binds.concat()).await?;
            access.end().await?;
            if !made.is_empty() {
                return Ok(id);
            }
            // Erased since.
            contention.lost("the namespace root keeps").await?;
        }
    }

    async fn put_slice(&self, caller: &Caller, slice: NewSlice, now: Micros) -> Result<()> {
        self.check_room()?;
        let upload = key(caller, slice.id);
        let found = self.read_rows(&caller.tenant, SCOPE, &upload).await?;
        let scope_id = found.first().ok_or_else(gone)?.integer(0)?;
        let secret = self.secret_of(&caller.tenant).await?;
        let bytes = slice.bytes.clone();
        let seal = move || sealing::seal(&secret, scope_id, &bytes);
        let sealed = cpu_pool::run(&caller.tenant, seal).await?;
        let mut access = self.begin_adding().await?;
        lock_scope(&mut *access, self.dialect(), &caller.tenant, scope_id).await?;
        touch(&mut *access, &upload, now).await?;
        sealing::put_chunks(&mut *access, &caller.tenant, scope_id, sealed.chunks).await?;
        let row = [
            slice.attempt.into(),
            slice.number.into(),
            integer(slice.start)?,
            integer(slice.bytes.len() as u64)?,
            scope_id.into(),
            SqlValue::Bytes(sealed.list),
        ];
        access.rows(PUT_SLICE, &[&upload[..], &row].concat()).await?;
        access.end().await
    }

    async fn put_part(
        &self,
        caller: &Caller,
        id: ContentId,
        part: &Part,
        now: Micros,
    ) -> Result<()> {
        let upload = key(caller, id);
        let number = SqlValue::from(i64::from(part.number));
        let mut access = self.begin_write().await?;
        touch(&mut *access, &upload, now).await?;
        let replaced = [&upload[..], std::slice::from_ref(&number)].concat();
        let replaced = access.rows(DROP_ATTEMPT, &replaced).await?;
        sweeping::leave_chunks(&mut *access, &caller.tenant, &replaced, now).await?;
        let row = [
            number,
            part.attempt.into(),
            integer(part.size_bytes)?,
            SqlValue::from(&part.sha256[..]),
            now.into(),
        ];
        access.rows(PUT_PART, &[&upload[..], &row].concat()).await?;
        access.rows(RECOUNT, &upload).await?;
        access.end().await
    }

    async fn get_upload(&self, caller: &Caller, id: ContentId) -> Result<Option<Upload>> {
        let upload = key(caller, id);
        let mut access = self.begin_read_for(&caller.tenant).await?;
        let found = access.rows(UPLOAD, &upload).await?;
        let parts = access.rows(PARTS, &upload).await?;
        access.end().await?;
        let Some(row) = found.first() else { return Ok(None) };
        let address = Address {
            namespace: namespaces::decode(row.bytes(0)?)?,
            key: Key::stored(row.bytes(1)?.to_vec()),
        };
        Ok(Some(Upload {
            address,
            created_at: row.integer(2)?,
            expires_at: row.integer(3)? + IDLE_MAX,
            is_whole: row.integer(4)? > 0,
            parts: parts.iter().map(part).collect::<Result<_>>()?,
        }))
    }

    async fn finish_content(
        &self,
        caller: &Caller,
        id: ContentId,
        parts: &[Part],
        fingerprint: &[u8],
        now: Micros,
    ) -> Result<Whole> {
        let upload = key(caller, id);
        let digest = self.secret_of(&caller.tenant).await?.digest(fingerprint).to_vec();
        let mut access = self.begin_write().await?;
        let found = access.rows(&self.dialect().fill(LOCKED), &upload).await?;
        let row = found.first().ok_or_else(gone)?;
        if row.integer(2)? > 0 {
            let size_bytes = row.integer(0)?.unsigned_abs();
            let whole = Whole { size_bytes, digest: row.bytes(1)?.to_vec() };
            access.end().await?;
            return Ok(whole);
        }
        let mut size_bytes = 0;
        for part in parts {
            let start = [part.attempt.into(), integer(size_bytes)?];
            let placed = access.rows(PLACE, &[&upload[..], &start].concat()).await?;
            let arrived = placed.iter().map(|row| row.integer(0)).sum::<Result<i64>>()?;
            if arrived.unsigned_abs() != part.size_bytes {
                // Replaced since it was listed.
                return Err(Error::invalid(
                    "parts",
                    "a part was sent again while the upload ended",
                ));
            }
            size_bytes += part.size_bytes;
        }
        let dropped = access.rows(DROP_UNPLACED, &upload).await?;
        sweeping::leave_chunks(&mut *access, &caller.tenant, &dropped, now).await?;
        let row = [integer(size_bytes)?, SqlValue::from(&digest[..]), now.into()];
        access.rows(FINISH, &[&upload[..], &row].concat()).await?;
        access.end().await?;
        Ok(Whole { size_bytes, digest })
    }

    async fn drop_upload(&self, caller: &Caller, id: ContentId, now: Micros) -> Result<bool> {
        sweeping::drop_unshown(self, &caller.tenant, id, now).await
    }

    async fn discard_upload(&self, caller: &Caller, id: ContentId, now: Micros) -> Result<()> {
        sweeping::discard(self, caller, id, now).await
    }

    async fn discard_part(
        &self,
        caller: &Caller,
        id: ContentId,
        attempt: i64,
        now: Micros,
    ) -> Result<()> {
        sweeping::discard_part(self, (&caller.tenant, id), attempt, now).await
    }

    async fn read_slice(&self, caller: &Caller, id: ContentId, at: u64) -> Result<(u64, Bytes)> {
        reading::read_slice(self, caller, id, at).await
    }
}

/// Puts the slices of a content that came as one part where they belong, under the lock of its row.
///
/// # Errors
/// `NotFound` where it is gone; `Internal` where the slices are not all there.
pub async fn place_slices(
    access: &mut dyn Access,
    dialect: &Dialect,
    place: &[SqlValue; 2],
    (attempt, size_bytes): (i64, u64),
) -> Result<()> {
    if access.rows(&dialect.fill(LOCKED), place).await?.is_empty() {
        return Err(gone());
    }
    let placed = access.rows(PLACE, &[&place[..], &[attempt.into(), 0.into()]].concat()).await?;
    let arrived = placed.iter().map(|row| row.integer(0)).sum::<Result<i64>>()?;
    if arrived.unsigned_abs() == size_bytes {
        return Ok(());
    }
    Err(Error::Internal(format!("{arrived} bytes of {size_bytes} are there")))
}

async fn touch(access: &mut dyn Access, upload: &[SqlValue; 2], now: Micros) -> Result<()> {
    let touched = access.rows(TOUCH, &[&upload[..], &[now.into()]].concat()).await?;
    if touched.is_empty() { Err(gone()) } else { Ok(()) }
}

fn key(caller: &Caller, id: ContentId) -> [SqlValue; 2] {
    [caller.tenant.as_str().into(), SqlValue::from(&id.0[..])]
}

fn part(row: &SqlRow) -> Result<Part> {
    let damaged = |_| Error::Integrity("a part of an upload is damaged".into());
    Ok(Part {
        number: u32::try_from(row.integer(0)?).unwrap_or(u32::MAX),
        attempt: row.integer(1)?,
        size_bytes: row.integer(2)?.unsigned_abs(),
        sha256: row.bytes(3)?.try_into().map_err(damaged)?,
    })
}

fn integer(number: u64) -> Result<SqlValue> {
    let too_large = |_| Error::Internal("a size does not fit".into());
    i64::try_from(number).map(SqlValue::Integer).map_err(too_large)
}

fn gone() -> Error {
    Error::NotFound("such an upload was")
}
