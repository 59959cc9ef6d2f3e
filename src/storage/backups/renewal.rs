//! Renews a restored database, so that nobody goes on with what they held before: threads get new generations and greater fences, leases end,
//! and followers of the store begin anew. docs/operate/backup.md tells operators what is renewed.

use super::dump::UNFINISHED;
use crate::domain::engine::Renewed;
use crate::domain::{Error, Result};
use crate::storage::db::access::Accessible;

/// Added to fences. Holders took fewer since the backup: that would be one in every millisecond of eleven days.
const FENCE_STEP: i64 = 1_000_000_000;

const COUNTS: &str = "
select (select count(*) from threads where tenant = $1),
    (select count(*) from threads where tenant = $1 and lease_holder is not null)";

/// Statements of one transaction. $1 tenant, $2 what is added to fences.
const WITH_STEP: [&str; 2] = [
    "update threads set generation = {random}, fence = fence + $2, lease_holder = null, lease_expires_at = null
     where tenant = $1",
    "update thread_tombstones set generation = {random}, fence = fence + $2 where tenant = $1",
];
/// A position names a log that is no more, so whoever follows lists anew.
const PLAIN: [&str; 2] =
    ["delete from item_changes where tenant = $1", "delete from item_feeds where tenant = $1"];

/// Renews what a tenant has, in one transaction.
///
/// # Errors
/// A database that cannot be written: then nothing of the tenant is renewed.
pub async fn renew(engine: &dyn Accessible, tenant: &str) -> Result<Renewed> {
    let dialect = engine.dialect();
    let mut access = engine.begin_write_for(tenant).await?;
    let rows = access.rows(COUNTS, &[tenant.into()]).await?;
    let renewed = Renewed {
        threads: rows[0].integer(0)?.unsigned_abs(),
        leases_ended: rows[0].integer(1)?.unsigned_abs(),
    };
    for text in WITH_STEP {
        access.rows(&dialect.fill(text), &[tenant.into(), FENCE_STEP.into()]).await?;
    }
    for text in PLAIN {
        access.rows(text, &[tenant.into()]).await?;
    }
    access.end().await?;
    Ok(renewed)
}

/// Refuses a database that `threadkeep restore` has filled and not renewed: what was revoked since the backup would be valid.
///
/// # Errors
/// `Invalid` for such a database.
pub async fn check_finished(engine: &dyn Accessible) -> Result<()> {
    let mut access = engine.begin_priority_read().await?;
    let text = format!("select case when to_regclass('{UNFINISHED}') is null then 0 else 1 end");
    let rows = access.rows(&text, &[]).await?;
    access.end().await?;
    if rows[0].integer(0)? == 0 {
        return Ok(());
    }
    let detail = "a restore of this database was not finished: make an empty database and run `threadkeep restore` again";
    Err(Error::invalid("database-url", detail))
}
