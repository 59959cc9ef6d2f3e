//! Reads the value of an item that is a file, in every form that deepagents has written.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::dialect::Dialect;
use crate::domain::json::wide_text::WideText;

/// The only key of an object that stands for bytes in a value (clients/PROTOCOL.md, "Bytes in documents").
pub const BYTES: &str = "$threadkeep:bytes";

/// What no other form can be taken for: the item's value opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileValue {
    pub content: Content,
    /// Texts of the value, as they stand there; None where it has none.
    pub created_at: Option<WideText>,
    pub modified_at: Option<WideText>,
    /// `mimeType`, which JavaScript writes.
    pub media_type: Option<WideText>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text(WideText),
    /// A list of lines, of the first format, joined.
    Lines(WideText),
    /// Bytes as Python writes them, with `encoding` base64: the text as it stands there.
    Base64(WideText),
    /// Bytes as JavaScript writes them.
    Bytes(Vec<u8>),
}

impl FileValue {
    /// None: no file. `document` comes from [`crate::domain::json::exact_json::parse`].
    pub fn read(document: Value) -> Option<Self> {
        let Value::Object(mut fields) = document else { return None };
        let content = fields.remove("content")?;
        let is_base64 = fields.get("encoding").is_some_and(|it| it == "base64");
        Some(Self {
            content: Content::read(content, is_base64)?,
            created_at: text_of(&mut fields, "created_at"),
            modified_at: text_of(&mut fields, "modified_at"),
            media_type: text_of(&mut fields, "mimeType"),
        })
    }

    /// JavaScript takes no item without its times for a file.
    pub fn is_file_in(&self, dialect: Dialect) -> bool {
        dialect == Dialect::Python || self.created_at.is_some() && self.modified_at.is_some()
    }
}

impl Content {
    fn read(content: Value, is_base64: bool) -> Option<Self> {
        match content {
            Value::String(text) if is_base64 => Some(Self::Base64(WideText::of_parsed(text))),
            Value::String(text) => Some(Self::Text(WideText::of_parsed(text))),
            Value::Array(lines) => {
                let mut joined = Vec::new();
                for (at, line) in lines.into_iter().enumerate() {
                    let Value::String(line) = line else { return None };
                    if at > 0 {
                        joined.push(b'\n');
                    }
                    joined.extend_from_slice(WideText::of_parsed(line).as_bytes());
                }
                Some(Self::Lines(WideText::of_bytes(joined)))
            }
            Value::Object(tagged) if tagged.len() == 1 => {
                let Value::String(text) = tagged.get(BYTES)? else { return None };
                STANDARD.decode(text).ok().map(Self::Bytes)
            }
            _ => None,
        }
    }

    /// The text; None for bytes.
    pub fn text(&self) -> Option<&WideText> {
        match self {
            Self::Text(text) | Self::Lines(text) => Some(text),
            Self::Base64(_) | Self::Bytes(_) => None,
        }
    }

    /// What a download has. None: base64 that is none.
    pub fn raw(&self) -> Option<std::borrow::Cow<'_, [u8]>> {
        match self {
            Self::Text(text) | Self::Lines(text) => Some(text.as_bytes().into()),
            Self::Base64(text) => bytes_of_base64(text.as_bytes()).map(Into::into),
            Self::Bytes(bytes) => Some(bytes.as_slice().into()),
        }
    }
}

/// As Python reads base64: characters that are not of the alphabet are passed over.
pub fn bytes_of_base64(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &ALPHABET,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
    );
    if let Ok(bytes) = STANDARD.decode(text) {
        return Some(bytes);
    }
    let is_known = |it: &&u8| it.is_ascii_alphanumeric() || matches!(**it, b'+' | b'/' | b'=');
    let known: Vec<u8> = text.iter().filter(is_known).copied().collect();
    LENIENT.decode(known).ok()
}

fn text_of(fields: &mut Map<String, Value>, name: &str) -> Option<WideText> {
    match fields.remove(name) {
        Some(Value::String(text)) => Some(WideText::of_parsed(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(document: Value) -> Option<Content> {
        FileValue::read(document).map(|it| it.content)
    }

    #[test]
    fn every_form_of_a_file_is_read() {
        assert_eq!(content(json!({"content": "x"})), Some(Content::Text("x".into())));
        let lines = content(json!({"content": ["a", "", "b"]}));
        assert_eq!(lines, Some(Content::Lines("a\n\nb".into())));
        assert_eq!(content(json!({"content": []})), Some(Content::Lines("".into())));
        let python = content(json!({"content": "AQI=", "encoding": "base64"})).unwrap();
        assert_eq!(python, Content::Base64("AQI=".into()));
        let script = content(json!({"content": {BYTES: "AQI="}})).unwrap();
        assert_eq!(script, Content::Bytes(vec![1, 2]));
        assert_eq!(python.raw(), script.raw());
    }

    #[test]
    fn what_is_no_file_is_none() {
        for other in [
            json!({}),
            json!({"text": "x"}),
            json!({"content": null}),
            json!({"content": 1}),
            json!({"content": ["a", 1]}),
            json!({"content": {"$threadkeep:bytes": "*"}}),
            json!({"content": {"$threadkeep:bytes": "AQI=", "x": 1}}),
            json!([]),
        ] {
            assert_eq!(FileValue::read(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn javascript_wants_both_times() {
        let of = |document| FileValue::read(document).unwrap();
        let bare = of(json!({"content": "x", "created_at": "y", "modified_at": 1}));
        assert!(bare.is_file_in(Dialect::Python) && !bare.is_file_in(Dialect::JavaScript));
        let full = of(json!({"content": "x", "created_at": "y", "modified_at": ""}));
        assert!(full.is_file_in(Dialect::JavaScript));
    }

    #[test]
    fn base64_is_read_as_python_reads_it() {
        assert_eq!(bytes_of_base64(b"AQ I=\n"), Some(vec![1, 2]));
        assert_eq!(bytes_of_base64(b"AR=="), Some(vec![1]));
        assert_eq!((bytes_of_base64(b"AQ"), bytes_of_base64(b"A")), (None, None));
    }
}
