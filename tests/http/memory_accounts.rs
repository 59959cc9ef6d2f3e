//! Implements quotas, usage and the audit log of the storage in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::tenants::audit::{Act, AuditStorage, Event, EventQuery};
use threadkeep::domain::tenants::quotas::{Quota, QuotaStorage, Usage};
use threadkeep::domain::tenants::refusals::{Counted, Refusal};
use threadkeep::domain::tenants::tenant::{TenantStorage, TenantUse, Time};
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

#[derive(Default)]
pub struct Accounts {
    pub quotas: Mutex<BTreeMap<String, Quota>>,
    pub usage: Mutex<BTreeMap<String, Usage>>,
    /// How often quotas or usage were read.
    pub reads: Mutex<u64>,
    pub refusals: Mutex<BTreeMap<Refusal, i64>>,
    /// How often refusals were written.
    pub refusals_written: Mutex<u64>,
    /// By tenant, newest first.
    pub events: Mutex<BTreeMap<String, Vec<Event>>>,
    pub audit_fails: Mutex<bool>,
}

#[async_trait]
impl QuotaStorage for Memory {
    async fn put_quota(&self, tenant: &str, quota: &Quota, _: &Act) -> Result<()> {
        self.accounts.quotas.lock().unwrap().insert(tenant.into(), *quota);
        Ok(())
    }

    async fn list_quotas(&self) -> Result<Vec<(String, Quota)>> {
        *self.accounts.reads.lock().unwrap() += 1;
        let quotas = self.accounts.quotas.lock().unwrap();
        Ok(quotas.iter().map(|(tenant, quota)| (tenant.clone(), *quota)).collect())
    }

    async fn measure_usage(&self, tenant: &str) -> Result<Usage> {
        *self.accounts.reads.lock().unwrap() += 1;
        let usage = self.accounts.usage.lock().unwrap();
        Ok(usage.get(tenant).copied().unwrap_or_default())
    }
}

#[async_trait]
impl TenantStorage for Memory {
    async fn has_tenant(&self, tenant: &str) -> Result<bool> {
        Ok(self.accounts.quotas.lock().unwrap().contains_key(tenant))
    }

    async fn list_tenants(&self, after: &str, limit: usize, _: Time) -> Result<Vec<TenantUse>> {
        let quotas = self.accounts.quotas.lock().unwrap();
        let next = quotas.keys().filter(|it| it.as_str() > after).take(limit);
        let unused = |it: &String| TenantUse {
            tenant: it.clone(),
            usage: Usage::default(),
            last_write: None,
        };
        Ok(next.map(unused).collect())
    }
}

#[async_trait]
impl AuditStorage for Memory {
    async fn record_act(&self, act: &Act) -> Result<()> {
        self.called(format!("act {} {}", act.kind.name(), act.object))
    }

    async fn add_refusals(&self, refusals: &[Counted]) -> Result<()> {
        if *self.accounts.audit_fails.lock().unwrap() {
            return Err(Error::Internal("no log".into()));
        }
        *self.accounts.refusals_written.lock().unwrap() += 1;
        let mut rows = self.accounts.refusals.lock().unwrap();
        for (refusal, count) in refusals {
            *rows.entry(refusal.clone()).or_default() += count;
        }
        Ok(())
    }

    async fn list_events(&self, tenant: &str, query: &EventQuery) -> Result<Vec<Event>> {
        self.called(format!("list_events {tenant} {query:?}"))?;
        let events = self.accounts.events.lock().unwrap();
        let mut events = events.get(tenant).cloned().unwrap_or_default();
        if let Some(after) = &query.after {
            events.retain(|it| (it.at, &it.event_id) < (after.at, &after.event_id));
        }
        events.truncate(query.limit);
        Ok(events)
    }

    async fn expire_events(&self, _: Micros) -> Result<()> {
        Ok(())
    }
}
