//! Defines vectors on the wire: lists of numbers, and in MessagePack also their bytes.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::domain::json::field_path::FieldPath;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::store::item::SearchMode;
use crate::domain::store::vector::{FieldVector, Metric, Model, Near, NewVectors, Vector};
use crate::domain::store::words::TextQuery;
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;
use crate::http::request::exact::Text;

/// Numbers of a vector, not checked yet.
#[derive(Debug)]
pub struct Numbers(Vec<f32>);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FieldVector)]
pub struct VectorIn {
    /// Which part of the value it stands for, for whoever reads it: a path, `$` for all of it.
    field: Option<Text>,
    vector: Numbers,
}

/// Paths of texts, or `false` for none.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ItemIndex)]
pub enum IndexIn {
    Paths(Vec<Text>),
    Never(bool),
}

#[derive(Deserialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = SearchMode)]
pub enum ModeIn {
    /// By `query_vector`.
    Vector,
    /// By the words of `query`.
    Text,
    /// By both.
    Hybrid,
}

by_name!(ModeIn);

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = VectorMetric)]
pub enum MetricIn {
    Cosine,
    L2,
    InnerProduct,
}

by_name!(MetricIn);

/// The fields of a search's body that say what it looks for.
pub struct SearchFields {
    pub mode: Option<ModeIn>,
    pub query: Option<Text>,
    pub query_vector: Option<Numbers>,
    pub model: Option<Text>,
    pub metric: Option<MetricIn>,
    /// An order or a position in one was given.
    pub is_sorted: bool,
    pub rows: usize,
}

/// The vectors of a put.
///
/// # Errors
/// 422 naming the field.
pub fn new_vectors(
    vectors: Option<Vec<VectorIn>>,
    model: Option<Text>,
) -> Result<Option<NewVectors>> {
    let model = model.map(|it| Model::new(&it.0)).transpose()?.unwrap_or_default();
    let Some(vectors) = vectors else { return Ok(None) };
    at_most("vectors", vectors.len(), LIMITS.vectors_per_item_max)?;
    let vectors = vectors.into_iter().enumerate().map(|(at, it)| {
        let vector = Vector::new(&format!("vectors[{at}].vector"), it.vector.0)?;
        Ok(FieldVector { field: it.field.map_or_else(|| "$".to_owned(), |it| it.0), vector })
    });
    NewVectors::new(model, vectors.collect::<Result<_>>()?).map(Some)
}

/// The paths that the server is to index.
///
/// # Errors
/// 422 naming `index`.
pub fn paths(index: Option<IndexIn>, has_vectors: bool) -> Result<Vec<FieldPath>> {
    let paths = match index {
        None | Some(IndexIn::Never(false)) => return Ok(Vec::new()),
        Some(IndexIn::Never(true)) => {
            return Err(Error::invalid("index", "index must be a list of paths, or false"));
        }
        Some(IndexIn::Paths(paths)) => paths,
    };
    if has_vectors {
        return Err(Error::invalid("index", "send vectors, or paths for the server to index"));
    }
    at_most("index", paths.len(), LIMITS.index_paths_max)?;
    paths.iter().map(|it| FieldPath::new(&it.0)).collect()
}

impl SearchFields {
    /// # Errors
    /// 422 naming the field.
    pub fn into_domain(self) -> Result<SearchMode> {
        let Self { mode, query, query_vector, model, metric, is_sorted, rows } = self;
        match (&query, &query_vector, mode) {
            (None, None, None) => return Ok(SearchMode::List),
            (Some(_), Some(_), None | Some(ModeIn::Vector)) => {
                let detail = "send a query or a query_vector; mode \"hybrid\" takes both";
                return Err(Error::invalid("query", detail));
            }
            (None, None, Some(ModeIn::Vector)) => {
                let detail = "mode \"vector\" needs a query_vector or a query";
                return Err(Error::invalid("query_vector", detail));
            }
            (None, _, Some(ModeIn::Text | ModeIn::Hybrid)) => {
                return Err(Error::invalid("query", "this mode needs a query"));
            }
            (_, Some(_), Some(ModeIn::Text)) => {
                return Err(Error::invalid("query_vector", "this mode takes no query_vector"));
            }
            _ => {}
        }
        check_rows(is_sorted, rows)?;
        let wants_words = matches!(mode, Some(ModeIn::Text | ModeIn::Hybrid));
        let words = query.as_ref().filter(|_| wants_words).map(|it| TextQuery::new(&it.0));
        let words = words.transpose()?;
        if let (Some(ModeIn::Text), Some(words)) = (mode, &words) {
            return Ok(SearchMode::Text(words.clone()));
        }
        let metric = match metric {
            None | Some(MetricIn::Cosine) => Metric::Cosine,
            Some(MetricIn::L2) => Metric::L2,
            Some(MetricIn::InnerProduct) => Metric::InnerProduct,
        };
        if let Some(numbers) = query_vector {
            let model = model.map(|it| Model::new(&it.0)).transpose()?.unwrap_or_default();
            let vector = Vector::new("query_vector", numbers.0)?;
            let near = Near { model, metric, vector };
            return Ok(match words {
                Some(words) => SearchMode::Hybrid(words, near),
                None => SearchMode::Vector(near),
            });
        }
        if model.is_some() {
            return Err(Error::invalid("model", "a query is embedded by the server's own model"));
        }
        let text = query.map(|it| it.0).filter(|it| !it.trim().is_empty());
        let text = text.ok_or_else(|| Error::invalid("query", "the query is empty"))?;
        let max = LIMITS.query_bytes_max;
        if text.len() as u64 > max {
            let detail = format!("the query has at most {max} bytes");
            return Err(Error::out_of_range("query", detail, max));
        }
        Ok(SearchMode::Question { text, metric, words })
    }
}

fn check_rows(is_sorted: bool, rows: usize) -> Result<()> {
    if is_sorted {
        let detail = "a search by words or vectors has an order of its own: leave sort out";
        return Err(Error::invalid("sort", detail));
    }
    let max = LIMITS.scored_rows_max;
    if rows as u64 > max {
        let detail =
            format!("offset and limit of a search by words or vectors are at most {max} together");
        return Err(Error::out_of_range("offset", detail, max));
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_seq(ReadNumbers);
        }
        deserializer.deserialize_any(ReadNumbers)
    }
}

struct ReadNumbers;

impl<'de> Visitor<'de> for ReadNumbers {
    type Value = Numbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Numbers, A::Error> {
        let mut all = Vec::new();
        // One more than there may be is enough to refuse it.
        while let Some(number) = numbers.next_element::<f64>()? {
            if all.len() as u64 <= LIMITS.vector_dims_max {
                // What does not fit becomes infinite, and is refused for that.
                #[allow(clippy::cast_possible_truncation)]
                all.push(number as f32);
            }
        }
        Ok(Numbers(all))
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Numbers, E> {
        let (whole, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(E::custom("the bytes of a vector are 32-bit floats, little-endian"));
        }
        let most = usize::try_from(LIMITS.vector_dims_max).unwrap_or(usize::MAX);
        Ok(Numbers(whole.iter().take(most + 1).map(|it| f32::from_le_bytes(*it)).collect()))
    }
}

const NUMBERS: &str = "Finite numbers, kept as 32-bit floats. In application/msgpack also a `bin` with \
    their bytes, little-endian.";

impl PartialSchema for Numbers {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number);
        let extensions = ExtensionsBuilder::new().add("x-msgpack-or", "bin").build();
        let list = ArrayBuilder::new().items(number.build()).description(Some(NUMBERS));
        list.min_items(Some(1)).max_items(Some(4_096)).extensions(Some(extensions)).into()
    }
}

impl ToSchema for Numbers {}
