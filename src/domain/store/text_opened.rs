//! Searches by words where values are encrypted, so that no words may be stored beside them. It makes the words from the opened values, of
//! at most as many items as a filter may open. Results and order are those of an index.

use bytes::Bytes;

use super::item::{Item, ItemSort, Scope, SearchItems, SearchMode, Select};
use super::namespace::Namespace;
use super::ranking::Candidate;
use super::service::Items;
use super::words::ItemWords;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;

/// Items whose words are made before others get a turn.
const TURN_ITEMS: usize = 64;

impl Items {
    /// Round trips: one that counts, and one for each page of what is opened.
    ///
    /// # Errors
    /// `SearchNeedsPlaintext` where more lives in scope than may be opened.
    pub(super) async fn opened_candidates(
        &self,
        caller: &Caller,
        within: &[Namespace],
        (scope, words): (&Scope, &[i64]),
        now: Micros,
    ) -> Result<Vec<Candidate>> {
        let place = Scope { filter: None, ..scope.clone() };
        let limit = LIMITS.encrypted_candidates_max;
        let too_many = || Error::SearchNeedsPlaintext { field: "query", limit };
        if self.storage.count_items(caller, within, &place, now).await? > limit {
            return Err(too_many());
        }
        let mut all = SearchItems {
            scope: place,
            mode: SearchMode::List,
            limit: usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX),
            offset: 0,
            sort: ItemSort::Key,
            after: None,
            select: Select::Whole,
            refresh_ttl: false,
        };
        let (mut found, mut opened) = (Vec::new(), 0);
        loop {
            let page = self.storage.search_items(caller, within, &all, now).await?;
            for some in page.items.chunks(TURN_ITEMS) {
                let bytes = some.iter().filter_map(|it| it.value.as_ref()).map(Bytes::len).sum();
                let make = || {
                    for item in some {
                        found.extend(self.opened_candidate(caller, item, words)?);
                    }
                    Ok::<_, Error>(())
                };
                cpu_pool::run_here(&caller.tenant, bytes, make).await??;
                tokio::task::yield_now().await;
            }
            // Others may put more meanwhile.
            opened += page.items.len() as u64;
            match page.next {
                Some(_) if opened > limit => return Err(too_many()),
                Some(next) => all.after = Some(next),
                None => return Ok(found),
            }
        }
    }

    /// None: its namespace declares no words, or it has none of these.
    fn opened_candidate(
        &self,
        caller: &Caller,
        item: &Item,
        words: &[i64],
    ) -> Result<Option<Candidate>> {
        let declared = self.settings.effective(&caller.tenant, &item.address.namespace);
        let fields = declared.text_fields.unwrap_or_default();
        let (Some(text), false) = (&item.value, fields.is_empty()) else { return Ok(None) };
        let own = ItemWords::of(&caller.tenant, &fields, &exact_json::parse("value", text)?);
        Ok(own.counts_of(words).map(|counts| Candidate {
            address: item.address.clone(),
            version: item.version,
            created_at: item.created_at,
            total: own.total,
            counts,
        }))
    }
}
