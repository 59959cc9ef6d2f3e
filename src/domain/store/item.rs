//! Defines items, JSON documents under a namespace and a key, and the requests for them.

use bytes::Bytes;

use super::file_head::FileHead;
use super::namespace::Namespace;
use super::vector::{Metric, Near, NewVectors};
use super::words::TextQuery;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::json::exact_json;
use crate::domain::json::field_path::FieldPath;
use crate::domain::json::filter::Filter;
use crate::domain::limits::LIMITS;

pub use super::key::Key;

/// Where an item is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub namespace: Namespace,
    pub key: Key,
}

/// An item as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub address: Address,
    pub version: i64,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub ttl_micros: Option<Micros>,
    pub expires_at: Option<Micros>,
    pub size_bytes: i64,
    /// The exact JSON text; None where it was not asked for.
    pub value: Option<Bytes>,
    /// How well it fits what a search looks for, higher is better; None: it was not looked at for that, or has nothing to be
    /// looked at.
    pub score: Option<f64>,
    /// Names its content, which is no part of its value: too large for one.
    pub content_id: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetItem {
    pub address: Address,
    /// Extends the time to live.
    pub refresh_ttl: bool,
}

/// Puts or deletes an item.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeItem {
    pub address: Address,
    /// None deletes.
    pub value: Option<NewValue>,
    /// The version that the item must have; 0: there must be none.
    pub if_version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewValue {
    /// The exact JSON text of an object.
    pub text: Bytes,
    /// None: it stays for ever.
    pub ttl_micros: Option<Micros>,
    /// None: the item has none from now on.
    pub vectors: Option<NewVectors>,
    /// Where the texts are that the server makes vectors of, later.
    pub index: Vec<FieldPath>,
    /// A content that is kept elsewhere.
    pub kept: Option<KeptContent>,
}

/// The content of a file that is no part of its item's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptContent {
    pub content_id: Vec<u8>,
    /// What listings show of it.
    pub head: FileHead,
}

/// What a search goes by.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SearchMode {
    /// All that matches, in the order of [`ItemSort`].
    #[default]
    List,
    /// The nearest first, then what has no vectors of the model.
    Vector(Near),
    /// The same for a text, whose vector the server has made first, alone or together with words: no storage sees it.
    Question { text: String, metric: Metric, words: Option<TextQuery> },
    /// What has one of the words, best first.
    Text(TextQuery),
    /// The best of both, by their places in both.
    Hybrid(TextQuery, Near),
}

/// Order of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ItemSort {
    /// Newest first. Puts do not move an item.
    #[default]
    Created,
    /// Last changed first: a view for people, items move while pages are read.
    Updated,
    /// By namespace and key.
    Key,
    /// By how well they fit what is looked for; of equal ones as `Created`. A view: puts move items. Not for
    /// [`SearchMode::List`].
    Score,
}

/// How much of the values an answer has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Select {
    #[default]
    Whole,
    Nothing,
    /// Only these top-level fields, as they stand in the text.
    Fields(Vec<String>),
}

/// Which items: those below a prefix that match.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    pub prefix: Namespace,
    /// Only the namespace itself, nothing below it.
    pub exact: bool,
    pub filter: Option<Filter>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SearchItems {
    pub scope: Scope,
    pub mode: SearchMode,
    pub limit: usize,
    pub offset: usize,
    pub sort: ItemSort,
    pub after: Option<ItemCursor>,
    pub select: Select,
    pub refresh_ttl: bool,
}

/// Position in a search: of the last item that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemCursor {
    /// Of `created_at` or `updated_at`, as the order has it; 0 for the order by key; for the order by score how many matches
    /// have been seen.
    pub time: Micros,
    pub address: Address,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemPage {
    pub items: Vec<Item>,
    /// Set when there may be more.
    pub next: Option<ItemCursor>,
    /// Items below the prefix that are left out because their contents are kept elsewhere: of a first page of a listing.
    pub omitted: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    Prefix,
    Suffix,
}

/// Labels that a namespace must begin or end with; None stands for any one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchCondition {
    pub kind: MatchKind,
    pub path: Vec<Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListNamespaces {
    /// All must hold.
    pub conditions: Vec<MatchCondition>,
    /// Longer namespaces are cut to so many labels.
    pub max_depth: Option<usize>,
    pub limit: usize,
    pub offset: usize,
    /// The last one of the page before.
    pub after: Option<Namespace>,
    /// Whether to count the items of each one that is shown.
    pub counts: bool,
}

/// A page of namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamespacePage {
    pub namespaces: Vec<Namespace>,
    /// Of each namespace the items in it and below it, at most [`COUNTED_MAX`](crate::domain::pages::COUNTED_MAX). None: nobody asked.
    pub counts: Option<Vec<u64>>,
    /// Set when there are more.
    pub next: Option<Namespace>,
}

/// Items that were counted, with their bytes and the time of the newest change. A count ends at
/// [`COUNTED_MAX`](crate::domain::pages::COUNTED_MAX), and the others are of what was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedItems {
    pub items: u64,
    pub size_bytes: u64,
    pub updated_at: Option<Micros>,
}

/// Result of one operation of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum OpResult {
    Got(Option<Item>),
    /// The item's version.
    Put(i64),
    Deleted,
    Found(ItemPage),
    Namespaces(NamespacePage),
    Count(u64),
}

/// One operation of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemOp {
    Get(GetItem),
    Change(ChangeItem),
    Search(SearchItems),
    ListNamespaces(ListNamespaces),
    Count(Scope),
}

impl NewValue {
    /// The document, which must be an object within the limits.
    ///
    /// # Errors
    /// 413 and 422 naming the field.
    pub fn read(&self) -> Result<serde_json::Value> {
        exact_json::check_object("value", &self.text)?;
        let document = exact_json::parse("value", &self.text)?;
        exact_json::check_numbers("value", &document)?;
        Ok(document)
    }
}

impl Item {
    /// Without a content, which is read apart.
    pub fn value_bytes(&self) -> u64 {
        if self.content_id.is_some() { 0 } else { self.size_bytes.unsigned_abs() }
    }

    pub fn position(&self, sort: ItemSort) -> ItemCursor {
        let time = match sort {
            ItemSort::Created => self.created_at,
            ItemSort::Updated => self.updated_at,
            ItemSort::Key | ItemSort::Score => 0,
        };
        ItemCursor { time, address: self.address.clone() }
    }

    /// A read extends a life of which more than a tenth has passed.
    pub fn wants_refresh(&self, now: Micros) -> bool {
        let (Some(ttl), Some(expires_at)) = (self.ttl_micros, self.expires_at) else {
            return false;
        };
        expires_at.saturating_sub(now) < ttl - ttl / 10
    }
}

impl MatchCondition {
    /// # Errors
    /// 422 for labels that no namespace has.
    pub fn new(kind: MatchKind, labels: Vec<String>) -> Result<Self> {
        let labels = Namespace::new(labels)?;
        let path = labels.labels().iter().map(|it| (it != "*").then(|| it.clone()));
        Ok(Self { kind, path: path.collect() })
    }

    pub fn matches(&self, namespace: &Namespace) -> bool {
        let (labels, length) = (namespace.labels(), self.path.len());
        let Some(more) = labels.len().checked_sub(length) else {
            return false;
        };
        let part = match self.kind {
            MatchKind::Prefix => &labels[..length],
            MatchKind::Suffix => &labels[more..],
        };
        part.iter()
            .zip(&self.path)
            .all(|(label, wanted)| wanted.as_ref().is_none_or(|it| it == label))
    }
}

impl ListNamespaces {
    /// The labels that every match begins with.
    pub fn prefix(&self) -> Namespace {
        let prefixes = self.conditions.iter().filter(|it| it.kind == MatchKind::Prefix);
        let fixed = prefixes.map(|it| it.path.iter().map_while(Clone::clone).collect::<Vec<_>>());
        Namespace::stored(fixed.max_by_key(Vec::len).unwrap_or_default())
    }

    pub fn matches(&self, namespace: &Namespace) -> bool {
        self.conditions.iter().all(|it| it.matches(namespace))
    }
}

/// # Errors
/// 422 for what is negative, not a number, or over a hundred years.
pub fn ttl_micros(minutes: f64) -> Result<Micros> {
    let max = LIMITS.ttl_minutes_max;
    if !(0.0..=max as f64).contains(&minutes) {
        let detail = format!("ttl_minutes must be a number from 0 to {max}");
        return Err(Error::out_of_range("ttl_minutes", detail, max));
    }
    // In range: at most 3.2e15.
    #[allow(clippy::cast_possible_truncation)]
    Ok((minutes * 60_000_000.0).round() as Micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_extended_after_a_tenth_of_it() {
        let mut item = Item {
            address: Address { namespace: Namespace::default(), key: Key::of_text("").unwrap() },
            version: 1,
            created_at: 0,
            updated_at: 0,
            ttl_micros: Some(1_000),
            expires_at: Some(1_000),
            size_bytes: 2,
            value: None,
            score: None,
            content_id: None,
        };
        assert_eq!(
            [0, 100, 101, 999].map(|now| item.wants_refresh(now)),
            [false, false, true, true]
        );
        item.ttl_micros = None;
        assert!(!item.wants_refresh(999));
    }

    #[test]
    fn times_to_live_keep_their_fractions() {
        assert_eq!(ttl_micros(0.4).unwrap(), 24_000_000);
        assert_eq!((ttl_micros(0.0).unwrap(), ttl_micros(1e-6).unwrap()), (0, 60));
        for wrong in [-0.1, f64::NAN, f64::INFINITY, 1e9] {
            assert!(ttl_micros(wrong).is_err());
        }
    }

    #[test]
    fn conditions_match_whole_labels_and_a_star_any_one() {
        let of =
            |labels: &[&str]| Namespace::stored(labels.iter().map(|it| (*it).into()).collect());
        let condition = |kind, labels: &[&str]| {
            MatchCondition::new(kind, labels.iter().map(|it| (*it).into()).collect()).unwrap()
        };
        let prefix = condition(MatchKind::Prefix, &["a", "*", "c"]);
        assert!(
            prefix.matches(&of(&["a", "b", "c"])) && prefix.matches(&of(&["a", "x", "c", "d"]))
        );
        assert!(!prefix.matches(&of(&["a", "c"])) && !prefix.matches(&of(&["a", "b", "cc"])));
        let suffix = condition(MatchKind::Suffix, &["*", "z"]);
        assert!(suffix.matches(&of(&["a", "z"])) && !suffix.matches(&of(&["z"])));
        let both = ListNamespaces { conditions: vec![prefix, suffix], ..ListNamespaces::default() };
        assert_eq!(both.prefix(), of(&["a"]));
        assert!(both.matches(&of(&["a", "b", "c", "z"])) && !both.matches(&of(&["a", "b", "c"])));
    }
}
