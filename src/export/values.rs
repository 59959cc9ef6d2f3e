//! Packs and unpacks the bytes of values in a file: new pieces, and numbers of chunks that came before.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::window::{CHUNK_BYTES_MIN, Window};
use crate::content::chunking::split;
use crate::domain::limits::LIMITS;

/// In the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    /// Length of the whole.
    pub size: u64,
    /// In the order of the bytes: `n >= 0` are the next `n` of `new`, a negative one is the chunk with the number `-1 - n`.
    pub pieces: Vec<i64>,
    #[serde(with = "serde_bytes")]
    pub new: Vec<u8>,
}

/// Names of chunks that the window of the reader has.
#[derive(Default)]
pub struct Packer {
    window: Window<[u8; 32]>,
    numbers: HashMap<[u8; 32], u32>,
}

/// Chunks of the window.
#[derive(Default)]
pub struct Unpacker {
    window: Window<Bytes>,
}

impl Packer {
    pub fn pack(&mut self, data: &[u8]) -> Packed {
        let mut packed = Packed { size: data.len() as u64, pieces: Vec::new(), new: Vec::new() };
        match split(data) {
            None => self.piece(data, &mut packed),
            Some(split) => {
                self.piece(split.head, &mut packed);
                split.chunks.iter().for_each(|it| self.piece(it, &mut packed));
                self.piece(split.foot, &mut packed);
            }
        }
        packed
    }

    fn piece(&mut self, piece: &[u8], packed: &mut Packed) {
        if piece.len() < CHUNK_BYTES_MIN {
            packed.pieces.push(i64::try_from(piece.len()).unwrap_or(0));
            packed.new.extend_from_slice(piece);
            return;
        }
        let name: [u8; 32] = Sha256::digest(piece).into();
        if let Some(number) = self.numbers.get(&name) {
            self.window.get(*number);
            packed.pieces.push(-1 - i64::from(*number));
            return;
        }
        let (number, gone) = self.window.add(name, piece.len());
        self.numbers.insert(name, number);
        for name in gone {
            self.numbers.remove(&name);
        }
        packed.pieces.push(i64::try_from(piece.len()).unwrap_or(0));
        packed.new.extend_from_slice(piece);
    }
}

impl Unpacker {
    /// None: the pieces do not make the whole, or name a chunk that is not in the window.
    pub fn unpack(&mut self, packed: Packed) -> Option<Bytes> {
        if packed.size > LIMITS.value_bytes_max {
            return None;
        }
        let size = usize::try_from(packed.size).ok()?;
        let mut new = Bytes::from(packed.new);
        if packed.pieces.len() == 1 && packed.pieces[0] >= 0 {
            // One piece, as most values are.
            let whole = self.take(&mut new, packed.pieces[0])?;
            return (whole.len() == size && new.is_empty()).then_some(whole);
        }
        let mut data = BytesMut::with_capacity(size);
        for piece in packed.pieces {
            let bytes = if piece < 0 {
                let number = u32::try_from(-1 - piece).ok()?;
                self.window.get(number)?.clone()
            } else {
                self.take(&mut new, piece)?
            };
            if data.len() + bytes.len() > size {
                return None;
            }
            data.extend_from_slice(&bytes);
        }
        (data.len() == size && new.is_empty()).then(|| data.freeze())
    }

    fn take(&mut self, new: &mut Bytes, length: i64) -> Option<Bytes> {
        let length = usize::try_from(length).ok()?;
        if length > new.len() {
            return None;
        }
        let piece = new.split_to(length);
        if piece.len() >= CHUNK_BYTES_MIN {
            // Copied: a slice would keep all of its frame.
            self.window.add(Bytes::copy_from_slice(&piece), piece.len());
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> Vec<u8> {
        (0..).flat_map(|at: u32| format!("message {at}, ").into_bytes()).take(length).collect()
    }

    #[test]
    fn values_come_back_and_what_grew_costs_what_is_new() {
        let (mut packer, mut unpacker) = (Packer::default(), Unpacker::default());
        let mut new_bytes = 0;
        for length in [0, 1, 255, 256, 2_048, 2_049, 100_000, 103_000, 106_000, 100_000, 2_000_000]
        {
            let packed = packer.pack(&text(length));
            new_bytes += packed.new.len();
            assert_eq!(unpacker.unpack(packed).unwrap(), text(length));
        }
        assert!(new_bytes < 2_200_000, "{new_bytes}");
        let again = packer.pack(&text(103_000));
        assert!(again.new.len() < CHUNK_BYTES_MIN, "{}", again.new.len());
    }

    #[test]
    fn pieces_that_make_no_whole_are_refused() {
        let refuse = |size, pieces: &[i64], new: &[u8]| {
            let packed = Packed { size, pieces: pieces.to_vec(), new: new.to_vec() };
            assert_eq!(Unpacker::default().unpack(packed), None, "{pieces:?}");
        };
        refuse(3, &[2], b"ab");
        refuse(2, &[2], b"abc");
        refuse(2, &[3], b"ab");
        refuse(2, &[-1], b"");
        refuse(2, &[1, 1, 1], b"abc");
        refuse(2, &[i64::MIN], b"ab");
        refuse(2, &[i64::MAX], b"ab");
        refuse(u64::MAX, &[2], b"ab");
        refuse(0, &[], b"a");
    }
}
