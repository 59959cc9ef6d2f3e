//! Defines items and pages of the store in answers, and the cursors between pages.

use serde::Serialize;
use utoipa::ToSchema;

use super::key::{KeyIn, KeyOut};
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{
    Address, Item, ItemCursor, ItemPage, ItemSort, Key, NamespacePage,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::request::cursor;
use crate::http::request::exact::{Exact, ExactOut};

const NAMESPACES_CURSOR: &str = "namespaces";

#[derive(Serialize, ToSchema)]
#[schema(as = Item)]
pub struct ItemOut {
    namespace: Vec<String>,
    #[schema(value_type = KeyIn)]
    key: KeyOut,
    /// Grows with each put, and never comes twice for a key.
    version: i64,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_minutes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// Of the whole value's JSON text.
    size_bytes: i64,
    /// Absent where no values were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Exact)]
    value: Option<ExactOut>,
    /// How near it is to what was searched for, higher is nearer. Absent where it has nothing to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ItemPage)]
pub struct PageOut {
    items: Vec<ItemOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Files below the prefix that are left out because their contents are too large for a value; the files API has them. On the
    /// first page of a listing.
    #[serde(skip_serializing_if = "is_zero")]
    omitted: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Namespaces)]
pub struct NamespacesOut {
    namespaces: Vec<Vec<String>>,
    /// Of each of them how many items are in it and below it that the caller may read. 10,000: so many, or more. Absent where nobody
    /// asked for `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<u64>>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Item> for ItemOut {
    fn from(item: Item) -> Self {
        Self {
            namespace: item.address.namespace.labels().to_vec(),
            key: KeyOut(item.address.key),
            version: item.version,
            created_at: rfc3339(item.created_at),
            updated_at: rfc3339(item.updated_at),
            ttl_minutes: item.ttl_micros.map(|it| it as f64 / 60_000_000.0),
            expires_at: item.expires_at.map(rfc3339),
            size_bytes: item.size_bytes,
            value: item.value.map(ExactOut),
            score: item.score,
        }
    }
}

impl PageOut {
    pub fn new(page: ItemPage, sort: ItemSort) -> Self {
        let encode = |it: ItemCursor| {
            let place = (it.address.namespace.labels().to_vec(), it.address.key.json());
            cursor::encode(cursor_kind(sort), &(it.time, place.0, place.1))
        };
        Self {
            items: page.items.into_iter().map(ItemOut::from).collect(),
            next_cursor: page.next.map(encode),
            omitted: page.omitted,
        }
    }
}

impl From<NamespacePage> for NamespacesOut {
    fn from(page: NamespacePage) -> Self {
        let labels = |it: &Namespace| it.labels().to_vec();
        Self {
            namespaces: page.namespaces.iter().map(labels).collect(),
            counts: page.counts,
            next_cursor: page.next.map(|it| cursor::encode(NAMESPACES_CURSOR, &it.labels())),
        }
    }
}

fn cursor_kind(sort: ItemSort) -> &'static str {
    match sort {
        ItemSort::Created => "items:created",
        ItemSort::Updated => "items:updated",
        ItemSort::Key => "items:key",
        ItemSort::Score => "items:score",
    }
}

/// # Errors
/// 422 for a text that no page of this order answered.
pub fn position(sort: ItemSort, text: &str) -> Result<ItemCursor> {
    let (time, labels, key): (i64, Vec<String>, String) = cursor::decode(cursor_kind(sort), text)?;
    let key = Key::of_json(key.as_bytes())?;
    let max = LIMITS.scored_rows_max;
    if sort == ItemSort::Score && !u64::try_from(time).is_ok_and(|it| it <= max) {
        let detail = format!("a search by vector leads to {max} items");
        return Err(Error::out_of_range("cursor", detail, max));
    }
    Ok(ItemCursor { time, address: Address { namespace: Namespace::new(labels)?, key } })
}

/// # Errors
/// 422 for a text that no page of namespaces answered.
pub fn last_namespace(text: &str) -> Result<Namespace> {
    let labels = cursor::decode(NAMESPACES_CURSOR, text)?;
    let refuse = |_| Error::invalid("cursor", "this is not a cursor of this listing");
    Namespace::new(labels).map_err(refuse)
}
