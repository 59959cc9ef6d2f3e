//! Builds the lean statement. It writes a batch whose threads have a key, scope and epoch that this process knows. The statement of
//! `batch_sql.rs` also creates threads, replaces checkpoints and looks for carried values.
//!
//! **Invariants:**
//! - All conditions stand in `gate`, which locks the rows of scopes and threads in (tenant, scope) order, and in the insert of the
//!   checkpoint. Everything else selects from `done`, so a member that fails a condition writes nothing, and the others are written.
//! - The insert of a checkpoint that is there adds no row: the primary key proves that the id is absent, also after a wait for a lock.
//! - Numbers of values come from the locked row of the scope. Numbers of carried values come from the parent's row: with the epoch that
//!   is known nothing was removed from the scope since the snapshot of this statement was taken, because epochs only grow.
//! - Commits of parallel subgraphs wait for each other's lock and do not fail each other: none of the conditions is about what the
//!   other one writes.

use std::fmt::Write as _;

/// Rows are found by their whole primary key: a plain equality of another indexed column could be taken for the way to them.
const GATE: &str = r"
with t as materialized (
    select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
        $7::bigint[], $8::text[], $9::boolean[], $10::text[], $11::bigint[], $12::text[], $13::text[],
        $14::text[], $15::integer[], $16::bigint[], $17::boolean[])
    with ordinality as t (tenant, thread_id, thread_key, scope_id, epoch, want_generation, want_fence,
        want_owner, is_sealed, seal_owner, last_step, graph_id, assistant_id, user_id, value_count,
        value_bytes, puts, ord)
), gate as materialized (
    select t.*, s.next_no, x.generation
    from (select * from t order by tenant, scope_id) t
    cross join lateral (select s.next_no from scopes s
        where s.tenant = t.tenant and s.scope_id = t.scope_id and s.epoch = t.epoch
        limit 1 for no key update) s
    cross join lateral (select x.generation from threads x
        where x.tenant = t.tenant and x.thread_id = t.thread_id
            and (x.thread_key = t.thread_key) is true and (x.scope_id = t.scope_id) is true
            and (t.want_owner is null or x.owner = t.want_owner)
            and (t.want_generation is null or x.generation = t.want_generation)
            and case when t.want_fence is null then coalesce(x.lease_expires_at, 0) <=
                    (extract(epoch from clock_timestamp()) * 1000000)::bigint
                else x.fence = t.want_fence end
            and (not t.is_sealed or x.owner is not distinct from t.seal_owner)
        limit 1 for no key update) x
)
";
const THREAD_BINDS: usize = 18;

/// A channel that the parent does not have makes its number null: then the full statement looks elsewhere.
const CHECKPOINTS: &str = r"
, c as materialized (
    select c.*, g.tenant, g.thread_key, map.*
    from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::integer[],
        $7::boolean[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::integer[])
    as c (thread, ns, id, parent, documents, size_bytes, legacy, run_id, delta_channels, delta_keys,
        slot_first, slot_last)
    join gate g on g.ord = c.thread
    left join lateral (select p.version_keys, p.value_nos from checkpoints p
        where p.tenant = g.tenant and p.thread_key = g.thread_key and p.ns = c.ns
            and p.checkpoint_id = c.parent limit 1) p on true
    cross join lateral (
        select coalesce(array_agg(s.channel_key order by s.pos), '{}') as channel_keys,
            coalesce(array_agg(s.version_key order by s.pos), '{}') as version_keys,
            coalesce(array_agg(case when s.rank < 0 then 0 when s.rank >= 0 then g.next_no + s.rank
                else p.value_nos[array_position(p.version_keys, s.version_key)] end
                order by s.pos), '{}') as value_nos
        from unnest(($13::bigint[])[c.slot_first:c.slot_last],
            ($14::bigint[])[c.slot_first:c.slot_last], ($15::integer[])[c.slot_first:c.slot_last])
        with ordinality as s (channel_key, version_key, rank, pos)
    ) map
), new_checkpoints as (
    insert into checkpoints as k (tenant, thread_key, ns, checkpoint_id, parent_id, channel_keys,
        version_keys, value_nos, documents, size_bytes, legacy, run_id, delta_channels, delta_keys)
    select tenant, thread_key, ns, id, parent, channel_keys, version_keys, value_nos, documents,
        size_bytes, legacy, run_id, delta_channels::text[], delta_keys::bigint[]
    from c where array_position(value_nos, null) is null
    on conflict do nothing
    returning k.tenant, k.thread_key, k.size_bytes
), done as materialized (
    select g.*, (n.tenant is not null)::integer as checkpoints, coalesce(n.size_bytes, 0) as put_bytes
    from gate g left join new_checkpoints n on n.thread_key = g.thread_key and n.tenant = g.tenant
    where n.tenant is not null or not g.puts
)
";
const CHECKPOINT_BINDS: usize = 15;

const NO_CHECKPOINTS: &str = r"
, done as materialized (select g.*, 0 as checkpoints, 0 as put_bytes from gate g)
";

const VALUES: &str = r"
, new_manifests as (
    insert into manifests (tenant, scope_id, no, version_key, tag, size_bytes, digest, body, parts)
    select d.tenant, d.scope_id, d.next_no + v.rank, v.version_key, v.tag, v.size_bytes, v.digest,
        v.body, v.parts
    from unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::integer[], $6::bytea[],
        $7::bytea[], $8::bytea[])
    as v (thread, rank, version_key, tag, size_bytes, digest, body, parts)
    join done d on d.ord = v.thread
)
";
const VALUE_BINDS: usize = 8;

const CHUNKS: &str = r"
, new_chunks as (
    insert into chunks (tenant, scope_id, name, body)
    select d.tenant, d.scope_id, k.name, k.body
    from unnest($1::bigint[], $2::bytea[], $3::bytea[]) as k (thread, name, body)
    join done d on d.ord = k.thread
    on conflict do nothing
)
";
const CHUNK_BINDS: usize = 3;

const WRITES: &str = r"
, new_writes as (
    insert into writes as k (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel,
        tag, size_bytes, digest, body, parts)
    select d.tenant, d.thread_key, w.ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel,
        w.tag, w.size_bytes, w.digest, w.body, w.parts
    from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[],
        $8::text[], $9::integer[], $10::bytea[], $11::bytea[], $12::bytea[])
    as w (thread, ns, checkpoint_id, task_id, idx, task_path, channel, tag, size_bytes, digest, body,
        parts)
    join done d on d.ord = w.thread
    on conflict do nothing
    returning k.tenant, k.thread_key, k.size_bytes
)
";
const WRITE_BINDS: usize = 12;

const WRITTEN: &str = r"
    left join lateral (select sum(n.size_bytes)::bigint as size_bytes from new_writes n
        where n.thread_key = d.thread_key and n.tenant = d.tenant) w on true";
const NOTHING_WRITTEN: &str = "cross join (select 0::bigint as size_bytes) w";

/// Conditions as in the batch statement: no plain equalities, for the planner.
const FINISH: &str = r"
, touched_threads as (
    update threads x set updated_at = greatest(x.updated_at + 1, $18),
        last_step = coalesce(d.last_step, x.last_step),
        checkpoint_count = x.checkpoint_count + d.checkpoints,
        size_bytes = x.size_bytes + d.value_bytes + d.put_bytes + coalesce(w.size_bytes, 0),
        graph_id = coalesce(d.graph_id, x.graph_id),
        assistant_id = coalesce(d.assistant_id, x.assistant_id),
        user_id = coalesce(d.user_id, x.user_id)
    from done d {written}
    where x.tenant = any (array[d.tenant]) and x.thread_id = any (array[d.thread_id])
), touched_scopes as (
    update scopes s set next_no = s.next_no + d.value_count
    from done d
    where d.value_count > 0 and s.tenant = any (array[d.tenant])
        and s.scope_id = any (array[d.scope_id])
)
select d.generation from t left join done d on d.ord = t.ord order by t.ord
";

/// What a batch has: parts that it does not need are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is one part of the statement, none a state")]
pub struct LeanShape {
    pub checkpoints: bool,
    pub values: bool,
    pub chunks: bool,
    pub writes: bool,
}

/// Binds follow in the order of the parts.
pub fn assemble(shape: LeanShape) -> &'static str {
    let mut text = GATE.to_owned();
    let mut bound = THREAD_BINDS;
    if shape.checkpoints {
        text += &numbered_from(CHECKPOINTS, bound);
        bound += CHECKPOINT_BINDS;
    } else {
        text += NO_CHECKPOINTS;
    }
    let rest = [
        (shape.values, VALUES, VALUE_BINDS),
        (shape.chunks, CHUNKS, CHUNK_BINDS),
        (shape.writes, WRITES, WRITE_BINDS),
    ];
    for (_, part, binds) in rest.into_iter().filter(|it| it.0) {
        text += &numbered_from(part, bound);
        bound += binds;
    }
    text += &FINISH.replace("{written}", if shape.writes { WRITTEN } else { NOTHING_WRITTEN });
    Box::leak(text.into_boxed_str())
}

/// The text with the numbers of its binds raised.
fn numbered_from(part: &str, bound: usize) -> String {
    let mut pieces = part.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|it: char| !it.is_ascii_digit()).unwrap_or(piece.len());
        let number: usize =
            piece[..end].parse().expect("a number follows each $ of these constants");
        let _ = write!(text, "${}{}", number + bound, &piece[end..]);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn binds_are_numbered_through_in_every_form() {
        for form in 0..16_u8 {
            let has = |bit: u8| form & bit != 0;
            let (checkpoints, values, chunks, writes) = (has(1), has(2), has(4), has(8));
            let text = assemble(LeanShape { checkpoints, values, chunks, writes });
            let parts = [
                (checkpoints, CHECKPOINT_BINDS),
                (values, VALUE_BINDS),
                (chunks, CHUNK_BINDS),
                (writes, WRITE_BINDS),
            ];
            let bound: usize = parts.iter().filter(|it| it.0).map(|it| it.1).sum();
            let numbers = text.split('$').skip(1).map(|it| {
                let end = it.find(|it: char| !it.is_ascii_digit()).unwrap_or(it.len());
                it[..end].parse().unwrap()
            });
            let numbers: BTreeSet<usize> = numbers.collect();
            assert_eq!(numbers, (1..=THREAD_BINDS + bound).collect(), "{text}");
        }
    }
}
