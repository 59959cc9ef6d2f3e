//! Decides what a rule does to a thread, and what that frees: sums over the rows that go, before anything is changed,
//! so that a dry run and the removal say the same. Engines read; this counts. The same for every engine.

use std::collections::{BTreeMap, BTreeSet};

use super::retention::{Plan, Stored, keep, waiting};
use crate::domain::clock::Micros;
use crate::domain::retention::{Removed, Rule};

/// Writes of one checkpoint that share a fate.
#[derive(Debug, Clone, Default)]
pub struct WriteGroup {
    pub ns: String,
    pub id: String,
    pub kind: WriteKind,
    pub count: i64,
    /// Of those that are held in their rows.
    pub size_bytes: i64,
    pub stored_bytes: i64,
    /// Values of the scope that they name.
    pub nos: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

    /// What goes with a plan, but for its values: those are `named_only_by_what_goes`. `keeps_sends`: whether this engine
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

    /// Values that what goes names and nothing that stays.
    pub fn named_only_by_what_goes(&self, plan: &Plan, keeps_sends: bool) -> Vec<u32> {
        let (mut going, mut staying) = (BTreeSet::new(), BTreeSet::new());
        for row in &self.rows {
            let named = if is_kept(plan, &row.ns, &row.id) { &mut staying } else { &mut going };
            named.extend(row.map.iter().map(|it| it.value_no).filter(|no| *no != 0));
        }
        let kept_sends = self.kept_sends(plan, keeps_sends);
        for group in &self.writes {
            let named = if goes(plan, group, &kept_sends) { &mut going } else { &mut staying };
            named.extend(group.nos.iter().copied());
        }
        going.difference(&staying).copied().collect()
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
