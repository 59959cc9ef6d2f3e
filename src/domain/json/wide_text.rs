//! Holds any string of any client language: lone surrogates and NUL too. It is UTF-8, with three bytes for a lone surrogate. So it orders
//! by code point and is searched byte by byte.

use serde_json::Value;

use super::exact_json::{self, code_points};
use crate::domain::error::{Error, Result};

/// What the parser of exact JSON puts before the digits of a lone surrogate, and of itself.
const MARK: char = '\u{fdd0}';

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WideText(Vec<u8>);

impl WideText {
    /// From the JSON text of a string.
    ///
    /// # Errors
    /// 422 for anything but a string.
    pub fn of_json(field: &str, text: &[u8]) -> Result<Self> {
        match exact_json::parse(field, text)? {
            Value::String(parsed) => Ok(Self::of_parsed(parsed)),
            _ => Err(Error::invalid(field, format!("{field} must be a string"))),
        }
    }

    /// From a string of a document that [`exact_json::parse`] read.
    pub fn of_parsed(parsed: String) -> Self {
        if !parsed.contains(MARK) {
            return Self(parsed.into_bytes());
        }
        let mut bytes = Vec::with_capacity(parsed.len());
        for point in code_points(&parsed) {
            match char::from_u32(point) {
                Some(it) => bytes.extend_from_slice(it.encode_utf8(&mut [0; 4]).as_bytes()),
                None => bytes.extend(surrogate_bytes(point)),
            }
        }
        Self(bytes)
    }

    /// Bytes that an earlier one had.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// None when it holds a lone surrogate.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// For messages: a replacement character stands for what is no text.
    pub fn shown(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Its length in JavaScript.
    pub fn utf16_length(&self) -> usize {
        let units = |byte: &u8| usize::from(byte & 0xc0 != 0x80) + usize::from(*byte >= 0xf0);
        self.0.iter().map(units).sum()
    }

    /// The JSON text of the string.
    pub fn json(&self) -> String {
        if let Some(text) = self.text() {
            return quoted(text);
        }
        let mut json = String::with_capacity(self.0.len() + 2);
        json.push('"');
        let mut rest = self.0.as_slice();
        while let Some(at) = first_surrogate(rest) {
            push_escaped(&mut json, &rest[..at]);
            let point =
                0xd000 | (u32::from(rest[at + 1] & 0x3f) << 6) | u32::from(rest[at + 2] & 0x3f);
            json.push_str(&format!("\\u{point:04x}"));
            rest = &rest[at + 3..];
        }
        push_escaped(&mut json, rest);
        json.push('"');
        json
    }
}

impl From<&str> for WideText {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for WideText {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

fn first_surrogate(bytes: &[u8]) -> Option<usize> {
    let is_one = |it: &[u8]| it[0] == 0xed && (0xa0..=0xbf).contains(&it[1]);
    bytes.windows(3).position(is_one)
}

fn push_escaped(json: &mut String, part: &[u8]) {
    let escaped = quoted(&String::from_utf8_lossy(part));
    json.push_str(&escaped[1..escaped.len() - 1]);
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}

fn surrogate_bytes(point: u32) -> [u8; 3] {
    let low = |shift: u32| 0x80 | u8::try_from((point >> shift) & 0x3f).expect("six bits fit");
    [0xed, low(6), low(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_with_lone_surrogates_come_back() {
        for json in [
            r#""""#,
            r#""a\u0000\ud800b""#,
            r#""\ud83d\ude00""#,
            r#""\udfff\ud800""#,
            r#""\ud7ff\ue000\ufdd0\"\\\n""#,
        ] {
            let text = WideText::of_json("x", json.as_bytes()).unwrap();
            let again = WideText::of_json("x", text.json().as_bytes()).unwrap();
            assert_eq!(text, again, "{json}");
        }
        assert!(WideText::of_json("x", b"1").is_err());
        assert_eq!(WideText::of_json("x", br#""\ud800a""#).unwrap().json(), r#""\ud800a""#);
    }

    #[test]
    fn javascript_counts_units() {
        let length = |json: &str| WideText::of_json("x", json.as_bytes()).unwrap().utf16_length();
        assert_eq!(
            ["\"\"", "\"aé€\"", "\"\\ud83d\\ude00\"", "\"\\ud83d.\""].map(length),
            [0, 3, 2, 2]
        );
    }
}
