//! Statistics of tables that grow from nothing. A plan that was made while a table was empty may look rows up by any index that begins
//! with the tenant, and read all of the tenant's entries each time. The database's own worker analyzes a table within a minute, and then
//! plans are made again; a new database that is filled at once reads millions of entries before.

use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::failure::of_call;
use super::pool::Pool;
use crate::domain::Result;

/// Tables with this many rows or more, $1, have had statistics that tell their indexes apart; the database's worker does the rest. Those
/// below are analyzed at about 100 rows, and whenever they are five times as large.
const ROWS_MAX: f32 = 10_000.0;
const GROWN: &str = "
select c.relname::text from pg_class c join pg_stat_user_tables s on s.relid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.reltuples < $1
  and s.n_mod_since_analyze > 4 * greatest(c.reltuples, 25)
order by c.relname";

pub(super) async fn refresh(pool: &Pool) -> Result<()> {
    let mut connection = pool.get().await?;
    let grown = sqlx::query(GROWN)
        .bind(ROWS_MAX)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| of_call(&error))?;
    for row in grown {
        // Another server, or the database's worker, may be at it.
        let text = format!("analyze (skip_locked) {}", row.get::<String, _>(0));
        connection.execute(AssertSqlSafe(text)).await.map_err(|error| of_call(&error))?;
    }
    connection.release();
    Ok(())
}
