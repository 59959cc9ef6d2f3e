//! Implements `threadkeep quotas set | show`.

use super::form::{Answer, Form};
use super::opening::open_existing;
use super::tenants;
use crate::config::{Quotas, SetQuota};
use crate::domain::Result;
use crate::domain::caller::check_tenant;
use crate::domain::clock::Clock;
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tenants::quotas::{Measured, Quota, Usage};
use crate::domain::tenants::rates::Rates;
use crate::http::UsageOut;

pub(super) async fn run(command: Quotas, form: Form) -> Result<()> {
    let (tenant, database) = match &command {
        Quotas::Set(SetQuota { tenant, database, .. }) | Quotas::Show { tenant, database } => {
            (tenant, database)
        }
    };
    check_tenant(tenant)?;
    let storage = open_existing(database, None).await?;
    let done = carry_out(form, storage.as_ref(), &command).await;
    storage.close().await;
    form.print(&done?)
}

async fn carry_out(form: Form, storage: &dyn Storage, command: &Quotas) -> Result<Answer> {
    match command {
        Quotas::Set(set) => {
            tenants::telling_new(form, storage, &set.tenant, put(storage, set)).await
        }
        Quotas::Show { tenant, .. } => {
            tenants::require(storage, tenant).await?;
            show(storage, tenant).await
        }
    }
}

async fn put(storage: &dyn Storage, set: &SetQuota) -> Result<Answer> {
    let rates =
        Rates { per_tenant: set.requests_per_second, per_token: set.requests_per_second_per_token };
    let quota = Quota {
        bytes_max: set.bytes_max,
        threads_max: set.threads_max,
        items_max: set.items_max,
        rates,
    };
    quota.check()?;
    let act = Act::of_operator(&set.tenant, ActKind::QuotaSet, "", Clock::System.now());
    storage.put_quota(&set.tenant, &quota, &act.with(&quota)).await?;
    show(storage, &set.tenant).await
}

async fn show(storage: &dyn Storage, tenant: &str) -> Result<Answer> {
    let quotas = storage.list_quotas().await?;
    let quota = quotas.into_iter().find(|(it, _)| it == tenant).map(|(_, quota)| quota);
    let quota = quota.unwrap_or_default();
    let at = Clock::System.now();
    let usage = storage.measure_usage(tenant).await?;
    let Usage { bytes, threads, items } = usage;
    let limit = |it: Option<u64>| it.map_or_else(|| "unlimited".into(), |it| it.to_string());
    let text = format!(
        "bytes\t{bytes}\t{}\nthreads\t{threads}\t{}\nitems\t{items}\t{}\n\
         requests_per_second\t-\t{}\nrequests_per_second_per_token\t-\t{}\n",
        limit(quota.bytes_max),
        limit(quota.threads_max),
        limit(quota.items_max),
        limit(quota.rates.per_tenant),
        limit(quota.rates.per_token),
    );
    Answer::new(text, &UsageOut::of(Measured { usage, at }, quota))
}
