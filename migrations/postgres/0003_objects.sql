-- Object storage: cold chunks lie in packs, immutable objects outside the database. The row of a packed chunk stays; its
-- body is then a place: the byte 2, the pack's id (16 bytes), start and length (4 bytes each, little endian).

-- A pack: bytes it has, bytes of chunks that still point to it. Kept with the transaction that moves or drops chunks; a pack
-- whose last chunk goes moves to object_deletions in that transaction.
create table packs (
    tenant text collate "C" not null,
    scope_id bigint not null,
    -- Random, never used again: the name of its object.
    pack_id bytea not null,
    size_bytes bigint not null,
    live_bytes bigint not null,
    created_at bigint not null,
    primary key (tenant, scope_id, pack_id)
);

-- Those that are rewritten.
create index packs_sparse on packs (tenant, scope_id) where live_bytes * 2 < size_bytes;

-- Objects that are about to be written, noted before the upload begins; taken back by the transaction that makes a pack of
-- it. What is left after a day is deleted.
create table uploads (
    tenant text collate "C" not null,
    pack_id bytea not null,
    scope_id bigint not null,
    created_at bigint not null,
    primary key (tenant, pack_id)
);

-- The outbox: objects that nothing in the database points to any more. They are deleted an hour later at the earliest, since
-- reads that began before may still ask for them.
create table object_deletions (
    tenant text collate "C" not null,
    pack_id bytea not null,
    dropped_at bigint not null,
    -- The server that took it has until then.
    claimed_until bigint not null,
    primary key (tenant, pack_id)
);
create index object_deletions_due on object_deletions (dropped_at);

-- What the packer knows of a scope: the last commit to its threads when it was last packed (-1: never), and until when a
-- server has taken it.
create table scope_packing (
    tenant text collate "C" not null,
    scope_id bigint not null,
    packed_at bigint not null,
    claimed_until bigint not null,
    primary key (tenant, scope_id)
);

-- Whether all threads of a scope are cold. A commit changes neither column, so its updates stay heap-only.
create index threads_scope on threads (tenant, scope_id);
