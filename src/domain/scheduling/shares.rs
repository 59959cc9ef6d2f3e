//! Limits the memory that clients hold: bytes of bodies that arrive or are sent. All together, each tenant and each credential have a
//! share. A credential is the one that the first token of a chain was made with, so narrowing makes no new ones.
//!
//! **Invariant:** a full holder ends its own slowest body, or that of a larger holder, never that of a smaller one. A refused or ended
//! request is answered at once. Nobody waits for memory while holding some.

mod book;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use self::book::{Book, Level};
use super::pace::Pace;
use crate::domain::limits::LIMITS;
use crate::domain::metric_families as families;

/// Who holds something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder(Arc<(String, String)>);

/// How many bytes there are for all, for a tenant and for a credential. One body of a credential may go beyond the last, so that
/// every legal body fits.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub all: u64,
    pub tenant: u64,
    pub credential: u64,
}

/// The ledger.
pub struct Shares {
    sizes: Sizes,
    book: Mutex<Book>,
    ended: AtomicU64,
}

/// Opens accounts of one holder.
#[derive(Clone)]
pub struct Account {
    shares: Arc<Shares>,
    holder: Holder,
}

/// Bytes of one body; given back when dropped.
pub struct Held {
    shares: Arc<Shares>,
    body: Arc<Body>,
    bytes: u64,
}

/// One body in the ledger, whatever parts its bytes are in.
pub struct Body {
    holder: Holder,
    /// Changed under the lock of the book.
    bytes: AtomicU64,
    /// Its bytes were given back for it; changed under the lock of the book.
    is_forgiven: AtomicBool,
    way: Mutex<Way>,
    ended: Notify,
}

/// Why bytes cannot be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// This many bytes are the share that is used up.
    Share(u64),
    /// This body was ended in favour of another one.
    Ended,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Turn {
    /// Ours. What we work at is not ended.
    #[default]
    Server,
    Sender,
    Receiver,
}

type OnEnd = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Way {
    pace: Pace,
    turn: Turn,
    is_ended: bool,
    on_end: Option<OnEnd>,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            all: LIMITS.bytes_in_flight_max,
            tenant: LIMITS.bytes_in_flight_per_tenant_max,
            credential: LIMITS.bytes_in_flight_per_credential_max,
        }
    }
}

impl Holder {
    pub fn new(tenant: impl Into<String>, credential: impl Into<String>) -> Self {
        Self(Arc::new((tenant.into(), credential.into())))
    }

    pub fn tenant(&self) -> &str {
        &self.0.0
    }

    pub fn credential(&self) -> &str {
        &self.0.1
    }
}

impl Shares {
    pub fn new(sizes: Sizes) -> Arc<Self> {
        Arc::new(Self { sizes, book: Mutex::default(), ended: AtomicU64::new(0) })
    }

    pub fn account(self: &Arc<Self>, holder: Holder) -> Account {
        Account { shares: Arc::clone(self), holder }
    }

    /// Bytes that are held now.
    pub fn held_bytes(&self) -> u64 {
        self.book().bytes
    }

    /// The same by whose turn it is.
    pub fn held_bytes_by_turn(&self) -> [(Turn, u64); 3] {
        let book = self.book();
        let credentials = book.tenants.values().flat_map(|it| it.credentials.values());
        let mut all = [(Turn::Server, 0), (Turn::Sender, 0), (Turn::Receiver, 0)];
        for body in credentials.flat_map(|it| &it.bodies) {
            let turn = body.way().turn;
            let of_turn = all.iter_mut().filter(|it| it.0 == turn);
            of_turn.for_each(|it| it.1 += body.bytes.load(Ordering::Relaxed));
        }
        all
    }

    /// Bodies that were ended in favour of others.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    fn grow(&self, body: &Arc<Body>, bytes: u64) -> Result<(), Full> {
        loop {
            let mut book = self.book();
            if body.is_ended() {
                return Err(Full::Ended);
            }
            let Some(level) = book.full(self.sizes, body, bytes) else {
                book.add(body, bytes);
                return Ok(());
            };
            let Some(victim) = book.victim(level, body, bytes) else {
                return Err(Full::Share(self.size_of(level)));
            };
            drop(book);
            self.end(&victim);
        }
    }

    /// What it keeps goes at once; a body that was being read is given up by its reader, and counts no more.
    fn end(&self, body: &Arc<Body>) {
        let (on_end, turn) = {
            let mut way = body.way();
            // It may be our turn by now.
            if way.is_ended || way.turn == Turn::Server {
                return;
            }
            way.is_ended = true;
            (way.on_end.take(), way.turn)
        };
        self.ended.fetch_add(1, Ordering::Relaxed);
        metrics::counter!(families::BODIES_ENDED, "reason" => "share").increment(1);
        if let Some(on_end) = on_end {
            on_end();
        }
        if turn == Turn::Sender {
            let mut book = self.book();
            book.remove(body, body.bytes.load(Ordering::Relaxed));
            body.is_forgiven.store(true, Ordering::Relaxed);
        }
        body.ended.notify_waiters();
    }

    fn give_back(&self, body: &Arc<Body>, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut book = self.book();
        if !body.is_forgiven.load(Ordering::Relaxed) {
            book.remove(body, bytes);
        }
    }

    fn size_of(&self, level: Level) -> u64 {
        match level {
            Level::All => self.sizes.all,
            Level::Tenant => self.sizes.tenant,
            Level::Credential => self.sizes.credential,
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    pub fn tenant(&self) -> &str {
        self.holder.tenant()
    }

    /// For one body, of which nothing is held yet.
    pub fn open(&self) -> Held {
        let body = Body {
            holder: self.holder.clone(),
            bytes: AtomicU64::new(0),
            is_forgiven: AtomicBool::new(false),
            way: Mutex::default(),
            ended: Notify::new(),
        };
        Held { shares: Arc::clone(&self.shares), body: Arc::new(body), bytes: 0 }
    }
}

impl Held {
    /// # Errors
    /// When a share is used up and nothing gives way; when this body was ended.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes = bytes as u64;
        self.shares.grow(&self.body, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// # Errors
    /// As [`Self::grow`].
    pub fn resize(&mut self, bytes: usize) -> Result<(), Full> {
        let wanted = bytes as u64;
        match wanted.checked_sub(self.bytes) {
            Some(0) => Ok(()),
            Some(more) => self.grow(usize::try_from(more).unwrap_or(usize::MAX)),
            None => {
                drop(self.split(self.bytes - wanted));
                Ok(())
            }
        }
    }

    /// Moves bytes of the same body, as many as there are of them.
    #[must_use]
    pub fn split(&mut self, bytes: u64) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { shares: Arc::clone(&self.shares), body: Arc::clone(&self.body), bytes }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Of the same holder.
    pub fn account(&self) -> Account {
        Account { shares: Arc::clone(&self.shares), holder: self.body.holder.clone() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shares.give_back(&self.body, self.bytes);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Body {
    /// Notes how fast it is, and whose turn it is now.
    pub fn note(&self, pace: Pace, turn: Turn) {
        let mut way = self.way();
        (way.pace, way.turn) = (pace, turn);
    }

    pub fn is_ended(&self) -> bool {
        self.way().is_ended
    }

    /// Called when it is ended, at once if it was.
    pub fn on_end(&self, on_end: OnEnd) {
        let mut way = self.way();
        if way.is_ended {
            drop(way);
            return on_end();
        }
        way.on_end = Some(on_end);
    }

    /// Resolves when it is ended in favour of another.
    pub async fn ended(&self) {
        let ended = self.ended.notified();
        if !self.is_ended() {
            ended.await;
        }
    }

    fn way(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
