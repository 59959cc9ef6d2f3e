//! Which tenants there are, and what each has stored. Both engines speak this SQL.

use async_trait::async_trait;

use super::access::{Access, Accessible};
use super::quota_rows::measured;
use crate::domain::Result;
use crate::domain::tenants::{TenantStorage, TenantUse};

/// The first tenant after $1 in each table that has rows of tenants: one look into an index each. Every other table has rows of a
/// tenant only beside rows of these.
const NEXT: &str = "
select min(tenant) from (
    select min(tenant) as tenant from tenants where tenant > $1
    union all select min(tenant) from keys where tenant > $1
    union all select min(tenant) from quotas where tenant > $1
    union all select min(tenant) from signing_secrets where tenant > $1
    union all select min(tenant) from threads where tenant > $1
    union all select min(tenant) from items where tenant > $1
    union all select min(tenant) from sessions where tenant > $1
    union all select min(tenant) from snapshots where tenant > $1
    union all select min(tenant) from contents where tenant > $1
    union all select min(tenant) from namespace_settings where tenant > $1
    union all select min(tenant) from retention_policies where tenant > $1) t";

/// $1 tenant.
const EXISTS: &str = "
select 1 where exists (select 1 from tenants where tenant = $1)
    or exists (select 1 from keys where tenant = $1)
    or exists (select 1 from quotas where tenant = $1)
    or exists (select 1 from signing_secrets where tenant = $1)
    or exists (select 1 from threads where tenant = $1)
    or exists (select 1 from items where tenant = $1)
    or exists (select 1 from sessions where tenant = $1)
    or exists (select 1 from snapshots where tenant = $1)
    or exists (select 1 from contents where tenant = $1)
    or exists (select 1 from namespace_settings where tenant = $1)
    or exists (select 1 from retention_policies where tenant = $1)";

/// $1 tenant.
const LAST_WRITE: &str = "
select max(at) from (
    select max(updated_at) as at from threads where tenant = $1
    union all select max(updated_at) from items where tenant = $1
    union all select max(updated_at) from sessions where tenant = $1) t";

#[async_trait]
impl<T: Accessible> TenantStorage for T {
    async fn has_tenant(&self, tenant: &str) -> Result<bool> {
        let mut access = self.look().await?;
        let rows = access.rows(EXISTS, &[tenant.into()]).await?;
        access.end().await?;
        Ok(!rows.is_empty())
    }

    async fn list_tenants(&self, after: &str, limit: usize) -> Result<Vec<TenantUse>> {
        let mut access = self.look().await?;
        let mut found: Vec<TenantUse> = Vec::new();
        while found.len() < limit {
            let after = found.last().map_or(after, |it| it.tenant.as_str());
            let rows = access.rows(NEXT, &[after.into()]).await?;
            let Some(tenant) = rows.first().map(|row| row.optional_text(0)).transpose()?.flatten()
            else {
                break;
            };
            found.push(used(access.as_mut(), tenant).await?);
        }
        access.end().await?;
        Ok(found)
    }
}

async fn used(access: &mut dyn Access, tenant: &str) -> Result<TenantUse> {
    let usage = measured(access, tenant).await?;
    let rows = access.rows(LAST_WRITE, &[tenant.into()]).await?;
    let at = rows.first().filter(|row| !row.is_null(0)).map(|row| row.integer(0)).transpose()?;
    Ok(TenantUse { tenant: tenant.to_owned(), usage, last_write: at })
}
