//! Says in a few words what a thread is about, for lists: its first and last message, its plan, and what it waits for.

use super::shown::Json;
use super::state::State;
use crate::domain::threads::title::{TITLE_CHARACTERS_MAX, one_line};

/// Characters of a text.
const TEXT_MAX: usize = TITLE_CHARACTERS_MAX;
/// Names of tasks.
const NEXT_MAX: usize = 20;
pub(super) const MESSAGES: &str = "messages";
const TODOS: &str = "todos";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    /// What a person said first.
    pub first_human: Option<String>,
    pub last_message: Option<Said>,
    /// How many there are. None: the thread has no list of messages, or it cannot be shown.
    pub messages: Option<usize>,
    pub todos: Option<Todos>,
    /// Names of the first tasks that have still to run.
    pub next: Vec<String>,
    /// Questions that nobody has answered.
    pub interrupts: usize,
    /// Something of it was too much, or cannot be shown.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub kind: String,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Todos {
    pub done: usize,
    pub total: usize,
}

/// The preview of a state. Values that were too much for its budget are opaque in it.
pub fn preview(state: &State) -> Preview {
    let messages = state.values.get(MESSAGES);
    let all = messages.and_then(Json::as_list);
    let is_hidden = |it: &Json| it.as_list().is_none() && *it != Json::Null;
    let todos = state.values.get(TODOS).and_then(Json::as_list);
    Preview {
        first_human: all.and_then(|it| it.iter().find(|it| kind(it) == "human")).map(text),
        last_message: all
            .and_then(|it| it.last())
            .map(|it| Said { kind: kind(it).to_owned(), text: text(it) }),
        messages: all.map(<[Json]>::len),
        todos: todos.map(|all| Todos {
            done: all.iter().filter(|it| says(it, "status") == "completed").count(),
            total: all.len(),
        }),
        next: state.next.iter().take(NEXT_MAX).cloned().collect(),
        interrupts: state.tasks.iter().map(|it| it.interrupts.len()).sum(),
        is_cut: messages.is_some_and(is_hidden) || state.next.len() > NEXT_MAX,
    }
}

/// The `type` of Python's and JavaScript's messages, or the `role` of others.
pub(super) fn kind(message: &Json) -> &str {
    match (says(message, "type"), says(message, "role")) {
        ("", "user") => "human",
        ("", "assistant") => "ai",
        ("", role) => role,
        (kind, _) => kind,
    }
}

fn says<'a>(value: &'a Json, name: &str) -> &'a str {
    value.get(name).and_then(Json::as_text).unwrap_or_default()
}

/// Of a message whose content is a text, or a list with blocks of text among others.
pub(super) fn text(message: &Json) -> String {
    let content = message.get("content");
    let blocks = content.and_then(Json::as_list).unwrap_or_default();
    let of_block = |it: &Json| {
        let text = it.text_head().or_else(|| it.get("text").and_then(Json::text_head));
        text.map(|it| one_line(it, TEXT_MAX))
    };
    match content.and_then(Json::text_head) {
        Some(text) => one_line(text, TEXT_MAX),
        None => {
            let joined = blocks.iter().filter_map(of_block).collect::<Vec<_>>().join(" ");
            one_line(&joined, TEXT_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::shown::{Budget, Json};

    fn state(values: &str) -> State {
        let values = crate::decode::read_text(values.as_bytes(), &mut Budget::new(1 << 20));
        State {
            created_at: None,
            metadata: Json::Null,
            values: values.unwrap(),
            next: Vec::new(),
            tasks: Vec::new(),
            writes: Vec::new(),
        }
    }

    #[test]
    fn a_conversation_is_shown_by_its_first_and_last_words() {
        let shown = preview(&state(
            r#"{"messages": [{"type": "system", "content": "You are"}, {"role": "user", "content": "Where\n to\u202e?"},
                {"type": "ai", "content": [{"type": "image"}, {"type": "text", "text": "To"}, "Rome"]}],
                "todos": [{"status": "completed"}, {"status": "pending"}, {}]}"#,
        ));
        assert_eq!(shown.first_human.as_deref(), Some("Where to?"));
        assert_eq!(shown.last_message, Some(Said { kind: "ai".into(), text: "To Rome".into() }));
        assert_eq!((shown.messages, shown.todos), (Some(3), Some(Todos { done: 1, total: 3 })));
        assert!(!shown.is_cut);
    }

    #[test]
    fn what_is_no_conversation_has_a_preview_too() {
        assert_eq!(preview(&state("{}")), Preview::default());
        assert_eq!(preview(&state(r#"{"messages": [], "todos": "x"}"#)).messages, Some(0));
        let hidden = preview(&state(r#"{"messages": {"$opaque": {"codec": "pickle"}}}"#));
        assert_eq!((hidden.messages, hidden.is_cut), (None, true));
        let long =
            format!(r#"{{"messages": [{{"type": "human", "content": "{}"}}]}}"#, "é".repeat(500));
        assert_eq!(preview(&state(&long)).first_human.unwrap().chars().count(), 200);
        let odd = preview(&state(r#"{"messages": ["text", 7, {"type": 1, "content": {"a": 1}}]}"#));
        assert_eq!(odd.last_message, Some(Said { kind: String::new(), text: String::new() }));
    }
}
