//! Implements the policies of the storage in memory: one map, no rounds.

use async_trait::async_trait;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::names::ThreadId;
use threadkeep::domain::tenants::audit::Act;
use threadkeep::domain::threads::retention::{
    Claim, Policy, PolicyQuery, Progress, Report, ReportQuery, Retained, Rule, Rules,
};
use threadkeep::domain::threads::retention_storage::RetentionStorage;
use threadkeep::domain::threads::ttl::{DuePage, DueThread, TtlStorage};
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

fn key(caller: &Caller, thread_id: Option<&ThreadId>) -> (String, Option<String>) {
    (caller.tenant.clone(), thread_id.map(ToString::to_string))
}

#[async_trait]
impl RetentionStorage for Memory {
    async fn put_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        rules: &Rules,
        act: &Act,
    ) -> Result<Policy> {
        self.called(format!("put_policy {rules:?}"))?;
        let thread = thread_id.map(ToString::to_string);
        let policy = Policy {
            thread_id: thread,
            rules: *rules,
            created_at: 1,
            updated_at: 1,
            due_at: act.at,
        };
        self.policies.lock().unwrap().insert(key(caller, thread_id), policy.clone());
        Ok(policy)
    }

    async fn get_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
    ) -> Result<Option<Policy>> {
        self.called("get_policy")?;
        Ok(self.policies.lock().unwrap().get(&key(caller, thread_id)).cloned())
    }

    async fn list_policies(&self, tenant: &str, query: &PolicyQuery) -> Result<Vec<Policy>> {
        self.called(format!("list_policies {query:?}"))?;
        let after = query.after.as_ref().map(|it| it.thread_id.as_ref().map(ToString::to_string));
        let policies = self.policies.lock().unwrap();
        let mut all: Vec<Policy> = policies
            .iter()
            .filter(|((of, thread_id), _)| {
                of == tenant && after.as_ref().is_none_or(|it| thread_id > it)
            })
            .map(|(_, it)| it.clone())
            .collect();
        all.sort_by(|a, b| a.thread_id.cmp(&b.thread_id));
        all.truncate(query.limit);
        Ok(all)
    }

    async fn delete_policy(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        _: &Act,
    ) -> Result<()> {
        self.called("delete_policy")?;
        self.policies.lock().unwrap().remove(&key(caller, thread_id));
        Ok(())
    }

    async fn list_reports(&self, caller: &Caller, query: &ReportQuery) -> Result<Vec<Report>> {
        self.called(format!("list_reports {query:?}"))?;
        let reports = self.reports.lock().unwrap();
        let mut reports: Vec<Report> = reports.get(&caller.tenant).cloned().unwrap_or_default();
        if let Some(after) = &query.after {
            reports.retain(|it| it.finished_at < after.finished_at);
        }
        reports.truncate(query.limit);
        Ok(reports)
    }

    async fn request_round(
        &self,
        caller: &Caller,
        thread_id: Option<&ThreadId>,
        _: Micros,
    ) -> Result<u64> {
        self.called("request_round")?;
        let policies = self.policies.lock().unwrap();
        let wanted = |(tenant, thread): &&(String, Option<String>)| {
            *tenant == caller.tenant
                && thread_id.is_none_or(|it| Some(it.as_str()) == thread.as_deref())
        };
        Ok(policies.keys().filter(wanted).count() as u64)
    }

    async fn claim_policy(&self, _: Micros, _: Micros) -> Result<Option<Claim>> {
        Ok(None)
    }

    async fn list_claimed_threads(&self, _: &Claim, _: usize) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn retain_thread(&self, _: &Claim, _: &str, _: Micros) -> Result<Retained> {
        Err(Error::Internal("there are no rounds in memory".into()))
    }

    async fn advance_claim(&self, _: &Claim, _: &Progress, _: Micros) -> Result<bool> {
        Ok(false)
    }

    async fn finish_claim(&self, _: &Claim, _: Micros) -> Result<bool> {
        Ok(false)
    }

    async fn expire_reports(&self, _: Micros) -> Result<()> {
        Ok(())
    }
}

/// No thread is due.
#[async_trait]
impl TtlStorage for Memory {
    async fn take_due_threads(&self, _: Micros, _: usize) -> Result<DuePage> {
        Ok(DuePage::default())
    }

    async fn put_due_times(&self, _: &[(&DueThread, Micros)]) -> Result<()> {
        Ok(())
    }

    async fn apply_rule(&self, _: &str, _: &str, _: Rule) -> Result<Retained> {
        Err(Error::Internal("there are no rounds in memory".into()))
    }
}
