//! Which chunks of a scope are alive: what the lists of its values lead to. The same for every engine.

use std::collections::HashSet;

use crate::content::chunking::CHUNK_BYTES_MAX;
use crate::content::envelope;
use crate::content::parts::{Name, Part, read, read_node};
use crate::domain::{Error, Result};

/// Names that were reached.
#[derive(Default)]
pub struct Marks {
    reached: HashSet<Name>,
    nodes: HashSet<Name>,
}

impl Marks {
    /// Marks what a stored list names.
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

    /// Marks what a node names.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add_node(&mut self, body: &[u8]) -> Result<()> {
        let node = envelope::open_at_most(body, CHUNK_BYTES_MAX)
            .map_err(|error| Error::Integrity(format!("a node is damaged: {error}")))?;
        let names = read_node(&node).map_err(|error| Error::Integrity(error.to_string()))?;
        self.reached.extend(names);
        Ok(())
    }

    /// Whether something leads to the chunk of this name.
    pub fn names(&self, name: &[u8]) -> bool {
        Name::try_from(name).is_ok_and(|name| self.reached.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::keys::TenantSecret;
    use crate::content::parts::write;

    #[test]
    fn everything_that_a_list_leads_to_is_alive() {
        let secret = TenantSecret::new([9; 32]);
        let names: Vec<Name> = (0..500_u32).map(|at| secret.name(&at.to_le_bytes())).collect();
        let (list, nodes) = write(&secret, &names);
        let mut marks = Marks::default();
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
