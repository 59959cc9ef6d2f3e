//! Tests values in updates of a state on the wire of the LangGraph Agent Server: delta channels, channels with a rule, and what no rule takes.

use std::sync::Arc;

use serde_json::{Value, json};
use threadkeep::app::{AgentServer, Outside};
use threadkeep::domain::checkpoints::channel_rule::ChannelRule;

use crate::agent_server_updates::{FIRST, SECOND, UPDATE, count, msgpack, post, version};
use crate::drive_world::World;
use crate::wire::{COMMIT, base64};

/// A thread at rest, whose node `model` ran last: `log` is a delta channel, `title` and `files` are not.
async fn at_rest(it: &World, language: Language) {
    let texts = language == Language::Python;
    let version = |number: u32| if texts { json!(version(number)) } else { json!(number) };
    let encode = |it: Value| {
        if texts { ("msgpack", msgpack(&it)) } else { ("json", base64(it.to_string().as_bytes())) }
    };
    let value = |channel: &str, number: u32, of: Option<Value>| {
        let (tag, data) = of.map_or(("empty", Value::Null), encode);
        json!({"channel": channel, "version": version(number), "tag": tag, "data": data})
    };
    let put = |id: &str, parent: Option<&str>, number: u32, seen: Value, values: Vec<Value>| {
        json!({"checkpoint": {
            "checkpoint_id": id, "parent_checkpoint_id": parent,
            "metadata": {"source": "loop", "step": number - 2, "parents": {}, "counters_since_delta_snapshot": {"log": [number - 1, number]}, "graph_id": "agent"},
            "skeleton": {"v": 4, "ts": "2026-01-31T12:00:00+00:00", "id": id, "versions_seen": seen, "channel_versions": {
                "log": version(number), "branch:to:model": version(number), "title": version(2), "files": version(2)
            }},
            "values": values
        }})
    };
    let first = put(
        FIRST,
        None,
        2,
        json!({}),
        vec![
            value("log", 2, None),
            value("branch:to:model", 2, Some(Value::Null)),
            value("title", 2, Some(json!("one"))),
            value("files", 2, Some(json!({"a": {"n": 1}, "b": 2}))),
        ],
    );
    let seen = json!({"model": {"branch:to:model": version(2)}});
    let second = put(
        SECOND,
        Some(FIRST),
        3,
        seen,
        vec![value("log", 3, None), value("branch:to:model", 3, None)],
    );
    let (tag, data) = encode(json!(["in"]));
    let write = json!({"idx": 0, "channel": "log", "tag": tag, "data": data});
    let writes = json!({"writes": {"checkpoint_id": FIRST, "task_id": "m", "writes": [write]}});
    post(it, COMMIT, &json!({"thread_id": "t", "ops": [first, writes, second]})).await.ok();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
}

const LANGUAGES: [Language; 2] = [Language::Python, Language::JavaScript];

async fn with_rules() -> World {
    let rules = [
        ("title", ChannelRule::Last),
        ("files", ChannelRule::Merge),
        ("said", ChannelRule::Messages),
    ];
    let rules = rules.map(|(name, rule)| (name.to_owned(), rule)).into_iter().collect();
    let agent_server =
        AgentServer { state_update_channels: Arc::new(rules), ..AgentServer::default() };
    World::serving(Outside { agent_server, ..Outside::default() }).await
}

#[tokio::test]
async fn values_of_a_delta_channel_are_written_beside_the_checkpoint_that_takes_them_in() {
    for language in LANGUAGES {
        let it = World::new().await;
        at_rest(&it, language).await;
        let made = post(&it, UPDATE, &json!({"values": {"log": ["x"]}})).await.ok().json();
        let state = it.get(&it.ann, UPDATE).await.ok().json();
        assert_eq!(state["checkpoint_id"], made["checkpoint_id"]);
        assert_eq!((&state["parent_checkpoint_id"], &state["next"]), (&json!(SECOND), &json!([])));
        let mut metadata = json!({"source": "update", "step": 2, "parents": {}});
        if language == Language::Python {
            metadata["counters_since_delta_snapshot"] = json!({"log": [3, 4]});
        }
        assert_eq!(state["metadata"], metadata, "{language:?}");
        // What JavaScript writes names no delta channel, so the server shows none.
        let shown = |writes: Value| match language {
            Language::Python => json!({"$delta_writes": writes}),
            Language::JavaScript => Value::Null,
        };
        assert_eq!(state["values"]["log"], shown(json!([["in"], ["x"]])));
        // And once more: what the graph's step said still counts.
        post(&it, UPDATE, &json!({"values": {"log": ["y"]}})).await.ok();
        let state = it.get(&it.ann, UPDATE).await.ok().json();
        assert_eq!(state["values"]["log"], shown(json!([["in"], ["x"], ["y"]])));
        let tasks = it.count("select count(distinct task_id) from writes").await;
        assert_eq!(tasks, 3, "{language:?}");
    }
}

#[tokio::test]
async fn channels_with_a_rule_take_values_in_by_it() {
    for language in LANGUAGES {
        let it = with_rules().await;
        at_rest(&it, language).await;
        let values = json!({
            "title": {"two": [1, 2.5, null, true, -3, "\u{e9}"]},
            "files": {"a": null, "b": {"c": []}, "d": "new"},
            "said": [{"type": "human", "content": "hi", "id": "1"}, {"role": "user", "content": "ho"}]
        });
        post(&it, UPDATE, &json!({"values": values})).await.ok();
        let state = it.get(&it.ann, UPDATE).await.ok().json();
        assert_eq!(state["values"]["title"], values["title"], "{language:?}");
        assert_eq!(state["values"]["files"], json!({"b": {"c": []}, "d": "new"}), "{language:?}");
        let said = &state["values"]["said"];
        assert_eq!((&said[0], &said[1]["content"]), (&values["said"][0], &json!("ho")));
        assert!(said[1]["id"].as_str().is_some_and(|it| it.len() == 36));
        let values = json!({"said": [{"type": "remove", "id": "1"}, {"type": "ai", "content": "so", "id": said[1]["id"]}]});
        post(&it, UPDATE, &json!({"values": values})).await.ok();
        let state = it.get(&it.ann, UPDATE).await.ok().json();
        assert_eq!(state["values"]["said"], json!([values["said"][1]]), "{language:?}");
    }
}

#[tokio::test]
async fn values_that_no_rule_takes_are_refused_and_nothing_is_written() {
    for language in LANGUAGES {
        let it = with_rules().await;
        at_rest(&it, language).await;
        let before = count(&it).await;
        for (values, part) in [
            (json!({}), "no channel"),
            (json!({"other": 1}), "\"other\""),
            (json!({"log": ["x"], "other": 1}), "\"other\""),
            (json!({"__start__": 1}), "\"__start__\""),
            (json!({"log": {"__overwrite__": []}}), "\"log\""),
            (json!({"title": {"type": "__overwrite__", "value": 1}}), "\"title\""),
        ] {
            let answer = post(&it, UPDATE, &json!({"values": values})).await;
            answer.assert_problem(422, "needs_graph");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(part), "{detail}");
        }
        for (values, field) in [
            (json!({"files": [1]}), "values.files"),
            (json!({"said": [1]}), "values.said"),
            (json!({"said": [{"type": "remove", "id": "none"}]}), "values.said"),
        ] {
            let answer = post(&it, UPDATE, &json!({"values": values})).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.field(), field);
        }
        let record = json!({"values": {"title": [{"lc": 2, "type": "constructor", "id": ["Set"], "args": [[1]]}]}});
        if language == Language::JavaScript {
            post(&it, UPDATE, &record).await.assert_problem(422, "invalid");
        }
        assert_eq!(count(&it).await, before, "{language:?}");
        if language == Language::Python {
            post(&it, UPDATE, &record).await.ok();
            let state = it.get(&it.ann, UPDATE).await.ok().json();
            assert_eq!(state["values"]["title"], record["values"]["title"]);
        }
    }
}
