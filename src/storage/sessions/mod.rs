//! Stores sessions as rows. The SQL is the same for both engines. `domain/sessions/ledger.rs` decides about the calls, under the scope
//! locks. A batch is a handful of statements over sets of rows.

mod chunks;
pub mod encrypting;
mod entries;
pub mod former;
mod listing;
pub(in crate::storage) mod postgres;
pub mod removal;
pub mod rows;
mod sealing;
pub(in crate::storage) mod sqlite;
mod state;
mod statements;
mod writing;

pub use self::sealing::{open_title, seal_entry, seal_title};

use async_trait::async_trait;
use moka::sync::Cache;

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::prepared::PlannedScope;
use crate::domain::clock::{Micros, random_id};
use crate::domain::idempotency::Idempotency;
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::lanes::LaneStorage;
use crate::domain::sessions::change::{Change, PreparedChange};
use crate::domain::sessions::ledger::{Batch, Outcome, Part};
use crate::domain::sessions::loading::{EntriesQuery, Loaded};
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::storage::{
    Described, FindDocuments, ListKinds, ListSessions, SessionKind, SessionStorage,
};
use crate::domain::sessions::{Content, Document, Session, Stream};
use crate::domain::tokens::grants::Action;
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::db::access::{Access, Accessible};

/// An entry takes about 200 bytes.
const SESSIONS_MAX: u64 = 200_000;

/// Which content scope a session has, as far as this process knows; as `scope_memory` has it for threads.
pub struct SessionMemory {
    scopes: Cache<(String, SessionName), PlannedScope>,
}

/// An engine that keeps sessions.
#[async_trait]
pub trait SessionEngine: Accessible {
    fn sessions(&self) -> &SessionMemory;

    fn session_chunks(&self) -> &ChunkMemory;

    /// What the tenant's content is named and sealed with, as this process knows it.
    async fn session_secret(&self, tenant: &str) -> Result<TenantSecret>;

    /// A transaction that writes what a caller waits for.
    async fn begin_session_write(&self) -> Result<Box<dyn Access + '_>>;

    /// A connection was lost: others may be dead too.
    fn note_loss(&self);
}

impl Default for SessionMemory {
    fn default() -> Self {
        Self { scopes: Cache::new(SESSIONS_MAX) }
    }
}

impl SessionMemory {
    /// The scope of a session. Of one that is not known: the one that it gets if it is new, the same for everybody who asks.
    fn plan(&self, tenant: &str, session: &SessionName) -> PlannedScope {
        let new = || PlannedScope { id: random_id(), exists: false };
        self.scopes.get_with((tenant.to_owned(), session.clone()), new)
    }

    /// Whether the scope of a change may make its session: while nobody has seen it.
    fn may_make(&self, change: &PreparedChange) -> bool {
        let key = (change.tenant.clone(), change.session.clone());
        !change.scope.exists && self.scopes.get(&key) == Some(change.scope)
    }

    fn insert(&self, tenant: &str, session: &SessionName, scope_id: i64) {
        let seen = PlannedScope { id: scope_id, exists: true };
        self.scopes.insert((tenant.to_owned(), session.clone()), seen);
    }

    pub fn forget(&self, tenant: &str, session: &SessionName) {
        self.scopes.invalidate(&(tenant.to_owned(), session.clone()));
    }
}

/// The name of a session's scope in the memory of chunks: no thread and no namespace root has it.
fn memory_key(scope_id: i64) -> String {
    format!("\0\0{scope_id}")
}

#[async_trait]
impl<T: SessionEngine + LaneStorage> SessionStorage for T {
    async fn prepare_session(
        &self,
        caller: &Caller,
        change: Change,
        idempotency: Option<Idempotency>,
        deadline: Micros,
    ) -> Result<PreparedChange> {
        let secret = self.session_secret(&caller.tenant).await?;
        let scope = self.sessions().plan(&caller.tenant, &change.session);
        let known = self.session_chunks().known(&caller.tenant, &memory_key(scope.id));
        let (size, work) =
            (change.size(), || sealing::prepare(&secret, caller, change, (scope, known)));
        let prepared = cpu_pool::run_here(&caller.tenant, size, work).await??;
        Ok(PreparedChange { idempotency, deadline, ..prepared })
    }

    async fn write_sessions(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError> {
        writing::write(self, batch).await
    }

    async fn delete_session(
        &self,
        caller: &Caller,
        session: &SessionName,
        now: Micros,
    ) -> Result<()> {
        removal::delete(self, caller, session, now).await
    }

    async fn get_session(
        &self,
        caller: &Caller,
        session: &SessionName,
        action: Action,
    ) -> Result<Option<Described>> {
        listing::get(self, caller, session, action).await
    }

    async fn load_entries(
        &self,
        caller: &Caller,
        session: &SessionName,
        asked: &EntriesQuery,
    ) -> Result<Option<Loaded>> {
        entries::load(self, caller, session, asked).await
    }

    async fn list_streams(&self, caller: &Caller, session: &SessionName) -> Result<Vec<Stream>> {
        listing::streams(self, caller, session).await
    }

    async fn list_sessions(&self, caller: &Caller, query: &ListSessions) -> Result<Vec<Session>> {
        listing::list(self, caller, query).await
    }

    async fn list_kinds(&self, caller: &Caller, query: &ListKinds) -> Result<Vec<SessionKind>> {
        listing::kinds(self, caller, query).await
    }

    async fn get_document(
        &self,
        caller: &Caller,
        session: &SessionName,
        name: &str,
    ) -> Result<Option<Content>> {
        entries::document(self, caller, session, name).await
    }

    async fn list_documents(
        &self,
        caller: &Caller,
        session: &SessionName,
        name_prefix: &str,
    ) -> Result<Vec<Document>> {
        listing::documents(self, caller, session, name_prefix).await
    }

    async fn find_documents(
        &self,
        caller: &Caller,
        query: &FindDocuments,
    ) -> Result<Vec<(SessionName, Content)>> {
        entries::find_documents(self, caller, query).await
    }

    async fn list_heads(
        &self,
        caller: &Caller,
        kind: &str,
        part: Part,
        name: &str,
    ) -> Result<Vec<(SessionName, i64)>> {
        listing::heads(self, caller, kind, (part, name)).await
    }

    async fn get_counters(
        &self,
        caller: &Caller,
        session: &SessionName,
        names: &[&str],
    ) -> Result<Vec<i64>> {
        listing::counters(self, caller, session, names).await
    }
}
