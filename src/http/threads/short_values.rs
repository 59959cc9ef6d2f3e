//! Shortens the values of a thread in lists: the messages that lists show, and channels that are small.

use crate::decode::Json;

/// Values of one thread up to this size come whole.
pub const WHOLE_BYTES_MAX: usize = 256 << 10;
/// Of all threads of one answer.
pub const PAGE_BYTES_MAX: usize = 32 << 20;
/// Of one channel beside the messages, and of one text.
const PART_BYTES_MAX: usize = 4 << 10;
const LAST_MESSAGES: usize = 4;
const MESSAGES: &str = "messages";

/// Values as a list shows them.
pub struct Listed {
    pub values: Json,
    /// They were too large for the list.
    pub is_preview: bool,
    /// Of their JSON.
    pub size_bytes: usize,
}

impl Listed {
    pub fn of(values: Json) -> Self {
        let size_bytes = json_bytes(&values);
        if size_bytes <= WHOLE_BYTES_MAX {
            return Self { values, is_preview: false, size_bytes };
        }
        let values = preview(values);
        let size_bytes = json_bytes(&values);
        Self { values, is_preview: true, size_bytes }
    }
}

/// What a list shows of values that are too large for it.
pub fn preview(values: Json) -> Json {
    let Json::Object(fields) = values else { return Json::Null };
    let short = |(name, value): (String, Json)| {
        let value = match value {
            Json::List(all) if name == MESSAGES => Json::List(messages(all)),
            value => value,
        };
        let is_short = name == MESSAGES || is_within(&value, PART_BYTES_MAX);
        is_short.then_some((name, value))
    };
    Json::Object(fields.into_iter().filter_map(short).collect())
}

/// The first of a person, the first answer, and the last ones, in their order.
fn messages(all: Vec<Json>) -> Vec<Json> {
    let is =
        |kind: &'static str| move |it: &Json| it.get("type").and_then(Json::as_text) == Some(kind);
    let first = [all.iter().position(is("human")), all.iter().position(is("ai"))];
    let last = all.len().saturating_sub(LAST_MESSAGES);
    let kept = all.into_iter().enumerate();
    let kept = kept.filter(|(at, _)| *at >= last || first.contains(&Some(*at)));
    kept.map(|(_, it)| cut(it)).collect()
}

/// With its texts cut. What is still large then is left out.
fn cut(message: Json) -> Json {
    let Json::Object(fields) = message else { return Json::Null };
    let short = |(name, value): (String, Json)| {
        let value = match value {
            Json::Text(text) => Json::Text(cut_text(text)),
            Json::List(blocks) if name == "content" => {
                Json::List(blocks.into_iter().map(cut_block).collect())
            }
            value => value,
        };
        (name == "content" || is_within(&value, 2 * PART_BYTES_MAX)).then_some((name, value))
    };
    let mut fields: Vec<(String, Json)> = fields.into_iter().filter_map(short).collect();
    for (name, value) in &mut fields {
        if name == "content" && !is_within(value, 4 * PART_BYTES_MAX) {
            *value = Json::List(Vec::new());
        }
    }
    Json::Object(fields)
}

fn cut_block(block: Json) -> Json {
    match block {
        Json::Text(text) => Json::Text(cut_text(text)),
        Json::Object(fields) => {
            let short = |(name, value)| match value {
                Json::Text(text) => (name, Json::Text(cut_text(text))),
                value => (name, value),
            };
            Json::Object(fields.into_iter().map(short).collect())
        }
        block => block,
    }
}

fn cut_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(PART_BYTES_MAX));
    text
}

fn is_within(value: &Json, bytes_max: usize) -> bool {
    json_bytes(value) <= bytes_max
}

/// Bytes of a value's JSON; of one that cannot be written more than any limit.
pub fn json_bytes(value: &Json) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |it| it.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, text: &str) -> Json {
        Json::Object(vec![
            ("type".into(), Json::text(kind)),
            ("content".into(), Json::text(text)),
            ("extra".into(), Json::List(vec![Json::text(&"x".repeat(10_000))])),
        ])
    }

    #[test]
    fn the_messages_that_lists_show_stay_and_large_channels_go() {
        let long = "é".repeat(10_000);
        let mut all = vec![message("system", "s"), message("human", "first"), message("ai", &long)];
        all.extend((0..20).map(|at| message("tool", &at.to_string())));
        let values = Json::Object(vec![
            (MESSAGES.into(), Json::List(all)),
            ("todos".into(), Json::List(vec![Json::text("t")])),
            ("files".into(), Json::text(&long)),
        ]);
        let shown = preview(values);
        assert_eq!(shown.get("todos"), Some(&Json::List(vec![Json::text("t")])));
        assert_eq!(shown.get("files"), None);
        let messages = shown.get(MESSAGES).and_then(Json::as_list).unwrap();
        let text = |at: usize| messages[at].get("content").and_then(Json::as_text).unwrap();
        assert_eq!((messages.len(), text(0), text(5)), (6, "first", "19"));
        assert_eq!(text(1).len(), 4_096);
        assert_eq!(messages[0].get("extra"), None);
        assert!(is_within(&shown, 64 << 10));
    }
}
