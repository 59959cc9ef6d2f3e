//! Makes the head of a file from its value, and tells what listings of each language show of it.

use sha2::{Digest as _, Sha256};

use super::dialect::Dialect;
use super::value::{Content, FileValue};
use crate::domain::json::wide_text::WideText;
use crate::domain::store::file_head::{FileHead, Form, TEXT_BYTES_MAX};

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
