//! Implements sessions of the storage in memory: it has none. Their routes are tested over a real engine (`sessions.rs`).

use async_trait::async_trait;
use threadkeep::domain::batch_error::BatchError;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::idempotency::Idempotency;
use threadkeep::domain::sessions::change::{Change, PreparedChange};
use threadkeep::domain::sessions::ledger::{Batch, Outcome, Part};
use threadkeep::domain::sessions::loading::{EntriesQuery, Loaded};
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::sessions::storage::SessionStorage;
use threadkeep::domain::sessions::storage::{
    Described, FindDocuments, ListKinds, ListSessions, SessionKind,
};
use threadkeep::domain::sessions::{Content, Document, Session, Stream};
use threadkeep::domain::tokens::grants::Action;
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

#[async_trait]
impl SessionStorage for Memory {
    async fn prepare_session(
        &self,
        _: &Caller,
        _: Change,
        _: Option<Idempotency>,
        _: Micros,
    ) -> Result<PreparedChange> {
        self.called("prepare session")?;
        Err(Error::Internal("the storage in memory keeps no sessions".into()))
    }

    async fn write_sessions(&self, _: &Batch) -> Result<Vec<Outcome>, BatchError> {
        Err(BatchError::Statement("the storage in memory keeps no sessions".into()))
    }

    async fn delete_session(&self, _: &Caller, _: &SessionName, _: Micros) -> Result<()> {
        self.called("delete session")
    }

    async fn get_session(
        &self,
        _: &Caller,
        _: &SessionName,
        _: Action,
    ) -> Result<Option<Described>> {
        self.called("get session").map(|()| None)
    }

    async fn load_entries(
        &self,
        _: &Caller,
        _: &SessionName,
        _: &EntriesQuery,
    ) -> Result<Option<Loaded>> {
        self.called("load entries").map(|()| None)
    }

    async fn list_streams(&self, _: &Caller, _: &SessionName) -> Result<Vec<Stream>> {
        self.called("list streams").map(|()| Vec::new())
    }

    async fn list_sessions(&self, _: &Caller, _: &ListSessions) -> Result<Vec<Session>> {
        self.called("list sessions").map(|()| Vec::new())
    }

    async fn list_kinds(&self, _: &Caller, query: &ListKinds) -> Result<Vec<SessionKind>> {
        self.called(format!("list kinds {query:?}")).map(|()| Vec::new())
    }

    async fn get_document(&self, _: &Caller, _: &SessionName, _: &str) -> Result<Option<Content>> {
        self.called("get document").map(|()| None)
    }

    async fn list_documents(&self, _: &Caller, _: &SessionName, _: &str) -> Result<Vec<Document>> {
        self.called("list documents").map(|()| Vec::new())
    }

    async fn find_documents(
        &self,
        _: &Caller,
        _: &FindDocuments,
    ) -> Result<Vec<(SessionName, Content)>> {
        self.called("find documents").map(|()| Vec::new())
    }

    async fn list_heads(
        &self,
        _: &Caller,
        _: &str,
        _: Part,
        _: &str,
    ) -> Result<Vec<(SessionName, i64)>> {
        self.called("list heads").map(|()| Vec::new())
    }

    async fn get_counters(&self, _: &Caller, _: &SessionName, names: &[&str]) -> Result<Vec<i64>> {
        self.called("get counters").map(|()| vec![0; names.len()])
    }
}
