//! Stores values in parts, which are put before the commit that names them, and reads them one after the other. The SQL is the same for
//! both engines.
//!
//! A part is an unfinished content without a namespace, in the scope of its thread. Its list keeps the chunks alive until a commit names
//! them, or the sweep of contents removes it a day later.
//!
//! **Invariant:** a commit takes over only what was seen in one epoch of the scope, and the batch refuses it in another one.

use std::collections::HashMap;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use subtle::ConstantTimeEq as _;

use crate::content::keys::{PartDigest, TenantSecret};
use crate::content::parts::{self, NAME_BYTES, Name, Part, leaves_only};
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{Commit, InParts, LargeValues, NewPart};
use crate::domain::checkpoints::storage::ValuePartStorage;
use crate::domain::clock::Micros;
use crate::domain::files::contents::ContentId;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::scheduling::cpu_pool;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::content::opening::{Chunks, StoredValue};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue, lock_scope, rows_named};
use crate::storage::files::contents::{put_chunks, seal_slice};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// Chunks in a part of an answer: of at most 256 KiB each.
const CHUNKS_READ: usize = 16;
const CODE_BYTES: usize = 16;
const PURPOSE: &str = "value part";
/// How often a part is read whose chunks move into a pack, or from one into another, meanwhile.
const READS_MAX: u32 = 8;

const THREAD: &str = "
select t.scope_id, s.epoch, t.owner, t.generation, t.fence,
    cast(case when t.lease_holder is not null and t.lease_expires_at > {now} then 1 else 0 end as bigint),
    t.thread_key, t.mac
from threads t join scopes s on s.tenant = t.tenant and s.scope_id = t.scope_id
where t.tenant = $1 and t.thread_id = $2";

/// Only while somebody holds the scope. $1 tenant, $2 id, $3 nothing, $4 scope, $5 bytes, $6 digest, $7 now.
const PUT: &str = "
insert into contents (tenant, content_id, namespace, key, scope_id, size_bytes, digest, created_at,
    finished_at, idle_since)
select $1, $2, $3, $3, $4, $5, $6, $7, 0, $7
where exists (select 1 from scope_holders h where h.tenant = $1 and h.scope_id = $4)
returning content_id";

/// Below zero: it is of no whole content. $3 its place in the value.
const PUT_LIST: &str = "
insert into content_slices (tenant, content_id, attempt, no, start_at, size_bytes, scope_id, parts)
values ($1, $2, 0, $3, -1, $4, $5, $6)";

const NAMED: &str = "
select c.content_id, s.no, s.size_bytes, c.digest, s.parts from contents c
join content_slices s on s.tenant = c.tenant and s.content_id = c.content_id
where c.tenant = $1 and c.scope_id = $2 and c.finished_at = 0 and length(c.namespace) = 0 and c.content_id in";

/// What a commit has taken over counts as its value from now on.
const TAKEN: &str = "
update contents set size_bytes = 0
where tenant = $1 and finished_at = 0 and length(namespace) = 0 and content_id in";

const CHUNKS: &str =
    "select name, body from chunks where tenant = $1 and scope_id = $2 and name in";

/// The parts that a commit names, as they are stored.
#[derive(Debug)]
pub struct NamedParts {
    /// Of the scope, when they were seen.
    pub epoch: i64,
    parts: HashMap<Vec<u8>, StoredPart>,
}

/// A part that was put.
#[derive(Debug)]
pub struct StoredPart {
    pub digest: PartDigest,
    /// The list of its chunks.
    pub list: Vec<u8>,
    index: u64,
    size_bytes: u64,
}

impl NamedParts {
    /// The parts of a value in their order.
    ///
    /// # Errors
    /// 409 `parts_missing`; 422 for parts that do not make a value of this length.
    pub fn of_value(&self, field: &str, value: &InParts) -> Result<Vec<&StoredPart>> {
        let invalid = |detail: String| Err(refused(field, &detail));
        let missing = || Error::Conflict(Conflict::PartsMissing { field: field.to_owned() });
        let mut parts = Vec::with_capacity(value.names.len());
        let mut rest = value.size_bytes;
        for (name, index) in value.names.iter().zip(0..) {
            let part = self.parts.get(&name[..]).ok_or_else(missing)?;
            if part.index != index {
                return invalid(format!("part {index} was put with the index {}", part.index));
            }
            let size_bytes = rest.min(LIMITS.value_part_bytes);
            if part.size_bytes != size_bytes {
                let has = part.size_bytes;
                return invalid(format!("part {index} must have {size_bytes} bytes, it has {has}"));
            }
            rest -= size_bytes;
            parts.push(part);
        }
        Ok(parts)
    }
}

/// Holds the count of parts against the length, which needs no look-up.
///
/// # Errors
/// 422 naming the field.
pub fn check_count(field: &str, value: &InParts) -> Result<()> {
    if value.size_bytes == 0 {
        return Err(refused(field, "a value without bytes has no parts"));
    }
    let (wanted, named) = (value.size_bytes.div_ceil(LIMITS.value_part_bytes), value.names.len());
    if named as u64 == wanted {
        return Ok(());
    }
    let detail = format!("a length of {} makes {wanted} parts, not {named}", value.size_bytes);
    Err(refused(field, &detail))
}

fn refused(field: &str, detail: &str) -> Error {
    Error::invalid(field, format!("{field}: {detail}"))
}

/// Looks up the parts that a commit names; no round trip where it names none.
///
/// # Errors
/// `ThreadTaken`; a database that cannot be read.
pub async fn named_in(
    engine: &dyn Accessible,
    (secret, memory): (&TenantSecret, &ChunkMemory),
    caller: &Caller,
    commit: &Commit,
) -> Result<Option<NamedParts>> {
    let names = names_in(commit);
    if names.is_empty() {
        return Ok(None);
    }
    let owned = OwnedThread::by(caller, commit.thread_id.as_str(), Action::Append);
    let mut access = engine.begin_read_for(&caller.tenant).await?;
    let Some(thread) = thread_of(engine, &mut *access, owned).await? else {
        return Ok(Some(NamedParts { epoch: 0, parts: HashMap::new() }));
    };
    thread.check_mac(owned.thread_id, secret)?;
    let place = [caller.tenant.as_str().into(), thread.scope_id.into()];
    let rows = rows_named(&mut *access, NAMED, &place, &names).await?;
    access.end().await?;
    let name = (caller.tenant.as_str(), commit.thread_id.as_str());
    let ids = (thread.thread_key, thread.scope_id);
    memory.scopes.saw_encrypted(secret, name, ids, thread.owner.as_deref());
    let parts = rows.iter().filter_map(|row| stored_part(row).transpose());
    Ok(Some(NamedParts { epoch: thread.epoch, parts: parts.collect::<Result<_>>()? }))
}

fn names_in(commit: &Commit) -> Vec<SqlValue> {
    let all = commit.values().filter_map(|it| it.in_parts.as_ref()).flat_map(|it| &it.names);
    all.map(|name| SqlValue::from(&name[..])).collect()
}

/// None for a content that is no part of a value.
fn stored_part(row: &SqlRow) -> Result<Option<(Vec<u8>, StoredPart)>> {
    let Some(digest) = PartDigest::read(row.bytes(3)?) else { return Ok(None) };
    let part = StoredPart {
        digest,
        list: row.bytes(4)?.to_vec(),
        index: row.integer(1)?.unsigned_abs(),
        size_bytes: row.integer(2)?.unsigned_abs(),
    };
    Ok(Some((row.bytes(0)?.to_vec(), part)))
}

struct FoundThread {
    thread_key: i64,
    scope_id: i64,
    owner: Option<String>,
    mac: Option<Vec<u8>>,
    epoch: i64,
    generation: String,
    fence: i64,
    is_leased: bool,
}

impl FoundThread {
    /// Before anything of the thread is opened, or sealed for its scope.
    fn check_mac(&self, thread_id: &str, secret: &TenantSecret) -> Result<()> {
        let ids = (self.thread_key, self.scope_id);
        let row = OwnerRow::thread(thread_id, ids, self.owner.as_deref());
        row.check(secret, self.mac.as_deref())
    }

    /// The conditions of a commit, so that a part that no commit can take over is refused at once.
    fn check(&self, part: &NewPart) -> Result<()> {
        let conflict = match (&part.generation, part.fence) {
            (Some(wanted), _) if *wanted != self.generation => {
                Conflict::ThreadRestored { current: self.generation.clone() }
            }
            (_, None) if self.is_leased => Conflict::LeaseHeld,
            (_, Some(wanted)) if wanted != self.fence => {
                Conflict::FenceStale { current: self.fence }
            }
            _ => return Ok(()),
        };
        Err(Error::Conflict(conflict))
    }
}

/// None: there is no such thread.
async fn thread_of(
    engine: &dyn Accessible,
    access: &mut dyn Access,
    owned: OwnedThread<'_>,
) -> Result<Option<FoundThread>> {
    let text = engine.dialect().fill(THREAD);
    let found = access.rows(&text, &[owned.tenant.into(), owned.thread_id.into()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    if owned.is_taken(row.optional_text(2)?) {
        return Err(Error::Conflict(Conflict::ThreadTaken));
    }
    Ok(Some(FoundThread {
        thread_key: row.integer(6)?,
        scope_id: row.integer(0)?,
        owner: row.optional_text(2)?.map(str::to_owned),
        mac: row.optional_bytes(7)?.map(<[u8]>::to_vec),
        epoch: row.integer(1)?,
        generation: row.text(3)?.to_owned(),
        fence: row.integer(4)?,
        is_leased: row.integer(5)? != 0,
    }))
}

#[async_trait]
impl<T: Accessible> ValuePartStorage for T {
    async fn put_value_part(
        &self,
        caller: &Caller,
        part: &NewPart,
        now: Micros,
    ) -> Result<Option<Bytes>> {
        let owned = OwnedThread::by(caller, part.thread_id.as_str(), Action::Append);
        let mut access = self.begin_read_for(&caller.tenant).await?;
        let thread = thread_of(self, &mut *access, owned).await?;
        access.end().await?;
        let Some(thread) = thread else { return Ok(None) };
        thread.check(part)?;
        let (scope_id, secret) = (thread.scope_id, self.secret_of(&caller.tenant).await?);
        thread.check_mac(owned.thread_id, &secret)?;
        let (index, data) = (part.index, part.data.clone());
        let part_bytes = usize::try_from(LIMITS.value_part_bytes).unwrap_or(usize::MAX);
        let seal = move || {
            (secret.digest_part(index, part_bytes, &data), seal_slice(&secret, scope_id, &data))
        };
        let (digest, sealed) = cpu_pool::run(&caller.tenant, seal).await?;
        let (id, tenant) = (ContentId::random(), SqlValue::from(caller.tenant.as_str()));
        let size_bytes = SqlValue::from(i64::try_from(part.data.len()).unwrap_or(i64::MAX));
        let place = [tenant, SqlValue::from(&id.0[..])];
        let row = [
            SqlValue::Bytes(Vec::new()),
            scope_id.into(),
            size_bytes.clone(),
            SqlValue::Bytes(digest.to_bytes()),
            now.into(),
        ];
        let mut access = self.begin_adding().await?;
        lock_scope(&mut *access, self.dialect(), &caller.tenant, scope_id).await?;
        let put = access.rows(PUT, &[&place[..], &row].concat()).await?;
        if put.is_empty() {
            access.end().await?;
            return Ok(None);
        }
        put_chunks(&mut *access, &caller.tenant, scope_id, sealed.chunks).await?;
        let index = SqlValue::from(i64::try_from(index).unwrap_or(i64::MAX));
        let list = [index, size_bytes, scope_id.into(), SqlValue::Bytes(sealed.list)];
        access.rows(PUT_LIST, &[&place[..], &list].concat()).await?;
        access.end().await?;
        Ok(Some(Bytes::copy_from_slice(&id.0)))
    }

    async fn take_value_parts(&self, caller: &Caller, commit: &Commit) -> Result<()> {
        let names = names_in(commit);
        if names.is_empty() {
            return Ok(());
        }
        let mut access = self.begin_write().await?;
        rows_named(&mut *access, TAKEN, &[caller.tenant.as_str().into()], &names).await?;
        access.end().await
    }

    async fn get_value_part(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        name: &[u8],
    ) -> Result<Option<Bytes>> {
        let Some((code, names)) = name.split_first_chunk::<CODE_BYTES>() else { return Ok(None) };
        let names = names.chunks(NAME_BYTES).map(Name::try_from).collect::<Result<Vec<_>, _>>();
        let Ok(names) = names else { return Ok(None) };
        if names.is_empty() || names.len() > CHUNKS_READ {
            return Ok(None);
        }
        let secret = self.secret_of(&caller.tenant).await?;
        let owned = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        let prefetch = PackPrefetch::default();
        for _ in 0..READS_MAX {
            let mut access = self.begin_read_for(&caller.tenant).await?;
            let thread = match thread_of(self, &mut *access, owned).await {
                // To who may only read its own, another's is not there.
                Err(Error::Conflict(Conflict::ThreadTaken)) => None,
                thread => thread?,
            };
            let Some(thread) = thread else { return Ok(None) };
            thread.check_mac(owned.thread_id, &secret)?;
            let scope_id = thread.scope_id;
            let own = secret.code(PURPOSE, scope_id, &names.concat());
            if !bool::from(own.ct_eq(code)) {
                return Ok(None);
            }
            let cells: Vec<SqlValue> = names.iter().map(|it| SqlValue::from(&it[..])).collect();
            let scope = [caller.tenant.as_str().into(), scope_id.into()];
            let rows = rows_named(&mut *access, CHUNKS, &scope, &cells).await?;
            access.end().await?;
            let mut chunks = Chunks::default();
            let found = rows.iter().map(|it| Ok((it.bytes(0)?, it.bytes(1)?)));
            let of = (caller.tenant.as_str(), &secret);
            chunks.add_each(of, &found.collect::<Result<Vec<_>>>()?)?;
            prefetch.complete(of, &mut chunks)?;
            if prefetch.is_complete() {
                return joined(&secret, scope_id, &names, &chunks);
            }
            prefetch.fetch_missing(self.objects(), &secret).await?;
        }
        Err(Error::Unavailable {
            detail: "the value was moved again and again while it was read".into(),
            retry_after: crate::storage::objects::packs::COME_BACK,
        })
    }
}

/// The bytes of chunks in their order, each held against its name. None where one is not there any more.
fn joined(
    secret: &TenantSecret,
    scope_id: i64,
    names: &[Name],
    chunks: &Chunks,
) -> Result<Option<Bytes>> {
    let found: Option<Vec<&Bytes>> =
        names.iter().map(|name| chunks.leaf(secret, scope_id, name)).collect();
    let Some(found) = found else { return Ok(None) };
    let mut bytes = BytesMut::with_capacity(found.iter().map(|it| it.len()).sum());
    for (name, chunk) in names.iter().zip(found) {
        if secret.name(chunk) != *name {
            return Err(Error::Integrity("a chunk of a value has another name".into()));
        }
        bytes.extend_from_slice(chunk);
    }
    Ok(Some(bytes.freeze()))
}

/// What a reader asks for instead of a value's bytes; None for one that comes with them.
pub fn names_of_parts(
    secret: &TenantSecret,
    stored: &StoredValue<'_>,
    large_values: LargeValues,
) -> Option<InParts> {
    let list = stored.parts.filter(|it| comes_as_names(stored.size_bytes, it, large_values))?;
    let leaves = leaves_only(list)?;
    let name = |leaves: &[Name]| {
        let names = leaves.concat();
        let code = secret.code(PURPOSE, stored.scope_id, &names);
        Bytes::from([&code[..], &names].concat())
    };
    let size_bytes = u64::from(stored.size_bytes.unsigned_abs());
    Some(InParts { names: leaves.chunks(CHUNKS_READ).map(name).collect(), size_bytes })
}

/// Whether a stored value comes as the names of its parts. Of the large ones, those that came in parts begin with a chunk: a value
/// of a body has so many chunks that it begins with a node.
pub fn comes_as_names(size_bytes: i32, list: &[u8], large_values: LargeValues) -> bool {
    let begins_with_chunk = || matches!(parts::read(list).as_deref(), Ok([Part::Leaf(_), ..]));
    i64::from(size_bytes) > large_values.bytes_max() && begins_with_chunk()
}
