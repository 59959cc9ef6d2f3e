//! Tells how many connections to the file are in use and were opened, and how large the file is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use super::Connections;
use crate::domain::engine::{DatabaseSize, PoolUse};
use crate::domain::scheduling::fair_places::FairPlaces;

/// Opens connections and counts them.
#[derive(Default)]
pub(super) struct Opened {
    readers: AtomicU64,
    writers: AtomicU64,
}

impl Opened {
    pub(super) async fn reader(
        &self,
        options: &SqliteConnectOptions,
    ) -> sqlx::Result<SqliteConnection> {
        self.readers.fetch_add(1, Relaxed);
        SqliteConnection::connect_with(options).await
    }

    pub(super) async fn writer(
        &self,
        options: &SqliteConnectOptions,
    ) -> sqlx::Result<SqliteConnection> {
        self.writers.fetch_add(1, Relaxed);
        SqliteConnection::connect_with(options).await
    }
}

impl Connections {
    pub(in crate::storage) fn pools(&self) -> Vec<PoolUse> {
        let idle = self.idle.lock().expect("nothing panics while it holds the list").len();
        let (readers, writers) = (&self.opened.readers, &self.opened.writers);
        vec![
            // Those that are free serve every reader.
            PoolUse { idle, opened: readers.load(Relaxed), ..of("readers", &self.readers) },
            of("searches", &self.searchers),
            of("keys", &self.first_readers),
            PoolUse { opened: writers.load(Relaxed), ..of("writer", &self.writers) },
        ]
    }

    /// A file system that hangs must not hang the server.
    pub(in crate::storage) async fn measure(&self) -> DatabaseSize {
        let reserve = Arc::clone(&self.reserve);
        let measured = tokio::task::spawn_blocking(move || reserve.measure()).await;
        measured.unwrap_or_default()
    }
}

fn of(name: &'static str, places: &FairPlaces) -> PoolUse {
    PoolUse {
        name,
        in_use: places.taken_count(),
        idle: 0,
        max: places.count(),
        waiting: places.waiting_count(),
        opened: 0,
    }
}
