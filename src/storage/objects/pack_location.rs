//! Defines the location of a packed chunk's body. The chunk's row holds it in place of the envelope. So every statement that reads chunks
//! also reads locations, unchanged and in the same round trip.
//!
//! Layout, 25 bytes: the format byte 2, which no envelope has, the pack's id, start and length, both little endian.

use crate::domain::{Error, Result};

/// Random, 128 bits, never used again: the name of the pack's object.
pub type PackId = [u8; 16];

const FORMAT: u8 = 2;
pub const PLACE_BYTES: usize = 25;

/// A range of a pack that holds the envelope of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackLocation {
    pub pack: PackId,
    pub start: u32,
    pub length: u32,
}

impl PackLocation {
    /// The place that a stored body says; None for an envelope.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn read(body: &[u8]) -> Result<Option<Self>> {
        if body.first() != Some(&FORMAT) {
            return Ok(None);
        }
        let damaged = || Error::Integrity("the place of a packed chunk is damaged".into());
        let bytes = <&[u8; PLACE_BYTES]>::try_from(body).map_err(|_| damaged())?;
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let mut pack = PackId::default();
        pack.copy_from_slice(&bytes[1..17]);
        let place = Self { pack, start: number(17), length: number(21) };
        place.start.checked_add(place.length).ok_or_else(damaged)?;
        Ok(Some(place))
    }

    /// What the row of the chunk holds.
    pub fn body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(PLACE_BYTES);
        body.push(FORMAT);
        body.extend_from_slice(&self.pack);
        body.extend_from_slice(&self.start.to_le_bytes());
        body.extend_from_slice(&self.length.to_le_bytes());
        body
    }

    /// What a chunk takes: bytes of its body, or, of a packed one, its length in the pack. `short`: a body that may be a
    /// place, for it has the length of one; a damaged one counts as it is.
    pub fn stored_bytes(body_bytes: i64, short: Option<&[u8]>) -> i64 {
        let place = short.and_then(|body| Self::read(body).ok().flatten());
        place.map_or(body_bytes, |it| it.length.into())
    }

    /// Where the range ends.
    pub fn end(&self) -> u32 {
        self.start.saturating_add(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::envelope;

    #[test]
    fn a_place_reads_as_it_was_written_and_no_envelope_is_one() {
        let place = PackLocation { pack: [7; 16], start: 1 << 20, length: 4_321 };
        assert_eq!(PackLocation::read(&place.body()).unwrap(), Some(place));
        assert_eq!(PackLocation::read(&envelope::seal(b"a chunk of some value")).unwrap(), None);
        assert_eq!(PackLocation::read(&envelope::seal_plain(&[2; 24])).unwrap(), None);
        assert!(envelope::open_at_most(&place.body(), 100).is_err());
        assert_eq!(PackLocation::stored_bytes(25, Some(&place.body())), 4_321);
        assert_eq!(PackLocation::stored_bytes(25, Some(&envelope::seal_plain(&[2; 24]))), 25);
        assert_eq!(PackLocation::stored_bytes(900, None), 900);
        assert!(PackLocation::read(&place.body()[..24]).is_err());
        let beyond = PackLocation { start: u32::MAX, length: 1, ..place };
        assert!(PackLocation::read(&beyond.body()).is_err());
    }
}
