//! Checks whether the database can be written, after a write failed for a reason of the whole database.

use super::pool::Pool;
use crate::domain::{Error, Result};

/// More than pages that are there have free: a full disk shows when a table has to grow.
const BYTES: usize = 256 << 10;

/// Adds a chunk of nobody and takes it back: a commit would add nothing to what that tells.
pub(in crate::storage) async fn try_write(pool: &Pool) -> Result<()> {
    let mut connection = pool.get().await?;
    connection.open("begin").await?;
    let added =
        sqlx::query("insert into chunks (tenant, scope_id, name, body) values ('', 0, $1, $2)")
            .bind(&rand::random::<[u8; 12]>()[..])
            .bind(vec![0_u8; BYTES])
            .execute(&mut *connection)
            .await
            .map_err(Error::from);
    connection.end("rollback").await?;
    added.map(drop)
}
