//! Declares the types and the trait for rows of savers and stores, whichever database they are in.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use super::step::Step;
use crate::domain::Result;
use crate::domain::clock::Micros;

/// What is there to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tables {
    pub threads: bool,
    pub items: bool,
    /// Not read; their owner is told.
    pub vectors: bool,
}

/// Which checkpoint, and the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepName {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    /// False: there are only writes for it.
    pub exists: bool,
}

/// What a checkpoint shows of its channels: the version, and what its value is known by.
pub type Shown = BTreeMap<String, ShownValue>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownValue {
    /// JSON text.
    pub version: String,
    /// None: no value.
    pub digest: Option<[u8; 32]>,
    /// It stands in a row of its own, by this version: whoever has the version has the value.
    pub by_version: bool,
}

/// Of a store.
#[derive(Debug, Clone)]
pub struct ForeignItem {
    pub labels: Vec<String>,
    pub key: String,
    /// JSON text.
    pub value: Bytes,
    pub created_at: Option<Micros>,
    pub updated_at: Option<Micros>,
    pub expires_at: Option<Micros>,
    pub ttl_micros: Option<Micros>,
}

/// The tables of one database. Reads of one thread see one moment of it.
#[async_trait]
pub trait Rows: Send {
    fn tables(&self) -> Tables;

    /// Ids of threads, a page in a stable order.
    async fn threads(&mut self, after: Option<&str>) -> Result<Vec<String>>;

    /// Every checkpoint of a thread, and what else has writes, ascending.
    async fn begin_thread(&mut self, thread: &str) -> Result<Vec<StepName>>;

    /// One of them. What `parent` shows at the same version, and keeps by version, may come as carried.
    async fn step(&mut self, thread: &str, name: &StepName, parent: Option<&Shown>)
    -> Result<Step>;

    async fn end_thread(&mut self) -> Result<()>;

    /// All items, the oldest first. An error inside is that of one item, or the last.
    fn items(&mut self) -> BoxStream<'_, Result<ForeignItem>>;
}
