//! Computes digests that compare a checkpoint in the source with the one in the target.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};

use super::rows::Shown;
use super::step::{ChannelValue, Checkpoint, Coded, Write};
use crate::domain::checkpoints::checkpoint::{EMPTY, View};

/// What a checkpoint is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Parent, skeleton, metadata and values.
    pub state: [u8; 32],
    /// How often each write is there.
    pub writes: HashMap<[u8; 32], u32>,
}

impl Stamp {
    /// Of one in the target.
    pub fn of_view(view: &View) -> Self {
        let values = view.values.iter().filter(|(_, value)| value.tag.as_str() != EMPTY);
        let values = values
            .map(|(channel, value)| (channel.as_str(), of_coded(value.tag.as_str(), &value.data)));
        let parent = view.parent.as_deref();
        let state = state(parent, &view.skeleton, &view.metadata, values.collect());
        let mut writes = HashMap::new();
        for write in &view.writes {
            let value = &write.value;
            let name = of_write(&write.task_id, &write.channel, value.tag.as_str(), &value.data);
            *writes.entry(name).or_default() += 1;
        }
        Self { state, writes }
    }

    /// Of one in the source, which shows this.
    pub fn of_step(
        parent: Option<&str>,
        checkpoint: &Checkpoint,
        shown: &Shown,
        writes: &[Write],
    ) -> Self {
        let values = shown.iter().filter_map(|(name, it)| Some((name.as_str(), it.digest?)));
        let state = state(parent, &checkpoint.skeleton, &checkpoint.metadata, values.collect());
        Self { state, writes: count(writes) }
    }

    /// Whether all writes of another are here. More may be: a thread goes on where it was brought.
    pub fn has_writes_of(&self, other: &Self) -> bool {
        let has = |(name, count): (&[u8; 32], &u32)| self.writes.get(name) >= Some(count);
        other.writes.iter().all(has)
    }
}

/// What a checkpoint shows, given what its parent shows.
pub fn shown(checkpoint: &Checkpoint, parent: Option<&Shown>) -> Shown {
    let entry = |channel: &super::step::Channel| {
        let before = parent.and_then(|it| it.get(&channel.name));
        let digest = match &channel.value {
            ChannelValue::Absent => None,
            ChannelValue::Carried => before.and_then(|it| it.digest),
            ChannelValue::Value(Coded { tag, data }) => Some(of_coded(tag, data)),
        };
        let (version, by_version) = (channel.version.clone(), channel.by_version);
        (channel.name.clone(), super::rows::ShownValue { version, digest, by_version })
    };
    checkpoint.channels.iter().map(entry).collect()
}

/// How often each write is there.
pub fn count(writes: &[Write]) -> HashMap<[u8; 32], u32> {
    let mut counts = HashMap::new();
    for write in writes {
        *counts.entry(of_source_write(write)).or_default() += 1;
    }
    counts
}

pub fn of_source_write(write: &Write) -> [u8; 32] {
    of_write(&write.task_id, &write.channel, &write.value.tag, &write.value.data)
}

fn state(
    parent: Option<&str>,
    skeleton: &[u8],
    metadata: &[u8],
    values: BTreeMap<&str, [u8; 32]>,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [parent.unwrap_or_default().as_bytes(), skeleton, metadata] {
        add(&mut hash, part);
    }
    for (channel, digest) in values {
        add(&mut hash, channel.as_bytes());
        add(&mut hash, &digest);
    }
    hash.finalize().into()
}

fn of_write(task_id: &str, channel: &str, tag: &str, data: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [task_id.as_bytes(), channel.as_bytes(), tag.as_bytes(), data] {
        add(&mut hash, part);
    }
    hash.finalize().into()
}

fn of_coded(tag: &str, data: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    add(&mut hash, tag.as_bytes());
    add(&mut hash, data);
    hash.finalize().into()
}

/// With its length, so that no two lists of parts are the same bytes.
fn add(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_be_bytes());
    hash.update(part);
}
