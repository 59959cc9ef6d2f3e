//! Connects to the server that takes writes, of those that a database URL names.
//!
//! `postgres://USER@a:5432,b,c/DATABASE?target_session_attrs=read-write` names several. They are tried in turn, beginning with the one that
//! took writes last. A server is used only where `transaction_read_only` is off and which is no standby.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Row as _};
use tokio::time::timeout;

use super::failure;
use super::prober::Prober;
use crate::storage::db::error_counts;

/// How long one server may take to let a connection in.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// After no server answered, whoever asks next is refused at once for so long.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// Asked of every new connection, and for readiness, in one round trip: the number of the session, and whether it may only read.
pub const ASK: &str = "select pg_backend_pid() as pid,
    pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only";

/// One server.
#[derive(Clone)]
pub struct Server {
    pub options: PgConnectOptions,
    /// Tells whether it still works at a statement.
    pub prober: Arc<Prober>,
}

/// Those of one URL. Clones know the same.
#[derive(Clone)]
pub struct Servers {
    all: Vec<Server>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Where a connection was had last.
    preferred: AtomicUsize,
    /// When no server answered.
    silent_at: Mutex<Option<Instant>>,
}

/// A connection as a server gave it.
pub struct Connected {
    pub connection: PgConnection,
    /// Its number at the server.
    pub pid: i32,
    pub prober: Arc<Prober>,
}

/// Why a server gave no connection.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Sql(#[from] sqlx::Error),
    #[error(
        "the database at {0} takes no writes: it is a read-only standby, or was made read-only"
    )]
    ReadOnly(String),
    #[error("the database at {0} does not answer")]
    Silent(String),
    /// Several were tried.
    #[error("no server of the list can be used: {0}")]
    All(String),
}

impl Servers {
    pub fn new(all: Vec<PgConnectOptions>) -> Self {
        let server = |options: PgConnectOptions| {
            let prober = Arc::new(Prober::new(options.clone()));
            Server { options, prober }
        };
        Self { all: all.into_iter().map(server).collect(), shared: Arc::default() }
    }

    /// Changes how each is spoken to.
    pub fn map(&self, change: impl Fn(PgConnectOptions) -> PgConnectOptions) -> Self {
        let changed = |it: &Server| Server {
            options: change(it.options.clone()),
            prober: Arc::clone(&it.prober),
        };
        Self { all: self.all.iter().map(changed).collect(), shared: Arc::clone(&self.shared) }
    }

    pub fn all(&self) -> &[Server] {
        &self.all
    }

    /// A connection to the first that takes writes. Ends within [`CONNECT_WITHIN`] for each server.
    ///
    /// # Errors
    /// Of several servers what each one said.
    pub async fn connect(&self) -> Result<Connected, Refusal> {
        if self.were_silent() {
            return Err(Refusal::Silent(self.places()));
        }
        let first = self.shared.preferred.load(Ordering::Relaxed);
        let mut refusals = Vec::new();
        for step in 0..self.all.len() {
            let at = (first + step) % self.all.len();
            match self.all[at].connect(CONNECT_WITHIN).await {
                Ok(connected) => {
                    self.shared.preferred.store(at, Ordering::Relaxed);
                    return Ok(connected);
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
        if refusals.iter().all(|it| matches!(it, Refusal::Silent(_))) {
            *self.shared.silent_at.lock().expect("nothing panics while it holds it") =
                Some(Instant::now());
        }
        Err(of_all(refusals))
    }

    fn were_silent(&self) -> bool {
        let silent_at = self.shared.silent_at.lock().expect("nothing panics while it holds it");
        silent_at.is_some_and(|it| it.elapsed() < SILENT_FOR)
    }

    /// For people.
    pub fn places(&self) -> String {
        self.all.iter().map(|it| place(&it.options)).collect::<Vec<_>>().join(", ")
    }
}

impl Server {
    /// # Errors
    /// `ReadOnly` from a server that takes no writes, `Silent` after `within`.
    pub async fn connect(&self, within: Duration) -> Result<Connected, Refusal> {
        let place = || place(&self.options);
        let asked = timeout(within, async {
            let mut connection = self.options.connect().await?;
            let row = sqlx::raw_sql(ASK).fetch_one(&mut connection).await?;
            let (pid, read_only): (i32, bool) = (row.try_get("pid")?, row.try_get("read_only")?);
            Ok::<_, sqlx::Error>((connection, pid, read_only))
        });
        match asked.await {
            Ok(Ok((_, _, true))) => Err(Refusal::ReadOnly(place())),
            Ok(Ok((connection, pid, false))) => {
                Ok(Connected { connection, pid, prober: Arc::clone(&self.prober) })
            }
            Ok(Err(error)) => Err(Refusal::Sql(error)),
            Err(_) => Err(Refusal::Silent(place())),
        }
    }
}

fn of_all(mut refusals: Vec<Refusal>) -> Refusal {
    match refusals.pop() {
        Some(last) if refusals.is_empty() => last,
        last => {
            let texts: Vec<String> =
                refusals.into_iter().chain(last).map(|it| it.to_string()).collect();
            Refusal::All(texts.join("; "))
        }
    }
}

/// Without user and password.
pub fn place(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

impl Refusal {
    /// For the metrics.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Sql(error) => failure::class(error),
            Self::ReadOnly(_) | Self::Silent(_) | Self::All(_) => error_counts::CONNECTION,
        }
    }
}

impl From<Refusal> for sqlx::Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Sql(error) => error,
            other => Self::Io(io::Error::other(other)),
        }
    }
}
