//! Formats texts for display: bytes as base64, and names of fields from any value.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::shown::{Budget, Json, Unreadable};

/// # Errors
/// `TooLarge`.
pub fn base64(data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    budget.take((data.len() as u64).div_ceil(3) * 4)?;
    Ok(Json::Text(STANDARD.encode(data)))
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

/// The beginning of a text as one line: runs of white space are one space, and characters that show nothing or turn the direction of text are
/// left out. At most so many characters.
pub fn one_line(text: &str, characters_max: usize) -> String {
    let (mut line, mut left, mut has_space) = (String::new(), characters_max, false);
    for character in text.chars() {
        if character.is_whitespace() {
            has_space = !line.is_empty();
            continue;
        }
        if character.is_control() || is_format(character) {
            continue;
        }
        let needed = 1 + usize::from(has_space);
        if needed > left {
            break;
        }
        if std::mem::take(&mut has_space) {
            line.push(' ');
        }
        line.push(character);
        left -= needed;
    }
    line
}

/// Marks of direction, of width zero, and of the byte order: [Unicode 16, table 23-1 to 23-3](https://www.unicode.org/versions/Unicode16.0.0/).
/// The joiners stay: emoji and Indic scripts need them.
const fn is_format(character: char) -> bool {
    matches!(character, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
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
