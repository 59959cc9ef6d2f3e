//! Remembers chunks that were recently written or read. Both sides keep the same ones, so a number means the same to both. Neither keeps
//! more than the window. Most bytes of a conversation with all its states are written once.

use std::collections::{BTreeMap, HashMap};

/// Bytes of chunks that are remembered. A part of the format: a reader that keeps less does not understand every file.
pub const WINDOW_BYTES: usize = 64 << 20;
/// Shorter pieces have no number. A part of the format.
pub const CHUNK_BYTES_MIN: usize = 256;

struct Entry<T> {
    chunk: T,
    size_bytes: usize,
    used_at: u64,
}

/// The chunks of one noun, by number; the one that was used longest ago goes first.
pub struct Window<T> {
    entries: HashMap<u32, Entry<T>>,
    by_use: BTreeMap<u64, u32>,
    size_bytes: usize,
    next_number: u32,
    clock: u64,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        let (entries, by_use) = (HashMap::new(), BTreeMap::new());
        Self { entries, by_use, size_bytes: 0, next_number: 0, clock: 0 }
    }
}

impl<T> Window<T> {
    /// Adds a chunk under the next number. Answers the number, and what had to go.
    pub fn add(&mut self, chunk: T, size_bytes: usize) -> (u32, Vec<T>) {
        let number = self.next_number;
        self.next_number += 1;
        self.clock += 1;
        self.by_use.insert(self.clock, number);
        self.entries.insert(number, Entry { chunk, size_bytes, used_at: self.clock });
        self.size_bytes += size_bytes;
        let mut gone = Vec::new();
        while self.size_bytes > WINDOW_BYTES {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            if let Some(entry) = self.entries.remove(&oldest) {
                self.size_bytes -= entry.size_bytes;
                gone.push(entry.chunk);
            }
        }
        (number, gone)
    }

    /// The chunk, which is the one used last now.
    pub fn get(&mut self, number: u32) -> Option<&T> {
        let entry = self.entries.get_mut(&number)?;
        self.by_use.remove(&entry.used_at);
        self.clock += 1;
        entry.used_at = self.clock;
        self.by_use.insert(self.clock, number);
        Some(&entry.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_when_the_window_is_full() {
        let mut window = Window::default();
        let half = WINDOW_BYTES / 2;
        assert_eq!(window.add("a", half), (0, vec![]));
        assert_eq!(window.add("b", half), (1, vec![]));
        assert_eq!(window.get(0), Some(&"a"));
        assert_eq!(window.add("c", 1), (2, vec!["b"]));
        assert_eq!(window.get(1), None);
        assert_eq!(window.get(0), Some(&"a"));
        // Numbers are never given again.
        assert_eq!(window.add("d", 1).0, 3);
    }
}
