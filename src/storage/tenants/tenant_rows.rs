//! Lists tenants with what each has stored, and checks whether a tenant exists. The SQL is the same for both engines.

use async_trait::async_trait;

use super::quota_rows::measured;
use crate::domain::Result;
use crate::domain::tenants::erasure::ErasureStorage;
use crate::domain::tenants::operators::OPERATORS;
use crate::domain::tenants::tenant::{TenantStorage, TenantUse, Time};
use crate::storage::db::access::{Access, Accessible};

/// Every other table has rows of a tenant only beside rows of these.
const TABLES: [&str; 11] = [
    "tenants",
    "keys",
    "quotas",
    "signing_secrets",
    "threads",
    "items",
    "sessions",
    "snapshots",
    "contents",
    "namespace_settings",
    "retention_policies",
];

/// The first tenant after $1 of all tables: one look into an index each.
fn next_text() -> String {
    let least =
        TABLES.map(|it| format!("select min(tenant) as tenant from {it} where tenant > $1"));
    format!("select min(tenant) from ({}) t", least.join(" union all "))
}

/// $1 tenant.
fn exists_text() -> String {
    let rows = TABLES.map(|it| format!("exists (select 1 from {it} where tenant = $1)"));
    format!("select 1 where {}", rows.join(" or "))
}

/// $1 tenant.
const LAST_WRITE: &str = "
select max(at) from (
    select max(updated_at) as at from threads where tenant = $1
    union all select max(updated_at) from items where tenant = $1
    union all select max(updated_at) from sessions where tenant = $1) t";

#[async_trait]
impl<T: Accessible + ErasureStorage> TenantStorage for T {
    async fn has_tenant(&self, tenant: &str) -> Result<bool> {
        let mut access = self.begin_read().await?;
        let rows = access.rows(&exists_text(), &[tenant.into()]).await?;
        access.end().await?;
        Ok(!rows.is_empty())
    }

    async fn list_tenants(&self, after: &str, limit: usize, time: Time) -> Result<Vec<TenantUse>> {
        let mut access = match time {
            Time::OfSearches => self.begin_search_for(OPERATORS).await?,
            Time::Unlimited => self.begin_read().await?,
        };
        let (next, mut found): (String, Vec<TenantUse>) = (next_text(), Vec::new());
        let mut after = after.to_owned();
        while found.len() < limit {
            let rows = access.rows(&next, &[after.as_str().into()]).await?;
            let Some(tenant) = rows.first().map(|row| row.optional_text(0)).transpose()?.flatten()
            else {
                break;
            };
            tenant.clone_into(&mut after);
            if tenant != OPERATORS {
                found.push(used(access.as_mut(), tenant).await?);
            }
        }
        access.end().await?;
        Ok(found)
    }
}

async fn used(access: &mut dyn Access, tenant: &str) -> Result<TenantUse> {
    let usage = measured(access, tenant).await?;
    let rows = access.rows(LAST_WRITE, &[tenant.into()]).await?;
    let last_write = rows.first().map(|row| row.optional_integer(0)).transpose()?.flatten();
    Ok(TenantUse { tenant: tenant.to_owned(), usage, last_write })
}
