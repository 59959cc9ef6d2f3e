//! Decides what a rule removes from a thread, and sums what that frees, before anything is changed. So a dry run and the removal report the
//! same. Engines read; this file counts. It is the same for every engine.

use std::collections::{BTreeMap, BTreeSet};

use super::retention::{Plan, Stored, keep, waiting};
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::threads::retention::{Removed, Rule};
use crate::storage::content::reachability::Reachability;

/// Writes of one checkpoint that share a fate.
#[derive(Debug, Clone, Default)]
pub struct WriteGroup {
    pub ns: String,
    pub id: String,
    pub kind: WriteKind,
    pub count: i64,
    pub size_bytes: i64,
    /// In their rows, without the chunks that they name.
    pub stored_bytes: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteKind {
    #[default]
    Ordinary,
    /// `__interrupt__`
    Interrupt,
    /// `__pregel_tasks`: a checkpoint of an old format may need them when theirs is gone.
    Sends,
}

impl WriteKind {
    /// As the engines' statements number them.
    pub fn of(number: i64) -> Self {
        match number {
            1 => Self::Interrupt,
            2 => Self::Sends,
            _ => Self::Ordinary,
        }
    }
}

/// A delta base that is stored, or will be.
#[derive(Debug, Clone)]
pub struct BaseSize {
    pub ns: String,
    pub id: String,
    pub channel: String,
    pub stored_bytes: i64,
}

/// All of a thread that a decision needs.
#[derive(Debug, Default)]
pub struct Contents {
    pub updated_at: Micros,
    pub rows: Vec<Stored>,
    pub writes: Vec<WriteGroup>,
}

#[derive(Debug)]
pub enum Decision {
    Nothing,
    /// The thread goes.
    Delete,
    Keep(Plan),
}

impl Contents {
    pub fn decide(&self, rule: &Rule, channel_key: &dyn Fn(&str) -> i64) -> Decision {
        if rule.unchanged_since.is_some_and(|since| self.updated_at > since) {
            return Decision::Nothing;
        }
        let interrupts = self.writes.iter().filter(|it| it.kind == WriteKind::Interrupt);
        let interrupts = interrupts.map(|it| (it.ns.clone(), it.id.clone())).collect();
        let pinned =
            if rule.keep_interrupted { waiting(&self.rows, &interrupts) } else { BTreeSet::new() };
        let expired = rule.expire_before.is_some_and(|before| self.updated_at < before);
        if expired && pinned.is_empty() {
            return Decision::Delete;
        }
        let Some(limits) = rule.keep else { return Decision::Nothing };
        let plan = keep(&self.rows, limits, &pinned, channel_key);
        if plan.removed == 0 { Decision::Nothing } else { Decision::Keep(plan) }
    }

    /// Weight of a checkpoint with its writes in the transaction that removes it: bytes, with a share for each row.
    pub fn weights(&self) -> impl Fn(&Stored) -> i64 {
        const ROW_BYTES: i64 = 400;
        let mut of_writes: BTreeMap<(String, String), i64> = BTreeMap::new();
        for group in &self.writes {
            *of_writes.entry((group.ns.clone(), group.id.clone())).or_default() +=
                group.stored_bytes + group.count * ROW_BYTES;
        }
        move |row| {
            let writes = of_writes.get(&(row.ns.clone(), row.id.clone()));
            row.stored_bytes + ROW_BYTES + writes.copied().unwrap_or(0)
        }
    }

    /// What goes with a plan, but for its values: see `leaving`. `keeps_sends`: whether this engine
    /// leaves pending sends in place that a checkpoint of an old format needs.
    pub fn removed(&self, plan: &Plan, bases: &Bases, keeps_sends: bool) -> Removed {
        let mut removed = Removed::default();
        for row in self.rows.iter().filter(|it| !is_kept(plan, &it.ns, &it.id)) {
            removed.checkpoints += 1;
            removed.size_bytes += row.size_bytes;
            removed.stored_bytes += row.stored_bytes;
        }
        let kept_sends = self.kept_sends(plan, keeps_sends);
        for group in self.writes.iter().filter(|it| goes(plan, it, &kept_sends)) {
            removed.writes += group.count;
            removed.size_bytes += group.size_bytes;
            removed.stored_bytes += group.stored_bytes;
        }
        let mut stays = BTreeSet::new();
        for base in &bases.stored {
            if is_kept(plan, &base.ns, &base.id) {
                stays.insert((&base.ns, &base.id, &base.channel));
            } else {
                removed.stored_bytes += base.stored_bytes;
            }
        }
        for base in &bases.made {
            if !stays.contains(&(&base.ns, &base.id, &base.channel)) {
                removed.stored_bytes -= base.stored_bytes;
            }
        }
        removed
    }

    /// What a plan takes away from the scope.
    pub fn leaving(&self, plan: &Plan, keeps_sends: bool) -> Leaving {
        let (mut going, mut staying) = (BTreeSet::new(), BTreeSet::new());
        for row in &self.rows {
            let named = if is_kept(plan, &row.ns, &row.id) { &mut staying } else { &mut going };
            named.extend(row.map.iter().map(|it| it.value_no).filter(|no| *no != 0));
        }
        let kept_sends = self.kept_sends(plan, keeps_sends);
        let writes = self.writes.iter().filter(|it| goes(plan, it, &kept_sends));
        Leaving {
            nos: going.difference(&staying).copied().collect(),
            writes: writes.map(|it| (it.ns.clone(), it.id.clone(), it.kind)).collect(),
        }
    }

    /// What the whole thread takes away from the scope.
    pub fn leaving_whole(&self) -> Leaving {
        let nos = self.rows.iter().flat_map(|row| row.map.iter().map(|it| it.value_no));
        let writes = self.writes.iter().map(|it| (it.ns.clone(), it.id.clone(), it.kind));
        Leaving { nos: nos.filter(|no| *no != 0).collect(), writes: writes.collect() }
    }

    /// What goes with the whole thread, but for its values.
    pub fn everything(&self, bases: &[BaseSize]) -> Removed {
        let mut removed = Removed {
            checkpoints: i64::try_from(self.rows.len()).unwrap_or(i64::MAX),
            ..Removed::default()
        };
        for row in &self.rows {
            removed.size_bytes += row.size_bytes;
            removed.stored_bytes += row.stored_bytes;
        }
        for group in &self.writes {
            removed.writes += group.count;
            removed.size_bytes += group.size_bytes;
            removed.stored_bytes += group.stored_bytes;
        }
        removed.stored_bytes += bases.iter().map(|it| it.stored_bytes).sum::<i64>();
        removed
    }

    fn kept_sends(&self, plan: &Plan, keeps_sends: bool) -> BTreeSet<(String, String)> {
        if !keeps_sends {
            return BTreeSet::new();
        }
        let cut = plan.orphans.iter().filter(|it| it.legacy);
        let mut kept: BTreeSet<(String, String)> =
            cut.map(|it| (it.ns.clone(), it.parent.clone())).collect();
        for row in self.rows.iter().filter(|it| is_kept(plan, &it.ns, &it.id)) {
            kept.extend(row.sends_from.iter().map(|from| (row.ns.clone(), from.clone())));
        }
        kept
    }
}

/// What a thread no longer names in its scope.
#[derive(Debug)]
pub struct Leaving {
    /// Of values.
    nos: BTreeSet<u32>,
    /// (ns, checkpoint id, kind) of writes that go with their lists of chunks.
    writes: BTreeSet<(String, String, WriteKind)>,
}

/// Counts the content that becomes free: values that no other holder of the scope names, chunks that nothing leads to.
pub struct ContentCount<'a> {
    leaving: &'a Leaving,
    /// Values that other holders' checkpoints name.
    others: BTreeSet<u32>,
    marks: Reachability,
    removed: Removed,
}

impl<'a> ContentCount<'a> {
    pub fn new(leaving: &'a Leaving, others: BTreeSet<u32>) -> Self {
        Self { leaving, others, marks: Reachability::default(), removed: Removed::default() }
    }

    /// Every value of the scope.
    ///
    /// # Errors
    /// `Integrity` when its list is damaged.
    pub fn value(&mut self, no: u32, bytes: (i64, i64), parts: Option<&[u8]>) -> Result<()> {
        let (size_bytes, stored_bytes) = bytes;
        if self.leaving.nos.contains(&no) {
            self.removed.size_bytes += size_bytes;
            if !self.others.contains(&no) {
                self.removed.values += 1;
                self.removed.stored_bytes += stored_bytes;
                return Ok(());
            }
        }
        parts.map_or(Ok(()), |parts| self.marks.add_list(parts))
    }

    /// Every list of a write of the thread itself.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn own_write(&mut self, place: (String, String, WriteKind), parts: &[u8]) -> Result<()> {
        if self.leaving.writes.contains(&place) { Ok(()) } else { self.marks.add_list(parts) }
    }

    /// Every list of a write of another holder.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn other_write(&mut self, parts: &[u8]) -> Result<()> {
        self.marks.add_list(parts)
    }

    /// Names of the nodes that stay: their bodies are to be given to `node`.
    pub fn nodes(&self) -> Vec<Vec<u8>> {
        self.marks.nodes()
    }

    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn node(&mut self, body: &[u8]) -> Result<()> {
        self.marks.add_node(body)
    }

    /// Every chunk of the scope, after everything else.
    pub fn chunk(&mut self, name: &[u8], stored_bytes: i64) {
        if !self.marks.names(name) {
            self.removed.stored_bytes += stored_bytes;
        }
    }

    pub fn removed(self) -> Removed {
        self.removed
    }
}

/// Delta bases before a removal, and those that it writes first.
#[derive(Debug, Default)]
pub struct Bases {
    pub stored: Vec<BaseSize>,
    pub made: Vec<BaseSize>,
}

fn is_kept(plan: &Plan, ns: &str, id: &str) -> bool {
    plan.kept.contains(&(ns.to_owned(), id.to_owned()))
}

fn goes(plan: &Plan, group: &WriteGroup, kept_sends: &BTreeSet<(String, String)>) -> bool {
    let needed = group.kind == WriteKind::Sends
        && kept_sends.contains(&(group.ns.clone(), group.id.clone()));
    !plan.keeps_writes(&group.ns, &group.id) && !needed
}
