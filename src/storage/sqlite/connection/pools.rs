//! Tells how many connections to the file are in use.

use super::Connections;
use crate::domain::engine::PoolUse;
use crate::domain::scheduling::fair_places::FairPlaces;

impl Connections {
    pub(in crate::storage) fn pools(&self) -> Vec<PoolUse> {
        let idle = self.idle.lock().expect("nothing panics while it holds the list").len();
        vec![
            // Those that are free serve every reader.
            PoolUse { idle, ..of("readers", &self.readers) },
            of("searches", &self.searchers),
            of("keys", &self.first_readers),
            of("writer", &self.writers),
        ]
    }
}

fn of(name: &'static str, places: &FairPlaces) -> PoolUse {
    let in_use = places.taken_count();
    PoolUse { name, in_use, idle: 0, max: places.count(), waiting: places.waiting_count() }
}
