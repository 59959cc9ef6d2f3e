//! Collects the bytes of an unpacked body in one small buffer that grows, then in blocks of one size. Growing one buffer to the end
//! would free many smaller ones, which the allocator keeps for a while.

use crate::domain::scheduling::shares::{Full, Held};

const BLOCK_BYTES: usize = 1 << 20;
const GROWTH_BYTES_MIN: usize = 64 << 10;

pub struct Blocks {
    /// All but the last are full.
    all: Vec<Vec<u8>>,
    length: usize,
    held: Held,
}

impl Blocks {
    pub fn new(held: Held) -> Self {
        Self { all: vec![Vec::new()], length: 0, held }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// # Errors
    /// `Full` where the ledger has no room; nothing is changed then.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let is_first = self.all.len() == 1;
        let Some(last) = self.all.last_mut() else { return Ok(()) };
        let length = last.len() + bytes.len();
        if length > last.capacity() && is_first && length <= BLOCK_BYTES {
            // By a quarter and not twice: room is memory that is held, used or not.
            let room = length + (length / 4).max(GROWTH_BYTES_MIN);
            self.held.grow(room - last.capacity())?;
            last.reserve_exact(room - last.len());
        }
        let (fitting, beyond) = bytes.split_at(bytes.len().min(last.capacity() - last.len()));
        if beyond.is_empty() {
            last.extend_from_slice(fitting);
        } else {
            let room = BLOCK_BYTES.max(beyond.len());
            self.held.grow(room)?;
            last.extend_from_slice(fitting);
            let mut next = Vec::with_capacity(room);
            next.extend_from_slice(beyond);
            self.all.push(next);
        }
        self.length += bytes.len();
        Ok(())
    }

    /// One run of bytes. Each block is given back as soon as it was copied.
    pub fn into_whole(mut self) -> (Vec<u8>, Held) {
        if self.all.len() == 1 {
            return (self.all.remove(0), self.held);
        }
        let mut whole = Vec::with_capacity(self.length);
        for block in self.all {
            whole.extend_from_slice(&block);
        }
        (whole, self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scheduling::shares::{Holder, Shares, Sizes};

    #[test]
    fn bytes_come_out_as_they_went_in_whatever_their_sizes() {
        let shares = Shares::new(Sizes::default());
        for step in [1_000, GROWTH_BYTES_MIN, BLOCK_BYTES - 1, BLOCK_BYTES * 2] {
            let all: Vec<u8> = (0..=250).cycle().take(3 * BLOCK_BYTES + 7).collect();
            let mut blocks = Blocks::new(shares.account(Holder::new("t", "c")).open());
            for bytes in all.chunks(step) {
                blocks.append(bytes).unwrap();
            }
            assert_eq!(blocks.len(), all.len());
            let (whole, held) = blocks.into_whole();
            assert!(whole == all, "{step}");
            assert!(shares.held_bytes() >= all.len() as u64);
            assert!(shares.held_bytes() <= (all.len() + 2 * BLOCK_BYTES.max(step)) as u64);
            drop(held);
            assert_eq!(shares.held_bytes(), 0);
        }
    }

    #[test]
    fn what_the_ledger_has_no_room_for_is_not_taken() {
        let sizes = Sizes { all: 2 << 20, tenant: 2 << 20, credential: 2 << 20 };
        let shares = Shares::new(sizes);
        let mut blocks = Blocks::new(shares.account(Holder::new("t", "c")).open());
        let step = vec![7; GROWTH_BYTES_MIN];
        while blocks.append(&step).is_ok() {
            assert!(blocks.len() < 3 << 20);
        }
        let length = blocks.len();
        let (whole, _held) = blocks.into_whole();
        assert_eq!(whole.len(), length);
        assert!(shares.held_bytes() <= 2 << 20);
    }
}
