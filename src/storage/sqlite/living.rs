//! Lists the servers that are alive: those of this process, because the lock of the file keeps other servers away.

use std::collections::HashSet;
use std::sync::Mutex;

use async_trait::async_trait;

use super::SqliteStorage;
use crate::domain::Result;
use crate::domain::scheduling::background_tasks::Running;
use crate::storage::db::access::Access;
use crate::storage::maintenance::background_tasks::Living;

/// Numbers of storages that are open. A process may open a file more than once.
static OPEN: Mutex<Option<HashSet<i64>>> = Mutex::new(None);

/// A storage that is open.
pub struct Life {
    pub running: Running,
}

impl Default for Life {
    fn default() -> Self {
        let running = Running::default();
        with_open(|open| open.insert(running.server));
        Self { running }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        with_open(|open| open.remove(&self.running.server));
    }
}

fn with_open<T>(act: impl FnOnce(&mut HashSet<i64>) -> T) -> T {
    let mut open = OPEN.lock().expect("nothing panics while it is held");
    act(open.get_or_insert_default())
}

#[async_trait]
impl Living for SqliteStorage {
    fn own(&self) -> &Running {
        &self.life.running
    }

    async fn show_life(&self) -> Result<()> {
        Ok(())
    }

    async fn living(&self, _: &mut dyn Access) -> Result<Vec<i64>> {
        Ok(with_open(|open| open.iter().copied().collect()))
    }
}
