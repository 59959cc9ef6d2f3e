//! Tests that threads without a graph are found as of the default one, as their metadata shows it.

use threadkeep::domain::threads::graphs::DefaultGraph;

use crate::commands::Put;
use crate::harness::{Harness, commit};
use crate::thread_details::create;
use crate::thread_searches::{everything, having, ids};

pub async fn threads_without_a_graph_count_as_of_the_default_one(h: Harness) {
    let default = DefaultGraph::new("usual".into());
    let uuid = default.assistant_id.clone();
    for (at, set) in [
        None,
        Some("{}"),
        Some(r#"{"a":1}"#),
        Some(r#"{"graph_id":"usual"}"#),
        Some(r#"{"graph_id":"mine"}"#),
        Some(r#"{"graph_id":null}"#),
        Some(r#"{"assistant_id":"mine"}"#),
    ]
    .into_iter()
    .enumerate()
    {
        for said in ["{}", r#"{"graph_id":"said"}"#, r#"{"assistant_id":"said"}"#] {
            let id = format!("{at} {said}");
            h.storage.create_thread(&h.caller, &create(&id, None, set)).await.unwrap();
            if said != "{}" {
                let put = Put::new("1").metadata(said).sets("a", "1", "x");
                h.commit(commit(&id, vec![put.op()])).await.unwrap();
            }
        }
    }
    let all = h.storage.list_threads(&h.caller, &everything()).await.unwrap().threads;
    assert_eq!(all.len(), 21);
    for (wanted, least) in [
        (r#"{"graph_id":"usual"}"#.to_owned(), 10),
        (r#"{"graph_id":"said"}"#.to_owned(), 4),
        (r#"{"graph_id":"other"}"#.to_owned(), 0),
        (r#"{"graph_id":null}"#.to_owned(), 3),
        (format!(r#"{{"assistant_id":"{uuid}"}}"#), 3),
        (r#"{"assistant_id":"said"}"#.to_owned(), 6),
        (format!(r#"{{"assistant_id":"{uuid}","graph_id":"usual"}}"#), 3),
        (r#"{"graph_id":"usual","a":1}"#.to_owned(), 2),
        (r#"{"user_id":"usual"}"#.to_owned(), 0),
    ] {
        let mut query = having(&wanted);
        query.details.default_graph = Some(default.clone());
        let matching = all.iter().filter(|it| query.details.matches(it).unwrap());
        let expected: Vec<String> = matching.map(|it| it.thread_id.clone()).collect();
        assert!(expected.len() >= least, "{wanted}: {expected:?}");
        assert_eq!(ids(&h, &query).await, expected, "{wanted}");
    }
}
