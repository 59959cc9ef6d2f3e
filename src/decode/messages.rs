//! Recognizes lists of messages, and adds messages to them like `add_messages` of LangGraph and the batch reducer of deepagents.

use std::collections::HashMap;

use super::shown::{Budget, Fields, Json, Unreadable};

const REMOVE_ALL: &str = "__remove_all__";
/// Of the channel that is about messages, whatever is written to it.
const CHANNEL: &str = "messages";

/// Content with who says it.
pub fn is_message(value: &Json) -> bool {
    let is_named = |name: &str| value.get(name).and_then(Json::as_text).is_some();
    value.get("content").is_some() && (is_named("type") || is_named("role"))
}

/// Whether all of it can be taken for messages. Texts and pairs are messages only among others.
pub fn are_messages(channel: &str, base: Option<&Json>, writes: &[Json]) -> bool {
    let known = base.into_iter().chain(writes).flat_map(one_or_many);
    let mut is_about_messages = channel == CHANNEL;
    for value in known {
        if is_message(value) {
            is_about_messages = true;
        } else if !matches!(value, Json::Text(_) | Json::Cut(_)) && pair(value).is_none() {
            return false;
        }
    }
    is_about_messages
}

/// The list after the writes, in their order: equal ids replace, `remove` removes, `__remove_all__` removes all before it.
///
/// # Errors
/// `TooLarge`.
pub fn added(
    base: Option<Json>,
    writes: Vec<Json>,
    budget: &mut Budget,
) -> Result<Json, Unreadable> {
    let mut state = Vec::new();
    if let Some(Json::List(items)) = base {
        for item in items {
            state.push(coerced(item, budget)?);
        }
    }
    let mut news = Vec::new();
    for write in writes {
        match write {
            Json::List(items) => {
                for item in items {
                    news.push(coerced(item, budget)?);
                }
            }
            one => news.push(coerced(one, budget)?),
        }
    }
    let last = news.iter().rposition(|it| is_removal(it) && id(it) == Some(REMOVE_ALL));
    if let Some(at) = last {
        state.clear();
        news.drain(..=at);
    }
    budget.take((state.len() + news.len()) as u64 * 64)?;
    Ok(Json::List(placed(state, news)))
}

fn placed(state: Vec<Json>, news: Vec<Json>) -> Vec<Json> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut list: Vec<Option<Json>> = Vec::with_capacity(state.len() + news.len());
    for message in state {
        if let Some(id) = id(&message) {
            places.insert(id.to_owned(), list.len());
        }
        list.push(Some(message));
    }
    for message in news {
        let Some(id) = id(&message).map(str::to_owned) else {
            list.push(Some(message));
            continue;
        };
        match places.get(&id).copied() {
            Some(place) if is_removal(&message) => {
                list[place] = None;
                places.remove(&id);
            }
            None if is_removal(&message) => {}
            Some(place) => list[place] = Some(message),
            None => {
                places.insert(id, list.len());
                list.push(Some(message));
            }
        }
    }
    list.into_iter().flatten().collect()
}

fn one_or_many(value: &Json) -> &[Json] {
    value.as_list().unwrap_or(std::slice::from_ref(value))
}

fn id(message: &Json) -> Option<&str> {
    message.get("id").and_then(Json::as_text)
}

fn is_removal(message: &Json) -> bool {
    message.get("type").and_then(Json::as_text) == Some("remove")
}

/// `[role, content]`.
pub fn pair(value: &Json) -> Option<(&str, &Json)> {
    match value.as_list()? {
        [Json::Text(role), content] => Some((role, content)),
        _ => None,
    }
}

/// A message, of what graphs take for one: a text, `[role, content]`, `{"role", "content"}`.
fn coerced(value: Json, budget: &mut Budget) -> Result<Json, Unreadable> {
    let whole = |fields: &Json| fields.get("type").is_some() && is_described(fields);
    if whole(&value) || is_removal(&value) {
        return Ok(value);
    }
    budget.take(2_048)?;
    match value {
        Json::Text(_) | Json::Cut(_) => Ok(message("human", value, Vec::new())),
        Json::Object(fields) => Ok(of_fields(fields)),
        value => match pair(&value) {
            Some((role, content)) => {
                budget.take_again(content)?;
                Ok(message(role, content.clone(), Vec::new()))
            }
            None => Ok(value),
        },
    }
}

/// Whether it has what only a message that was one before has.
fn is_described(fields: &Json) -> bool {
    ["additional_kwargs", "response_metadata", "id"].iter().any(|it| fields.get(it).is_some())
}

fn of_fields(fields: Fields) -> Json {
    let (mut role, mut content, mut more) = (None, None, Vec::new());
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("role" | "type", Json::Text(text)) => role = Some(text),
            ("content", value) => content = Some(value),
            (_, value) => more.push((name, value)),
        }
    }
    message(&role.unwrap_or_default(), content.unwrap_or(Json::text("")), more)
}

/// In the order in which messages show their fields.
fn message(role: &str, content: Json, mut more: Fields) -> Json {
    let kind = match role {
        "user" | "human" => "human",
        "assistant" | "ai" => "ai",
        "system" | "developer" => "system",
        other => other,
    };
    let mut own = |name: &str, missing: Json| {
        let at = more.iter().position(|(it, _)| it == name);
        (name.to_owned(), at.map_or(missing, |at| more.remove(at).1))
    };
    let developer = ("__openai_role__".to_owned(), Json::text("developer"));
    let described = if role == "developer" { vec![developer] } else { Vec::new() };
    let mut fields = vec![
        ("content".to_owned(), content),
        own("additional_kwargs", Json::Object(described)),
        own("response_metadata", Json::Object(Vec::new())),
        ("type".to_owned(), Json::text(kind)),
        own("name", Json::Null),
        own("id", Json::Null),
    ];
    if kind == "ai" {
        fields.push(own("tool_calls", Json::List(Vec::new())));
        fields.push(own("invalid_tool_calls", Json::List(Vec::new())));
        fields.push(own("usage_metadata", Json::Null));
    }
    fields.extend(more);
    Json::Object(fields)
}
