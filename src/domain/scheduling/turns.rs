//! Makes calls that would do the same work, or overtake each other in vain, wait for each other. It works on one server; between servers
//! the database decides.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use tokio::sync::{Mutex, MutexGuard};

/// Keys share turns by chance; one in some hundred does no harm.
const TURNS: u64 = 512;

pub struct Turns(Vec<Mutex<()>>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..TURNS).map(|_| Mutex::default()).collect())
    }
}

impl Turns {
    pub async fn take(&self, key: impl Hash) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % TURNS).unwrap_or(0);
        self.0[at].lock().await
    }
}
