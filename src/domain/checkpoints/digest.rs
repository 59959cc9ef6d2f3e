//! Names a checkpoint as it was read by a digest of everything that was read, so that a caller can tell whether it is still the same.

use super::checkpoint::{Value, View};
use super::history::Base;
use super::storage::CheckpointTuple;

/// Length and bytes of each part, so that no two lists of parts are alike.
struct Parts(blake3::Hasher);

/// Of the checkpoint with its values, pending writes, bases and the history of its delta channels, and of `also`, which the answer
/// depends on beside them.
pub fn digest(found: &CheckpointTuple, also: &[&str]) -> String {
    let mut parts = Parts(blake3::Hasher::new());
    for text in also {
        parts.add(text.as_bytes());
    }
    if let Some(view) = &found.view {
        parts.view(view);
    }
    for channel in &found.history_channels {
        parts.add(channel.as_bytes());
    }
    parts.add(found.chain.digests().first().map_or(&[][..], |it| &it[..]));
    hex::encode(&parts.0.finalize().as_bytes()[..16])
}

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn count(&mut self, length: usize) {
        self.0.update(&(length as u64).to_le_bytes());
    }

    fn value(&mut self, value: &Value) {
        self.add(value.tag.as_str().as_bytes());
        self.count(value.known_by().count());
        for bytes in value.known_by() {
            self.add(bytes);
        }
    }

    fn view(&mut self, view: &View) {
        let parent = view.parent.as_deref().unwrap_or("\0");
        for text in [&view.thread_id, &view.ns, &view.id, parent] {
            self.add(text.as_bytes());
        }
        self.add(&view.skeleton);
        self.add(&view.metadata);
        self.count(view.values.len());
        for (channel, value) in &view.values {
            self.add(channel.as_bytes());
            self.value(value);
        }
        self.count(view.writes.len());
        for write in &view.writes {
            self.add(write.task_id.as_bytes());
            self.add(write.channel.as_bytes());
            self.value(&write.value);
        }
        self.count(view.pending_sends.len());
        for send in &view.pending_sends {
            self.value(send);
        }
        self.count(view.bases.len());
        for base in &view.bases {
            self.base(base);
        }
    }

    fn base(&mut self, base: &Base) {
        self.add(base.channel.as_bytes());
        self.count(usize::from(base.seed.is_some()));
        if let Some(seed) = &base.seed {
            self.value(seed);
        }
        self.count(base.writes.len());
        for (task_id, value) in &base.writes {
            self.add(task_id.as_bytes());
            self.value(value);
        }
    }
}
