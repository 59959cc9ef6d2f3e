-- Snapshots: frozen copies of threads, namespaces and sessions. What they keep are rows of the tables that the things
-- themselves live in, under names that no caller can send: a thread whose id is longer than any legal one, a session of a
-- kind that is none. So whatever looks after content (collections, the packer, the doctor, erasure, encryption) looks after
-- theirs without knowing of them; only listings leave them out.

create table snapshots (
    tenant text collate "C" not null,
    snapshot_id text collate "C" not null,
    -- Random: the hidden names are made of it.
    snapshot_no bigint not null,
    owner text collate "C",
    -- Of what was asked for: the same request again finds its snapshot, another one is refused.
    digest bytea not null,
    -- A JSON object of texts.
    labels text collate "C" not null,
    -- The client's own record, sealed for the snapshot; empty: none.
    document bytea not null,
    created_at bigint not null,
    -- The one moment that everything in it is of.
    taken_at bigint not null,
    -- 0: it stays.
    expires_at bigint not null,
    primary key (tenant, snapshot_id)
);
alter table snapshots alter column document set storage external;
create unique index snapshots_no on snapshots (tenant, snapshot_no);
-- Listings newest first.
create index snapshots_created on snapshots (tenant, created_at, snapshot_id);
-- Erasing a subject, and listings of what one owns.
create index snapshots_owner on snapshots (tenant, owner, created_at, snapshot_id) where owner is not null;
create index snapshots_expiry on snapshots (expires_at) where expires_at > 0;

-- What is in a snapshot.
create table snapshot_parts (
    tenant text collate "C" not null,
    snapshot_no bigint not null,
    part_no bigint not null,
    -- thread, namespace, session
    kind text collate "C" not null,
    -- Id of the thread; labels, each with a zero byte behind it; key of the session.
    name bytea not null,
    -- Of a session its kind; else empty.
    session_kind text collate "C" not null,
    -- Whose the thing was: erasing a subject takes it out of everybody's snapshots.
    owner text collate "C",
    -- Of threads: all or head, and their generation at that moment.
    history text collate "C" not null,
    generation text collate "C" not null,
    -- Checkpoints, items, entries.
    entries bigint not null,
    size_bytes bigint not null,
    primary key (tenant, snapshot_no, part_no)
);
create index snapshot_parts_owner on snapshot_parts (tenant, owner) where owner is not null;

-- Items of snapshots. What they hold is a row of item_versions whose version is the snapshot's number below zero, so that
-- collections, sweeps, the doctor and encryption find it beside earlier versions; what else it takes to make the item again is
-- here. No listing of versions shows one below zero.
create table snapshot_items (
    tenant text collate "C" not null,
    snapshot_no bigint not null,
    namespace text[] collate "C" not null,
    key bytea not null,
    created_at bigint not null,
    expires_at bigint,
    size_bytes bigint not null,
    projection jsonb not null,
    has_marks boolean not null,
    history integer not null,
    words bigint[],
    word_counts bytea,
    word_total integer,
    word_fields bigint,
    vector_bytes integer not null,
    -- Paths of the texts whose vectors the server makes.
    index_fields text,
    -- The version that a restore gives it; null: the item that is there is the same.
    next_version bigint,
    primary key (tenant, snapshot_no, namespace, key)
);

-- Their vectors, as in item_vectors.
create table snapshot_vectors (
    tenant text collate "C" not null,
    snapshot_no bigint not null,
    namespace text[] collate "C" not null,
    key bytea not null,
    model text collate "C" not null,
    no smallint not null,
    field text not null,
    dims integer not null,
    vector real[] not null,
    primary key (tenant, snapshot_no, namespace, key, model, no)
);
alter table snapshot_vectors alter column vector set storage external;

-- Numbers under which there may be hidden rows that no snapshot shows: it is being made, or being removed, or a server died
-- over it. The sweep removes what is older than an hour.
create table snapshot_leftovers (
    tenant text collate "C" not null,
    snapshot_no bigint not null,
    created_at bigint not null,
    primary key (tenant, snapshot_no)
);

-- Nobody but the owner sees a row.
alter table snapshots enable row level security;
alter table snapshot_parts enable row level security;
alter table snapshot_leftovers enable row level security;
alter table snapshot_items enable row level security;
alter table snapshot_vectors enable row level security;

-- As in 0006, without the threads of snapshots.
create or replace view sql_threads with (security_barrier = true) as
select t.thread_id, t.owner, t.graph_id, t.assistant_id, t.user_id,
    timestamptz 'epoch' + t.created_at * interval '1 microsecond' as created_at,
    timestamptz 'epoch' + t.updated_at * interval '1 microsecond' as updated_at,
    t.last_step, t.checkpoint_count, t.size_bytes, t.generation, t.fence, t.lease_holder,
    timestamptz 'epoch' + t.lease_expires_at * interval '1 microsecond' as lease_expires_at
from threads t where t.tenant = (select sql_role_tenant()) and octet_length(t.thread_id) <= 512;
create or replace view sql_checkpoints with (security_barrier = true) as
select t.thread_id, c.ns as checkpoint_ns, c.checkpoint_id, c.parent_id as parent_checkpoint_id, c.run_id,
    cardinality(c.channel_keys) as channel_count, c.size_bytes,
    timestamptz 'epoch' + c.created_at * interval '1 microsecond' as created_at
from threads t join checkpoints c on c.tenant = t.tenant and c.thread_key = t.thread_key
where t.tenant = (select sql_role_tenant()) and c.tenant = (select sql_role_tenant())
    and octet_length(t.thread_id) <= 512;
create or replace view sql_writes with (security_barrier = true) as
select t.thread_id, w.ns as checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel, w.tag, w.size_bytes
from threads t join writes w on w.tenant = t.tenant and w.thread_key = t.thread_key
where t.tenant = (select sql_role_tenant()) and w.tenant = (select sql_role_tenant())
    and octet_length(t.thread_id) <= 512;

-- As in 0014; what snapshots keep stays when the item goes.
create or replace function keep_item_versions() returns trigger language plpgsql as $$
declare
    kept integer := 0;
begin
    if tg_op = 'UPDATE' then
        -- One that had expired is another item under the same name.
        if old.expires_at is null or old.expires_at > new.updated_at then
            kept := new.history;
        end if;
        if kept > 0 and new.version <> old.version then
            insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes,
                digest, body, parts, scope_id, file_head, content_id)
            values (old.tenant, old.namespace, old.key, old.version, old.updated_at, old.ttl_micros,
                old.size_bytes, old.digest, old.body, old.parts, old.scope_id, old.file_head, old.content_id);
        end if;
    end if;
    with gone as (
        delete from item_versions v
        where v.tenant = old.tenant and v.namespace = old.namespace and v.key = old.key
            and v.version > 0 and v.version <= (select w.version from item_versions w
                where w.tenant = old.tenant and w.namespace = old.namespace and w.key = old.key and w.version > 0
                order by w.version desc offset kept limit 1)
        returning v.scope_id
    )
    -- Their chunks go with a collection, an hour later at the earliest: somebody may be reading them.
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct old.tenant, scope_id, scope_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint
    from gone where scope_id is not null
    on conflict do nothing;
    return null;
end
$$;

-- A session that a snapshot keeps shares the content scope of the one that it is of. Its kind has the snapshot's number before it,
-- in colons, which no kind has.
drop index sessions_scope;
create unique index sessions_scope on sessions (tenant, scope_id) where substr(kind, 1, 1) <> ':';
-- The collection of a scope asks for all of them.
create index sessions_of_scope on sessions (tenant, scope_id);
