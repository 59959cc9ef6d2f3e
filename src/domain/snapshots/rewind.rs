//! Defines the request and the result of a rewind: a thread goes back to one of its checkpoints.

use serde::{Deserialize, Serialize};

use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};

#[derive(Debug, Clone)]
pub struct RewindThread {
    pub thread_id: ThreadId,
    pub ns: CheckpointNs,
    pub checkpoint_id: CheckpointId,
    /// Say what would go, change nothing.
    pub dry_run: bool,
    /// Keep the thread as it was as a snapshot.
    pub safety: bool,
    /// Of the lease that the caller holds on the thread.
    pub fence: Option<i64>,
    /// Key and digest of the request: the same pair is answered again without a second effect.
    pub idempotency: Option<(String, [u8; 32])>,
}

/// What went, or would go. Kept as JSON for repeated requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewound {
    pub dry_run: bool,
    /// Checkpoints that stay.
    pub checkpoints: i64,
    pub checkpoints_removed: i64,
    pub writes_removed: i64,
    /// The thread's generation now.
    pub generation: String,
    pub safety_snapshot_id: Option<String>,
}
