//! Implements `threadkeep audit`: prints a tenant's log, and refusals of unknown callers, which no tenant can read.

use super::form::{Form, Rows};
use super::opening::open_existing;
use super::tenants;
use crate::config::Audit;
use crate::domain::Result;
use crate::domain::caller::check_tenant;
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{self, ActKind, Event, EventQuery};
use crate::domain::tenants::operators::OPERATORS;
use crate::domain::tenants::refusals::UNKNOWN_TENANT;
use crate::domain::time::{parse_rfc3339, rfc3339};
use crate::http::EventOut;

pub(super) async fn run(command: Audit, form: Form) -> Result<()> {
    let tenant = match command.tenant.as_deref() {
        Some(tenant) => {
            check_tenant(tenant)?;
            tenant
        }
        None if command.operators => OPERATORS,
        None => UNKNOWN_TENANT,
    };
    let time =
        |field: &str, text: Option<&String>| text.map(|it| parse_rfc3339(field, it)).transpose();
    let query = EventQuery {
        since: time("since", command.since.as_ref())?,
        until: time("until", command.until.as_ref())?,
        act: command.act.as_deref().map(|it| ActKind::parse("act", it)).transpose()?,
        limit: command.limit,
        after: None,
    };
    let storage = open_existing(&command.database, None).await?;
    let listed = list(storage.as_ref(), tenant, query, Rows::new(form)).await;
    storage.close().await;
    listed
}

/// Page by page, up to the limit.
async fn list(
    storage: &dyn Storage,
    tenant: &str,
    mut query: EventQuery,
    mut rows: Rows,
) -> Result<()> {
    loop {
        let page = audit::list(storage, tenant, query.clone()).await?;
        query.limit -= page.events.len();
        query.after = page.next;
        for event in page.events {
            let line = line(&event);
            rows.add(|| line, &EventOut::of(event))?;
        }
        rows.flush()?;
        if query.after.is_none() || query.limit == 0 {
            break;
        }
    }
    // A tenant may have nothing but its log.
    if rows.is_empty() && ![UNKNOWN_TENANT, OPERATORS].contains(&tenant) {
        tenants::require(storage, tenant).await?;
    }
    rows.end()
}

/// Time, act, actor, object, count, details; `-` for what is not known.
fn line(event: &Event) -> String {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let (actor, object) = (or_dash(&event.actor), or_dash(&event.object));
    let Event { at, act, details, count, .. } = event;
    format!("{}\t{act}\t{actor}\t{object}\t{count}\t{details}\n", rfc3339(*at))
}
