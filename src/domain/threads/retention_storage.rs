//! Declares the trait of a storage engine for retention.

use async_trait::async_trait;

use super::retention::{
    Claim, Policy, PolicyQuery, Progress, Report as RetentionReport, ReportQuery, Retained, Rules,
};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::names::ThreadId;
use crate::domain::scheduling::background_tasks::BackgroundTaskStorage;
use crate::domain::tenants::audit::Act;

/// Policies, their reports, and the rounds of the sweeper. A policy is the tenant's own (no thread) or a thread's.
#[async_trait]
pub trait RetentionStorage: BackgroundTaskStorage {
    /// Creates or replaces; a round in progress ends without a report. It is due at the time of the act. `NotFound` for a thread that the
    /// caller may write to only if it owns it, and does not.
    async fn put_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        rules: &Rules,
        act: &Act,
    ) -> Result<Policy>;

    async fn get_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
    ) -> Result<Option<Policy>>;

    /// Of the whole tenant: its own policy, then those of threads in the order of their ids.
    async fn list_policies(&self, tenant: &str, query: &PolicyQuery) -> Result<Vec<Policy>>;

    /// No error when there is none; then there was no act either. Its reports stay.
    async fn delete_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        act: &Act,
    ) -> Result<()>;

    /// Newest first.
    async fn list_reports(
        &self,
        caller: &Caller,
        query: &ReportQuery,
    ) -> Result<Vec<RetentionReport>>;

    /// Makes a thread's policy due, or all of the tenant. Answers how many.
    async fn request_round(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        now: Micros,
    ) -> Result<u64>;

    /// Takes a policy that is due, of any tenant, or a round whose claim has run out. It is due again at `due_at`.
    async fn claim_policy(&self, now: Micros, due_at: Micros) -> Result<Option<Claim>>;

    /// Threads of the round after its last one, in the order of their ids, of which something may go.
    async fn list_claimed_threads(&self, claim: &Claim, limit: usize) -> Result<Vec<String>>;

    /// Applies the claim's rule to a thread. A removal is counted in the round by its own transaction, and happens only
    /// while the claim is held; a dry run is counted by the caller.
    async fn retain_thread(&self, claim: &Claim, thread_id: &str, now: Micros) -> Result<Retained>;

    /// Counts progress and holds the claim for longer. False: it is not held any more.
    async fn advance_claim(&self, claim: &Claim, progress: &Progress, now: Micros) -> Result<bool>;

    /// Ends the round with a report. False: the claim is not held any more.
    async fn finish_claim(&self, claim: &Claim, now: Micros) -> Result<bool>;

    /// Removes reports that were finished before.
    async fn expire_reports(&self, before: Micros) -> Result<()>;
}
