//! Finds the first human text of a conversation, which gives a thread its title.

use super::preview::{MESSAGES, kind, text};
use super::show_value;
use super::shown::Json;
use super::values::channels;
use super::{Budget, Cuts};
use crate::domain::checkpoints::checkpoint::{Value, View};
use crate::domain::checkpoints::history::Base;
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::checkpoints::wanted::START;
use crate::domain::limits::LIMITS;
use crate::domain::threads::run_state::FirstMessage;
use crate::domain::threads::title::{TITLE_CHARACTERS_MAX, one_line};

/// Bytes of messages that are read whole for it.
const WHOLE_BYTES_MAX: usize = 1 << 20;
/// What is kept of each text of more.
const TEXT_BYTES_MAX: u64 = 4 << 10;
/// Messages of more that are looked at.
const MESSAGES_MAX: u64 = 100;

/// The first human text among the messages of a checkpoint. Before a first step has ended, it is in the input of the graph.
pub fn first_message(found: &CheckpointTuple) -> FirstMessage {
    let Some(view) = &found.view else { return FirstMessage::Unread };
    // Values take more memory than bytes.
    let mut budget = match first_message_bytes(found) {
        0 => return FirstMessage::Unread,
        WHOLE_BYTES_MAX.. => {
            let (string_bytes_max, items_max) = (Some(TEXT_BYTES_MAX), Some(MESSAGES_MAX));
            let cuts = Cuts { string_bytes_max, items_max, ..Cuts::default() };
            Budget::with_cuts(LIMITS.display_bytes_max, cuts)
        }
        _ => Budget::new(LIMITS.display_bytes_max),
    };
    let of_channel = channels(found, &[MESSAGES.to_owned()], &mut budget);
    let of_channel = of_channel.iter().find_map(|it| first_human(&it.shown));
    let in_messages = of_channel.or_else(|| {
        let mut inputs = inputs(view).map(|(channel, value)| {
            let shown = show_value(value, &mut budget);
            if channel == MESSAGES { Some(shown) } else { shown.get(MESSAGES).cloned() }
        });
        inputs.find_map(|it| first_human_of_input(&it?))
    });
    in_messages.map_or(FirstMessage::Absent, FirstMessage::Found)
}

/// Bytes that it looks at; 0 where there are no messages.
pub fn first_message_bytes(found: &CheckpointTuple) -> usize {
    let Some(view) = &found.view else { return 0 };
    let own = view.values.iter().filter(|(name, _)| name == MESSAGES).map(|(_, it)| it);
    let nodes = found.chain.nodes.iter();
    let seeds = nodes.clone().flat_map(|it| &it.seeds);
    let seeds = seeds.filter(|(name, _)| name == MESSAGES).map(|(_, it)| it);
    let bases = nodes.clone().flat_map(|it| &it.bases).chain(&view.bases);
    let bases = bases.filter(|it| it.channel == MESSAGES).flat_map(Base::all_values);
    let writes = nodes.flat_map(|it| &it.writes);
    let writes = writes.filter(|(name, _, _)| name == MESSAGES).map(|(_, _, it)| it);
    let input = inputs(view).map(|(_, it)| it);
    let all = own.chain(seeds).chain(bases).chain(writes).chain(input);
    let bytes: u64 = all.map(Value::size_bytes).sum();
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// What tasks gave that are not in the state yet, and what the graph was given.
fn inputs(view: &View) -> impl Iterator<Item = (&str, &Value)> {
    let is_input = |name: &str| name == MESSAGES || name == START;
    let writes = view.writes.iter().filter(move |it| is_input(&it.channel));
    let writes = writes.map(|it| (it.channel.as_str(), &it.value));
    let start = view.values.iter().filter(|(name, _)| name == START);
    writes.chain(start.map(|(name, it)| (name.as_str(), it)))
}

/// Of a list of messages.
fn first_human(messages: &Json) -> Option<String> {
    messages.as_list()?.iter().find_map(human_text)
}

/// Of messages in a form that a graph takes: a list or one alone, texts and pairs of role and text among them.
fn first_human_of_input(messages: &Json) -> Option<String> {
    let one = |message: &Json| match message {
        Json::Text(_) | Json::Cut(_) => line(message),
        Json::List(pair) => match pair.as_slice() {
            [Json::Text(role), said] if matches!(role.as_str(), "user" | "human") => line(said),
            _ => None,
        },
        _ => human_text(message),
    };
    messages.as_list().map_or_else(|| one(messages), |all| all.iter().find_map(one))
}

fn human_text(message: &Json) -> Option<String> {
    (kind(message) == "human").then(|| text(message)).and_then(shown)
}

fn line(text: &Json) -> Option<String> {
    shown(one_line(text.text_head()?, TITLE_CHARACTERS_MAX))
}

fn shown(line: String) -> Option<String> {
    Some(line).filter(|it| !it.is_empty())
}
