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
        let mut json = Vec::with_capacity(self.json_length());
        self.write_json(&mut json);
        text_of(json)
    }

    /// Bytes of the JSON text of the string.
    pub fn json_length(&self) -> usize {
        let surrogates = surrogates(&self.0).count();
        // A lone surrogate has three bytes here, and six there.
        2 + self.0.iter().copied().map(escaped_length).sum::<usize>() + surrogates * 3
    }

    /// Adds the JSON text of the string.
    pub fn write_json(&self, json: &mut Vec<u8>) {
        json.push(b'"');
        let mut from = 0;
        for at in surrogates(&self.0) {
            write_escaped(json, &self.0[from..at]);
            let low = |byte: u8| u32::from(byte & 0x3f);
            let point = 0xd000 | (low(self.0[at + 1]) << 6) | low(self.0[at + 2]);
            json.extend_from_slice(format!("\\u{point:04x}").as_bytes());
            from = at + 3;
        }
        write_escaped(json, &self.0[from..]);
        json.push(b'"');
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

/// JSON text that was written piece by piece.
pub fn text_of(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON text is written as UTF-8")
}

/// Where lone surrogates begin.
fn surrogates(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_one = |at: &usize| bytes.get(at + 1).is_some_and(|it| (0xa0..=0xbf).contains(it));
    memchr::memchr_iter(0xed, bytes).filter(is_one)
}

/// Bytes that stand for one byte in a string of JSON.
fn escaped_length(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

fn write_escaped(json: &mut Vec<u8>, part: &[u8]) {
    let text = String::from_utf8_lossy(part);
    let from = json.len();
    serde_json::to_writer(&mut *json, &text).expect("a string is always JSON");
    // Without the quotes.
    json.pop();
    json.remove(from);
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
            r#""\u0001\u001f\u007f\b\f\r\t\ud800\udc00\udc00x""#,
        ] {
            let text = WideText::of_json("x", json.as_bytes()).unwrap();
            let again = WideText::of_json("x", text.json().as_bytes()).unwrap();
            assert_eq!(text, again, "{json}");
            assert_eq!(text.json().len(), text.json_length(), "{json}");
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
