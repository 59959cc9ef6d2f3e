//! Remembers bytes by their SHA-256 in bounded memory, separately for each scope. It evicts the least recently used bytes first. Depends on
//! no domain type. Callers must have checked that the reader may read the scope.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::difference::Digest;

/// What an entry costs beside its bytes: two nodes of trees and an allocation, measured generously.
const ENTRY_BYTES: u64 = 256;

/// A place and who sees it: keyed hashes, so that names of different length cost the same. Whoever asks for one sees what was
/// put into exactly this one; all of a place are forgotten together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    place: [u8; 16],
    who: [u8; 16],
}

/// See the module. Shared by all requests; the lock is held for look-ups only.
pub struct Recent {
    bytes_max: u64,
    secret: [u8; 32],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    values: BTreeMap<(Scope, Digest), Entry>,
    /// By time of last use.
    order: BTreeMap<u64, (Scope, Digest)>,
    clock: u64,
    bytes: u64,
}

struct Entry {
    data: Bytes,
    used: u64,
}

impl Recent {
    /// `secret` is random per process. 0 bytes keep nothing.
    pub fn new(bytes_max: u64, secret: [u8; 32]) -> Self {
        Self { bytes_max, secret, state: Mutex::default() }
    }

    /// The scope of these names, in which the parts cannot run into each other.
    pub fn scope(&self, place: &[&str], who: &[&str]) -> Scope {
        Scope { place: self.name(place), who: self.name(who) }
    }

    fn name(&self, parts: &[&str]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut name = [0; 16];
        name.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        name
    }

    /// Keeps bytes under their digest. `data` must own no more memory than it shows.
    pub fn put(&self, scope: Scope, digest: Digest, data: Bytes) {
        let cost = cost(&data);
        if cost > self.bytes_max {
            return;
        }
        let mut state = self.state();
        if !state.touch((scope, digest)) {
            state.insert((scope, digest), data);
            state.bytes += cost;
        }
        while state.bytes > self.bytes_max {
            let Some((_, oldest)) = state.order.pop_first() else { break };
            state.forget(oldest);
        }
    }

    pub fn get(&self, scope: Scope, digest: &Digest) -> Option<Bytes> {
        let mut state = self.state();
        state.touch((scope, *digest));
        state.values.get(&(scope, *digest)).map(|entry| entry.data.clone())
    }

    /// The value whose digest begins with `prefix`.
    pub fn find(&self, scope: Scope, prefix: &[u8]) -> Option<(Digest, Bytes)> {
        let mut first = [0; 32];
        first.get_mut(..prefix.len())?.copy_from_slice(prefix);
        let mut state = self.state();
        let (&key, entry) = state.values.range((scope, first)..).next()?;
        let found =
            (key.0 == scope && key.1.starts_with(prefix)).then(|| (key.1, entry.data.clone()))?;
        state.touch(key);
        Some(found)
    }

    /// Forgets the place of a scope, whoever sees it.
    pub fn remove(&self, scope: Scope) {
        let (first, last) = (Scope { who: [0; 16], ..scope }, Scope { who: [255; 16], ..scope });
        let mut state = self.state();
        let all = state.values.range((first, [0; 32])..=(last, [255; 32]));
        let keys: Vec<_> = all.map(|(key, entry)| (*key, entry.used)).collect();
        for (key, used) in keys {
            state.order.remove(&used);
            state.forget(key);
        }
    }

    /// What is kept now, with what it costs beside the bytes themselves.
    pub fn bytes(&self) -> u64 {
        self.state().bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half way; a memory that forgot a value would be right all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Marks as used now. Whether there is such an entry.
    fn touch(&mut self, key: (Scope, Digest)) -> bool {
        self.clock += 1;
        let now = self.clock;
        let Some(entry) = self.values.get_mut(&key) else { return false };
        let before = std::mem::replace(&mut entry.used, now);
        self.order.remove(&before);
        self.order.insert(now, key);
        true
    }

    fn insert(&mut self, key: (Scope, Digest), data: Bytes) {
        self.values.insert(key, Entry { data, used: self.clock });
        self.order.insert(self.clock, key);
    }

    fn forget(&mut self, key: (Scope, Digest)) {
        if let Some(entry) = self.values.remove(&key) {
            self.bytes -= cost(&entry.data);
        }
    }
}

fn cost(data: &Bytes) -> u64 {
    data.len() as u64 + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::difference::digest;
    use super::*;

    fn recent(values: u64) -> Recent {
        Recent::new(values * (100 + ENTRY_BYTES), [7; 32])
    }

    fn value(byte: u8) -> (Digest, Bytes) {
        let data = Bytes::from(vec![byte; 100]);
        (digest(&data), data)
    }

    fn put(recent: &Recent, scope: Scope, byte: u8) -> Digest {
        let (name, data) = value(byte);
        recent.put(scope, name, data);
        name
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let recent = recent(3);
        let scope = recent.scope(&["a"], &[]);
        let names: Vec<Digest> = (0..3).map(|it| put(&recent, scope, it)).collect();
        assert!(recent.get(scope, &names[0]).is_some());
        put(&recent, scope, 1);
        put(&recent, scope, 3);
        assert!(recent.get(scope, &names[2]).is_none());
        assert!(recent.get(scope, &names[0]).is_some() && recent.get(scope, &names[1]).is_some());
        assert_eq!(recent.bytes(), 3 * (100 + ENTRY_BYTES));
    }

    #[test]
    fn scopes_do_not_see_each_other_and_go_alone() {
        let recent = recent(10);
        let (a, b) = (recent.scope(&["a", "bc"], &[]), recent.scope(&["ab", "c"], &[]));
        let name = put(&recent, a, 1);
        assert_eq!(recent.get(b, &name), None);
        assert_eq!(recent.find(b, &name[..16]), None);
        put(&recent, b, 1);
        put(&recent, a, 2);
        recent.remove(a);
        assert_eq!((recent.get(a, &name), recent.get(b, &name)), (None, Some(value(1).1)));
        assert_eq!(recent.bytes(), 100 + ENTRY_BYTES);
        recent.remove(b);
        assert_eq!(recent.bytes(), 0);
        assert!(recent.state().order.is_empty());
    }

    #[test]
    fn who_shares_a_place_sees_nothing_of_others_and_is_forgotten_with_them() {
        let recent = recent(10);
        let all = [&[][..], &[""], &["ann"], &["bob"]].map(|who| recent.scope(&["a"], who));
        let elsewhere = recent.scope(&["b"], &["ann"]);
        let name = put(&recent, all[2], 1);
        for other in [all[0], all[1], all[3], elsewhere] {
            assert_eq!((recent.get(other, &name), recent.find(other, &name[..16])), (None, None));
        }
        for scope in all.into_iter().chain([elsewhere]) {
            put(&recent, scope, 1);
        }
        recent.remove(all[3]);
        assert!(all.iter().all(|it| recent.get(*it, &name).is_none()));
        assert!(recent.get(elsewhere, &name).is_some());
    }

    #[test]
    fn a_beginning_of_the_digest_finds_the_value() {
        let recent = recent(10);
        let scope = recent.scope(&["a"], &[]);
        let name = put(&recent, scope, 1);
        put(&recent, scope, 2);
        assert_eq!(recent.find(scope, &name[..16]), Some((name, value(1).1)));
        assert_eq!(recent.find(scope, &name), Some((name, value(1).1)));
        let mut other = name;
        other[15] ^= 1;
        assert_eq!(recent.find(scope, &other[..16]), None);
        assert_eq!(recent.find(scope, &[0; 33]), None);
    }

    #[test]
    fn too_large_a_value_and_a_memory_of_nothing_keep_nothing() {
        let small = Recent::new(50 + ENTRY_BYTES, [7; 32]);
        let scope = small.scope(&["a"], &[]);
        put(&small, scope, 1);
        let none = Recent::new(0, [7; 32]);
        none.put(scope, digest(b""), Bytes::new());
        assert_eq!((small.bytes(), none.bytes()), (0, 0));
    }
}
