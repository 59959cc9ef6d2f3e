//! Defines packs, and the trait through which the packer reads and writes them. Both engines implement it, with the same results.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{BufMut as _, Bytes, BytesMut};

use super::pack_location::{PackId, PackLocation};
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::scheduling::background_tasks::BackgroundTaskStorage;

/// When a caller who met something that passes may try again.
pub const COME_BACK: Duration = Duration::from_secs(1);
/// The first bytes of every pack: what it is, and the version of its layout. Envelopes of chunks follow, one after the other.
const HEAD: &[u8; 8] = b"tkpack\0\x01";

/// A content scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    pub tenant: String,
    pub id: i64,
}

/// What makes a scope cold.
#[derive(Debug, Clone, Copy)]
pub struct Coldness {
    /// None of its threads had a commit since.
    pub untouched_since: Micros,
    /// A thread with less cannot fill a pack.
    pub size_bytes_min: i64,
}

/// A slice of all threads, in the order of (tenant, thread id).
#[derive(Debug, Default)]
pub struct ColdScopes {
    /// Scopes with the time of the last commit to any of their threads; a scope of several threads may come more than once.
    pub cold: Vec<(Scope, Micros)>,
    /// Where the next slice begins; None: this was the last.
    pub next: Option<(String, String)>,
}

/// A pack on its way into the database.
#[derive(Debug)]
pub struct NewPack {
    pub id: PackId,
    pub size_bytes: i64,
    pub chunks: Vec<(Name, PackLocation)>,
    /// Packs whose chunks it takes over; of other packs it takes none.
    pub replaces: Vec<PackId>,
}

/// A row of `packs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPack {
    pub scope: Scope,
    pub id: PackId,
    pub size_bytes: i64,
    pub live_bytes: i64,
}

#[async_trait]
pub trait PackStorage: BackgroundTaskStorage {
    async fn tenant_secret(&self, tenant: &str) -> Result<TenantSecret>;

    /// One slice of the threads that come after (tenant, thread id).
    async fn list_cold(&self, after: (&str, &str), coldness: Coldness) -> Result<ColdScopes>;

    /// Scopes with contents of files that became whole since they were packed, and when the last one did.
    async fn list_cold_contents(&self) -> Result<Vec<(Scope, Micros)>>;

    /// Takes a scope for this server until a time; false: another one has it, or has packed it since `touched`, the last
    /// commit to it. None: whatever it was.
    async fn claim_scope(
        &self,
        scope: &Scope,
        touched: Option<Micros>,
        now: Micros,
        until: Micros,
    ) -> Result<bool>;

    /// Gives a scope back; with the time of the commit up to which it is packed.
    async fn finish_scope(&self, scope: &Scope, touched: Option<Micros>) -> Result<()>;

    /// Names of the chunks with content that values of the scope lead to, each once, in the order of the values. Never
    /// names of nodes: statements read those in place.
    async fn list_leaves(&self, scope: &Scope) -> Result<Vec<Name>>;

    /// Bodies of those of the chunks that are in the database, in any order.
    async fn read_unpacked(&self, scope: &Scope, names: &[Name]) -> Result<Vec<(Name, Vec<u8>)>>;

    /// All packed chunks of a scope, in any order.
    async fn list_places(&self, scope: &Scope) -> Result<Vec<(PackLocation, Name)>>;

    /// Packs of a scope or of all.
    async fn list_packs(&self, scope: Option<&Scope>) -> Result<Vec<StoredPack>>;

    /// Some packs under half alive.
    async fn list_sparse(&self) -> Result<Vec<StoredPack>>;

    /// Notes, durably, that an object is about to be written.
    async fn intend(&self, scope: &Scope, pack: &PackId, now: Micros) -> Result<()>;

    /// Under the scope lock: points those chunks that still exist to the pack and takes the intent back. A pack that
    /// nothing points to, because its scope or its intent is gone, goes to the outbox. Answers the bytes it holds.
    async fn install(&self, scope: &Scope, pack: &NewPack, now: Micros) -> Result<i64>;

    /// Drops packs that hold nothing, which only a crash leaves.
    async fn drop_empty(&self, now: Micros) -> Result<()>;

    /// Turns intents from before a time into deletions.
    async fn expire_uploads(&self, before: Micros, now: Micros) -> Result<u64>;

    /// Takes some objects that were let go before a time for this server to delete.
    async fn claim_deletions(
        &self,
        dropped_before: Micros,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<(String, PackId)>>;

    /// Takes objects that are gone from the outbox.
    async fn finish_deletions(&self, done: &[(String, PackId)]) -> Result<()>;

    /// Writes chunks of a copy that is being staged: nothing once its entry in the garbage is gone.
    async fn put_staged(
        &self,
        scope: &Scope,
        thread_key: i64,
        chunks: &[(Name, Bytes)],
    ) -> Result<()>;
}

/// The bytes of a pack while it is filled.
#[derive(Debug, Default)]
pub struct Draft {
    bytes: BytesMut,
    chunks: Vec<(Name, u32, u32)>,
}

impl Draft {
    pub fn add(&mut self, name: Name, body: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.put_slice(HEAD);
        }
        let length = |bytes: usize| u32::try_from(bytes).expect("a pack is closed long before");
        self.chunks.push((name, length(self.bytes.len()), length(body.len())));
        self.bytes.put_slice(body);
    }

    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The pack under a new id, and its bytes.
    pub fn close(self, replaces: Vec<PackId>) -> (NewPack, Bytes) {
        let id: PackId = rand::random();
        let place = |(name, start, length)| (name, PackLocation { pack: id, start, length });
        let pack = NewPack {
            id,
            size_bytes: i64::try_from(self.bytes.len()).unwrap_or(i64::MAX),
            chunks: self.chunks.into_iter().map(place).collect(),
            replaces,
        };
        (pack, self.bytes.freeze())
    }
}

/// What packs lose when chunks at these places go.
pub fn bytes_by_pack(places: impl IntoIterator<Item = PackLocation>) -> BTreeMap<PackId, i64> {
    let mut bytes = BTreeMap::new();
    for place in places {
        *bytes.entry(place.pack).or_insert(0) += i64::from(place.length);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_says_where_each_chunk_lies() {
        let mut draft = Draft::default();
        draft.add([1; 12], b"first");
        draft.add([2; 12], b"the second");
        let (pack, bytes) = draft.close(Vec::new());
        assert_eq!(pack.size_bytes, 8 + 15);
        let at = |place: PackLocation| &bytes[place.start as usize..place.end() as usize];
        let found: Vec<_> = pack.chunks.iter().map(|(name, place)| (name[0], at(*place))).collect();
        assert_eq!(found, [(1, &b"first"[..]), (2, &b"the second"[..])]);
        let places = pack.chunks.iter().map(|(_, place)| *place);
        assert_eq!(bytes_by_pack(places), BTreeMap::from([(pack.id, 15)]));
    }
}
