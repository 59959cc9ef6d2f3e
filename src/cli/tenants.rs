//! Implements `threadkeep tenants`. For other commands, reports that the tenant they name is missing, or was just made.

use serde_json::json;

use super::form::{Form, Rows};
use super::opening::open_existing;
use crate::config::Tenants;
use crate::domain::error::Obstacle;
use crate::domain::storage::Storage;
use crate::domain::tenants::tenant::{PAGE_MAX, TenantUse, Time};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};

pub(super) async fn run(command: Tenants, form: Form) -> Result<()> {
    let storage = open_existing(&command.database, None).await?;
    let listed = list(storage.as_ref(), Rows::new(form)).await;
    storage.close().await;
    listed
}

/// Page by page: there may be many.
async fn list(storage: &dyn Storage, mut rows: Rows) -> Result<()> {
    let mut after = String::new();
    loop {
        let page = storage.list_tenants(&after, PAGE_MAX, Time::Unlimited).await?;
        for it in &page {
            rows.add(|| line(it), &document(it))?;
        }
        rows.flush()?;
        match page.last() {
            Some(last) if page.len() == PAGE_MAX => last.tenant.clone_into(&mut after),
            _ => return rows.end(),
        }
    }
}

/// Tenant, bytes, threads, items, last write; `-` for none.
fn line(it: &TenantUse) -> String {
    let TenantUse { tenant, usage, last_write } = it;
    let last_write = last_write.map_or_else(|| "-".into(), rfc3339);
    format!("{tenant}\t{}\t{}\t{}\t{last_write}\n", usage.bytes, usage.threads, usage.items)
}

fn document(it: &TenantUse) -> serde_json::Value {
    let TenantUse { tenant, usage, last_write } = it;
    json!({
        "tenant": tenant, "bytes": usage.bytes, "threads": usage.threads, "items": usage.items,
        "last_write": last_write.map(rfc3339),
    })
}

/// For commands that make no tenant: a name that is mistyped is an error, not an empty answer.
///
/// # Errors
/// `TenantMissing`.
pub(super) async fn require(storage: &dyn Storage, tenant: &str) -> Result<()> {
    if storage.has_tenant(tenant).await? {
        return Ok(());
    }
    let detail = format!(
        "tenant {tenant} has nothing here; `threadkeep tenants` lists those that there are"
    );
    Err(Error::Obstacle { kind: Obstacle::TenantMissing, detail })
}

/// Does what may make a tenant, and says on standard error when it did: standard output is for scripts.
pub(super) async fn telling_new<T>(
    form: Form,
    storage: &dyn Storage,
    tenant: &str,
    act: impl Future<Output = Result<T>>,
) -> Result<T> {
    let was_there = storage.has_tenant(tenant).await?;
    let done = act.await;
    if !was_there && storage.has_tenant(tenant).await.unwrap_or(false) {
        form.note(&format!("made tenant {tenant}"));
    }
    done
}
