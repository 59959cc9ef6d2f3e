//! Builds the statements that read a checkpoint, its values and writes, and that walk delta histories.
//!
//! Look-ups are lateral subqueries with a limit or an offset, so that each is planned by itself. They find their rows by the whole primary
//! key, whatever the statistics say: no other index can be used for them (`migrations/postgres/0026_index_choice.sql`).

use crate::content::chunking::WHOLE_BYTES_MAX;
use crate::domain::checkpoints::checkpoint::SHORT_VALUE_BYTES_MAX;

/// Like the next two with places for what [`of_channels`] puts in. $1 tenant, $2 thread, $3 ns, $4 checkpoint id or null, $5 and $6 names and keys of the channels asked for,
/// $7 history only: the channels asked for count even without a version; $8 whose the thread has to be, or null; $9 size over
/// which values in parts come without their chunks; $10 what all values may have together to come with their chunks.
const TARGET: &str = r"
with recursive th as materialized (
    select thread_key, scope_id, generation, checkpoint_count, owner, mac
    from threads where tenant = $1 and thread_id = $2 and ($8::text is null or owner = $8)
), cp as materialized (
    select c.checkpoint_id, c.parent_id, c.channel_keys, c.value_nos, c.documents, c.legacy,
        coalesce(c.sends_from, c.parent_id) as sends_from, c.delta_channels, c.delta_keys
    from th cross join lateral (
        select * from checkpoints c where c.tenant = $1 and c.thread_key = th.thread_key and c.ns = $3
            and c.checkpoint_id = case when $4::text is null then (
                select k.checkpoint_id from checkpoints k
                where k.tenant = $1 and k.thread_key = th.thread_key and k.ns = $3
                order by k.checkpoint_id desc limit 1) else $4 end
        limit 1) c
), own_bases as materialized (
    select b.channel, b.document from th cross join cp cross join lateral (
        select b.channel, b.document from delta_bases b
        where {of_base} cp.parent_id is null and b.tenant = $1 and b.thread_key = th.thread_key and b.ns = $3
            and b.checkpoint_id = cp.checkpoint_id offset 0) b
)
";

/// Which histories are asked for: delta channels of the checkpoint, and channels of the request.
const WANTED: &str = r"
, wanted as materialized (
    select q.name, q.key from cp cross join lateral (
        select d.name, d.key from unnest(cp.delta_channels, cp.delta_keys) d (name, key) where not $7 {of_delta}
        union
        select a.name, a.key from unnest($5::text[], $6::bigint[]) a (name, key)
    ) q
    where ($7 or cp.value_nos[array_position(cp.channel_keys, q.key)] = 0)
      and not exists (select from own_bases o where o.channel = q.name)
)
";

/// Of a thread that its transaction has found already. $1 tenant, $2 thread, $3 ns, $4 where the walk starts, $5 and $6 names and keys of the channels,
/// $7 and $8 as $9 and $10 of the target.
const START: &str = r"
with recursive th as materialized (
    select thread_key, scope_id, generation, checkpoint_count
    from threads where tenant = $1 and thread_id = $2
), cp as materialized (
    select $4::text as parent_id from th
), wanted as materialized (
    select a.name, a.key from unnest($5::text[], $6::bigint[]) a (name, key)
)
";

/// Per channel the walk stops at the nearest ancestor with a value. The depth is bounded by the number of
/// checkpoints, since a client may have put a parent chain that is a circle.
const WALK: &str = r"
, start as materialized (
    select array_agg(key) as keys from wanted
), walk as (
    select 1 as depth, c.checkpoint_id, c.parent_id, c.channel_keys, c.value_nos, start.keys as open
    from start cross join th cross join cp cross join lateral (
        select * from checkpoints c where c.tenant = $1 and c.thread_key = th.thread_key and c.ns = $3
            and c.checkpoint_id = cp.parent_id limit 1) c
    where start.keys is not null
    union all
    select w.depth + 1, c.checkpoint_id, c.parent_id, c.channel_keys, c.value_nos, rest.open
    from walk w cross join th
    cross join lateral (
        select array(select k from unnest(w.open) k
            where coalesce(w.value_nos[array_position(w.channel_keys, k)], 0) = 0) as open
    ) rest
    cross join lateral (
        select * from checkpoints c where c.tenant = $1 and c.thread_key = th.thread_key and c.ns = $3
            and c.checkpoint_id = w.parent_id limit 1) c
    where cardinality(rest.open) > 0 and w.depth < th.checkpoint_count
)
";

/// kind 0: the thread, with its owner, MAC and key, 1: the checkpoint, 2: its values, 3: its writes, 4: its parent's pending sends, 5: its bases.
const OF_TARGET: &str = r"
select 0 as kind, 0 as depth, th.scope_id as number, th.generation as a, th.owner as b, null::text as c,
    null::text as tag, null::integer as size_bytes, null::bytea as digest, th.mac as body,
    null::bytea as parts, array[th.thread_key] as keys, null::integer[] as nos, null::text[] as names
from th
union all
select 1, 0, 0, cp.checkpoint_id, cp.parent_id, case when cp.legacy then cp.sends_from end, null, null, null,
    cp.documents, null, cp.channel_keys, cp.value_nos, cp.delta_channels
from cp
union all
select 2, 0, m.no, null, null, {value}, null, null, null
from th cross join cp cross join lateral ({numbers}) v
cross join lateral (select * from manifests m
    where m.tenant = $1 and m.scope_id = th.scope_id and m.no = v.no limit 1) m
where not $7
union all
select 3, 0, w.idx, w.task_id, w.channel, w.task_path, w.tag, w.size_bytes, w.digest, w.body, w.parts,
    case when w.seq is not null then array[w.seq] end, null, case when w.writer is not null then array[w.writer] end
from th cross join cp cross join lateral (select * from writes w
    where w.tenant = $1 and w.thread_key = th.thread_key and w.ns = $3
        and w.checkpoint_id = cp.checkpoint_id offset 0) w
where not $7
union all
select 4, 0, w.idx, w.task_id, w.channel, w.task_path, w.tag, w.size_bytes, w.digest, w.body, w.parts,
    null, null, null
from th cross join cp cross join lateral (select * from writes w
    where cp.legacy and w.tenant = $1 and w.thread_key = th.thread_key and w.ns = $3
        and w.checkpoint_id = cp.sends_from and w.channel = '__pregel_tasks' offset 0) w
where not $7
union all
select 5, 0, 0, null, o.channel, null, null, null, null, o.document, null, null, null, null
from own_bases o
";

/// kind 6: nodes of the walk, 7: their seeds, 8: their writes, 9: bases where the chain ends.
const OF_WALK: &str = r"
select 6 as kind, w.depth, 0::bigint as number, w.checkpoint_id as a, w.parent_id as b, null::text as c,
    null::text as tag, null::integer as size_bytes, null::bytea as digest, null::bytea as body,
    null::bytea as parts, w.open as keys, null::integer[] as nos, null::text[] as names
from walk w
union all
select 7, w.depth, m.version_key, null, q.name, null, m.tag, m.size_bytes, m.digest, m.body, m.parts, null, null, null
from walk w cross join th join wanted q on q.key = any (w.open)
cross join lateral (select * from manifests m where m.tenant = $1 and m.scope_id = th.scope_id
    and m.no = w.value_nos[array_position(w.channel_keys, q.key)] limit 1) m
union all
select 8, w.depth, r.idx, r.task_id, r.channel, r.task_path, r.tag, r.size_bytes, r.digest, r.body, r.parts,
    null, null, null
from walk w cross join th cross join lateral (select * from writes r
    where r.tenant = $1 and r.thread_key = th.thread_key and r.ns = $3
        and r.checkpoint_id = w.checkpoint_id offset 0) r
join wanted q on q.name = r.channel and q.key = any (w.open)
union all
select 9, w.depth, 0, null, b.channel, null, null, null, null, b.document, null, null, null, null
from walk w cross join th cross join lateral (select * from delta_bases b
    where w.parent_id is null and b.tenant = $1 and b.thread_key = th.thread_key and b.ns = $3
        and b.checkpoint_id = w.checkpoint_id offset 0) b
join wanted q on q.name = b.channel and q.key = any (w.open)
";

/// The rows and, as the last one, the chunks that their lists name.
const WITH_CHUNKS: &str = r"
select * from found
union all
select 10, 0, 0, null, null, null, null, null, null, c.body, null, null, null, null from content c
";

/// What the lists of `found` name, each chunk once and all in one value (a row for each would cost more than the chunk):
/// 12 bytes name, 4 bytes length, big endian, and the envelope; null for none. `scope` is an expression for the scope of
/// a row of `found`. Lists and nodes are read here by their layout: 13 bytes an entry, and 12 bytes a name after the 3
/// bytes of a plain envelope. Values in parts over `bytes_max`, an expression, come without their chunks: their lists begin with
/// one, a zero byte. So do all over `bytes_max` where that is below the size of values in chunks. Where the other values have more than
/// `together_max` together, no chunk is read: the caller refuses the answer. Chunks are looked up by arrays: one scan of the index for all of them takes half the time of
/// a look-up for each, and drops names that come twice.
pub(super) fn chunks_of_found(scope: &str, bytes_max: &str, together_max: &str) -> String {
    let comes = |row: &str| {
        format!(
            r"({row}.size_bytes <= {bytes_max} or
    {bytes_max} > {WHOLE_BYTES_MAX} and substring({row}.parts for 1) is distinct from '\x00'::bytea)"
        )
    };
    let (comes, counts) = (comes("f"), comes("s"));
    format!(
        r"
, entries as materialized (
    select {scope} as scope_id, substring(f.parts from at for 13) as entry
    from found f cross join lateral generate_series(1, octet_length(f.parts), 13) at
    where f.parts is not null and {comes}
        and (select sum(s.size_bytes) from found s where {counts}) <= {together_max}
), nodes as materialized (
    select s.scope_id, k.name, k.body from (
        select scope_id, array_agg(substring(entry from 2)) as names from entries
        where get_byte(entry, 0) = 1 group by scope_id) s
    cross join lateral (select k.name, k.body from chunks k
        where k.tenant = $1 and k.scope_id = s.scope_id and k.name = any (s.names) offset 0) k
), leaves as materialized (
    select scope_id, array_agg(name) as names from (
        select scope_id, substring(entry from 2) as name from entries where get_byte(entry, 0) = 0
        union all
        select n.scope_id, substring(n.body from at for 12)
        from nodes n cross join lateral generate_series(4, octet_length(n.body), 12) at) l
    group by scope_id
), content as materialized (
    select string_agg(c.name || int4send(octet_length(c.body)) || c.body, '') as body from (
        select n.name, n.body from nodes n
        union all
        select k.name, k.body from leaves l cross join lateral (select k.name, k.body from chunks k
            where k.tenant = $1 and k.scope_id = l.scope_id and k.name = any (l.names) offset 0) k
    ) c
)
"
    )
}

/// Columns of a value `m` of which `v.is_wanted` tells whether it comes with its bytes, from the sixth on: else a long one has its size
/// in place of the first text.
pub(super) fn wanted_value() -> String {
    let comes = format!("v.is_wanted or m.size_bytes <= {SHORT_VALUE_BYTES_MAX}");
    format!(
        "case when not ({comes}) then m.size_bytes::text end as c, m.tag, case when {comes} then m.size_bytes end as size_bytes,
    m.digest, case when {comes} then m.body else ''::bytea end as body, case when {comes} then m.parts end as parts"
    )
}

/// Puts in which channels a statement is about.
fn of_channels(text: &str, channels: Channels) -> String {
    let some = wanted_value();
    let (numbers, value, of_delta, of_base) = match channels {
        Channels::All => (
            "select distinct no from unnest(cp.value_nos) no",
            "null, m.tag, m.size_bytes, m.digest, m.body, m.parts",
            "",
            "",
        ),
        Channels::Some => (
            "select u.no, bool_or(u.key = any ($11::bigint[])) as is_wanted
    from unnest(cp.channel_keys, cp.value_nos) u (key, no) group by u.no",
            some.as_str(),
            "and d.name = any ($12::text[])",
            "b.channel = any ($12::text[]) and",
        ),
    };
    text.replace("{numbers}", numbers)
        .replace("{value}", value)
        .replace("{of_delta}", of_delta)
        .replace("{of_base}", of_base)
}

/// Whose values come with their bytes.
#[derive(Clone, Copy)]
enum Channels {
    All,
    /// $11 their keys, $12 their names. The long values of the others come as their sizes, see [`wanted_value`].
    Some,
}

/// A statement in two forms with the same rows.
#[derive(Clone, Copy)]
pub struct Forms {
    /// With the chunks of split values.
    pub split: &'static str,
    /// Without: half the plan to start, for threads whose values are all whole.
    pub whole: &'static str,
}

/// The statements of this file, put together once per process.
pub struct ReadStatements {
    /// A checkpoint with everything that belongs to it, and its histories.
    pub target: Forms,
    /// The same without histories, for threads without delta channels.
    pub plain: Forms,
    /// The two for some channels only.
    pub target_narrowed: Forms,
    pub plain_narrowed: Forms,
    /// Histories from a given ancestor on.
    pub walk: &'static str,
}

impl ReadStatements {
    pub fn assemble() -> Self {
        let content = chunks_of_found("(select scope_id from th)", "$9", "$10");
        let walked = chunks_of_found("(select scope_id from th)", "$7", "$8");
        let parts =
            |channels: Channels| [TARGET, WANTED, OF_TARGET].map(|it| of_channels(it, channels));
        let [target, wanted, of_target] = parts(Channels::All);
        let some = parts(Channels::Some);
        let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let of = |before: &[&str], rows: &[&str], content: &str| {
            let (before, rows) = (before.concat(), rows.concat());
            let split = format!("{before}, found as materialized ({rows}){content}{WITH_CHUNKS}");
            Forms { split: kept(split), whole: kept(format!("{before}{rows}")) }
        };
        Self {
            target: of(&[&target, &wanted, WALK], &[&of_target, "union all", OF_WALK], &content),
            plain: of(&[&target], &[&of_target], &content),
            target_narrowed: of(
                &[&some[0], &some[1], WALK],
                &[&some[2], "union all", OF_WALK],
                &content,
            ),
            plain_narrowed: of(&[&some[0]], &[&some[2]], &content),
            walk: of(&[START, WALK], &[OF_WALK], &walked).split,
        }
    }
}
