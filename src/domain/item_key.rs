//! Keys of items: any string that a client can have, NUL and lone surrogates too.

use super::error::{Error, Result};
use super::exact_json::{self, code_points};
use super::limits::LIMITS;

/// Any string of any client language, as UTF-8 with lone surrogates as three bytes each: orders by code point.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Vec<u8>);

impl Key {
    /// # Errors
    /// 422 over the limit.
    pub fn of_text(text: &str) -> Result<Self> {
        Self::of_bytes(text.as_bytes().to_vec())
    }

    /// From the JSON text of a string, which may hold lone surrogates.
    ///
    /// # Errors
    /// 422 over the limit, and for anything but a string.
    pub fn of_json(text: &[u8]) -> Result<Self> {
        Self::of_bytes(bytes_of_json("key", text)?)
    }

    /// What a storage engine read.
    pub fn stored(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// None when it holds a lone surrogate.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The JSON text of the string.
    pub fn json(&self) -> String {
        json_of_bytes(&self.0)
    }

    fn of_bytes(bytes: Vec<u8>) -> Result<Self> {
        let max = LIMITS.item_key_bytes_max;
        if bytes.len() as u64 > max {
            let detail = format!("key is {} bytes long, at most {max} are allowed", bytes.len());
            return Err(Error::out_of_range("key", detail, max));
        }
        Ok(Self(bytes))
    }
}

/// The JSON text of a string as its bytes: UTF-8, lone surrogates as three bytes each.
///
/// # Errors
/// 422 for anything but a string.
pub fn bytes_of_json(field: &str, text: &[u8]) -> Result<Vec<u8>> {
    if let Ok(text) = serde_json::from_slice::<String>(text) {
        return Ok(text.into_bytes());
    }
    let serde_json::Value::String(parsed) = exact_json::parse(field, text)? else {
        return Err(Error::invalid(field, format!("{field} must be a string")));
    };
    let mut bytes = Vec::with_capacity(parsed.len());
    for point in code_points(&parsed) {
        match char::from_u32(point) {
            Some(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => bytes.extend(surrogate_bytes(point)),
        }
    }
    Ok(bytes)
}

/// The way back from [`bytes_of_json`].
pub fn json_of_bytes(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return serde_json::Value::from(text).to_string();
    }
    let escaped = points_of(bytes).map(|point| match char::from_u32(point) {
        Some(character) => {
            let quoted = serde_json::Value::from(character.to_string()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        }
        None => format!("\\u{point:04x}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn surrogate_bytes(point: u32) -> [u8; 3] {
    let low = |shift: u32| 0x80 | u8::try_from((point >> shift) & 0x3f).expect("six bits fit");
    [0xed, low(6), low(0)]
}

/// Code points of the bytes of a key.
fn points_of(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|it| !it.is_empty())?;
        if let [0xed, second @ 0xa0..=0xbf, third, ..] = rest {
            at += 3;
            return Some(0xd000 | (u32::from(second & 0x3f) << 6) | u32::from(third & 0x3f));
        }
        let length = match rest[0] {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        let text = std::str::from_utf8(rest.get(..length)?).ok()?;
        at += length;
        text.chars().next().map(u32::from)
    })
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
