//! Folds waiting commits into one batch before any SQL. A batch has at most one row per key per table. The commits of one thread keep their
//! order. Values of a parent in the same batch are resolved in memory. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub use super::batch::{
    Batch, CheckpointRow, ChunkRow, Fresh, SlotRow, SlotValue, ThreadRow, ValueRow, WriteRow,
};
use super::prepared::{
    Condition, PlannedScope, Prepared, PreparedCheckpoint, PreparedOp, PreparedWrites, Sealed,
    Slot, SlotSource, ThreadLabels,
};
use crate::domain::clock::{Micros, random_hex, random_id};

/// Commands in one batch.
pub const COMMANDS_MAX: usize = 256;
/// Bytes in one batch; a larger command goes alone.
pub const BATCH_BYTES_MAX: usize = 4 << 20;

/// Takes from the front of `waiting` what fits into one batch. Answers the batch and, per command taken,
/// its index in `waiting` and its row in `Batch::threads`. Commands not taken keep their order.
pub fn fold(waiting: &[&Prepared], now: Micros) -> (Batch, Vec<(usize, usize)>) {
    let mut taken: Vec<usize> = Vec::new();
    let mut groups: BTreeMap<(&str, &str), Group> = BTreeMap::new();
    let mut blocked: HashSet<(&str, &str)> = HashSet::new();
    let mut size_bytes = 0;
    for (at, command) in waiting.iter().enumerate() {
        if taken.len() >= COMMANDS_MAX {
            break;
        }
        let key = (command.tenant.as_str(), command.thread_id.as_str());
        let fits = taken.is_empty() || size_bytes + command.size_bytes <= BATCH_BYTES_MAX;
        let joins = fits && !blocked.contains(&key) && groups.entry(key).or_default().join(command);
        if !joins {
            // Later commands of this thread must not overtake it.
            blocked.insert(key);
            continue;
        }
        size_bytes += command.size_bytes;
        taken.push(at);
    }
    let mut batch = Batch { now, ..Batch::default() };
    let mut rows: HashMap<(&str, &str), usize> = HashMap::new();
    for (key, group) in groups {
        rows.insert(key, batch.threads.len());
        group.write(&mut batch);
    }
    let placed = taken.into_iter().map(|at| {
        let key = (waiting[at].tenant.as_str(), waiting[at].thread_id.as_str());
        (at, rows[&key])
    });
    let placed = placed.collect();
    (batch, placed)
}

/// The commands of one thread in one batch.
#[derive(Default)]
struct Group<'a> {
    commands: Vec<&'a Prepared>,
    /// Checkpoints that the commands put, by namespace and id. Read when a second command comes: most groups have one.
    puts: HashMap<(&'a str, &'a str), Keys>,
}

/// Channels with their versions that a checkpoint lists.
type Keys = HashSet<(i64, i64)>;

impl<'a> Group<'a> {
    /// Takes a command in, or refuses it: then the group takes none any more. A command joins when it asks for the same condition
    /// and its carried values can be resolved from what is in the database or in this batch, but never need both.
    fn join(&mut self, command: &'a Prepared) -> bool {
        let joins = match self.commands[..] {
            [] => true,
            [first] => self.agrees(command) && self.can_resolve(first) && self.can_resolve(command),
            _ => self.agrees(command) && self.can_resolve(command),
        };
        if joins {
            self.commands.push(command);
        }
        joins
    }

    fn agrees(&self, command: &Prepared) -> bool {
        let same = self.commands.first().is_none_or(|first| {
            first.condition.generation == command.condition.generation
                && first.condition.fence == command.condition.fence
                && first.condition.owner == command.condition.owner
                && first.condition.scope.map(|it| it.id) == command.condition.scope.map(|it| it.id)
                && first.owner == command.owner
                && first.full.is_some() == command.full.is_some()
        });
        let epoch = command.condition.epoch;
        same && self.epoch().is_none_or(|it| epoch.is_none_or(|epoch| it == epoch))
    }

    /// Notes the checkpoints of a command, each of which is looked at once.
    fn can_resolve(&mut self, command: &'a Prepared) -> bool {
        for op in &command.ops {
            let PreparedOp::Checkpoint(put) = op else {
                continue;
            };
            let id = (put.ns.as_str(), put.id.as_str());
            if !self.puts.is_empty() && carried(put).next().is_some() {
                let parent = put.parent.as_ref().filter(|parent| **parent != put.id);
                let parent = parent.and_then(|it| self.puts.get(&(put.ns.as_str(), it.as_str())));
                let is_covered =
                    parent.is_some_and(|keys| carried(put).all(|key| keys.contains(&key)));
                if !is_covered || self.puts.contains_key(&id) {
                    return false;
                }
            }
            self.puts
                .insert(id, put.slots.iter().map(|it| (it.channel_key, it.version_key)).collect());
        }
        true
    }

    /// The epoch for which chunks were left out of some command.
    fn epoch(&self) -> Option<i64> {
        self.commands.iter().find_map(|it| it.condition.epoch)
    }

    /// Commands of one scope; it exists if one of them has seen it.
    fn scope(&self) -> Option<PlannedScope> {
        let scopes = self.commands.iter().filter_map(|it| it.condition.scope);
        scopes.reduce(|one, two| PlannedScope { exists: one.exists || two.exists, ..one })
    }

    fn write(self, batch: &mut Batch) {
        let thread = batch.threads.len();
        let first = self.commands[0];
        batch.threads.push(ThreadRow {
            tenant: first.tenant.clone(),
            thread_id: first.thread_id.as_str().to_owned(),
            owner: first.owner.clone(),
            condition: Condition {
                epoch: self.epoch(),
                scope: self.scope(),
                ..first.condition.clone()
            },
            fresh: Fresh {
                thread_key: random_id(),
                scope_id: self.scope().map_or_else(random_id, |it| it.id),
                generation: random_hex(),
            },
            last_step: None,
            labels: ThreadLabels::default(),
            may_create: first.full.is_none(),
            value_count: 0,
        });
        let mut fold = Fold {
            batch,
            thread,
            checkpoints: HashMap::new(),
            writes: HashMap::new(),
            slots: BTreeMap::new(),
        };
        let mut named = HashSet::new();
        for command in &self.commands {
            for op in &command.ops {
                match op {
                    PreparedOp::Checkpoint(put) => fold.checkpoint(put),
                    PreparedOp::Writes(group) => fold.writes(group, &command.writer),
                }
            }
            for chunk in command.chunks.iter().filter(|it| named.insert(it.name)) {
                let (name, body) = (chunk.name, chunk.body.clone());
                fold.batch.chunks.push(ChunkRow { thread, name, body });
            }
        }
        let slots = std::mem::take(&mut fold.slots).into_values();
        fold.batch.slots.extend(slots.flat_map(|it| it.rows));
    }
}

/// What a checkpoint takes from its parent.
fn carried(put: &PreparedCheckpoint) -> impl Iterator<Item = (i64, i64)> {
    let slots = put.slots.iter().filter(|it| matches!(it.source, SlotSource::Carried(_)));
    slots.map(|it| (it.channel_key, it.version_key))
}

struct Fold<'b> {
    batch: &'b mut Batch,
    thread: usize,
    /// (ns, id) → row in `batch.checkpoints`
    checkpoints: HashMap<(String, String), usize>,
    writes: HashMap<(String, String, String, i32), usize>,
    /// By row in `batch.checkpoints`, put into `batch.slots` at the end.
    slots: BTreeMap<usize, Slots>,
}

#[derive(Default)]
struct Slots {
    rows: Vec<SlotRow>,
    by_key: HashMap<(i64, i64), usize>,
}

impl Slots {
    fn push(&mut self, row: SlotRow) {
        self.by_key.insert((row.channel_key, row.version_key), self.rows.len());
        self.rows.push(row);
    }

    fn value(&self, slot: &Slot) -> Option<&SlotValue> {
        let at = self.by_key.get(&(slot.channel_key, slot.version_key))?;
        Some(&self.rows[*at].value)
    }
}

impl Fold<'_> {
    fn checkpoint(&mut self, put: &PreparedCheckpoint) {
        let in_batch = put
            .parent
            .as_ref()
            .and_then(|id| self.checkpoints.get(&key(put.ns.as_str(), id.as_str())))
            .copied();
        let row = self.place(put, in_batch);
        // Those of an earlier put of this checkpoint, which it replaces.
        self.slots.remove(&row);
        let mut slots = Slots::default();
        for slot in &put.slots {
            let value = match &slot.source {
                SlotSource::New(sealed) => {
                    SlotValue::New(self.value(slot.version_key, sealed, Some(row)))
                }
                SlotSource::Empty => SlotValue::Empty,
                SlotSource::Carried(digest) => {
                    let parent = in_batch.and_then(|at| self.slots.get(&at));
                    let value = parent.and_then(|it| it.value(slot)).cloned();
                    value.unwrap_or(SlotValue::Carried(*digest))
                }
            };
            slots.push(SlotRow {
                checkpoint: row,
                channel_key: slot.channel_key,
                version_key: slot.version_key,
                value,
            });
        }
        self.slots.insert(row, slots);
        for (version_key, sealed) in &put.unlisted {
            self.value(*version_key, sealed, Some(row));
        }
        self.describe(put);
    }

    /// Makes or replaces the row of a checkpoint: a second put of one id in one batch replaces the first.
    fn place(&mut self, put: &PreparedCheckpoint, in_batch: Option<usize>) -> usize {
        let own_parent = put.parent.as_ref().is_some_and(|parent| parent == &put.id);
        let existing = self.checkpoints.get(&key(put.ns.as_str(), put.id.as_str())).copied();
        let parent = match (own_parent, existing) {
            (true, Some(at)) => self.batch.checkpoints[at].parent.clone(),
            _ => put.parent.as_ref().map(|id| id.as_str().to_owned()),
        };
        let look_parent = match in_batch {
            Some(at) => self.batch.checkpoints[at].look_parent.clone(),
            None => put.parent.as_ref().map(|id| id.as_str().to_owned()),
        };
        let made = CheckpointRow {
            thread: self.thread,
            ns: put.ns.as_str().to_owned(),
            id: put.id.as_str().to_owned(),
            parent,
            look_parent,
            documents: put.documents.clone(),
            size_bytes: put.size_bytes,
            legacy: put.legacy,
            run_id: put.run_id.clone(),
            delta_channels: put.delta_channels.clone(),
            delta_keys: put.delta_keys.clone(),
        };
        if let Some(at) = existing {
            self.batch.checkpoints[at] = made;
            return at;
        }
        let at = self.batch.checkpoints.len();
        self.checkpoints.insert(key(&made.ns, &made.id), at);
        self.batch.checkpoints.push(made);
        at
    }

    fn value(&mut self, version_key: i64, sealed: &Sealed, checkpoint: Option<usize>) -> i32 {
        let thread = &mut self.batch.threads[self.thread];
        let rank = thread.value_count;
        thread.value_count += 1;
        self.batch.values.push(ValueRow {
            thread: self.thread,
            rank,
            version_key,
            sealed: sealed.clone(),
            checkpoint,
        });
        rank
    }

    /// What the thread's row takes over from a checkpoint of the root graph.
    fn describe(&mut self, put: &PreparedCheckpoint) {
        let thread = &mut self.batch.threads[self.thread];
        if put.ns.as_str().is_empty() && put.step.is_some() {
            thread.last_step = put.step;
        }
        let labels = &mut thread.labels;
        for (to, from) in [
            (&mut labels.graph_id, &put.labels.graph_id),
            (&mut labels.assistant_id, &put.labels.assistant_id),
            (&mut labels.user_id, &put.labels.user_id),
        ] {
            if from.is_some() {
                to.clone_from(from);
            }
        }
    }

    fn writes(&mut self, group: &PreparedWrites, writer: &str) {
        let task_path: Arc<str> = group.task_path.as_str().into();
        for (idx, channel, sealed) in &group.writes {
            let key = (
                group.ns.as_str().to_owned(),
                group.checkpoint_id.as_str().to_owned(),
                group.task_id.as_str().to_owned(),
                *idx,
            );
            let row = WriteRow {
                thread: self.thread,
                ns: key.0.clone(),
                checkpoint_id: key.1.clone(),
                task_id: key.2.clone(),
                idx: *idx,
                task_path: Arc::clone(&task_path),
                channel: channel.clone(),
                writer: writer.to_owned(),
                seq: group.seq,
                sealed: sealed.clone(),
            };
            match self.writes.get(&key) {
                // First wins for ordinary positions; the special ones replace, but never an own later one.
                Some(&at) => {
                    if *idx < 0 && row.supersedes(&self.batch.writes[at]) {
                        self.batch.writes[at] = row;
                    }
                }
                None => {
                    self.writes.insert(key, self.batch.writes.len());
                    self.batch.writes.push(row);
                }
            }
        }
    }
}

fn key(ns: &str, id: &str) -> (String, String) {
    (ns.to_owned(), id.to_owned())
}
