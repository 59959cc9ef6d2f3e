//! Implements the log of changes of the storage in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::store::feed::{Change, ChangeKind, ChangePage, FeedStorage, Position};
use threadkeep::domain::store::item::Address;

use crate::memory::Memory;

#[derive(Default)]
pub struct Logs {
    /// By tenant.
    changes: Mutex<BTreeMap<String, Vec<Change>>>,
    /// How often all logs were lost.
    pub losses: AtomicU64,
}

impl Memory {
    fn feed(&self) -> String {
        format!("memory-{}", self.logs.losses.load(Relaxed))
    }

    pub fn log(&self, tenant: &str, address: &Address, version: i64, kind: ChangeKind, at: Micros) {
        let mut logs = self.logs.changes.lock().unwrap();
        let log = logs.entry(tenant.to_owned()).or_default();
        let commit = log.len() as u64 + 1;
        let position = Position { feed: self.feed(), commit, n: 0, at };
        log.push(Change { position, address: address.clone(), version, kind });
    }
}

#[async_trait]
impl FeedStorage for Memory {
    async fn open_feed(&self, tenant: &str, now: Micros) -> Result<Position> {
        self.called("open_feed")?;
        let logs = self.logs.changes.lock().unwrap();
        let commit = logs.get(tenant).map_or(0, Vec::len) as u64;
        Ok(Position { feed: self.feed(), commit, n: 0, at: now })
    }

    async fn read_changes(
        &self,
        after: &[(String, Position)],
        changes_max: usize,
        now: Micros,
    ) -> Result<Vec<Option<ChangePage>>> {
        self.called("read_changes")?;
        let logs = self.logs.changes.lock().unwrap();
        let page = |(tenant, after): &(String, Position)| {
            let log = logs.get(tenant).map_or(&[][..], Vec::as_slice);
            let from = usize::try_from(after.commit).unwrap().min(log.len());
            let to = (from + changes_max).min(log.len());
            let next = Position { commit: to as u64, n: 0, at: now, ..after.clone() };
            let is_whole = to - from < changes_max;
            (after.feed == self.feed()).then(|| ChangePage {
                changes: log[from..to].to_vec(),
                next,
                is_whole,
            })
        };
        Ok(after.iter().map(page).collect())
    }
}
