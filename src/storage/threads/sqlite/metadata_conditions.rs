//! Turns conditions on the metadata of threads, or on their short values, into SQL on the projection of their details. The projection is the JSON text that
//! `serde_json` wrote, so the text of a value tells whether two values are equal. Numbers can be written in several ways: of those with a
//! point or an exponent the document decides.

use serde_json::Value;

use crate::domain::json::filter::{Filter, Test};
use crate::domain::threads::details_filter::is_label;
use crate::storage::store::projection::{escape, project_operand};

/// Conditions on details `i`.
#[derive(Debug, Default)]
pub struct MetadataConditions {
    /// What it leaves out does not match.
    pub text: String,
    /// Holds where the document decides about what the text lets pass.
    pub uncertain: String,
    /// A path and the text of a value for each condition.
    pub binds: Vec<String>,
}

impl MetadataConditions {
    /// `first` is the number of the first bind; `tenant` the name under which the projection has what is asked.
    pub fn new(tenant: &str, metadata: &[Filter], first: usize) -> Self {
        let mut it = Self::default();
        let (mut matches, mut decided_by_document) = (Vec::new(), Vec::new());
        for filter in metadata {
            let Some((path, value)) = shown(tenant, filter) else {
                decided_by_document.push("1".to_owned());
                continue;
            };
            let (at, number) = (first + it.binds.len(), first + it.binds.len() + 1);
            let found = format!("i.projection -> ${at}");
            let mut is_match = format!("{found} = ${number}");
            if value.is_number() {
                let mut is_other = format!("{found} glob '[-0-9]*[.eE]*'");
                if value.as_i64() == Some(0) {
                    is_other += &format!(" or {found} = '-0'");
                }
                is_match = format!("({is_match} or {is_other})");
                decided_by_document.push(format!("coalesce({is_other}, 0)"));
            }
            matches.push(is_match);
            it.binds.extend([path, value.to_string()]);
        }
        let is_hidden = "i.has_marks or i.projection is null";
        if !matches.is_empty() {
            it.text = format!("({is_hidden} or ({}))", matches.join(" and "));
        }
        decided_by_document.insert(0, is_hidden.to_owned());
        it.uncertain = format!("({})", decided_by_document.join(" or "));
        it
    }
}

/// Where a projection has the field, and what has to be there. None: only the document can tell.
fn shown(tenant: &str, filter: &Filter) -> Option<(String, Value)> {
    let Filter::Field(field, Test::Equal(value)) = filter else { return None };
    let name = escape(&field.name);
    let can_be_in_path =
        |it: &str| !it.is_empty() && !it.contains(['"', '\\']) && !it.contains(char::is_control);
    if is_label(filter)
        || !field.path.is_empty()
        || ![tenant, &name].into_iter().all(can_be_in_path)
    {
        return None;
    }
    let value = match value {
        Value::Null | Value::Bool(_) | Value::String(_) => project_operand(value),
        Value::Number(number) if is_plain(&number.to_string()) => value.clone(),
        _ => return None,
    };
    Some((format!("$.\"{tenant}\".\"{name}\""), value))
}

/// A whole number that can be written in one way only, without point and exponent.
fn is_plain(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.bytes().all(|it| it.is_ascii_digit()) && number != "-0"
}
