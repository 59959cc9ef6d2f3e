//! Defines a timeline: the checkpoints of a thread without their values, with what a list of steps shows of each.

use bytes::Bytes;

use super::checkpoint::{LargeValues, ListCursor, ListQuery};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};

/// Which checkpoints of a thread, newest first.
#[derive(Debug, Clone)]
pub struct TimelineQuery {
    pub thread_id: ThreadId,
    /// None: all.
    pub ns: Option<CheckpointNs>,
    /// Ids strictly smaller, and strictly greater.
    pub before: Option<CheckpointId>,
    pub after: Option<CheckpointId>,
    pub limit: usize,
    /// Where the page before ended.
    pub position: Option<ListCursor>,
}

#[derive(Debug, Default)]
pub struct Timeline {
    /// None: no such thread.
    pub generation: Option<String>,
    pub nodes: Vec<TimelineNode>,
    /// On the first page: namespaces with checkpoints, those with the newest checkpoints first.
    pub namespaces: Vec<TimelineNamespace>,
    /// Set when there may be more.
    pub next: Option<ListCursor>,
}

/// A checkpoint, and what is known of its writes.
#[derive(Debug)]
pub struct TimelineNode {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    pub skeleton: Bytes,
    pub metadata: Bytes,
    pub run_id: Option<String>,
    /// Skeleton, metadata and writes.
    pub size_bytes: u64,
    pub writes: u64,
    /// Writes on the channel of interrupts.
    pub interrupts: u64,
    pub has_error: bool,
    /// None where there is a parent that is not stored.
    pub before: Option<SkeletonBefore>,
}

/// What a checkpoint began with.
#[derive(Debug, Clone)]
pub enum SkeletonBefore {
    /// It is a first one.
    Nothing,
    Of(Bytes),
}

#[derive(Debug)]
pub struct TimelineNamespace {
    pub ns: String,
    pub checkpoints: u64,
    /// Id of the newest.
    pub newest: String,
    /// Of the newest.
    pub metadata: Bytes,
}

impl TimelineQuery {
    /// # Errors
    /// 422 for a limit that no page has.
    pub fn check(&self) -> Result<()> {
        let max = LIMITS.list_rows_max;
        if self.limit == 0 || self.limit as u64 > max {
            let detail = format!("limit must be from 1 to {max}");
            return Err(Error::out_of_range("limit", detail, max));
        }
        Ok(())
    }

    /// The listing of the same checkpoints.
    pub fn listing(&self) -> ListQuery {
        ListQuery {
            thread_id: Some(self.thread_id.clone()),
            ns: self.ns.clone(),
            before: self.before.clone(),
            since: self.after.clone(),
            limit: self.limit,
            after: self.position.clone(),
            values: false,
            large_values: LargeValues::Shown,
            ..ListQuery::default()
        }
    }
}
