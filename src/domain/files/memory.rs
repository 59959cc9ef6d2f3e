//! Remembers contents that were opened, so a search does not fetch and open them again. Each is named by the digest of its item's value
//! inside one namespace. They are used only for a digest that the database has just answered, so an entry may be old, but never wrong.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use hashlink::LinkedHashMap;

use crate::domain::store::namespace::Namespace;

/// What an entry takes beside its content.
const ENTRY_BYTES: usize = 160;

pub struct ContentMemory {
    bytes_max: usize,
    kept: Mutex<Kept>,
}

/// (tenant, namespace) → its number, so that names of contents are short.
type Scope = (String, Namespace);
type Name = (u64, [u8; 16]);

#[derive(Default)]
struct Kept {
    scopes: HashMap<Scope, u64>,
    next_scope: u64,
    /// In the order in which they were last used.
    contents: LinkedHashMap<Name, Arc<[u8]>>,
    bytes: usize,
}

impl ContentMemory {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, kept: Mutex::default() }
    }

    /// Those of these contents that are here.
    pub fn find(&self, scope: &Scope, digests: &[&[u8]]) -> Vec<Option<Arc<[u8]>>> {
        let mut kept = self.lock();
        let number = kept.number(scope);
        let get = |it: &&[u8]| kept.get(&(number, name_of(it)?));
        digests.iter().map(get).collect()
    }

    pub fn add(&self, scope: &Scope, contents: Vec<(Vec<u8>, Arc<[u8]>)>) {
        let mut kept = self.lock();
        let number = kept.number(scope);
        for (digest, content) in contents {
            // One that takes much drives out many.
            if content.len() <= self.bytes_max / 16
                && let Some(name) = name_of(&digest)
            {
                kept.put((number, name), content);
            }
        }
        kept.shrink(self.bytes_max);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Kept {
    fn number(&mut self, scope: &Scope) -> u64 {
        if let Some(number) = self.scopes.get(scope) {
            return *number;
        }
        // Names of scopes are few; where they are not, what they name is forgotten with them.
        if self.scopes.len() >= 100_000 {
            *self = Self { next_scope: self.next_scope, ..Self::default() };
        }
        self.next_scope += 1;
        self.scopes.insert(scope.clone(), self.next_scope);
        self.next_scope
    }

    fn get(&mut self, name: &Name) -> Option<Arc<[u8]>> {
        self.contents.to_back(name).map(|it| Arc::clone(&*it))
    }

    fn put(&mut self, name: Name, content: Arc<[u8]>) {
        self.bytes += content.len() + ENTRY_BYTES;
        if let Some(old) = self.contents.insert(name, content) {
            self.bytes -= old.len() + ENTRY_BYTES;
        }
    }

    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            let Some((_, content)) = self.contents.pop_front() else { return };
            self.bytes -= content.len() + ENTRY_BYTES;
        }
    }
}

/// None: no digest that the content layer makes.
fn name_of(digest: &[u8]) -> Option<[u8; 16]> {
    digest.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(tenant: &str) -> Scope {
        (tenant.into(), Namespace::stored(vec!["n".into()]))
    }

    fn content(byte: u8, length: usize) -> (Vec<u8>, Arc<[u8]>) {
        (vec![byte; 16], vec![byte; length].into())
    }

    #[test]
    fn contents_are_found_in_their_scope_only() {
        let memory = ContentMemory::new(1 << 20);
        memory.add(&scope("a"), vec![content(1, 10)]);
        let found = |tenant, byte| memory.find(&scope(tenant), &[&[byte; 16]])[0].clone();
        assert_eq!(found("a", 1).unwrap().len(), 10);
        assert!(found("b", 1).is_none() && found("a", 2).is_none());
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let memory = ContentMemory::new(16_000);
        for byte in 0..10 {
            memory.add(&scope("a"), vec![content(byte, 900)]);
            memory.find(&scope("a"), &[&[0; 16]]);
        }
        for byte in 10..25 {
            memory.add(&scope("a"), vec![content(byte, 900)]);
            memory.find(&scope("a"), &[&[0; 16]]);
        }
        let has = |byte| memory.find(&scope("a"), &[&[byte; 16]])[0].is_some();
        assert!(has(0) && has(24) && !has(1));
        assert!(memory.lock().bytes <= 16_000);
        memory.add(&scope("a"), vec![content(99, 5_000)]);
        assert!(!has(99), "too large to be worth the others");
    }
}
