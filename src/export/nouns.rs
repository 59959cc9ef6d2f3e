//! Encodes the records of a noun and computes their digest, to write the noun to a file or to compare it with one. Large records are encoded
//! beside the async workers.

use std::collections::HashMap;

use async_trait::async_trait;
use serde_bytes::ByteBuf;
use sha2::{Digest as _, Sha256};

use super::frames::FrameWriter;
use super::records::{End, Entry, Log, Record};
use super::sessions::of_session;
use super::threads::of_thread;
use super::values::Packer;
use crate::domain::Result;
use crate::domain::export::records::{
    SessionHead, SessionRecord, SessionSink, ThreadHead, ThreadRecord, ThreadSink,
};
use crate::domain::scheduling::cpu_pool;
use crate::domain::sessions::ledger::Part;

/// Names the records of one noun, whatever stands before and after it in the file.
#[derive(Clone, Default)]
pub struct NounDigest(Sha256);

impl NounDigest {
    pub fn add(&mut self, payload: &[u8]) {
        self.0.update((payload.len() as u64).to_le_bytes());
        self.0.update(payload);
    }

    /// As [`Self::add`], beside the async workers where it is long.
    pub async fn add_payload(&mut self, tenant: &str, payload: &[u8]) -> Result<()> {
        cpu_pool::run_here(tenant, payload.len(), || self.add(payload)).await
    }

    pub fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// What may differ between a thread and a file that says the same of it: the title is derived at any time.
pub struct Identity {
    pub generation: String,
    pub fence: i64,
    pub first_message: Option<String>,
}

/// Takes the records of one noun.
pub struct NounWriter<'a, 'f> {
    /// None: only the digest is wanted.
    frames: Option<&'a mut FrameWriter<'f>>,
    tenant: String,
    packer: Packer,
    digest: NounDigest,
    /// What the head says instead of what is stored: for comparing.
    identity: Option<Identity>,
    /// Where sessions count without the numbers that clients hold.
    unnumbered: Option<Unnumbered>,
    /// Id of the thread, or kind of the session, where its rows have hidden ones.
    name: Option<String>,
}

impl<'a, 'f> NounWriter<'a, 'f> {
    pub fn into_file(frames: &'a mut FrameWriter<'f>) -> Self {
        let tenant = frames.tenant().to_owned();
        Self { frames: Some(frames), ..Self::comparing(&tenant, None) }
    }

    /// Tells whether a noun is what a file says; of a thread all but its identity.
    pub fn comparing(tenant: &str, identity: Option<Identity>) -> Self {
        let (packer, digest, tenant) =
            (Packer::default(), NounDigest::default(), tenant.to_owned());
        Self { frames: None, tenant, packer, digest, identity, unnumbered: None, name: None }
    }

    /// Tells whether a session is what a file says, but for the versions of its documents and the numbers of its entries: where it replaced
    /// one, they are others.
    pub fn comparing_session(tenant: &str) -> Self {
        Self { unnumbered: Some(Unnumbered::default()), ..Self::comparing(tenant, None) }
    }

    /// What came before does not count.
    pub fn restart(&mut self) {
        self.packer = Packer::default();
        self.digest = NounDigest::default();
        self.unnumbered = self.unnumbered.take().map(|_| Unnumbered::default());
    }

    /// Gives a noun the name that callers know.
    pub fn call_it(&mut self, name: String) {
        self.name = Some(name);
    }

    /// A small record.
    pub async fn record(&mut self, record: &Record) -> Result<()> {
        let payload = record.encode();
        self.digest.add(&payload);
        self.put_all(&[payload]).await
    }

    /// Records of so many bytes, each with the one that counts instead where nouns are compared.
    pub async fn records(
        &mut self,
        size_bytes: usize,
        make: impl FnOnce(&mut Packer) -> Vec<(Record, Option<Record>)>,
    ) -> Result<()> {
        let (packer, digest) = (&mut self.packer, &mut self.digest);
        let encode = || {
            let encoded = make(packer).into_iter().map(|(record, counted)| {
                let payload = record.encode();
                match counted {
                    Some(counted) => digest.add(&counted.encode()),
                    None => digest.add(&payload),
                }
                payload
            });
            encoded.collect::<Vec<_>>()
        };
        let payloads = cpu_pool::run_here(&self.tenant, size_bytes, encode).await?;
        self.put_all(&payloads).await
    }

    async fn put_all(&mut self, payloads: &[Vec<u8>]) -> Result<()> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        for payload in payloads {
            frames.put(payload).await?;
        }
        Ok(())
    }

    /// The end of a noun that is a part of another one. Answers the noun's digest.
    pub fn close(self) -> [u8; 32] {
        self.digest.end()
    }

    /// The end of the noun, signed where there is a key. Answers the noun's digest.
    pub async fn end(self) -> Result<[u8; 32]> {
        if let Some(frames) = self.frames {
            let signature = frames.sign().map(ByteBuf::from);
            frames.put(&Record::End(End { signature }).encode()).await?;
        }
        Ok(self.digest.end())
    }
}

/// What counts instead of the records of a session where numbers that clients hold do not: documents without their versions, and streams
/// with their entries numbered from where they stood. So a session that replaced one, or came back, is still the same.
#[derive(Debug, Default)]
pub struct Unnumbered {
    /// Of a log, the number from which its others are counted: the first that is told of it.
    begins: HashMap<i64, i64>,
}

impl Unnumbered {
    /// None: the record counts as it is.
    pub fn of(&mut self, record: &Record) -> Option<Record> {
        match record {
            Record::Log(log) if log.part == Part::Document as i64 => {
                Some(Record::Log(Log { version: 0, ..log.clone() }))
            }
            Record::Log(log) if log.part == Part::Stream as i64 => {
                let begin = *self.begins.entry(log.log_no).or_insert(log.head);
                let from = |it: i64| it.wrapping_sub(begin);
                Some(Record::Log(Log {
                    floor: from(log.floor),
                    ceiling: log.ceiling.map(from),
                    head: from(log.head),
                    compacted_head: from(log.compacted_head),
                    ..log.clone()
                }))
            }
            Record::Entry(entry) => {
                let begin = self.begins.get(&entry.log_no)?;
                Some(Record::Entry(Entry { seq: entry.seq.wrapping_sub(*begin), ..entry.clone() }))
            }
            _ => None,
        }
    }
}

#[async_trait]
impl ThreadSink for NounWriter<'_, '_> {
    async fn begin(&mut self, mut head: ThreadHead) -> Result<()> {
        self.restart();
        if let Some(Identity { generation, fence, first_message }) = &self.identity {
            (head.generation, head.fence) = (generation.clone(), *fence);
            head.details.first_message.clone_from(first_message);
        }
        if let Some(name) = &self.name {
            head.thread_id.clone_from(name);
        }
        self.record(&Record::Thread(head.into())).await
    }

    async fn put(&mut self, record: ThreadRecord) -> Result<()> {
        let size_bytes = record.size_bytes();
        let make = |packer: &mut Packer| {
            of_thread(packer, record).into_iter().map(|it| (it, None)).collect()
        };
        self.records(size_bytes, make).await
    }
}

#[async_trait]
impl SessionSink for NounWriter<'_, '_> {
    async fn begin_session(&mut self, mut head: SessionHead) -> Result<()> {
        self.restart();
        if let Some(name) = &self.name {
            head.kind.clone_from(name);
        }
        self.record(&Record::Session(head.into())).await
    }

    async fn put_session(&mut self, record: SessionRecord) -> Result<()> {
        let size_bytes = record.size_bytes();
        let mut unnumbered = self.unnumbered.take();
        let make = |packer: &mut Packer| {
            let record = of_session(packer, record);
            let counted = unnumbered.as_mut().and_then(|it| it.of(&record));
            vec![(record, counted)]
        };
        let put = self.records(size_bytes, make).await;
        self.unnumbered = unnumbered;
        put
    }
}
