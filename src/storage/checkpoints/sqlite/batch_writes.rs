//! Decides which writes of the batch take effect: ordinary positions are first-wins, the special (negative) ones replace.

use std::collections::HashMap;

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::batch::{Changes, Failure, LockedThread};
use crate::domain::Error;
use crate::domain::checkpoints::planner::{Batch, WriteRow};
use crate::storage::sqlite::rows::RowSet;

/// A write that is stored at the same position. In the order of the statement's columns.
#[derive(serde::Deserialize)]
struct Stored {
    /// In the batch.
    at: usize,
    writer: String,
    seq: i64,
    size_bytes: i64,
}

impl Stored {
    fn gives_way(&self, write: &WriteRow) -> bool {
        write.idx < 0 && (self.writer != write.writer || write.seq >= self.seq)
    }
}

pub(in crate::storage) async fn resolve(
    connection: &mut SqliteConnection,
    batch: &Batch,
    locked_threads: &mut [LockedThread],
    changes: &mut Changes,
) -> Result<(), Failure> {
    if batch.writes.is_empty() {
        return Ok(());
    }
    let stored = read_stored(connection, batch, locked_threads).await?;
    for (at, write) in batch.writes.iter().enumerate() {
        let locked = &mut locked_threads[write.thread];
        let tenant = batch.threads[write.thread].tenant.as_str();
        let old = stored.get(&at);
        if locked.refused.is_some() || old.is_some_and(|it| !it.gives_way(write)) {
            continue;
        }
        let sealed = &write.sealed;
        locked.bytes_added += i64::from(sealed.size_bytes) - old.map_or(0, |it| it.size_bytes);
        let rows = &mut changes.writes;
        let digest = rows.bytes(&sealed.digest);
        let body = rows.bytes(&sealed.body);
        let parts = rows.optional_bytes(sealed.parts.as_deref());
        rows.push(json!([
            tenant,
            locked.thread_key,
            write.ns,
            write.checkpoint_id,
            write.task_id,
            write.idx,
            &*write.task_path,
            write.channel,
            write.writer,
            write.seq,
            sealed.tag,
            sealed.size_bytes,
            digest.0,
            digest.1,
            body.0,
            body.1,
            parts.0,
            parts.1,
        ]));
    }
    Ok(())
}

/// One row with all of them: each row by itself is a change of threads.
const READ_STORED: &str = "
select json_group_array(json_array(j.value ->> 0, w.writer, w.seq, w.size_bytes))
from jsonb_each($1) j
cross join writes w on w.tenant = j.value ->> 1 and w.thread_key = j.value ->> 2 and w.ns = j.value ->> 3
    and w.checkpoint_id = j.value ->> 4 and w.task_id = j.value ->> 5 and w.idx = j.value ->> 6";

async fn read_stored(
    connection: &mut SqliteConnection,
    batch: &Batch,
    locked_threads: &[LockedThread],
) -> Result<HashMap<usize, Stored>, Failure> {
    let open = batch.writes.iter().enumerate().filter(|(_, write)| {
        locked_threads[write.thread].exists && locked_threads[write.thread].refused.is_none()
    });
    let wanted: RowSet = open
        .map(|(at, write)| {
            json!([
                at,
                batch.threads[write.thread].tenant,
                locked_threads[write.thread].thread_key,
                write.ns,
                write.checkpoint_id,
                write.task_id,
                write.idx,
            ])
        })
        .collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let row = sqlx::query(READ_STORED).bind(wanted.json()).fetch_one(connection).await?;
    let stored: Vec<Stored> = serde_json::from_str(row.try_get(0)?)
        .map_err(|error| Error::Integrity(format!("stored writes cannot be read: {error}")))?;
    Ok(stored.into_iter().map(|it| (it.at, it)).collect())
}
