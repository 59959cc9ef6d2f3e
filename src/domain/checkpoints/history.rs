//! Rebuilds channels that store writes instead of values (delta history), by a walk along the parent chain.
//!
//! The storage reads nodes. This module decides which nodes are missing, which equal those that a caller holds, and which base a pruned
//! checkpoint needs. The rules are those of `get_delta_channel_history` of langgraph-checkpoint.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::checkpoint::Value;

/// What replaces the removed ancestors of a checkpoint for one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub channel: String,
    pub seed: Option<Value>,
    /// (task id, value), oldest first.
    pub writes: Vec<(String, Value)>,
}

/// One ancestor on the walk, with what it holds of the channels it was read for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    /// Channels that have a value here: they stop.
    pub seeds: Vec<(String, Value)>,
    /// (channel, task id, value) in (`task_path`, `task_id`, `idx`) order.
    pub writes: Vec<(String, String, Value)>,
    pub bases: Vec<Base>,
    /// Channels this node was read for; a channel that is missing here is unknown, not absent.
    pub read_for: BTreeSet<String>,
}

/// The history of one channel, oldest write first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    pub seed: Option<Value>,
    pub writes: Vec<(String, Value)>,
}

/// Ancestors by id, in the order in which they were read (newest first for one target).
#[derive(Debug, Clone, Default)]
pub struct Chain {
    pub nodes: Vec<Node>,
    index: HashMap<(String, String), usize>,
}

/// Where a walk has to be read from storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub ns: String,
    pub start: String,
    pub channels: Vec<String>,
}

impl Node {
    /// Whether the walk of `channel` ends here.
    pub fn stops(&self, channel: &str) -> bool {
        self.seeds.iter().any(|(name, _)| name == channel)
            || self.bases.iter().any(|base| base.channel == channel)
    }
}

impl Base {
    /// All values in it.
    pub fn all_values(&self) -> impl Iterator<Item = &Value> {
        self.seed.iter().chain(self.writes.iter().map(|(_, it)| it))
    }
}

impl Chain {
    /// All values in it.
    pub fn all_values(&self) -> impl Iterator<Item = &Value> {
        self.nodes.iter().flat_map(|node| {
            let seeds = node.seeds.iter().map(|(_, it)| it);
            let writes = node.writes.iter().map(|(_, _, it)| it);
            seeds.chain(writes).chain(node.bases.iter().flat_map(Base::all_values))
        })
    }

    /// Adds nodes of a walk; what is known of a node already is extended by the channels it was now read for.
    pub fn add(&mut self, walk: Vec<Node>) {
        for node in walk {
            let key = (node.ns.clone(), node.id.clone());
            match self.index.get(&key) {
                Some(&at) => self.nodes[at].extend(node),
                None => {
                    self.index.insert(key, self.nodes.len());
                    self.nodes.push(node);
                }
            }
        }
    }

    pub fn get(&self, ns: &str, id: &str) -> Option<&Node> {
        self.index.get(&(ns.to_owned(), id.to_owned())).map(|&at| &self.nodes[at])
    }

    /// The first place where the histories of `channels` from `start` on need a node that was not read for
    /// them. `absent` names ids that storage was asked for and does not have.
    pub fn gap(
        &self,
        ns: &str,
        start: Option<&str>,
        channels: &[String],
        absent: &BTreeSet<(String, String)>,
    ) -> Option<Gap> {
        let mut open: Vec<String> = channels.to_vec();
        let mut at = start.map(str::to_owned);
        let mut seen = BTreeSet::new();
        while let Some(id) = at.take().filter(|_| !open.is_empty()) {
            if absent.contains(&(ns.to_owned(), id.clone())) || !seen.insert(id.clone()) {
                return None;
            }
            let node = self.get(ns, &id);
            let unread = |channel: &String| !node.is_some_and(|it| it.read_for.contains(channel));
            let missing: Vec<String> = open.iter().filter(|it| unread(it)).cloned().collect();
            if !missing.is_empty() {
                return Some(Gap { ns: ns.to_owned(), start: id, channels: missing });
            }
            let node = node?;
            open.retain(|channel| !node.stops(channel));
            at.clone_from(&node.parent);
        }
        None
    }

    /// Replays the walk for one channel: the answer of `get_delta_channel_history`.
    pub fn history(
        &self,
        ns: &str,
        bases: &[Base],
        parent: Option<&str>,
        channel: &str,
    ) -> History {
        if let Some(base) = bases.iter().find(|base| base.channel == channel) {
            return History { seed: base.seed.clone(), writes: base.writes.clone() };
        }
        let mut blocks: Vec<Vec<(String, Value)>> = Vec::new();
        let mut seed = None;
        let mut at = parent.map(str::to_owned);
        let mut seen = BTreeSet::new();
        while let Some(node) = at.as_deref().and_then(|id| self.get(ns, id)) {
            if !seen.insert(node.id.clone()) {
                break;
            }
            let own = node.writes.iter().filter(|(name, _, _)| name == channel);
            blocks.push(own.map(|(_, task, value)| (task.clone(), value.clone())).collect());
            if let Some((_, value)) = node.seeds.iter().find(|(name, _)| name == channel) {
                seed = Some(value.clone());
                break;
            }
            if let Some(base) = node.bases.iter().find(|base| base.channel == channel) {
                blocks.push(base.writes.clone());
                seed.clone_from(&base.seed);
                break;
            }
            at.clone_from(&node.parent);
        }
        History { seed, writes: blocks.into_iter().rev().flatten().collect() }
    }

    /// Names everything from each node of a single walk on: `digests[i]` covers nodes `i..`.
    pub fn digests(&self) -> Vec<[u8; 16]> {
        let mut tail = [0_u8; 16];
        let mut digests: Vec<[u8; 16]> = Vec::with_capacity(self.nodes.len());
        for node in self.nodes.iter().rev() {
            tail = node.digest(tail);
            digests.push(tail);
        }
        digests.reverse();
        digests
    }

    /// Drops the nodes from the first on that the caller holds unchanged. Answers the id it stops before.
    /// `digests` are those of this chain.
    pub fn cut(
        &mut self,
        held_id: &str,
        held_digest: &[u8; 16],
        digests: &[[u8; 16]],
    ) -> Option<String> {
        let at = self.nodes.iter().position(|node| node.id == held_id)?;
        if digests[at] != *held_digest {
            return None;
        }
        self.nodes.truncate(at);
        self.index.retain(|_, index| *index < at);
        Some(held_id.to_owned())
    }
}

impl Node {
    fn extend(&mut self, other: Self) {
        let known = self.read_for.clone();
        let new = |channel: &str| !known.contains(channel);
        self.seeds.extend(other.seeds.into_iter().filter(|(channel, _)| new(channel)));
        self.writes.extend(other.writes.into_iter().filter(|(channel, _, _)| new(channel)));
        self.bases.extend(other.bases.into_iter().filter(|base| new(&base.channel)));
        self.read_for.extend(other.read_for);
    }

    fn digest(&self, tail: [u8; 16]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(&tail);
        part(self.id.as_bytes());
        part(self.parent.as_deref().unwrap_or("\0").as_bytes());
        for (channel, value) in &self.seeds {
            part(b"seed");
            part(channel.as_bytes());
            part(value.tag.as_str().as_bytes());
            value.known_by().for_each(|it| part(it));
        }
        for (channel, task, value) in &self.writes {
            part(b"write");
            part(channel.as_bytes());
            part(task.as_bytes());
            part(value.tag.as_str().as_bytes());
            value.known_by().for_each(|it| part(it));
        }
        for base in &self.bases {
            part(b"base");
            part(base.channel.as_bytes());
            for value in base.seed.iter().chain(base.writes.iter().map(|(_, value)| value)) {
                part(value.tag.as_str().as_bytes());
                value.known_by().for_each(|it| part(it));
            }
        }
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        digest
    }
}

/// Which channels a checkpoint's history is about: its own delta channels and those asked for, each only
/// when it has no value there.
pub fn channels_without_value(
    delta_channels: &[String],
    asked: &[String],
    values: &[(String, Value)],
) -> Vec<String> {
    let with_value: BTreeMap<&str, ()> =
        values.iter().map(|(name, _)| (name.as_str(), ())).collect();
    let all: BTreeSet<&String> = delta_channels.iter().chain(asked).collect();
    all.into_iter().filter(|it| !with_value.contains_key(it.as_str())).cloned().collect()
}
