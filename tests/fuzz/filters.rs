//! Checks that any filter is read or refused, and that a filter and its `$not` never both match a document.
//!
//! Input: a filter, a zero byte, a document.

use threadkeep::domain::json::exact_json;
use threadkeep::domain::json::filter::Filter;

pub fn check(data: &[u8]) {
    let Some((filter, text, document)) = read(data) else { return };
    let found = filter.matches(&document);
    assert_eq!(filter.matches(&document), found, "the same again");
    let of = |text: String| Filter::read(text.as_bytes()).ok().flatten();
    // One level deeper it may be too deep.
    if let Some(not) = of(format!("{{\"$not\":{text}}}")) {
        assert_eq!(not.matches(&document), !found, "{text}");
    }
    if let Some(twice) = of(format!("{{\"$and\":[{text},{text}]}}")) {
        assert_eq!(twice.matches(&document), found, "{text}");
    }
    if let Some(either) = of(format!("{{\"$or\":[{text},{text}]}}")) {
        assert_eq!(either.matches(&document), found, "{text}");
    }
}

/// Whether the filter is one, and matches.
#[allow(dead_code)] // Only tells whether a seed is a good one.
pub fn matches(data: &[u8]) -> bool {
    read(data).is_some_and(|(filter, _, document)| filter.matches(&document))
}

fn read(data: &[u8]) -> Option<(Filter, &str, serde_json::Value)> {
    let mut parts = data.splitn(2, |it| *it == 0);
    let text = std::str::from_utf8(parts.next()?).ok()?;
    let filter = Filter::read(text.as_bytes()).ok()??;
    let document = parts.next()?;
    exact_json::check("x", document).ok()?;
    Some((filter, text, exact_json::parse("x", document).ok()?))
}
