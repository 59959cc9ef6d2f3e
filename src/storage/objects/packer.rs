//! Moves cold content into packs, rewrites packs that are mostly dead, and deletes objects that nobody needs. Any number of servers may run
//! the packer. The server that claims a scope or a deletion does it, and doing it twice is harmless.
//!
//! **Invariant:** an object without a row in `packs` has one in `uploads` or in `object_deletions`, whenever a server dies.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use tokio::sync::OnceCell;

use super::pack_location::{PackId, PackLocation};
use super::packs::{Coldness, Draft, NewPack, PackStorage, Scope};
use super::{Objects, fetch};
use crate::content::encrypted::encrypt_plain;
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::clock::{DAY, Micros, SECOND};
use crate::domain::metric_families as families;
use crate::domain::scheduling::background_tasks::{self, Group, Kind};
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::of_chunk;

const MINUTE: Micros = 60 * SECOND;
/// How long a server that died keeps a scope or a deletion from the others.
const CLAIM: Micros = 15 * MINUTE;
/// An upload that was not finished by then never will be.
const UPLOAD_MAX: Micros = DAY;
/// Chunks read from the database at a time: about 2 MiB.
const READ_CHUNKS: usize = 2_000;
/// Chunks of files are larger: about 8 MiB.
const READ_FILE_CHUNKS: usize = 64;
/// Moved content that a round gives to other servers: what was written since the round before, not all that there ever was.
const SHARED_BYTES_MAX: usize = 64 << 20;
/// Of packed chunks that are read together.
const READ_BYTES: u64 = 8 << 20;

/// One round at one time.
struct Packer<'a> {
    objects: &'a Objects,
    storage: &'a dyn PackStorage,
    now: Micros,
    /// Bytes that other servers were given.
    shared: AtomicUsize,
    /// Begun with the first scope.
    group: OnceCell<Group<'a>>,
}

impl Objects {
    /// One round of everything the packer does. What fails for one scope is logged and tried again later.
    ///
    /// # Errors
    /// `Unavailable` when the store or the database does not answer: the next round tries again.
    pub async fn work(&self, storage: &dyn PackStorage, now: Micros) -> Result<()> {
        let packer = Packer::new(self, storage, now);
        packer.expire_uploads().await?;
        packer.delete_objects().await?;
        let result = packer.work_on_scopes().await;
        match packer.group.into_inner() {
            Some(group) => group.end(result).await,
            None => result,
        }
    }
}

impl<'a> Packer<'a> {
    fn new(objects: &'a Objects, storage: &'a dyn PackStorage, now: Micros) -> Self {
        Self { objects, storage, now, shared: AtomicUsize::new(0), group: OnceCell::new() }
    }

    async fn work_on_scopes(&self) -> Result<()> {
        self.pack_cold().await?;
        self.pack_contents().await?;
        self.rewrite_sparse().await
    }

    /// Claims a scope and does the work. One that is put aside keeps its claim, so that it is not met again at once.
    async fn work_on(
        &self,
        scope: &Scope,
        touched: Option<Micros>,
        work: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let until = self.now + CLAIM;
        if !self.storage.claim_scope(scope, touched, self.now, until).await? {
            return Ok(());
        }
        let begin = || background_tasks::begin(self.storage, Kind::Packing, self.now);
        let group = self.group.get_or_try_init(begin).await?;
        let work = async {
            if settled(scope, work.await)? {
                self.storage.finish_scope(scope, touched).await?;
            }
            Ok(())
        };
        group.run((&scope.tenant, &scope.id.to_string()), self.now, work).await?;
        Ok(())
    }

    async fn expire_uploads(&self) -> Result<()> {
        let expired = self.storage.expire_uploads(self.now - UPLOAD_MAX, self.now).await?;
        if expired > 0 {
            tracing::warn!(expired, "uploads that were never finished will be deleted");
        }
        Ok(())
    }

    async fn delete_objects(&self) -> Result<()> {
        loop {
            let dropped_before = self.now - self.objects.packing.keep;
            let (now, until) = (self.now, self.now + CLAIM);
            let due = self.storage.claim_deletions(dropped_before, now, until).await?;
            if due.is_empty() {
                return Ok(());
            }
            for (_, pack) in &due {
                self.objects.delete(pack).await?;
            }
            self.storage.finish_deletions(&due).await?;
            metrics::counter!(families::OBJECTS_DELETED).increment(due.len() as u64);
        }
    }

    /// Goes through all threads in slices.
    async fn pack_cold(&self) -> Result<()> {
        let packing = &self.objects.packing;
        let coldness = Coldness {
            untouched_since: self.now - packing.after,
            size_bytes_min: i64::try_from(packing.pack_bytes_min).unwrap_or(i64::MAX),
        };
        let mut after = (String::new(), String::new());
        loop {
            let slice = self.storage.list_cold((&after.0, &after.1), coldness).await?;
            for (scope, touched) in slice.cold {
                let packing = self.pack_scope(&scope, READ_CHUNKS, false);
                self.work_on(&scope, Some(touched), packing).await?;
            }
            match slice.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    /// What of files is whole: it will not change. Lately written, it is likely to be read: other servers get it from here.
    async fn pack_contents(&self) -> Result<()> {
        for (scope, touched) in self.storage.list_cold_contents().await? {
            let packing = self.pack_scope(&scope, READ_FILE_CHUNKS, true);
            self.work_on(&scope, Some(touched), packing).await?;
        }
        Ok(())
    }

    /// `together`: chunks that are read at a time. `shares`: whether other servers get them.
    async fn pack_scope(&self, scope: &Scope, together: usize, shares: bool) -> Result<()> {
        let mut draft = Draft::default();
        for names in self.storage.list_leaves(scope).await?.chunks(together) {
            let read = self.storage.read_unpacked(scope, names).await?;
            let mut bodies: HashMap<Name, Vec<u8>> = read.into_iter().collect();
            for name in names {
                if let Some(body) = bodies.remove(name) {
                    draft.add(*name, &body);
                }
                if draft.size_bytes() >= self.objects.packing.pack_bytes {
                    let full = std::mem::take(&mut draft);
                    self.move_out(scope, full, shares).await?;
                }
            }
        }
        if draft.size_bytes() >= self.objects.packing.pack_bytes_min {
            self.move_out(scope, draft, shares).await?;
        }
        Ok(())
    }

    async fn move_out(&self, scope: &Scope, draft: Draft, shares: bool) -> Result<()> {
        let (pack, bytes) = self.store(scope, draft, Vec::new()).await?;
        if shares && self.shared.fetch_add(bytes.len(), Relaxed) < SHARED_BYTES_MAX {
            let body =
                |place: &PackLocation| bytes.slice(place.start as usize..place.end() as usize);
            let all: Vec<_> = pack.chunks.iter().map(|(_, it)| (*it, body(it))).collect();
            self.objects.share(&all).await;
        }
        Ok(())
    }

    /// The three steps: intent, upload, rows.
    async fn store(
        &self,
        scope: &Scope,
        draft: Draft,
        replaces: Vec<PackId>,
    ) -> Result<(NewPack, Bytes)> {
        let (pack, bytes) = draft.close(replaces);
        self.storage.intend(scope, &pack.id, self.now).await?;
        self.objects.put(&pack.id, bytes.clone()).await?;
        let live = self.storage.install(scope, &pack, self.now).await?;
        metrics::counter!(families::PACKS_WRITTEN).increment(1);
        metrics::counter!(families::PACKED_BYTES).increment(live.unsigned_abs());
        tracing::debug!(bytes = pack.size_bytes, live, "content was moved into a pack");
        Ok((pack, bytes))
    }

    async fn rewrite_sparse(&self) -> Result<()> {
        self.storage.drop_empty(self.now).await?;
        let mut sparse: BTreeMap<Scope, Vec<PackId>> = BTreeMap::new();
        for pack in self.storage.list_sparse().await? {
            sparse.entry(pack.scope).or_default().push(pack.id);
        }
        for (scope, packs) in sparse {
            self.work_on(&scope, None, self.rewrite(&scope, packs)).await?;
        }
        Ok(())
    }

    /// Puts what is alive in some packs of a scope together in new ones.
    async fn rewrite(&self, scope: &Scope, packs: Vec<PackId>) -> Result<()> {
        let secret = self.storage.tenant_secret(&scope.tenant).await?;
        let mut places = self.storage.list_places(scope).await?;
        places.retain(|(place, _)| packs.contains(&place.pack));
        places.sort_unstable();
        let mut draft = Draft::default();
        for batch in batches(&places) {
            let fetched =
                self.objects.fetch((&scope.tenant, &secret), batch.iter().copied()).await?;
            let bodies: HashMap<_, _> = fetched.into_iter().collect();
            for (place, name) in batch {
                draft.add(*name, &bodies[place]);
                if draft.size_bytes() >= self.objects.packing.pack_bytes {
                    self.store(scope, std::mem::take(&mut draft), packs.clone()).await?;
                }
            }
        }
        if !draft.is_empty() {
            self.store(scope, draft, packs).await?;
        }
        Ok(())
    }
}

/// Rewrites the packs of a scope whose chunks are not encrypted. `secrets`: the one that they open with, and the one that
/// they are encrypted with. Those of an earlier, unfinished time are left as they are.
///
/// # Errors
/// `Integrity` where a chunk is damaged; `Unavailable` of the store, or where none is given.
pub async fn encrypt(
    objects: Option<&Objects>,
    storage: &dyn PackStorage,
    scope: &Scope,
    (plain, secret): (&TenantSecret, &TenantSecret),
    now: Micros,
) -> Result<()> {
    let packs = storage.list_packs(Some(scope)).await?;
    if packs.is_empty() {
        return Ok(());
    }
    let (Some(objects), Some(cipher)) = (objects, secret.cipher()) else {
        return Err(fetch::no_store());
    };
    let packer = Packer::new(objects, storage, now);
    let places = storage.list_places(scope).await?;
    for pack in packs {
        let mut own: Vec<_> =
            places.iter().filter(|(place, _)| place.pack == pack.id).copied().collect();
        own.sort_unstable();
        let mut draft = Draft::default();
        for batch in batches(&own) {
            let bodies = match objects.fetch((&scope.tenant, plain), batch.iter().copied()).await {
                Err(Error::Integrity(_)) => {
                    objects.fetch((&scope.tenant, secret), batch.iter().copied()).await?;
                    continue;
                }
                bodies => bodies?.into_iter().collect::<HashMap<_, _>>(),
            };
            for (place, name) in batch {
                let sealed =
                    of_chunk(scope.id, name, |aad| encrypt_plain(cipher, aad, &bodies[place]));
                draft.add(*name, &sealed.unwrap_or_else(|| bodies[place].clone()));
            }
        }
        if !draft.is_empty() {
            packer.store(scope, draft, vec![pack.id]).await?;
        }
    }
    Ok(())
}

/// Chunks that are read together, in their order.
fn batches(places: &[(PackLocation, Name)]) -> Vec<&[(PackLocation, Name)]> {
    let mut bytes = 0;
    let joins = |_: &(PackLocation, Name), next: &(PackLocation, Name)| {
        bytes += u64::from(next.0.length);
        let joins = bytes < READ_BYTES;
        if !joins {
            bytes = 0;
        }
        joins
    };
    places.chunk_by(joins).collect()
}

/// Damage in one scope does not keep the others waiting; it keeps its claim, so that it is not met again at once.
fn settled(scope: &Scope, result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error @ Error::Unavailable { .. }) => Err(error),
        Err(error) => {
            tracing::error!(%error, scope = scope.id, "the content of a scope cannot be packed");
            Ok(false)
        }
    }
}
