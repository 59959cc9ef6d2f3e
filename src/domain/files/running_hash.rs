//! Computes the SHA-256 of uploads whose parts arrive in order, so a whole content need not be read again for it. Each server remembers its
//! own uploads, and reads others.

use std::collections::HashMap;
use std::sync::Mutex;

use ring::digest::{Context, SHA256};

use super::contents::{ContentId, Part};
use super::uploads::sha256_of;

/// Uploads that are remembered: each is a state of some hundred bytes and eight bytes for each part.
const UPLOADS_MAX: usize = 256;

#[derive(Default)]
pub struct RunningHashes(Mutex<HashMap<ContentId, Running>>);

/// Of the first parts of an upload.
struct Running {
    /// Of the parts that are in it, from the first on.
    attempts: Vec<i64>,
    hash: Context,
}

/// The state before a part.
pub struct Before {
    attempts: Vec<i64>,
    pub hash: Context,
}

impl RunningHashes {
    /// What the part of this number goes on from. None: the parts before it are not known here.
    pub fn before(&self, id: ContentId, number: u32) -> Option<Before> {
        if number == 1 {
            return Some(Before { attempts: Vec::new(), hash: Context::new(&SHA256) });
        }
        let known = self.known();
        let running = known.get(&id)?;
        let is_next = running.attempts.len() + 1 == usize::try_from(number).ok()?;
        is_next.then(|| Before { attempts: running.attempts.clone(), hash: running.hash.clone() })
    }

    /// Notes a part that has arrived.
    pub fn note(&self, id: ContentId, before: Before, part: &Part) {
        let Before { mut attempts, hash } = before;
        attempts.push(part.attempt);
        let mut known = self.known();
        if known.len() >= UPLOADS_MAX && !known.contains_key(&id) {
            let any = known.keys().next().copied();
            any.and_then(|it| known.remove(&it));
        }
        known.insert(id, Running { attempts, hash });
    }

    /// Of exactly these parts.
    pub fn of(&self, id: ContentId, parts: &[Part]) -> Option<[u8; 32]> {
        let known = self.known();
        let running = known.get(&id)?;
        let is_same = running.attempts.iter().eq(parts.iter().map(|it| &it.attempt));
        is_same.then(|| sha256_of(&running.hash.clone().finish()))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<ContentId, Running>> {
        self.0.lock().expect("no code panics while it holds the hashes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::files::uploads::sha256;

    const ID: ContentId = ContentId([1; 16]);

    fn arrive(hashes: &RunningHashes, number: u32, attempt: i64, bytes: &[u8]) -> Part {
        let part = Part { number, size_bytes: bytes.len() as u64, sha256: [0; 32], attempt };
        if let Some(mut before) = hashes.before(ID, number) {
            before.hash.update(bytes);
            hashes.note(ID, before, &part);
        }
        part
    }

    #[test]
    fn parts_in_their_order_are_known_together() {
        let hashes = RunningHashes::default();
        let parts = [arrive(&hashes, 1, 10, b"one"), arrive(&hashes, 2, 20, b"two")];
        assert_eq!(hashes.of(ID, &parts), Some(sha256(b"onetwo")));
        assert_eq!(hashes.of(ID, &parts[..1]), None);
        assert_eq!(hashes.of(ContentId([2; 16]), &parts), None);
    }

    #[test]
    fn other_parts_than_those_that_count_say_nothing() {
        let hashes = RunningHashes::default();
        let first = arrive(&hashes, 1, 10, b"one");
        // Out of order: nobody knows what is before it.
        let third = arrive(&hashes, 3, 30, b"three");
        let second = arrive(&hashes, 2, 20, b"two");
        assert_eq!(hashes.of(ID, &[first.clone(), second.clone(), third]), None);
        assert_eq!(hashes.of(ID, &[first, second.clone()]), Some(sha256(b"onetwo")));
        // Sent again: the parts behind it were hashed behind another.
        let again = arrive(&hashes, 1, 11, b"ONE");
        assert_eq!(hashes.of(ID, &[again.clone(), second]), None);
        assert_eq!(hashes.of(ID, &[again]), Some(sha256(b"ONE")));
    }

    #[test]
    fn a_bounded_number_is_remembered() {
        let hashes = RunningHashes::default();
        for at in 0..600_u16 {
            let mut id = [0; 16];
            id[..2].copy_from_slice(&at.to_be_bytes());
            let part = Part { number: 1, size_bytes: 0, sha256: [0; 32], attempt: 1 };
            let before = hashes.before(ContentId(id), 1).unwrap();
            hashes.note(ContentId(id), before, &part);
        }
        assert_eq!(hashes.known().len(), UPLOADS_MAX);
    }
}
