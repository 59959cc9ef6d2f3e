//! Tests which graphs the checkpoints of threads name, for lists of assistants.

use threadkeep::domain::caller::Caller;
use threadkeep::domain::tokens::grants::Actions;

use crate::commands::Put;
use crate::granted_callers::{exact, owned, prefix, subject, with};
use crate::harness::{Harness, commit};

/// `graph assistant` of each, in their order.
async fn named(h: &Harness, caller: &Caller, limit: usize) -> Vec<String> {
    let mut found = h.storage.list_named_graphs(caller, limit).await.unwrap();
    found.sort_by(|a, b| (&a.graph_id, &a.assistant_id).cmp(&(&b.graph_id, &b.assistant_id)));
    let text = |it: Option<String>| it.unwrap_or_else(|| "-".to_owned());
    found.into_iter().map(|it| format!("{} {}", it.graph_id, text(it.assistant_id))).collect()
}

pub async fn each_graph_and_assistant_of_checkpoints_is_told_once(h: Harness) {
    for (id, metadata) in [
        ("1", r#"{"graph_id":"agent"}"#),
        ("2", r#"{"graph_id":"agent","assistant_id":"mine"}"#),
        ("a:3", r#"{"graph_id":"agent","assistant_id":"mine"}"#),
        ("a:4", r#"{"graph_id":"Ändern","assistant_id":"yours"}"#),
        ("a:5", r#"{"graph_id":"z"}"#),
        ("6", r#"{"assistant_id":"alone"}"#),
        ("7", "{}"),
    ] {
        let put = Put::new("1").metadata(metadata).sets("a", "1", "x");
        h.commit(commit(id, vec![put.op()])).await.unwrap();
    }
    let all = ["agent -", "agent mine", "z -", "Ändern yours"];
    assert_eq!(named(&h, &h.caller, 100).await, all);
    let limited = named(&h, &h.caller, 2).await;
    assert!(limited.len() <= 2 && limited.iter().all(|it| all.contains(&it.as_str())));
    // What callers may not read they are not told of.
    let below = with("below", vec![prefix("a:", Actions::ALL)]);
    let of_tenant = |caller: Caller| Caller { tenant: h.caller.tenant.clone(), ..caller };
    assert_eq!(named(&h, &of_tenant(below), 100).await, ["agent mine", "z -", "Ändern yours"]);
    let some = with("some", vec![exact("1", Actions::ALL), exact("a:5", Actions::ALL)]);
    assert_eq!(named(&h, &of_tenant(some.clone()), 100).await, ["agent -", "z -"]);
    assert_eq!(named(&h, &of_tenant(some), 1).await, ["agent -"]);
    let ann = Caller { subject: Some("ann".into()), ..with("ann", vec![owned(Actions::ALL)]) };
    assert_eq!(named(&h, &of_tenant(ann.clone()), 100).await, [""; 0]);
    h.sql("update threads set owner = 'ann' where thread_id = 'a:4'").await;
    assert_eq!(named(&h, &of_tenant(ann), 100).await, ["Ändern yours"]);
    let other = Caller::of_tenant("other");
    assert_eq!(named(&h, &other, 100).await, [""; 0]);
    assert_eq!(named(&h, &of_tenant(subject("bob")), 100).await, [""; 0]);
}

pub async fn times_are_those_of_the_first_and_the_last_thread(h: Harness) {
    for id in ["1", "2", "3"] {
        let put = Put::new("1").metadata(r#"{"graph_id":"agent"}"#).sets("a", "1", "x");
        h.commit(commit(id, vec![put.op()])).await.unwrap();
        let (at, changed) = (format!("{id}0"), format!("{id}5"));
        h.sql(&format!(
            "update threads set created_at = {at}, updated_at = {changed} where thread_id = '{id}'"
        ))
        .await;
    }
    let some = with("some", ["1", "2", "3"].map(|it| exact(it, Actions::ALL)).to_vec());
    let some = Caller { tenant: h.caller.tenant.clone(), ..some };
    for caller in [&h.caller, &some] {
        let found = h.storage.list_named_graphs(caller, 10).await.unwrap();
        let times: Vec<_> = found.iter().map(|it| (it.created_at, it.updated_at)).collect();
        assert_eq!(times, [(10, 35)]);
    }
}
