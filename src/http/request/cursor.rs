//! Encodes a typed position as a cursor, an opaque text, and decodes it or refuses the text. Cursors contain no secret; their values are
//! checked like every other input. Reads the `limit` of a page, too.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::{Error, Result};

/// Ids that the server makes are shorter.
const ID_BYTES_MAX: u64 = 64;

/// `kind` keeps a cursor of one listing out of another.
pub fn encode(kind: &str, position: &impl Serialize) -> String {
    let json = serde_json::to_vec(&(kind, position)).expect("texts and numbers always serialize");
    URL_SAFE_NO_PAD.encode(json)
}

/// # Errors
/// 422 for text that is not a cursor of this kind.
pub fn decode<T: DeserializeOwned>(kind: &str, text: &str) -> Result<T> {
    let refuse = || Error::invalid("cursor", "this is not a cursor of this listing");
    let max = LIMITS.cursor_bytes_max;
    // Longer text is not one of ours: the largest position has three names of at most 512 bytes.
    if text.len() as u64 > max {
        let detail = format!("cursor is {} bytes long, at most {max} are allowed", text.len());
        return Err(Error::out_of_range("cursor", detail, max));
    }
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| refuse())?;
    let (found, position): (String, T) = serde_json::from_slice(&json).map_err(|_| refuse())?;
    if found == kind { Ok(position) } else { Err(refuse()) }
}

/// Decodes the time and the id of the last row of a page, where there was one.
///
/// # Errors
/// As [`decode`]; 422 for an id that no row has.
pub fn decode_time_and_id(kind: &str, text: Option<&str>) -> Result<Option<(Micros, String)>> {
    let position = text.map(|it| decode::<(Micros, String)>(kind, it)).transpose()?;
    if let Some((_, id)) = &position {
        names::check("cursor", id, ID_BYTES_MAX, false)?;
    }
    Ok(position)
}

/// Absent: as many as fit in a page.
pub fn limit(limit: Option<i64>) -> Result<usize> {
    let Some(limit) = limit else { return Ok(usize::MAX) };
    usize::try_from(limit)
        .map_err(|_| Error::out_of_range("limit", "limit must be 0 or more", LIMITS.list_rows_max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_and_only_in_its_own_listing() {
        let position = ("id".to_owned(), "ü\"\\".to_owned());
        let text = encode("a", &position);
        assert_eq!(decode::<(String, String)>("a", &text).unwrap(), position);
        assert!(decode::<(String, String)>("b", &text).is_err());
        assert!(decode::<(String, i64)>("a", &text).is_err());
        for text in ["", "!", "e30"] {
            assert!(decode::<(String, String)>("a", text).is_err());
        }
        for (length, limit) in [(8_192, None), (8_193, Some(8_192))] {
            let refused = decode::<(String, String)>("a", &"A".repeat(length)).unwrap_err();
            assert!(matches!(refused, Error::Invalid { limit: told, .. } if told == limit));
        }
    }
}
