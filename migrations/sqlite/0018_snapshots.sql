-- Snapshots: the same tables as on PostgreSQL (migrations/postgres/0018_snapshots.sql), in SQLite's idiom.
-- Frozen copies of threads, namespaces and sessions. What they keep are rows of the tables that the things
-- themselves live in, under names that no caller can send: a thread whose id is longer than any legal one, a session of a
-- kind that is none. So whatever looks after content (collections, the packer, the doctor, erasure, encryption) looks after
-- theirs without knowing of them; only listings leave them out.

create table snapshots (
    tenant text not null,
    snapshot_id text not null,
    -- Random: the hidden names are made of it.
    snapshot_no integer not null,
    owner text,
    -- Of what was asked for: the same request again finds its snapshot, another one is refused.
    digest blob not null,
    -- A JSON object of texts.
    labels text not null,
    -- The client's own record, sealed for the snapshot; empty: none.
    document blob not null,
    created_at integer not null,
    -- The one moment that everything in it is of.
    taken_at integer not null,
    -- 0: it stays.
    expires_at integer not null,
    primary key (tenant, snapshot_id)
) strict;
create unique index snapshots_no on snapshots (tenant, snapshot_no);
-- Listings newest first.
create index snapshots_created on snapshots (tenant, created_at, snapshot_id);
-- Erasing a subject, and listings of what one owns.
create index snapshots_owner on snapshots (tenant, owner, created_at, snapshot_id) where owner is not null;
create index snapshots_expiry on snapshots (expires_at) where expires_at > 0;

-- What is in a snapshot.
create table snapshot_parts (
    tenant text not null,
    snapshot_no integer not null,
    part_no integer not null,
    -- thread, namespace, session
    kind text not null,
    -- Id of the thread; labels, each with a zero byte behind it; key of the session.
    name blob not null,
    -- Of a session its kind; else empty.
    session_kind text not null,
    -- Whose the thing was: erasing a subject takes it out of everybody's snapshots.
    owner text,
    -- Of threads: all or head, and their generation at that moment.
    history text not null,
    generation text not null,
    -- Checkpoints, items, entries.
    entries integer not null,
    size_bytes integer not null,
    primary key (tenant, snapshot_no, part_no)
) strict;
create index snapshot_parts_owner on snapshot_parts (tenant, owner) where owner is not null;

-- Items of snapshots. What they hold is a row of item_versions whose version is the snapshot's number below zero, so that
-- collections, sweeps, the doctor and encryption find it beside earlier versions; what else it takes to make the item again is
-- here. No listing of versions shows one below zero.
create table snapshot_items (
    tenant text not null,
    snapshot_no integer not null,
    namespace blob not null,
    key blob not null,
    created_at integer not null,
    expires_at integer,
    size_bytes integer not null,
    history integer not null,
    words blob,
    word_counts blob,
    word_total integer,
    word_fields integer,
    vector_bytes integer not null,
    -- Paths of the texts whose vectors the server makes.
    index_fields text,
    -- The version that a restore gives it; null: the item that is there is the same.
    next_version integer,
    primary key (tenant, snapshot_no, namespace, key)
) strict;

-- Their vectors, as in item_vectors.
create table snapshot_vectors (
    tenant text not null,
    snapshot_no integer not null,
    namespace blob not null,
    key blob not null,
    model text not null,
    no integer not null,
    field text not null,
    dims integer not null,
    vector blob not null,
    primary key (tenant, snapshot_no, namespace, key, model, no)
) strict;

-- Numbers under which there may be hidden rows that no snapshot shows: it is being made, or being removed, or a server died
-- over it. The sweep removes what is older than an hour.
create table snapshot_leftovers (
    tenant text not null,
    snapshot_no integer not null,
    created_at integer not null,
    primary key (tenant, snapshot_no)
) strict;

-- As in 0011 and 0014; what snapshots keep stays when the item goes.
drop trigger items_replaced;
create trigger items_replaced after update on items
when (new.history > 0 or old.history > 0) and (new.version <> old.version or new.history < old.history)
begin
    -- One that had expired is another item under the same name.
    insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes,
        digest, body, parts, scope_id, file_head, content_id)
    select old.tenant, old.namespace, old.key, old.version, old.updated_at, old.ttl_micros,
        old.size_bytes, old.digest, old.body, old.parts, old.scope_id, old.file_head, old.content_id
    where new.history > 0 and new.version <> old.version
        and (old.expires_at is null or old.expires_at > new.updated_at);
    -- Chunks go with a collection, an hour later at the earliest: somebody may be reading them.
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct v.tenant, v.scope_id, v.scope_id, cast(unixepoch('subsec') * 1000000 as integer)
    from item_versions v
    where v.tenant = old.tenant and v.namespace = old.namespace and v.key = old.key
        and v.scope_id is not null and v.version > 0 and v.version <= (
            select w.version from item_versions w
            where w.tenant = old.tenant and w.namespace = old.namespace and w.key = old.key and w.version > 0
            order by w.version desc limit 1 offset iif(
                old.expires_at is null or old.expires_at > new.updated_at, new.history, 0))
    on conflict (tenant, thread_key) do nothing;
    delete from item_versions
    where tenant = old.tenant and namespace = old.namespace and key = old.key and version > 0 and version <= (
            select w.version from item_versions w
            where w.tenant = old.tenant and w.namespace = old.namespace and w.key = old.key and w.version > 0
            order by w.version desc limit 1 offset iif(
                old.expires_at is null or old.expires_at > new.updated_at, new.history, 0));
end;
drop trigger items_removed;
create trigger items_removed after delete on items when old.history > 0
begin
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct v.tenant, v.scope_id, v.scope_id, cast(unixepoch('subsec') * 1000000 as integer)
    from item_versions v
    where v.tenant = old.tenant and v.namespace = old.namespace and v.key = old.key
        and v.scope_id is not null and v.version > 0
    on conflict (tenant, thread_key) do nothing;
    delete from item_versions
    where tenant = old.tenant and namespace = old.namespace and key = old.key and version > 0;
end;

-- A session that a snapshot keeps shares the content scope of the one that it is of. Its kind has the snapshot's number before it,
-- in colons, which no kind has.
drop index sessions_scope;
create unique index sessions_scope on sessions (tenant, scope_id) where substr(kind, 1, 1) <> ':';
-- The collection of a scope asks for all of them.
create index sessions_of_scope on sessions (tenant, scope_id);
