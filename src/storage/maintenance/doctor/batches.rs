//! Examines small threads, many at a time: a few statements read all their rows in one snapshot. It finds only which of them are sound.
//! Each of the others is examined alone, which finds the damage.

use std::collections::{HashMap, HashSet};

use super::TenantScan;
use super::content::{Chunks, VALUE_COLUMNS, Value, Verdict};
use super::survey::Sums;
use super::threads::{CHECKPOINT_COLUMNS, Thread, write_of};
use crate::content::parts::{Name, Part, read, read_node};
use crate::domain::Result;
use crate::domain::doctor::{Noun, Report, State};
use crate::storage::checkpoints::base_document::open_base;
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::db::access::{Access, NAMES_MAX, SqlRow, SqlValue, rows_named};
use crate::storage::db::damage::is_damage;

/// What a thread may take in memory, and those together that are read at once.
const THREAD_BYTES: i64 = 1 << 20;
const BATCH_BYTES: i64 = 8 << 20;

/// Threads with what they take in memory, of which each row takes some more, and whether something about their scope needs a look of
/// its own: packs, parts of values that have not become values, or a holder beside the thread.
const THREADS: &str = "
select t.thread_id, t.thread_key, t.scope_id, t.checkpoint_count, t.size_bytes,
    exists (select 1 from scopes s where s.tenant = t.tenant and s.scope_id = t.scope_id),
    exists (select 1 from scope_holders h where h.tenant = t.tenant and h.scope_id = t.scope_id
        and h.kind = 'thread' and h.holder = {holder}),
    (select count(*) from scope_holders h where h.tenant = t.tenant and h.scope_id = t.scope_id),
    cast(exists (select 1 from packs p where p.tenant = t.tenant and p.scope_id = t.scope_id) as integer)
    + cast(exists (select 1 from content_slices l where l.tenant = t.tenant and l.scope_id = t.scope_id) as integer),
    cast((select coalesce(sum(length(documents) + {map_bytes} + 512), 0) from checkpoints c
        where c.tenant = t.tenant and c.thread_key = t.thread_key)
    + (select coalesce(sum(length(w.body) + w.size_bytes + coalesce(length(w.parts), 0) + 512), 0) from writes w
        where w.tenant = t.tenant and w.thread_key = t.thread_key)
    + (select coalesce(sum(length(b.document) + 512), 0) from delta_bases b
        where b.tenant = t.tenant and b.thread_key = t.thread_key)
    + (select coalesce(sum(length(m.body) + m.size_bytes + coalesce(length(m.parts), 0) + 512), 0) from manifests m
        where m.tenant = t.tenant and m.scope_id = t.scope_id)
    + (select coalesce(sum(length(k.body) + 512), 0) from chunks k
        where k.tenant = t.tenant and k.scope_id = t.scope_id) as bigint)
from threads t where t.tenant = $1 and t.thread_id in";

struct Small {
    id: String,
    thread: Thread,
    bytes: i64,
}

/// Rows by the key or the scope that they belong to.
type Grouped = HashMap<i64, Vec<SqlRow>>;

/// What belongs to some threads.
struct Read {
    checkpoints: Grouped,
    writes: Grouped,
    bases: Grouped,
    values: Grouped,
    chunks: Grouped,
}

impl TenantScan<'_> {
    /// Examines the small ones among some threads together. Answers those that have to be examined alone.
    pub(super) async fn examine_together(
        &mut self,
        ids: &[String],
        report: &mut Report,
    ) -> Result<Vec<String>> {
        let mut alone = Vec::new();
        for ids in ids.chunks(NAMES_MAX) {
            let mut part = Report::default();
            match self.examine_batches(ids, &mut part).await {
                Ok((scopes, others)) => {
                    report.merge(part);
                    self.progress.advance((ids.len() - others.len()) as u64);
                    self.examined.extend(scopes);
                    alone.extend(others);
                }
                Err(error) if is_damage(&error) => alone.extend_from_slice(ids),
                Err(error) => return Err(error),
            }
        }
        Ok(alone)
    }

    /// All in one snapshot. Answers the scopes that are examined, and the threads that are not.
    async fn examine_batches(
        &self,
        ids: &[String],
        report: &mut Report,
    ) -> Result<(Vec<i64>, Vec<String>)> {
        let names: Vec<SqlValue> = ids.iter().map(|id| SqlValue::from(id.as_str())).collect();
        let mut access = self.engine.begin_read().await?;
        let text = self.dialect.fill(THREADS);
        let rows = rows_named(access.as_mut(), &text, &[self.name()], &names).await?;
        let (mut small, mut alone, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
        for row in &rows {
            let (id, bytes) = (row.text(0)?.to_owned(), row.integer(9)?);
            let is_plain = row.integer(5)? != 0
                && row.integer(6)? != 0
                && (row.integer(7)?, row.integer(8)?) == (1, 0);
            if is_plain && bytes <= THREAD_BYTES {
                small.push(Small { id, thread: Thread::of(row)?, bytes });
            } else {
                alone.push(id);
            }
        }
        while !small.is_empty() {
            let mut bytes = 0;
            let fits = |it: &Small| {
                bytes += it.bytes;
                bytes <= BATCH_BYTES
            };
            let count = small.iter().map(fits).take_while(|it| *it).count().max(1);
            let batch: Vec<Small> = small.drain(..count).collect();
            let mut read = self.read_batch(access.as_mut(), &batch).await?;
            for it in batch {
                match self.examine_small(&it, &mut read)? {
                    Some(part) => {
                        report.merge(part);
                        scopes.push(it.thread.scope_id);
                    }
                    None => alone.push(it.id),
                }
            }
        }
        access.end().await?;
        Ok((scopes, alone))
    }

    async fn read_batch(&self, access: &mut dyn Access, batch: &[Small]) -> Result<Read> {
        let keys: Vec<SqlValue> = batch.iter().map(|it| it.thread.key.into()).collect();
        let scopes: Vec<SqlValue> = batch.iter().map(|it| it.thread.scope_id.into()).collect();
        let text = format!(
            "select {CHECKPOINT_COLUMNS}, thread_key from checkpoints where tenant = $1 and thread_key in"
        );
        let checkpoints = self.grouped(access, &text, &keys).await?;
        let text = format!(
            "select ns, checkpoint_id, task_id, idx, channel, {VALUE_COLUMNS}, thread_key from writes
            where tenant = $1 and thread_key in"
        );
        let writes = self.grouped(access, &text, &keys).await?;
        let text = "select ns, checkpoint_id, channel, document, thread_key from delta_bases
            where tenant = $1 and thread_key in";
        let bases = self.grouped(access, text, &keys).await?;
        let text = format!(
            "select no, version_key, {VALUE_COLUMNS}, scope_id from manifests where tenant = $1 and scope_id in"
        );
        let values = self.grouped(access, &text, &scopes).await?;
        let text = "select name, body, scope_id from chunks where tenant = $1 and scope_id in";
        let chunks = self.grouped(access, text, &scopes).await?;
        Ok(Read { checkpoints, writes, bases, values, chunks })
    }

    /// Rows by their last column.
    async fn grouped(
        &self,
        access: &mut dyn Access,
        text: &str,
        names: &[SqlValue],
    ) -> Result<Grouped> {
        let mut grouped = Grouped::new();
        let text = self.dialect.fill(text);
        for row in rows_named(access, &text, &[self.name()], names).await? {
            grouped.entry(row.integer(row.0.len() - 1)?).or_default().push(row);
        }
        Ok(grouped)
    }

    /// What is counted of a thread and its scope. None: something is not as it should be, or is not told here.
    fn examine_small(&self, it: &Small, read: &mut Read) -> Result<Option<Report>> {
        let Small { id, thread, .. } = it;
        let scope_id = thread.scope_id;
        let [checkpoints, writes, bases] =
            [&mut read.checkpoints, &mut read.writes, &mut read.bases]
                .map(|rows| rows.remove(&thread.key).unwrap_or_default());
        let [values, chunk_rows] = [&mut read.values, &mut read.chunks]
            .map(|rows| rows.remove(&scope_id).unwrap_or_default());
        let mut report = Report::default();
        report.add(State::Checked, Noun::Threads, 1, 0);
        report.add(State::Checked, Noun::Scopes, 1, 0);

        let mut versions = HashMap::new();
        for row in &values {
            versions.insert(row.integer(0)?, row.integer(1)?);
        }
        let mut shown = HashSet::new();
        for row in &checkpoints {
            self.examine_checkpoint((id, scope_id), row, &versions, &mut report)?;
            let Ok(map) = super::read_map(row, 3) else { return Ok(None) };
            shown.extend(map.iter().map(|entry| i64::from(entry.value_no)));
        }
        if !versions.keys().all(|no| shown.contains(no)) {
            return Ok(None);
        }
        let sum = |rows: &[SqlRow], at: usize| -> Result<i64> {
            rows.iter().try_fold(0_i64, |sum, row| Ok(sum.saturating_add(row.integer(at)?)))
        };
        let (of_checkpoints, of_writes, of_values) =
            (sum(&checkpoints, 6)?, sum(&writes, 6)?, sum(&values, 3)?);
        let sums = Sums {
            checkpoint_count: i64::try_from(checkpoints.len()).unwrap_or(i64::MAX),
            shown_bytes: of_checkpoints.saturating_add(of_writes).saturating_add(of_values),
            other_bytes: 0,
        };
        if sums.difference(thread).is_some() {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(values.len() + writes.len());
        for row in &values {
            let version = ValueRow::Version(row.integer(1)?);
            all.push((Noun::Values, Value::read((scope_id, version), row, 2)?));
        }
        for row in &writes {
            all.push((Noun::Writes, Value::read((scope_id, write_of(row)?), row, 5)?));
        }
        let Some(chunks) = self.chunks_of(scope_id, &all, &chunk_rows, &mut report)? else {
            return Ok(None);
        };
        for (noun, value) in &all {
            if !matches!(value.examine(&self.secret, &chunks), Verdict::Sound) {
                return Ok(None);
            }
            report.add(State::Checked, *noun, 1, value.stored_bytes());
        }
        for row in &bases {
            let sealed = row.bytes(3)?;
            let at = CheckpointAt { scope_id, ns: row.text(0)?, id: row.text(1)? };
            if open_base(&self.secret, at, row.text(2)?.to_owned(), sealed).is_err() {
                return Ok(None);
            }
            report.add(State::Checked, Noun::Bases, 1, super::size(sealed.len()));
        }
        Ok(report.is_sound().then_some(report))
    }

    /// The chunks of a scope, opened. None: one is damaged, lies in a pack, is missing, or is named by nothing.
    fn chunks_of(
        &self,
        scope_id: i64,
        values: &[(Noun, Value<'_>)],
        rows: &[SqlRow],
        report: &mut Report,
    ) -> Result<Option<Chunks>> {
        let mut bodies: HashMap<Name, &[u8]> = HashMap::new();
        for row in rows {
            let Ok(name) = Name::try_from(row.bytes(0)?) else { return Ok(None) };
            let body = row.bytes(1)?;
            bodies.insert(name, body);
            report.add(State::Checked, Noun::Chunks, 1, super::size(body.len()));
        }
        let mut parts: HashSet<Part> = HashSet::new();
        for (_, value) in values {
            let Some(list) = value.list() else { continue };
            let Ok(list) = read(list) else { return Ok(None) };
            parts.extend(list);
        }
        let mut chunks = Chunks::default();
        let nodes: Vec<Part> =
            parts.iter().filter(|it| matches!(it, Part::Node(_))).copied().collect();
        for node in nodes {
            let body = bodies.get(&node.name());
            let leaves = body.and_then(|body| chunks.add_node(&self.secret, &node.name(), body));
            let Some(leaves) = leaves.and_then(|node| read_node(&node).ok()) else {
                return Ok(None);
            };
            parts.extend(leaves.into_iter().map(Part::Leaf));
        }
        let named: HashSet<Name> = parts.iter().map(Part::name).collect();
        if named.len() != bodies.len() {
            return Ok(None);
        }
        for part in &parts {
            let Part::Leaf(name) = part else { continue };
            let body = bodies.get(name);
            if !body.is_some_and(|body| chunks.add_leaf((&self.secret, scope_id), name, body)) {
                return Ok(None);
            }
        }
        Ok(Some(chunks))
    }
}
