//! Checkpoints and their histories as answers show them. The domain's values are moved in, never copied.

use serde::Serialize;
use utoipa::ToSchema;

use super::exact::{Data, DataOut, Exact, ExactOut};
use crate::domain::checkpoint::{Value, View};
use crate::domain::history::{Base, Chain, Node};

#[derive(Serialize, ToSchema)]
#[schema(as = View)]
pub struct ViewOut {
    thread_id: String,
    checkpoint_ns: String,
    checkpoint_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_checkpoint_id: Option<String>,
    #[schema(value_type = Exact)]
    skeleton: ExactOut,
    #[schema(value_type = Exact)]
    metadata: ExactOut,
    /// In channel order (bytes).
    values: Vec<ChannelValue>,
    /// In (`task_path`, `task_id`, `idx`) order (bytes).
    writes: Vec<TaskWrite>,
    /// The parent's `__pregel_tasks` writes when the skeleton's `v` is below 4.
    pending_sends: Vec<ValueOut>,
    bases: Vec<BaseOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Value)]
pub struct ValueOut {
    tag: String,
    #[schema(value_type = Data)]
    data: DataOut,
}

#[derive(Serialize, ToSchema)]
pub struct ChannelValue {
    channel: String,
    tag: String,
    #[schema(value_type = Data)]
    data: DataOut,
}

#[derive(Serialize, ToSchema)]
pub struct TaskWrite {
    task_id: String,
    channel: String,
    tag: String,
    #[schema(value_type = Data)]
    data: DataOut,
}

/// What replaces the removed ancestors of a checkpoint for one channel.
#[derive(Serialize, ToSchema)]
#[schema(as = Base)]
pub struct BaseOut {
    channel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<ValueOut>,
    /// Oldest first.
    writes: Vec<BaseWrite>,
}

#[derive(Serialize, ToSchema)]
pub struct BaseWrite {
    task_id: String,
    tag: String,
    #[schema(value_type = Data)]
    data: DataOut,
}

/// One ancestor on the walk that rebuilds delta channels.
#[derive(Serialize, ToSchema)]
#[schema(as = Node)]
pub struct NodeOut {
    /// In lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_ns: Option<String>,
    checkpoint_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_checkpoint_id: Option<String>,
    seeds: Vec<ChannelValue>,
    writes: Vec<TaskWrite>,
    bases: Vec<BaseOut>,
}

impl From<View> for ViewOut {
    fn from(view: View) -> Self {
        let write = |it: crate::domain::checkpoint::PendingWrite| {
            task_write((it.channel, it.task_id, it.value))
        };
        Self {
            thread_id: view.thread_id,
            checkpoint_ns: view.ns,
            checkpoint_id: view.id,
            parent_checkpoint_id: view.parent,
            skeleton: ExactOut(view.skeleton),
            metadata: ExactOut(view.metadata),
            values: view.values.into_iter().map(channel_value).collect(),
            writes: view.writes.into_iter().map(write).collect(),
            pending_sends: view.pending_sends.into_iter().map(ValueOut::from).collect(),
            bases: bases(view.bases),
        }
    }
}

impl From<Value> for ValueOut {
    fn from(value: Value) -> Self {
        Self { tag: value.tag.into_string(), data: DataOut(value.data) }
    }
}

/// The chain of one target: every node is in the target's namespace.
pub fn chain(chain: Chain) -> Vec<NodeOut> {
    chain.nodes.into_iter().map(|it| NodeOut { checkpoint_ns: None, ..node(it) }).collect()
}

/// The chain that the checkpoints of a page share.
pub fn shared_chain(chain: Chain) -> Vec<NodeOut> {
    chain.nodes.into_iter().map(node).collect()
}

pub fn bases(bases: Vec<Base>) -> Vec<BaseOut> {
    let base = |base: Base| BaseOut {
        channel: base.channel,
        seed: base.seed.map(ValueOut::from),
        writes: base.writes.into_iter().map(base_write).collect(),
    };
    bases.into_iter().map(base).collect()
}

fn node(node: Node) -> NodeOut {
    NodeOut {
        checkpoint_ns: Some(node.ns),
        checkpoint_id: node.id,
        parent_checkpoint_id: node.parent,
        seeds: node.seeds.into_iter().map(channel_value).collect(),
        writes: node.writes.into_iter().map(task_write).collect(),
        bases: bases(node.bases),
    }
}

fn channel_value((channel, value): (String, Value)) -> ChannelValue {
    ChannelValue { channel, tag: value.tag.into_string(), data: DataOut(value.data) }
}

fn task_write((channel, task_id, value): (String, String, Value)) -> TaskWrite {
    TaskWrite { task_id, channel, tag: value.tag.into_string(), data: DataOut(value.data) }
}

fn base_write((task_id, value): (String, Value)) -> BaseWrite {
    BaseWrite { task_id, tag: value.tag.into_string(), data: DataOut(value.data) }
}
