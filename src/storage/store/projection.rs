//! Makes the projection of a value that a database index covers: its short fields, in a form that `jsonb` can hold.
//!
//! Strings are escaped so that they stay different and in the order of their code points, because `jsonb` takes neither NUL nor lone
//! surrogates. A long value becomes a mark, by a rule that looks only at that value. So equal values have equal projections.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::domain::json::exact_json::code_points;

/// Stands for something that was left out; no escaped string is like it.
pub const MARK: &str = "\u{1}\u{3}";
/// Bytes of a string, and of a list or an object inside of the document, that is kept.
const STRING_BYTES_MAX: usize = 256;
const NESTED_BYTES_MAX: usize = 1_024;
/// Entries of a list or an object inside of the document that is kept.
const NESTED_ENTRIES_MAX: usize = 32;
/// Bytes of the whole.
const WHOLE_BYTES_MAX: usize = 8 << 10;

/// The projection of a document of which nothing may be shown: a mark for all of it.
pub fn hide(tenant: &str) -> String {
    under(tenant, &Value::from(MARK).to_string())
}

/// The JSON text of a document's projection under the tenant's name, and whether it has marks.
pub fn project(tenant: &str, document: &Value) -> (String, bool) {
    let mut has_marks = false;
    let projected = match document {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = project_part(value, &mut has_marks);
                (escape(name), value)
            });
            Value::Object(fields.collect())
        }
        other => project_part(other, &mut has_marks),
    };
    let text = projected.to_string();
    let is_long = text.len() > WHOLE_BYTES_MAX;
    let shown = if is_long { Value::from(MARK).to_string() } else { text };
    (under(tenant, &shown), has_marks || is_long)
}

/// The projection of a value that a field is compared with.
pub fn project_operand(value: &Value) -> Value {
    project_part(value, &mut false)
}

/// A JSON text under the tenant's name.
pub fn under(tenant: &str, json: &str) -> String {
    format!("{{{}:{json}}}", Value::from(tenant))
}

/// Two projections under different names in one.
pub fn beside(first: &str, second: &str) -> String {
    let inner = |it: &str| it[1..it.len() - 1].to_owned();
    format!("{{{},{}}}", inner(first), inner(second))
}

/// A string of [`exact_json::parse`] in the form of the projection.
pub fn escape(text: &str) -> String {
    let plain = |it: &u8| (2..0x80).contains(it);
    if text.bytes().all(|it| plain(&it)) {
        return text.to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for point in code_points(text) {
        match (point, char::from_u32(point)) {
            (0, _) => escaped.push_str("\u{1}\u{1}"),
            (1, _) => escaped.push_str("\u{1}\u{2}"),
            (0xd7ff, _) => escaped.push_str("\u{d7ff}\u{1}"),
            (_, Some(character)) => escaped.push(character),
            (surrogate, None) => {
                escaped.push('\u{d7ff}');
                escaped.extend(char::from_u32(0x100 + surrogate - 0xd800));
            }
        }
    }
    escaped
}

fn project_part(value: &Value, has_marks: &mut bool) -> Value {
    let mut marked = *has_marks;
    let (projected, is_long) = match value {
        Value::String(text) => {
            let escaped = escape(text);
            let is_long = escaped.len() > STRING_BYTES_MAX;
            (Value::from(escaped), is_long)
        }
        Value::Array(items) if items.len() > NESTED_ENTRIES_MAX => (Value::Null, true),
        Value::Object(fields) if fields.len() > NESTED_ENTRIES_MAX => (Value::Null, true),
        Value::Array(items) => {
            let items = items.iter().map(|it| project_part(it, &mut marked)).collect();
            nested(Value::Array(items))
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, it)| (escape(name), project_part(it, &mut marked)));
            nested(Value::Object(fields.collect::<Map<_, _>>()))
        }
        other => (other.clone(), false),
    };
    *has_marks = marked || is_long;
    if is_long { Value::from(MARK) } else { projected }
}

fn nested(value: Value) -> (Value, bool) {
    let is_long = value.to_string().len() > NESTED_BYTES_MAX;
    (value, is_long)
}

/// A label or a path as a list of texts for PostgreSQL.
pub fn array_literal<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> String {
    let quoted = texts.map(|it| format!("\"{}\"", it.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::json::exact_json;

    fn parsed(text: &str) -> Value {
        exact_json::parse("x", text.as_bytes()).unwrap()
    }

    /// A string in the form of `parse`.
    fn string(points: &[u32]) -> String {
        exact_json::of_code_points(points.iter().copied())
    }

    fn points() -> impl Strategy<Value = Vec<u32>> {
        let some =
            [0, 1, 2, 3, 0x41, 0xd7fe, 0xd7ff, 0xd800, 0xdbff, 0xdfff, 0xe000, 0xfdd0, 0x1f600];
        prop::collection::vec(prop::sample::select(some.to_vec()), 0..4)
            // A pair of surrogates is another character.
            .prop_filter("no pairs", |it| {
                !it.windows(2)
                    .any(|w| (0xd800..0xdc00).contains(&w[0]) && (0xdc00..0xe000).contains(&w[1]))
            })
    }

    proptest! {
        #[test]
        fn escaped_strings_differ_and_order_like_code_points(a in points(), b in points()) {
            let (left, right) = (escape(&string(&a)), escape(&string(&b)));
            prop_assert_eq!(left.as_bytes().cmp(right.as_bytes()), a.cmp(&b));
            prop_assert!(!left.contains('\0') && left != MARK);
        }
    }

    #[test]
    fn long_things_become_marks() {
        let long = "x".repeat(300);
        let (text, has_marks) =
            project("t", &parsed(&format!(r#"{{"a":1.0,"b":"{long}","c":[["{long}"],2]}}"#)));
        assert_eq!(text, r#"{"t":{"a":1.0,"b":"\u0001\u0003","c":[["\u0001\u0003"],2]}}"#);
        assert!(has_marks);
        assert!(!project("t", &parsed(r#"{"a":[1,{"b":null}]}"#)).1);
        let many: Vec<String> = (0..33).map(|it| it.to_string()).collect();
        let (text, has_marks) = project("t", &parsed(&format!(r#"{{"a":[{}]}}"#, many.join(","))));
        assert_eq!((text.as_str(), has_marks), (r#"{"t":{"a":"\u0001\u0003"}}"#, true));
        let wide: Vec<String> = (0..2_000).map(|it| format!("\"k{it}\":{it}")).collect();
        let (text, has_marks) = project("t", &parsed(&format!("{{{}}}", wide.join(","))));
        assert_eq!((text.as_str(), has_marks), (r#"{"t":"\u0001\u0003"}"#, true));
    }
}
