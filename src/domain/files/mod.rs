//! Shows the items of one namespace as files, exactly as deepagents' `StoreBackend` keeps them. The key is the path, and the value holds
//! the content. The two languages of deepagents differ by [`dialect`].

mod carrying;
pub mod changing;
pub mod contents;
pub mod dialect;
pub mod drive;
pub mod drive_files;
pub mod glob;
mod glob_braces;
mod glob_matcher;
mod glob_name;
mod glob_program;
pub mod head;
pub mod lines;
pub mod listing;
pub mod media;
pub mod memory;
pub mod moving;
pub mod path;
pub mod problem;
pub mod raw_files;
pub mod reading;
pub mod replacing;
mod running_hash;
pub mod searching;
pub mod storage;
pub mod uploads;
pub mod value;
pub mod writing;

use std::sync::Arc;

use self::contents::ContentStorage;
use self::dialect::Dialect;
use self::memory::ContentMemory;
use self::searching::SearchBudget;
use self::storage::FileStorage;
use self::uploads::Uploads;
use super::caller::Caller;
use super::clock::Micros;
use super::error::{Error, Result};
use super::scheduling::long_work::LongWork;
use super::scheduling::turns::Turns;
use super::store::item::{Address, Item, Key};
use super::store::namespace::Namespace;
use super::store::service::Items;
use super::tokens::grants::Action;

/// Bytes of contents that are kept for searches.
pub const MEMORY_BYTES: usize = 64 << 20;

/// Files that are open at one time.
const OPENED_MAX: usize = 64;

/// Files of a tenant.
pub struct Files {
    storage: Arc<dyn FileStorage>,
    items: Arc<Items>,
    /// For contents that are copied.
    uploads: Uploads,
    memory: ContentMemory,
    /// Who changes a file next.
    turns: Turns,
    budget: SearchBudget,
    long: LongWork,
}

/// Who asks, and for the files of which namespace: exactly of it, of none below it.
#[derive(Clone, Copy)]
pub struct FileCall<'a> {
    pub caller: &'a Caller,
    pub dialect: Dialect,
    pub namespace: &'a Namespace,
}

/// A request that changes files.
#[derive(Clone, Copy)]
pub struct FileChangeCall<'a> {
    pub asking: FileCall<'a>,
    /// Key and digest of the request.
    pub idempotency: Option<&'a (String, [u8; 32])>,
    pub deadline: Micros,
}

impl Files {
    pub fn new(storage: Arc<dyn FileStorage>, items: Arc<Items>, memory_bytes_max: usize) -> Self {
        let contents: Arc<dyn ContentStorage> = Arc::<dyn FileStorage>::clone(&storage);
        let uploads = Uploads::new(contents, Arc::clone(&items.quotas), Arc::clone(&items.clock));
        let memory = ContentMemory::new(memory_bytes_max);
        let (turns, budget) = (Turns::default(), SearchBudget::default());
        let long = LongWork::default();
        Self { storage, items, uploads, memory, turns, budget, long }
    }

    fn now(&self) -> Micros {
        self.items.clock.now()
    }

    /// The item at a path, whoever asks.
    async fn stored(&self, asking: FileCall<'_>, path: &Key) -> Result<Option<Item>> {
        let address = [asking.address(path)];
        let mut found =
            self.storage.get_items(asking.caller, &address, None, self.now()).await?.into_iter();
        Ok(found.next().flatten())
    }

    /// The same where the caller may read it: what is another's is not there.
    async fn visible(&self, asking: FileCall<'_>, path: &Key) -> Result<Option<Item>> {
        if !asking.may(Action::Read) {
            return Ok(None);
        }
        self.stored(asking, path).await
    }
}

impl FileCall<'_> {
    fn may(&self, action: Action) -> bool {
        self.caller.may_touch_namespace(self.namespace.labels(), action)
    }

    /// # Errors
    /// `NotGranted`, decided from the token alone.
    fn require(&self, action: Action) -> Result<()> {
        if self.may(action) {
            return Ok(());
        }
        Err(Error::NotGranted("no grant covers this namespace"))
    }

    fn address(&self, path: &Key) -> Address {
        Address { namespace: self.namespace.clone(), key: path.clone() }
    }
}

/// A limit of the wire as a number of things in memory.
fn count(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// The text of an item that was read whole.
fn text_of(item: &Item) -> Result<&[u8]> {
    item.value.as_deref().ok_or_else(|| Error::Internal("a file was read without its value".into()))
}
