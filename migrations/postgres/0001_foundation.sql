-- Foundation: tenants, keys, threads with their content scopes, checkpoints and writes.
-- Every key begins with the tenant and then the thread, scope or other shard of it; no foreign keys across those, so
-- that tables can be split. Times are microseconds since 1970 UTC. Texts that callers choose compare by bytes.

-- One row per tenant. `secret` keys the digests of its content and is made with the tenant.
create table tenants (
    tenant text collate "C" primary key,
    secret bytea not null,
    created_at bigint not null
);

-- Keys that open a tenant. Only the hash of a key is stored; servers poll the whole set.
create table keys (
    tenant text collate "C" not null,
    key_id text collate "C" not null,
    subject text collate "C",
    hash bytea not null,
    created_at bigint not null,
    revoked_at bigint,
    primary key (tenant, key_id)
);

-- The gate of a content scope: every statement that writes into the scope locks this row first, in (tenant,
-- scope_id) order. Narrow, half-filled pages, no further index, so that its updates stay heap-only.
-- epoch starts at random, so that it belongs to one scope, and rises when content is removed; next_no is the next number
-- of a manifest.
create table scopes (
    tenant text collate "C" not null,
    scope_id bigint not null,
    epoch bigint not null,
    next_no integer not null,
    primary key (tenant, scope_id)
) with (fillfactor = 50);

-- Who keeps a scope alive: threads now; snapshots and copies join them. A scope goes with its last holder.
create table scope_holders (
    tenant text collate "C" not null,
    scope_id bigint not null,
    kind text collate "C" not null,
    holder text collate "C" not null,
    primary key (tenant, scope_id, kind, holder)
);

-- One conversation. thread_key is random and new for each incarnation: rows of a deleted thread can never be
-- taken for rows of a later one with the same id. No index holds a column that a commit changes.
create table threads (
    tenant text collate "C" not null,
    thread_id text collate "C" not null,
    thread_key bigint not null,
    scope_id bigint not null,
    -- Random, replaced only by a restore in place.
    generation text collate "C" not null,
    -- Fence of the lease: only grows.
    fence bigint not null,
    lease_holder text collate "C",
    lease_expires_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    last_step bigint,
    checkpoint_count bigint not null,
    size_bytes bigint not null,
    owner text collate "C",
    graph_id text collate "C",
    assistant_id text collate "C",
    user_id text collate "C",
    primary key (tenant, thread_id)
) with (fillfactor = 70);

-- Listings newest first, with a stable order and keyset cursors. Without thread_id: the planner must not take it
-- for a way to find one thread.
create index threads_created on threads (tenant, created_at);
-- From a row or a holder to its thread. A thread's key is written once, so commits stay heap-only.
create unique index threads_key on threads (tenant, thread_key);

-- What is left of a deleted thread for 7 days, so that a fence never falls back and a generation stays.
create table thread_tombstones (
    tenant text collate "C" not null,
    thread_id text collate "C" not null,
    generation text collate "C" not null,
    fence bigint not null,
    deleted_at bigint not null,
    primary key (tenant, thread_id)
);

-- One superstep. The three arrays are the map channel → (version, value), in channel order: hashes of the channel's name
-- and of (ns, channel, version), and the number of the value's manifest in the scope, 0 for "no value".
-- The map binds a checkpoint to the very values that were sent with it.
create table checkpoints (
    tenant text collate "C" not null,
    thread_key bigint not null,
    ns text collate "C" not null,
    checkpoint_id text collate "C" not null,
    parent_id text collate "C",
    channel_keys bigint[] not null,
    version_keys bigint[] not null,
    value_nos integer[] not null,
    -- The exact JSON texts of skeleton and metadata, sealed together.
    documents bytea not null,
    size_bytes integer not null,
    -- The skeleton's format is below 4: its parent's pending sends belong to it.
    legacy boolean not null,
    -- Where those sends are when the parent was pruned and the parent pointer is gone.
    sends_from text collate "C",
    run_id text collate "C",
    -- Channels that the metadata names as delta channels and that have a version, and their keys; null for none.
    delta_channels text[] collate "C",
    delta_keys bigint[],
    -- When it was first stored here, by the database's clock: what retention calls its age. A copy is stored anew.
    created_at bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    primary key (tenant, thread_key, ns, checkpoint_id)
);
alter table checkpoints alter column documents set storage external;

-- delete_for_runs finds checkpoints of a run in all threads; most have none.
create index checkpoints_run on checkpoints (tenant, run_id) where run_id is not null;

-- Pending and delta writes. The checkpoint may come later or never. body and parts as in manifests.
create table writes (
    tenant text collate "C" not null,
    thread_key bigint not null,
    ns text collate "C" not null,
    checkpoint_id text collate "C" not null,
    task_id text collate "C" not null,
    idx integer not null,
    task_path text collate "C" not null,
    channel text collate "C" not null,
    -- Only for idx < 0, which replace: a later one of the same writer never gives way.
    writer text collate "C",
    seq bigint,
    tag text collate "C" not null,
    size_bytes integer not null,
    digest bytea not null,
    body bytea not null,
    parts bytea,
    primary key (tenant, thread_key, ns, checkpoint_id, task_id, idx)
);
alter table writes alter column body set storage external;
alter table writes alter column parts set storage external;

-- What a checkpoint shows of a delta channel whose ancestors were removed: the seed and the writes that the walk
-- would have found, as one sealed document.
create table delta_bases (
    tenant text collate "C" not null,
    thread_key bigint not null,
    ns text collate "C" not null,
    checkpoint_id text collate "C" not null,
    channel text collate "C" not null,
    document bytea not null,
    primary key (tenant, thread_key, ns, checkpoint_id, channel)
);
alter table delta_bases alter column document set storage external;

-- One value of a scope. body is its envelope; for a large one that of its ends, and parts lists the chunks between them:
-- 13 bytes each, 0 and the name of a chunk, or 1 and the name of a chunk that holds names of chunks.
create table manifests (
    tenant text collate "C" not null,
    scope_id bigint not null,
    no integer not null,
    version_key bigint not null,
    tag text collate "C" not null,
    size_bytes integer not null,
    digest bytea not null,
    body bytea not null,
    parts bytea,
    primary key (tenant, scope_id, no)
);
alter table manifests alter column body set storage external;
alter table manifests alter column parts set storage external;

-- Content, once per scope, named by its keyed digest (12 bytes). A chunk goes when no value of its scope names it.
create table chunks (
    tenant text collate "C" not null,
    scope_id bigint not null,
    name bytea not null,
    body bytea not null,
    primary key (tenant, scope_id, name)
);
alter table chunks alter column body set storage external;

-- Answers of requests with an Idempotency-Key, kept for 24 hours, written with the effect.
create table idempotency (
    tenant text collate "C" not null,
    caller text collate "C" not null,
    key text collate "C" not null,
    digest bytea not null,
    answer bytea not null,
    created_at bigint not null,
    primary key (tenant, caller, key)
);

-- What nobody can reach any more and slices still have to remove: rows of a deleted thread, of a copy that was
-- never finished. Written with the transaction that cuts them off.
create table garbage (
    tenant text collate "C" not null,
    thread_key bigint not null,
    scope_id bigint not null,
    created_at bigint not null,
    primary key (tenant, thread_key)
);
