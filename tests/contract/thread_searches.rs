//! Tests searches and counts of threads by title, metadata and the other conditions.

use std::collections::BTreeSet;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::json::exact_json;
use threadkeep::domain::threads::details_filter::{DetailsFilter, Words, contained};
use threadkeep::domain::threads::thread::{ThreadQuery, ThreadSort, TimeRange};

use crate::commands::Put;
use crate::granted_callers::subject;
use crate::harness::{Harness, commit, masters};
use crate::snapshot_calls::{Desk, check_sound, in_place, into};
use crate::thread_details::{create, details, thread};

pub fn having(metadata: &str) -> ThreadQuery {
    let metadata = contained("metadata", metadata.as_bytes()).unwrap();
    ThreadQuery { details: DetailsFilter { metadata, ..DetailsFilter::default() }, ..everything() }
}

pub fn saying(text: &str) -> ThreadQuery {
    let words = Some(Words::new(text.to_owned()).unwrap());
    ThreadQuery {
        details: DetailsFilter { metadata: Vec::new(), words, ..DetailsFilter::default() },
        ..everything()
    }
}

pub fn everything() -> ThreadQuery {
    ThreadQuery {
        limit: 1_000,
        sort: ThreadSort::ThreadId,
        ascending: true,
        ..ThreadQuery::default()
    }
}

/// Ids of what is found, which is as many as are counted.
pub async fn ids_for(h: &Harness, caller: &Caller, query: &ThreadQuery) -> Vec<String> {
    let page = h.storage.list_threads(caller, query).await.unwrap();
    let ids: Vec<String> = page.threads.into_iter().map(|it| it.thread_id).collect();
    let count = h.storage.count_threads(caller, query).await.unwrap();
    assert_eq!((page.next.is_none(), count), (true, ids.len() as u64), "{query:?}");
    ids
}

pub async fn ids(h: &Harness, query: &ThreadQuery) -> Vec<String> {
    ids_for(h, &h.caller, query).await
}

/// Metadata of every kind, with values that no index holds whole.
fn metadata_of_all_kinds() -> Vec<String> {
    let long = "x".repeat(300);
    let many = (0..40).map(|it| it.to_string()).collect::<Vec<_>>().join(",");
    let wide = (0..2_000).map(|it| format!("\"k{it}\":{it}")).collect::<Vec<_>>().join(",");
    [
        "{}",
        r#"{"a":1}"#,
        r#"{"a":1.0,"b":"x"}"#,
        r#"{"a":"1"}"#,
        r#"{"a":true}"#,
        r#"{"a":null}"#,
        r#"{"a":{"b":{"c":1,"d":2}}}"#,
        r#"{"a":[1,2]}"#,
        r#"{"a":[]}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\u0000"}"#,
        r#"{"a":1180591620717411303424}"#,
        r#"{"a":0}"#,
        r#"{"a":-0}"#,
        r#"{"a":10e-1}"#,
        r#"{"a":"1.0"}"#,
        r#"{"x\"y":1,"x.y":"z","$":2,"":3,"[0]":4}"#,
        r#"{"graph_id":"mine"}"#,
        r#"{"graph_id":7}"#,
        &format!(r#"{{"a":"{long}"}}"#),
        &format!(r#"{{"a":"{long}y","b":"x"}}"#),
        &format!(r#"{{"a":[{many}]}}"#),
        &format!(r#"{{"a":{{"b":"{long}"}}}}"#),
        &format!(r#"{{"a":1,{wide}}}"#),
        &format!(r#"{{"graph_id":"mine",{wide}}}"#),
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The rule in words: objects field by field, all else as a whole.
fn contains(document: &serde_json::Value, wanted: &serde_json::Value) -> bool {
    match (document, wanted) {
        (serde_json::Value::Object(have), serde_json::Value::Object(want)) => {
            want.iter().all(|(name, it)| have.get(name).is_some_and(|other| contains(other, it)))
        }
        (document, wanted) => exact_json::equal(document, wanted),
    }
}

pub async fn a_search_finds_by_metadata_as_a_model_does(h: Harness) {
    let all = metadata_of_all_kinds();
    for (number, metadata) in all.iter().enumerate() {
        let id = format!("{number:02}");
        // Every third one has checkpoints that say something, too.
        if number % 3 == 0 {
            let put = Put::new("1").metadata(r#"{"graph_id":"agent","user_id":"ann"}"#);
            h.commit(commit(&id, vec![put.op()])).await.unwrap();
        }
        details(&h, &id, "a title", metadata).await;
    }
    h.put(Put::new("1").metadata(r#"{"graph_id":"agent"}"#)).await;
    let mut asked = all.clone();
    asked.extend(
        [
            r#"{"a":{}}"#,
            r#"{"a":{"b":{"c":1.00}}}"#,
            r#"{"a":[2,1]}"#,
            r#"{"graph_id":"agent"}"#,
            r#"{"graph_id":"agent","a":1}"#,
            r#"{"graph_id":"agent","user_id":"ann"}"#,
            r#"{"user_id":"ann","b":"x"}"#,
            r#"{"user_id":null}"#,
            r#"{"k1999":1999}"#,
            r#"{"none":1}"#,
            r#"{"a":0.0}"#,
            r#"{"a":1e0}"#,
            r#"{"x\"y":1}"#,
            r#"{"x.y":"z"}"#,
            r#"{"$":2,"[0]":4}"#,
            r#"{"":3}"#,
            r#"{"x":{"y":"z"}}"#,
            r#"{"graph_id":"\u0000"}"#,
            r#"{"graph_id":"\ud800"}"#,
        ]
        .map(str::to_owned),
    );
    for wanted in &asked {
        let parsed = exact_json::parse("x", wanted.as_bytes()).unwrap();
        let mut expected = Vec::new();
        for id in ids(&h, &everything()).await {
            let metadata = thread(&h, &id).await.unwrap().shown_metadata().unwrap();
            if contains(&exact_json::parse("x", metadata.as_bytes()).unwrap(), &parsed) {
                expected.push(id);
            }
        }
        // A condition has at most so many values.
        if contained("metadata", wanted.as_bytes()).is_ok() {
            assert_eq!(ids(&h, &having(wanted)).await, expected, "{wanted:.80}");
        }
    }
    check_sound(&h).await;
}

pub async fn a_search_finds_parts_of_titles_and_beginnings_of_ids(h: Harness) {
    for (id, title) in [("1", "Größe und 100%"), ("2", "a_b"), ("größe", "x"), ("4", "ÄRGER")]
    {
        details(&h, id, title, "{}").await;
    }
    h.put(Put::new("1")).await;
    for (text, expected) in [
        ("GRÖ", vec!["1"]),
        ("grö", vec!["1", "größe"]),
        ("100%", vec!["1"]),
        ("%", vec!["1"]),
        ("_", vec!["2"]),
        ("ärger", vec!["4"]),
        ("t", vec!["t"]),
        ("4", vec!["4"]),
        ("nothing", vec![]),
    ] {
        assert_eq!(ids(&h, &saying(text)).await, expected, "{text}");
    }
}

pub async fn conditions_narrow_down_together(h: Harness) {
    for (id, kind) in [("a/1", "x"), ("a/2", "x"), ("b", "x"), ("c", "y")] {
        // The clock of SQLite counts milliseconds.
        tokio::time::sleep(Duration::from_millis(2)).await;
        details(&h, id, &format!("Title of {id}"), &format!(r#"{{"kind":"{kind}"}}"#)).await;
    }
    let third = thread(&h, "b").await.unwrap();
    let of_x = having(r#"{"kind":"x"}"#);
    let narrowed = |change: &dyn Fn(&mut ThreadQuery)| {
        let mut query = of_x.clone();
        change(&mut query);
        query
    };
    assert_eq!(ids(&h, &of_x).await, ["a/1", "a/2", "b"]);
    let with_words = narrowed(&|it| it.details.words = saying("OF A").details.words);
    assert_eq!(ids(&h, &with_words).await, ["a/1", "a/2"]);
    assert_eq!(ids(&h, &narrowed(&|it| it.prefix = Some("a/".into()))).await, ["a/1", "a/2"]);
    let some = |names: &[&str]| Some(names.iter().map(|it| (*it).to_owned()).collect());
    let named = narrowed(&|it| it.ids = some(&["b", "c", "none"]));
    assert_eq!(ids(&h, &named).await, ["b"]);
    assert!(ids(&h, &narrowed(&|it| it.ids = some(&[]))).await.is_empty());
    assert!(ids(&h, &narrowed(&|it| it.owner = Some("ann".into()))).await.is_empty());
    let since = TimeRange { after: Some(third.created_at), before: None };
    assert_eq!(ids(&h, &narrowed(&|it| it.created = since)).await, ["b"]);
    let until = TimeRange { after: None, before: Some(third.created_at) };
    assert_eq!(ids(&h, &narrowed(&|it| it.created = until)).await, ["a/1", "a/2"]);
    let since = TimeRange { after: Some(third.updated_at), before: None };
    assert_eq!(ids(&h, &narrowed(&|it| it.updated = since)).await, ["b"]);
    let until = TimeRange { after: None, before: Some(third.updated_at) };
    assert_eq!(ids(&h, &narrowed(&|it| it.updated = until)).await, ["a/1", "a/2"]);
    let ann = subject("ann");
    h.storage.create_thread(&ann, &create("d", None, Some(r#"{"kind":"x"}"#))).await.unwrap();
    assert_eq!(ids(&h, &narrowed(&|it| it.owner = Some("ann".into()))).await, ["d"]);
}

pub async fn pages_of_a_search_neither_skip_nor_repeat(h: Harness) {
    for number in 0..23 {
        let kind = if number % 2 == 0 { "even" } else { "odd" };
        let long = if number % 3 == 0 { "y".repeat(300) } else { "y".into() };
        let metadata = format!(r#"{{"kind":"{kind}","text":"{long}"}}"#);
        details(&h, &format!("{number:02}"), kind, &metadata).await;
    }
    for (sort, ascending) in [
        (ThreadSort::Created, true),
        (ThreadSort::Created, false),
        (ThreadSort::Updated, false),
        (ThreadSort::ThreadId, true),
        (ThreadSort::ThreadId, false),
    ] {
        for asked in [having(r#"{"kind":"even"}"#), saying("EVEN"), having(r#"{"text":"y"}"#)] {
            let whole = ThreadQuery { sort, ascending, ..asked };
            let expected = ids(&h, &whole).await;
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let query = ThreadQuery { limit: 3, after, ..whole.clone() };
                let page = h.storage.list_threads(&h.caller, &query).await.unwrap();
                assert!(page.threads.len() <= 3);
                seen.extend(page.threads.into_iter().map(|it| it.thread_id));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(seen, expected, "{whole:?}");
            assert!(expected.len() > 9);
        }
    }
}

pub async fn a_page_passes_over_as_many_as_are_asked(h: Harness) {
    for number in 0..12 {
        let kind = if number % 2 == 0 { "even" } else { "odd" };
        details(&h, &format!("{number:02}"), kind, &format!(r#"{{"kind":"{kind}"}}"#)).await;
    }
    for sort in [
        ThreadSort::Created,
        ThreadSort::Updated,
        ThreadSort::StateUpdated,
        ThreadSort::Status,
        ThreadSort::ThreadId,
    ] {
        for (asked, ascending) in
            [(everything(), true), (everything(), false), (having(r#"{"kind":"even"}"#), false)]
        {
            let whole = ThreadQuery { sort, ascending, ..asked };
            let all = ids(&h, &whole).await;
            for offset in [0, 1, 5, 11, 12, 30] {
                let query = ThreadQuery { limit: 4, offset, ..whole.clone() };
                let page = h.storage.list_threads(&h.caller, &query).await.unwrap();
                let found: Vec<String> = page.threads.into_iter().map(|it| it.thread_id).collect();
                let behind = all.iter().skip(offset);
                assert_eq!(found, behind.clone().take(4).cloned().collect::<Vec<_>>(), "{query:?}");
                assert_eq!(page.next.is_some(), behind.count() > 4, "{query:?}");
            }
        }
    }
}

/// Their metadata is still there.
pub async fn counts_leave_out_what_was_deleted_and_what_snapshots_keep(h: Harness) {
    let desk = Desk::on(&h).await;
    let kept = r#"{"kind":"x"}"#;
    for id in ["a", "b", "c"] {
        h.commit(commit(id, vec![Put::new("1").op()])).await.unwrap();
        details(&h, id, "a title", kept).await;
    }
    desk.taken(&h, "s", &["a", "b"]).await;
    assert_eq!(ids(&h, &having(kept)).await, ["a", "b", "c"]);
    desk.restore(&h.caller, &into("s", &[("a", "copy")])).await.unwrap();
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(ids(&h, &having(kept)).await, ["a", "b", "c", "copy"]);
    // A deletion that its server did not finish.
    let garbage = "insert into garbage (tenant, thread_key, scope_id, created_at)
        select tenant, thread_key, scope_id, 9000000000000000 from threads where thread_id = 'c'";
    h.sql(garbage).await;
    h.sql("delete from threads where thread_id = 'c'").await;
    // Four threads, and two in each snapshot: the restore in place keeps what it replaced.
    assert_eq!(h.count("select count(*) from thread_details").await, 8);
    assert_eq!(ids(&h, &having(kept)).await, ["a", "b", "copy"]);
}

pub async fn a_page_ends_where_metadata_is_many_bytes(h: Harness) {
    let metadata = format!(r#"{{"kind":"x","text":"{}"}}"#, "z".repeat(60_000));
    for number in 0..100 {
        let id = format!("{number:02}");
        h.storage.create_thread(&h.caller, &create(&id, None, Some(&metadata))).await.unwrap();
    }
    for asked in [everything(), having(r#"{"kind":"x"}"#), saying("0")] {
        let (mut seen, mut pages, mut after) = (BTreeSet::new(), 0, None);
        loop {
            let query = ThreadQuery { after, ..asked.clone() };
            let page = h.storage.list_threads(&h.caller, &query).await.unwrap();
            let bytes: usize = page.threads.iter().map(|it| it.details.metadata.len()).sum();
            assert!(bytes <= (4 << 20) + metadata.len(), "{bytes} bytes on one page");
            seen.extend(page.threads.into_iter().map(|it| it.thread_id));
            pages += 1;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let expected = if asked.details.words.is_some() { (10, 1) } else { (100, 2) };
        assert_eq!((seen.len(), pages), expected, "{asked:?}");
        assert_eq!(h.storage.count_threads(&h.caller, &asked).await.unwrap(), expected.0 as u64);
    }
}

/// More matches than are found by the index of metadata.
pub async fn wide_metadata_is_walked_and_counted(h: Harness) {
    const MANY: usize = 2_100;
    for number in 0..MANY {
        let id = format!("{number:04}");
        let kind = if number % 700 == 0 { "rare" } else { "many" };
        let metadata = format!(r#"{{"kind":"{kind}","all":true}}"#);
        h.storage.create_thread(&h.caller, &create(&id, None, Some(&metadata))).await.unwrap();
    }
    for (metadata, expected) in
        [(r#"{"all":true}"#, MANY), (r#"{"kind":"rare"}"#, 3), (r#"{"kind":"rare","all":true}"#, 3)]
    {
        let query = having(metadata);
        assert_eq!(
            h.storage.count_threads(&h.caller, &query).await.unwrap(),
            expected as u64,
            "{metadata}"
        );
        let asked = ThreadQuery { limit: 2, sort: ThreadSort::ThreadId, ascending: false, ..query };
        // The second time it is known that there are many.
        for _ in 0..2 {
            let page = h.storage.list_threads(&h.caller, &asked).await.unwrap();
            let found: Vec<&str> = page.threads.iter().map(|it| it.thread_id.as_str()).collect();
            let last = if expected == MANY { ["2099", "2098"] } else { ["1400", "0700"] };
            assert_eq!((found.as_slice(), page.next.is_some()), (&last[..], true), "{metadata}");
        }
    }
}

pub async fn encrypted_details_are_searched_one_by_one(h: Harness) {
    let h = if masters().is_some() { h } else { h.encrypting(None).await };
    details(&h, "t", "A secret", r#"{"n":1}"#).await;
    assert_eq!(
        h.count(
            "select count(*) from thread_details where title_folded is null and projection is null"
        )
        .await,
        1
    );
    assert_eq!(ids(&h, &having(r#"{"n":1}"#)).await, ["t"]);
    assert_eq!(ids(&h, &saying("SECRET")).await, ["t"]);
}
