//! Checks that row security does not bind the server's user. It is on for every table and binds everybody but the owner. Any other server
//! would find every table empty, so it does not start.

use sqlx::Row;

use super::PostgresStorage;
use crate::domain::{Error, Result};
use crate::storage::tables::TABLES;

impl PostgresStorage {
    /// # Errors
    /// `Invalid`, with advice, when row security binds the user that we connect as.
    pub(super) async fn check_sees_rows(&self) -> Result<()> {
        let names: Vec<&str> = TABLES.iter().map(|it| it.name).collect();
        let row = sqlx::query(
            "select current_user::text as me, pg_get_userbyid(c.relowner)::text as owner
             from unnest($1::text[]) n (name) join pg_class c on c.oid = to_regclass(n.name)
             where c.relrowsecurity and row_security_active(c.oid) limit 1",
        )
        .bind(names)
        .fetch_optional(&mut *self.pool.get().await?)
        .await?;
        let Some(row) = row else { return Ok(()) };
        let (me, owner): (String, String) = (row.get("me"), row.get("owner"));
        let advice = format!(
            "row security hides every row from the database user {me}: connect as {owner}, who owns the tables, \
             make {me} a member of {owner}, or give {me} bypassrls"
        );
        Err(Error::invalid("database_url", advice))
    }
}
