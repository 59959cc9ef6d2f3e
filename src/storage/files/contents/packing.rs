//! Lists the scopes with contents that can move to an object store. A whole content never changes, so it is cold at once.

use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::storage::db::access::Accessible;
use crate::storage::objects::packs::Scope;

const COLD: &str = "
select c.tenant, c.scope_id, max(c.finished_at) from contents c
where c.tenant is not null and c.finished_at > 0
group by c.tenant, c.scope_id
having max(c.finished_at) > coalesce((select p.packed_at from scope_packing p
    where p.tenant = c.tenant and p.scope_id = c.scope_id), -1)";

/// Scopes with contents that became whole since they were packed, and when the last one did.
///
/// # Errors
/// A database that cannot be read.
pub async fn list_cold(engine: &dyn Accessible) -> Result<Vec<(Scope, Micros)>> {
    let mut access = engine.begin_read().await?;
    let rows = access.rows(COLD, &[]).await?;
    access.end().await?;
    let scope = |row: &crate::storage::db::access::SqlRow| {
        Ok((Scope { tenant: row.text(0)?.to_owned(), id: row.integer(1)? }, row.integer(2)?))
    };
    rows.iter().map(scope).collect()
}
