//! Builds commits for tests in short form.

use bytes::Bytes;
use threadkeep::domain::checkpoints::checkpoint::{
    CheckpointPut, EMPTY, NewValue, NewWrite, Op, Value, WriteGroup,
};
use threadkeep::domain::names::{Channel, CheckpointId, CheckpointNs, TaskId, TaskPath};

use crate::harness::value;

/// A checkpoint to be put, with a skeleton made of its versions.
#[derive(Clone)]
pub struct Put {
    id: String,
    ns: String,
    parent: Option<String>,
    format: u32,
    metadata: String,
    skeleton: Option<String>,
    versions: Vec<(String, String)>,
    values: Vec<NewValue>,
    carried: Vec<NewValue>,
}

impl Put {
    pub fn new(id: &str) -> Self {
        Self {
            id: id.into(),
            ns: String::new(),
            parent: None,
            format: 4,
            metadata: "{}".into(),
            skeleton: None,
            versions: Vec::new(),
            values: Vec::new(),
            carried: Vec::new(),
        }
    }

    pub fn ns(mut self, ns: &str) -> Self {
        self.ns = ns.into();
        self
    }

    pub fn parent(mut self, parent: &str) -> Self {
        self.parent = Some(parent.into());
        self
    }

    pub fn format(mut self, format: u32) -> Self {
        self.format = format;
        self
    }

    pub fn metadata(mut self, metadata: &str) -> Self {
        self.metadata = metadata.into();
        self
    }

    pub fn skeleton(mut self, skeleton: &str) -> Self {
        self.skeleton = Some(skeleton.into());
        self
    }

    /// A channel of `channel_versions` that is not in `new_versions`; version is JSON.
    pub fn carries(mut self, channel: &str, version: &str) -> Self {
        self.versions.push((channel.into(), version.into()));
        self
    }

    /// A channel of both, with a value.
    pub fn sets(self, channel: &str, version: &str, data: &str) -> Self {
        self.sets_value(channel, version, value("msgpack", data.to_owned()))
    }

    /// A channel of both, without a value.
    pub fn empties(self, channel: &str, version: &str) -> Self {
        self.sets_value(channel, version, value(EMPTY, ""))
    }

    pub fn sets_value(self, channel: &str, version: &str, value: Value) -> Self {
        self.unlisted(channel, version, value).carries(channel, version)
    }

    /// A new value that `channel_versions` does not list.
    pub fn unlisted(mut self, channel: &str, version: &str, value: Value) -> Self {
        self.values.push(new_value(channel, version, value));
        self
    }

    /// What the client holds of a channel it carries over.
    pub fn holds(self, channel: &str, version: &str, data: &str) -> Self {
        self.holds_value(channel, version, value("msgpack", data.to_owned()))
    }

    pub fn holds_value(mut self, channel: &str, version: &str, value: Value) -> Self {
        self.carried.push(new_value(channel, version, value));
        self
    }

    pub fn op(self) -> Op {
        let made = || {
            let quoted = |text: &str| serde_json::json!(text).to_string();
            let version = |(it, version): &(String, String)| format!("{}:{version}", quoted(it));
            let versions: Vec<String> = self.versions.iter().map(version).collect();
            let (format, id, versions) = (self.format, quoted(&self.id), versions.join(","));
            format!(r#"{{"v":{format},"id":{id},"channel_versions":{{{versions}}}}}"#)
        };
        let skeleton = self.skeleton.clone().unwrap_or_else(made);
        Op::Checkpoint(CheckpointPut {
            ns: CheckpointNs::new(self.ns).unwrap(),
            id: CheckpointId::new(self.id).unwrap(),
            parent: self.parent.map(|it| CheckpointId::new(it).unwrap()),
            skeleton: Bytes::from(skeleton),
            metadata: Bytes::from(self.metadata),
            values: self.values,
            carried: self.carried,
        })
    }
}

fn new_value(channel: &str, version: &str, value: Value) -> NewValue {
    NewValue {
        channel: Channel::new(channel).unwrap(),
        version: Bytes::copy_from_slice(version.as_bytes()),
        value,
    }
}

/// Writes of one task on one checkpoint.
#[derive(Clone)]
pub struct Writes {
    group: WriteGroup,
}

impl Writes {
    pub fn new(checkpoint: &str, task: &str) -> Self {
        Self {
            group: WriteGroup {
                ns: CheckpointNs::new("").unwrap(),
                checkpoint_id: CheckpointId::new(checkpoint).unwrap(),
                task_id: TaskId::new(task).unwrap(),
                task_path: TaskPath::new("").unwrap(),
                seq: 0,
                writes: Vec::new(),
            },
        }
    }

    pub fn ns(mut self, ns: &str) -> Self {
        self.group.ns = CheckpointNs::new(ns).unwrap();
        self
    }

    pub fn path(mut self, path: &str) -> Self {
        self.group.task_path = TaskPath::new(path).unwrap();
        self
    }

    pub fn seq(mut self, seq: i64) -> Self {
        self.group.seq = seq;
        self
    }

    pub fn write(self, idx: i32, channel: &str, data: &str) -> Self {
        self.write_value(idx, channel, value("msgpack", data.to_owned()))
    }

    pub fn write_value(mut self, idx: i32, channel: &str, value: Value) -> Self {
        self.group.writes.push(NewWrite { idx, channel: Channel::new(channel).unwrap(), value });
        self
    }

    pub fn op(self) -> Op {
        Op::Writes(self.group)
    }
}
