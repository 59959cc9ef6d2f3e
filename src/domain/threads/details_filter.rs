//! Defines the conditions of a search of threads by title and metadata.

use serde_json::Value;

use super::details::check_object;
use super::graphs::DefaultGraph;
use crate::domain::error::Result;
use crate::domain::json::exact_json;
use crate::domain::json::filter::{Field, Filter, Test};
use crate::domain::limits::LIMITS;
use crate::domain::names;

/// Fields that the metadata of checkpoints gives a thread, too.
pub const LABELS: [&str; 3] = [GRAPH_ID, ASSISTANT_ID, "user_id"];
pub const GRAPH_ID: &str = "graph_id";
pub const ASSISTANT_ID: &str = "assistant_id";

/// Conditions of a search that look at the details of threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DetailsFilter {
    /// What the metadata has to contain, field by field, as [`contained`] reads it.
    pub metadata: Vec<Filter>,
    /// What the title has to have in it, or the id has to begin with.
    pub words: Option<Words>,
    /// Threads that name no graph count as of this one.
    pub default_graph: Option<DefaultGraph>,
}

/// A text that a title is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// As the caller wrote it.
    pub text: String,
    /// In small letters, as titles are compared.
    pub folded: String,
}

impl Words {
    /// # Errors
    /// 422 for NUL, an empty or an over-long text.
    pub fn new(text: String) -> Result<Self> {
        names::check("q", &text, LIMITS.title_bytes_max, false)?;
        Ok(Self { folded: folded(&text), text })
    }
}

/// The title in the form that searches compare.
pub fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// Conditions that a document contains the one in `field`: objects field by field, lists and scalars as a whole.
///
/// # Errors
/// As [`check_object`]; 422 for more values than a filter has conditions.
pub fn contained(field: &str, text: &[u8]) -> Result<Vec<Filter>> {
    check_object(field, text)?;
    let wanted = exact_json::parse(field, text)?;
    exact_json::check_wanted(field, &wanted)?;
    let Value::Object(fields) = wanted else { return Ok(Vec::new()) };
    let field = |(name, value): (String, Value)| {
        Filter::Field(Field { name, path: Vec::new() }, contains_value(value))
    };
    Ok(fields.into_iter().map(field).collect())
}

/// Whether a condition of [`contained`] is on one of [`LABELS`].
pub fn is_label(condition: &Filter) -> bool {
    matches!(condition, Filter::Field(field, _) if LABELS.contains(&field.name.as_str()))
}

fn contains_value(wanted: Value) -> Test {
    match wanted {
        Value::Object(fields) => {
            let tests = fields.into_iter().map(|(name, it)| (name, contains_value(it)));
            Test::Fields(tests.collect())
        }
        whole => Test::Equal(whole),
    }
}

impl DetailsFilter {
    /// Whether it asks for a field that checkpoints say something of, too.
    pub fn asks_labels(&self) -> bool {
        self.metadata.iter().any(is_label)
    }

    /// Whether threads without a graph show this label.
    pub fn is_by_default(&self, name: &str, text: &str) -> bool {
        self.default_graph.as_ref().is_some_and(|it| it.is_label(name, text))
    }

    pub fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.words.is_none()
    }
}
