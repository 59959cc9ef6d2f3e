//! Implements exports of the storage in memory: it exports nothing. Tests of exports run over a real engine.

use async_trait::async_trait;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::export::items::{ItemExportStorage, ItemTimes, ItemsRead, StoredItem};
use threadkeep::domain::export::records::{
    Existing, Readable, SessionHead, SessionRecord, SessionSink, Staged, ThreadHead, ThreadRecord,
    ThreadSink,
};
use threadkeep::domain::export::storage::ExportStorage;
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::store::item::Address;
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

fn none<T>() -> Result<T> {
    Err(Error::Internal("the storage in memory exports nothing".into()))
}

#[async_trait]
impl ExportStorage for Memory {
    async fn read_thread(&self, _: &Caller, _: &str, _: &mut dyn ThreadSink) -> Result<bool> {
        Ok(false)
    }

    async fn begin_noun(&self, _: &Caller) -> Result<Staged> {
        none()
    }

    async fn stage_thread(&self, _: &Caller, _: &mut Staged, _: Vec<ThreadRecord>) -> Result<()> {
        none()
    }

    async fn show_thread(&self, _: &Caller, _: &Staged, _: &ThreadHead, _: Existing) -> Result<()> {
        none()
    }

    async fn list_session_names(
        &self,
        _: &Caller,
        _: Option<&SessionName>,
        _: usize,
    ) -> Result<Vec<SessionName>> {
        Ok(Vec::new())
    }

    async fn has_session(&self, _: &Caller, _: &SessionName) -> Result<bool> {
        Ok(false)
    }

    async fn list_readable_threads(&self, _: &Caller) -> Result<Readable<String>> {
        Ok(Readable::default())
    }

    async fn list_readable_sessions(&self, _: &Caller) -> Result<Readable<SessionName>> {
        Ok(Readable::default())
    }

    async fn read_session(
        &self,
        _: &Caller,
        _: &SessionName,
        _: &mut dyn SessionSink,
    ) -> Result<bool> {
        Ok(false)
    }

    async fn stage_session(&self, _: &Caller, _: &mut Staged, _: Vec<SessionRecord>) -> Result<()> {
        none()
    }

    async fn show_session(
        &self,
        _: &Caller,
        _: &Staged,
        _: &SessionHead,
        _: Existing,
    ) -> Result<()> {
        none()
    }

    async fn drop_staged(&self, _: &Caller, _: &Staged) -> Result<()> {
        none()
    }
}

#[async_trait]
impl ItemExportStorage for Memory {
    async fn read_items(
        &self,
        _: &Caller,
        _: &Namespace,
        _: Option<&Address>,
        _: Micros,
    ) -> Result<ItemsRead> {
        Ok(ItemsRead::default())
    }

    async fn list_readable_items(
        &self,
        _: &Caller,
        _: &Namespace,
        _: Option<&Address>,
    ) -> Result<Readable<Address>> {
        Ok(Readable::default())
    }

    async fn read_item(&self, _: &Caller, _: &Address, _: Micros) -> Result<Option<StoredItem>> {
        Ok(None)
    }

    async fn put_items(&self, _: &Caller, _: Vec<StoredItem>, _: (Existing, Micros)) -> Result<()> {
        none()
    }

    async fn keep_times(&self, _: &Caller, _: &[ItemTimes]) -> Result<()> {
        none()
    }
}
