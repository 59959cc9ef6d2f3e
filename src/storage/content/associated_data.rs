//! Defines the associated data (AAD) that binds each envelope to its content scope and row. An envelope that was moved to another row does
//! not open there.

use crate::content::cipher::AssociatedData;
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;

/// A checkpoint, by what its threads have in common: copies of one owner share the scope and the rows' contents.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointAt<'a> {
    pub scope_id: i64,
    pub ns: &'a str,
    pub id: &'a str,
}

impl CheckpointAt<'_> {
    /// Binds skeleton and metadata.
    pub fn documents<R>(self, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
        let row = [self.ns.as_bytes(), self.id.as_bytes()];
        act(AssociatedData { scope_id: self.scope_id, noun: "documents", row: &row })
    }

    /// Binds what it shows of a channel whose ancestors were removed.
    pub fn base<R>(self, channel: &str, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
        let row = [self.ns.as_bytes(), self.id.as_bytes(), channel.as_bytes()];
        act(AssociatedData { scope_id: self.scope_id, noun: "base", row: &row })
    }
}

/// The row of a value.
#[derive(Debug, Clone, Copy)]
pub enum ValueRow<'a> {
    /// Of a checkpoint: the key of namespace, channel and version. Its number is given by the statement that writes it, so it
    /// cannot be bound.
    Version(i64),
    Write {
        ns: &'a str,
        checkpoint_id: &'a str,
        task_id: &'a str,
        idx: i64,
        channel: &'a str,
    },
    /// Of the store: [`item_place`].
    Item(i64),
    /// Of a session, by the number that the entry was made with. Where it stands in its stream is not bound.
    Entry(i64),
}

/// An item's namespace and key, in a form that associated data can hold.
pub fn item_place(secret: &TenantSecret, namespace: &[u8], key: &[u8]) -> i64 {
    secret.tuple_key(&[b"item", namespace, key])
}

impl ValueRow<'_> {
    /// Binds a value with this tag and digest.
    pub fn aad<R>(
        self,
        scope_id: i64,
        (tag, digest): (&str, &[u8]),
        act: impl FnOnce(AssociatedData<'_>) -> R,
    ) -> R {
        match self {
            Self::Version(key) => {
                let key = key.to_le_bytes();
                let row: [&[u8]; 3] = [&key, tag.as_bytes(), digest];
                act(AssociatedData { scope_id, noun: "value", row: &row })
            }
            Self::Item(place) => {
                let place = place.to_le_bytes();
                let row: [&[u8]; 3] = [&place, tag.as_bytes(), digest];
                act(AssociatedData { scope_id, noun: "item", row: &row })
            }
            Self::Entry(no) => {
                let no = no.to_le_bytes();
                let row: [&[u8]; 3] = [&no, tag.as_bytes(), digest];
                act(AssociatedData { scope_id, noun: "entry", row: &row })
            }
            Self::Write { ns, checkpoint_id, task_id, idx, channel } => {
                let idx = idx.to_le_bytes();
                let row = [
                    ns.as_bytes(),
                    checkpoint_id.as_bytes(),
                    task_id.as_bytes(),
                    &idx,
                    channel.as_bytes(),
                    tag.as_bytes(),
                    digest,
                ];
                act(AssociatedData { scope_id, noun: "write", row: &row })
            }
        }
    }
}

/// Binds a chunk with content. Nodes are not sealed: they hold names only, and statements read them in place.
pub fn of_chunk<R>(scope_id: i64, name: &Name, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
    act(AssociatedData { scope_id, noun: "chunk", row: &[name] })
}
