//! Fills pages of a search by score with its hits, in their order. It is the same for every engine.

use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::json::exact_json;
use crate::domain::json::filter::Filter;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{Item, ItemCursor, ItemPage, SearchItems};

/// A page that is being filled. Its cursor counts matches: scores have no other order that a page could go on from.
pub struct Paging {
    /// Matches that are still to be left out.
    skip: usize,
    seen: usize,
    limit: usize,
    bytes: u64,
    page: ItemPage,
}

impl Paging {
    pub fn of(query: &SearchItems) -> Self {
        let before = query.after.as_ref().map_or(0, |it| usize::try_from(it.time).unwrap_or(0));
        let rows_max = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        let (skip, limit) = (query.offset + before, query.limit.min(rows_max));
        Self { skip, seen: 0, limit, bytes: 0, page: ItemPage::default() }
    }

    /// Matches that the page needs: one more than it shows tells whether there is a next one.
    pub fn rows(&self) -> usize {
        self.skip + self.limit + 1
    }

    /// Whether the next match is left out.
    pub fn skips(&self) -> bool {
        self.skip > 0
    }

    /// Leaves out a match.
    pub fn skip(&mut self) {
        self.skip -= 1;
        self.seen += 1;
    }

    /// Takes the next match. False: the page is full.
    pub fn take(&mut self, item: Item) -> bool {
        if self.skips() {
            self.skip();
            return true;
        }
        if self.page.items.len() == self.limit || self.bytes >= LIMITS.list_bytes_max {
            self.page.next = self.page.items.last().map(|last| ItemCursor {
                time: Micros::try_from(self.seen).unwrap_or(Micros::MAX),
                address: last.address.clone(),
            });
            return false;
        }
        self.bytes += item.value.as_ref().map_or(0, |_| item.size_bytes.unsigned_abs());
        self.seen += 1;
        self.page.items.push(item);
        true
    }

    pub fn finish(self) -> ItemPage {
        self.page
    }
}

/// Whether a text matches.
///
/// # Errors
/// `Integrity` for text that is not JSON.
pub fn fits(filter: Option<&Filter>, text: &[u8]) -> Result<bool> {
    let Some(filter) = filter else { return Ok(true) };
    Ok(filter.matches(&exact_json::parse("value", text)?))
}
