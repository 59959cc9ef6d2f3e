//! Copies items and sessions of a snapshot into another name, or for another owner. It reads them and seals them anew in slices, under the
//! hidden names of a restore. The transaction that restores then finds them like those that stay.

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use super::SnapshotEngine;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, random_id};
use crate::domain::export::items::StoredItem;
use crate::domain::export::records::{Existing, SessionHead, SessionRecord, SessionSink, Staged};
use crate::domain::files::contents::{ContentId, ContentStorage as _, NewSlice, Part};
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::SNAPSHOT;
use crate::domain::snapshots::restore::NamespaceMove;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::export::{copies, items, sessions, sessions_staged, staging};

/// What one transaction writes.
const SLICE_ROWS: usize = 128;
const SLICE_BYTES: usize = 1 << 20;

/// Copies items of one number below a namespace as those of another number below another one.
///
/// # Errors
/// 422 where a namespace would be too long; a database that cannot be written.
pub async fn move_items<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    (from, to): (i64, i64),
    it: &NamespaceMove,
    now: Micros,
) -> Result<()> {
    let tenant = caller.tenant.as_str();
    let secret = engine.session_secret(tenant).await?;
    // A snapshot has what lived at its moment: how long it lives from now on is the restore's business.
    let ground =
        items::Ground { engine, tenant, secret: &secret, now: Micros::MIN, copies_of: Some(from) };
    let depth = it.part.namespace.labels().len();
    let mut after: Option<Address> = None;
    loop {
        let read = ground.page(&it.part.namespace, after.as_ref()).await?;
        let mut slice = (Vec::new(), 0);
        for mut item in read.items {
            let below = &item.record.address.namespace.labels()[depth..];
            let labels = [it.into.labels(), below].concat();
            let namespace =
                Namespace::new(labels).map_err(|error| error.within("namespaces.into"))?;
            let leaves_root = namespace.root() != item.record.address.namespace.root();
            item.record.address.namespace = namespace;
            if leaves_root {
                let (place, sizes) = (&item.record.address, item.record.content_sizes());
                for (id, size) in item.contents.iter_mut().zip(sizes) {
                    *id = copy_content(engine, caller, (place, *id, size), now).await?;
                }
            }
            slice.1 += item.record.size_bytes();
            slice.0.push(item);
            if slice.0.len() >= SLICE_ROWS || slice.1 >= SLICE_BYTES {
                put(engine, (tenant, &secret), to, std::mem::take(&mut slice).0).await?;
            }
        }
        put(engine, (tenant, &secret), to, slice.0).await?;
        match read.last {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}

async fn put<T: SnapshotEngine>(
    engine: &T,
    of: (&str, &TenantSecret),
    number: i64,
    items: Vec<StoredItem>,
) -> Result<()> {
    if items.is_empty() { Ok(()) } else { copies::put(engine, of, number, &items).await }
}

/// The same bytes in the scope of another namespace root. Until an item shows it, it is an upload like any other.
async fn copy_content<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    (place, from, size): (&Address, ContentId, u64),
    now: Micros,
) -> Result<ContentId> {
    let id = engine.begin_content(caller, place, now).await?;
    let (attempt, mut hash, mut start) = (random_id(), Sha256::new(), 0);
    let mut number = 0;
    while start < size {
        let (_, bytes) = engine.read_slice(caller, from, start).await?;
        hash.update(&bytes);
        let length = bytes.len() as u64;
        engine.put_slice(caller, NewSlice { id, attempt, number, start, bytes }, now).await?;
        (start, number) = (start + length, number + 1);
    }
    let sha256: [u8; 32] = hash.finalize().into();
    let part = Part { number: 1, size_bytes: start, sha256, attempt };
    engine.put_part(caller, id, &part, now).await?;
    engine.finish_content(caller, id, &[part], &sha256, now).await?;
    Ok(id)
}

/// Copies a session, whatever its kind, into a scope of its own, as one of another name and owner.
///
/// # Errors
/// `NotFound` without such a session; a database that cannot be written.
pub async fn copy_session<T: SnapshotEngine>(
    engine: &T,
    tenant: &str,
    (from, to): (&SessionName, &SessionName),
    owner: Option<&str>,
) -> Result<()> {
    let secret = engine.session_secret(tenant).await?;
    let of = (tenant, &secret);
    let mut copy =
        SessionCopy { engine, of, head: None, staged: None, waiting: Vec::new(), bytes: 0 };
    let done = async {
        if !sessions::read(engine, of, from, &mut copy).await? {
            return Err(Error::NotFound(SNAPSHOT));
        }
        copy.flush().await?;
        let head = copy.head.take().ok_or(Error::NotFound(SNAPSHOT))?;
        let head = SessionHead { owner: owner.map(str::to_owned), ..head };
        let staged = copy.staged.as_ref().ok_or(Error::NotFound(SNAPSHOT))?;
        sessions_staged::show(engine, of, (staged, &head, to), Existing::Refuse).await.map(drop)
    };
    let done = done.await;
    if done.is_err()
        && let Some(staged) = &copy.staged
    {
        engine.remove_unreachable(tenant, staged.key, staged.scope_id).await?;
    }
    done
}

struct SessionCopy<'a, T> {
    engine: &'a T,
    of: (&'a str, &'a TenantSecret),
    head: Option<SessionHead>,
    staged: Option<Staged>,
    waiting: Vec<SessionRecord>,
    bytes: usize,
}

impl<T: SnapshotEngine> SessionCopy<'_, T> {
    async fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let waiting = std::mem::take(&mut self.waiting);
        match &mut self.staged {
            Some(staged) if !waiting.is_empty() => {
                sessions_staged::stage(self.engine, self.of, staged, waiting).await
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl<T: SnapshotEngine> SessionSink for SessionCopy<'_, T> {
    async fn begin_session(&mut self, head: SessionHead) -> Result<()> {
        if let Some(staged) = self.staged.take() {
            self.engine.remove_unreachable(self.of.0, staged.key, staged.scope_id).await?;
        }
        self.waiting.clear();
        self.staged = Some(staging::begin(self.engine, self.of.0).await?);
        self.head = Some(head);
        Ok(())
    }

    async fn put_session(&mut self, record: SessionRecord) -> Result<()> {
        self.bytes += record.size_bytes();
        self.waiting.push(record);
        if self.waiting.len() >= SLICE_ROWS || self.bytes >= SLICE_BYTES {
            self.flush().await?;
        }
        Ok(())
    }
}
