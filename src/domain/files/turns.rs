//! Who changes a file next. Changes of one file on one server wait for each other instead of overtaking each other in vain; between
//! servers the version decides.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tokio::sync::{Mutex, MutexGuard};

use crate::domain::item::Address;

/// Files share turns by chance; one in some hundred does no harm.
const TURNS: u64 = 512;

pub struct Turns(Vec<Mutex<()>>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..TURNS).map(|_| Mutex::default()).collect())
    }
}

impl Turns {
    pub async fn take(&self, tenant: &str, address: &Address) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (tenant, address).hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % TURNS).unwrap_or(0);
        self.0[at].lock().await
    }
}
