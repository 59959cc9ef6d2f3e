//! Defines the keys of items: any string that a client can have, NUL and lone surrogates too.

use crate::domain::error::{Error, Result};
use crate::domain::json::wide_text::WideText;
use crate::domain::limits::LIMITS;

/// Any string of any client language: orders by code point.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(WideText);

impl Key {
    /// # Errors
    /// 422 over the limit.
    pub fn of_text(text: &str) -> Result<Self> {
        Self::of_wide(text.into())
    }

    /// From the JSON text of a string, which may hold lone surrogates.
    ///
    /// # Errors
    /// 422 over the limit, and for anything but a string.
    pub fn of_json(text: &[u8]) -> Result<Self> {
        Self::of_wide(WideText::of_json("key", text)?)
    }

    /// # Errors
    /// 422 over the limit.
    pub fn of_wide(text: WideText) -> Result<Self> {
        let (length, max) = (text.as_bytes().len(), LIMITS.item_key_bytes_max);
        if length as u64 > max {
            let detail = format!("key is {length} bytes long, at most {max} are allowed");
            return Err(Error::out_of_range("key", detail, max));
        }
        Ok(Self(text))
    }

    /// What a storage engine read.
    pub fn stored(bytes: Vec<u8>) -> Self {
        Self(WideText::of_bytes(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    pub fn wide(&self) -> &WideText {
        &self.0
    }

    /// None when it holds a lone surrogate.
    pub fn text(&self) -> Option<&str> {
        self.0.text()
    }

    /// The JSON text of the string.
    pub fn json(&self) -> String {
        self.0.json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_any_string_and_order_by_code_point() {
        let texts = [
            r#""""#,
            r#""\u0000""#,
            r#""/a b.md""#,
            r#""a\u0000b""#,
            r#""ü%_""#,
            r#""\ud7ff""#,
            r#""\ud800""#,
            r#""\ud800a""#,
            r#""\udfff\ud800""#,
            r#""\ue000""#,
            r#""\ufdd0""#,
            r#""\ud83d\ude00""#,
        ];
        let keys: Vec<Key> = texts.iter().map(|it| Key::of_json(it.as_bytes()).unwrap()).collect();
        assert!(keys.is_sorted());
        for (key, text) in keys.iter().zip(texts) {
            assert_eq!(&Key::of_json(key.json().as_bytes()).unwrap(), key, "{text}");
        }
        assert_eq!(keys[6].text(), None);
        assert_eq!(Key::of_text("a\0b").unwrap(), keys[3]);
        assert_eq!(keys[7].json(), r#""\ud800a""#);
        assert!(Key::of_json(b"1").is_err() && Key::of_text(&"x".repeat(1_025)).is_err());
    }
}
