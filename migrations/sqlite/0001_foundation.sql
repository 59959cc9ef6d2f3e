-- Foundation: the same tables as on PostgreSQL (migrations/postgres/0001_foundation.sql), in SQLite's idiom.
-- Times are microseconds since 1970 UTC. Text compares by its UTF-8 bytes (SQLite's default collation).
-- Tables keep their rowid: rows hold kilobytes, which a clustered key would push to overflow pages.

-- One row per tenant. secret keys the digests of its content and is made with the tenant.
create table tenants (
    tenant text primary key,
    secret blob not null,
    created_at integer not null
) strict;

-- Keys that open a tenant. Only the hash of a key is stored; servers poll the whole set.
create table keys (
    tenant text not null,
    key_id text not null,
    subject text,
    hash blob not null,
    created_at integer not null,
    revoked_at integer,
    primary key (tenant, key_id)
) strict;

-- A content scope. epoch starts at random, so that it belongs to one scope, and rises when content is removed; next_no is
-- the next number of a manifest.
create table scopes (
    tenant text not null,
    scope_id integer not null,
    epoch integer not null,
    next_no integer not null,
    primary key (tenant, scope_id)
) strict, without rowid;

-- Who keeps a scope alive: threads (holder is the thread id) now; snapshots and copies join them.
create table scope_holders (
    tenant text not null,
    scope_id integer not null,
    kind text not null,
    holder text not null,
    primary key (tenant, scope_id, kind, holder)
) strict, without rowid;

-- One conversation. thread_key is random: rows of a deleted thread can never be taken for rows of a later one with
-- the same id, and a prune swaps it, so that everything it removes is out of sight at once.
create table threads (
    tenant text not null,
    thread_id text not null,
    thread_key integer not null,
    scope_id integer not null,
    -- Random, replaced only by a restore in place.
    generation text not null,
    -- Fence of the lease: only grows.
    fence integer not null,
    lease_holder text,
    lease_expires_at integer,
    created_at integer not null,
    updated_at integer not null,
    last_step integer,
    checkpoint_count integer not null,
    size_bytes integer not null,
    owner text,
    graph_id text,
    assistant_id text,
    user_id text,
    primary key (tenant, thread_id)
) strict;

-- Listings newest first, with a stable order and keyset cursors.
create index threads_created on threads (tenant, created_at, thread_id);
-- From a checkpoint to its thread: listings over all threads, delete-for-runs.
create unique index threads_key on threads (tenant, thread_key);

-- What is left of a deleted thread for 7 days, so that a fence never falls back and a generation stays.
create table thread_tombstones (
    tenant text not null,
    thread_id text not null,
    generation text not null,
    fence integer not null,
    deleted_at integer not null,
    primary key (tenant, thread_id)
) strict;

-- Rows that no thread names: of a deleted or pruned thread, or of a copy that is not finished. Written in the
-- transaction that makes them so, consumed in slices; what a crash leaves here the sweep removes.
create table garbage (
    tenant text not null,
    thread_key integer not null,
    scope_id integer not null,
    created_at integer not null,
    primary key (tenant, thread_key)
) strict, without rowid;

-- One superstep. map is the channel → (version, value) map in channel order: 20 bytes per channel, little endian: hash of
-- the channel's name, hash of (ns, channel, version), number of the value's manifest in the scope, 0 for "no value".
-- The map binds a checkpoint to the very values that were sent with it.
create table checkpoints (
    tenant text not null,
    thread_key integer not null,
    ns text not null,
    checkpoint_id text not null,
    parent_id text,
    map blob not null,
    -- The exact JSON texts of skeleton and metadata, sealed together.
    documents blob not null,
    size_bytes integer not null,
    -- The skeleton's format is below 4: its parent's pending sends belong to it.
    legacy integer not null,
    run_id text,
    -- JSON array of the channels that the metadata names as delta channels and that have a version.
    delta_channels text not null,
    -- When it was first stored here: what retention calls its age. A copy is stored anew.
    created_at integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    primary key (tenant, thread_key, ns, checkpoint_id)
) strict;

-- delete_for_runs finds checkpoints of a run in all threads; most have none.
create index checkpoints_run on checkpoints (tenant, run_id) where run_id is not null;

-- Pending and delta writes. The checkpoint may come later or never. body and parts as in manifests.
create table writes (
    tenant text not null,
    thread_key integer not null,
    ns text not null,
    checkpoint_id text not null,
    task_id text not null,
    idx integer not null,
    task_path text not null,
    channel text not null,
    writer text not null,
    seq integer not null,
    tag text not null,
    size_bytes integer not null,
    digest blob not null,
    body blob not null,
    parts blob,
    primary key (tenant, thread_key, ns, checkpoint_id, task_id, idx)
) strict;

-- What a checkpoint shows of a delta channel whose ancestors were removed: the seed and the writes that the walk
-- would have found, as one sealed document. Channel `__pregel_tasks`: the pending sends of a removed parent.
create table delta_bases (
    tenant text not null,
    thread_key integer not null,
    ns text not null,
    checkpoint_id text not null,
    channel text not null,
    document blob not null,
    primary key (tenant, thread_key, ns, checkpoint_id, channel)
) strict;

-- One value of a scope. body is its envelope; for a large one that of its ends, and parts lists the chunks between them:
-- 13 bytes each, 0 and the name of a chunk, or 1 and the name of a chunk that holds names of chunks.
create table manifests (
    tenant text not null,
    scope_id integer not null,
    no integer not null,
    version_key integer not null,
    tag text not null,
    size_bytes integer not null,
    digest blob not null,
    body blob not null,
    parts blob,
    primary key (tenant, scope_id, no)
) strict;

-- Content, once per scope, named by its keyed digest (12 bytes). A chunk goes when no value of its scope names it.
create table chunks (
    tenant text not null,
    scope_id integer not null,
    name blob not null,
    body blob not null,
    primary key (tenant, scope_id, name)
) strict;

-- Answers of requests with an Idempotency-Key, kept for 24 hours, written with the effect.
create table idempotency (
    tenant text not null,
    caller text not null,
    key text not null,
    digest blob not null,
    answer blob not null,
    created_at integer not null,
    primary key (tenant, caller, key)
) strict;
