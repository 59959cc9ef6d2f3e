//! Defines the requests of the store on the wire.

use bytes::Bytes;
use serde::Deserialize;
use utoipa::ToSchema;

use super::answers::{last_namespace, position};
use super::key::KeyIn;
use super::vectors::{
    IndexIn, MetricIn, ModeIn, Numbers, SearchFields, VectorIn, new_vectors, paths,
};
use crate::domain::json::filter::Filter;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::pages::page_rows;
use crate::domain::store::item::{
    Address, ChangeItem, GetItem, ItemSort, ListNamespaces, MatchCondition, MatchKind, NewValue,
    Scope, SearchItems, SearchMode, Select, ttl_micros,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;
use crate::http::request::cursor::limit;
use crate::http::request::decode::Received;
use crate::http::request::exact::{Exact, Text};

const SEARCH_LIMIT_DEFAULT: i64 = 10;
const LIST_LIMIT_DEFAULT: i64 = 100;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutItem)]
pub struct PutBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    /// An object. Replaces all of the item's value.
    #[serde(borrow)]
    value: Exact<'a>,
    /// The item expires after so many minutes without a put, or a read that refreshes. Absent: never.
    #[schema(minimum = 0, maximum = 52_560_000)]
    ttl_minutes: Option<f64>,
    /// What the value means, as numbers: searches by vector find the item by the nearest of them. They replace those that the
    /// item had; absent: it has none.
    vectors: Option<Vec<VectorIn>>,
    /// Name of what made the vectors; only vectors of one model are compared. Default `default`.
    model: Option<Text>,
    /// Paths of the texts that the server makes vectors of, in the background: `a.b`, `list[*].text`, `list[-1]`, `*`, `{a,b}`, and `$` for the
    /// whole value. Only where it has an endpoint for embeddings. Absent or false: none.
    index: Option<IndexIn>,
    /// The version that the item must have; 0: there must be no item. Absent: the last put wins.
    #[schema(minimum = 0)]
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetItem)]
pub struct GetBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    /// Whether this read extends the item's life. Default true.
    refresh_ttl: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteItem)]
pub struct DeleteBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    /// The version that the item must have.
    #[schema(minimum = 0)]
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SearchItems)]
pub struct SearchBody<'a> {
    /// Labels that the namespaces begin with. Absent or empty: all that the caller may read.
    prefix: Option<Vec<Text>>,
    /// Only the namespace itself, nothing below it. Default false.
    exact: Option<bool>,
    /// Conditions on the values' fields, an object.
    #[serde(borrow)]
    filter: Option<Exact<'a>>,
    /// Default 10; at most 1,000 and about 4 MiB of values come at one time.
    #[schema(minimum = 0)]
    limit: Option<i64>,
    /// Matches to skip. Default 0.
    #[schema(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Default `vector` with a `query` or a `query_vector`, else a plain listing. `text` and `hybrid` need a namespace that
    /// declares `text_fields` (`put_namespace_setting`).
    mode: Option<ModeIn>,
    /// `text`, `hybrid`: items with at least one of its words, those with rare ones and many of them first; at most 1,024 bytes
    /// and 32 words. `vector`, and `hybrid` without a `query_vector`: the server makes its vector, where it has an endpoint for
    /// embeddings; it is compared with those that the server has made.
    query: Option<Text>,
    /// The nearest items come first, each with a `score`; those without vectors of the model come last, without one. `offset`
    /// and `limit` are at most 10,000 together.
    query_vector: Option<Numbers>,
    /// Whose vectors are compared. Default `default`.
    model: Option<Text>,
    /// What `score` is: the cosine of the angle (the default), the negated distance, or the inner product. Higher is nearer.
    metric: Option<MetricIn>,
    /// Default `created`: newest first, an order that puts do not change.
    sort: Option<SortIn>,
    /// `next_cursor` of the page before, with the same arguments and no offset.
    cursor: Option<Text>,
    /// False: no values. Default true.
    values: Option<bool>,
    /// Only these top-level fields of the values.
    select: Option<Vec<Text>>,
    /// Whether this read extends the lives of the items that it returns. Default true.
    refresh_ttl: Option<bool>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = ItemSort)]
pub enum SortIn {
    Created,
    Updated,
    Key,
}

by_name!(SortIn);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListNamespaces)]
pub struct ListBody {
    /// All must hold.
    conditions: Option<Vec<ConditionIn>>,
    /// Longer namespaces are cut to so many labels, and equal ones are one.
    #[schema(minimum = 0)]
    max_depth: Option<i64>,
    /// Default 100; at most 1,000 come at one time.
    #[schema(minimum = 0)]
    limit: Option<i64>,
    #[schema(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// `next_cursor` of the page before, with the same arguments and no offset.
    cursor: Option<Text>,
    /// True: the answer has `counts`, and at most 100 come at one time. Default false.
    counts: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NamespaceCondition)]
pub struct ConditionIn {
    r#match: MatchIn,
    /// `*` stands for any one label.
    path: Vec<Text>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = NamespaceMatch)]
pub enum MatchIn {
    Prefix,
    Suffix,
}

by_name!(MatchIn);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CountItems)]
pub struct CountBody<'a> {
    prefix: Option<Vec<Text>>,
    exact: Option<bool>,
    #[serde(borrow)]
    filter: Option<Exact<'a>>,
}

impl PutBody<'_> {
    pub fn into_domain(self, received: &Received) -> Result<ChangeItem> {
        let text = self.value.part_of(&received.body);
        let ttl_micros = self.ttl_minutes.map(ttl_micros).transpose()?;
        // Checked again where it is stored; here, so that nothing of a batch is begun with it.
        let namespace = Namespace::of_put(texts(self.namespace))?;
        Ok(ChangeItem {
            address: Address { namespace, key: self.key.into_domain()? },
            value: Some(NewValue {
                text: own(text),
                ttl_micros,
                index: paths(self.index, self.vectors.is_some())?,
                vectors: new_vectors(self.vectors, self.model)?,
                kept: None,
            }),
            if_version: self.if_version.map(version).transpose()?,
        })
    }
}

impl GetBody<'_> {
    pub fn into_domain(self) -> Result<GetItem> {
        Ok(GetItem {
            address: address(self.namespace, self.key)?,
            refresh_ttl: self.refresh_ttl.unwrap_or(true),
        })
    }
}

impl DeleteBody<'_> {
    pub fn into_domain(self) -> Result<ChangeItem> {
        Ok(ChangeItem {
            address: address(self.namespace, self.key)?,
            value: None,
            if_version: self.if_version.map(version).transpose()?,
        })
    }
}

impl SearchBody<'_> {
    pub fn into_domain(self) -> Result<SearchItems> {
        let (limit, offset) =
            (limit(Some(self.limit.unwrap_or(SEARCH_LIMIT_DEFAULT)))?, offset(self.offset)?);
        let mode = SearchFields {
            mode: self.mode,
            query: self.query,
            query_vector: self.query_vector,
            model: self.model,
            metric: self.metric,
            is_sorted: self.sort.is_some(),
            rows: limit.saturating_add(offset),
        };
        let mode = mode.into_domain()?;
        let sort = match self.sort {
            _ if mode != SearchMode::List => ItemSort::Score,
            None | Some(SortIn::Created) => ItemSort::Created,
            Some(SortIn::Updated) => ItemSort::Updated,
            Some(SortIn::Key) => ItemSort::Key,
        };
        let select = match (self.values, self.select) {
            (Some(false), _) => Select::Nothing,
            (_, Some(fields)) => {
                at_most("select", fields.len(), LIMITS.filter_terms_max)?;
                Select::Fields(texts(fields))
            }
            _ => Select::Whole,
        };
        Ok(SearchItems {
            scope: scope(self.prefix, self.exact, self.filter)?,
            mode,
            limit,
            offset,
            sort,
            after: self.cursor.map(|it| position(sort, &it.0)).transpose()?,
            select,
            refresh_ttl: self.refresh_ttl.unwrap_or(true),
        })
    }
}

impl ListBody {
    pub fn into_domain(self) -> Result<ListNamespaces> {
        let conditions = self.conditions.unwrap_or_default();
        at_most("conditions", conditions.len(), LIMITS.filter_terms_max)?;
        let conditions = conditions.into_iter().map(|it| {
            let kind = match it.r#match {
                MatchIn::Prefix => MatchKind::Prefix,
                MatchIn::Suffix => MatchKind::Suffix,
            };
            MatchCondition::new(kind, texts(it.path))
        });
        let depth = |it: i64| {
            usize::try_from(it)
                .map_err(|_| Error::invalid("max_depth", "max_depth must be 0 or more"))
        };
        Ok(ListNamespaces {
            conditions: conditions.collect::<Result<_>>()?,
            max_depth: self.max_depth.map(depth).transpose()?,
            limit: page_rows(limit(Some(self.limit.unwrap_or(LIST_LIMIT_DEFAULT)))?),
            offset: offset(self.offset)?,
            after: self.cursor.map(|it| last_namespace(&it.0)).transpose()?,
            counts: self.counts.unwrap_or(false),
        })
    }
}

impl CountBody<'_> {
    pub fn into_domain(self) -> Result<Scope> {
        scope(self.prefix, self.exact, self.filter)
    }
}

fn scope(
    prefix: Option<Vec<Text>>,
    exact: Option<bool>,
    filter: Option<Exact<'_>>,
) -> Result<Scope> {
    let filter = filter.map(|it| Filter::read(it.0)).transpose()?.flatten();
    let prefix = Namespace::new(texts(prefix.unwrap_or_default()))?;
    Ok(Scope { prefix, exact: exact.unwrap_or_default(), filter })
}

pub fn address(namespace: Vec<Text>, key: KeyIn<'_>) -> Result<Address> {
    let namespace = Namespace::new(texts(namespace))?;
    if namespace.labels().is_empty() {
        return Err(Error::invalid("namespace", "Namespace cannot be empty."));
    }
    Ok(Address { namespace, key: key.into_domain()? })
}

fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|it| it.0).collect()
}

pub fn version(version: i64) -> Result<i64> {
    if version >= 0 {
        return Ok(version);
    }
    Err(Error::invalid("if_version", "if_version must be 0 or more"))
}

pub fn offset(offset: Option<i64>) -> Result<usize> {
    let max = LIMITS.offset_max;
    let legal = u64::try_from(offset.unwrap_or(0)).ok().filter(|it| *it <= max);
    legal.and_then(|it| usize::try_from(it).ok()).ok_or_else(|| {
        let detail = format!("offset must be from 0 to {max}; a cursor leads further");
        Error::out_of_range("offset", detail, max)
    })
}

/// Without what else was in the body: an item waits in a queue longer than its request needs.
fn own(text: Bytes) -> Bytes {
    Bytes::copy_from_slice(&text)
}
