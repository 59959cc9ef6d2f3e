//! Tests that filters in statements find exactly what the evaluator finds, for any documents and conditions.

use std::collections::BTreeSet;

use proptest::prelude::*;
use threadkeep::domain::Error;
use threadkeep::domain::json::exact_json;
use threadkeep::domain::json::filter::Filter;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::store::item::{ItemOp, ItemSort, SearchItems, SearchMode, Select};
use threadkeep::domain::store::words::TextQuery;

use crate::harness::Harness;
use crate::item_search::{runner, sample};
use crate::store::{Store, keys, put, scope, search};

fn json() -> impl Strategy<Value = String> {
    let numbers =
        ["0", "-1", "2", "2.0", "9", "10", "1e1", "100", "1180591620717411303424", "-0.0", "0.5"];
    let texts = [
        "", "2", "10", "9", "a", "b", "\\u0000", "\\u0001", "\\ud800", "\\ud7ff", "\\ue000", "ü",
        "\\ufdd0",
    ];
    let long = ["x".repeat(300), format!("{}y", "x".repeat(299)), "x".repeat(256)];
    let scalar = prop_oneof![
        prop::sample::select(numbers.to_vec()).prop_map(str::to_owned),
        prop::sample::select(texts.to_vec()).prop_map(|it| format!("\"{it}\"")),
        prop::sample::select(long.to_vec()).prop_map(|it| format!("\"{it}\"")),
        prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned),
    ];
    scalar.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|it| format!("[{}]", it.join(","))),
            prop::collection::vec((name(), inner.clone()), 0..3).prop_map(|it| object(&it)),
            inner.prop_map(|it| format!("[{}]", vec![it; 33].join(","))),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "a.b", "c", "\\u0000", "\\ud800"]).prop_map(str::to_owned)
}

fn object(fields: &[(String, String)]) -> String {
    let mut seen = BTreeSet::new();
    let fields = fields.iter().filter(|(name, _)| seen.insert(name.clone()));
    let fields: Vec<String> = fields.map(|(name, it)| format!("\"{name}\":{it}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn test() -> impl Strategy<Value = String> {
    let order = prop::sample::select(vec!["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]);
    let leaf = prop_oneof![
        4 => json(),
        4 => (order, json()).prop_map(|(order, it)| format!("{{\"{order}\":{it}}}")),
        1 => (prop::bool::ANY, prop::collection::vec(json(), 0..3)).prop_map(|(within, it)| {
            format!("{{\"{}\":[{}]}}", if within { "$in" } else { "$nin" }, it.join(","))
        }),
        1 => prop::bool::ANY.prop_map(|it| format!("{{\"$exists\":{it}}}")),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (name(), inner.clone()).prop_map(|(name, it)| format!("{{\"{name}\":{it}}}")),
            inner.prop_map(|it| if it.starts_with('{') {
                format!("{{\"$not\":{it}}}")
            } else {
                it
            }),
        ]
    })
}

fn filter() -> impl Strategy<Value = String> {
    let field = prop::collection::vec((name(), test()), 1..3).prop_map(|it| object(&it));
    field.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (prop::bool::ANY, prop::collection::vec(inner.clone(), 1..3)).prop_map(|(all, it)| {
                format!("{{\"{}\":[{}]}}", if all { "$and" } else { "$or" }, it.join(","))
            }),
            inner.prop_map(|it| format!("{{\"$not\":{it}}}")),
        ]
    })
}

/// The evaluator is the model: statements find exactly what it finds.
pub async fn filters_find_what_the_model_finds(h: Harness) {
    let store = Store::on(&h).await;
    let mut runner = runner();
    let documents = prop::collection::vec((name(), json()), 0..4).prop_map(|it| object(&it));
    let mut stored = Vec::new();
    for at in 0..60 {
        let document = sample(&documents, &mut runner);
        store.put(&["n"], &format!("{at:03}"), &document).await;
        let parsed = exact_json::parse("x", document.as_bytes()).unwrap();
        stored.push((format!("{at:03}"), parsed, document));
    }
    let mut matched = 0;
    for _ in 0..60 {
        let filter = sample(&filter(), &mut runner);
        // Some shapes have no meaning, such as operators beside fields: they are refused before any storage.
        let Ok(model) = Filter::read(filter.as_bytes()) else { continue };
        let holds = |it: &serde_json::Value| model.as_ref().is_none_or(|model| model.matches(it));
        let expected: Vec<String> =
            stored.iter().filter(|it| holds(&it.1)).map(|it| it.0.clone()).collect();
        matched += expected.len();
        let mut query = search(&["n"], &filter);
        query.sort = ItemSort::Key;
        assert_eq!(keys(&store.search(query.clone()).await.items), expected, "{filter}");
        assert_eq!(store.count(scope(&["n"], &filter)).await, expected.len() as u64, "{filter}");
        for (limit, offset) in [(1, 0), (3, 2), (2, expected.len() / 2)] {
            (query.limit, query.offset) = (limit, offset);
            query.select = Select::Nothing;
            let page = store.search(query.clone()).await;
            let rest = expected.iter().skip(offset).take(limit);
            assert_eq!(
                keys(&page.items),
                rest.cloned().collect::<Vec<_>>(),
                "{filter} {limit} {offset}"
            );
            assert_eq!(
                page.next.is_some(),
                expected.len() > limit + offset,
                "{filter} {limit} {offset}"
            );
        }
        (query.limit, query.offset) = (7, 0);
        assert_eq!(keys(&store.scan(query).await), expected, "{filter}");
    }
    assert!(matched > 200, "only {matched} matches");
}

/// Every operator on every pair of values, at the top, on a path, inside of an object and denied.
pub async fn every_operator_on_every_pair_of_values_is_as_in_the_model(h: Harness) {
    let store = Store::on(&h).await;
    let long = format!("\"{}\"", "x".repeat(300));
    let values = [
        "null",
        "true",
        "false",
        "0",
        "-0.0",
        "2",
        "2.0",
        "9",
        "10",
        "1e1",
        "100",
        "-1",
        "0.5",
        "1180591620717411303424",
        "1180591620717411303425",
        r#""""#,
        r#""2""#,
        r#""10""#,
        r#""9""#,
        r#""a""#,
        r#""\u0000""#,
        r#""\u0001""#,
        r#""\ud7ff""#,
        r#""\ud800""#,
        r#""\ue000""#,
        r#""\ud83d\ude00""#,
        &long,
        "[]",
        "[2]",
        "[2,\"a\"]",
        "{}",
        r#"{"b":2}"#,
        r#"{"b":2.0,"c":null}"#,
    ];
    let mut stored = Vec::new();
    let mut ops = Vec::new();
    for (at, value) in values.iter().enumerate() {
        for (form, text) in [
            ("top", format!(r#"{{"a":{value}}}"#)),
            ("dot", format!(r#"{{"a.b":{value}}}"#)),
            ("deep", format!(r#"{{"a":{{"b":{value}}}}}"#)),
        ] {
            let key = format!("{form}-{at:02}");
            stored.push((key.clone(), exact_json::parse("x", text.as_bytes()).unwrap()));
            ops.push(put(&["n"], &key, &text));
        }
    }
    store.batch(ops, true).await.unwrap();
    stored.sort_by(|a, b| a.0.cmp(&b.0));
    let operators = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];
    for value in values {
        let tests = operators.iter().map(|it| format!(r#"{{"{it}":{value}}}"#));
        let lists = ["$in", "$nin"].iter().map(|it| format!(r#"{{"{it}":[{value},9]}}"#));
        for test in tests.chain(lists) {
            let forms = [
                format!(r#"{{"a":{test}}}"#),
                format!(r#"{{"a.b":{test}}}"#),
                format!(r#"{{"a":{{"b":{test}}}}}"#),
                format!(r#"{{"$not":{{"a":{test}}}}}"#),
            ];
            for filter in forms {
                let model = Filter::read(filter.as_bytes()).unwrap().unwrap();
                let expected = stored.iter().filter(|it| model.matches(&it.1)).map(|it| &it.0);
                let mut query = search(&["n"], &filter);
                (query.sort, query.select) = (ItemSort::Key, Select::Nothing);
                let found = keys(&store.search(query).await.items);
                assert_eq!(
                    found.iter().collect::<Vec<_>>(),
                    expected.collect::<Vec<_>>(),
                    "{filter}"
                );
            }
        }
    }
}

/// So many items that PostgreSQL asks its index of fields.
pub async fn filters_over_many_items_find_what_the_model_finds(h: Harness) {
    let store = Store::on(&h).await;
    let mut runner = runner();
    let documents = prop::collection::vec((name(), json()), 1..4).prop_map(|it| object(&it));
    let mut stored = Vec::new();
    for part in 0..5 {
        let mut ops = Vec::new();
        for at in 0..450 {
            let (key, document) = (format!("{part}-{at:03}"), sample(&documents, &mut runner));
            ops.push(put(&["n"], &key, &document));
            stored.push((key, exact_json::parse("x", document.as_bytes()).unwrap()));
        }
        store.batch(ops, true).await.unwrap();
    }
    store.batch(vec![put(&["m"], "elsewhere", r#"{"a":2,"b":null}"#)], true).await.unwrap();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(300));
    let fixed = ["{\"a\":2}", "{\"a.b\":null}", "{\"a.b\":10,\"c\":{\"$exists\":false}}", &long]
        .map(str::to_owned)
        .into_iter();
    let lists = (0..4).map(|_| {
        let values = prop::collection::vec(json(), 1..4);
        format!(
            "{{\"c\":{{\"$in\":[{}]}}}}",
            sample(&values, &mut crate::item_search::runner()).join(",")
        )
    });
    let fields = (name(), json()).prop_map(|(name, it)| format!("{{\"{name}\":{{\"$eq\":{it}}}}}"));
    let drawn: Vec<String> = (0..12).map(|_| sample(&fields, &mut runner)).collect();
    let mut matched = 0;
    for filter in fixed.chain(lists).chain(drawn) {
        let model = Filter::read(filter.as_bytes()).unwrap().unwrap();
        let expected: Vec<&String> =
            stored.iter().filter(|it| model.matches(&it.1)).map(|it| &it.0).collect();
        matched += expected.len();
        let mut query = search(&["n"], &filter);
        (query.sort, query.limit) = (ItemSort::Key, 100);
        assert_eq!(keys(&store.scan(query).await).iter().collect::<Vec<_>>(), expected, "{filter}");
        assert_eq!(store.count(scope(&["n"], &filter)).await, expected.len() as u64, "{filter}");
    }
    assert!(matched > 100, "only {matched} matches");
}

/// Encrypted values are looked into one by one, and so many at most.
pub async fn a_filter_opens_so_many_encrypted_items(h: Harness) {
    let h = h.encrypting(None).await;
    let store = Store::on(&h).await;
    let max = usize::try_from(LIMITS.encrypted_candidates_max).unwrap();
    let all: Vec<usize> = (0..max + 2).collect();
    for some in all.chunks(500) {
        let puts = some.iter().map(|at| {
            let value = format!("{{\"at\":{},\"odd\":{}}}", at, at % 2);
            put(&["many"], &format!("{at:06}"), &value)
        });
        store.batch(puts.collect(), true).await.unwrap();
    }
    store.put(&["few"], "k", r#"{"at":-1}"#).await;
    let by_key = |filter: &str, limit| SearchItems {
        sort: ItemSort::Key,
        limit,
        ..search(&["many"], filter)
    };
    assert_eq!(keys(&store.search(by_key(r#"{"odd":1}"#, 2)).await.items), ["000001", "000003"]);
    let last = format!("{{\"at\":{}}}", max - 1);
    // Whether there is another match lies behind the limit.
    for filter in [&last, r#"{"at":-1}"#] {
        let refused = store.run(ItemOp::Search(by_key(filter, 1))).await.unwrap_err();
        assert!(
            matches!(refused, Error::SearchNeedsPlaintext { limit, .. } if limit == max as u64)
        );
        let refused = store.run(ItemOp::Count(scope(&["many"], filter))).await.unwrap_err();
        assert!(matches!(refused, Error::SearchNeedsPlaintext { .. }));
    }
    // Words are made from opened values, too.
    crate::item_words::declare(&store, &[], &["$"]).await;
    let words = |prefix: &[&str]| {
        let mode = SearchMode::Text(TextQuery::new("tea").unwrap());
        ItemOp::Search(SearchItems { mode, sort: ItemSort::Score, ..search(prefix, "{}") })
    };
    let refused = store.run(words(&["many"])).await.unwrap_err();
    assert!(matches!(refused, Error::SearchNeedsPlaintext { field: "query", .. }), "{refused}");
    assert!(store.run(words(&["few"])).await.is_ok());
    assert_eq!(store.count(scope(&["many"], "{}")).await, max as u64 + 2);
    assert_eq!(keys(&store.search(search(&["few"], r#"{"at":-1}"#)).await.items), ["k"]);
}

/// What the index shows of a value is less than the value: where it matters, the value is asked.
pub async fn what_a_mark_hides_is_looked_for_in_the_value(h: Harness) {
    let store = Store::on(&h).await;
    let (long, other) = ("x".repeat(300), format!("{}y", "x".repeat(299)));
    let many = vec!["1"; 33].join(",");
    let wide: Vec<String> = (0..2_000).map(|at| format!("\"k{at}\":{at}")).collect();
    let documents = [
        format!(r#"{{"a":["{long}"],"far":"{long}"}}"#),
        format!(r#"{{"a":{{"b":"{long}"}}}}"#),
        format!(r#"{{"a":"{long}","b":1}}"#),
        format!(r#"{{"a":[{many}],"b":2}}"#),
        format!(r#"{{"a":{{"b":[{many}],"c":["{other}"]}}}}"#),
        format!(r#"{{"a":1,"far":"{long}"}}"#),
        format!("{{{}}}", wide.join(",")),
    ];
    for (at, document) in documents.iter().enumerate() {
        store.put(&["n"], &at.to_string(), document).await;
    }
    for filter in [
        format!(r#"{{"a":{{"$ne":["{other}"]}}}}"#),
        format!(r#"{{"a":{{"b":{{"$ne":"{other}"}}}}}}"#),
        format!(r#"{{"a.b":{{"$ne":"{other}"}}}}"#),
        format!(r#"{{"a":{{"$nin":["{other}",["{other}"]]}}}}"#),
        format!(r#"{{"$not":{{"a":["{other}"]}}}}"#),
        format!(r#"{{"$or":[{{"a.c":{{"$ne":["{long}"]}}}},{{"b":{{"$gte":2}}}}]}}"#),
        r#"{"a":{"$gt":"x"}}"#.to_owned(),
        r#"{"a.b":{"$exists":true}}"#.to_owned(),
        r#"{"b":{"$gte":1}}"#.to_owned(),
        r#"{"a":{"$gte":1}}"#.to_owned(),
        r#"{"k7":{"$gte":7}}"#.to_owned(),
    ] {
        let model = Filter::read(filter.as_bytes()).unwrap().unwrap();
        let parsed = |it: &String| exact_json::parse("x", it.as_bytes()).unwrap();
        let numbered = documents.iter().enumerate();
        let matching = numbered.filter(|(_, it)| model.matches(&parsed(it)));
        let expected: Vec<String> = matching.map(|(at, _)| at.to_string()).collect();
        assert!(!expected.is_empty(), "{filter}");
        let query = SearchItems { sort: ItemSort::Key, ..search(&["n"], &filter) };
        assert_eq!(keys(&store.search(query).await.items), expected, "{filter}");
        assert_eq!(store.count(scope(&["n"], &filter)).await, expected.len() as u64, "{filter}");
    }
}
