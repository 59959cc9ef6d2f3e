//! Converts threads of the domain to records of a file, and back.

use bytes::Bytes;
use serde_bytes::ByteBuf;

use super::records::{
    BaseOf, BaseWrite, Checkpoint, DetailsOf, Head, Record, Tagged, ValueOf, WriteOf,
};
use super::values::{Packer, Unpacker};
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::checkpoints::history::Base;
use crate::domain::export::records::{
    ThreadBase, ThreadCheckpoint, ThreadHead, ThreadRecord, ThreadValue, ThreadWrite,
};
use crate::domain::names::Tag;
use crate::domain::threads::details::Details;

impl From<ThreadHead> for Head {
    fn from(head: ThreadHead) -> Self {
        let ThreadHead { thread_id, generation, fence, owner, .. } = head;
        let ThreadHead {
            created_at,
            updated_at,
            last_step,
            graph_id,
            assistant_id,
            user_id,
            details,
            ..
        } = head;
        // What is derived from each checkpoint is derived again.
        let details = Details { from_checkpoints: None, short_values: None, ..details };
        let is_default = details == Details::default();
        let Details { version, title, metadata, ttl, first_message, .. } = details;
        let details = DetailsOf { version, title, metadata, first_message, ttl };
        Self {
            thread_id,
            generation,
            fence,
            owner,
            created_at,
            updated_at,
            last_step,
            graph_id,
            assistant_id,
            user_id,
            details: (!is_default).then_some(details),
        }
    }
}

impl From<Head> for ThreadHead {
    fn from(head: Head) -> Self {
        Self {
            thread_id: head.thread_id,
            generation: head.generation,
            fence: head.fence,
            owner: head.owner,
            created_at: head.created_at,
            updated_at: head.updated_at,
            last_step: head.last_step,
            graph_id: head.graph_id,
            assistant_id: head.assistant_id,
            user_id: head.user_id,
            details: head.details.map_or_else(Details::default, |it| Details {
                version: it.version,
                title: it.title,
                metadata: it.metadata,
                first_message: it.first_message,
                ttl: it.ttl,
                from_checkpoints: None,
                short_values: None,
            }),
        }
    }
}

fn pack(packer: &mut Packer, value: &Value) -> Tagged {
    Tagged { tag: value.tag.as_str().to_owned(), data: packer.pack(&value.data) }
}

fn unpack(unpacker: &mut Unpacker, tagged: Tagged) -> Option<Value> {
    let tag = Tag::new(tagged.tag).ok()?;
    Some(Value::new(tag, unpacker.unpack(tagged.data)?))
}

/// The records of the file that one of a thread becomes.
pub fn of_thread(packer: &mut Packer, record: ThreadRecord) -> Vec<Record> {
    match record {
        ThreadRecord::Value(it) => {
            let value = pack(packer, &it.value);
            let ThreadValue { ns, channel, version, .. } = it;
            vec![Record::Value(ValueOf { ns, channel, version, value })]
        }
        ThreadRecord::Checkpoint(it) => {
            let ThreadCheckpoint { ns, id, parent, skeleton, metadata, values, created_at } = it;
            let (skeleton, metadata) =
                (ByteBuf::from(skeleton.to_vec()), ByteBuf::from(metadata.to_vec()));
            vec![Record::Checkpoint(Checkpoint {
                ns,
                id,
                parent,
                skeleton,
                metadata,
                values,
                created_at,
            })]
        }
        ThreadRecord::Base(ThreadBase { ns, checkpoint_id, base }) => {
            let seed = base.seed.as_ref().map(|it| pack(packer, it));
            let channel = base.channel;
            let mut records = vec![Record::Base(BaseOf { ns, checkpoint_id, channel, seed })];
            for (task_id, value) in base.writes {
                let value = pack(packer, &value);
                records.push(Record::BaseWrite(BaseWrite { task_id, value }));
            }
            records
        }
        ThreadRecord::Write(it) => {
            let value = pack(packer, &it.value);
            let ThreadWrite { ns, checkpoint_id, task_id, task_path, idx, channel, writer, .. } =
                it;
            vec![Record::Write(WriteOf {
                ns,
                checkpoint_id,
                task_id,
                task_path,
                idx,
                channel,
                writer,
                value,
            })]
        }
    }
}

/// What a record of the file says of a thread. None: it is not of one, or its bytes make no value.
pub fn to_thread(unpacker: &mut Unpacker, record: Record) -> Option<ThreadRecord> {
    Some(match record {
        Record::Value(it) => ThreadRecord::Value(ThreadValue {
            ns: it.ns,
            channel: it.channel,
            version: it.version,
            value: unpack(unpacker, it.value)?,
        }),
        Record::Checkpoint(it) => ThreadRecord::Checkpoint(ThreadCheckpoint {
            ns: it.ns,
            id: it.id,
            parent: it.parent,
            skeleton: Bytes::from(it.skeleton.into_vec()),
            metadata: Bytes::from(it.metadata.into_vec()),
            values: it.values,
            created_at: it.created_at,
        }),
        Record::Base(it) => {
            let seed = match it.seed {
                Some(seed) => Some(unpack(unpacker, seed)?),
                None => None,
            };
            let base = Base { channel: it.channel, seed, writes: Vec::new() };
            ThreadRecord::Base(ThreadBase { ns: it.ns, checkpoint_id: it.checkpoint_id, base })
        }
        Record::Write(it) => ThreadRecord::Write(ThreadWrite {
            ns: it.ns,
            checkpoint_id: it.checkpoint_id,
            task_id: it.task_id,
            task_path: it.task_path,
            idx: it.idx,
            channel: it.channel,
            writer: it.writer,
            value: unpack(unpacker, it.value)?,
        }),
        _ => return None,
    })
}

/// A write of a base: task and value.
pub fn to_base_write(unpacker: &mut Unpacker, it: BaseWrite) -> Option<(String, Value)> {
    Some((it.task_id, unpack(unpacker, it.value)?))
}
