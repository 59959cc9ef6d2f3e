//! Tests which text of a checkpoint is the first that a person said.

use serde_json::{Value as Expected, json};

use super::states::{ASK, NULL_TASK, found, write};
use crate::decode::run_state::READ_STATE;
use crate::domain::checkpoints::checkpoint::PendingWrite;
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::threads::run_state::FirstMessage;

fn of(values: &[(&str, Expected)], writes: Vec<PendingWrite>) -> FirstMessage {
    (READ_STATE.first_message)(&found(json!({"channel_versions": {}}), values, writes))
}

fn says(text: &str) -> FirstMessage {
    FirstMessage::Found(text.to_owned())
}

#[test]
fn it_is_in_the_messages_or_in_the_input() {
    let human = |text: &str| json!({"type": "human", "content": text});
    let ai = json!({"type": "ai", "content": "Hello"});
    let blocks = json!({"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " To\u{202e} "}, "Rome"]});
    for (messages, expected) in [
        (json!([ai, human("First"), human("Second")]), says("First")),
        (json!([human(" \n"), blocks]), says("To Rome")),
        (json!([ai]), FirstMessage::Absent),
        (json!("text"), FirstMessage::Absent),
        (json!(["text"]), FirstMessage::Absent),
    ] {
        assert_eq!(of(&[("messages", messages.clone())], Vec::new()), expected, "{messages}");
    }
    for (input, expected) in [
        (json!({"messages": "One"}), says("One")),
        (json!({"messages": ["One", "Two"]}), says("One")),
        (json!({"messages": [["system", "Be"], ["user", "One"]]}), says("One")),
        (json!({"messages": human("One")}), says("One")),
        (json!({"question": "One"}), FirstMessage::Absent),
        (json!("One"), FirstMessage::Absent),
    ] {
        assert_eq!(of(&[("__start__", input.clone())], Vec::new()), expected, "{input}");
        let pending = vec![write(NULL_TASK, "__start__", &input)];
        assert_eq!(of(&[], pending), expected, "{input}");
    }
    let given = |channel| vec![write(ASK, channel, &json!([human("Given")]))];
    assert_eq!(of(&[], given("messages")), says("Given"));
    assert_eq!(of(&[("messages", json!([ai]))], given("messages")), says("Given"));
    // What was said before comes first.
    assert_eq!(of(&[("messages", json!([human("Before")]))], given("messages")), says("Before"));
}

#[test]
fn nothing_is_read_where_there_are_no_messages() {
    let bytes = READ_STATE.first_message_bytes;
    assert_eq!((READ_STATE.first_message)(&CheckpointTuple::default()), FirstMessage::Unread);
    let other = found(json!({"channel_versions": {}}), &[("other", json!("text"))], Vec::new());
    assert_eq!((bytes(&other), (READ_STATE.first_message)(&other)), (0, FirstMessage::Unread));
}

#[test]
fn of_much_only_the_beginning_is_looked_at() {
    let long = "x".repeat(1 << 20);
    let expected = says(&"x".repeat(200));
    let human = |text: &str| json!({"type": "human", "content": text});
    let ai = json!({"type": "ai", "content": long});
    let blocks = json!({"type": "human", "content": [{"type": "text", "text": long}, "more"]});
    for messages in
        [json!([human(&long)]), json!([ai, human(&long), human("Second")]), json!([blocks])]
    {
        assert_eq!(of(&[("messages", messages)], Vec::new()), expected);
    }
    assert_eq!(of(&[("messages", json!([human("First"), ai]))], Vec::new()), says("First"));
    for input in [
        json!({"messages": long}),
        json!({"messages": [human(&long)]}),
        json!({"messages": [["user", long]]}),
    ] {
        assert_eq!(of(&[("__start__", input)], Vec::new()), expected);
    }
    let mut many = vec![ai; 101];
    many.push(human("Too late"));
    assert_eq!(of(&[("messages", json!(many))], Vec::new()), FirstMessage::Absent);
}
