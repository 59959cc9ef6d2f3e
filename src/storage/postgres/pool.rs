//! Implements a small connection pool (`deadpool::managed`). It does not ping on release. A connection whose use was cut short is closed,
//! because a query still runs on it. A connection is used for half an hour at most, and closed after ten idle minutes: proxies and
//! firewalls forget old and idle ones.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use deadpool::managed::{
    self, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult, TimeoutType, Timeouts,
};
use sqlx::Executor as _;

use super::connection::Connection;
use super::servers::{Refusal, Servers};
use crate::domain::Error;
use crate::domain::engine::PoolUse;
use crate::domain::scheduling::fair_places::{FairPlaces, Place, Share};
use crate::storage::db::error_counts;

/// How long a caller waits for a connection before it is told to come again.
const WAIT: Duration = Duration::from_secs(10);
/// How old a connection may be, less up to a fifth: those of one start do not all end together.
const LIFE: Duration = Duration::from_mins(30);
const IDLE: Duration = Duration::from_mins(10);

pub struct Manager {
    servers: Servers,
    /// Statements of these connections end when nobody waits for their answer any more.
    ends_unheard: bool,
    /// How many connections were opened.
    opened: AtomicU64,
}

impl Manager {
    fn new(servers: Servers, ends_unheard: bool) -> Self {
        Self { servers, ends_unheard, opened: AtomicU64::new(0) }
    }
}

/// A connection, and when it is too old.
pub struct Pooled {
    connection: Connection,
    life: Duration,
}

impl managed::Manager for Manager {
    type Type = Pooled;
    type Error = Refusal;

    async fn create(&self) -> Result<Pooled, Refusal> {
        let connected = self.servers.connect().await;
        if let Err(refusal) = &connected {
            error_counts::count(refusal.class());
        }
        let mut connection = Connection::new(connected?);
        self.opened.fetch_add(1, Relaxed);
        if self.ends_unheard {
            // Not every system can tell: there they end by their time alone.
            let _ = connection.execute("set client_connection_check_interval = '500ms'").await;
        }
        Ok(Pooled { connection, life: LIFE.mul_f64(rand::random_range(0.8..=1.0)) })
    }

    /// No round trip: a dead connection shows at its next use, which is answered by a retry.
    async fn recycle(&self, pooled: &mut Pooled, metrics: &Metrics) -> RecycleResult<Refusal> {
        if metrics.age() > pooled.life {
            return Err(RecycleError::message("old"));
        }
        if metrics.last_used() > IDLE {
            return Err(RecycleError::message("idle for long"));
        }
        Ok(())
    }
}

#[derive(Clone)]
pub struct Pool {
    inner: managed::Pool<Manager>,
    places: Arc<FairPlaces>,
}

/// Connections for what may go through much: tenants share them, and a statement ends when its time is over.
pub struct SearchPool(Pool);

/// A connection on loan. Dropped, it goes back to the pool, or closes where its last statement was cut short or a transaction is open.
pub struct Lease {
    object: Option<Object<Manager>>,
    place: Option<Place>,
}

impl Pool {
    pub fn new(servers: Servers, size: usize) -> Result<Self, Error> {
        Self::of(Manager::new(servers, false), size, Share::WhileOthersWait)
    }

    fn of(manager: Manager, size: usize, share: Share) -> Result<Self, Error> {
        // The servers end by themselves.
        let timeouts = Timeouts { wait: Some(WAIT), create: None, recycle: None };
        let inner = managed::Pool::builder(manager)
            .max_size(size)
            .queue_mode(QueueMode::Lifo)
            .timeouts(timeouts)
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self { inner, places: FairPlaces::new(size, share) })
    }

    pub async fn get(&self) -> Result<Lease, Error> {
        match self.inner.get().await {
            Ok(object) => Ok(Lease { object: Some(object), place: None }),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// For a call of a tenant: tenants take turns where connections are short.
    pub async fn get_for(&self, tenant: &str) -> Result<Lease, Error> {
        let place = tokio::time::timeout(WAIT, self.places.take(tenant)).await;
        let place = place.map_err(|_| unavailable(&PoolError::Timeout(TimeoutType::Wait)))??;
        self.get_at(place).await
    }

    async fn get_at(&self, place: Place) -> Result<Lease, Error> {
        let mut lease = self.get().await?;
        lease.place = Some(place);
        Ok(lease)
    }

    pub fn usage(&self, name: &'static str) -> PoolUse {
        let status = self.inner.status();
        PoolUse {
            name,
            in_use: status.size.saturating_sub(status.available),
            idle: status.available,
            max: status.max_size,
            waiting: status.waiting + self.places.waiting_count(),
            opened: self.inner.manager().opened.load(Relaxed),
        }
    }

    /// Closes what nobody uses any more.
    pub fn close_idle(&self) {
        self.inner.retain(|_, metrics| metrics.last_used() <= IDLE);
    }

    /// Drops every idle connection: after one broke, the others are most likely dead too.
    pub fn clear(&self) {
        self.inner.retain(|_, _| false);
    }

    pub fn close(&self) {
        self.places.close();
        self.inner.close();
    }
}

impl SearchPool {
    /// `time`: what a statement may take.
    pub fn new(servers: &Servers, size: usize, time: Duration) -> Result<Self, Error> {
        let millis = time.as_millis().to_string();
        let servers = servers.map(|it| it.options([("statement_timeout", millis.as_str())]));
        Ok(Self(Pool::of(Manager::new(servers, true), size, Share::Always)?))
    }

    pub async fn get(&self, tenant: &str) -> Result<Lease, Error> {
        self.0.get_at(self.0.places.take(tenant).await?).await
    }

    pub fn usage(&self, name: &'static str) -> PoolUse {
        self.0.usage(name)
    }

    pub fn clear(&self) {
        self.0.clear();
    }

    pub fn close_idle(&self) {
        self.0.close_idle();
    }

    pub fn close(&self) {
        self.0.close();
    }
}

impl Lease {
    /// For one that nobody else is to use.
    pub fn close(mut self) {
        self.object.take().map(Object::take);
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.object.as_ref().expect("present until close or drop").connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.object.as_mut().expect("present until close or drop").connection
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let object = self.object.take();
        let _ended = object.filter(|it| !it.connection.is_reusable()).map(Object::take);
    }
}

fn unavailable(error: &PoolError<Refusal>) -> Error {
    Error::Unavailable {
        detail: format!("no database connection: {error}"),
        retry_after: Duration::from_secs(1),
    }
}
