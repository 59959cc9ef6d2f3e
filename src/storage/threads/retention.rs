//! Decides which checkpoints a removal keeps, which of them lose their parent, and for which channels these need a delta base first. It is
//! the same for every engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::clock::Micros;
use crate::domain::json::exact_json;
use crate::domain::threads::retention::Keep;
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::channel_map::Entry;

/// What is known of a stored checkpoint without its values.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    pub map: Vec<Entry>,
    pub legacy: bool,
    pub delta_channels: Vec<String>,
    /// `metadata.parents`: the checkpoints by namespace that a subgraph's call belongs to. Only known of heads of
    /// namespaces with a `:`.
    pub parents: BTreeMap<String, String>,
    /// Where pending sends are whose checkpoint is gone (an engine may keep them elsewhere).
    pub sends_from: Option<String>,
    pub created_at: Micros,
    pub size_bytes: i64,
    /// Skeleton and metadata as they are stored.
    pub stored_bytes: i64,
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

/// Decides by rank and age: of each namespace the `last` greatest ids stay, and what is younger. The namespace of a
/// subgraph's call goes with the root checkpoint it belongs to, if that is stored and goes; that one stays as long as
/// something of the call is younger. `pinned` stays in any case. `channel_key` hashes a name.
pub fn keep(
    rows: &[Stored],
    keep: Keep,
    pinned: &BTreeSet<(String, String)>,
    channel_key: &dyn Fn(&str) -> i64,
) -> Plan {
    let last = usize::try_from(keep.last).unwrap_or(usize::MAX);
    let stays = |row: &Stored| {
        keep.since.is_some_and(|since| row.created_at >= since)
            || pinned.contains(&(row.ns.clone(), row.id.clone()))
    };
    let mut namespaces: BTreeMap<&str, Vec<&Stored>> = BTreeMap::new();
    for row in rows {
        namespaces.entry(&row.ns).or_default().push(row);
    }
    for of_ns in namespaces.values_mut() {
        of_ns.sort_by(|a, b| b.id.cmp(&a.id));
    }
    let calls = namespaces.values().filter(|it| it[0].ns.contains(':'));
    let held: BTreeSet<&str> = calls
        .filter(|it| it.iter().any(|row| stays(row)))
        .filter_map(|it| root_of(it[0]))
        .collect();
    // Whether a root checkpoint stays, of those that are stored.
    let of_root = namespaces.get("").into_iter().flatten().enumerate();
    let roots: BTreeMap<&str, bool> = of_root
        .map(|(rank, row)| {
            (row.id.as_str(), rank < last || stays(row) || held.contains(row.id.as_str()))
        })
        .collect();
    let mut kept = BTreeSet::new();
    let mut dropped = BTreeSet::new();
    for (ns, of_ns) in &namespaces {
        if ns.contains(':') && root_of(of_ns[0]).and_then(|it| roots.get(it)) == Some(&false) {
            dropped.insert((*ns).to_owned());
            continue;
        }
        let of_ns = of_ns.iter().enumerate();
        let kept_here = of_ns.filter(|(rank, row)| {
            *rank < last || stays(row) || (ns.is_empty() && roots[row.id.as_str()])
        });
        kept.extend(kept_here.map(|(_, row)| (row.ns.clone(), row.id.clone())));
    }
    let mut plan = plan(rows, kept, channel_key);
    plan.dropped = dropped;
    plan.strays = Strays::StayAfterHead;
    plan
}

/// Heads of namespaces with a pending interrupt, and what a resume needs besides: the checkpoints that they were called
/// from. `interrupts` are the (ns, id) that have a write on `__interrupt__`.
pub fn waiting(
    rows: &[Stored],
    interrupts: &BTreeSet<(String, String)>,
) -> BTreeSet<(String, String)> {
    let mut heads: BTreeMap<&str, &Stored> = BTreeMap::new();
    for row in rows {
        let head = heads.entry(&row.ns).or_insert(row);
        if row.id > head.id {
            *head = row;
        }
    }
    let mut found = BTreeSet::new();
    for head in heads.values() {
        let key = (head.ns.clone(), head.id.clone());
        if interrupts.contains(&key) {
            found.insert(key);
            found.extend(head.parents.iter().map(|(ns, id)| (ns.clone(), id.clone())));
        }
    }
    found
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
    /// The part of this plan that removes the least ids, `weights_max` of the rows' weights at most, one at least; None
    /// where all of it is no more. What such a part leaves is right by itself, and planning it again ends here.
    pub fn part(
        &self,
        rows: &[Stored],
        weight: &dyn Fn(&Stored) -> i64,
        weights_max: i64,
        channel_key: &dyn Fn(&str) -> i64,
    ) -> Option<Self> {
        let mut going: Vec<&Stored> =
            rows.iter().filter(|it| self.gone.contains(&(it.ns.clone(), it.id.clone()))).collect();
        going.sort_by(|a, b| (&a.id, &a.ns).cmp(&(&b.id, &b.ns)));
        let mut sum = 0;
        let fits = |row: &&&Stored| {
            sum += weight(row);
            sum <= weights_max
        };
        let count = going.iter().take_while(fits).count().max(1);
        if count >= going.len() {
            return None;
        }
        let key = |it: &&Stored| (it.ns.clone(), it.id.clone());
        let part: BTreeSet<(String, String)> = going[..count].iter().map(key).collect();
        let left: BTreeSet<&str> = going[count..].iter().map(|it| it.ns.as_str()).collect();
        let mut plan = without(rows, &part, channel_key);
        // With its last rows, what arrived early for a namespace goes too: nobody would find it later.
        let ends = |ns: &&String| !left.contains(ns.as_str());
        plan.dropped = self.dropped.iter().filter(ends).cloned().collect();
        Some(plan)
    }

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

/// The root checkpoint that a subgraph's call belongs to.
fn root_of(head: &Stored) -> Option<&str> {
    head.parents.get("").map(String::as_str)
}

/// `parents` of a metadata document: the checkpoints that a subgraph's call belongs to, by namespace.
pub fn parents_of(metadata: &[u8]) -> BTreeMap<String, String> {
    let Ok(metadata) = exact_json::parse("metadata", metadata) else { return BTreeMap::new() };
    let parents = metadata.get("parents").and_then(serde_json::Value::as_object);
    let parents = parents.into_iter().flatten();
    parents.filter_map(|(ns, id)| Some((ns.clone(), id.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ns: &str, id: &str, parent: Option<&str>) -> Stored {
        let parent = parent.map(str::to_owned);
        Stored { ns: ns.into(), id: id.into(), parent, ..Stored::default() }
    }

    fn latest(rows: &[Stored]) -> Plan {
        keep(rows, Keep { last: 1, since: None }, &BTreeSet::new(), &|_| 0)
    }

    #[test]
    fn the_greatest_id_of_each_namespace_stays() {
        let rows = [row("", "a", None), row("", "b", Some("a")), row("sub", "x", Some("early"))];
        let plan = latest(&rows);
        assert!(plan.kept.contains(&(String::new(), "b".into())) && plan.kept.len() == 2);
        assert_eq!(plan.orphans.len(), 1, "a parent that never came leaves no orphan");
        assert!(plan.keeps_writes("", "b") && plan.keeps_writes("", "c"));
        assert!(!plan.keeps_writes("", "a") && !plan.keeps_writes("", "0"));
        assert!(plan.keeps_writes("unknown", "a"));
    }

    #[test]
    fn a_subgraphs_call_goes_with_its_root_only_when_that_is_stored() {
        let call = |ns: &str, root: &str| {
            let parents = [(String::new(), root.to_owned())].into();
            Stored { parents, ..row(ns, "x", None) }
        };
        let rows = [
            row("", "a", None),
            row("", "b", Some("a")),
            call("n:1", "a"),
            call("n:2", "b"),
            call("n:3", "not yet"),
        ];
        let plan = latest(&rows);
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
