//! Writes a batch of changes in one transaction: it takes the scope locks, reads what decides, then writes all rows.
//!
//! **Invariant:** the rows that decide are read after the scope locks were locked. When two servers make a session at the same moment, the
//! second fails on its key and begins again.

use super::state::{RACED, read_locked};
use super::statements::statements;
use super::{SessionEngine, memory_key};
use crate::domain::batch_error::BatchError;
use crate::domain::sessions::change::PreparedChange;
use crate::domain::sessions::ledger::{Batch, Effects, Outcome, settle};
use crate::domain::{Error, Result};
use crate::storage::db::access::Access;
use crate::storage::tokens::owner_macs::secrets_of;

/// One transaction. Round trips on PostgreSQL: begin, scope locks, state, rows, commit.
pub async fn write<T: SessionEngine>(
    engine: &T,
    batch: &Batch,
) -> Result<Vec<Outcome>, BatchError> {
    let noted = |error: Error| {
        if matches!(error, Error::Unavailable { .. }) {
            engine.note_loss();
        }
        failed(error)
    };
    let tenants = batch.sessions.iter().map(|(tenant, _)| tenant.as_str());
    let secrets = secrets_of(engine, tenants).await.map_err(noted)?;
    let mut access = engine.begin_session_write().await.map_err(noted)?;
    let dialect = engine.dialect();
    let locked = read_locked(access.as_mut(), dialect, (batch, &secrets));
    let state = locked.await.map_err(noted)?;
    let may_make = |it: &PreparedChange| engine.sessions().may_make(it);
    let (outcomes, effects) = settle(batch, state, may_make);
    if !(effects.entries.is_empty() && effects.made.is_empty())
        && let Err(full) = engine.check_room()
    {
        access.end().await.map_err(noted)?;
        return Err(failed(full));
    }
    if !effects.is_empty() {
        for ((session, log_no), through) in &effects.gone {
            remove_pieces(access.as_mut(), batch, &effects, (*session, *log_no, *through))
                .await
                .map_err(noted)?;
        }
        let statements = statements(dialect, (batch, &secrets), &effects);
        let written = access.run_all(&statements).await.map_err(noted)?;
        if !effects.sessions.is_empty() && written != effects.sessions.len() {
            // Nothing is kept: the transaction is not ended.
            return Err(BatchError::Retry(RACED.into()));
        }
    }
    if let Err(error) = access.end().await {
        if !effects.is_empty() {
            forget_made(engine, batch, &effects);
        }
        return Err(match error {
            // The database says that it was undone.
            Error::Obstacle { kind, detail } => BatchError::Obstacle { kind, detail },
            error => {
                engine.note_loss();
                BatchError::ConnectionLost(match error {
                    Error::CommitUnknown { detail } | Error::Unavailable { detail, .. } => detail,
                    other => other.to_string(),
                })
            }
        });
    }
    record(engine, batch, &outcomes, &effects);
    Ok(outcomes)
}

fn failed(error: Error) -> BatchError {
    match error {
        // Nothing was made durable yet, so it may be sent again, whatever broke.
        Error::Unavailable { detail, .. } | Error::CommitUnknown { detail } => {
            BatchError::Retry(detail)
        }
        Error::Obstacle { kind, detail } => BatchError::Obstacle { kind, detail },
        other => BatchError::Statement(other.to_string()),
    }
}

async fn remove_pieces(
    access: &mut dyn Access,
    batch: &Batch,
    effects: &Effects,
    (session, log_no, through): (usize, i64, i64),
) -> Result<()> {
    let text = "delete from session_entries
        where tenant = $1 and session_no = $2 and log_no = $3 and era = 0 and seq <= $4";
    let session_no = effects.sessions[&session].session_no;
    let tenant = batch.sessions[session].0.as_str();
    let binds = [tenant.into(), session_no.into(), log_no.into(), through.into()];
    access.rows(text, &binds).await?;
    Ok(())
}

/// What was made may be there or not: its scope must not be made up twice.
fn forget_made<T: SessionEngine>(engine: &T, batch: &Batch, effects: &Effects) {
    for at in effects.made.keys() {
        let (tenant, session) = &batch.sessions[*at];
        engine.sessions().forget(tenant, session);
    }
}

fn record<T: SessionEngine>(engine: &T, batch: &Batch, outcomes: &[Outcome], effects: &Effects) {
    for (command, outcome) in batch.commands.iter().zip(outcomes) {
        if let Outcome::Stale { scope_id } = outcome {
            match scope_id {
                Some(id) => engine.sessions().insert(&command.tenant, &command.session, *id),
                None => engine.sessions().forget(&command.tenant, &command.session),
            }
            engine.session_chunks().forget(&command.tenant, &memory_key(command.scope.id));
        }
    }
    for (at, row) in &effects.sessions {
        let (tenant, session) = &batch.sessions[*at];
        engine.sessions().insert(tenant, session, row.scope_id);
    }
    for at in &effects.writers {
        let command = &batch.commands[*at];
        let Some(row) = effects.sessions.get(&batch.session_of[*at]) else { continue };
        let names = command.chunks.iter().map(|it| it.name);
        let key = memory_key(row.scope_id);
        engine.session_chunks().add(&command.tenant, &key, row.epoch, names);
    }
}
