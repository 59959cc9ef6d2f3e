//! Counts the checkpoints of a hidden copy and their bytes after a cut. Values that no checkpoint of the copy shows do not count: they go
//! with the thread that they were copied from.

use std::collections::HashSet;

use serde_json::json;

use crate::domain::Result;
use crate::storage::db::access::{Access, Dialect, Source, SqlValue, page};
use crate::storage::maintenance::doctor::read_map;

const MAPS: Source<'static> = Source {
    columns: "ns, checkpoint_id, {map}",
    size: "{map_bytes}",
    rows:
        "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
        order by ns, checkpoint_id",
};

/// $1 numbers of values, $2 tenant, $3 scope.
const VALUES: &str = "
select cast(coalesce(sum(m.size_bytes), 0) as bigint) {from_each}
join manifests m on m.tenant = $2 and m.scope_id = $3 and m.no = cast(j.value ->> 0 as bigint)";

/// $1 tenant, $2 thread key, $3 bytes of the values that its checkpoints show.
const COUNT: &str = "
update threads set
    checkpoint_count = (select count(*) from checkpoints c where c.tenant = $1 and c.thread_key = $2),
    size_bytes = $3
        + (select coalesce(sum(c.size_bytes), 0) from checkpoints c where c.tenant = $1 and c.thread_key = $2)
        + (select coalesce(sum(w.size_bytes), 0) from writes w where w.tenant = $1 and w.thread_key = $2)
where tenant = $1 and thread_key = $2 returning checkpoint_count";

/// Answers how many checkpoints a thread has, which is (tenant, key, scope).
///
/// # Errors
/// `Integrity` where the map of a checkpoint is damaged; a database that cannot be written.
pub async fn recount(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, key, scope_id): (&str, i64, i64),
) -> Result<i64> {
    let mut numbers = HashSet::new();
    let mut after = vec![SqlValue::from(""), SqlValue::from("")];
    loop {
        let binds = [vec![tenant.into(), key.into()], after].concat();
        let rows = page(access, dialect, &MAPS, &binds).await?;
        let Some(last) = rows.last() else { break };
        after = last.0[..2].to_vec();
        for row in &rows {
            let shown = read_map(row, 2)?.into_iter().filter(|it| it.value_no > 0);
            numbers.extend(shown.map(|it| it.value_no));
        }
    }
    let numbers = json!(numbers.into_iter().map(|it| [it]).collect::<Vec<_>>()).to_string();
    let binds = [SqlValue::from(numbers.as_str()), tenant.into(), scope_id.into()];
    let bytes = access.rows(&dialect.fill(VALUES), &binds).await?[0].integer(0)?;
    let rows = access.rows(COUNT, &[tenant.into(), key.into(), bytes.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.integer(0))
}
