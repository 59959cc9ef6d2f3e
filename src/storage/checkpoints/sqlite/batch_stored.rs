//! Reads what is stored already of the checkpoints of a batch.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::batch::{Failure, LockedThread};
use crate::domain::checkpoints::planner::{Batch, SlotRow, SlotValue};
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::channel_map::Entry;
use crate::storage::sqlite::rows::RowSet;

/// A checkpoint's row as it is stored before the batch.
pub(in crate::storage) struct Stored {
    pub(in crate::storage) parent: Option<String>,
    pub(in crate::storage) map: Vec<Entry>,
    pub(in crate::storage) size_bytes: i64,
}

/// (thread of the batch, ns, id)
pub(in crate::storage) type Place<'a> = (usize, &'a str, &'a str);

/// The batch's own checkpoints and those that carried values come from, as stored.
pub(in crate::storage) async fn read_stored<'a>(
    write: &mut SqliteConnection,
    batch: &'a Batch,
    locked_threads: &[LockedThread],
) -> Result<HashMap<Place<'a>, Stored>, Failure> {
    let mut places: Vec<Place<'a>> = Vec::new();
    let mut seen = HashSet::new();
    for row in &batch.checkpoints {
        let locked = &locked_threads[row.thread];
        if !locked.exists || locked.refused.is_some() {
            continue;
        }
        let ids = [Some(row.id.as_str()), row.look_parent.as_deref()];
        let wanted = ids.into_iter().flatten().map(|id| (row.thread, row.ns.as_str(), id));
        places.extend(wanted.filter(|place| seen.insert(*place)));
    }
    if places.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted: RowSet = places
        .iter()
        .map(|(thread, ns, id)| {
            json!([batch.threads[*thread].tenant, locked_threads[*thread].thread_key, ns, id])
        })
        .collect();
    let rows = sqlx::query(
        "select j.key, c.parent_id, c.map, c.size_bytes from jsonb_each($1) j
         cross join checkpoints c on c.tenant = j.value ->> 0 and c.thread_key = j.value ->> 1
             and c.ns = j.value ->> 2 and c.checkpoint_id = j.value ->> 3",
    )
    .bind(wanted.json())
    .fetch_all(write)
    .await?;
    let mut stored = HashMap::with_capacity(rows.len());
    for row in rows {
        let at = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0);
        let map = channel_map::unpack(&row.try_get::<Vec<u8>, _>(2)?)?;
        let found = Stored { parent: row.try_get(1)?, map, size_bytes: row.try_get(3)? };
        stored.insert(places[at], found);
    }
    Ok(stored)
}

/// Values that an earlier, perhaps unanswered, put of the same checkpoint stored already: a retry adds nothing.
pub(super) async fn read_known(
    write: &mut SqliteConnection,
    batch: &Batch,
    locked_threads: &[LockedThread],
    stored: &HashMap<Place<'_>, Stored>,
) -> Result<HashMap<(usize, i32), i64>, Failure> {
    if stored.is_empty() {
        return Ok(HashMap::new());
    }
    let mut slots: HashMap<(usize, i32, usize), &SlotRow> = HashMap::new();
    for slot in &batch.slots {
        if let SlotValue::New(rank) = slot.value {
            slots.insert((batch.checkpoints[slot.checkpoint].thread, rank, slot.checkpoint), slot);
        }
    }
    let mut values = Vec::new();
    let mut wanted = RowSet::default();
    for value in &batch.values {
        let Some(at) = value.checkpoint else { continue };
        let row = &batch.checkpoints[at];
        let Some(own) = stored.get(&(row.thread, row.ns.as_str(), row.id.as_str())) else {
            continue;
        };
        // A value without a slot has no number in the map: the newest equal one is the same.
        let no = match slots.get(&(value.thread, value.rank, at)) {
            Some(slot) => {
                let same = |it: &&Entry| {
                    it.channel_key == slot.channel_key && it.version_key == slot.version_key
                };
                match own.map.iter().find(same) {
                    Some(entry) if entry.value_no != 0 => Some(entry.value_no),
                    _ => continue,
                }
            }
            None => None,
        };
        let digest = wanted.bytes(&value.sealed.digest);
        wanted.push(json!([
            batch.threads[value.thread].tenant,
            locked_threads[value.thread].scope_id,
            no,
            value.version_key,
            digest.0,
            digest.1,
            value.sealed.tag,
        ]));
        values.push((value.thread, value.rank));
    }
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let rows =
        sqlx::query(READ_KNOWN).bind(wanted.json()).bind(wanted.blob).fetch_all(write).await?;
    let mut known = HashMap::new();
    for row in rows {
        let at = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0);
        if let Some(no) = row.try_get(1)? {
            known.insert(values[at], no);
        }
    }
    Ok(known)
}

const READ_KNOWN: &str = "
select j.key, (
    select max(m.no) from manifests m
    where m.tenant = j.value ->> 0 and m.scope_id = j.value ->> 1
      and m.no between coalesce(j.value ->> 2, 0) and coalesce(j.value ->> 2, 4294967295)
      and m.version_key = j.value ->> 3 and m.digest = substr($2, j.value ->> 4, j.value ->> 5)
      and m.tag = j.value ->> 6)
from jsonb_each($1) j";
