//! Declares the trait of a storage engine for sessions.

use async_trait::async_trait;

use super::change::{Change, PreparedChange};
use super::ledger::{Batch, Outcome, Part};
use super::loading::{EntriesQuery, Loaded};
use super::name::SessionName;
use super::{Content, Document, Session, Stream};
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::idempotency::Idempotency;
use crate::domain::scheduling::lanes::LaneStorage;
use crate::domain::tokens::grants::Action;

/// Which sessions a listing shows.
#[derive(Debug, Clone, Default)]
pub struct ListSessions {
    pub kind: String,
    /// First parts of their keys.
    pub key_prefix: Vec<String>,
    pub user: Option<String>,
    /// Only those with entries in this stream; its times are the session's then.
    pub stream: Option<String>,
    pub limit: usize,
    pub after: Option<SessionCursor>,
}

/// The last session of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCursor {
    pub updated_at: Micros,
    pub key: Vec<u8>,
}

/// Which kinds of sessions a listing shows, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct ListKinds {
    pub limit: usize,
    /// The last one of the page before.
    pub after: Option<String>,
}

/// A kind, with what the caller may read of it. A count ends at [`COUNTED_MAX`](crate::domain::pages::COUNTED_MAX).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKind {
    pub kind: String,
    pub sessions: u64,
    /// Of the sessions that were counted, the newest change. None: there are none.
    pub updated_at: Option<Micros>,
}

/// The documents of one name of several sessions.
#[derive(Debug, Clone)]
pub struct FindDocuments {
    pub kind: String,
    pub key_prefix: Vec<String>,
    pub name: String,
}

/// What an owner is asked for in these calls is asked for in their statements: a session of another is absent.
#[async_trait]
pub trait SessionStorage: LaneStorage {
    /// Checks nothing; seals. No round trip once the tenant is known here.
    async fn prepare_session(
        &self,
        caller: &Caller,
        change: Change,
        idempotency: Option<Idempotency>,
        deadline: Micros,
    ) -> Result<PreparedChange>;

    /// Applies a batch in one transaction: four to six round trips on PostgreSQL, however many changes there are. One outcome
    /// per command.
    async fn write_sessions(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError>;

    /// Removes a session with everything in it. No error when there is none.
    async fn delete_session(
        &self,
        caller: &Caller,
        session: &SessionName,
        now: Micros,
    ) -> Result<()>;

    /// None: no such session, or it is another's.
    async fn get_session(
        &self,
        caller: &Caller,
        session: &SessionName,
        action: Action,
    ) -> Result<Option<Described>>;

    /// None: no such stream. Five round trips on PostgreSQL, two more where entries lie in chunks.
    async fn load_entries(
        &self,
        caller: &Caller,
        session: &SessionName,
        asked: &EntriesQuery,
    ) -> Result<Option<Loaded>>;

    async fn list_streams(&self, caller: &Caller, session: &SessionName) -> Result<Vec<Stream>>;

    async fn list_sessions(&self, caller: &Caller, query: &ListSessions) -> Result<Vec<Session>>;

    /// Also kinds of which the caller may read nothing.
    async fn list_kinds(&self, caller: &Caller, query: &ListKinds) -> Result<Vec<SessionKind>>;

    async fn get_document(
        &self,
        caller: &Caller,
        session: &SessionName,
        name: &str,
    ) -> Result<Option<Content>>;

    /// Those whose names begin with a prefix, by name.
    async fn list_documents(
        &self,
        caller: &Caller,
        session: &SessionName,
        name_prefix: &str,
    ) -> Result<Vec<Document>>;

    /// By key. At most a declared number.
    async fn find_documents(
        &self,
        caller: &Caller,
        query: &FindDocuments,
    ) -> Result<Vec<(SessionName, Content)>>;

    /// Numbers of the last entries of the streams, or values of the counters, of one name of all sessions of a kind.
    async fn list_heads(
        &self,
        caller: &Caller,
        kind: &str,
        part: Part,
        name: &str,
    ) -> Result<Vec<(SessionName, i64)>>;

    /// Values of counters; those that were never counted are 0.
    async fn get_counters(
        &self,
        caller: &Caller,
        session: &SessionName,
        names: &[&str],
    ) -> Result<Vec<i64>>;
}

/// A session, and how many archives it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub session: Session,
    pub archives: i64,
}
