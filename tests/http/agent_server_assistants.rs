//! Tests assistants on the wire of the LangGraph Agent Server: what is derived of them, and what is refused.

use serde_json::{Value, json};
use threadkeep::app::{AgentServer, Outside};
use threadkeep::domain::threads::graphs::DefaultGraph;

use crate::drive_world::World;
use crate::server::{Answer, JSON};
use crate::wire::{COMMIT, commit};

/// Of the graph `agent`, as other servers make it.
const AGENT: &str = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";

async fn send(it: &World, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", JSON)];
    it.server.send(method, path, &headers, body.to_string().into_bytes()).await
}

async fn world() -> World {
    let it = World::new().await;
    for metadata in [
        json!({"graph_id": "agent"}),
        json!({"graph_id": "agent", "assistant_id": AGENT}),
        json!({"graph_id": "agent", "assistant_id": "mine"}),
        json!({"graph_id": "other"}),
        json!({"assistant_id": "alone"}),
    ] {
        send(&it, "POST", "/threads", &json!({"metadata": metadata})).await.ok();
    }
    it
}

#[tokio::test]
async fn each_graph_that_threads_name_is_an_assistant() {
    let it = world().await;
    let ask = async |body: Value| send(&it, "POST", "/assistants/search", &body).await.ok();
    let found = ask(json!({"sort_by": "name", "sort_order": "asc"})).await;
    assert_eq!(found.header("x-pagination-total"), Some("3"));
    let all = found.json();
    let named: Vec<_> = all.as_array().unwrap().iter().map(|it| it["graph_id"].clone()).collect();
    assert_eq!(named, ["agent", "agent", "other"]);
    let of_system =
        json!({"graph_id": "agent", "metadata": {"created_by": "system"}, "limit": 100});
    let found = ask(of_system).await.json();
    let agent = &found[0];
    assert_eq!((found.as_array().unwrap().len(), &agent["assistant_id"]), (1, &json!(AGENT)));
    assert_eq!((&agent["name"], &agent["version"]), (&json!("agent"), &json!(1)));
    for (field, empty) in
        [("config", json!({})), ("context", json!({})), ("description", Value::Null)]
    {
        assert_eq!(agent[field], empty, "{field}");
    }
    let page = ask(json!({"limit": 1, "offset": 1})).await;
    assert_eq!(page.header("x-pagination-next"), Some("2"));
    assert_eq!(page.header("x-pagination-total"), Some("3"));
    let some = ask(json!({"graph_id": "other", "select": ["name", "version"]})).await;
    assert_eq!(some.json(), json!([{"name": "other", "version": 1}]));
    let unknown = send(&it, "POST", "/assistants/search", &json!({"select": ["bogus"]})).await;
    assert_eq!((unknown.status, unknown.field()), (422, "select".to_owned()));
    let count = send(&it, "POST", "/assistants/count", &json!({"graph_id": "agent"})).await;
    assert_eq!(count.ok().json(), json!(2));
    let of_bob = [("x-api-key", it.bob.as_str())];
    let none = it.server.send("POST", "/assistants/search", &of_bob, b"{}".to_vec()).await;
    assert_eq!(none.ok().json(), json!([]));
}

#[tokio::test]
async fn a_graph_is_found_however_many_threads_are_newer() {
    let it = World::new().await;
    let metadata = json!({"step": 0, "graph_id": "old", "assistant_id": "aged"});
    let op = json!({"checkpoint": {
        "checkpoint_id": "1", "metadata": metadata, "values": [],
        "skeleton": {"v": 4, "channel_versions": {}, "versions_seen": {}}
    }});
    send(&it, "POST", COMMIT, &commit("first", &[op])).await.ok();
    for _ in 0..1_001 {
        send(&it, "POST", "/threads", &json!({"metadata": {"graph_id": "new"}})).await.ok();
    }
    let body = json!({"sort_by": "name", "sort_order": "asc", "limit": 2});
    let found = send(&it, "POST", "/assistants/search", &body).await.ok();
    assert_eq!(found.header("x-pagination-total"), Some("3"));
    let named: Vec<_> =
        found.json().as_array().unwrap().iter().map(|it| it["graph_id"].clone()).collect();
    assert_eq!(named, ["new", "old"]);
    assert_eq!(send(&it, "POST", "/assistants/count", &json!({})).await.ok().json(), json!(3));
    for id in ["old", "aged"] {
        let found = send(&it, "GET", &format!("/assistants/{id}"), &Value::Null).await.ok().json();
        assert_eq!(found["graph_id"], "old");
    }
}

#[tokio::test]
async fn an_assistant_is_found_by_its_id_or_its_graph_and_only_the_graph_knows_the_rest() {
    let it = world().await;
    for (id, expected) in [(AGENT, AGENT), ("agent", AGENT), ("mine", "mine")] {
        let found = send(&it, "GET", &format!("/assistants/{id}"), &Value::Null).await.ok().json();
        assert_eq!(found["assistant_id"], expected);
        let path = format!("/assistants/{id}/versions");
        for none in [json!({"offset": 1}), json!({"metadata": {"none": 1}})] {
            assert_eq!(send(&it, "POST", &path, &none).await.ok().json(), json!([]), "{none}");
        }
        let bad = send(&it, "POST", &path, &json!({"limit": 0})).await;
        assert_eq!((bad.status, bad.field()), (422, "limit".to_owned()));
        let versions = send(&it, "POST", &path, &json!({"limit": 5})).await.ok().json();
        assert_eq!(versions[0]["assistant_id"], expected);
        assert!(versions[0].get("updated_at").is_none());
        let path = format!("/assistants/{id}/schemas");
        let schemas = send(&it, "GET", &path, &Value::Null).await.ok().json();
        assert_eq!(
            (&schemas["graph_id"], &schemas["state_schema"]),
            (&json!("agent"), &Value::Null)
        );
        for (method, end) in [
            ("GET", "/graph"),
            ("GET", "/subgraphs"),
            ("GET", "/subgraphs/sub"),
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "/latest"),
        ] {
            let answer = send(&it, method, &format!("/assistants/{id}{end}"), &json!({})).await;
            answer.assert_problem(422, "needs_graph");
        }
    }
    send(&it, "POST", "/assistants", &json!({"graph_id": "x"}))
        .await
        .assert_problem(422, "needs_graph");
    for end in ["", "/schemas", "/graph"] {
        let answer = send(&it, "GET", &format!("/assistants/none{end}"), &Value::Null).await;
        answer.assert_problem(404, "assistant_not_found");
    }
}

#[tokio::test]
async fn a_server_is_told_of_graphs_that_no_thread_names() {
    let assistants = vec!["agent".to_owned(), "told".to_owned()];
    let default_graph = Some(DefaultGraph::new("usual".into()));
    let agent_server = AgentServer { assistants, default_graph, ..AgentServer::default() };
    let it = World::serving(Outside { agent_server, ..Outside::default() }).await;
    let search = async |path: &str, body: Value| send(&it, "POST", path, &body).await.ok().json();
    let by_name = json!({"sort_by": "name", "sort_order": "asc"});
    let names = |found: &Value, field: &str| {
        let all = found.as_array().unwrap().iter();
        all.map(|it| it[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let found = search("/assistants/search", by_name.clone()).await;
    assert_eq!(names(&found, "graph_id"), ["agent", "told", "usual"]);
    assert_eq!(names(&found, "assistant_id")[0], AGENT);
    assert_eq!(found[1]["created_at"], "1970-01-01T00:00:00.000000+00:00");
    let usual = names(&found, "assistant_id")[2].clone();
    send(&it, "GET", &format!("/assistants/{usual}/schemas"), &Value::Null).await.ok();
    for (id, metadata) in [
        ("plain", json!({})),
        ("agents", json!({"graph_id": "agent"})),
        ("null", json!({"graph_id": null})),
        ("mine", json!({"assistant_id": "mine"})),
    ] {
        send(&it, "POST", "/threads", &json!({"thread_id": id, "metadata": metadata})).await.ok();
    }
    let shown = send(&it, "GET", "/threads/plain", &Value::Null).await.ok().json();
    assert_eq!(shown["metadata"], json!({"graph_id": "usual", "assistant_id": usual}));
    for (metadata, expected) in [
        (json!({"graph_id": "usual"}), vec!["mine", "plain"]),
        (json!({"assistant_id": usual}), vec!["plain"]),
        (json!({"assistant_id": "mine"}), vec!["mine"]),
        (json!({"graph_id": "agent"}), vec!["agents"]),
        (json!({"graph_id": null}), vec!["null"]),
    ] {
        let body = json!({"metadata": metadata, "sort_by": "thread_id", "sort_order": "asc"});
        assert_eq!(names(&search("/threads/search", body).await, "thread_id"), expected);
        let count = search("/threads/count", json!({"metadata": metadata})).await;
        assert_eq!(count, expected.len());
    }
    // Nothing of it is stored, and /v1 shows what is.
    let own = search("/v1/threads/get", json!({"thread_id": "plain"})).await;
    assert_eq!(own["thread"]["metadata"], json!({}));
    let found = search("/assistants/search", by_name).await;
    assert_eq!(names(&found, "graph_id"), ["agent", "told", "usual", "usual"]);
    assert_ne!(found[2]["created_at"], "1970-01-01T00:00:00.000000+00:00");
}

#[tokio::test]
async fn bad_input_is_named() {
    let it = World::new().await;
    for (body, field) in [
        (json!({"limit": 0}), "limit"),
        (json!({"offset": -1}), "offset"),
        (json!({"sort_by": "size"}), "sort_by"),
        (json!({"sort_order": "up"}), "sort_order"),
        (json!({"metadata": []}), "metadata"),
        (json!({"graph_id": 1}), "graph_id"),
    ] {
        let answer = send(&it, "POST", "/assistants/search", &body).await;
        assert_eq!((answer.problem(), answer.field()), ((422, "invalid".into()), field.into()));
    }
}
