//! Erases a subject: everything that belongs to it, in slices, each of which is whole. An erasure can stop anywhere and be requested again.

use std::ops::AddAssign;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use utoipa::ToSchema;

use super::audit::{Act, ActKind, AuditStorage};
use super::journal::{Journal, JournalEntry};
use super::subjects::{Subject, SubjectQuery};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::Result;
use crate::domain::limits::LIMITS;
use crate::domain::names;

/// Slices of threads that need not be full before the next stage. What a copy in progress makes is met by another one; a
/// writer that makes threads all the time must not keep the rest waiting.
const SHORT_SLICES_MAX: u32 = 3;

/// What goes, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing new comes by a key of the subject.
    Keys,
    /// Snapshots that it made, and what is its own in snapshots of others.
    Snapshots,
    /// Threads become absent, with what names them: policies, reports, what is left of earlier ones of the same id.
    Threads,
    /// Sessions that it owns become absent.
    Sessions,
    /// Items of the store below the subject's label, and the content scope of that namespace root.
    Items,
    /// What outlived threads that were deleted before, and answers to repeated requests.
    Traces,
    /// What nobody can reach any more.
    Content,
}

/// What an erasure removed. Counts are of rows; of what a copy shares with its source, once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ErasureReceipt)]
pub struct Receipt {
    pub keys: u64,
    /// That it made.
    pub snapshots: u64,
    pub threads: u64,
    pub sessions: u64,
    /// Of the store, below the subject's label.
    pub items: u64,
    /// Contents of files that are too large for an item, and unfinished uploads.
    pub contents: u64,
    pub checkpoints: u64,
    pub writes: u64,
    /// Values of channels, each once.
    pub values: u64,
    pub delta_bases: u64,
    /// Of sessions: entries of streams and pieces of documents.
    pub entries: u64,
    pub chunks: u64,
    /// Objects that are deleted from the object store in the next minutes.
    pub packs: u64,
    /// As threads and items count themselves: before compression and sharing.
    pub size_bytes: u64,
    pub retention_policies: u64,
    pub retention_reports: u64,
    /// What was left of threads that had been deleted before.
    pub tombstones: u64,
    /// Stored answers to requests that may be repeated.
    pub answers: u64,
}

/// One slice of a stage.
#[derive(Debug, Clone, Default)]
pub struct Slice {
    pub removed: Receipt,
    /// Threads that became absent.
    pub thread_ids: Vec<String>,
    pub more: More,
}

/// Whether a stage has something left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum More {
    Certainly,
    /// The slice was not full.
    Perhaps,
    #[default]
    Nothing,
}

#[async_trait]
pub trait ErasureStorage: AuditStorage {
    /// Removes some of what a stage of an erasure removes, durably and whole. What it leaves is as right as before.
    async fn erase_slice(&self, caller: &Caller, subject: &str, stage: Stage) -> Result<Slice>;

    /// Owners of keys, threads, sessions and snapshots in the order of their bytes. Two round trips.
    async fn list_subjects(
        &self,
        tenant: &str,
        query: &SubjectQuery,
        now: Micros,
    ) -> Result<Vec<Subject>>;
}

/// Erasures of subjects.
#[derive(Clone)]
pub struct Erasures {
    storage: Arc<dyn ErasureStorage>,
    clock: Arc<Clock>,
    journal: Journal,
}

/// One erasure in progress.
pub struct Erasure<'a> {
    storage: &'a dyn ErasureStorage,
    caller: &'a Caller,
    subject: &'a str,
    stage: Option<Stage>,
    short_slices: u32,
}

impl Erasures {
    pub fn new(storage: Arc<dyn ErasureStorage>, clock: Arc<Clock>) -> Self {
        Self { storage, clock, journal: Journal::default() }
    }

    /// Also writes every erasure into the journal.
    #[must_use]
    pub fn journaled(self, journal: Journal) -> Self {
        Self { journal, ..self }
    }

    /// Erases a subject. `forget` is told of every thread that became absent.
    ///
    /// # Errors
    /// `NotGranted` but for the whole tenant; `Invalid` subjects; a journal that cannot be written. After any other error what was removed stays
    /// removed, and the same call removes the rest.
    pub async fn erase(
        &self,
        caller: &Caller,
        subject: &str,
        forget: impl Fn(&str) + Send,
    ) -> Result<Receipt> {
        let mut erasure = Erasure::begin(self.storage.as_ref(), caller, subject)?;
        self.journal(caller, subject).await?;
        let mut receipt = Receipt::default();
        let done = loop {
            match erasure.next().await {
                Ok(Some(slice)) => {
                    slice.thread_ids.iter().for_each(|it| forget(it));
                    receipt += slice.removed;
                }
                Ok(None) => break Ok(receipt),
                Err(error) => break Err(error),
            }
        };
        // Also of an erasure that broke off, because what is gone is gone.
        let recorded = self.storage.record_act(&self.act(caller, &receipt)).await;
        let receipt = done?;
        recorded?;
        self.journal(caller, subject).await?;
        Ok(receipt)
    }

    async fn journal(&self, caller: &Caller, subject: &str) -> Result<()> {
        let (tenant, subject) = (caller.tenant.clone(), subject.to_owned());
        let entry = JournalEntry::SubjectErased { tenant, subject };
        self.journal.write(entry, self.clock.now()).await
    }

    /// Counts, and nothing that the subject could be known by.
    fn act(&self, caller: &Caller, receipt: &Receipt) -> Act {
        Act::of(caller, ActKind::SubjectErased, "", self.clock.now()).with(receipt)
    }
}

impl<'a> Erasure<'a> {
    /// # Errors
    /// As [`Erasures::erase`].
    pub fn begin(
        storage: &'a dyn ErasureStorage,
        caller: &'a Caller,
        subject: &'a str,
    ) -> Result<Self> {
        caller.require_tenant_write()?;
        names::check("subject", subject, LIMITS.thread_id_bytes_max, false)?;
        Ok(Self { storage, caller, subject, stage: Some(Stage::Keys), short_slices: 0 })
    }

    /// The next slice. None: everything is gone.
    ///
    /// # Errors
    /// A storage that does not answer.
    pub async fn next(&mut self) -> Result<Option<Slice>> {
        let Some(stage) = self.stage else { return Ok(None) };
        let slice = self.storage.erase_slice(self.caller, self.subject, stage).await?;
        self.short_slices += u32::from(slice.more == More::Perhaps);
        if slice.more == More::Nothing || self.short_slices >= SHORT_SLICES_MAX {
            self.short_slices = 0;
            self.stage = after(stage);
        }
        Ok(Some(slice))
    }
}

fn after(stage: Stage) -> Option<Stage> {
    match stage {
        Stage::Keys => Some(Stage::Snapshots),
        Stage::Snapshots => Some(Stage::Threads),
        Stage::Threads => Some(Stage::Sessions),
        Stage::Sessions => Some(Stage::Items),
        Stage::Items => Some(Stage::Traces),
        Stage::Traces => Some(Stage::Content),
        Stage::Content => None,
    }
}

impl AddAssign for Receipt {
    fn add_assign(&mut self, other: Self) {
        let Self {
            keys,
            snapshots,
            threads,
            sessions,
            entries,
            items,
            contents,
            checkpoints,
            writes,
            values,
            delta_bases,
            chunks,
            packs,
            size_bytes,
            retention_policies,
            retention_reports,
            tombstones,
            answers,
        } = other;
        self.keys += keys;
        self.snapshots += snapshots;
        self.threads += threads;
        self.sessions += sessions;
        self.entries += entries;
        self.items += items;
        self.contents += contents;
        self.checkpoints += checkpoints;
        self.writes += writes;
        self.values += values;
        self.delta_bases += delta_bases;
        self.chunks += chunks;
        self.packs += packs;
        self.size_bytes += size_bytes;
        self.retention_policies += retention_policies;
        self.retention_reports += retention_reports;
        self.tombstones += tombstones;
        self.answers += answers;
    }
}
