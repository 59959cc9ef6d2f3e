//! Tests that a search by words finds letters however they were composed.

use serde_json::json;

use crate::harness::{Harness, masters};
use crate::item_words::{declare, finding, walk};
use crate::store::{SECOND, Store, keys};

/// `é` as one letter, and as a letter with a mark.
const COMPOSED: &str = "caf\u{e9}";
const APART: &str = "cafe\u{301}";

pub async fn letters_are_found_however_they_are_composed(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], &["text"]).await;
    for (key, word) in [("composed", COMPOSED), ("apart", APART), ("plain", "cafe")] {
        store.put(&["n"], key, &json!({ "text": word }).to_string()).await;
    }
    let all = async |word: &str| {
        let mut found = keys(&store.search(finding(&["n"], word)).await.items);
        found.sort();
        found
    };
    for word in [COMPOSED, APART] {
        assert_eq!(all(word).await, ["apart", "composed"], "{word}");
    }
    assert_eq!(all("cafe").await, ["plain"]);
    if masters().is_some() {
        // Nothing of the words is stored.
        return;
    }
    // As an earlier version indexed it: with other words, which are not found.
    let (none, none_counts) = if h.is_sqlite() { ("x''", "x''") } else { ("'{}'", "''") };
    h.sql(&format!(
        "update items set words = {none}, word_counts = {none_counts}, word_total = 1, word_fields = 7"
    ))
    .await;
    assert!(all(COMPOSED).await.is_empty());
    // The same declaration again has them made anew.
    declare(&store, &["n"], &["text"]).await;
    store.clock.advance(6 * SECOND);
    assert_eq!(walk(&store).await, 1);
    assert_eq!(all(COMPOSED).await, ["apart", "composed"]);
}
