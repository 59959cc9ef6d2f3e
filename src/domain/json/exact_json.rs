//! Reads JSON text without loss, as filters need it. The text itself is kept byte for byte.
//!
//! The text is never rebuilt from a parsed form, so `1.0`, 2^70, key order and escapes survive.

use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::decimal::Decimal;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;

/// Stands before the four hex digits of what a string of Rust cannot hold, and of itself.
const MARK: char = '\u{fdd0}';

/// Checks that `text` is one JSON document within the limits of size, depth and entries: parsed it takes up to a hundred bytes
/// for each entry.
///
/// # Errors
/// 413 over the value limit; 422 for text that is not UTF-8, not JSON, nested too deep, or of too many entries.
pub fn check(field: &str, text: &[u8]) -> Result<()> {
    if text.len() as u64 > LIMITS.document_bytes_max {
        return Err(Error::TooLarge { field: field.into(), limit: LIMITS.document_bytes_max });
    }
    let (depth, entries) = extent(text);
    is_within(field, depth, LIMITS.json_depth_max)?;
    let max = LIMITS.document_entries_max;
    if entries > max {
        let detail =
            format!("{field} has more than {max} entries in its lists and objects together");
        return Err(Error::out_of_range(field, detail, max));
    }
    serde_json::from_slice::<&RawValue>(text)
        .map(|_| ())
        .map_err(|error| Error::invalid(field, format!("{field} is not JSON: {error}")))
}

/// Checks only the nesting of a text that is JSON.
///
/// # Errors
/// 422 where it is deeper than `max`.
pub fn check_depth(field: &str, text: &[u8], max: u64) -> Result<()> {
    is_within(field, extent(text).0, max)
}

fn is_within(field: &str, depth: u64, max: u64) -> Result<()> {
    if depth <= max {
        return Ok(());
    }
    Err(Error::out_of_range(field, format!("{field} is nested deeper than {max}"), max))
}

/// Like [`check`], and the document must be an object.
///
/// # Errors
/// As [`check`]; 422 when it is something else.
pub fn check_object(field: &str, text: &[u8]) -> Result<()> {
    check(field, text)?;
    if text.trim_ascii_start().first() == Some(&b'{') {
        return Ok(());
    }
    Err(Error::invalid(field, format!("{field} must be a JSON object")))
}

/// As [`check_object`] and [`parse`], for a filter.
///
/// # Errors
/// Theirs; 413 over the limit of a filter.
pub fn read_filter(text: &[u8]) -> Result<Value> {
    const FIELD: &str = "filter";
    if text.len() as u64 > LIMITS.filter_bytes_max {
        return Err(Error::TooLarge { field: FIELD.into(), limit: LIMITS.filter_bytes_max });
    }
    check_object(FIELD, text)?;
    parse(FIELD, text)
}

/// Parses without losing anything that comparisons see: numbers keep their digits, lone surrogates stay
/// distinct. Strings hold an injective encoding (see [`escape_lone_surrogates`]), so never show them to a caller.
///
/// # Errors
/// 422 when the text is not JSON.
pub fn parse(field: &str, text: &[u8]) -> Result<Value> {
    let invalid =
        |error: serde_json::Error| Error::invalid(field, format!("{field} is not JSON: {error}"));
    match escape_lone_surrogates(text) {
        Some(escaped) => serde_json::from_slice(&escaped).map_err(invalid),
        None => serde_json::from_slice(text).map_err(invalid),
    }
}

/// Whether `document` contains `wanted`: objects by key, arrays element by element, scalars by value
/// (numbers numerically). The rule of metadata filters; an absent key never matches.
pub fn contains(document: &Value, wanted: &Value) -> bool {
    match (document, wanted) {
        (Value::Object(have), Value::Object(want)) => {
            want.iter().all(|(key, value)| have.get(key).is_some_and(|it| contains(it, value)))
        }
        (Value::Array(have), Value::Array(want)) => {
            want.iter().all(|value| have.iter().any(|it| contains(it, value)))
        }
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (a, b) => a == b,
    }
}

/// A document that others are asked to contain: each of its values may be held against each of theirs, so it has a few only.
///
/// # Errors
/// 422 for more values than conditions of a filter.
pub fn check_wanted(field: &str, wanted: &Value) -> Result<()> {
    at_most(field, values_of(wanted), LIMITS.filter_terms_max)
}

/// Values that are no lists and objects, or empty ones.
fn values_of(document: &Value) -> usize {
    match document {
        Value::Array(entries) if !entries.is_empty() => entries.iter().map(values_of).sum(),
        Value::Object(fields) if !fields.is_empty() => fields.values().map(values_of).sum(),
        _ => 1,
    }
}

/// Whether two documents say the same: numbers numerically, objects whatever the order of their keys.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|it| equal(value, it)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (a, b) => a == b,
    }
}

/// Refuses numbers that are too long to be compared.
///
/// # Errors
/// 422 naming the field.
pub fn check_numbers(field: &str, document: &Value) -> Result<()> {
    match document {
        Value::Object(fields) => fields.values().try_for_each(|it| check_numbers(field, it)),
        Value::Array(items) => items.iter().try_for_each(|it| check_numbers(field, it)),
        Value::Number(number) => {
            let text = number.to_string();
            // Most are short; a short text has neither many digits nor a great power.
            if text.len() <= 18 && !text.contains(['e', 'E'])
                || Decimal::read(&text).is_within_limits()
            {
                return Ok(());
            }
            let max = LIMITS.number_digits_max;
            let detail = format!("{field} has a number with more than {max} digits");
            Err(Error::out_of_range(field, detail, max))
        }
        _ => Ok(()),
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    Decimal::read(&a.to_string()) == Decimal::read(&b.to_string())
}

/// Greatest nesting of brackets outside strings, and how many entries there are at most: one more than commas in each list and
/// object. Iterative: hostile depth costs no stack.
fn extent(text: &[u8]) -> (u64, u64) {
    let (mut depth, mut deepest, mut entries) = (0_u64, 0, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b',') => entries += 1,
            (false, b'[' | b'{') => {
                entries += 1;
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    (deepest, entries)
}

/// Rewrites `\ud800` without its partner as U+FDD0 and four hex digits, and U+FDD0 itself as U+FDD0 `fdd0`:
/// injective, and legal for a parser that wants Unicode scalars. None when nothing needs it.
fn escape_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    const MARK: &str = "\u{fdd0}";
    let has_mark = memchr::memmem::find(text, MARK.as_bytes()).is_some();
    let has_escape = memchr::memchr_iter(b'\\', text)
        .any(|at| matches!(text[at..], [_, b'u', b'd' | b'D' | b'f' | b'F', ..]));
    if !has_mark && !has_escape {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(MARK.as_bytes()) {
            out.extend_from_slice(MARK.as_bytes());
            out.extend_from_slice(b"fdd0");
            at += MARK.len();
        } else if rest[0] == b'\\' && rest.len() > 1 && rest[1] != b'u' {
            out.extend_from_slice(&rest[..2]);
            at += 2;
        } else if let Some(unit) = unicode_escape(rest) {
            let pair = (0xd800..0xdc00).contains(&unit)
                && unicode_escape(&rest[6..]).is_some_and(|low| (0xdc00..0xe000).contains(&low));
            if pair {
                out.extend_from_slice(&rest[..12]);
                at += 12;
            } else if (0xd800..0xe000).contains(&unit) || unit == 0xfdd0 {
                out.extend_from_slice(MARK.as_bytes());
                out.extend_from_slice(format!("{unit:04x}").as_bytes());
                at += 6;
            } else {
                out.extend_from_slice(&rest[..6]);
                at += 6;
            }
        } else {
            out.push(rest[0]);
            at += 1;
        }
    }
    Some(out)
}

fn unicode_escape(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Code points of a string that [`parse`] made, lone surrogates among them.
pub fn code_points(text: &str) -> impl Iterator<Item = u32> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        rest = &rest[first.len_utf8()..];
        if first != MARK {
            return Some(u32::from(first));
        }
        let (unit, after) = rest.split_at_checked(4)?;
        rest = after;
        u32::from_str_radix(unit, 16).ok()
    })
}

/// The string that [`parse`] would have made of these code points.
#[cfg(test)]
pub fn of_code_points(points: impl Iterator<Item = u32>) -> String {
    let mut text = String::new();
    for point in points {
        match char::from_u32(point) {
            Some(it) if it != MARK => text.push(it),
            _ => text.push_str(&format!("{MARK}{point:04x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(document: &str, wanted: &str) -> bool {
        let parse = |text: &str| parse("x", text.as_bytes()).unwrap();
        contains(&parse(document), &parse(wanted))
    }

    #[test]
    fn containment_follows_the_rule_of_metadata_filters() {
        assert!(holds(r#"{"parents":{"":"x"},"step":1}"#, r#"{"parents":{}}"#));
        assert!(holds(r#"{"tags":["a","b"]}"#, r#"{"tags":["a"]}"#));
        assert!(holds(r#"{"n":10}"#, r#"{"n":1.0e1}"#));
        assert!(!holds(r#"{"n":"10"}"#, r#"{"n":10}"#));
        assert!(!holds(r#"{"n":true}"#, r#"{"n":1}"#));
        assert!(!holds("{}", r#"{"absent":null}"#));
        assert!(!holds("{\"n\":1180591620717411303424}", "{\"n\":1180591620717411303425}"));
    }

    #[test]
    fn lone_surrogates_stay_distinct() {
        assert!(holds(r#"{"a":"\ud800"}"#, r#"{"a":"\uD800"}"#));
        assert!(!holds(r#"{"a":"\ud800"}"#, r#"{"a":"\ud801"}"#));
        assert!(!holds(r#"{"a":"\ufdd0d800"}"#, r#"{"a":"\ud800"}"#));
        assert!(holds(r#"{"a":"\ud83d\ude00"}"#, "{\"a\":\"\u{1f600}\"}"));
        assert!(holds(r#"{"a":"\\ud800"}"#, r#"{"a":"\\ud800"}"#));
    }

    #[test]
    fn strings_are_known_by_their_code_points() {
        let points = |json: &str| match parse("x", json.as_bytes()).unwrap() {
            Value::String(text) => code_points(&text).collect::<Vec<_>>(),
            other => panic!("{other}"),
        };
        let text = r#""a\ud800\u0000\ufdd0\ud83d\ude00\udfff""#;
        let expected = [0x61, 0xd800, 0, 0xfdd0, 0x1f600, 0xdfff];
        assert_eq!(points(text), expected);
        let Value::String(parsed) = parse("x", text.as_bytes()).unwrap() else { panic!() };
        assert_eq!(of_code_points(expected.into_iter()), parsed);
    }

    #[test]
    fn equality_is_of_whole_documents() {
        let same = |a: &str, b: &str| {
            let parse = |text: &str| parse("x", text.as_bytes()).unwrap();
            equal(&parse(a), &parse(b))
        };
        assert!(same(r#"{"a":[1,2.0],"b":null}"#, r#"{"b":null,"a":[1.0,2]}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":null}"#) && !same("[1]", "[1,1]"));
        assert!(!same("true", "1") && !same("\"2\"", "2") && !same("0", "false"));
        let huge = |text: &str| check_numbers("x", &parse("x", text.as_bytes()).unwrap()).is_err();
        assert!(huge(r#"{"a":[1,1e5000]}"#) && !huge(r#"{"a":[1,1e4999]}"#));
    }

    #[test]
    fn a_document_of_too_many_entries_is_refused_before_it_is_parsed() {
        let of = |entries: usize| format!("{{\"a\":[0{}]}}", ",0".repeat(entries));
        let max = usize::try_from(LIMITS.document_entries_max).unwrap();
        // The object and the list count too.
        check_object("x", of(max - 2).as_bytes()).unwrap();
        let refused = check_object("x", of(max - 1).as_bytes());
        assert!(
            matches!(refused, Err(Error::Invalid { limit: Some(it), .. }) if it == LIMITS.document_entries_max)
        );
        let texts = format!("[\"{}\"]", ",[{".repeat(max));
        check("x", texts.as_bytes()).unwrap();
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
        assert!(matches!(read_filter(long.as_bytes()), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn hostile_nesting_is_refused_without_recursion() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(matches!(check("x", deep.as_bytes()), Err(Error::Invalid { limit: Some(_), .. })));
        assert!(check("x", b"{\"a\":\"\\ud800\"}").is_ok());
        assert!(check("x", b"{\"a\":\xff}").is_err());
        assert!(check_object("x", b"[1]").is_err());
    }

    #[test]
    fn a_document_that_others_are_to_contain_has_a_few_values_only() {
        let wanted = |count| serde_json::json!({"a": [vec![1; count]], "b": {}});
        assert!(check_wanted("filter", &wanted(127)).is_ok());
        let refused = check_wanted("filter", &wanted(128));
        assert!(matches!(refused, Err(Error::Invalid { limit: Some(128), .. })), "{refused:?}");
    }
}
