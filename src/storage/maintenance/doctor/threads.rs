//! Examines threads: their counters, and the rows under their keys.

use std::collections::{BTreeSet, HashMap};

use super::content::{Chunks, VALUE_COLUMNS, VALUE_SIZE, Value, Verdict};
use super::pass::{Pass, Start};
use super::survey::{Sums, sums_of_thread};
use super::{TenantScan, read_map, size};
use crate::domain::Result;
use crate::domain::doctor::{FindingPlace, Noun, Report, State};
use crate::storage::checkpoints::base_document::open_base;
use crate::storage::checkpoints::channel_map::Entry;
use crate::storage::checkpoints::prepare::describe;
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::documents::open_documents;
use crate::storage::db::access::{Access, Source, SqlRow, SqlValue, page_of, rows_named};

/// $2 thread id.
const THREAD: &str = "
select t.thread_id, t.thread_key, t.scope_id, t.checkpoint_count, t.size_bytes,
    exists (select 1 from scopes s where s.tenant = t.tenant and s.scope_id = t.scope_id),
    exists (select 1 from scope_holders h where h.tenant = t.tenant and h.scope_id = t.scope_id
        and h.kind = 'thread' and h.holder = {holder})
from threads t where t.tenant = $1 and t.thread_id = $2";

pub const CHECKPOINT_COLUMNS: &str = "ns, checkpoint_id, documents, {map}, size_bytes, cast(legacy as integer), run_id, delta_channels";

const CHECKPOINTS: Source<'static> = Source {
    columns: CHECKPOINT_COLUMNS,
    size: "length(documents) + {map_bytes}",
    rows:
        "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
        order by ns, checkpoint_id",
};

pub const BASES: Source<'static> = Source {
    columns: "ns, checkpoint_id, channel, document",
    size: "length(document)",
    rows: "from delta_bases where tenant = $1 and thread_key = $2
        and (ns, checkpoint_id, channel) > ($3, $4, $5) order by ns, checkpoint_id, channel",
};

pub const WRITES: &str =
    "from writes where tenant = $1 and thread_key = $2
        and (ns, checkpoint_id, task_id, idx) > ($3, $4, $5, $6) order by ns, checkpoint_id, task_id, idx";

/// A thread as one transaction sees it.
pub struct Thread {
    pub key: i64,
    pub scope_id: i64,
    pub checkpoint_count: i64,
    pub size_bytes: i64,
    has_scope: bool,
    has_holder: bool,
}

impl Thread {
    /// From its key, scope, counters, and whether it has scope and holder, behind its id.
    pub(super) fn of(row: &SqlRow) -> Result<Self> {
        Ok(Self {
            key: row.integer(1)?,
            scope_id: row.integer(2)?,
            checkpoint_count: row.integer(3)?,
            size_bytes: row.integer(4)?,
            has_scope: row.integer(5)? != 0,
            has_holder: row.integer(6)? != 0,
        })
    }
}

impl TenantScan<'_> {
    pub(super) async fn examine_threads(&mut self, report: &mut Report) -> Result<()> {
        let mut after = String::new();
        loop {
            let (ids, next) = self.thread_ids(&after, report).await?;
            for id in &self.examine_together(&ids, report).await? {
                let examined = self.examine_thread(id, report).await;
                self.note(examined, (Noun::Threads, "threads", Some(id)), report)?;
                self.progress.advance(1);
            }
            let Some(next) = next else { return Ok(()) };
            after = next;
        }
    }

    async fn examine_thread(&self, thread_id: &str, report: &mut Report) -> Result<()> {
        let mut access = self.engine.begin_read().await?;
        let Some(thread) = self.thread(access.as_mut(), thread_id).await? else {
            return access.end().await;
        };
        report.add(State::Checked, Noun::Threads, 1, 0);
        let sums = sums_of_thread(access.as_mut(), self.dialect, &self.tenant, &thread).await;
        if sums.is_ok() {
            access.end().await?;
        }
        let counted = self.examine_counters(thread_id, (&thread, sums), report).await;
        self.note(counted, (Noun::Threads, "checkpoints", Some(thread_id)), report)?;
        for pass in [Pass::Checkpoints(thread_id), Pass::Writes(thread_id), Pass::Bases(thread_id)]
        {
            self.go_through(pass, report).await?;
        }
        Ok(())
    }

    async fn examine_counters(
        &self,
        thread_id: &str,
        (thread, sums): (&Thread, Result<Sums>),
        report: &mut Report,
    ) -> Result<()> {
        let place = || self.place(Some(thread_id));
        if !thread.has_scope {
            report.find(State::Missing, Noun::Scopes, 0, place(), "the thread's content scope");
        }
        if !thread.has_holder {
            let detail = "the entry by which the thread holds its content scope";
            report.find(State::Missing, Noun::Holders, 0, place(), detail);
        }
        if let Some(detail) = sums?.difference(thread) {
            if self.repairs(report) && self.correct_counters(thread_id).await? {
                report.add(State::Repaired, Noun::Threads, 1, 0);
            } else {
                report.find(State::WrongCounter, Noun::Threads, 0, place(), detail);
            }
        }
        Ok(())
    }

    /// The thread as this transaction sees it: a prune may have given it another key meanwhile.
    pub(super) async fn thread(
        &self,
        access: &mut dyn Access,
        thread_id: &str,
    ) -> Result<Option<Thread>> {
        let text = self.dialect.fill(THREAD);
        let rows = access.rows(&text, &[self.name(), thread_id.into()]).await?;
        rows.first().map(Thread::of).transpose()
    }

    pub(super) async fn examine_checkpoints(
        &self,
        thread_id: &str,
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        let mut access = self.engine.begin_read().await?;
        let Some(thread) = self.thread(access.as_mut(), thread_id).await? else {
            return access.end().await.map(|()| None);
        };
        let binds = [&[self.name(), thread.key.into()], &from.after[..]].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &CHECKPOINTS, binds).await?;
        let versions = self.versions_named(access.as_mut(), thread.scope_id, &rows).await?;
        access.end().await?;
        for row in &rows {
            self.examine_checkpoint((thread_id, thread.scope_id), row, &versions, report)?;
        }
        Ok(rows.last().map(|last| last.0[..2].to_vec()))
    }

    /// Number → version of the values that some checkpoints name.
    async fn versions_named(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        rows: &[SqlRow],
    ) -> Result<HashMap<i64, i64>> {
        let maps = rows.iter().filter_map(|row| read_map(row, 3).ok());
        let named: BTreeSet<u32> =
            maps.flatten().map(|it| it.value_no).filter(|no| *no != 0).collect();
        let named: Vec<SqlValue> =
            named.into_iter().map(|no| SqlValue::Integer(no.into())).collect();
        let text =
            "select no, version_key from manifests where tenant = $1 and scope_id = $2 and no in";
        let found = rows_named(access, text, &[self.name(), scope_id.into()], &named).await?;
        found.iter().map(|row| Ok((row.integer(0)?, row.integer(1)?))).collect()
    }

    pub(super) fn examine_checkpoint(
        &self,
        (thread_id, scope_id): (&str, i64),
        row: &SqlRow,
        versions: &HashMap<i64, i64>,
        report: &mut Report,
    ) -> Result<()> {
        let place = || self.place_of(thread_id, row);
        let sealed = row.bytes(2)?;
        report.add(State::Checked, Noun::Documents, 1, size(sealed.len()));
        let Ok(map) = read_map(row, 3) else {
            report.find(State::Damaged, Noun::Maps, 0, place()?, "the map cannot be read");
            return Ok(());
        };
        report.add(State::Checked, Noun::Maps, 1, size(20 * map.len()));
        let at = CheckpointAt { scope_id, ns: row.text(0)?, id: row.text(1)? };
        let described =
            open_documents(&self.secret, at, sealed).and_then(|(skeleton, metadata)| {
                describe(&self.secret, row.text(0)?, &skeleton, &metadata)
            });
        match described {
            Err(_) => {
                let detail = "skeleton and metadata do not open or do not match their digest";
                report.find(State::Damaged, Noun::Documents, size(sealed.len()), place()?, detail);
            }
            Ok(described) => {
                if !described.keys.iter().copied().eq(map.iter().map(keys)) {
                    let detail = "the map does not list the versions of the skeleton";
                    report.find(State::Damaged, Noun::Maps, 0, place()?, detail);
                    return Ok(());
                }
                let run_id = row.text(8).ok();
                let channels = row.text(9).unwrap_or("[]");
                let same = described.size_bytes == row.integer(6)?
                    && described.legacy == (row.integer(7)? != 0)
                    && described.run_id.as_deref() == run_id
                    && serde_json::from_str(channels).ok().as_ref()
                        == Some(&described.delta_channels);
                if !same {
                    let detail =
                        "size, format, run or delta channels are not those of the documents";
                    report.find(State::Damaged, Noun::Documents, 0, place()?, detail);
                }
            }
        }
        for entry in map.iter().filter(|it| it.value_no != 0) {
            match versions.get(&entry.value_no.into()) {
                None => {
                    let detail = "a value that the checkpoint shows";
                    report.find(State::Missing, Noun::Values, 0, place()?, detail);
                }
                Some(version) if *version != entry.version_key => {
                    let detail = "the map names a value of another version";
                    report.find(State::Damaged, Noun::Maps, 0, place()?, detail);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) async fn examine_writes(
        &self,
        thread_id: &str,
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        const KEY_COLUMNS: usize = 4;
        let columns = format!("ns, checkpoint_id, task_id, idx, channel, {VALUE_COLUMNS}");
        let source = Source { columns: &columns, size: VALUE_SIZE, rows: WRITES };
        let mut access = self.engine.begin_read().await?;
        let Some(thread) = self.thread(access.as_mut(), thread_id).await? else {
            return access.end().await.map(|()| None);
        };
        let binds = [&[self.name(), thread.key.into()], &from.after[..]].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &source, binds).await?;
        let values = rows
            .iter()
            .map(|row| Value::read((thread.scope_id, write_of(row)?), row, KEY_COLUMNS + 1));
        let values = values.collect::<Result<Vec<_>>>()?;
        let scope = [self.name(), thread.scope_id.into()];
        let mut chunks = Chunks::load(access.as_mut(), &self.secret, &scope, &values).await?;
        access.end().await?;
        chunks.fetch(self.engine.objects(), (&self.tenant, &self.secret), thread.scope_id).await?;
        for (row, value) in rows.iter().zip(&values) {
            let bytes = value.stored_bytes();
            let verdict = value.examine(&self.secret, &chunks);
            if matches!(verdict, Verdict::Moved) {
                report.add(State::Moved, Noun::Writes, 1, bytes);
                continue;
            }
            report.add(State::Checked, Noun::Writes, 1, bytes);
            let (state, detail) = match verdict {
                Verdict::Sound | Verdict::Moved => continue,
                Verdict::Damaged(detail) => (State::Damaged, detail),
                Verdict::Unreadable => {
                    (State::Unreadable, "a chunk of the write is missing or damaged")
                }
            };
            report.find(state, Noun::Writes, bytes, self.place_of(thread_id, row)?, detail);
        }
        Ok(rows.last().map(|last| last.0[..KEY_COLUMNS].to_vec()))
    }

    pub(super) async fn examine_bases(
        &self,
        thread_id: &str,
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        let mut access = self.engine.begin_read().await?;
        let Some(thread) = self.thread(access.as_mut(), thread_id).await? else {
            return access.end().await.map(|()| None);
        };
        let binds = [&[self.name(), thread.key.into()], &from.after[..]].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &BASES, binds).await?;
        access.end().await?;
        for row in &rows {
            let sealed = row.bytes(3)?;
            report.add(State::Checked, Noun::Bases, 1, size(sealed.len()));
            let at = CheckpointAt { scope_id: thread.scope_id, ns: row.text(0)?, id: row.text(1)? };
            if open_base(&self.secret, at, row.text(2)?.to_owned(), sealed).is_err() {
                let place = self.place_of(thread_id, row)?;
                let detail = "a delta base does not open or does not match its digest";
                report.find(State::Damaged, Noun::Bases, size(sealed.len()), place, detail);
            }
        }
        Ok(rows.last().map(|last| last.0[..3].to_vec()))
    }

    /// The place of a row that begins with namespace and checkpoint id.
    pub(super) fn place_of(&self, thread_id: &str, row: &SqlRow) -> Result<FindingPlace> {
        Ok(FindingPlace {
            checkpoint_ns: Some(row.text(0)?.to_owned()),
            checkpoint_id: Some(row.text(1)?.to_owned()),
            ..self.place(Some(thread_id))
        })
    }
}

fn keys(entry: &Entry) -> (i64, i64) {
    (entry.channel_key, entry.version_key)
}

/// From a row that begins with namespace, checkpoint, task, number and channel.
pub(super) fn write_of(row: &SqlRow) -> Result<ValueRow<'_>> {
    Ok(ValueRow::Write {
        ns: row.text(0)?,
        checkpoint_id: row.text(1)?,
        task_id: row.text(2)?,
        idx: row.integer(3)?,
        channel: row.text(4)?,
    })
}
