//! Declares the storage of exports and imports.

use async_trait::async_trait;

use super::items::ItemExportStorage;
use super::readable::Readable;
use super::records::{
    Existing, SessionHead, SessionRecord, SessionSink, Staged, ThreadHead, ThreadRecord, ThreadSink,
};
use crate::domain::caller::Caller;
use crate::domain::error::Result;
use crate::domain::sessions::name::SessionName;

#[async_trait]
pub trait ExportStorage: ItemExportStorage {
    /// Gives all of a thread to a sink, from one moment. Nothing of the database is held while the sink works, unless the
    /// thread changes again and again. False: there is no such thread.
    async fn read_thread(
        &self,
        caller: &Caller,
        thread_id: &str,
        sink: &mut dyn ThreadSink,
    ) -> Result<bool>;

    /// Registers rows that are about to come: from here on a crash leaves what the sweep removes.
    async fn begin_noun(&self, caller: &Caller) -> Result<Staged>;

    /// Stages some records, in their order: one transaction.
    async fn stage_thread(
        &self,
        caller: &Caller,
        staged: &mut Staged,
        records: Vec<ThreadRecord>,
    ) -> Result<()>;

    /// Makes the staged rows a thread: one transaction.
    async fn show_thread(
        &self,
        caller: &Caller,
        staged: &Staged,
        head: &ThreadHead,
        existing: Existing,
    ) -> Result<()>;

    /// Kind and key of the sessions after one, in their order; None: the first ones.
    async fn list_session_names(
        &self,
        caller: &Caller,
        after: Option<&SessionName>,
        limit: usize,
    ) -> Result<Vec<SessionName>>;

    async fn has_session(&self, caller: &Caller, session: &SessionName) -> Result<bool>;

    /// Every thread, as far as a damaged database can be read: what lies behind the damage, too.
    async fn list_readable_threads(&self, caller: &Caller) -> Result<Readable<String>>;

    /// As [`Self::list_readable_threads`].
    async fn list_readable_sessions(&self, caller: &Caller) -> Result<Readable<SessionName>>;

    /// As [`Self::read_thread`].
    async fn read_session(
        &self,
        caller: &Caller,
        session: &SessionName,
        sink: &mut dyn SessionSink,
    ) -> Result<bool>;

    async fn stage_session(
        &self,
        caller: &Caller,
        staged: &mut Staged,
        records: Vec<SessionRecord>,
    ) -> Result<()>;

    async fn show_session(
        &self,
        caller: &Caller,
        staged: &Staged,
        head: &SessionHead,
        existing: Existing,
    ) -> Result<()>;

    /// Removes what was staged.
    async fn drop_staged(&self, caller: &Caller, staged: &Staged) -> Result<()>;
}
