//! Binds the rows of a batch, in the order in which both statements for commits begin each of their parts.

use crate::domain::checkpoints::planner::{Batch, CheckpointRow, SlotValue};

pub(super) type Query<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// 1-based ordinal of a row, as `with ordinality` counts.
pub(super) fn ordinal(index: usize) -> i64 {
    i64::try_from(index).expect("a batch has few rows") + 1
}

/// Twelve binds.
pub(super) fn bind_checkpoints<'q>(query: Query<'q>, batch: &'q Batch) -> Query<'q> {
    let all = &batch.checkpoints;
    let (firsts, lasts) = slot_ranges(batch);
    let text = |of: fn(&CheckpointRow) -> Option<&str>| all.iter().map(of).collect::<Vec<_>>();
    query
        .bind(all.iter().map(|it| ordinal(it.thread)).collect::<Vec<_>>())
        .bind(text(|it| Some(&it.ns)))
        .bind(text(|it| Some(&it.id)))
        .bind(text(|it| it.parent.as_deref()))
        .bind(all.iter().map(|it| &it.documents[..]).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.size_bytes).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.legacy).collect::<Vec<_>>())
        .bind(text(|it| it.run_id.as_deref()))
        .bind(all.iter().map(delta_channels_literal).collect::<Vec<_>>())
        .bind(all.iter().map(delta_keys_literal).collect::<Vec<_>>())
        .bind(firsts)
        .bind(lasts)
}

/// Three binds. The rank of a value that is carried is null, and of a channel without a value negative.
pub(super) fn bind_slots<'q>(query: Query<'q>, batch: &'q Batch) -> Query<'q> {
    let slots = &batch.slots;
    let rank = |value: &SlotValue| match value {
        SlotValue::New(rank) => Some(*rank),
        SlotValue::Empty => Some(-1),
        SlotValue::Carried(_) => None,
    };
    query
        .bind(slots.iter().map(|it| it.channel_key).collect::<Vec<_>>())
        .bind(slots.iter().map(|it| it.version_key).collect::<Vec<_>>())
        .bind(slots.iter().map(|it| rank(&it.value)).collect::<Vec<_>>())
}

/// Eight binds.
pub(super) fn bind_values<'q>(query: Query<'q>, batch: &'q Batch) -> Query<'q> {
    let all = &batch.values;
    query
        .bind(all.iter().map(|it| ordinal(it.thread)).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.rank).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.version_key).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.sealed.tag.as_str()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.sealed.size_bytes).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &it.sealed.digest[..]).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &it.sealed.body[..]).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.sealed.parts.as_deref()).collect::<Vec<_>>())
}

/// Twelve binds.
pub(super) fn bind_writes<'q>(query: Query<'q>, batch: &'q Batch) -> Query<'q> {
    let all = &batch.writes;
    query
        .bind(all.iter().map(|it| ordinal(it.thread)).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.ns.as_str()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.checkpoint_id.as_str()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.task_id.as_str()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.idx).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &*it.task_path).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.channel.as_str()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.sealed.tag.as_str()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.sealed.size_bytes).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &it.sealed.digest[..]).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &it.sealed.body[..]).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.sealed.parts.as_deref()).collect::<Vec<_>>())
}

/// Three binds.
pub(super) fn bind_chunks<'q>(query: Query<'q>, batch: &'q Batch) -> Query<'q> {
    let all = &batch.chunks;
    query
        .bind(all.iter().map(|it| ordinal(it.thread)).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &it.name[..]).collect::<Vec<_>>())
        .bind(all.iter().map(|it| &it.body[..]).collect::<Vec<_>>())
}

/// Slots of one checkpoint stand together: first and last position, 1-based; last < first for none.
fn slot_ranges(batch: &Batch) -> (Vec<i32>, Vec<i32>) {
    let mut firsts = vec![1; batch.checkpoints.len()];
    let mut lasts = vec![0; batch.checkpoints.len()];
    for (at, slot) in batch.slots.iter().enumerate() {
        let position = i32::try_from(at).expect("a batch has few slots") + 1;
        if lasts[slot.checkpoint] == 0 {
            firsts[slot.checkpoint] = position;
        }
        lasts[slot.checkpoint] = position;
    }
    (firsts, lasts)
}

/// Arrays of arrays do not pass through `unnest`: each inner one travels as an array literal.
fn delta_channels_literal(row: &CheckpointRow) -> Option<String> {
    let quoted = row
        .delta_channels
        .iter()
        .map(|channel| format!("\"{}\"", channel.replace('\\', "\\\\").replace('"', "\\\"")));
    literal(quoted.collect())
}

fn delta_keys_literal(row: &CheckpointRow) -> Option<String> {
    literal(row.delta_keys.iter().map(ToString::to_string).collect())
}

fn literal(elements: Vec<String>) -> Option<String> {
    (!elements.is_empty()).then(|| format!("{{{}}}", elements.join(",")))
}
