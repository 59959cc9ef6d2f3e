//! Checks that what is indexed of a document has the form that the engines count on, and that a text is found by its own words.
//!
//! Input: a query, a zero byte, a document.

use serde_json::Value;
use threadkeep::domain::json::exact_json;
use threadkeep::domain::store::words::{ItemWords, TextQuery};

const TENANT: &str = "t";

pub fn check(data: &[u8]) {
    let mut parts = data.splitn(2, |it| *it == 0);
    let (query, document) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let query = String::from_utf8_lossy(query);
    check_found(&query);
    if let Ok(document) = exact_json::parse("x", document) {
        check_form(&of(&document), &query);
    }
}

fn of(document: &Value) -> ItemWords {
    ItemWords::of(TENANT, &["$".to_owned()], document)
}

fn check_found(text: &str) {
    let Ok(query) = TextQuery::new(text) else { return };
    let words = of(&Value::String(text.to_owned()));
    let numbers = query.numbers(TENANT);
    assert_eq!(words.words.len(), numbers.len(), "{text:?}");
    assert_eq!(words.has_any(&numbers), !query.is_empty(), "{text:?}");
    let counts = words.counts_of(&numbers).unwrap_or_default();
    assert!(counts.iter().all(|it| *it > 0), "{text:?}");
}

fn check_form(found: &ItemWords, query: &str) {
    assert!(found.words.is_sorted_by(|a, b| a < b));
    assert_eq!(found.counts.len(), found.words.len());
    assert!(found.counts.iter().all(|it| *it > 0));
    let counted: i64 = found.counts.iter().map(|it| i64::from(*it)).sum();
    assert!(counted <= i64::from(found.total), "{counted} of {}", found.total);
    if let Ok(query) = TextQuery::new(query) {
        let numbers = query.numbers(TENANT);
        assert_eq!(found.counts_of(&numbers).is_some(), found.has_any(&numbers));
    }
}

/// Whether the document has a word of the query.
#[allow(dead_code)] // Only tells whether a seed is a good one.
pub fn is_found(data: &[u8]) -> bool {
    let mut parts = data.splitn(2, |it| *it == 0);
    let query = TextQuery::new(std::str::from_utf8(parts.next().unwrap()).unwrap()).unwrap();
    let document = exact_json::parse("x", parts.next().unwrap()).unwrap();
    of(&document).has_any(&query.numbers(TENANT))
}
