//! Moves cold content out of the database into an object store, in immutable packs of chunks. It is off by default.
//!
//! A commit does not use the object store: it always writes chunks to the database, and the packer moves them later.

pub mod audit;
mod fetch;
pub mod pack_location;
pub mod pack_prefetch;
pub mod packer;
pub mod packs;
pub mod postgres;
pub mod reading;
pub mod sqlite;
mod store;

pub(in crate::storage) use self::store::by_url as store_by_url;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::Semaphore;

use self::pack_location::PackLocation;
use self::packs::{PackStorage, Scope};
use crate::content::parts::Name;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::storage::content::redis::Redis;
use crate::storage::maintenance::resealing::moved_chunk;

/// Reads from the store that run at one time, over all requests.
const READS_MAX: usize = 32;

/// What is moved, and when.
#[derive(Debug, Clone)]
pub struct Packing {
    /// From the end of one round of the packer to the next.
    pub every: Duration,
    /// Content of threads without a commit for so long is cold.
    pub after: Micros,
    /// A scope with less than this to move is left as it is.
    pub pack_bytes_min: usize,
    /// A pack is closed when it has reached this: with its last chunk it stays far below 16 MiB.
    pub pack_bytes: usize,
    /// Memory for content that was read lately: a conversation that is taken up again is read turn after turn.
    pub kept_bytes_max: u64,
    /// How long an object stays after the database has let go of it: reads that are on their way still need it, and a
    /// database restored from a backup of that age.
    pub keep: Micros,
}

/// The least that an object stays: longer than any read takes.
pub const KEEP_MIN: Micros = 3_600 * 1_000_000;

impl Default for Packing {
    fn default() -> Self {
        Self {
            every: Duration::from_mins(5),
            after: 3_600 * 1_000_000,
            pack_bytes_min: 1 << 20,
            pack_bytes: 8 << 20,
            kept_bytes_max: 64 << 20,
            keep: KEEP_MIN,
        }
    }
}

/// An object store, and what this process knows of it.
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    /// In front of every key.
    prefix: Path,
    reads: Semaphore,
    kept: Cache<PackLocation, Bytes>,
    /// What other servers have read lately.
    shared: Option<Arc<Redis>>,
    pub packing: Packing,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Objects({})", self.store)
    }
}

impl Objects {
    /// Takes a store that is known to work.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path, packing: Packing) -> Self {
        let weight =
            |_: &PackLocation, body: &Bytes| u32::try_from(body.len() + 128).unwrap_or(u32::MAX);
        Self {
            store,
            prefix,
            reads: Semaphore::new(READS_MAX),
            kept: Cache::builder().max_capacity(packing.kept_bytes_max).weigher(weight).build(),
            shared: None,
            packing,
        }
    }

    /// With a memory that servers share.
    #[must_use]
    pub fn sharing(self, shared: Option<Arc<Redis>>) -> Self {
        Self { shared, ..self }
    }

    /// Opens the store that a URL names and shows that it can be written, read and deleted from.
    ///
    /// # Errors
    /// `Invalid`, with advice.
    pub async fn open(url: &str, packing: Packing, allow_unsafe: bool) -> Result<Self> {
        let (store, prefix) = store::by_url(store::SETTING, url, allow_unsafe)?;
        let objects = Self::new(store, prefix, packing);
        objects.try_out().await?;
        Ok(objects)
    }
}

/// Chunks of a copy written together: about 2 MiB.
const STAGED_TOGETHER: usize = 2_000;

/// Brings the packed chunks of a scope into the database, as chunks of a copy that is being staged. `from` comes with its
/// places where they are known.
///
/// # Errors
/// `Integrity` and `Unavailable` of the store, `Unavailable` of the database.
pub async fn stage_packed(
    objects: Option<&Objects>,
    storage: &dyn PackStorage,
    from: (&Scope, Option<Vec<(PackLocation, Name)>>),
    to: &Scope,
    thread_key: i64,
) -> Result<()> {
    let (from, known) = from;
    let mut places = match known {
        Some(places) => places,
        None => storage.list_places(from).await?,
    };
    places.sort_unstable();
    let secret = storage.tenant_secret(&from.tenant).await?;
    for batch in places.chunks(STAGED_TOGETHER) {
        let objects = objects.ok_or_else(fetch::no_store)?;
        let names: HashMap<PackLocation, Name> = batch.iter().copied().collect();
        let fetched = objects.fetch((&from.tenant, &secret), batch.iter().copied()).await?;
        let moved = fetched.into_iter().map(|(place, body)| {
            let name = names[&place];
            Ok((name, moved_chunk(&secret, (from.id, to.id), &name, body)?))
        });
        let chunks = moved.collect::<Result<Vec<(Name, Bytes)>>>()?;
        storage.put_staged(to, thread_key, &chunks).await?;
    }
    Ok(())
}
