//! A small connection pool around sqlx's connections (`deadpool::managed`). It does not ping on release, and a
//! connection whose use was cut short is closed instead of being given back with a query still running on it.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use deadpool::managed::{self, Metrics, Object, QueueMode, RecycleError, RecycleResult, Timeouts};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use crate::domain::Error;

/// How long a caller waits for a connection before it is told to come again.
const WAIT: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);

pub struct Manager {
    options: PgConnectOptions,
}

impl managed::Manager for Manager {
    type Type = PgConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<PgConnection, sqlx::Error> {
        self.options.connect().await
    }

    /// No round trip: a dead connection shows at its next use, which is answered by a retry.
    async fn recycle(
        &self,
        _connection: &mut PgConnection,
        _metrics: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        Ok::<(), RecycleError<sqlx::Error>>(())
    }
}

#[derive(Clone)]
pub struct Pool {
    inner: managed::Pool<Manager>,
}

/// A connection on loan. Call [`Lease::release`] after the last use; dropped without it, the connection closes.
pub struct Lease {
    object: Option<Object<Manager>>,
}

impl Pool {
    pub fn new(options: PgConnectOptions, size: usize) -> Result<Self, Error> {
        let timeouts = Timeouts { wait: Some(WAIT), create: Some(CONNECT), recycle: Some(CONNECT) };
        let inner = managed::Pool::builder(Manager { options })
            .max_size(size)
            .queue_mode(QueueMode::Lifo)
            .timeouts(timeouts)
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self { inner })
    }

    pub async fn get(&self) -> Result<Lease, Error> {
        match self.inner.get().await {
            Ok(object) => Ok(Lease { object: Some(object) }),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Drops every idle connection: after one broke, the others are most likely dead too.
    pub fn clear(&self) {
        self.inner.retain(|_, _| false);
    }

    pub fn close(&self) {
        self.inner.close();
    }
}

impl Lease {
    /// Gives the connection back. Only after its last answer was read to the end.
    pub fn release(mut self) {
        drop(self.object.take());
    }
}

impl Deref for Lease {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.object.as_ref().expect("present until release or drop")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.object.as_mut().expect("present until release or drop")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

fn unavailable(error: &managed::PoolError<sqlx::Error>) -> Error {
    Error::Unavailable {
        detail: format!("no database connection: {error}"),
        retry_after: Duration::from_secs(1),
    }
}
