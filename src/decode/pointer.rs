//! Parses the JSON Pointer (RFC 6901) that names a place in the values of a checkpoint: `/messages/3/content`.

use super::shown::Json;
use crate::domain::limits::LIMITS;
use crate::domain::{Error, Result};

/// A place in the values of a checkpoint. Its first part is the name of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    pub(super) channel: String,
    /// The way inside of the value.
    pub(super) parts: Vec<String>,
}

impl Pointer {
    /// Names of a field or numbers from 0 in a list, each behind a `/`; `~1` stands for `/` and `~0` for `~`.
    ///
    /// # Errors
    /// 422 for what is no pointer, and for one that is longer than values are deep.
    pub fn new(text: &str) -> Result<Self> {
        let Some(rest) = text.strip_prefix('/') else {
            let detail =
                "pointer must be a JSON Pointer that begins with / and the name of a channel";
            return Err(Error::invalid("pointer", detail));
        };
        let limit = LIMITS.json_depth_max + 1;
        if rest.bytes().filter(|it| *it == b'/').count() as u64 >= limit {
            let detail = format!("pointer must have at most {limit} parts");
            return Err(Error::out_of_range("pointer", detail, limit));
        }
        let mut parts = rest.split('/').map(unescaped).collect::<Result<Vec<String>>>()?;
        let channel = parts.remove(0);
        Ok(Self { channel, parts })
    }

    pub fn channel(&self) -> &str {
        &self.channel
    }
}

/// The value at one more part of a way, if there is one.
pub(super) fn step(value: Json, part: &str) -> Option<Json> {
    match value {
        Json::List(mut items) => {
            let at = index(part).filter(|it| *it < items.len())?;
            Some(items.swap_remove(at))
        }
        Json::Object(mut fields) => {
            let at = fields.iter().position(|(name, _)| name == part)?;
            Some(fields.swap_remove(at).1)
        }
        _ => None,
    }
}

/// Adds a part to the text of a pointer.
pub(super) fn push(pointer: &mut String, part: &str) {
    pointer.push('/');
    for character in part.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Digits without a leading zero, as RFC 6901 has them.
pub(super) fn index(part: &str) -> Option<usize> {
    let is_plain =
        part.bytes().all(|it| it.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
    part.parse().ok().filter(|_| is_plain)
}

fn unescaped(part: &str) -> Result<String> {
    let mut pieces = part.split('~');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (escaped, rest) = match piece.as_bytes().first() {
            Some(b'0') => ('~', &piece[1..]),
            Some(b'1') => ('/', &piece[1..]),
            _ => {
                let detail = "pointer must have 0 or 1 behind each ~";
                return Err(Error::invalid("pointer", detail));
            }
        };
        text.push(escaped);
        text.push_str(rest);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_a_channel_and_a_way_inside_of_its_value() {
        let read = Pointer::new("/a~1b/3/~01/").unwrap();
        assert_eq!(read.channel, "a/b");
        assert_eq!(read.parts, ["3", "~1", ""]);
        let mut text = String::new();
        push(&mut text, "a/b~");
        assert_eq!(text, "/a~1b~0");
    }

    #[test]
    fn what_is_no_pointer_or_is_too_long_is_refused() {
        for wrong in ["", "messages", "messages/3", "/a~", "/a~2", "/~~0"] {
            assert!(Pointer::new(wrong).is_err(), "{wrong:?}");
        }
        assert!(Pointer::new(&"/a".repeat(101)).is_ok());
        let refused = Pointer::new(&"/a".repeat(102)).unwrap_err();
        assert!(matches!(refused, Error::Invalid { limit: Some(101), .. }), "{refused:?}");
    }

    #[test]
    fn numbers_in_lists_are_plain() {
        let list = || Json::List(vec![Json::Int(7), Json::Int(8)]);
        assert_eq!(step(list(), "1"), Some(Json::Int(8)));
        for none in ["2", "01", "-", "+1", "", "-1", "99999999999999999999"] {
            assert_eq!(step(list(), none), None, "{none}");
        }
        assert_eq!(step(Json::Int(1), "0"), None);
    }
}
