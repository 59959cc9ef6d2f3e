//! Texts of a document at a path, as LangGraph's stores read them (`langgraph.store.base.get_text_at_path`): `a.b`, `list[0]`,
//! `list[-1]`, `list[*].text`, `*`, `{a,b.c}`, and `$` for the whole. Pure.

use serde_json::{Map, Value};

use super::error::{Error, Result};
use super::exact_json::code_points;
use super::limits::LIMITS;

/// Where texts are in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    /// None: what is between the brackets is no number, so there is nothing.
    Entry(Option<i64>),
    EachEntry,
    /// Values of an object, or entries of a list.
    Each,
    /// Paths of plain names in one object.
    Fields(Vec<Vec<String>>),
}

impl FieldPath {
    /// # Errors
    /// 422 naming `index` for what is too long.
    pub fn new(text: &str) -> Result<Self> {
        let max = LIMITS.vector_field_bytes_max;
        if text.len() as u64 > max || text.contains('\0') {
            let detail = format!("a path has at most {max} bytes and no NUL");
            return Err(Error::out_of_range("index", detail, max));
        }
        let steps = if text == "$" { Vec::new() } else { tokens(text).map(step).collect() };
        Ok(Self { text: text.to_owned(), steps })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands there, with the name of each: the path, and its number where there are several.
    pub fn texts(&self, document: &Value) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if self.steps.is_empty() {
            found.push(json_text(document));
        } else {
            collect(document, &self.steps, &mut found);
        }
        if let [_] = found.as_slice() {
            return found.into_iter().map(|it| (self.text.clone(), it)).collect();
        }
        let named = found.into_iter().enumerate();
        named.map(|(at, it)| (format!("{}.{at}", self.text), it)).collect()
    }
}

/// Names, and what stands in brackets or braces with them.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    let (mut tokens, mut name) = (Vec::new(), String::new());
    let mut rest = text.chars();
    while let Some(it) = rest.next() {
        match it {
            '[' | '{' => {
                tokens.push(std::mem::take(&mut name));
                let close = if it == '[' { ']' } else { '}' };
                let (mut group, mut depth) = (String::from(it), 1);
                for inner in rest.by_ref() {
                    group.push(inner);
                    depth += i32::from(inner == it) - i32::from(inner == close);
                    if depth == 0 {
                        break;
                    }
                }
                tokens.push(group);
            }
            '.' => tokens.push(std::mem::take(&mut name)),
            other => name.push(other),
        }
    }
    tokens.push(name);
    tokens.into_iter().filter(|it| !it.is_empty())
}

fn step(token: String) -> Step {
    let inside = |open: char, close: char| token.strip_prefix(open)?.strip_suffix(close);
    match (inside('[', ']'), inside('{', '}')) {
        (Some("*"), _) => Step::EachEntry,
        (Some(number), _) => Step::Entry(number.trim().parse().ok()),
        (_, Some(fields)) => {
            let paths = fields.split(',').map(|it| tokens(it.trim()).collect::<Vec<_>>());
            Step::Fields(paths.filter(|it| !it.is_empty()).collect())
        }
        _ if token == "*" => Step::Each,
        _ => Step::Field(token),
    }
}

/// Documents have a limited depth, so this has too.
fn collect(value: &Value, steps: &[Step], found: &mut Vec<String>) {
    let Some((step, rest)) = steps.split_first() else {
        found.extend(leaf(value));
        return;
    };
    let inner: Vec<&Value> = match (step, value) {
        (Step::Field(name), Value::Object(fields)) => fields.get(name).into_iter().collect(),
        (Step::Each, Value::Object(fields)) => fields.values().collect(),
        (Step::Each | Step::EachEntry, Value::Array(entries)) => entries.iter().collect(),
        (Step::Entry(Some(number)), Value::Array(entries)) => {
            let length = i64::try_from(entries.len()).unwrap_or(i64::MAX);
            let at = if *number < 0 { length.saturating_add(*number) } else { *number };
            usize::try_from(at).ok().and_then(|at| entries.get(at)).into_iter().collect()
        }
        // What comes behind it counts for nothing, as in the reference.
        (Step::Fields(paths), Value::Object(fields)) => {
            found.extend(paths.iter().filter_map(|path| at_names(fields, path)).filter_map(leaf));
            return;
        }
        _ => return,
    };
    for value in inner {
        collect(value, rest, found);
    }
}

fn at_names<'a>(fields: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(fields.get(first)?, |value, name| value.as_object()?.get(name))
}

fn leaf(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(true) => Some("True".into()),
        Value::Bool(false) => Some("False".into()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(shown(text)),
        Value::Array(_) | Value::Object(_) => Some(json_text(value)),
    }
}

/// As Python writes it with sorted keys: a space behind commas and colons, characters as they are.
fn json_text(value: &Value) -> String {
    match value {
        Value::Array(entries) => {
            let entries: Vec<String> = entries.iter().map(json_text).collect();
            format!("[{}]", entries.join(", "))
        }
        Value::Object(fields) => {
            let mut fields: Vec<(String, &Value)> =
                fields.iter().map(|(name, value)| (shown(name), value)).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            let fields = fields.iter().map(|(name, value)| {
                format!("{}: {}", Value::from(name.as_str()), json_text(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => Value::from(shown(text)).to_string(),
        other => other.to_string(),
    }
}

/// A string of [`super::exact_json::parse`] as a model may read it: without surrogates, which no text has.
fn shown(text: &str) -> String {
    code_points(text).map(|it| char::from_u32(it).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::exact_json;

    fn texts(path: &str, document: &str) -> Vec<String> {
        let document = exact_json::parse("x", document.as_bytes()).unwrap();
        let found = FieldPath::new(path).unwrap().texts(&document);
        found.into_iter().map(|(name, text)| format!("{name}={text}")).collect()
    }

    const DOCUMENT: &str = r#"{"title":"tea","n":1.50,"yes":true,"no":null,"list":[{"t":"a"},{"t":"b"},{}],
        "deep":{"b":{"c":"ü"},"a":[1,"x"]}}"#;

    #[test]
    fn paths_find_what_the_reference_finds() {
        let found = |path: &str| texts(path, DOCUMENT);
        assert_eq!(found("title"), ["title=tea"]);
        assert_eq!(found("n"), ["n=1.50"]);
        assert_eq!(found("yes"), ["yes=True"]);
        assert_eq!(found("no"), [""; 0]);
        assert_eq!(found("absent.x"), [""; 0]);
        assert_eq!(found("list[*].t"), ["list[*].t.0=a", "list[*].t.1=b"]);
        assert_eq!(found("list[0].t"), ["list[0].t=a"]);
        assert_eq!(found("list[-2].t"), ["list[-2].t=b"]);
        assert_eq!(found("list[7].t"), [""; 0]);
        assert_eq!(found("list[x].t"), [""; 0]);
        assert_eq!(found("title[0]"), [""; 0]);
        assert_eq!(found("deep.b.c"), ["deep.b.c=ü"]);
        assert_eq!(found("deep.*"), ["deep.*.0=[1, \"x\"]", "deep.*.1={\"c\": \"ü\"}"]);
        assert_eq!(
            found("{title, deep.b.c,absent,no}"),
            ["{title, deep.b.c,absent,no}.0=tea", "{title, deep.b.c,absent,no}.1=ü"]
        );
    }

    #[test]
    fn the_whole_is_json_with_sorted_keys() {
        let whole = r#"{"b": ["ü", null, 1.0], "a": {"y": 2, "x": "\ud800\u0000\""}}"#;
        let expected =
            "$={\"a\": {\"x\": \"\u{fffd}\\u0000\\\"\", \"y\": 2}, \"b\": [\"ü\", null, 1.0]}";
        assert_eq!(texts("$", whole), [expected]);
        assert_eq!(texts("", whole), [expected.trim_start_matches('$').to_owned()]);
        assert!(FieldPath::new(&"x".repeat(513)).is_err() && FieldPath::new("a\0").is_err());
    }
}
