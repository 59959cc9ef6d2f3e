//! Prepares changes of items for a statement, and joins changes of many callers into one batch. Pure.
//!
//! **Invariant:** a batch has at most one row per item.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::item::Address;
use super::vector::NewVectors;
use super::words::ItemWords;
use crate::domain::checkpoints::prepared::{Chunk, Sealed};
use crate::domain::clock::Micros;
use crate::domain::error::Full;
use crate::domain::idempotency::Idempotency;

/// Commands in one batch, and bytes after which it takes no further one.
const COMMANDS_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Changes that happen together or not at all, at most one per item.
#[derive(Debug, Clone)]
pub struct PreparedChanges {
    pub tenant: String,
    pub changes: Vec<PreparedChange>,
    /// Set where a repetition could not be told from another's change.
    pub idempotency: Option<Idempotency>,
    /// The write must have begun by then.
    pub deadline: Micros,
    /// Why no item may be created.
    pub full: Option<Full>,
    pub size_bytes: usize,
}

impl PreparedChanges {
    /// Changes nothing: only asks for what was answered to the request before.
    pub fn question(tenant: &str, idempotency: Option<Idempotency>, deadline: Micros) -> Self {
        let (tenant, changes) = (tenant.to_owned(), Vec::new());
        Self { tenant, changes, idempotency, deadline, full: None, size_bytes: 0 }
    }
}

#[derive(Debug, Clone)]
pub struct PreparedChange {
    pub address: Address,
    pub if_version: Option<i64>,
    /// None deletes.
    pub put: Option<PreparedValue>,
}

#[derive(Debug, Clone)]
pub struct PreparedValue {
    pub sealed: Sealed,
    pub ttl_micros: Option<Micros>,
    /// What an index looks at; engines without one leave it empty.
    pub projection: String,
    /// Something is left out of the projection.
    pub has_marks: bool,
    pub content: Option<Content>,
    /// The value has the shape of a file, with times.
    pub is_file: bool,
    /// Sealed, what a listing of files shows of it; empty: it is none; None: not known.
    pub file_head: Option<Bytes>,
    /// Names its content where that is no part of the value.
    pub content_id: Option<Vec<u8>>,
    /// Earlier versions that the item keeps from now on; None: as many as before, or none.
    pub history: Option<u32>,
    /// It is not encrypted: something of it may stand beside it.
    pub is_readable: bool,
    /// None: its namespace declares none.
    pub words: Option<Arc<ItemWords>>,
    pub vectors: Option<Arc<NewVectors>>,
    /// Paths of texts whose vectors the server makes, as JSON.
    pub index: Option<String>,
}

/// Where the chunks of a large value go.
#[derive(Debug, Clone)]
pub struct Content {
    pub scope_id: i64,
    /// Epoch for which the chunks are enough; None: they always are.
    pub epoch: Option<i64>,
    pub chunks: Vec<Chunk>,
}

/// How a group ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemOutcome {
    /// The version of each change, in their order; 0 for deletions.
    Written(Vec<i64>),
    /// An earlier request with this key did it.
    Repeated(Vec<i64>),
    IdempotencyMismatch,
    /// Nothing was written: this change found another version.
    Conflict {
        change: usize,
        current: i64,
    },
    /// Nothing was written: it would create an item, and may not.
    Full,
    /// Content that it left out may be gone, or its scope: prepare it again.
    EpochStale,
}

/// Rows for one statement, in the order of (tenant, address), in which they are locked.
#[derive(Debug, Default)]
pub struct ItemBatch {
    pub now: Micros,
    /// Where versions of items that it creates begin: no batch before had it.
    pub first_version: i64,
    pub groups: Vec<ItemGroup>,
    pub rows: Vec<ItemRow>,
}

/// One without rows only asks for an earlier answer.
#[derive(Debug, Clone)]
pub struct ItemGroup {
    pub tenant: String,
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone)]
pub struct ItemRow {
    pub group: usize,
    /// Position among the changes of its group.
    pub change: usize,
    pub tenant: String,
    pub address: Address,
    pub if_version: Option<i64>,
    pub may_create: bool,
    /// By how many puts the version grows.
    pub puts: i64,
    pub put: Option<PreparedValue>,
}

/// A command that is part of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub command: usize,
    pub group: usize,
    pub role: Role,
}

/// What the outcome of a group means for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The group is the command's.
    Own,
    /// Puts without a condition came after this one, so many: only the last is a row.
    Overtaken(i64),
    /// Another change asks for the same version of the same item and goes first: where that one is written or refused, this one
    /// is refused. `leader` is its group; the command's own group only asks for an earlier answer.
    Behind { leader: usize },
}

/// Takes commands from the front as long as they fit together; what does not waits for the next batch, and so does
/// everything that touches what waits.
pub fn fold(
    commands: &[&PreparedChanges],
    now: Micros,
    first_version: i64,
) -> (ItemBatch, Vec<Taken>) {
    let batch = ItemBatch { now, first_version, ..ItemBatch::default() };
    let mut folding = Folding { batch, ..Folding::default() };
    let mut bytes = 0;
    for (at, command) in commands.iter().enumerate() {
        let full =
            folding.taken.len() >= COMMANDS_MAX || bytes + command.size_bytes > BATCH_BYTES_MAX;
        if full && at > 0 {
            break;
        }
        if folding.take(at, command) {
            bytes += command.size_bytes;
        }
    }
    let Folding { mut batch, taken, .. } = folding;
    batch.rows.sort_by(|a, b| (&a.tenant, &a.address).cmp(&(&b.tenant, &b.address)));
    (batch, taken)
}

#[derive(Default)]
struct Folding {
    batch: ItemBatch,
    taken: Vec<Taken>,
    /// (tenant, address) → its row; None: a command that touches it waits.
    rows: HashMap<(String, Address), Option<usize>>,
    /// (tenant, caller, key) of requests in the batch: a repetition of one waits for its outcome.
    keys: HashSet<(String, String, String)>,
}

impl Folding {
    fn take(&mut self, at: usize, command: &PreparedChanges) -> bool {
        let touched: Vec<(String, Address)> =
            command.changes.iter().map(|it| (command.tenant.clone(), it.address.clone())).collect();
        let repeated = command.idempotency.as_ref().is_some_and(|it| {
            let key = (command.tenant.clone(), it.caller.clone(), it.key.clone());
            !self.keys.insert(key)
        });
        let free = touched.iter().all(|it| !self.rows.contains_key(it));
        if free && !repeated {
            self.add_group(at, command);
            return true;
        }
        if let ([change], [place], false) = (&command.changes[..], &touched[..], repeated)
            && let Some(Some(row)) = self.rows.get(place)
            && self.join(at, command, change, *row)
        {
            return true;
        }
        // What is behind it waits too: nothing joins a row that it has to follow.
        for place in touched {
            self.rows.insert(place, None);
        }
        false
    }

    fn add_group(&mut self, at: usize, command: &PreparedChanges) {
        let group = self.new_group(command);
        for (change, it) in command.changes.iter().enumerate() {
            let place = (command.tenant.clone(), it.address.clone());
            self.rows.insert(place, Some(self.batch.rows.len()));
            self.batch.rows.push(ItemRow {
                group,
                change,
                tenant: command.tenant.clone(),
                address: it.address.clone(),
                if_version: it.if_version,
                may_create: command.full.is_none(),
                puts: 1,
                put: it.put.clone(),
            });
        }
        self.taken.push(Taken { command: at, group, role: Role::Own });
    }

    /// A single change of an item that has a row already.
    fn join(
        &mut self,
        at: usize,
        command: &PreparedChanges,
        change: &PreparedChange,
        row: usize,
    ) -> bool {
        let group = self.batch.rows[row].group;
        let alone = self.batch.rows.iter().filter(|it| it.group == group).count() == 1;
        let first = &mut self.batch.rows[row];
        if !alone {
            return false;
        }
        match (first.if_version, change.if_version) {
            // A version that is kept has a row of its own: it waits.
            (None, None)
                if keeps_nothing(first.put.as_ref()) && keeps_nothing(change.put.as_ref()) =>
            {
                first.put.clone_from(&change.put);
                first.puts += 1;
                for earlier in self.taken.iter_mut().filter(|it| it.group == group) {
                    earlier.role = match earlier.role {
                        Role::Overtaken(by) => Role::Overtaken(by + 1),
                        _ => Role::Overtaken(1),
                    };
                }
                self.taken.push(Taken { command: at, group, role: Role::Own });
                true
            }
            (Some(first), Some(wanted)) if first == wanted => {
                let own = self.new_group(command);
                let role = Role::Behind { leader: group };
                self.taken.push(Taken { command: at, group: own, role });
                true
            }
            _ => false,
        }
    }

    fn new_group(&mut self, command: &PreparedChanges) -> usize {
        let (tenant, idempotency) = (command.tenant.clone(), command.idempotency.clone());
        self.batch.groups.push(ItemGroup { tenant, idempotency });
        self.batch.groups.len() - 1
    }
}

/// A put without history.
fn keeps_nothing(put: Option<&PreparedValue>) -> bool {
    put.is_some_and(|it| it.history.unwrap_or(0) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::store::item::Key;
    use crate::domain::store::namespace::Namespace;

    fn change(key: &str, if_version: Option<i64>, put: bool) -> PreparedChange {
        let namespace = Namespace::stored(vec!["n".into()]);
        let (tag, body) = ("json".into(), Bytes::from_static(b"{}"));
        let sealed = Sealed { tag, size_bytes: 2, digest: [0; 16], body, parts: None };
        let value = PreparedValue {
            sealed,
            ttl_micros: None,
            projection: String::new(),
            has_marks: false,
            content: None,
            is_file: false,
            file_head: Some(Bytes::new()),
            content_id: None,
            history: None,
            is_readable: true,
            words: None,
            vectors: None,
            index: None,
        };
        let address = Address { namespace, key: Key::of_text(key).unwrap() };
        PreparedChange { address, if_version, put: put.then_some(value) }
    }

    fn command(changes: Vec<PreparedChange>) -> PreparedChanges {
        let (tenant, idempotency) = ("t".into(), None);
        PreparedChanges { tenant, changes, idempotency, deadline: 0, full: None, size_bytes: 10 }
    }

    fn roles(commands: &[PreparedChanges]) -> Vec<(usize, Role)> {
        let (batch, taken) = fold(&commands.iter().collect::<Vec<_>>(), 7, 7);
        let mut places: Vec<_> = batch.rows.iter().map(|it| (&it.tenant, &it.address)).collect();
        assert!(places.is_sorted());
        places.dedup();
        assert_eq!(places.len(), batch.rows.len(), "one row per item");
        taken.iter().map(|it| (it.command, it.role)).collect()
    }

    #[test]
    fn the_last_of_several_puts_is_the_row() {
        let put = || command(vec![change("a", None, true)]);
        let expected = [(0, Role::Overtaken(2)), (1, Role::Overtaken(1)), (2, Role::Own)];
        assert_eq!(roles(&[put(), put(), put()]), expected);
    }

    #[test]
    fn puts_that_keep_versions_are_rows_of_their_own() {
        let put = |history| {
            let mut change = change("a", None, true);
            change.put.as_mut().unwrap().history = history;
            command(vec![change])
        };
        assert_eq!(roles(&[put(Some(3)), put(Some(3))]), [(0, Role::Own)]);
        assert_eq!(roles(&[put(Some(0)), put(Some(3))]), [(0, Role::Own)]);
        let both = [(0, Role::Overtaken(1)), (1, Role::Own)];
        assert_eq!(roles(&[put(Some(0)), put(None)]), both);
    }

    #[test]
    fn changes_of_one_version_stand_behind_the_first() {
        let edit = |version| command(vec![change("a", Some(version), true)]);
        let behind = Role::Behind { leader: 0 };
        assert_eq!(roles(&[edit(5), edit(5), edit(6), edit(5)]), [(0, Role::Own), (1, behind)]);
    }

    #[test]
    fn what_does_not_fit_waits_and_nothing_overtakes_it() {
        let put = |key: &str| command(vec![change(key, None, true)]);
        let delete = command(vec![change("a", None, false)]);
        let both = command(vec![change("a", None, true), change("b", None, true)]);
        let taken = [(0, Role::Own), (3, Role::Own)];
        assert_eq!(roles(&[put("a"), delete.clone(), put("a"), put("c")]), taken);
        assert_eq!(roles(&[put("a"), both.clone(), put("b"), put("c")]), taken);
        assert_eq!(roles(&[both, put("b"), put("a")]), [(0, Role::Own)]);
    }

    #[test]
    fn a_repetition_waits_for_the_first_request() {
        let mut first = command(vec![change("a", Some(0), true)]);
        first.idempotency = Some(Idempotency {
            caller: "c".into(),
            key: "k".into(),
            digest: [0; 32],
            subject: None,
            note: Vec::new(),
        });
        assert_eq!(roles(&[first.clone(), first]), [(0, Role::Own)]);
    }

    #[test]
    fn a_batch_ends_at_its_bytes() {
        let mut large = command(vec![change("a", None, true)]);
        large.size_bytes = 5 << 20;
        assert_eq!(roles(&[large, command(vec![change("b", None, true)])]), [(0, Role::Own)]);
    }
}
