//! Takes values, writes and bases from the rows of an answer.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::{PendingWrite, Value, View, WriteCall};
use crate::domain::checkpoints::history::Base;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::base_document::open_base;
use crate::storage::checkpoints::prepare::{channel_key, channels_of, version_key};
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::opening::{Chunks, StoredValue, left_out, open_value};

/// channel key → number of its value, 0 for none
pub(in crate::storage) type Map = HashMap<i64, i32>;

/// Values by channel name: names and versions are in the skeleton, the map has the keys. `row_of` answers the row of a number.
pub(super) fn values_in_order<'r>(
    (secret, scope_id): (&TenantSecret, i64),
    view: &View,
    map: &Map,
    (row_of, chunks): (&dyn Fn(i64) -> Option<&'r PgRow>, &Chunks),
) -> Result<Vec<(String, Value)>> {
    if map.values().all(|no| *no == 0) {
        return Ok(Vec::new());
    }
    let mut named = Vec::new();
    for (channel, version) in channels_of(&view.skeleton)? {
        let no = map.get(&channel_key(secret, &channel)).copied().unwrap_or(0);
        if no == 0 {
            continue;
        }
        let row = row_of(i64::from(no)).ok_or_else(|| {
            Error::Integrity("a checkpoint names a value that is not there".into())
        })?;
        // Only what is encrypted is bound to its version.
        let bound =
            secret.cipher().map_or(0, |_| version_key(secret, &view.ns, &channel, &version));
        let value = match row.get::<Option<&str>, _>("c") {
            Some(size) => left_out(row.get("tag"), size.parse().unwrap_or_default())?,
            None => value_of(secret, scope_id, ValueRow::Version(bound), (row, chunks))?,
        };
        named.push((channel, value));
    }
    Ok(named)
}

pub(super) fn value_of(
    secret: &TenantSecret,
    scope_id: i64,
    at: ValueRow<'_>,
    (row, chunks): (&PgRow, &Chunks),
) -> Result<Value> {
    let stored = StoredValue {
        scope_id,
        row: at,
        tag: row.get("tag"),
        size_bytes: row.get("size_bytes"),
        digest: row.get("digest"),
        body: row.get("body"),
        parts: row.get("parts"),
    };
    open_value(secret, &stored, chunks)
}

pub(super) fn base_of(secret: &TenantSecret, at: CheckpointAt<'_>, row: &PgRow) -> Result<Base> {
    open_base(secret, at, row.get("b"), row.get("body"))
}

/// A write with its place in the order (`task_path`, `task_id`, `idx`), all by bytes.
pub(in crate::storage) struct OrderedWrite {
    place: (String, String, i64),
    pub(in crate::storage) channel: String,
    pub(in crate::storage) value: Value,
    pub(in crate::storage) call: Option<WriteCall>,
}

impl OrderedWrite {
    /// Reads a write of a checkpoint.
    pub(in crate::storage) fn read(
        secret: &TenantSecret,
        at: CheckpointAt<'_>,
        chunks: &Chunks,
        row: &PgRow,
    ) -> Result<Self> {
        let write = ValueRow::Write {
            ns: at.ns,
            checkpoint_id: at.id,
            task_id: row.get("a"),
            idx: row.get("number"),
            channel: row.get("b"),
        };
        Ok(Self {
            place: (row.get("c"), row.get("a"), row.get("number")),
            channel: row.get("b"),
            value: value_of(secret, at.scope_id, write, (row, chunks))?,
            call: None,
        })
    }

    /// With the call that it came with, where the row tells one.
    pub(in crate::storage) fn with_call(mut self, row: &PgRow) -> Self {
        let first = |it: Option<Vec<i64>>| it.and_then(|it| it.first().copied());
        let writer: Option<Vec<String>> = row.get("names");
        let writer = writer.and_then(|it| it.into_iter().next());
        self.call = WriteCall::of_row(self.place.2, writer, first(row.get("keys")));
        self
    }
}

pub(in crate::storage) fn in_order(mut writes: Vec<OrderedWrite>) -> Vec<PendingWrite> {
    writes.sort_by(|a, b| a.place.cmp(&b.place));
    let pending = writes.into_iter().map(|it| PendingWrite {
        task_id: it.place.1,
        channel: it.channel,
        value: it.value,
        call: it.call,
    });
    pending.collect()
}
