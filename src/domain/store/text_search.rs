//! Searches by words, alone and together with vectors. Engines find candidates; the order is made here.

use bytes::Bytes;

use super::item::{
    Address, Item, ItemCursor, ItemPage, ItemSort, Scope, SearchItems, SearchMode, Select,
};
use super::namespace::Namespace;
use super::ranking::{Ranked, fuse, rank};
use super::service::Items;
use super::vector::{Metric, Near};
use super::words::{ItemWords, TextQuery};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::json::exact_fields::pick;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;

/// Items that are read at one time, where they are small.
const SLICE: usize = 64;
/// Best items of each of two orders that are fused.
const FUSED_MAX: usize = 200;

impl Items {
    /// What a question goes by that does not say: the vectors that the server makes, else words where they are declared. Without both,
    /// nothing: the search is a listing.
    ///
    /// # Errors
    /// 422 for a question that is too long, or too far a page.
    pub fn mode_of_question(
        &self,
        caller: &Caller,
        search: &SearchItems,
        text: &str,
    ) -> Result<SearchMode> {
        let max = LIMITS.query_bytes_max;
        if text.len() as u64 > max {
            let detail = format!("the query has at most {max} bytes");
            return Err(Error::out_of_range("query", detail, max));
        }
        let declared = self.settings.effective(&caller.tenant, &search.scope.prefix);
        let has_words = declared.text_fields.is_some_and(|it| !it.is_empty());
        let mode = match (text.trim(), self.makes_vectors(), has_words) {
            ("", _, _) | (_, false, false) => return Ok(SearchMode::List),
            (_, true, _) => {
                let text = text.to_owned();
                SearchMode::Question { text, metric: Metric::Cosine, words: None }
            }
            (_, false, true) => SearchMode::Text(TextQuery::new(text)?),
        };
        let rows = search.limit.saturating_add(search.offset);
        let max = LIMITS.scored_rows_max;
        if rows as u64 > max {
            let detail =
                format!("offset and limit of a search with a query are at most {max} together");
            return Err(Error::out_of_range("offset", detail, max));
        }
        Ok(mode)
    }

    /// Best first. `offset` and cursors count matches.
    pub(super) async fn search_text(
        &self,
        caller: &Caller,
        within: &[Namespace],
        (query, text): (&SearchItems, &TextQuery),
        now: Micros,
    ) -> Result<ItemPage> {
        let ranked = self.ranked(caller, within, (&query.scope, text), now).await?;
        self.page_of(caller, (query, text), ranked, now).await
    }

    /// The best by words and the best by vectors, fused by their places.
    pub(super) async fn search_hybrid(
        &self,
        caller: &Caller,
        within: &[Namespace],
        (query, text, near): (&SearchItems, &TextQuery, &Near),
        now: Micros,
    ) -> Result<ItemPage> {
        let nearest = SearchItems {
            scope: query.scope.clone(),
            mode: SearchMode::Vector(near.clone()),
            limit: FUSED_MAX,
            offset: 0,
            sort: ItemSort::Score,
            after: None,
            select: Select::Nothing,
            refresh_ttl: false,
        };
        let by_words = self.ranked(caller, within, (&query.scope, text), now).await?;
        let by_words = self.fitting(caller, (query, text), by_words, now).await?;
        let nearest = self.storage.search_items(caller, within, &nearest, now).await?;
        let nearest = nearest.items.into_iter().filter(|it| it.score.is_some());
        let nearest: Vec<Address> = nearest.map(|it| it.address).collect();
        let fused = fuse(&by_words, &nearest).into_iter().map(|(address, score)| {
            // Whatever version it has by now: the vectors may have found it.
            Ranked { address, version: -1, created_at: 0, score }
        });
        self.page_of(caller, (query, text), fused.collect(), now).await
    }

    async fn ranked(
        &self,
        caller: &Caller,
        within: &[Namespace],
        (scope, text): (&Scope, &TextQuery),
        now: Micros,
    ) -> Result<Vec<Ranked>> {
        let declared = self.settings.effective(&caller.tenant, &scope.prefix);
        if declared.text_fields.is_none_or(|it| it.is_empty()) {
            return Err(undeclared(&scope.prefix));
        }
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let words = text.numbers(&caller.tenant);
        let found = self.storage.list_text_candidates(caller, within, scope, &words, now).await?;
        let found = match found {
            Some(found) => found,
            None => self.opened_candidates(caller, within, (scope, &words), now).await?,
        };
        let size = cpu_pool::size_of_sorting(found.len());
        cpu_pool::run_here(&caller.tenant, size, || rank(found)).await
    }

    /// The best that the filter leaves.
    async fn fitting(
        &self,
        caller: &Caller,
        (query, text): (&SearchItems, &TextQuery),
        mut ranked: Vec<Ranked>,
        now: Micros,
    ) -> Result<Vec<Address>> {
        if query.scope.filter.is_none() {
            ranked.truncate(FUSED_MAX);
            return Ok(ranked.into_iter().map(|it| it.address).collect());
        }
        let all = SearchItems { limit: FUSED_MAX, offset: 0, after: None, ..query.clone() };
        let page = self.page_of(caller, (&all, text), ranked, now).await?;
        Ok(page.items.into_iter().map(|it| it.address).collect())
    }

    async fn page_of(
        &self,
        caller: &Caller,
        (query, text): (&SearchItems, &TextQuery),
        ranked: Vec<Ranked>,
        now: Micros,
    ) -> Result<ItemPage> {
        let words = text.numbers(&caller.tenant);
        let before = query.after.as_ref().map_or(0, |it| usize::try_from(it.time).unwrap_or(0));
        let rows_max = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        let limit = query.limit.min(rows_max);
        let (skip, mut seen, mut bytes) = (query.offset + before, 0, 0);
        let mut page = ItemPage::default();
        let mut ranked = ranked;
        if query.scope.filter.is_none() {
            // Each is a match; one that has just gone makes a page that is one short.
            seen = skip.min(ranked.len());
            ranked.drain(..seen);
        }
        let mut rest = ranked.as_slice();
        while !rest.is_empty() {
            let slice = rest.iter().take(SLICE);
            let addresses: Vec<Address> = slice.map(|it| it.address.clone()).collect();
            let found = self.storage.get_first_items(caller, &addresses, now).await?;
            let (read, further) = rest.split_at(found.len());
            rest = further;
            let size = found.iter().flatten().filter_map(|it| it.value.as_ref());
            let size = size.map(Bytes::len).sum();
            let take = || {
                for (ranked, item) in read.iter().zip(found) {
                    let fits = |it: &Item| self.fits(caller, query, (ranked, &words), it);
                    let Some(item) = item.filter(fits) else { continue };
                    seen += 1;
                    if seen <= skip {
                        continue;
                    }
                    if page.items.len() == limit || bytes >= LIMITS.list_bytes_max {
                        page.next = page.items.last().map(|last| ItemCursor {
                            time: Micros::try_from(seen - 1).unwrap_or(Micros::MAX),
                            address: last.address.clone(),
                        });
                        return Ok(false);
                    }
                    let value = match (&query.select, item.value) {
                        (Select::Nothing, _) | (_, None) => None,
                        (Select::Whole, value) => value,
                        (Select::Fields(fields), Some(text)) => Some(pick(&text, fields)?.into()),
                    };
                    bytes += value.as_ref().map_or(0, |_| item.size_bytes.unsigned_abs());
                    page.items.push(Item { value, score: Some(ranked.score), ..item });
                }
                Ok::<_, Error>(true)
            };
            if !cpu_pool::run_here(&caller.tenant, size, take).await?? {
                return Ok(page);
            }
        }
        Ok(page)
    }

    /// The filter holds, and an item that was changed since it was ranked still has one of the words.
    fn fits(
        &self,
        caller: &Caller,
        query: &SearchItems,
        (ranked, words): (&Ranked, &[i64]),
        item: &Item,
    ) -> bool {
        let is_same = ranked.version == -1 || ranked.version == item.version;
        if is_same && query.scope.filter.is_none() {
            return true;
        }
        let Some(Ok(document)) = item.value.as_ref().map(|it| exact_json::parse("value", it))
        else {
            return false;
        };
        let still = || {
            let declared = self.settings.effective(&caller.tenant, &item.address.namespace);
            let fields = declared.text_fields.unwrap_or_default();
            ItemWords::of(&caller.tenant, &fields, &document).has_any(words)
        };
        query.scope.filter.as_ref().is_none_or(|it| it.matches(&document)) && (is_same || still())
    }
}

fn undeclared(prefix: &Namespace) -> Error {
    let named = serde_json::json!(prefix.labels());
    Error::invalid(
        "mode",
        format!(
            "no words are indexed in {named}: declare text_fields for it, or for a prefix of it, with \
             POST /v1/store/settings/put, such as {{\"namespace\": {named}, \"text_fields\": [\"$\"]}}"
        ),
    )
}
