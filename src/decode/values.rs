//! Lists the channels of a checkpoint: the stored value of each, and its JSON for display.

use super::msgpack::extension_code;
use super::replay::replay;
use super::shown::{Budget, Json, Unreadable};
use super::state::is_own;
use super::{Cuts, extensions, is_present, javascript, opaque, show_value};
use crate::domain::checkpoints::checkpoint::{Value, View};
use crate::domain::checkpoints::history::{Chain, History};
use crate::domain::checkpoints::storage::CheckpointTuple;

/// Metadata in which the two languages name their delta channels.
const DELTA_NAMES: [&str; 2] = ["counters_since_delta_snapshot", "delta_writes_versioned"];

/// A channel that has a value, or writes that give one.
pub struct Channel {
    pub name: String,
    pub stored: Stored,
    /// As it enters the step of the checkpoint.
    pub shown: Json,
}

pub enum Stored {
    Value(Value),
    /// Of a delta channel: what it is replayed from.
    Writes(History),
}

impl Stored {
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Value(value) => value.size_bytes(),
            Self::Writes(history) => {
                let values = history.seed.iter().chain(history.writes.iter().map(|(_, it)| it));
                values.map(Value::size_bytes).sum()
            }
        }
    }
}

impl Channel {
    /// What an answer with cuts shows of it. None: nothing.
    pub fn cut(self, cuts: &Cuts) -> Option<Self> {
        let shown = cuts.channel(&self.name, self.shown)?;
        Some(Self { shown, ..self })
    }

    /// A value of JavaScript that an object is without.
    pub fn is_undefined(&self) -> bool {
        match &self.stored {
            Stored::Value(value) => {
                value.tag.as_str() == "json" && value.data == javascript::UNDEFINED
            }
            Stored::Writes(_) => false,
        }
    }
}

/// About how many bytes have to be decoded.
pub fn size_bytes(found: &CheckpointTuple) -> usize {
    let Some(view) = &found.view else { return 0 };
    let values = view.values.iter().map(|(_, it)| it).chain(view.writes.iter().map(|it| &it.value));
    let own: usize = values.map(|it| it.data.len()).sum();
    let nodes = found.chain.nodes.iter();
    let seeds = nodes.clone().flat_map(|it| &it.seeds).map(|(_, it)| it.data.len());
    let writes = nodes.flat_map(|it| &it.writes).map(|(_, _, it)| it.data.len());
    own + seeds.sum::<usize>() + writes.sum::<usize>()
}

/// Those of `only`, or all, by name.
pub fn channels(found: &CheckpointTuple, only: &[String], budget: &mut Budget) -> Vec<Channel> {
    let Some(view) = &found.view else { return Vec::new() };
    let wanted = |name: &str| only.is_empty() || only.iter().any(|it| it == name);
    let wanted = |name: &str, budget: &Budget| wanted(name) && (budget.wants(name) || is_own(name));
    let mut all = Vec::new();
    for (name, value) in view.values.iter().filter(|(_, it)| is_present(it)) {
        if !wanted(name, budget) {
            continue;
        }
        let shown = show_channel(view, name, value, budget);
        all.push(Channel { name: name.clone(), stored: Stored::Value(value.clone()), shown });
    }
    for name in &found.history_channels {
        if !wanted(name, budget) {
            continue;
        }
        let has_value = all.iter().any(|it| it.name == *name);
        let history = (!has_value).then(|| history(view, &found.chain, name));
        let shown = history.as_ref().and_then(|it| replayed(name, it, &[], budget));
        if let (Some(history), Some(shown)) = (history, shown) {
            all.push(Channel { name: name.clone(), stored: Stored::Writes(history), shown });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Of the graph's own channels and of those with pending writes, more than the display depends on the value.
fn show_channel(view: &View, name: &str, value: &Value, budget: &mut Budget) -> Json {
    if is_own(name) {
        return budget.uncut(|it| show_value(value, it));
    }
    if view.writes.iter().any(|it| it.channel == name) {
        return show_value(value, budget);
    }
    budget.outermost(|it| show_value(value, it))
}

/// Whether the channel is kept as writes: its value is a snapshot, or the metadata names it.
pub fn is_delta(metadata: &Json, name: &str, value: &Value) -> bool {
    let is_snapshot = match value.tag.as_str() {
        "msgpack" => extension_code(&value.data) == Some(extensions::DELTA_SNAPSHOT),
        "json" => value.data.starts_with(javascript::DELTA_SNAPSHOT),
        _ => false,
    };
    let names = |it| metadata.get(it).is_some_and(|names: &Json| names.get(name).is_some());
    is_snapshot || DELTA_NAMES.iter().any(|it| names(it))
}

/// The value of a delta channel after the writes of its history and these.
pub fn replayed(
    name: &str,
    history: &History,
    more: &[&Json],
    budget: &mut Budget,
) -> Option<Json> {
    if history
        .seed
        .iter()
        .chain(history.writes.iter().map(|(_, it)| it))
        .any(|it| it.in_parts.is_some())
    {
        return Some(too_large(history, Unreadable::TooLarge));
    }
    let left = budget.left();
    let shown = history.seed.as_ref().map(|it| show_value(it, budget));
    let writes = history.writes.iter().map(|(_, it)| show_value(it, budget));
    let writes = writes.collect();
    and_then(name, (shown, writes), more, budget).unwrap_or_else(|reason| {
        budget.restore(left);
        Some(too_large(history, reason))
    })
}

/// A value after some writes more.
///
/// # Errors
/// `TooLarge`.
pub fn and_then(
    name: &str,
    (base, mut writes): (Option<Json>, Vec<Json>),
    more: &[&Json],
    budget: &mut Budget,
) -> Result<Option<Json>, Unreadable> {
    for write in more {
        budget.take_again(write)?;
        writes.push((*write).clone());
    }
    replay(name, base, writes, budget)
}

fn history(view: &View, chain: &Chain, name: &str) -> History {
    chain.history(&view.ns, &view.bases, view.parent.as_deref(), name)
}

fn too_large(history: &History, reason: Unreadable) -> Json {
    let size = Stored::Writes(history.clone()).size_bytes();
    let first = history.writes.first().map(|(_, it)| it).or(history.seed.as_ref());
    opaque(first.map_or("", |it| it.tag.as_str()), size, reason)
}
