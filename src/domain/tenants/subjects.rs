//! Lists the subjects of a tenant: the owners of its keys, threads, sessions and snapshots, with what each has.

use std::sync::Arc;

use super::erasure::ErasureStorage;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::Result;
use crate::domain::pages::{COUNTED_MAX, COUNTED_ROWS_MAX, cut};

/// A page of subjects to list, in the order of their bytes.
#[derive(Debug, Clone, Default)]
pub struct SubjectQuery {
    pub limit: usize,
    /// The last one of the page before.
    pub after: Option<String>,
}

/// A subject with what it has. A count ends at [`COUNTED_MAX`], and the sizes and the time are of what was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    pub subject: String,
    /// That are not revoked.
    pub keys: u64,
    pub threads: u64,
    pub sessions: u64,
    /// That it took.
    pub snapshots: u64,
    /// Of the store, below the subject's label.
    pub items: u64,
    /// Of threads, sessions and items, as they count themselves: before compression and sharing.
    pub size_bytes: u64,
    /// The newest change of a thread, session or item.
    pub updated_at: Option<Micros>,
}

/// A page of subjects.
#[derive(Debug, Default)]
pub struct SubjectPage {
    pub subjects: Vec<Subject>,
    /// Set when there are more.
    pub next: Option<String>,
}

/// Reads what subjects have.
#[derive(Clone)]
pub struct Subjects {
    storage: Arc<dyn ErasureStorage>,
    clock: Arc<Clock>,
}

impl Subject {
    /// Whether there is more of it than was counted.
    pub fn is_partial(&self) -> bool {
        let most = COUNTED_MAX.unsigned_abs();
        [self.threads, self.sessions, self.snapshots, self.items].iter().any(|it| *it >= most)
    }
}

impl Subjects {
    pub fn new(storage: Arc<dyn ErasureStorage>, clock: Arc<Clock>) -> Self {
        Self { storage, clock }
    }

    /// A subject that has only items is not in it: a label alone does not say that it is of a subject.
    ///
    /// # Errors
    /// `NotGranted` without the whole tenant; a storage that cannot be read.
    pub async fn list(&self, caller: &Caller, mut query: SubjectQuery) -> Result<SubjectPage> {
        caller.require_tenant_read()?;
        let limit = query.limit.min(COUNTED_ROWS_MAX);
        if limit == 0 {
            return Ok(SubjectPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let now = self.clock.now();
        let mut subjects = self.storage.list_subjects(&caller.tenant, &query, now).await?;
        let next = cut(&mut subjects, limit, |it| it.subject.clone());
        Ok(SubjectPage { subjects, next })
    }
}
