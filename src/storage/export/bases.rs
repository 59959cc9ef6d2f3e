//! Reads the rows of a thread beside its checkpoints for an export: delta bases, and writes as they are stored.

use super::reading::Reader;
use super::values::{COLUMNS, chunks_of, open, opening_size};
use crate::domain::checkpoints::checkpoint::{PENDING_SENDS, Value};
use crate::domain::checkpoints::history::Base;
use crate::domain::export::records::{ThreadBase, ThreadWrite};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::base_document::open_base;
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::documents::size_of_documents;
use crate::storage::db::access::{Access, SqlRow};
use crate::storage::objects::pack_prefetch::PackPrefetch;

/// Pending sends of a removed parent. $3 namespace, $4 the parent.
const SENDS: &str = "
from writes where tenant = $1 and thread_key = $2 and ns = $3 and checkpoint_id = $4
    and channel = '__pregel_tasks' order by task_path, task_id, idx";

/// Columns of a write before those of its value.
pub const WRITE_KEY: &str = "ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq";
pub const WRITE_VALUE: usize = 8;

impl Reader<'_> {
    /// Bases of some checkpoints in the order of checkpoint and channel. Where an engine keeps the pending sends of a removed
    /// parent as its writes, they are a base here, as the other one has them.
    pub(super) async fn bases(
        &mut self,
        access: &mut dyn Access,
        checkpoints: &[SqlRow],
        rows: &[SqlRow],
    ) -> Result<Vec<ThreadBase>> {
        let scope_id = self.scope_id()?;
        let mut bases = Vec::new();
        for row in rows {
            let (ns, id) = (row.text(0)?, row.text(1)?);
            let at = CheckpointAt { scope_id, ns, id };
            let (channel, sealed) = (row.text(2)?.to_owned(), row.bytes(3)?);
            // The caller holds a transaction.
            let open = || open_base(self.secret, at, channel, sealed);
            let base = cpu_pool::run_here_at_once(self.tenant, size_of_documents(sealed), open)?;
            let is_empty = base.channel == PENDING_SENDS && base.writes.is_empty();
            if !is_empty {
                let (ns, checkpoint_id) = (ns.to_owned(), id.to_owned());
                bases.push(ThreadBase { ns, checkpoint_id, base });
            }
        }
        for row in checkpoints {
            let Some(sender) = row.optional_text(5)? else { continue };
            let (ns, checkpoint_id) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
            let writes = self.sends(access, &ns, sender).await?;
            self.senders.insert((ns.clone(), sender.to_owned()));
            if !writes.is_empty() {
                let base = Base { channel: PENDING_SENDS.to_owned(), seed: None, writes };
                bases.push(ThreadBase { ns, checkpoint_id, base });
            }
        }
        bases.sort_by(|a, b| {
            let key = |it: &ThreadBase| {
                (it.ns.clone(), it.checkpoint_id.clone(), it.base.channel.clone())
            };
            key(a).cmp(&key(b))
        });
        Ok(bases)
    }

    async fn sends(
        &mut self,
        access: &mut dyn Access,
        ns: &str,
        sender: &str,
    ) -> Result<Vec<(String, Value)>> {
        let text = format!("select {WRITE_KEY}, {COLUMNS} {SENDS}");
        let binds = [&self.place()?[..], &[ns.into(), sender.into()]].concat();
        let rows = access.rows(&text, &binds).await?;
        let prefetch = PackPrefetch::default();
        loop {
            let scope_id = self.scope_id()?;
            let of = (self.tenant, self.secret);
            let chunks = chunks_of(access, of, scope_id, (&rows, WRITE_VALUE), &prefetch).await?;
            if prefetch.is_complete() {
                let write = |row: &SqlRow| {
                    let value =
                        open(self.secret, (scope_id, home_of(row)?), (row, WRITE_VALUE), &chunks)?;
                    Ok((row.text(2)?.to_owned(), value))
                };
                let size = opening_size(&rows, WRITE_VALUE)?;
                let opened = || rows.iter().map(write).collect();
                return cpu_pool::run_here_at_once(self.tenant, size, opened);
            }
            prefetch.fetch_missing(self.moment.engine.objects(), self.secret).await?;
        }
    }
}

pub fn home_of(row: &SqlRow) -> Result<ValueRow<'_>> {
    Ok(ValueRow::Write {
        ns: row.text(0)?,
        checkpoint_id: row.text(1)?,
        task_id: row.text(2)?,
        idx: row.integer(3)?,
        channel: row.text(5)?,
    })
}

pub fn write_of(row: &SqlRow, value: Value) -> Result<ThreadWrite> {
    let idx = i32::try_from(row.integer(3)?);
    let idx = idx.map_err(|_| Error::Integrity("a write has an impossible position".into()))?;
    // Of others nobody asks who wrote them.
    let writer = match (idx < 0, row.optional_text(6)?, row.optional_integer(7)?) {
        (true, Some(writer), Some(seq)) => Some((writer.to_owned(), seq)),
        _ => None,
    };
    Ok(ThreadWrite {
        ns: row.text(0)?.to_owned(),
        checkpoint_id: row.text(1)?.to_owned(),
        task_id: row.text(2)?.to_owned(),
        task_path: row.text(4)?.to_owned(),
        idx,
        channel: row.text(5)?.to_owned(),
        writer,
        value,
    })
}
