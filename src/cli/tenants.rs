//! Implements `threadkeep tenants`. For other commands, reports that the tenant they name is missing, or was just made.

use std::fmt::Write as _;

use serde_json::json;

use super::opening::open_existing;
use super::print;
use crate::config::Tenants;
use crate::domain::error::Obstacle;
use crate::domain::storage::Storage;
use crate::domain::tenants::tenant::{PAGE_MAX, TenantUse, Time};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};

pub(super) async fn run(command: Tenants) -> Result<()> {
    let storage = open_existing(&command.database, None).await?;
    let listed = list(storage.as_ref(), command.json).await;
    storage.close().await;
    listed
}

/// Page by page: there may be many.
async fn list(storage: &dyn Storage, as_json: bool) -> Result<()> {
    let mut after = String::new();
    let mut shown = 0;
    loop {
        let page = storage.list_tenants(&after, PAGE_MAX, Time::Unlimited).await?;
        let mut text = String::new();
        for it in &page {
            if as_json {
                let separator = if shown == 0 { "[" } else { "," };
                let _ = writeln!(text, "{separator}{}", document(it));
            } else {
                text += &line(it);
            }
            shown += 1;
        }
        print(&text)?;
        match page.last() {
            Some(last) if page.len() == PAGE_MAX => last.tenant.clone_into(&mut after),
            _ => break,
        }
    }
    match (as_json, shown) {
        (false, _) => Ok(()),
        (true, 0) => print("[]\n"),
        (true, _) => print("]\n"),
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
    storage: &dyn Storage,
    tenant: &str,
    act: impl Future<Output = Result<T>>,
) -> Result<T> {
    let was_there = storage.has_tenant(tenant).await?;
    let done = act.await;
    if !was_there && storage.has_tenant(tenant).await.unwrap_or(false) {
        eprintln!("threadkeep: made tenant {tenant}");
    }
    done
}
