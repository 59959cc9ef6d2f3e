//! Finds the value that each channel of the batch's checkpoints shows: new ones get numbers, carried ones are looked up.

use std::collections::HashMap;

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::batch::{Changes, Failure, LockedThread};
use super::batch_stored::{Place, Stored, read_known, read_stored};
use crate::domain::checkpoints::planner::{Batch, CheckpointRow, SlotRow, SlotValue, ValueRow};
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::channel_map::Entry;

struct Resolver<'a> {
    batch: &'a Batch,
    stored: HashMap<Place<'a>, Stored>,
    /// (thread, rank) → number in the scope
    numbers: HashMap<(usize, i32), i64>,
    /// Maps of the batch's checkpoints so far.
    maps: Vec<Vec<Entry>>,
}

pub(in crate::storage) async fn resolve(
    write: &mut SqliteConnection,
    batch: &Batch,
    locked_threads: &mut [LockedThread],
    changes: &mut Changes,
) -> Result<(), Failure> {
    if batch.checkpoints.is_empty() {
        return Ok(());
    }
    let stored = read_stored(write, batch, locked_threads).await?;
    let known = read_known(write, batch, locked_threads, &stored).await?;
    let mut resolver = Resolver { batch, stored, numbers: HashMap::new(), maps: Vec::new() };
    for value in &batch.values {
        let locked = &mut locked_threads[value.thread];
        let place = (value.thread, value.rank);
        if locked.refused.is_some() {
            continue;
        }
        if let Some(&no) = known.get(&place) {
            resolver.numbers.insert(place, no);
            continue;
        }
        let no = locked.next_no + i64::from(value.rank);
        resolver.numbers.insert(place, no);
        locked.bytes_added += i64::from(value.sealed.size_bytes);
        let tenant = batch.threads[value.thread].tenant.as_str();
        changes.manifest((tenant, locked.scope_id), no, value.version_key, &value.sealed);
    }
    for (thread, locked) in batch.threads.iter().zip(locked_threads.iter_mut()) {
        locked.next_no += i64::from(thread.value_count);
    }
    let mut slots: Vec<Vec<&SlotRow>> = vec![Vec::new(); batch.checkpoints.len()];
    for slot in &batch.slots {
        slots[slot.checkpoint].push(slot);
    }
    for (at, row) in batch.checkpoints.iter().enumerate() {
        let locked = &mut locked_threads[row.thread];
        let map = if locked.refused.is_some() {
            Vec::new()
        } else {
            resolver.map(write, at, &slots[at], locked).await?
        };
        if locked.refused.is_none() {
            resolver.push(row, &map, locked, changes);
        }
        resolver.maps.push(map);
    }
    Ok(())
}

impl Resolver<'_> {
    async fn map(
        &self,
        write: &mut SqliteConnection,
        at: usize,
        slots: &[&SlotRow],
        locked: &LockedThread,
    ) -> Result<Vec<Entry>, Failure> {
        let row = &self.batch.checkpoints[at];
        let mut map = Vec::with_capacity(slots.len());
        let mut open = Vec::new();
        for slot in slots {
            let found = match &slot.value {
                SlotValue::New(rank) => self.numbers.get(&(row.thread, *rank)).copied(),
                SlotValue::Empty => Some(0),
                SlotValue::Carried(digest) => {
                    let named = match digest {
                        Some(digest) => self.newest(write, at, locked, slot, Some(digest)).await?,
                        None => None,
                    };
                    named.or_else(|| self.of_parent(row, slot))
                }
            };
            if found.is_none() {
                open.push(map.len());
            }
            map.push(Entry {
                channel_key: slot.channel_key,
                version_key: slot.version_key,
                value_no: u32::try_from(found.unwrap_or(0)).unwrap_or(0),
            });
        }
        if open.is_empty() {
            return Ok(map);
        }
        let sibling = self.sibling(write, at, &map, locked).await?;
        for index in open {
            let no = match &sibling {
                Some(sibling) => i64::from(sibling[index].value_no),
                None => self.newest(write, at, locked, slots[index], None).await?.unwrap_or(0),
            };
            map[index].value_no = u32::try_from(no).unwrap_or(0);
        }
        Ok(map)
    }

    /// The value of the same version in the map of the checkpoint that carried values come from.
    fn of_parent(&self, row: &CheckpointRow, slot: &SlotRow) -> Option<i64> {
        let parent = row.look_parent.as_deref()?;
        let stored = self.stored.get(&(row.thread, row.ns.as_str(), parent))?;
        let same =
            |it: &&Entry| it.channel_key == slot.channel_key && it.version_key == slot.version_key;
        stored.map.iter().find(same).map(|it| i64::from(it.value_no))
    }

    /// The map of a checkpoint with the same parent and equal versions of all channels: the one this is a copy of.
    async fn sibling(
        &self,
        write: &mut SqliteConnection,
        at: usize,
        own: &[Entry],
        locked: &LockedThread,
    ) -> Result<Option<Vec<Entry>>, Failure> {
        let row = &self.batch.checkpoints[at];
        let earlier = self.batch.checkpoints.iter().zip(&self.maps).filter(|(it, _)| {
            it.thread == row.thread
                && it.ns == row.ns
                && it.parent == row.look_parent
                && it.id != row.id
        });
        let mut siblings: HashMap<String, Vec<Entry>> = HashMap::new();
        if locked.exists {
            let rows = sqlx::query(
                "select checkpoint_id, map from checkpoints
                 where tenant = $1 and thread_key = $2 and ns = $3 and parent_id is $4 and checkpoint_id <> $5",
            )
            .bind(&self.batch.threads[row.thread].tenant)
            .bind(locked.thread_key)
            .bind(&row.ns)
            .bind(&row.look_parent)
            .bind(&row.id)
            .fetch_all(write)
            .await?;
            for found in rows {
                let map = channel_map::unpack(&found.try_get::<Vec<u8>, _>(1)?)?;
                siblings.insert(found.try_get(0)?, map);
            }
        }
        siblings.extend(earlier.map(|(it, map)| (it.id.clone(), map.clone())));
        let key = |it: &Entry| (it.channel_key, it.version_key);
        let equal = |map: &[Entry]| map.iter().map(key).eq(own.iter().map(key));
        let equals = siblings.into_iter().filter(|(_, map)| equal(map));
        Ok(equals.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, map)| map))
    }

    /// The newest value of the scope for this channel and version, perhaps with one digest only.
    async fn newest(
        &self,
        write: &mut SqliteConnection,
        at: usize,
        locked: &LockedThread,
        slot: &SlotRow,
        digest: Option<&[u8; 16]>,
    ) -> Result<Option<i64>, Failure> {
        let row = &self.batch.checkpoints[at];
        let fits = |value: &&ValueRow| {
            value.thread == row.thread
                && value.version_key == slot.version_key
                && digest.is_none_or(|it| *it == value.sealed.digest)
                && value.checkpoint.is_some_and(|it| it <= at)
        };
        let here = self.batch.values.iter().filter(fits);
        let here = here.filter_map(|it| self.numbers.get(&(it.thread, it.rank)).copied()).max();
        if !locked.exists || here.is_some() {
            return Ok(here);
        }
        let found = sqlx::query(
            "select no from manifests
             where tenant = $1 and scope_id = $2 and version_key = $3 and ($4 is null or digest = $4)
             order by no desc limit 1",
        )
        .bind(&self.batch.threads[row.thread].tenant)
        .bind(locked.scope_id)
        .bind(slot.version_key)
        .bind(digest.map(|it| it.to_vec()))
        .fetch_optional(write)
        .await?;
        Ok(found.map(|row| row.try_get(0)).transpose()?)
    }

    fn push(
        &self,
        row: &CheckpointRow,
        map: &[Entry],
        locked: &mut LockedThread,
        changes: &mut Changes,
    ) {
        let stored = self.stored.get(&(row.thread, row.ns.as_str(), row.id.as_str()));
        let parent = match stored {
            _ if row.parent.as_ref() != Some(&row.id) => row.parent.clone(),
            Some(stored) => stored.parent.clone(),
            None => None,
        };
        locked.checkpoints_added += i64::from(stored.is_none());
        locked.bytes_added += i64::from(row.size_bytes) - stored.map_or(0, |it| it.size_bytes);
        let rows = &mut changes.checkpoints;
        let map = rows.bytes(&channel_map::pack(map));
        let documents = rows.bytes(&row.documents);
        rows.push(json!([
            self.batch.threads[row.thread].tenant,
            locked.thread_key,
            row.ns,
            row.id,
            parent,
            map.0,
            map.1,
            documents.0,
            documents.1,
            row.size_bytes,
            i32::from(row.legacy),
            row.run_id,
            row.delta_channels,
        ]));
    }
}
