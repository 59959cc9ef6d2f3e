//! Runs the calls on retention policies and reports: checks the permission, then makes the one call that does it.

use std::sync::Arc;

use tokio::sync::Notify;

use super::retention::{
    Policy, PolicyCursor, PolicyQuery, Report, ReportCursor, ReportQuery, Rules,
};
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::names::ThreadId;
use crate::domain::pages::{cut, page_rows};
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::threads::retention_storage::RetentionStorage;
use crate::domain::tokens::grants::Action;

/// Policies of a tenant.
pub struct Policies {
    storage: Arc<dyn RetentionStorage>,
    clock: Arc<Clock>,
    /// Wakes this server's sweeper.
    wake: Arc<Notify>,
}

/// A page of policies.
#[derive(Debug, Default)]
pub struct PolicyPage {
    pub policies: Vec<Policy>,
    /// Set when there are more.
    pub next: Option<PolicyCursor>,
}

/// A page of reports.
#[derive(Debug, Default)]
pub struct ReportPage {
    pub reports: Vec<Report>,
    /// Set when there are more.
    pub next: Option<ReportCursor>,
}

impl Policies {
    pub fn new(storage: Arc<dyn RetentionStorage>, clock: Arc<Clock>, wake: Arc<Notify>) -> Self {
        Self { storage, clock, wake }
    }

    /// # Errors
    /// 422 for a tenant's policy that removes nothing, and for too many; `NotFound` for a thread that a caller with nothing
    /// but its own does not own, whether it is there or not; `DeadlineExceeded`.
    pub async fn put(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        rules: &Rules,
        deadline: Micros,
    ) -> Result<Policy> {
        may_change(caller, thread_id)?;
        if thread_id.is_none() && !rules.removes() {
            return Err(Error::invalid(
                "keep_last",
                "a tenant's policy needs expire_after_seconds, keep_last or older_than_seconds",
            ));
        }
        self.clock.require_before(deadline)?;
        let act = self.act(caller, ActKind::PolicyPut, thread_id).with(rules);
        self.storage.put_policy(caller, thread_id, rules, &act).await
    }

    /// # Errors
    /// A storage that cannot be read.
    pub async fn get(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
    ) -> Result<Option<Policy>> {
        caller.require(Permission::Threads(Action::Read))?;
        match thread_id {
            Some(thread_id) if !caller.may_read_thread(thread_id) => return Ok(None),
            Some(_) => {}
            None => caller.require_tenant_read()?,
        }
        self.storage.get_policy(caller, thread_id).await
    }

    /// The tenant's own first, then those of threads by their ids.
    ///
    /// # Errors
    /// `NotGranted` without the whole tenant; a storage that cannot be read.
    pub async fn list(&self, caller: &Caller, mut query: PolicyQuery) -> Result<PolicyPage> {
        caller.require_tenant_read()?;
        let limit = page_rows(query.limit);
        if limit == 0 {
            return Ok(PolicyPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut policies = self.storage.list_policies(&caller.tenant, &query).await?;
        let position = |it: &Policy| -> Result<PolicyCursor> {
            Ok(PolicyCursor { thread_id: it.thread_id.clone().map(ThreadId::new).transpose()? })
        };
        let next = cut(&mut policies, limit, position).transpose()?;
        Ok(PolicyPage { policies, next })
    }

    /// # Errors
    /// `DeadlineExceeded`; a storage that cannot be written.
    pub async fn delete(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        deadline: Micros,
    ) -> Result<()> {
        may_change(caller, thread_id)?;
        self.clock.require_before(deadline)?;
        let act = self.act(caller, ActKind::PolicyDeleted, thread_id);
        self.storage.delete_policy(caller, thread_id, &act).await
    }

    /// Newest first. Reports name threads: they are for those who have the whole tenant, or of one thread.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn list_reports(
        &self,
        caller: &Caller,
        mut query: ReportQuery,
    ) -> Result<ReportPage> {
        caller.require(Permission::Threads(Action::Read))?;
        match &query.thread_id {
            Some(it) if !caller.may_read_thread(it) => return Ok(ReportPage::default()),
            Some(_) => {}
            None => caller.require_tenant_read()?,
        }
        let limit = page_rows(query.limit);
        if limit == 0 {
            return Ok(ReportPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut reports = self.storage.list_reports(caller, &query).await?;
        let position = |it: &Report| ReportCursor {
            finished_at: it.finished_at,
            report_id: it.report_id.clone(),
        };
        let next = cut(&mut reports, limit, position);
        Ok(ReportPage { reports, next })
    }

    /// Makes policies due now. Answers how many; their reports follow when the rounds are finished.
    ///
    /// # Errors
    /// `DeadlineExceeded`; a storage that cannot be written.
    pub async fn run(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        deadline: Micros,
    ) -> Result<u64> {
        may_change(caller, thread_id)?;
        self.clock.require_before(deadline)?;
        let count = self.storage.request_round(caller, thread_id, self.clock.now()).await?;
        self.wake.notify_one();
        Ok(count)
    }

    fn act(&self, caller: &Caller, kind: ActKind, thread_id: Option<&ThreadId>) -> Act {
        Act::of(caller, kind, thread_id.map_or("", ThreadId::as_str), self.clock.now())
    }
}

fn may_change(caller: &Caller, thread_id: Option<&ThreadId>) -> Result<()> {
    match thread_id {
        Some(thread_id) => caller.require_thread(thread_id, Action::Write),
        None => caller.require_tenant_write(),
    }
}
