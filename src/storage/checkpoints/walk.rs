//! Decides what a walk along the parent chain has to read, from what is known of the ancestors without their values. It is the same for
//! every engine. `domain::history` has the rules of the walk.

use std::collections::BTreeSet;

use super::channel_map::{self, Entry};

/// An ancestor, without values and writes.
#[derive(Debug, Clone)]
pub struct Ancestor {
    pub id: String,
    pub parent: Option<String>,
    pub map: Vec<Entry>,
    /// Channels it has a delta base for.
    pub bases: BTreeSet<String>,
}

/// What is to be read of one ancestor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub id: String,
    pub parent: Option<String>,
    /// Channels whose walk comes by here: their writes are to be read.
    pub channels: BTreeSet<String>,
    /// (channel, number of its value): the walk of the channel ends here.
    pub seeds: Vec<(String, u32)>,
    /// Channels whose base is to be read: their walk ends here too.
    pub bases: Vec<String>,
}

/// A walk in progress: ancestors are fed to it in the order of the chain.
#[derive(Debug)]
pub struct Walk {
    /// (channel, its key in maps) of the channels that have not stopped.
    open: Vec<(String, i64)>,
    seen: BTreeSet<String>,
    pub steps: Vec<Step>,
}

impl Walk {
    /// Begins a walk for channels with their keys.
    pub fn new(channels: Vec<(String, i64)>) -> Self {
        Self { open: channels, seen: BTreeSet::new(), steps: Vec::new() }
    }

    /// Takes the next ancestor. Answers the id of the one after it, None when the walk is over.
    pub fn visit(&mut self, ancestor: Ancestor) -> Option<String> {
        // A chain that comes back to a node would never end.
        if self.open.is_empty() || !self.seen.insert(ancestor.id.clone()) {
            return None;
        }
        let mut step = Step {
            channels: self.open.iter().map(|(channel, _)| channel.clone()).collect(),
            seeds: Vec::new(),
            bases: Vec::new(),
            id: ancestor.id,
            parent: ancestor.parent,
        };
        self.open.retain(|(channel, key)| {
            let has_base = ancestor.bases.contains(channel);
            if has_base {
                step.bases.push(channel.clone());
            }
            match channel_map::value_no(&ancestor.map, *key) {
                Some(no) if no != 0 => step.seeds.push((channel.clone(), no)),
                _ => return !has_base,
            }
            false
        });
        let next = step.parent.clone().filter(|_| !self.open.is_empty());
        self.steps.push(step);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_stops_at_its_own_ancestor() {
        let entry = |key, value_no| Entry { channel_key: key, version_key: 0, value_no };
        let ancestor = |id: &str, parent: Option<&str>, map: Vec<Entry>, bases: &[&str]| Ancestor {
            id: id.into(),
            parent: parent.map(str::to_owned),
            map,
            bases: bases.iter().map(|it| (*it).to_owned()).collect(),
        };
        let mut walk = Walk::new(vec![("a".into(), 1), ("b".into(), 2), ("c".into(), 3)]);
        let first = ancestor("3", Some("2"), vec![entry(1, 9), entry(2, 0)], &[]);
        assert_eq!(walk.visit(first).as_deref(), Some("2"));
        let second = ancestor("2", Some("1"), vec![], &["b"]);
        assert_eq!(walk.visit(second).as_deref(), Some("1"));
        assert_eq!(walk.visit(ancestor("1", Some("3"), vec![], &[])).as_deref(), Some("3"));
        assert_eq!(walk.visit(ancestor("3", Some("2"), vec![], &[])), None);
        assert_eq!(walk.steps[0].seeds, [("a".to_owned(), 9)]);
        assert_eq!(walk.steps[1].bases, ["b"]);
        let read_for: Vec<usize> = walk.steps.iter().map(|step| step.channels.len()).collect();
        assert_eq!(read_for, [3, 2, 1]);
    }
}
