//! Wraps a connection so that it notices when the database does not answer any more. sqlx waits for an answer as long as the system keeps
//! the socket, which is minutes where packets are swallowed.
//!
//! When a statement takes longer than [`PATIENCE`], another connection asks the server whether it works at the statement. While it does,
//! the statement may take any time. Where the server does not answer, or does not work at it, the statement fails as on a broken
//! connection.

use std::io;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use sqlx::postgres::{PgConnection, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Describe, Either, Execute, Executor, Postgres, SqlStr};
use tokio::time::timeout;

use super::prober::{Answer, Prober};
use super::servers::Connected;
use super::{failure, notices};
use crate::storage::db::error_counts;

/// A statement that takes longer is asked after.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// While the answer may be under way, or the statement still arrives there.
const ON_THE_WAY: Duration = Duration::from_millis(1_500);
/// Bytes a second that a network carries at the least.
const BYTES_PER_SECOND_MIN: usize = 4 << 20;

pub struct Connection {
    inner: PgConnection,
    watch: Watch,
    /// A statement was begun, and its answer was not read to the end.
    is_cut: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    NoTransaction,
    InTransaction,
    /// A transaction was dropped without an end: it is rolled back before anything else.
    Abandoned,
}

struct Watch {
    /// Its number at the server.
    pid: i32,
    prober: Arc<Prober>,
    /// What the next statement may take to arrive there.
    arrives_within: Duration,
}

impl Connection {
    pub fn new(connected: Connected) -> Self {
        let Connected { connection, pid, prober } = connected;
        let watch = Watch { pid, prober, arrives_within: Duration::ZERO };
        Self { inner: connection, watch, is_cut: false, state: State::NoTransaction }
    }

    /// Statements take so many bytes with them, until this is called again.
    pub fn sends(&mut self, bytes: usize) {
        self.watch.arrives_within = Duration::from_secs((bytes / BYTES_PER_SECOND_MIN) as u64);
    }

    pub async fn begin(&mut self) -> sqlx::Result<Transaction<'_>> {
        self.begin_with("begin").await
    }

    /// With another statement than `begin`.
    pub async fn begin_with(&mut self, statement: &'static str) -> sqlx::Result<Transaction<'_>> {
        self.open(statement).await?;
        Ok(Transaction { connection: self })
    }

    /// Begins a transaction that lasts until [`Self::end`].
    pub async fn open(&mut self, statement: &'static str) -> sqlx::Result<()> {
        self.execute(statement).await?;
        self.state = State::InTransaction;
        Ok(())
    }

    /// Ends the transaction by `commit` or `rollback`.
    pub async fn end(&mut self, statement: &'static str) -> sqlx::Result<()> {
        self.execute(statement).await?;
        self.state = State::NoTransaction;
        Ok(())
    }

    /// Whether somebody else can use it: it is in no transaction, and no statement runs on it or failed.
    pub fn is_reusable(&self) -> bool {
        !self.is_cut && self.state == State::NoTransaction
    }

    async fn roll_back_abandoned(&mut self) -> sqlx::Result<()> {
        if self.state == State::Abandoned {
            self.watch.wait(self.inner.execute("rollback")).await?;
            self.state = State::NoTransaction;
        }
        Ok(())
    }

    /// Waits for an answer that is whole. When nobody waits any more, the connection stays marked as cut.
    async fn whole<'a, T>(
        &'a mut self,
        ask: impl FnOnce(&'a mut PgConnection) -> BoxFuture<'a, sqlx::Result<T>>,
    ) -> sqlx::Result<T> {
        self.roll_back_abandoned().await?;
        self.is_cut = true;
        let answer = self.watch.wait(ask(&mut self.inner)).await;
        self.is_cut = answer.is_err();
        answer
    }
}

impl Watch {
    /// Waits for an answer as long as the server is at work. An answer that comes with the warning that no standby has the commit is none.
    async fn wait<T>(
        &self,
        answer: impl Future<Output = sqlx::Result<T>> + Send,
    ) -> sqlx::Result<T> {
        let waited = self.wait_for(notices::watched(answer)).await;
        if let Err(error) | Ok((Err(error), _)) = &waited {
            error_counts::count(failure::class(error));
        }
        let (answered, no_standby_has_it) = waited?;
        if no_standby_has_it {
            return Err(broken(
                "the wait for a standby was cancelled: the commit may be lost with this server",
            ));
        }
        answered
    }

    async fn wait_for<T>(&self, answer: impl Future<Output = T> + Send) -> sqlx::Result<T> {
        let mut answer = pin!(answer);
        let mut patience = PATIENCE + self.arrives_within;
        loop {
            if let Ok(answered) = timeout(patience, &mut answer).await {
                return Ok(answered);
            }
            patience = PATIENCE;
            let why = match self.prober.ask().await {
                Answer::Sessions(at_work) if at_work.contains(&self.pid) => continue,
                Answer::Refused => continue,
                Answer::Sessions(_) => match timeout(ON_THE_WAY, &mut answer).await {
                    Ok(answered) => return Ok(answered),
                    Err(_) => "the database does not work at the statement, and no answer comes",
                },
                // It came while the server was asked, or does not come.
                Answer::Silent => match timeout(Duration::ZERO, &mut answer).await {
                    Ok(answered) => return Ok(answered),
                    Err(_) => "the database does not answer any more",
                },
            };
            return Err(broken(why));
        }
    }
}

/// Nobody knows what became of the statement.
fn broken(why: &'static str) -> sqlx::Error {
    tracing::warn!("a connection is given up: {why}");
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, why))
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("pid", &self.watch.pid).finish_non_exhaustive()
    }
}

impl<'c> Executor<'c> for &'c mut Connection {
    type Database = Postgres;

    fn fetch_many<'e, 'q, E>(
        self,
        query: E,
    ) -> BoxStream<'e, sqlx::Result<Either<PgQueryResult, PgRow>>>
    where
        'c: 'e,
        E: Execute<'q, Postgres>,
        'q: 'e,
        E: 'q,
    {
        if self.state == State::Abandoned {
            let begun = async move {
                self.roll_back_abandoned().await?;
                Ok::<_, sqlx::Error>(self.fetch_many(query))
            };
            return stream::once(begun).try_flatten().boxed();
        }
        let Connection { inner, watch, is_cut, .. } = self;
        let watch = &*watch;
        *is_cut = true;
        let next = async move |(mut rows, is_cut): (BoxStream<'e, _>, &'e mut bool)| {
            let row = watch.wait(rows.try_next()).await?;
            *is_cut = row.is_some();
            Ok(row.map(|row| (row, (rows, is_cut))))
        };
        stream::try_unfold((inner.fetch_many(query), is_cut), next).boxed()
    }

    fn fetch_optional<'e, 'q, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: Execute<'q, Postgres>,
        'q: 'e,
        E: 'q,
    {
        Box::pin(self.whole(move |inner| inner.fetch_optional(query)))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        Box::pin(self.whole(move |inner| inner.prepare_with(sql, parameters)))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, sqlx::Result<Describe<Postgres>>>
    where
        'c: 'e,
    {
        Box::pin(self.whole(move |inner| inner.describe(sql)))
    }
}

/// A transaction of a [`Connection`]. Dropped without an end it is rolled back by the next use of its connection.
pub struct Transaction<'c> {
    connection: &'c mut Connection,
}

impl Transaction<'_> {
    pub async fn commit(self) -> sqlx::Result<()> {
        self.connection.end("commit").await
    }

    pub async fn rollback(self) -> sqlx::Result<()> {
        self.connection.end("rollback").await
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.connection.state == State::InTransaction {
            self.connection.state = State::Abandoned;
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}
