//! Builds the text of the batch statement, in the order in which its parts run.
//!
//! **Invariant:** rows of scopes and threads are locked first, in (tenant, scope) order. Everything else selects from the locked rows. A
//! mistake of a caller comes back as a row, never as an SQL error.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;

/// Threads are created by it when they are absent; costs more, so it runs only for threads that this process has
/// not seen. What is left of a deleted thread goes on in the new one, but for a caller with nothing but its own: to that
/// one, what another left was never there.
const CREATE: &str = r"
, born as (
    insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at,
        updated_at, last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id,
        mac, alias)
    select t.tenant, t.thread_id, t.fresh_key, t.fresh_scope,
        coalesce(d.generation, t.fresh_generation), coalesce(d.fence, 0), $17, $17, t.last_step,
        t.fresh_checkpoints, t.fresh_bytes, t.owner, t.graph_id, t.assistant_id, t.user_id, t.fresh_mac,
        t.fresh_alias
    from t left join lateral (select d.generation, d.fence from thread_tombstones d
        where d.tenant = t.tenant and d.thread_id = t.thread_id
            and (t.want_owner is null or d.owner = t.want_owner) limit 1) d on true
    where not exists (select from threads x
        where x.tenant = t.tenant and x.thread_id = t.thread_id offset 0)
      and (d.generation is null or t.want_generation is null or t.want_generation = d.generation)
      and (t.want_fence is null or t.want_fence = coalesce(d.fence, 0))
      and t.want_epoch is null and coalesce(t.seal_scope = t.fresh_scope, true)
      and t.fresh_key is not null
    order by t.ord
    on conflict do nothing
    returning tenant, thread_id, thread_key, scope_id, generation, thread_key as epoch
), born_scope as (
    insert into scopes (tenant, scope_id, epoch, next_no)
    select b.tenant, b.scope_id, b.epoch, 1 + t.value_count
    from born b join t on t.tenant = b.tenant and t.thread_id = b.thread_id
), born_holder as (
    insert into scope_holders (tenant, scope_id, kind, holder)
    select tenant, scope_id, 'thread', thread_key::text from born
), tombstones as (
    delete from thread_tombstones d using born b
    where d.tenant = any (array[b.tenant]) and d.thread_id = any (array[b.thread_id])
)
";

const CREATE_NOTHING: &str = r"
, born as (
    select tenant, thread_id, thread_key, scope_id, generation, thread_key as epoch from threads
    where false
)
";

/// The inputs: one row per thread. `seal_scope` is the scope that its content is encrypted for, null without encryption;
/// negative where the thread was seen with it, so that only one that was made up creates a thread. `seal_key` and `seal_owner` are those
/// that the thread's row had when its MAC was checked; without them it is checked before anything is written.
const THREADS: &str = r"
with t as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[],
        $14::integer[], $15::bigint[], $16::bigint[], $61::text[], $62::bigint[], $63::bigint[],
        $64::text[], $65::bytea[], $66::text[])
    with ordinality as t (tenant, thread_id, owner, want_generation, want_fence, want_epoch, fresh_key,
        fresh_scope, fresh_generation, last_step, graph_id, assistant_id, user_id, value_count,
        fresh_checkpoints, fresh_bytes, want_owner, seal_scope, seal_key, seal_owner, fresh_mac, fresh_alias,
        ord)
)
";

/// `seen` is the epoch in this statement's snapshot, `scope_lock` the one after the lock was had: where they
/// differ, content was removed in between and the snapshot must not be used.
///
/// Whose the thread is comes before everything that would tell something of it.
///
/// Threads of one scope (copies of each other) number their values one after the other.
///
/// Look-ups stand in lateral subqueries with a limit, here and below: each is planned by itself. The plan is made once per
/// connection, perhaps while the tables are empty; it finds rows by their whole primary key whatever the statistics say, because no
/// other index can be used for it (`migrations/postgres/0026_index_choice.sql`).
const GATE: &str = r"
, seen as materialized (
    select t.ord, t.tenant, t.thread_id, x.thread_key, x.scope_id, s.epoch, t.want_generation,
        t.want_fence, t.want_epoch, t.want_owner, abs(t.seal_scope) as seal_scope, t.seal_key, t.seal_owner
    from t
    cross join lateral (select x.thread_key, x.scope_id from threads x
        where x.tenant = t.tenant and x.thread_id = t.thread_id limit 1) x
    cross join lateral (select s.epoch from scopes s
        where s.tenant = t.tenant and s.scope_id = x.scope_id limit 1) s
    order by t.tenant, x.scope_id
), scope_lock as materialized (
    select seen.ord, x.tenant, x.thread_id, x.thread_key, x.scope_id, x.generation, x.fence, x.owner, x.mac,
        s.epoch, s.next_no,
        case when s.epoch <> seen.epoch or x.thread_key <> seen.thread_key then 'raced'
             when seen.want_owner is distinct from x.owner and seen.want_owner is not null then 'taken'
             when seen.want_generation <> x.generation then 'generation'
             when seen.want_fence is null and x.lease_expires_at >
                 (extract(epoch from clock_timestamp()) * 1000000)::bigint then 'held'
             when seen.want_fence <> x.fence then 'fence'
             when seen.seal_scope is not null and (seen.seal_scope <> x.scope_id
                 or seen.seal_key is distinct from x.thread_key
                 or seen.seal_owner is distinct from x.owner) then 'scope'
             when seen.want_epoch <> s.epoch then 'epoch'
             else 'ok' end as state
    from seen
    cross join lateral (select s.tenant, s.scope_id, s.epoch, s.next_no from scopes s
        where s.tenant = seen.tenant and s.scope_id = seen.scope_id limit 1 for no key update) s
    cross join lateral (select x.* from threads x
        where x.tenant = seen.tenant and x.thread_id = seen.thread_id limit 1 for no key update) x
), ok as materialized (
    select g.ord, g.tenant, g.thread_key, g.scope_id,
        g.next_no + (sum(t.value_count) over (partition by g.tenant, g.scope_id order by g.ord)
            - t.value_count)::integer as base
    from scope_lock g join t on t.ord = g.ord where g.state = 'ok'
    union all
    select t.ord, b.tenant, b.thread_key, b.scope_id, 1
    from born b join t on t.tenant = b.tenant and t.thread_id = b.thread_id
)
";

/// Checkpoints; `old_…` is the row that a repeated put replaces.
const CHECKPOINT_ROWS: &str = r"
, cp as materialized (
    select c.*, ok.tenant, ok.thread_key, ok.scope_id, ok.base, k.checkpoint_id is not null as replaces,
        k.parent_id as old_parent, k.version_keys as old_versions, k.value_nos as old_nos,
        coalesce(k.size_bytes, 0) as old_size
    from unnest($18::bigint[], $19::text[], $20::text[], $21::text[], $30::text[], $22::bytea[],
        $23::integer[], $24::boolean[], $25::text[], $26::text[], $27::text[], $28::integer[],
        $29::integer[])
    with ordinality as c (thread, ns, id, parent, look_parent, documents, size_bytes, legacy, run_id,
        delta_channels, delta_keys, slot_first, slot_last, cp)
    join ok on ok.ord = c.thread
    left join lateral (select k.checkpoint_id, k.parent_id, k.version_keys, k.value_nos, k.size_bytes
        from checkpoints k where k.tenant = ok.tenant and k.thread_key = ok.thread_key
            and k.ns = c.ns and k.checkpoint_id = c.id limit 1) k on true
)
";

/// Values of checkpoints.
const VALUES: &str = r"
, v as materialized (
    select v.*, ok.tenant, ok.scope_id, ok.thread_key, ok.base + v.rank as no,
        {reused} as reused
    from unnest($31::bigint[], $32::integer[], $33::bigint[], $34::text[], $35::integer[], $36::bytea[],
        $37::bytea[], $38::bytea[], $39::bigint[])
    as v (thread, rank, version_key, tag, size_bytes, digest, body, parts, cp)
    join ok on ok.ord = v.thread
)
, new_manifests as (
    insert into manifests (tenant, scope_id, no, version_key, tag, size_bytes, digest, body, parts)
    select tenant, scope_id, no, version_key, tag, size_bytes, digest, body, parts
    from v where reused is null
)
";

/// What a repeated put sends again is not stored again: the value that the replaced row shows, or, for a
/// value that no map shows, an equal one of the same version.
const REUSED: &str = "case when v.cp is not null then (
            select coalesce(
                (select m.no from manifests m where m.tenant = cp.tenant and m.scope_id = cp.scope_id
                    and m.no = cp.old_nos[array_position(cp.old_versions, v.version_key)]
                    and m.digest = v.digest and m.tag = v.tag limit 1),
                (select max(m.no) from manifests m where m.tenant = cp.tenant
                    and m.scope_id = cp.scope_id and m.version_key = v.version_key
                    and m.digest = v.digest and m.tag = v.tag))
            from cp where cp.cp = v.cp and cp.replaces) end";

/// Chunks that the scope may not have. Those of values that turn out not to be needed stay until the next removal.
const CHUNKS: &str = r"
, new_chunks as (
    insert into chunks (tenant, scope_id, name, body)
    select distinct on (ok.tenant, ok.scope_id, k.name) ok.tenant, ok.scope_id, k.name, k.body
    from unnest($58::bigint[], $59::bytea[], $60::bytea[]) as k (thread, name, body)
    join ok on ok.ord = k.thread
    on conflict do nothing
)
";

/// The map of each checkpoint: new values by number, carried ones by digest, parent, sibling, newest.
const CHECKPOINTS: &str = r"
, new_checkpoints as (
    insert into checkpoints as k (tenant, thread_key, ns, checkpoint_id, parent_id, channel_keys,
        version_keys, value_nos, documents, size_bytes, legacy, run_id, delta_channels, delta_keys)
    select cp.tenant, cp.thread_key, cp.ns, cp.id,
        case when cp.parent = cp.id then cp.old_parent else cp.parent end,
        coalesce(map.channel_keys, '{}'), coalesce(map.version_keys, '{}'),
        coalesce(map.value_nos, '{}'), cp.documents, cp.size_bytes, cp.legacy, cp.run_id,
        cp.delta_channels::text[], cp.delta_keys::bigint[]
    from cp
    left join lateral (select p.version_keys, p.value_nos from checkpoints p
        where p.tenant = cp.tenant and p.thread_key = cp.thread_key and p.ns = cp.ns
            and p.checkpoint_id = cp.look_parent limit 1) p on true
    left join lateral (
        select array_agg(s.channel_key order by s.pos) as channel_keys,
            array_agg(s.version_key order by s.pos) as version_keys,
            array_agg(coalesce(
                case when s.rank = -1 then 0
                     when s.rank >= 0 and cp.replaces then coalesce({shown}, cp.base + s.rank)
                     when s.rank >= 0 then cp.base + s.rank end,
                case when s.digest is not null then (
                    select max(m.no) from manifests m where m.tenant = cp.tenant
                        and m.scope_id = cp.scope_id and m.version_key = s.version_key
                        and m.digest = s.digest) end,
                p.value_nos[array_position(p.version_keys, s.version_key)],
                (select b.value_nos[array_position(b.version_keys, s.version_key)]
                    from checkpoints b where b.tenant = cp.tenant and b.thread_key = cp.thread_key
                        and b.ns = cp.ns and b.parent_id is not distinct from cp.look_parent
                        and b.checkpoint_id <> cp.id
                        and b.version_keys = ($41::bigint[])[cp.slot_first:cp.slot_last]
                    order by b.checkpoint_id desc limit 1),
                (select max(m.no) from manifests m where m.tenant = cp.tenant
                    and m.scope_id = cp.scope_id and m.version_key = s.version_key),
                0) order by s.pos) as value_nos
        from unnest(($40::bigint[])[cp.slot_first:cp.slot_last],
            ($41::bigint[])[cp.slot_first:cp.slot_last], ($42::integer[])[cp.slot_first:cp.slot_last],
            ($43::bytea[])[cp.slot_first:cp.slot_last])
        with ordinality as s (channel_key, version_key, rank, digest, pos)
    ) map on true
    on conflict (tenant, thread_key, ns, checkpoint_id) do update set
        parent_id = excluded.parent_id, channel_keys = excluded.channel_keys,
        version_keys = excluded.version_keys, value_nos = excluded.value_nos,
        documents = excluded.documents, size_bytes = excluded.size_bytes,
        legacy = excluded.legacy, run_id = excluded.run_id, delta_channels = excluded.delta_channels,
        delta_keys = excluded.delta_keys
    returning k.tenant, k.thread_key, (k.xmax = 0)::integer as inserted, k.size_bytes
)
";

const WRITES: &str = r"
, w as materialized (
    select w.*, ok.tenant, ok.thread_key, o.idx is not null as replaces,
        coalesce(o.size_bytes, 0) as old_size
    from unnest($44::bigint[], $45::text[], $46::text[], $47::text[], $48::integer[], $49::text[],
        $50::text[], $56::text[], $57::bigint[], $51::text[], $52::integer[], $53::bytea[], $54::bytea[],
        $55::bytea[])
    as w (thread, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq, tag, size_bytes,
        digest, body, parts)
    join ok on ok.ord = w.thread
    {old}
), new_writes as (
    insert into writes as k (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel,
        writer, seq, tag, size_bytes, digest, body, parts)
    select tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq, tag,
        size_bytes, digest, body, parts
    from w
    on conflict (tenant, thread_key, ns, checkpoint_id, task_id, idx) do update set
        task_path = excluded.task_path, channel = excluded.channel, writer = excluded.writer,
        seq = excluded.seq, tag = excluded.tag, size_bytes = excluded.size_bytes,
        digest = excluded.digest, body = excluded.body, parts = excluded.parts
        where k.idx < 0 and (k.writer <> excluded.writer or k.seq <= excluded.seq)
    returning k.tenant, k.thread_key, k.ns, k.checkpoint_id, k.task_id, k.idx, k.size_bytes
)
";

/// The write that a special one replaces; ordinary ones replace nothing.
const OLD_WRITE: &str = "left join lateral (select o.idx, o.size_bytes from writes o
        where w.idx < 0 and o.tenant = ok.tenant and o.thread_key = ok.thread_key and o.ns = w.ns
            and o.checkpoint_id = w.checkpoint_id and o.task_id = w.task_id and o.idx = w.idx
        limit 1) o on true";

const NO_OLD_WRITE: &str =
    "cross join (select null::integer as idx, null::integer as size_bytes) o";

/// What each part of the statement adds to its thread: checkpoints and bytes.
const SUM_CHECKPOINTS: &str = r"
    select tenant, thread_key, inserted as checkpoints, size_bytes from new_checkpoints
    union all
    select cp.tenant, cp.thread_key, 0, -cp.old_size from cp where cp.replaces
";

const SUM_VALUES: &str = r"
    select v.tenant, v.thread_key, 0 as checkpoints, v.size_bytes from v where v.reused is null
";

const SUM_WRITES: &str = r"
    select tenant, thread_key, 0 as checkpoints, size_bytes from new_writes
";

const SUM_OLD_WRITES: &str = r"
    select n.tenant, n.thread_key, 0 as checkpoints, -w.old_size from new_writes n join w on w.replaces
        and w.tenant = n.tenant and w.thread_key = n.thread_key and w.ns = n.ns
        and w.checkpoint_id = n.checkpoint_id and w.task_id = n.task_id and w.idx = n.idx
";

/// An update cannot stand in a lateral subquery. Its conditions are no plain equalities: with these the planner would go through the
/// whole of a table that it takes for empty, and look for each of its rows in the batch.
const FINISH: &str = r"
, touched_threads as (
    update threads x set updated_at = greatest(x.updated_at + 1, $17),
        last_step = coalesce(t.last_step, x.last_step),
        checkpoint_count = x.checkpoint_count + coalesce(sums.checkpoints, 0)::bigint,
        size_bytes = x.size_bytes + coalesce(sums.size_bytes, 0)::bigint,
        graph_id = coalesce(t.graph_id, x.graph_id),
        assistant_id = coalesce(t.assistant_id, x.assistant_id),
        user_id = coalesce(t.user_id, x.user_id)
    from scope_lock join t on t.ord = scope_lock.ord
    left join sums on sums.tenant = scope_lock.tenant and sums.thread_key = scope_lock.thread_key
    where scope_lock.state = 'ok' and x.tenant = any (array[scope_lock.tenant])
        and x.thread_id = any (array[scope_lock.thread_id])
), touched_scopes as (
    update scopes s set next_no = s.next_no + taken.value_count
    from (select scope_lock.tenant, scope_lock.scope_id, sum(t.value_count)::integer as value_count
        from scope_lock join t on t.ord = scope_lock.ord where scope_lock.state = 'ok' and t.value_count > 0
        group by scope_lock.tenant, scope_lock.scope_id) taken
    where s.tenant = any (array[taken.tenant]) and s.scope_id = any (array[taken.scope_id])
)
select t.ord,
    case when b.generation is not null then 'ok' when scope_lock.state is not null then scope_lock.state
         when t.want_generation <> d.generation then 'generation'
         when t.want_fence <> coalesce(d.fence, 0) then 'fence'
         when t.fresh_key is null and scope_lock.ord is null then 'quota'
         when t.seal_scope < 0 then 'scope'
         when t.want_epoch is not null then 'epoch' else 'missing' end as state,
    coalesce(b.generation, scope_lock.generation, d.generation, '') as generation,
    coalesce(scope_lock.fence, d.fence, 0) as fence, coalesce(b.epoch, scope_lock.epoch, 0) as epoch, scope_lock.scope_id,
    scope_lock.thread_key, case when scope_lock.state = 'scope' then scope_lock.owner end as owner,
    case when scope_lock.state = 'scope' then scope_lock.mac end as mac
from t left join scope_lock on scope_lock.ord = t.ord
left join born b on b.tenant = t.tenant and b.thread_id = t.thread_id
left join lateral (select d.generation, d.fence from thread_tombstones d
    where scope_lock.ord is null and d.tenant = t.tenant and d.thread_id = t.thread_id
        and (t.want_owner is null or d.owner = t.want_owner) limit 1) d on true
order by t.ord
";

/// What a batch has: parts that it does not need are left out, since starting a plan costs by its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is one part of the statement, none a state")]
pub struct Shape {
    /// Some thread may have to be created.
    pub create: bool,
    pub checkpoints: bool,
    pub values: bool,
    pub chunks: bool,
    pub writes: bool,
    /// Some write replaces (its idx is negative).
    pub replacing: bool,
}

/// The forms of a statement, each assembled once per process; nothing of a request enters the text.
pub struct Statements<S> {
    assemble: fn(S) -> &'static str,
    made: Mutex<HashMap<S, &'static str>>,
}

impl<S: Copy + Eq + Hash> Statements<S> {
    pub fn of(assemble: fn(S) -> &'static str) -> Self {
        Self { assemble, made: Mutex::default() }
    }

    pub fn text(&self, shape: S) -> &'static str {
        let Ok(mut made) = self.made.lock() else { return (self.assemble)(shape) };
        made.entry(shape).or_insert_with(|| (self.assemble)(shape))
    }
}

pub fn assemble(shape: Shape) -> &'static str {
    let part = |wanted: bool, text: &str| if wanted { text.to_owned() } else { String::new() };
    let reused = if shape.checkpoints { REUSED } else { "null::integer" };
    let shown = "(select v.reused from v where v.thread = cp.thread and v.rank = s.rank)";
    let shown = if shape.values { shown } else { "null::integer" };
    let old = if shape.replacing { OLD_WRITE } else { NO_OLD_WRITE };
    let sums: Vec<&str> = [
        (shape.checkpoints, SUM_CHECKPOINTS),
        (shape.values, SUM_VALUES),
        (shape.writes, SUM_WRITES),
        (shape.writes && shape.replacing, SUM_OLD_WRITES),
    ]
    .into_iter()
    .filter_map(|(wanted, text)| wanted.then_some(text))
    .collect();
    let nothing = "select tenant, thread_key, 0 as checkpoints, 0 as size_bytes from ok";
    let sums = if sums.is_empty() { nothing.to_owned() } else { sums.join("union all") };
    let text = [
        THREADS.to_owned(),
        (if shape.create { CREATE } else { CREATE_NOTHING }).to_owned(),
        GATE.to_owned(),
        part(shape.checkpoints, CHECKPOINT_ROWS),
        part(shape.values, &VALUES.replace("{reused}", reused)),
        part(shape.chunks, CHUNKS),
        part(shape.checkpoints, &CHECKPOINTS.replace("{shown}", shown)),
        part(shape.writes, &WRITES.replace("{old}", old)),
        format!(
            ", sums as materialized (select tenant, thread_key, sum(checkpoints) as checkpoints,
                sum(size_bytes) as size_bytes from ({sums}) parts group by tenant, thread_key)"
        ),
        FINISH.to_owned(),
    ];
    Box::leak(text.concat().into_boxed_str())
}
