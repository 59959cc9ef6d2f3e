//! Writes and reads the list of chunks of a split value. Long lists are split too, at boundaries that depend on the names alone. So a
//! version of a growing value costs its change and not its length.

use bytes::Bytes;

use super::chunking::HEAD_BYTES;
use super::keys::TenantSecret;

/// Name of a chunk in its scope: keyed BLAKE3, 96 bits. By the birthday bound two of 2^32 chunks of one scope are
/// equal with a probability of 2^-33; nobody without the tenant's secret can aim at it.
pub type Name = [u8; NAME_BYTES];
pub const NAME_BYTES: usize = 12;
/// One byte kind, then the name.
pub const PART_BYTES: usize = NAME_BYTES + 1;
const LEAF: u8 = 0;
const NODE: u8 = 1;
/// Names in a node: the length at which the parts of a list of some hundred chunks are shortest.
const NODE_NAMES_MIN: usize = 8;
const NODE_NAMES_MAX: usize = 64;
pub const NODE_BYTES_MAX: usize = NODE_NAMES_MAX * NAME_BYTES;
/// A name ends a node when these bits of it are zero: one in 16, so that a node has 24 names on average.
const NODE_END_MASK: u8 = 0x07;

/// One entry of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// A chunk with bytes of the value.
    Leaf(Name),
    /// A chunk with names of leaves.
    Node(Name),
}

impl Part {
    pub fn name(&self) -> Name {
        let (Self::Leaf(name) | Self::Node(name)) = self;
        *name
    }
}

/// Why a list cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    #[error("a list of chunks has a wrong length or kind")]
    Malformed,
    #[error("a chunk is missing, or is not of this scope")]
    Missing,
    #[error("the chunks do not have the length of the value")]
    Length,
}

/// The stored list of these names, and the nodes that it needs: (name, names of leaves one after the other).
pub fn write(secret: &TenantSecret, names: &[Name]) -> (Bytes, Vec<(Name, Bytes)>) {
    let (mut parts, mut nodes, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        group.extend_from_slice(name);
        let count = group.len() / NAME_BYTES;
        let ends = count >= NODE_NAMES_MIN && name[0] & NODE_END_MASK == 0;
        if ends || count >= NODE_NAMES_MAX {
            let node = Bytes::from(std::mem::take(&mut group));
            let node_name = secret.name(&node);
            push(&mut parts, NODE, &node_name);
            nodes.push((node_name, node));
        }
    }
    for name in group.chunks_exact(NAME_BYTES) {
        push(&mut parts, LEAF, name);
    }
    (Bytes::from(parts), nodes)
}

fn push(parts: &mut Vec<u8>, kind: u8, name: &[u8]) {
    parts.push(kind);
    parts.extend_from_slice(name);
}

/// Reads a stored list.
///
/// # Errors
/// `Malformed`.
pub fn read(parts: &[u8]) -> Result<Vec<Part>, PartsError> {
    let entries = parts.chunks(PART_BYTES).map(|entry| {
        let (kind, name) = entry.split_first().ok_or(PartsError::Malformed)?;
        let name = Name::try_from(name).map_err(|_| PartsError::Malformed)?;
        match *kind {
            LEAF => Ok(Part::Leaf(name)),
            NODE => Ok(Part::Node(name)),
            _ => Err(PartsError::Malformed),
        }
    });
    entries.collect()
}

/// Reads the names of a node.
///
/// # Errors
/// `Malformed`.
pub fn read_node(node: &[u8]) -> Result<Vec<Name>, PartsError> {
    let names = node.chunks(NAME_BYTES);
    names.map(|name| Name::try_from(name).map_err(|_| PartsError::Malformed)).collect()
}

/// Names of the leaves of a list without nodes: of a value that came in parts. None for another list.
pub fn leaves_only(parts: &[u8]) -> Option<Vec<Name>> {
    let leaf = |part: &Part| matches!(part, Part::Leaf(_)).then(|| part.name());
    read(parts).ok()?.iter().map(leaf).collect()
}

/// Puts a value together: `ends` are its head and foot, nothing for one that came in parts; `node` and `leaf` answer opened chunks by name.
///
/// # Errors
/// What is missing or does not fit; nothing is allocated for more than `size_bytes`.
pub fn assemble<'c>(
    ends: &[u8],
    parts: &[u8],
    size_bytes: usize,
    node: impl Fn(&Name) -> Option<&'c Bytes>,
    leaf: impl Fn(&Name) -> Option<&'c Bytes>,
) -> Result<Bytes, PartsError> {
    let head_bytes = if ends.is_empty() { 0 } else { HEAD_BYTES };
    let (head, foot) = ends.split_at_checked(head_bytes).ok_or(PartsError::Malformed)?;
    let mut data = Vec::with_capacity(size_bytes);
    let mut add = |piece: &[u8]| {
        if data.len() + piece.len() > size_bytes {
            return Err(PartsError::Length);
        }
        data.extend_from_slice(piece);
        Ok(())
    };
    let leaf = |name: &Name| leaf(name).ok_or(PartsError::Missing);
    add(head)?;
    for part in read(parts)? {
        match part {
            Part::Leaf(name) => add(leaf(&name)?)?,
            Part::Node(name) => {
                for name in read_node(node(&name).ok_or(PartsError::Missing)?)? {
                    add(leaf(&name)?)?;
                }
            }
        }
    }
    add(foot)?;
    if data.len() == size_bytes { Ok(Bytes::from(data)) } else { Err(PartsError::Length) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn put_together(
        ends: &[u8],
        parts: &[u8],
        size: usize,
        chunks: &HashMap<Name, Bytes>,
    ) -> Result<Bytes, PartsError> {
        assemble(ends, parts, size, |name| chunks.get(name), |name| chunks.get(name))
    }

    fn names(secret: &TenantSecret, count: usize) -> Vec<Name> {
        (0..count).map(|at| secret.name(&at.to_le_bytes())).collect()
    }

    fn followed(parts: &[u8], nodes: &[(Name, Bytes)]) -> Vec<Name> {
        let nodes: HashMap<Name, Bytes> = nodes.iter().cloned().collect();
        let leaves = read(parts).unwrap().into_iter().flat_map(|part| match part {
            Part::Leaf(name) => vec![name],
            Part::Node(name) => read_node(&nodes[&name]).unwrap(),
        });
        leaves.collect()
    }

    proptest! {
        #[test]
        fn a_list_leads_to_the_names_in_their_order(count in 0..3_000_usize) {
            let secret = TenantSecret::new([5; 32]);
            let names = names(&secret, count);
            let (parts, nodes) = write(&secret, &names);
            prop_assert_eq!(followed(&parts, &nodes), names);
        }

        #[test]
        fn any_bytes_are_read_or_refused(parts: Vec<u8>, ends: Vec<u8>, size in 0..10_000_usize) {
            let _ = put_together(&ends, &parts, size, &HashMap::new());
        }
    }

    #[test]
    fn a_longer_list_keeps_the_nodes_of_the_shorter_one() {
        let secret = TenantSecret::new([5; 32]);
        let names = names(&secret, 2_000);
        let (_, before) = write(&secret, &names[..1_900]);
        let (parts, after) = write(&secret, &names);
        assert_eq!(before[..], after[..before.len()]);
        assert!(parts.len() < 200 * PART_BYTES, "{} bytes", parts.len());
    }

    #[test]
    fn lying_lengths_and_missing_chunks_are_errors() {
        let secret = TenantSecret::new([5; 32]);
        let (parts, _) = write(&secret, &names(&secret, 1));
        let chunks = HashMap::from([(names(&secret, 1)[0], Bytes::from_static(b"chunk"))]);
        let whole = put_together(b"head!foot", &parts, 14, &chunks).unwrap();
        assert_eq!(&whole[..], b"head!chunkfoot");
        assert_eq!(put_together(b"head!foot", &parts, 13, &chunks), Err(PartsError::Length));
        assert_eq!(put_together(b"head!foot", &parts, 15, &chunks), Err(PartsError::Length));
        assert_eq!(&put_together(b"", &parts, 5, &chunks).unwrap()[..], b"chunk");
        assert_eq!(put_together(b"head", &parts, 9, &chunks), Err(PartsError::Malformed));
        assert_eq!(put_together(b"head!", &parts, 9, &HashMap::new()), Err(PartsError::Missing));
        assert_eq!(put_together(b"head!", &parts[1..], 9, &chunks), Err(PartsError::Malformed));
    }
}
