//! Checks that any lists, ends and chunks make a value of exactly the size it says, or an error.
//!
//! Input: 4 bytes size, 2 bytes length of the list, 2 bytes length of the ends, list, ends, then chunks, each a name, 2 bytes length and
//! its bytes; little endian, cut short where the input ends.

use std::collections::HashMap;

use bytes::Bytes;
use threadkeep::content::chunking::CHUNK_BYTES_MAX;
use threadkeep::content::envelope::seal_plain;
use threadkeep::content::parts::{
    NAME_BYTES, Name, PART_BYTES, Part, PartsError, assemble, read, read_node,
};
use threadkeep::storage::content::reachability::Reachability;

const SIZE_BYTES_MAX: u32 = 1 << 20;

/// An input taken apart.
pub struct Input<'a> {
    pub size: usize,
    pub list: &'a [u8],
    pub ends: &'a [u8],
    pub chunks: HashMap<Name, Bytes>,
}

pub fn check(data: &[u8]) {
    let Some(input) = Input::read(data) else { return };
    let parts = read(input.list);
    if let Ok(parts) = &parts {
        let written = parts.iter().flat_map(|part| {
            let kind = u8::from(matches!(part, Part::Node(_)));
            [&[kind], &part.name()[..]].concat()
        });
        assert!(written.eq(input.list.iter().copied()), "a list reads to what it is not");
    }
    match input.assemble() {
        Ok(value) => {
            assert_eq!(value.len(), input.size);
            let (head, foot) = input.ends.split_at(5);
            assert!(value.starts_with(head) && value.ends_with(foot));
            assert!(parts.is_ok());
        }
        Err(_) => assert!(input.list.len().is_multiple_of(PART_BYTES) || parts.is_err()),
    }
    let mut marks = Reachability::default();
    let marked = marks.add_list(input.list);
    assert_eq!(marked.is_ok(), parts.is_ok());
    for chunk in input.chunks.values() {
        // A larger one than any that is made is no node.
        let is_node = chunk.len() <= CHUNK_BYTES_MAX && read_node(chunk).is_ok();
        assert_eq!(marks.add_node(&seal_plain(chunk)).is_ok(), is_node);
        let _ = marks.add_node(chunk);
    }
    if marked.is_ok() {
        assert!(parts.unwrap_or_default().iter().all(|part| marks.names(&part.name())));
    }
}

impl<'a> Input<'a> {
    pub fn assemble(&self) -> Result<Bytes, PartsError> {
        let chunk = |name: &Name| self.chunks.get(name);
        assemble(self.ends, self.list, self.size, chunk, chunk)
    }

    pub fn read(data: &'a [u8]) -> Option<Self> {
        let (size, rest) = data.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (ends, rest) = rest.split_first_chunk::<2>()?;
        let (list, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let (ends, mut rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*ends)))?;
        let mut chunks = HashMap::new();
        while let Some((name, more)) = rest.split_first_chunk::<NAME_BYTES>() {
            let Some((length, more)) = more.split_first_chunk::<2>() else { break };
            let length = usize::from(u16::from_le_bytes(*length)).min(more.len());
            let (chunk, more) = more.split_at(length);
            chunks.insert(*name, Bytes::copy_from_slice(chunk));
            rest = more;
        }
        let size = (u32::from_le_bytes(*size) % (SIZE_BYTES_MAX + 1)) as usize;
        Some(Self { size, list, ends, chunks })
    }
}
