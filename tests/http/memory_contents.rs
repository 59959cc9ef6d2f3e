//! Implements contents of files of the storage in memory: it keeps none. Tests of them run over a real engine.

use async_trait::async_trait;
use bytes::Bytes;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{Commit, NewPart};
use threadkeep::domain::checkpoints::storage::ValuePartStorage;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::files::contents::{
    ContentId, ContentStorage, NewSlice, Part, Upload, Whole,
};
use threadkeep::domain::names::ThreadId;
use threadkeep::domain::store::item::Address;
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

fn none<T>() -> Result<T> {
    Err(Error::Internal("the storage in memory keeps no contents".into()))
}

#[async_trait]
impl ContentStorage for Memory {
    async fn begin_content(&self, _: &Caller, _: &Address, _: Micros) -> Result<ContentId> {
        none()
    }

    async fn put_slice(&self, _: &Caller, _: NewSlice, _: Micros) -> Result<()> {
        none()
    }

    async fn put_part(&self, _: &Caller, _: ContentId, _: &Part, _: Micros) -> Result<()> {
        none()
    }

    async fn get_upload(&self, _: &Caller, _: ContentId) -> Result<Option<Upload>> {
        none()
    }

    async fn finish_content(
        &self,
        _: &Caller,
        _: ContentId,
        _: &[Part],
        _: &[u8],
        _: Micros,
    ) -> Result<Whole> {
        none()
    }

    async fn drop_upload(&self, _: &Caller, _: ContentId, _: Micros) -> Result<bool> {
        none()
    }

    async fn discard_upload(&self, _: &Caller, _: ContentId, _: Micros) -> Result<()> {
        Ok(())
    }

    async fn discard_part(&self, _: &Caller, _: ContentId, _: i64, _: Micros) -> Result<()> {
        Ok(())
    }

    async fn read_slice(&self, _: &Caller, _: ContentId, _: u64) -> Result<(u64, Bytes)> {
        none()
    }
}

#[async_trait]
impl ValuePartStorage for Memory {
    async fn put_value_part(&self, _: &Caller, _: &NewPart, _: Micros) -> Result<Option<Bytes>> {
        none()
    }

    async fn take_value_parts(&self, _: &Caller, _: &Commit) -> Result<()> {
        none()
    }

    async fn get_value_part(&self, _: &Caller, _: &ThreadId, _: &[u8]) -> Result<Option<Bytes>> {
        none()
    }
}
