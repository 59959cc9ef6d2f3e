//! Tests that ids equal those of LangGraph's own functions for the same parts.

use crate::decode::task_ids::{Language, Named, interrupt_id, task_id};

const CHECKPOINT: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";

fn id(language: Language, ns: &str, name: &str, tail: &[&str]) -> Option<String> {
    let tail: Vec<String> = tail.iter().map(|it| (*it).to_owned()).collect();
    let named = Named { checkpoint_id: CHECKPOINT, checkpoint_ns: ns, step: 2, name, tail: &tail };
    task_id(language, &named)
}

#[test]
fn ids_of_tasks_are_those_of_langgraph() {
    let python = Language::Python { v: 4 };
    let pull = ["__pregel_pull", "branch:to:ask"];
    let joined = ["__pregel_pull", "branch:to:ask", "join:a+b:ask"];
    let push = ["__pregel_push", "1"];
    for (language, ns, name, tail, expected) in [
        (python, "", "ask", &pull[..], "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2"),
        (python, "sub:1", "ask", &joined[..], "53081f43-3d1d-16c5-1aab-020950547ae2"),
        (python, "", "w", &push[..], "cc2724ed-66b1-6143-3f16-953dac5daa65"),
        (Language::Python { v: 1 }, "", "ask", &pull[..], "a9429582-2b7a-2ab5-276e-0473dc7b90fc"),
        (Language::JavaScript, "", "ask", &pull[..], "01fa8e83-74f1-5213-bff9-3a82f1a91d53"),
        (Language::JavaScript, "", "w", &push[..], "9f3c9a53-7fd8-51bd-81e4-09d83af39ede"),
    ] {
        assert_eq!(id(language, ns, name, tail).as_deref(), Some(expected), "{language:?} {name}");
    }
}

#[test]
fn a_checkpoint_id_that_is_no_uuid_gives_no_ids() {
    let tail = ["__pregel_pull".to_owned(), "branch:to:a".to_owned()];
    let named =
        |checkpoint_id| Named { checkpoint_id, checkpoint_ns: "", step: 0, name: "a", tail: &tail };
    assert_eq!(task_id(Language::JavaScript, &named("checkpoint-1")), None);
    assert_eq!(task_id(Language::Python { v: 4 }, &named("checkpoint-1")), None);
}

#[test]
fn interrupts_without_an_id_have_that_of_their_namespace() {
    assert_eq!(interrupt_id("a|b"), "e4bb8f8c00c16987c7ee863ab9632249");
}
