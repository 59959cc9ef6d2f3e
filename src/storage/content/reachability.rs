//! Finds which chunks of a scope are reachable: those that the lists of its values name, directly or through nodes. It is the same for
//! every engine.

use std::collections::{HashMap, HashSet};

use crate::content::chunking::CHUNK_BYTES_MAX;
use crate::content::envelope;
use crate::content::parts::{Name, Part, read, read_node};
use crate::domain::{Error, Result};

/// Names that were reached.
#[derive(Default)]
pub struct Reachability {
    reached: HashSet<Name>,
    nodes: HashSet<Name>,
}

impl Reachability {
    /// Reachability what a stored list names.
    ///
    /// # Errors
    /// `Integrity` when it is damaged: then nothing may be removed.
    pub fn add_list(&mut self, list: &[u8]) -> Result<()> {
        for part in read(list).map_err(|error| Error::Integrity(error.to_string()))? {
            self.reached.insert(part.name());
            if let Part::Node(name) = part {
                self.nodes.insert(name);
            }
        }
        Ok(())
    }

    /// Names of the nodes that the lists lead through: their chunks are to be given to `add_node`.
    pub fn nodes(&self) -> Vec<Vec<u8>> {
        self.nodes.iter().map(|name| name.to_vec()).collect()
    }

    /// Reachability what a node names.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add_node(&mut self, body: &[u8]) -> Result<()> {
        self.reached.extend(names_of(body)?);
        Ok(())
    }

    /// Whether something leads to the chunk of this name.
    pub fn names(&self, name: &[u8]) -> bool {
        Name::try_from(name).is_ok_and(|name| self.reached.contains(&name))
    }
}

/// Names of the chunks with content that lists lead to, each once, in the order of the lists: what lies together in a value
/// then lies together in a pack.
#[derive(Default)]
pub struct Leaves {
    parts: Vec<Part>,
    seen: HashSet<Name>,
    nodes: HashMap<Name, Vec<Name>>,
}

impl Leaves {
    /// Takes a stored list.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add_list(&mut self, list: &[u8]) -> Result<()> {
        for part in read(list).map_err(|error| Error::Integrity(error.to_string()))? {
            if self.seen.insert(part.name()) {
                self.parts.push(part);
            }
        }
        Ok(())
    }

    /// Names of the nodes that the lists lead through: their chunks are to be given to `add_node`.
    pub fn nodes(&self) -> Vec<Vec<u8>> {
        let nodes = self.parts.iter().filter(|part| matches!(part, Part::Node(_)));
        nodes.map(|part| part.name().to_vec()).collect()
    }

    /// Takes the names of a node.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add_node(&mut self, name: &[u8], body: &[u8]) -> Result<()> {
        if let Ok(name) = Name::try_from(name) {
            self.nodes.insert(name, names_of(body)?);
        }
        Ok(())
    }

    /// What the lists lead to. A node that is not there any more leads nowhere.
    pub fn in_order(mut self) -> Vec<Name> {
        let mut leaves = Vec::new();
        for part in &self.parts {
            match part {
                Part::Leaf(name) => leaves.push(*name),
                Part::Node(node) => {
                    let names = self.nodes.get(node).into_iter().flatten();
                    leaves.extend(names.filter(|name| self.seen.insert(**name)));
                }
            }
        }
        leaves
    }
}

fn names_of(body: &[u8]) -> Result<Vec<Name>> {
    let node = envelope::open_at_most(body, CHUNK_BYTES_MAX)
        .map_err(|error| Error::Integrity(format!("a node is damaged: {error}")))?;
    read_node(&node).map_err(|error| Error::Integrity(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::keys::TenantSecret;
    use crate::content::parts::write;

    #[test]
    fn leaves_come_once_in_the_order_of_the_values_and_nodes_never() {
        let secret = TenantSecret::new([9; 32]);
        let names: Vec<Name> = (0..500_u32).map(|at| secret.name(&at.to_le_bytes())).collect();
        let (early, early_nodes) = write(&secret, &names[..300]);
        let (late, late_nodes) = write(&secret, &names);
        let mut leaves = Leaves::default();
        leaves.add_list(&early).unwrap();
        leaves.add_list(&late).unwrap();
        assert!(leaves.nodes().len() > 5);
        for (name, node) in early_nodes.iter().chain(&late_nodes) {
            leaves.add_node(name, &envelope::seal_plain(node)).unwrap();
        }
        let found = leaves.in_order();
        assert_eq!(found[..300], names[..300]);
        let all = |names: &[Name]| names.iter().copied().collect::<HashSet<Name>>();
        assert_eq!((found.len(), all(&found)), (500, all(&names)));
        assert!(early_nodes.iter().all(|(node, _)| !found.contains(node)));
    }

    #[test]
    fn everything_that_a_list_leads_to_is_alive() {
        let secret = TenantSecret::new([9; 32]);
        let names: Vec<Name> = (0..500_u32).map(|at| secret.name(&at.to_le_bytes())).collect();
        let (list, nodes) = write(&secret, &names);
        let mut marks = Reachability::default();
        marks.add_list(&list).unwrap();
        assert_eq!(marks.nodes().len(), nodes.len());
        for (_, node) in &nodes {
            marks.add_node(&envelope::seal_plain(node)).unwrap();
        }
        assert!(names.iter().chain(nodes.iter().map(|(name, _)| name)).all(|it| marks.names(it)));
        assert!(!marks.names(&secret.name(b"another")));
        assert!(marks.add_list(&list[1..]).is_err());
        assert!(marks.add_node(&[1, 0, 0, 7]).is_err());
    }
}
