//! Defines tenants as operators see them: their names, the data that each has stored, and the time of its last write.

use async_trait::async_trait;

use super::audit::AuditStorage;
use super::erasure::ErasureStorage;
use super::quotas::{QuotaStorage, Usage};
use crate::domain::clock::Micros;
use crate::domain::error::Result;

/// Tenants of one page.
pub const PAGE_MAX: usize = 100;

/// What a tenant has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantUse {
    pub tenant: String,
    pub usage: Usage,
    /// When a thread, an item or a session was last written. None: it has none of them.
    pub last_write: Option<Micros>,
}

/// How long a reading may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// It ends with `ReadTooLong` when the time of searches is over.
    OfSearches,
    /// A person waits for it at the command line.
    Unlimited,
}

#[async_trait]
pub trait TenantStorage: QuotaStorage + AuditStorage + ErasureStorage {
    /// Whether there is such a tenant: a key, a quota, or anything stored. Rows of the audit log do not count. Makes nothing.
    async fn has_tenant(&self, tenant: &str) -> Result<bool>;

    /// The next tenants after this one, in the order of their names; from the first on with an empty name. Fewer than `limit`: there
    /// are no more. Two statements per tenant.
    async fn list_tenants(&self, after: &str, limit: usize, time: Time) -> Result<Vec<TenantUse>>;
}
