//! Serves `POST /v1/checkpoints/commit`: stores checkpoints and writes of one thread, in order, all or nothing.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::difference::DataIn;
use super::expand::{self, Draft, Expanded, Reader};
use crate::app::App;
use crate::domain::checkpoints::checkpoint::{
    CheckpointPut, Commit, EMPTY, NewValue, NewWrite, Op, Value, WriteGroup,
};
use crate::domain::limits::LIMITS;
use crate::domain::names::{
    self, Channel, CheckpointId, CheckpointNs, Tag, TaskId, TaskPath, ThreadId, Writer,
};
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};

/// Write checkpoints and writes to a thread
///
/// Applied in the order given, one transaction, durable when answered. The thread is created by its first
/// commit. The same request may be sent again: same answer, no duplicate.
#[utoipa::path(
    post, path = "/v1/checkpoints/commit", operation_id = "commit_checkpoints", tag = "checkpoints",
    request_body(content = CommitBody, example = json!({
        "thread_id": "t-1", "writer": "3f0c9a", "ops": [{"checkpoint": {
            "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            "skeleton": {"v": 4, "id": "1ef4f797-8335-6428-8001-8a1503f9b875", "channel_versions": {"messages": "1"}},
            "metadata": {"source": "loop", "step": 1},
            "values": [{"channel": "messages", "version": "1", "tag": "msgpack", "data": "kaVoZWxsbw=="}]
        }}, {"writes": {
            "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875", "task_id": "a5c1", "seq": 1,
            "writes": [{"idx": 0, "channel": "messages", "tag": "msgpack", "data": "pWhlbGxv"}]
        }}]
    })),
    responses(
        (status = 200, description = "Durable", body = Committed, example = json!({"generation": "9f2b7c"})),
        (status = 413, description = "`quota_exceeded`"),
        (status = 409, description = "`thread_restored`, `thread_taken`, `lease_held`, `fence_stale`, `resend_whole` or `parts_missing`"),
    ),
)]
pub async fn commit(State(app): State<Arc<App>>, call: Call<Draft>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    // First: who may not write here learns nothing of what is remembered of the thread.
    app.checkpoints.require_commit(&caller, &input.commit)?;
    let Expanded { commit, held: _held } = input.expand(&app, &caller).await?;
    let values = app.values.of(&caller, &commit.thread_id);
    // Hashed while the commit waits for its batch; remembered when it is durable.
    let kept = expand::named(&caller.tenant, expand::kept(&commit));
    let (done, kept) = tokio::join!(app.checkpoints.commit(&caller, commit, deadline), kept);
    let done = done?;
    kept?.into_iter().for_each(|(digest, data)| values.keep_committed(digest, data));
    reply.with(&Committed { generation: done.generation }).await
}

#[derive(Serialize, ToSchema)]
pub struct Committed {
    /// Of the thread; send it with the next commit.
    generation: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Commit)]
pub struct CommitBody<'a> {
    thread_id: Text,
    /// What was last read of the thread; absent before the first read.
    generation: Option<Text>,
    /// Needed while the thread's lease is held.
    fence: Option<i64>,
    /// Random per saver object.
    writer: Option<Text>,
    /// 1-256, applied in order.
    #[serde(borrow)]
    ops: Vec<OpBody<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CommitOp)]
pub enum OpBody<'a> {
    #[serde(borrow)]
    Checkpoint(Box<CheckpointBody<'a>>),
    #[serde(borrow)]
    Writes(WritesBody<'a>),
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Checkpoint)]
pub struct CheckpointBody<'a> {
    /// Empty for the root graph.
    checkpoint_ns: Option<Text>,
    checkpoint_id: Text,
    parent_checkpoint_id: Option<Text>,
    /// The checkpoint without `channel_values`: an object.
    #[serde(borrow)]
    skeleton: Exact<'a>,
    /// An object.
    #[serde(borrow)]
    metadata: Exact<'a>,
    /// One per channel of `new_versions`.
    #[serde(borrow)]
    values: Vec<ValueBody<'a>>,
    /// For forks: values the client holds of channels that are not in `new_versions`.
    #[serde(borrow)]
    carried: Option<Vec<ValueBody<'a>>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewValue)]
pub struct ValueBody<'a> {
    channel: Text,
    /// A JSON scalar.
    #[serde(borrow)]
    version: Exact<'a>,
    /// Codec; `empty` for a channel without a value.
    tag: Text,
    /// Absent for the tag `empty`.
    #[serde(borrow)]
    data: Option<DataIn<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Writes)]
pub struct WritesBody<'a> {
    /// Empty for the root graph.
    checkpoint_ns: Option<Text>,
    /// Need not exist yet.
    checkpoint_id: Text,
    task_id: Text,
    task_path: Option<Text>,
    /// Call number of the writer, from 0.
    seq: Option<i64>,
    #[serde(borrow)]
    writes: Vec<WriteBody<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewWrite)]
pub struct WriteBody<'a> {
    /// 0 and more: the first wins; negative: replaces.
    idx: i32,
    channel: Text,
    tag: Text,
    #[serde(borrow)]
    data: Option<DataIn<'a>>,
}

impl Input for Draft {
    type Wire<'a> = CommitBody<'a>;

    fn from_wire(wire: CommitBody<'_>, received: &Received) -> Result<Self> {
        let mut reader = Reader::new(received);
        let ops = wire.ops.into_iter().map(|op| op.into_domain(&mut reader));
        let commit = Commit {
            ops: ops.collect::<Result<_>>()?,
            thread_id: ThreadId::new(wire.thread_id.0)?,
            generation: wire.generation.map(generation).transpose()?,
            fence: wire.fence,
            writer: Writer::new(or_empty(wire.writer))?,
            full: None,
        };
        Ok(Self { commit, open: reader.open })
    }
}

impl OpBody<'_> {
    fn into_domain(self, reader: &mut Reader<'_>) -> Result<Op> {
        match self {
            Self::Checkpoint(put) => put.into_domain(reader).map(Op::Checkpoint),
            Self::Writes(group) => group.into_domain(reader).map(Op::Writes),
        }
    }
}

impl CheckpointBody<'_> {
    fn into_domain(self, reader: &mut Reader<'_>) -> Result<CheckpointPut> {
        let body = &reader.received.body;
        let mut values = |all: Vec<ValueBody<'_>>| -> Result<Vec<NewValue>> {
            all.into_iter().map(|it| it.into_domain(reader)).collect()
        };
        Ok(CheckpointPut {
            ns: CheckpointNs::new(or_empty(self.checkpoint_ns))?,
            id: CheckpointId::new(self.checkpoint_id.0)?,
            parent: self.parent_checkpoint_id.map(|it| parent(it.0)).transpose()?,
            skeleton: self.skeleton.part_of(body),
            metadata: self.metadata.part_of(body),
            values: values(self.values)?,
            carried: values(self.carried.unwrap_or_default())?,
        })
    }
}

impl ValueBody<'_> {
    fn into_domain(self, reader: &mut Reader<'_>) -> Result<NewValue> {
        Ok(NewValue {
            channel: Channel::new(self.channel.0)?,
            version: self.version.part_of(&reader.received.body),
            value: value("values.data", self.tag, self.data, reader)?,
        })
    }
}

impl WritesBody<'_> {
    fn into_domain(self, reader: &mut Reader<'_>) -> Result<WriteGroup> {
        let writes = self.writes.into_iter().map(|write| {
            Ok(NewWrite {
                idx: write.idx,
                channel: Channel::new(write.channel.0)?,
                value: value("writes.data", write.tag, write.data, reader)?,
            })
        });
        Ok(WriteGroup {
            writes: writes.collect::<Result<_>>()?,
            ns: CheckpointNs::new(or_empty(self.checkpoint_ns))?,
            checkpoint_id: CheckpointId::new(self.checkpoint_id.0)?,
            task_id: TaskId::new(self.task_id.0)?,
            task_path: TaskPath::new(or_empty(self.task_path))?,
            seq: self.seq.unwrap_or(0),
        })
    }
}

/// Only `empty` goes without data: a client that forgets the data of another tag must hear of it.
fn value(
    field: &'static str,
    tag: Text,
    data: Option<DataIn<'_>>,
    reader: &mut Reader<'_>,
) -> Result<Value> {
    let (data, in_parts) = match data {
        Some(data) => reader.data(field, data)?,
        None if tag.0 == EMPTY => (reader.skip(), None),
        None => return Err(Error::invalid(field, format!("{field} is missing"))),
    };
    Ok(Value { tag: Tag::new(tag.0)?, data, in_parts })
}

/// Generations are compared with ours, so any text of their length is legal.
pub fn generation(text: Text) -> Result<String> {
    names::check("generation", &text.0, LIMITS.writer_bytes_max, true)?;
    Ok(text.0)
}

fn parent(text: String) -> Result<CheckpointId> {
    names::check("parent_checkpoint_id", &text, LIMITS.checkpoint_id_bytes_max, false)?;
    CheckpointId::new(text)
}

pub fn or_empty(text: Option<Text>) -> String {
    text.map(|it| it.0).unwrap_or_default()
}
