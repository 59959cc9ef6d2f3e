//! Finds out which namespaces of a thread have checkpoints: one statement, the same for every engine.

use serde_json::json;

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::names::CheckpointNs;
use crate::storage::db::access::Accessible;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 namespaces, each in a list of its own, $2 tenant, $3 thread, $4 its owner, where only a thread of that owner counts.
const NAMESPACES: &str = "
select j.value ->> 0, t.thread_key, t.scope_id, t.owner, t.mac
{from_each} cross join threads t
where t.tenant = $2 and t.thread_id = $3{owned}
  and exists (select 1 from checkpoints c
      where c.tenant = $2 and c.thread_key = t.thread_key and c.ns = j.value ->> 0)";

/// Those of `among` that have a checkpoint.
///
/// # Errors
/// A storage that cannot be read.
pub async fn list_checkpoint_namespaces(
    engine: &dyn Accessible,
    thread: OwnedThread<'_>,
    secret: &TenantSecret,
    among: &[CheckpointNs],
) -> Result<Vec<String>> {
    let names: Vec<[&str; 1]> = among.iter().map(|it| [it.as_str()]).collect();
    let mut binds = vec![json!(names).to_string().as_str().into(), thread.tenant.into()];
    binds.push(thread.thread_id.into());
    binds.extend(thread.owner.map(Into::into));
    let owned = if thread.owner.is_some() { " and t.owner = $4" } else { "" };
    let statement = engine.dialect().fill(&NAMESPACES.replace("{owned}", owned));
    let rows = engine.search_rows(thread.tenant, &statement, &binds).await?;
    if let Some(row) = rows.first() {
        let key = (row.integer(1)?, row.integer(2)?);
        OwnerRow::thread(thread.thread_id, key, row.optional_text(3)?)
            .check(secret, row.optional_bytes(4)?)?;
    }
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}
