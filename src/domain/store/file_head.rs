//! Defines the head of a file and its bytes. It is stored beside the value and sealed like it. So listings open no values, and nothing of
//! an encrypted one is readable.

use crate::domain::json::wide_text::WideText;

/// Longer texts are not noted: such a file is opened whenever it is listed.
pub const TEXT_BYTES_MAX: usize = 255;
const FORMAT: u8 = 1;

/// Everything known of a file without its content.
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
