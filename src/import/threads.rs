//! Imports threads: writes every checkpoint in an ordinary commit, parents first, and reads it back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::report::{Report, Show};
use super::rows::{Rows, Shown, StepName};
use super::stamps::{self, Stamp};
use super::step::{Channel, ChannelValue, Checkpoint, Step, Write};
use super::target::Target;
use crate::domain::checkpoints::checkpoint::{
    CheckpointPut, Commit, EMPTY, ListQuery, NewValue, NewWrite, Op, Value, WriteGroup,
};
use crate::domain::limits::LIMITS;
use crate::domain::names::{
    Channel as ChannelName, CheckpointId, CheckpointNs, Tag, TaskId, TaskPath, ThreadId, Writer,
};
use crate::domain::{Error, Result};

/// A commit goes out when it has so much in it.
const COMMIT_BYTES: usize = 2 << 20;
const COMMIT_OPS: usize = 128;

type At = (String, String);

/// All threads.
///
/// # Errors
/// A source that cannot be read any more, a target that cannot be written.
pub(super) async fn import(
    rows: &mut dyn Rows,
    target: &Target,
    report: &mut Report,
    show: &mut Show<'_>,
) -> Result<()> {
    let mut after = None;
    loop {
        let page = rows.threads(after.as_deref()).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.clone());
        for thread in page {
            let mut import = ThreadImport::new(&thread, target);
            let done = import.run(rows, report).await;
            rows.end_thread().await?;
            match done {
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    report.threads.failed += 1;
                    report.fail(format!("thread {thread:?}"), error);
                }
                Ok(()) if import.failed => report.threads.failed += 1,
                Ok(()) if import.wrote => report.threads.imported += 1,
                Ok(()) => report.threads.unchanged += 1,
            }
            show(report);
        }
    }
}

struct ThreadImport<'a> {
    thread: &'a str,
    target: &'a Target,
    /// What the target has.
    there: HashMap<At, Stamp>,
    /// What was read, by checkpoint.
    shown: HashMap<At, Arc<Shown>>,
    /// What was written, to be read back.
    expected: Vec<(At, Stamp)>,
    /// Waits for its commit.
    waiting: Vec<Planned>,
    waiting_bytes: usize,
    failed: bool,
    wrote: bool,
}

/// What is to be written of one checkpoint.
struct Planned {
    at: At,
    ops: Vec<Op>,
    /// None: there are only writes.
    stamp: Option<Stamp>,
    is_new: bool,
    writes: u64,
    bytes: u64,
}

impl<'a> ThreadImport<'a> {
    fn new(thread: &'a str, target: &'a Target) -> Self {
        Self {
            thread,
            target,
            there: HashMap::new(),
            shown: HashMap::new(),
            expected: Vec::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            failed: false,
            wrote: false,
        }
    }

    async fn run(&mut self, rows: &mut dyn Rows, report: &mut Report) -> Result<()> {
        self.there = self.read_back().await?;
        let names = parents_first(rows.begin_thread(self.thread).await?);
        for name in names {
            let at = (name.ns.clone(), name.id.clone());
            let parent = name.parent.as_ref().map(|it| (name.ns.clone(), it.clone()));
            let parent = parent.and_then(|it| self.shown.get(&it).cloned());
            let step = rows.step(self.thread, &name, parent.as_deref()).await;
            let planned = step.and_then(|step| self.plan(&name, step, parent.as_deref(), report));
            match planned {
                Ok(Some(planned)) => self.add(planned, report).await?,
                Ok(None) => {}
                Err(error @ (Error::Internal(_) | Error::Unavailable { .. })) => return Err(error),
                Err(error) => self.fail(&at, error, report),
            }
        }
        self.flush(report).await?;
        self.verify(report).await
    }

    /// What is missing of a checkpoint. None: nothing.
    fn plan(
        &mut self,
        name: &StepName,
        step: Step,
        parent: Option<&Shown>,
        report: &mut Report,
    ) -> Result<Option<Planned>> {
        let at = (name.ns.clone(), name.id.clone());
        let Some(checkpoint) = step.checkpoint else {
            // Their checkpoint never came, so nothing shows them: sent again they change nothing.
            let planned = Planned::of_writes(at, &step.writes)?;
            return Ok(Some(planned));
        };
        let shown = stamps::shown(&checkpoint, parent);
        let stamp = Stamp::of_step(name.parent.as_deref(), &checkpoint, &shown, &step.writes);
        let new = new_channels(&checkpoint, &shown, parent);
        self.shown.insert(at.clone(), Arc::new(shown));
        let Some(there) = self.there.get(&at) else {
            let mut planned = Planned::of_writes(at, &step.writes)?;
            planned.put(name, &checkpoint, new)?;
            planned.stamp = Some(stamp);
            return Ok(Some(planned));
        };
        if there.state != stamp.state {
            return Err(Error::invalid("from", "the target has another checkpoint of this id"));
        }
        report.checkpoints.unchanged += 1;
        if there.has_writes_of(&stamp) {
            report.writes.unchanged += step.writes.len() as u64;
            return Ok(None);
        }
        let (old, missing): (Vec<Write>, Vec<Write>) = step.writes.into_iter().partition(|it| {
            there.writes.get(&stamps::of_source_write(it)).is_some_and(|count| *count > 0)
        });
        report.writes.unchanged += old.len() as u64;
        let mut planned = Planned::of_writes(at, &missing)?;
        planned.stamp = Some(stamp);
        planned.is_new = false;
        Ok(Some(planned))
    }

    async fn add(&mut self, planned: Planned, report: &mut Report) -> Result<()> {
        let ops: usize = self.waiting.iter().map(|it| it.ops.len()).sum();
        let bytes = usize::try_from(planned.bytes).unwrap_or(usize::MAX);
        if ops + planned.ops.len() > COMMIT_OPS
            || self.waiting_bytes.saturating_add(bytes) > COMMIT_BYTES
        {
            self.flush(report).await?;
        }
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
        self.waiting.push(planned);
        Ok(())
    }

    /// One commit; where that is refused, one for each checkpoint, so that one row fails alone.
    async fn flush(&mut self, report: &mut Report) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let ops: Vec<Op> = waiting.iter().flat_map(|it| it.ops.iter().cloned()).collect();
        let together = match self.commit(ops).await {
            Err(error) if error.is_retryable() => return Err(error),
            other => other.is_ok(),
        };
        for planned in waiting {
            let done = if together { Ok(()) } else { self.commit(planned.ops).await };
            match done {
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => self.fail(&planned.at, error, report),
                Ok(()) => {
                    self.wrote = true;
                    report.checkpoints.imported += u64::from(planned.is_new);
                    report.writes.imported += planned.writes;
                    report.bytes += planned.bytes;
                    self.expected.extend(planned.stamp.map(|stamp| (planned.at, stamp)));
                }
            }
        }
        Ok(())
    }

    async fn commit(&self, ops: Vec<Op>) -> Result<()> {
        if self.target.dry_run || ops.is_empty() {
            return Ok(());
        }
        let per_commit = usize::try_from(LIMITS.ops_per_commit_max).unwrap_or(1);
        // More than one only for a checkpoint with very many tasks: its writes are first, so it appears with them all.
        for ops in ops.chunks(per_commit) {
            let commit = Commit {
                thread_id: ThreadId::new(self.thread)?,
                generation: None,
                fence: None,
                writer: Writer::new("import")?,
                ops: ops.to_vec(),
                full: None,
            };
            let Target { checkpoints, caller, .. } = self.target;
            checkpoints.commit(caller, commit, self.target.deadline()).await?;
        }
        Ok(())
    }

    /// Reads what was written, and holds it against the source.
    async fn verify(&mut self, report: &mut Report) -> Result<()> {
        if self.expected.is_empty() || self.target.dry_run {
            return Ok(());
        }
        let there = self.read_back().await?;
        for (at, stamp) in std::mem::take(&mut self.expected) {
            let same = there
                .get(&at)
                .is_some_and(|it| it.state == stamp.state && it.has_writes_of(&stamp));
            if !same {
                let detail = "what was read back is not what the source has";
                self.fail(&at, Error::Integrity(detail.into()), report);
            }
        }
        Ok(())
    }

    async fn read_back(&self) -> Result<HashMap<At, Stamp>> {
        let mut query = ListQuery {
            thread_id: Some(ThreadId::new(self.thread)?),
            limit: usize::try_from(LIMITS.list_rows_max).unwrap_or(1),
            values: true,
            ..ListQuery::default()
        };
        let mut found = HashMap::new();
        loop {
            let Target { checkpoints, caller, .. } = self.target;
            let page = checkpoints.list(caller, query.clone()).await?;
            found.extend(
                page.views.iter().map(|it| ((it.ns.clone(), it.id.clone()), Stamp::of_view(it))),
            );
            query.after = page.next;
            if query.after.is_none() {
                return Ok(found);
            }
        }
    }

    fn fail(&mut self, (ns, id): &At, error: Error, report: &mut Report) {
        self.failed = true;
        report.checkpoints.failed += 1;
        let place = format!("thread {:?}, namespace {ns:?}, checkpoint {id:?}", self.thread);
        report.fail(place, error);
    }
}

impl Planned {
    fn of_writes(at: At, writes: &[Write]) -> Result<Self> {
        let mut groups: Vec<WriteGroup> = Vec::new();
        let mut bytes = 0;
        for write in writes {
            bytes += write.value.data.len() as u64;
            let (task_id, task_path) =
                (TaskId::new(&write.task_id)?, TaskPath::new(&write.task_path)?);
            let entry = NewWrite {
                idx: write.idx,
                channel: ChannelName::new(&write.channel)?,
                value: Value::new(Tag::new(&write.value.tag)?, write.value.data.clone()),
            };
            match groups.last_mut().filter(|it| it.task_id == task_id && it.task_path == task_path)
            {
                Some(group) => group.writes.push(entry),
                None => groups.push(WriteGroup {
                    ns: CheckpointNs::new(&at.0)?,
                    checkpoint_id: CheckpointId::new(&at.1)?,
                    task_id,
                    task_path,
                    seq: 0,
                    writes: vec![entry],
                }),
            }
        }
        let ops = groups.into_iter().map(Op::Writes).collect();
        let writes = writes.len() as u64;
        Ok(Self { at, ops, stamp: None, is_new: false, writes, bytes })
    }

    /// Behind its writes.
    fn put(&mut self, name: &StepName, checkpoint: &Checkpoint, new: Vec<Channel>) -> Result<()> {
        let mut values = Vec::with_capacity(new.len());
        for channel in new {
            let value = match channel.value {
                ChannelValue::Value(it) => Value::new(Tag::new(it.tag)?, it.data),
                _ => Value::new(Tag::new(EMPTY)?, bytes::Bytes::new()),
            };
            self.bytes += value.data.len() as u64;
            let (channel, version) = (ChannelName::new(channel.name)?, channel.version.into());
            values.push(NewValue { channel, version, value });
        }
        self.bytes += (checkpoint.skeleton.len() + checkpoint.metadata.len()) as u64;
        self.is_new = true;
        self.ops.push(Op::Checkpoint(CheckpointPut {
            ns: CheckpointNs::new(&self.at.0)?,
            id: CheckpointId::new(&self.at.1)?,
            parent: name.parent.as_ref().map(CheckpointId::new).transpose()?,
            skeleton: checkpoint.skeleton.clone(),
            metadata: checkpoint.metadata.clone(),
            values,
            carried: Vec::new(),
        }));
        Ok(())
    }
}

/// Channels that show something else than the parent does: what a put calls new versions.
fn new_channels(checkpoint: &Checkpoint, shown: &Shown, parent: Option<&Shown>) -> Vec<Channel> {
    let is_new = |channel: &&Channel| {
        let (now, before) = (&shown[&channel.name], parent.and_then(|it| it.get(&channel.name)));
        before.is_none_or(|it| it.version != now.version || it.digest != now.digest)
    };
    checkpoint.channels.iter().filter(is_new).cloned().collect()
}

/// Ids are times, so mostly this changes nothing.
fn parents_first(names: Vec<StepName>) -> Vec<StepName> {
    let places: HashMap<At, usize> =
        names.iter().enumerate().map(|(at, it)| ((it.ns.clone(), it.id.clone()), at)).collect();
    let parent_of = |it: &StepName| places.get(&(it.ns.clone(), it.parent.clone()?)).copied();
    let (mut order, mut seen) = (Vec::with_capacity(names.len()), HashSet::new());
    for start in 0..names.len() {
        let (mut chain, mut at) = (Vec::new(), Some(start));
        // What was seen ends the walk, also a chain that ends in itself.
        while let Some(place) = at.filter(|it| seen.insert(*it)) {
            chain.push(place);
            at = parent_of(&names[place]);
        }
        order.extend(chain.into_iter().rev());
    }
    order.into_iter().map(|at| names[at].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str, parent: Option<&str>) -> StepName {
        StepName { ns: "".into(), id: id.into(), parent: parent.map(Into::into), exists: true }
    }

    #[test]
    fn parents_go_first_whatever_their_ids_are() {
        let names = vec![
            name("a", Some("c")),
            name("b", None),
            name("c", Some("b")),
            name("d", Some("gone")),
        ];
        let order: Vec<_> = parents_first(names).into_iter().map(|it| it.id).collect();
        assert_eq!(order, ["b", "c", "a", "d"]);
    }

    #[test]
    fn a_chain_that_ends_in_itself_ends() {
        let names = vec![name("a", Some("b")), name("b", Some("a"))];
        assert_eq!(parents_first(names).len(), 2);
    }
}
