//! Stores quotas as rows, and adds up usage from threads and items. The SQL is the same for both engines.

use async_trait::async_trait;

use std::collections::HashMap;

use super::audit_rows::record;
use crate::content::master_key::MasterKeys;
use crate::domain::tenants::audit::Act;
use crate::domain::tenants::quotas::{Quota, QuotaStorage, Usage};
use crate::domain::tenants::rates::Rates;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};
use crate::storage::tokens::rights::{Held, QuotaOf, UNSEALED, all_opened};

/// $1 tenant, $2 to $6 limits, $7 now.
const PUT: &str = "
insert into quotas (tenant, bytes_max, threads_max, items_max, requests_per_second,
    requests_per_second_per_token, updated_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (tenant) do update set bytes_max = excluded.bytes_max, threads_max = excluded.threads_max,
    items_max = excluded.items_max, requests_per_second = excluded.requests_per_second,
    requests_per_second_per_token = excluded.requests_per_second_per_token,
    updated_at = excluded.updated_at";

const DELETE: &str = "delete from quotas where tenant = $1";

/// The second statement that crosses tenants, like the polling of keys.
const LIST: &str = "
select tenant, bytes_max, threads_max, items_max, requests_per_second, requests_per_second_per_token
from quotas where tenant is not null";

/// $1 tenant. Bytes, threads, items.
const MEASURE: &str = "
select cast(t.bytes + i.bytes + v.bytes + c.bytes + s.bytes as bigint), t.n, i.n from
    (select coalesce(sum(size_bytes), 0) as bytes, count(case when octet_length(thread_id) <= 512 then 1 end) as n
        from threads where tenant = $1) t,
    (select coalesce(sum(size_bytes + vector_bytes), 0) as bytes, count(*) as n from items where tenant = $1) i,
    (select coalesce(sum(size_bytes), 0) as bytes from item_versions where tenant = $1) v,
    (select coalesce(sum(size_bytes), 0) as bytes from contents where tenant = $1) c,
    (select coalesce(sum(size_bytes), 0) as bytes from sessions where tenant = $1) s";

#[async_trait]
impl<T: Accessible> QuotaStorage for T {
    async fn put_quota(&self, tenant: &str, quota: &Quota, act: &Act) -> Result<()> {
        let mut access = self.begin_write().await?;
        if let Some(mut held) = Held::lock(self, access.as_mut(), tenant).await? {
            held.rights.quota = QuotaOf(tenant, quota).sealed(&held.rights);
            held.put(access.as_mut()).await?;
        }
        if *quota == Quota::default() {
            access.rows(DELETE, &[tenant.into()]).await?;
        } else {
            let limits = [
                quota.bytes_max,
                quota.threads_max,
                quota.items_max,
                quota.rates.per_tenant,
                quota.rates.per_token,
            ];
            let limits = limits.into_iter().map(number).collect::<Result<Vec<SqlValue>>>()?;
            let cells = [&[tenant.into()], &limits[..], &[act.at.into()]].concat();
            access.rows(PUT, &cells).await?;
        }
        record(&mut *access, act).await?;
        access.end().await
    }

    async fn list_quotas(&self) -> Result<Vec<(String, Quota)>> {
        let mut access = self.begin_read().await?;
        let rows = access.rows(LIST, &[]).await?;
        let all = rows.iter().map(quota).collect::<Result<Vec<_>>>()?;
        let all = match self.masters() {
            None => all,
            Some(masters) => verified(self, access.as_mut(), masters, all).await?,
        };
        access.end().await?;
        Ok(all)
    }

    async fn measure_usage(&self, tenant: &str) -> Result<Usage> {
        let mut access = self.begin_read().await?;
        let usage = measured(access.as_mut(), tenant).await?;
        access.end().await?;
        Ok(usage)
    }
}

/// What a tenant has.
///
/// # Errors
/// A database that cannot be read.
pub async fn measured(access: &mut dyn Access, tenant: &str) -> Result<Usage> {
    let rows = access.rows(MEASURE, &[tenant.into()]).await?;
    let Some(row) = rows.first() else {
        return Err(Error::Internal("a sum has no row".into()));
    };
    // A counter that was damaged below zero is the doctor's to find.
    let count = |at: usize| row.integer(at).map(|it| u64::try_from(it).unwrap_or(0));
    Ok(Usage { bytes: count(0)?, threads: count(1)?, items: count(2)? })
}

/// What a tenant may have whose quota is not the one that was sealed: nothing more, until it is set again.
const REFUSED: Quota = Quota {
    bytes_max: Some(0),
    threads_max: Some(0),
    items_max: Some(0),
    rates: Rates { per_tenant: None, per_token: None },
};

/// The quotas, held against what is sealed for every tenant; one that was removed too.
async fn verified(
    engine: &dyn Accessible,
    access: &mut dyn Access,
    masters: &MasterKeys,
    all: Vec<(String, Quota)>,
) -> Result<Vec<(String, Quota)>> {
    let mut all: HashMap<String, Quota> = all.into_iter().collect();
    for tenant in wrong_among(access, masters, &all).await? {
        let what = "the quota of this tenant is not the one that was sealed: nothing is added until it is set again";
        engine.rights().tell_once(&tenant, what, "");
        all.insert(tenant, REFUSED);
    }
    Ok(all.into_iter().collect())
}

/// Tenants whose quota is not the one that was sealed.
///
/// # Errors
/// A database that cannot be read; `Unavailable` when a master key is not here.
pub async fn wrong(access: &mut dyn Access, masters: &MasterKeys) -> Result<Vec<String>> {
    let rows = access.rows(LIST, &[]).await?;
    let all = rows.iter().map(quota).collect::<Result<HashMap<_, _>>>()?;
    wrong_among(access, masters, &all).await
}

async fn wrong_among(
    access: &mut dyn Access,
    masters: &MasterKeys,
    all: &HashMap<String, Quota>,
) -> Result<Vec<String>> {
    let mut wrong: Vec<String> = Vec::new();
    for row in access.rows(UNSEALED, &[]).await? {
        wrong.push(row.text(0)?.to_owned());
    }
    for (tenant, rights) in all_opened(access, masters).await? {
        let quota = all.get(&tenant).copied().unwrap_or_default();
        if QuotaOf(&tenant, &quota).sealed(&rights) != rights.quota {
            wrong.push(tenant);
        }
    }
    Ok(wrong)
}

/// The quota of a tenant; without one, no limit.
///
/// # Errors
/// A database that cannot be read.
pub async fn of_tenant(access: &mut dyn Access, tenant: &str) -> Result<Quota> {
    let rows = access.rows(&format!("{LIST} and tenant = $1"), &[tenant.into()]).await?;
    rows.first().map_or(Ok(Quota::default()), |row| quota(row).map(|(_, quota)| quota))
}

fn number(limit: Option<u64>) -> Result<SqlValue> {
    let too_large = |_| Error::Internal("a limit does not fit".into());
    limit.map_or(Ok(SqlValue::Null), |it| {
        i64::try_from(it).map(SqlValue::Integer).map_err(too_large)
    })
}

fn quota(row: &SqlRow) -> Result<(String, Quota)> {
    let limit = |at: usize| match &row.0[at] {
        SqlValue::Null => Ok(None),
        _ => row.integer(at).map(|it| u64::try_from(it).ok()),
    };
    let rates = Rates { per_tenant: limit(4)?, per_token: limit(5)? };
    let quota = Quota { bytes_max: limit(1)?, threads_max: limit(2)?, items_max: limit(3)?, rates };
    Ok((row.text(0)?.to_owned(), quota))
}
