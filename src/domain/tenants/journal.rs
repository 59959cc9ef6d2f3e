//! Keeps what a backup must not bring back: keys that were revoked, subjects that were erased, and keys of tenants that were destroyed after
//! the backup began. The journal lies beside the backups, outside of the database that a restore replaces.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::clock::Micros;
use crate::domain::error::Result;

/// One act that a restore does again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum JournalEntry {
    KeyRevoked {
        tenant: String,
        key_id: String,
    },
    /// Written when the erasure begins and again when it ends, so that a backup in between is met by one of the two.
    SubjectErased {
        tenant: String,
        subject: String,
    },
    /// The key that the tenant's content is encrypted with.
    TenantKeyDestroyed {
        tenant: String,
    },
}

/// An entry and the time at which it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journaled {
    pub at: Micros,
    pub entry: JournalEntry,
}

#[async_trait]
pub trait JournalStorage: Send + Sync {
    /// Writes an entry durably. Entries may repeat.
    async fn write(&self, journaled: &Journaled) -> Result<()>;
}

/// The journal of a server or command. Without a place it writes nothing.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<dyn JournalStorage>>);

impl Journal {
    pub fn new(place: Option<Arc<dyn JournalStorage>>) -> Self {
        Self(place)
    }

    /// # Errors
    /// `Unavailable` for a place that cannot be written. What was done stays done; the same call writes the entry.
    pub async fn write(&self, entry: JournalEntry, at: Micros) -> Result<()> {
        match &self.0 {
            Some(place) => place.write(&Journaled { at, entry }).await,
            None => Ok(()),
        }
    }
}
