//! Records an administrative act in the transaction that does it.

use sqlx::sqlite::SqliteConnection;

use crate::domain::Result;
use crate::domain::audit::Act;
use crate::storage::audit_rows::{INSERT, act_id};

pub(super) async fn record(connection: &mut SqliteConnection, act: &Act) -> Result<()> {
    sqlx::query(INSERT)
        .bind(&act.tenant)
        .bind(act.at)
        .bind(act_id())
        .bind(&act.actor)
        .bind(act.kind.name())
        .bind(&act.object)
        .bind(&act.details)
        .bind(1_i64)
        .execute(connection)
        .await?;
    Ok(())
}
