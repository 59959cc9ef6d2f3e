//! Defines the head of a file: everything known of it without its content. It is stored beside the value and sealed like it. So listings
//! open no values, and nothing of an encrypted one is readable.

use sha2::{Digest as _, Sha256};

use super::dialect::Dialect;
use super::value::{Content, FileValue};
use crate::domain::json::wide_text::WideText;

/// Longer texts are not noted: such a file is opened whenever it is listed.
const TEXT_BYTES_MAX: usize = 255;
const FORMAT: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHead {
    pub form: Form,
    /// Bytes of the content as they are.
    pub size: u64,
    /// UTF-16 length of the text that the value holds; 0 where it holds none.
    pub units: u64,
    /// Of the content's bytes; None: not known.
    pub sha256: Option<[u8; 32]>,
    /// Texts of the value.
    pub created_at: Option<WideText>,
    pub modified_at: Option<WideText>,
    pub media_type: Option<WideText>,
}

/// How the value holds the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text = 1,
    Lines = 2,
    /// Base64 text, as Python writes bytes.
    Base64 = 3,
    /// Tagged bytes, as JavaScript writes them.
    Bytes = 4,
    /// Not at all: the item has a `content_id`.
    Elsewhere = 5,
}

impl FileHead {
    /// None: it does not fit beside the value.
    pub fn of(value: &FileValue) -> Option<Self> {
        let head = Self::unbounded(value);
        let texts = [&head.created_at, &head.modified_at, &head.media_type];
        let fits = |it: &WideText| it.as_bytes().len() <= TEXT_BYTES_MAX;
        texts.iter().all(|it| it.as_ref().is_none_or(fits)).then_some(head)
    }

    /// Of any value.
    pub fn unbounded(value: &FileValue) -> Self {
        Self::with_raw(value, value.content.raw().as_deref())
    }

    /// Of any value. `raw` is what [`Content::raw`] answers.
    pub fn with_raw(value: &FileValue, raw: Option<&[u8]>) -> Self {
        let (form, units) = match &value.content {
            Content::Text(text) => (Form::Text, text.utf16_length()),
            Content::Lines(text) => (Form::Lines, text.utf16_length()),
            Content::Base64(text) => (Form::Base64, text.utf16_length()),
            Content::Bytes(_) => (Form::Bytes, 0),
        };
        Self {
            form,
            size: raw.map_or(units, <[u8]>::len) as u64,
            units: units as u64,
            sha256: raw.map(Self::sha256_of),
            created_at: value.created_at.clone(),
            modified_at: value.modified_at.clone(),
            media_type: value.media_type.clone(),
        }
    }

    pub fn sha256_of(raw: &[u8]) -> [u8; 32] {
        Sha256::digest(raw).into()
    }

    /// The size that a listing of the language shows.
    pub fn size_in(&self, dialect: Dialect) -> u64 {
        match (dialect, self.form) {
            // As it would stand in a value that Python wrote.
            (Dialect::Python, Form::Bytes) => self.size.div_ceil(3) * 4,
            (_, Form::Base64) | (Dialect::JavaScript, Form::Text | Form::Lines) => self.units,
            (Dialect::Python, Form::Text | Form::Lines | Form::Elsewhere)
            | (Dialect::JavaScript, Form::Bytes | Form::Elsewhere) => self.size,
        }
    }

    /// As [`FileValue::is_file_in`].
    pub fn is_file_in(&self, dialect: Dialect) -> bool {
        dialect == Dialect::Python || self.created_at.is_some() && self.modified_at.is_some()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT, self.form as u8];
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(&self.units.to_le_bytes());
        bytes.push(u8::from(self.sha256.is_some()));
        bytes.extend(self.sha256.iter().flatten());
        for text in [&self.created_at, &self.modified_at, &self.media_type] {
            bytes.push(u8::from(text.is_some()));
            if let Some(text) = text {
                let length = text.as_bytes().len().min(TEXT_BYTES_MAX);
                bytes.push(u8::try_from(length).unwrap_or(u8::MAX));
                bytes.extend_from_slice(&text.as_bytes()[..length]);
            }
        }
        bytes
    }

    /// None for bytes that [`Self::to_bytes`] did not make.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let [FORMAT, form] = *rest.take(2)? else { return None };
        let form = match form {
            1 => Form::Text,
            2 => Form::Lines,
            3 => Form::Base64,
            4 => Form::Bytes,
            5 => Form::Elsewhere,
            _ => return None,
        };
        let size = u64::from_le_bytes(rest.take(8)?.try_into().ok()?);
        let units = u64::from_le_bytes(rest.take(8)?.try_into().ok()?);
        let sha256 = if rest.flag()? { Some(rest.take(32)?.try_into().ok()?) } else { None };
        let (created_at, modified_at, media_type) = (rest.text()?, rest.text()?, rest.text()?);
        rest.0.is_empty().then_some(Self {
            form,
            size,
            units,
            sha256,
            created_at,
            modified_at,
            media_type,
        })
    }
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    fn flag(&mut self) -> Option<bool> {
        self.take(1).map(|it| it[0] != 0)
    }

    /// None when the bytes end too early; within, None for a text that is not there.
    #[allow(clippy::option_option)]
    fn text(&mut self) -> Option<Option<WideText>> {
        if !self.flag()? {
            return Some(None);
        }
        let length = usize::from(self.take(1)?[0]);
        self.take(length).map(|it| Some(WideText::of_bytes(it.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn head(document: serde_json::Value) -> FileHead {
        FileHead::of(&FileValue::read(document).unwrap()).unwrap()
    }

    #[test]
    fn sizes_are_counted_as_each_language_does() {
        let sizes = |document| {
            let head = head(document);
            (head.size, head.size_in(Dialect::Python), head.size_in(Dialect::JavaScript))
        };
        assert_eq!(sizes(json!({"content": "aé€😀"})), (10, 10, 5));
        assert_eq!(sizes(json!({"content": ["é", "b"]})), (4, 4, 3));
        assert_eq!(sizes(json!({"content": "AQI=", "encoding": "base64"})), (2, 4, 4));
        assert_eq!(sizes(json!({"content": {"$threadkeep:bytes": "AQID"}})), (3, 4, 3));
        let broken = sizes(json!({"content": "A", "encoding": "base64"}));
        assert_eq!(broken, (1, 1, 1));
    }

    #[test]
    fn heads_come_back_from_their_bytes() {
        let full = head(
            json!({"content": "x", "created_at": "2026", "modified_at": "", "mimeType": "a/b"}),
        );
        assert_eq!(hex::encode(&full.sha256.unwrap()[..4]), "2d711642");
        for it in [full, head(json!({"content": "A", "encoding": "base64"}))] {
            let bytes = it.to_bytes();
            assert_eq!(FileHead::of_bytes(&bytes), Some(it));
            for cut in 0..bytes.len() {
                assert_eq!(FileHead::of_bytes(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_known() {
        let long = json!({"content": "x", "modified_at": "y".repeat(256)});
        assert_eq!(FileHead::of(&FileValue::read(long).unwrap()), None);
    }
}
