//! Checks that any checkpoint has a state: no panic, the same status whatever the order of a task's writes, and no task left where it is idle.
//! A copy has the state of its original, and a cleared checkpoint has no next task.
//!
//! Input: bytes that each decide one thing of a checkpoint, so that most of them make one as graphs do; none left is 0.

use bytes::Bytes;
use serde_json::{Map, Value as Expected, json};
use threadkeep::decode::Budget;
use threadkeep::decode::run_state::READ_STATE;
use threadkeep::decode::state::{State, state};
use threadkeep::decode::state_update::{Change, Stored, plan};
use threadkeep::domain::checkpoints::checkpoint::{
    CheckpointPut, EMPTY, NewValue, Op, PendingWrite, Value, View, WriteCall,
};
use threadkeep::domain::checkpoints::storage::CheckpointTuple;
use threadkeep::domain::names::{Tag, ThreadId};
use threadkeep::domain::threads::run_state::RunState;

const ID: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
const NULL_TASK: &str = "00000000-0000-0000-0000-000000000000";
const CHANNELS: [&str; 8] = [
    "branch:to:a",
    "branch:to:b",
    "join:a+b:c",
    "__pregel_tasks",
    "__start__",
    "messages",
    "x",
    "y",
];
const NODES: [&str; 4] = ["a", "b", "__input__", "__interrupt__"];
const SOURCES: [&str; 4] = ["loop", "input", "update", "fork"];
const WRITTEN: [&str; 8] = [
    "__interrupt__",
    "__error__",
    "__resume__",
    "__error_source_node__",
    "__no_writes__",
    "branch:to:b",
    "messages",
    "__pregel_tasks",
];
const WRITES_MAX: u8 = 6;
const MEMORY_BYTES_MAX: u64 = 1 << 20;

pub fn check(data: &[u8]) {
    let found = Input(data).checkpoint();
    let status = (READ_STATE.state)(&found);
    let mut view = found.view.clone().unwrap();
    view.writes.reverse();
    view.writes.sort_by(|a, b| a.task_id.cmp(&b.task_id));
    let turned = CheckpointTuple { view: Some(view), ..CheckpointTuple::default() };
    assert_eq!((READ_STATE.state)(&turned), status, "writes of a task in another order");
    (READ_STATE.first_message)(&found);
    let (live, pinned) = (shown(&found, true), shown(&found, false));
    let (Some(live), Some(pinned)) = (live, pinned) else { return };
    serde_json::to_vec(&live.values).unwrap();
    if status == RunState::Idle {
        assert_eq!(live.next, [""; 0], "it is idle");
    }
    let changed = |change: &Change| changed(&found, change);
    if let Some(copy) = changed(&Change::Copy) {
        let copied = shown(&copy, false).unwrap();
        assert_eq!((copied.next, &copied.values), (pinned.next, &pinned.values), "it is a copy");
    }
    if let Some(cleared) = changed(&Change::Clear) {
        assert_eq!((READ_STATE.state)(&cleared), RunState::Idle, "it was cleared");
        assert_eq!(shown(&cleared, true).unwrap().next, [""; 0], "it was cleared");
    }
}

/// Whether it is a checkpoint with tasks.
pub fn has_tasks(data: &[u8]) -> bool {
    shown(&Input(data).checkpoint(), false).is_some_and(|it| !it.tasks.is_empty())
}

fn shown(found: &CheckpointTuple, is_live: bool) -> Option<State> {
    state(found, is_live, &mut Budget::new(MEMORY_BYTES_MAX)).ok().flatten()
}

/// The checkpoint that an update makes, as a read finds it. None: the update is refused.
fn changed(base: &CheckpointTuple, change: &Change) -> Option<CheckpointTuple> {
    let stored =
        Stored { base, step: None, before: None, newest_id: ID, now: 1_700_000_000_000_000 };
    let planned = plan(&ThreadId::new("t").unwrap(), &stored, change).ok()?;
    let puts = planned.commit.ops.into_iter().filter_map(|it| match it {
        Op::Checkpoint(put) => Some(put),
        Op::Writes(_) => None,
    });
    puts.last().map(|put| stored_as(base.view.as_ref().unwrap(), put))
}

/// Values of channels that the put does not name are those of its base.
fn stored_as(base: &View, put: CheckpointPut) -> CheckpointTuple {
    let is_new = |name: &str| put.values.iter().any(|it| it.channel.as_str() == name);
    let kept = base.values.iter().filter(|(name, _)| !is_new(name)).cloned();
    let named = |it: &NewValue| (it.channel.as_str().to_owned(), it.value.clone());
    let new = put.values.iter().filter(|it| it.value.tag.as_str() != EMPTY).map(named);
    let mut values: Vec<(String, Value)> = kept.chain(new).collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    let view = View {
        id: put.id.to_string(),
        parent: put.parent.as_ref().map(ToString::to_string),
        skeleton: put.skeleton.clone(),
        metadata: put.metadata.clone(),
        values,
        writes: Vec::new(),
        ..base.clone()
    };
    CheckpointTuple { view: Some(view), ..CheckpointTuple::default() }
}

/// The bytes that are left.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    fn one_of<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.below(names.len())]
    }

    fn is(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    fn version(&mut self) -> Expected {
        let number = self.byte() % 5;
        match self.byte() % 16 {
            0..=8 => json!(format!("{number:032}.0.5")),
            9..=12 => json!(number),
            13 => json!(f64::from(number) + 0.5),
            14 => json!(number.to_string()),
            _ => Expected::Null,
        }
    }

    fn versions(&mut self) -> Expected {
        let mut versions = Map::new();
        for channel in CHANNELS {
            if self.is() {
                versions.insert(channel.to_owned(), self.version());
            }
        }
        Expected::Object(versions)
    }

    fn value(&mut self) -> Value {
        let message = json!([{"type": "human", "content": "hi", "id": "1"}]);
        let names = json!(["a", "b"]);
        let send = json!([{"$": "send"}]);
        let data = |value: &Expected| Bytes::from(rmp_serde::to_vec_named(value).unwrap());
        let (tag, data) = match self.byte() % 8 {
            0 => ("null", Bytes::new()),
            1 => ("msgpack", data(&json!(null))),
            2 => ("msgpack", data(&message)),
            3 => ("msgpack", data(&names)),
            4 => ("json", Bytes::from(message.to_string())),
            5 => ("json", Bytes::from(send.to_string())),
            6 => ("msgpack", Bytes::from_static(b"\xc1")),
            _ => ("pickle", Bytes::from_static(b"x")),
        };
        Value::new(Tag::new(tag).unwrap(), data)
    }

    fn checkpoint(mut self) -> CheckpointTuple {
        let mut seen = Map::new();
        for node in NODES {
            if self.is() {
                seen.insert(node.to_owned(), self.versions());
            }
        }
        let versions = self.versions();
        let format = if self.byte() % 16 == 15 { 2 } else { 4 };
        let skeleton =
            json!({"v": format, "id": ID, "channel_versions": versions, "versions_seen": seen});
        let step = i64::from(self.byte() % 4) - 1;
        let metadata = json!({"source": self.one_of(&SOURCES), "step": step, "parents": {}});
        let mut values = Vec::new();
        for channel in CHANNELS {
            if versions.get(channel).is_some() && !self.byte().is_multiple_of(4) {
                values.push((channel.to_owned(), self.value()));
            }
        }
        values.sort_by(|a, b| a.0.cmp(&b.0));
        let view = View {
            id: ID.to_owned(),
            skeleton: Bytes::from(skeleton.to_string()),
            metadata: Bytes::from(metadata.to_string()),
            values,
            ..View::default()
        };
        let mut found = CheckpointTuple { view: Some(view), ..CheckpointTuple::default() };
        // Writes are of the tasks that there are.
        let tasks = shown(&found, false).map(|it| it.tasks).unwrap_or_default();
        let mut ids: Vec<String> = tasks.into_iter().filter_map(|it| it.id).take(8).collect();
        ids.extend([NULL_TASK, "another"].map(str::to_owned));
        let writes = (0..self.byte() % (WRITES_MAX + 1)).map(|_| self.write(&ids));
        let mut writes: Vec<PendingWrite> = writes.collect();
        // A read has them task by task.
        writes.sort_by(|a, b| a.task_id.cmp(&b.task_id));
        found.view.as_mut().unwrap().writes = writes;
        found
    }

    fn write(&mut self, ids: &[String]) -> PendingWrite {
        let task_id = ids[self.below(ids.len())].clone();
        let channel = self.one_of(&WRITTEN).to_owned();
        let value = self.value();
        let (writer, seq) = (self.byte() % 3, i64::from(self.byte() % 4));
        let call = (writer > 0).then(|| WriteCall { writer: writer.to_string(), seq });
        PendingWrite { task_id, channel, value, call }
    }
}
