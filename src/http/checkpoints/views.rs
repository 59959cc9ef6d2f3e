//! Converts checkpoints and their histories into their form in answers. The domain's values are moved in, never copied.

use serde::Serialize;
use utoipa::ToSchema;

use super::difference::DataAnswered;
use super::shorten::Shorten;
use crate::domain::checkpoints::checkpoint::{Value, View};
use crate::domain::checkpoints::history::{Base, Chain, Node};
use crate::http::request::exact::{DataOut, Exact, ExactOut};

#[derive(Serialize, ToSchema)]
#[schema(as = CheckpointView)]
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
    data: DataAnswered,
}

#[derive(Serialize, ToSchema)]
pub struct ChannelValue {
    channel: String,
    tag: String,
    data: DataAnswered,
}

#[derive(Serialize, ToSchema)]
pub struct TaskWrite {
    task_id: String,
    channel: String,
    tag: String,
    data: DataAnswered,
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
    data: DataAnswered,
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

/// A checkpoint. `shorten` sees the values in the order of the fields.
pub fn view(view: View, shorten: &mut Shorten) -> ViewOut {
    let values = view.values.into_iter().map(|it| channel_value(it, shorten)).collect();
    let writes = view.writes.into_iter().map(|it| TaskWrite {
        task_id: it.task_id,
        channel: it.channel,
        tag: it.value.tag.as_str().to_owned(),
        data: shorten.value(it.value),
    });
    ViewOut {
        thread_id: view.thread_id,
        checkpoint_ns: view.ns,
        checkpoint_id: view.id,
        parent_checkpoint_id: view.parent,
        skeleton: ExactOut(view.skeleton),
        metadata: ExactOut(view.metadata),
        values,
        writes: writes.collect(),
        pending_sends: view.pending_sends.into_iter().map(|it| value(it, shorten)).collect(),
        bases: bases(view.bases, shorten),
    }
}

/// About how many bytes of values it has.
pub fn size(view: &View) -> usize {
    let values = view.values.iter().map(|(_, value)| value);
    let all = values.chain(view.writes.iter().map(|it| &it.value)).chain(&view.pending_sends);
    all.map(|it| it.data.len()).sum()
}

/// About how many bytes of seeds it has.
pub fn chain_size(chain: &Chain) -> usize {
    let seeds = chain.nodes.iter().flat_map(|it| &it.seeds);
    seeds.map(|(_, value)| value.data.len()).sum()
}

/// The chain of one target: every node is in the target's namespace.
pub fn chain(chain: Chain, shorten: &mut Shorten) -> Vec<NodeOut> {
    let nodes = chain.nodes.into_iter().map(|it| node(it, shorten));
    nodes.map(|it| NodeOut { checkpoint_ns: None, ..it }).collect()
}

/// The chain that the checkpoints of a page share.
pub fn shared_chain(chain: Chain, shorten: &mut Shorten) -> Vec<NodeOut> {
    chain.nodes.into_iter().map(|it| node(it, shorten)).collect()
}

pub fn bases(bases: Vec<Base>, shorten: &mut Shorten) -> Vec<BaseOut> {
    let base = |base: Base| BaseOut {
        channel: base.channel,
        seed: base.seed.map(|it| value(it, shorten)),
        writes: base.writes.into_iter().map(base_write).collect(),
    };
    bases.into_iter().map(base).collect()
}

fn node(node: Node, shorten: &mut Shorten) -> NodeOut {
    NodeOut {
        checkpoint_ns: Some(node.ns),
        checkpoint_id: node.id,
        parent_checkpoint_id: node.parent,
        seeds: node.seeds.into_iter().map(|it| channel_value(it, shorten)).collect(),
        writes: node.writes.into_iter().map(node_write).collect(),
        bases: bases(node.bases, shorten),
    }
}

fn value(value: Value, shorten: &mut Shorten) -> ValueOut {
    ValueOut { tag: value.tag.as_str().to_owned(), data: shorten.value(value) }
}

fn channel_value((channel, value): (String, Value), shorten: &mut Shorten) -> ChannelValue {
    ChannelValue { channel, tag: value.tag.as_str().to_owned(), data: shorten.value(value) }
}

/// Whole: a caller that holds the chain names it as a whole, with `have`.
fn node_write((channel, task_id, value): (String, String, Value)) -> TaskWrite {
    let (tag, data) = whole(value);
    TaskWrite { task_id, channel, tag, data }
}

fn base_write((task_id, value): (String, Value)) -> BaseWrite {
    let (tag, data) = whole(value);
    BaseWrite { task_id, tag, data }
}

fn whole(value: Value) -> (String, DataAnswered) {
    let data = match value.in_parts {
        Some(in_parts) => DataAnswered::in_parts(*in_parts),
        None => DataAnswered::Whole(DataOut(value.data)),
    };
    (value.tag.into_string(), data)
}
