//! Decides what a removal of checkpoints leaves behind: which stay, which lose their parent, and for which channels
//! these need a delta base first. The same for every engine.

use std::collections::{BTreeMap, BTreeSet};

use super::channel_map::{self, Entry};
use crate::domain::exact_json;

/// What is known of a stored checkpoint without its values.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    pub map: Vec<Entry>,
    pub legacy: bool,
    pub delta_channels: Vec<String>,
    /// `metadata.parents[""]`: the root checkpoint that a subgraph's call belongs to. Only needed for heads of
    /// namespaces with a `:`.
    pub root: Option<String>,
}

/// What a removal does to one thread.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// (ns, id) of what stays.
    pub kept: BTreeSet<(String, String)>,
    /// Those of `kept` whose parent goes.
    pub orphans: Vec<Orphan>,
    /// Per namespace the greatest id that was there: writes for later ids arrived early and stay.
    pub heads: BTreeMap<String, String>,
    /// Namespaces that go entirely, writes for later checkpoints included.
    pub dropped: BTreeSet<String>,
    /// (ns, id) of what goes.
    pub gone: BTreeSet<(String, String)>,
    pub removed: usize,
    strays: Strays,
}

/// What happens to writes whose checkpoint never came.
#[derive(Debug, Default, PartialEq, Eq)]
enum Strays {
    #[default]
    Stay,
    /// Only those for ids after the head stay: their checkpoint may still come.
    StayAfterHead,
}

/// A checkpoint that stays and whose parent goes.
#[derive(Debug, PartialEq, Eq)]
pub struct Orphan {
    pub ns: String,
    pub id: String,
    pub parent: String,
    /// Delta channels without a value here: each needs a base unless it has one.
    pub channels: Vec<String>,
    /// The parent's pending sends belong to it.
    pub legacy: bool,
}

/// Prune with `keep_latest`: the greatest id of each namespace stays, but the namespace of a subgraph's call
/// goes with the root checkpoint it belongs to, if that is stored and goes. `channel_key` hashes a name.
pub fn keep_latest(rows: &[Stored], channel_key: &dyn Fn(&str) -> i64) -> Plan {
    let mut heads: BTreeMap<&str, &Stored> = BTreeMap::new();
    for row in rows {
        let head = heads.entry(&row.ns).or_insert(row);
        if row.id > head.id {
            *head = row;
        }
    }
    let root_head = heads.get("").map(|row| row.id.as_str());
    let goes = |root: &str| {
        root_head != Some(root) && rows.iter().any(|row| row.ns.is_empty() && row.id == root)
    };
    let dropped: BTreeSet<String> = heads
        .values()
        .filter(|head| head.ns.contains(':') && head.root.as_deref().is_some_and(goes))
        .map(|head| head.ns.clone())
        .collect();
    let kept = heads.values().filter(|head| !dropped.contains(&head.ns));
    let kept = kept.map(|head| (head.ns.clone(), head.id.clone())).collect();
    let mut plan = plan(rows, kept, channel_key);
    plan.dropped = dropped;
    plan.strays = Strays::StayAfterHead;
    plan
}

/// Removes the checkpoints of `removed`, all others stay.
pub fn without(
    rows: &[Stored],
    removed: &BTreeSet<(String, String)>,
    channel_key: &dyn Fn(&str) -> i64,
) -> Plan {
    let all = rows.iter().map(|row| (row.ns.clone(), row.id.clone()));
    plan(rows, all.filter(|key| !removed.contains(key)).collect(), channel_key)
}

fn plan(
    rows: &[Stored],
    kept: BTreeSet<(String, String)>,
    channel_key: &dyn Fn(&str) -> i64,
) -> Plan {
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut heads: BTreeMap<String, String> = BTreeMap::new();
    let mut gone: BTreeSet<(&str, &str)> = BTreeSet::new();
    for row in rows {
        let channels = known.entry(&row.ns).or_default();
        channels.extend(row.delta_channels.iter().map(String::as_str));
        let head = heads.entry(row.ns.clone()).or_default();
        if row.id > *head {
            head.clone_from(&row.id);
        }
        if !kept.contains(&(row.ns.clone(), row.id.clone())) {
            gone.insert((&row.ns, &row.id));
        }
    }
    let stays = |row: &&Stored| kept.contains(&(row.ns.clone(), row.id.clone()));
    let orphans = rows.iter().filter(stays).filter_map(|row| {
        let parent =
            row.parent.as_ref().filter(|it| gone.contains(&(row.ns.as_str(), it.as_str())))?;
        let without_value = |channel: &&&str| {
            channel_map::value_no(&row.map, channel_key(channel)).unwrap_or(0) == 0
        };
        let channels = known[row.ns.as_str()].iter().filter(without_value);
        Some(Orphan {
            ns: row.ns.clone(),
            id: row.id.clone(),
            parent: parent.clone(),
            channels: channels.map(|it| (*it).to_owned()).collect(),
            legacy: row.legacy,
        })
    });
    let orphans = orphans.collect();
    let gone: BTreeSet<(String, String)> =
        gone.into_iter().map(|(ns, id)| (ns.to_owned(), id.to_owned())).collect();
    Plan { removed: gone.len(), gone, orphans, heads, kept, ..Plan::default() }
}

impl Plan {
    /// Whether writes on this checkpoint id stay.
    pub fn keeps_writes(&self, ns: &str, id: &str) -> bool {
        let key = (ns.to_owned(), id.to_owned());
        if self.dropped.contains(ns) || self.gone.contains(&key) {
            return false;
        }
        match self.strays {
            Strays::Stay => true,
            Strays::StayAfterHead => {
                self.kept.contains(&key) || self.heads.get(ns).is_none_or(|head| id > head.as_str())
            }
        }
    }
}

/// `parents[""]` of a metadata document: the root checkpoint that a subgraph's call belongs to.
pub fn root_of(metadata: &[u8]) -> Option<String> {
    let metadata = exact_json::parse("metadata", metadata).ok()?;
    Some(metadata.get("parents")?.get("")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ns: &str, id: &str, parent: Option<&str>) -> Stored {
        let parent = parent.map(str::to_owned);
        Stored { ns: ns.into(), id: id.into(), parent, ..Stored::default() }
    }

    #[test]
    fn the_greatest_id_of_each_namespace_stays() {
        let rows = [row("", "a", None), row("", "b", Some("a")), row("sub", "x", Some("early"))];
        let plan = keep_latest(&rows, &|_| 0);
        assert!(plan.kept.contains(&(String::new(), "b".into())) && plan.kept.len() == 2);
        assert_eq!(plan.orphans.len(), 1, "a parent that never came leaves no orphan");
        assert!(plan.keeps_writes("", "b") && plan.keeps_writes("", "c"));
        assert!(!plan.keeps_writes("", "a") && !plan.keeps_writes("", "0"));
        assert!(plan.keeps_writes("unknown", "a"));
    }

    #[test]
    fn a_subgraphs_call_goes_with_its_root_only_when_that_is_stored() {
        let call = |ns: &str, root: &str| Stored { root: Some(root.into()), ..row(ns, "x", None) };
        let rows = [
            row("", "a", None),
            row("", "b", Some("a")),
            call("n:1", "a"),
            call("n:2", "b"),
            call("n:3", "not yet"),
        ];
        let plan = keep_latest(&rows, &|_| 0);
        assert_eq!(plan.dropped, BTreeSet::from(["n:1".to_owned()]));
        assert!(!plan.keeps_writes("n:1", "y"));
    }

    #[test]
    fn an_orphan_needs_bases_for_the_delta_channels_without_a_value() {
        let mut rows = [row("", "a", None), row("", "b", Some("a")), row("", "c", Some("b"))];
        rows[0].delta_channels = vec!["files".into(), "messages".into()];
        rows[1].map = vec![Entry { channel_key: 5, version_key: 0, value_no: 3 }];
        let key = |name: &str| i64::try_from(name.len()).unwrap();
        let plan = without(&rows, &BTreeSet::from([(String::new(), "a".into())]), &key);
        assert_eq!(plan.orphans.len(), 1);
        assert_eq!(plan.orphans[0].channels, ["messages"], "files (5 letters) has a value");
        assert!(!plan.keeps_writes("", "a") && plan.keeps_writes("", "0"), "strays stay");
    }
}
