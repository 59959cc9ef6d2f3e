//! Formats texts for display: bytes as base64, and names of fields from any value.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::cut::{cut_head, cut_text};
use super::shown::{Budget, Json, Unreadable};

/// # Errors
/// `TooLarge`.
pub fn base64(data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    let length = data.len().div_ceil(3) * 4;
    if let Some(bytes_max) = budget.text_head(length) {
        // Three bytes are four characters.
        let read = usize::try_from(bytes_max / 4 * 3 + 3).unwrap_or(usize::MAX).min(data.len());
        let mut head = STANDARD.encode(&data[..read]);
        head.truncate(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        let cut = cut_head(&head, length as u64);
        budget.take_again(&cut)?;
        return Ok(cut);
    }
    budget.take(length as u64)?;
    Ok(Json::Text(STANDARD.encode(data)))
}

/// A text as a value: the beginning of it where that is all that an answer shows.
///
/// # Errors
/// `TooLarge`.
pub fn value(data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    if let (Some(bytes_max), Ok(text)) = (budget.text_head(data.len()), std::str::from_utf8(data)) {
        return cut(text, bytes_max, budget);
    }
    lossy(data, budget).and_then(|it| shortened(it, budget))
}

/// The same of a text that was read already.
///
/// # Errors
/// `TooLarge`.
pub fn shortened(text: String, budget: &mut Budget) -> Result<Json, Unreadable> {
    match budget.text_head(text.len()) {
        Some(bytes_max) => {
            budget.restore(budget.left().saturating_add(text.len() as u64));
            cut(&text, bytes_max, budget)
        }
        None => Ok(Json::Text(text)),
    }
}

fn cut(text: &str, bytes_max: u64, budget: &mut Budget) -> Result<Json, Unreadable> {
    let cut = cut_text(text, bytes_max);
    budget.take_again(&cut)?;
    Ok(cut)
}

/// Text that may not be UTF-8.
///
/// # Errors
/// `TooLarge`.
pub fn lossy(data: &[u8], budget: &mut Budget) -> Result<String, Unreadable> {
    match std::str::from_utf8(data) {
        Ok(text) => {
            budget.take(text.len() as u64)?;
            Ok(text.to_owned())
        }
        Err(_) => {
            // A byte becomes U+FFFD, which has three.
            budget.take(data.len() as u64 * 3)?;
            Ok(String::from_utf8_lossy(data).into_owned())
        }
    }
}

/// The name of a field whose key is not a text: `1`, `true`, `null`, or the key's JSON text.
///
/// # Errors
/// `TooLarge`: texts in texts in keys would double with each level.
pub fn name(key: Json, budget: &mut Budget) -> Result<String, Unreadable> {
    if let Json::Text(text) = key {
        return Ok(text);
    }
    let mut writer = Bounded { text: Vec::new(), budget };
    serde_json::to_writer(&mut writer, &key).map_err(|_| Unreadable::TooLarge)?;
    String::from_utf8(writer.text).map_err(|_| Unreadable::Malformed)
}

/// `2025-01-02` out of year, month and day.
pub fn date(parts: &Json) -> Option<String> {
    let [Json::Int(year), Json::Int(month), Json::Int(day)] = parts.as_list()? else { return None };
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// 32 hex digits with the dashes of a UUID; anything else as it is.
pub fn dashed(text: String) -> String {
    if text.len() != 32 || !text.bytes().all(|it| it.is_ascii_hexdigit()) {
        return text;
    }
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

struct Bounded<'a> {
    text: Vec<u8>,
    budget: &'a mut Budget,
}

impl io::Write for Bounded<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.budget.take(part.len() as u64 * 2).map_err(io::Error::other)?;
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
