//! Binds sets of rows for statements. SQLite has no arrays. A set is one JSON array for `jsonb_each` and one blob that `substr` cuts. So the
//! text of a statement never depends on the number of rows. `jsonb_each` gives a row in SQLite's binary form: with `json_each` each cell
//! that is read would write the row as text and parse it again.

use serde_json::{Value as Json, json};

use crate::storage::threads::thread_filter::ThreadFilter;

/// Rows of one statement: bind `json()` and `blob`.
#[derive(Debug, Default)]
pub(in crate::storage) struct RowSet {
    rows: Vec<Json>,
    pub(in crate::storage) blob: Vec<u8>,
}

impl RowSet {
    pub(in crate::storage) fn push(&mut self, row: Json) {
        self.rows.push(row);
    }

    /// Appends bytes to the blob. Answers where `substr` finds them.
    pub(in crate::storage) fn bytes(&mut self, bytes: &[u8]) -> (usize, usize) {
        let start = self.blob.len() + 1;
        self.blob.extend_from_slice(bytes);
        (start, bytes.len())
    }

    /// As [`Self::bytes`]; nulls for None.
    pub(in crate::storage) fn optional_bytes(
        &mut self,
        bytes: Option<&[u8]>,
    ) -> (Option<usize>, Option<usize>) {
        match bytes.map(|it| self.bytes(it)) {
            Some((start, length)) => (Some(start), Some(length)),
            None => (None, None),
        }
    }

    pub(in crate::storage) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(in crate::storage) fn rows(&self) -> &[Json] {
        &self.rows
    }

    /// The text to bind.
    pub(in crate::storage) fn json(&self) -> String {
        Json::from(self.rows.as_slice()).to_string()
    }
}

/// The ids of a listing.
pub(in crate::storage) fn ids_json(listed: &ThreadFilter) -> String {
    json!(listed.exact).to_string()
}

/// The prefixes of a listing: where each begins and ends.
pub(in crate::storage) fn prefixes_json(listed: &ThreadFilter) -> String {
    let prefixes: RowSet = listed.firsts.iter().zip(&listed.ends).map(|it| json!(it)).collect();
    prefixes.json()
}

impl FromIterator<Json> for RowSet {
    fn from_iter<I: IntoIterator<Item = Json>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect(), blob: Vec::new() }
    }
}
