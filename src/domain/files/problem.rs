//! Defines the errors of files. The details are, to the letter, the texts that deepagents' tools show to a model, because programs and
//! models match on them.

use super::dialect::Dialect;
use crate::domain::error::{Error, FileProblem};
use crate::domain::json::wide_text::WideText;
use crate::domain::store::item::Key;

pub fn problem(problem: FileProblem, detail: impl Into<String>) -> Error {
    Error::File { problem, detail: detail.into() }
}

/// Where a text is wanted without the word in front that edits have.
pub fn not_found(path: &Key) -> Error {
    problem(FileProblem::NotFound, format!("File '{}' not found", path.wide().shown()))
}

pub fn not_found_for_change(path: &Key) -> Error {
    problem(FileProblem::NotFound, format!("Error: File '{}' not found", path.wide().shown()))
}

/// Of an item that is no file: what deepagents says of its value.
pub fn not_a_file(dialect: Dialect, value: &[u8], prefix: &str) -> Error {
    let fields = crate::domain::json::exact_fields::names(value).unwrap_or_default();
    let detail = match dialect {
        Dialect::Python => match content_type(value) {
            Some(kind) => {
                format!("Store item `content` must be a `str` or legacy `list[str]`, got {kind}.")
            }
            None => {
                let names: Vec<String> = fields.iter().map(python_repr).collect();
                let names = names.join(", ");
                format!(
                    "Store item does not contain valid content field. Got: dict_keys([{names}])"
                )
            }
        },
        Dialect::JavaScript => {
            let names: Vec<_> = fields.iter().map(|it| it.shown().into_owned()).collect();
            let names = names.join(", ");
            format!("Store item does not contain valid FileData fields. Got keys: {names}")
        }
    };
    problem(FileProblem::NotAFile, format!("{prefix}{detail}"))
}

/// Python's name for the type of a content that is neither text nor lines; None: there is none.
fn content_type(value: &[u8]) -> Option<&'static str> {
    let document = crate::domain::json::exact_json::parse("value", value).ok()?;
    match document.get("content")? {
        serde_json::Value::Null => None,
        serde_json::Value::Bool(_) => Some("bool"),
        serde_json::Value::Number(number) if number.to_string().contains(['.', 'e', 'E']) => {
            Some("float")
        }
        serde_json::Value::Number(_) => Some("int"),
        serde_json::Value::String(_) => Some("str"),
        serde_json::Value::Array(_) => Some("list"),
        serde_json::Value::Object(_) => Some("dict"),
    }
}

/// A string as Python's `repr` shows it.
pub fn python_repr(text: &WideText) -> String {
    use std::fmt::Write as _;

    let shown = text.shown();
    let quote = if shown.contains('\'') && !shown.contains('"') { '"' } else { '\'' };
    let mut repr = String::from(quote);
    for character in shown.chars() {
        let code = u32::from(character);
        let written = match character {
            '\\' => repr.write_str("\\\\"),
            '\n' => repr.write_str("\\n"),
            '\r' => repr.write_str("\\r"),
            '\t' => repr.write_str("\\t"),
            it if it == quote => write!(repr, "\\{it}"),
            it if is_printable(it) => repr.write_char(it),
            _ if code < 0x100 => write!(repr, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(repr, "\\u{code:04x}"),
            _ => write!(repr, "\\U{code:08x}"),
        };
        written.expect("a string takes everything");
    }
    repr.push(quote);
    repr
}

/// But for characters that Unicode has given no meaning yet.
fn is_printable(character: char) -> bool {
    !(character.is_control()
        || character.is_whitespace() && character != ' '
        || matches!(character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{10ffff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_described_as_deepagents_does() {
        let says = |dialect, value: &str| not_a_file(dialect, value.as_bytes(), "").to_string();
        assert_eq!(
            says(Dialect::Python, r#"{"b":1,"a'":2}"#),
            r#"Store item does not contain valid content field. Got: dict_keys(['b', "a'"])"#
        );
        assert_eq!(
            says(Dialect::Python, r#"{"content":1.0}"#),
            "Store item `content` must be a `str` or legacy `list[str]`, got float."
        );
        assert_eq!(
            says(Dialect::JavaScript, r#"{"content":"x","a":2}"#),
            "Store item does not contain valid FileData fields. Got keys: content, a"
        );
    }

    #[test]
    fn strings_are_shown_as_python_shows_them() {
        let repr = |text: &str| python_repr(&text.into());
        assert_eq!(repr("a'b"), r#""a'b""#);
        assert_eq!(repr("a'b\"c"), r#"'a\'b"c'"#);
        assert_eq!(repr("\\\n\u{1}\u{a0}\u{2028}é😀"), "'\\\\\\n\\x01\\xa0\\u2028é😀'");
    }
}
