-- Object storage: the same tables as on PostgreSQL (migrations/postgres/0003_objects.sql), in SQLite's idiom. The row of a
-- packed chunk stays; its body is then a place: the byte 2, the pack's id (16 bytes), start and length (4 bytes each, little
-- endian).

-- A pack: bytes it has, bytes of chunks that still point to it. Kept with the transaction that moves or drops chunks; a pack
-- whose last chunk goes moves to object_deletions in that transaction.
create table packs (
    tenant text not null,
    scope_id integer not null,
    -- Random, never used again: the name of its object.
    pack_id blob not null,
    size_bytes integer not null,
    live_bytes integer not null,
    created_at integer not null,
    primary key (tenant, scope_id, pack_id)
) strict, without rowid;

-- Objects that are about to be written, noted before the upload begins; taken back by the transaction that makes a pack of
-- it. What is left after a day is deleted.
create table uploads (
    tenant text not null,
    pack_id blob not null,
    scope_id integer not null,
    created_at integer not null,
    primary key (tenant, pack_id)
) strict, without rowid;

-- The outbox: objects that nothing in the database points to any more. They are deleted an hour later at the earliest, since
-- reads that began before may still ask for them.
create table object_deletions (
    tenant text not null,
    pack_id blob not null,
    dropped_at integer not null,
    -- Whoever took it has until then.
    claimed_until integer not null,
    primary key (tenant, pack_id)
) strict, without rowid;

-- What the packer knows of a scope: the last commit to its threads when it was last packed (-1: never), and until when it is
-- taken.
create table scope_packing (
    tenant text not null,
    scope_id integer not null,
    packed_at integer not null,
    claimed_until integer not null,
    primary key (tenant, scope_id)
) strict, without rowid;

-- Whether all threads of a scope are cold.
create index threads_scope on threads (tenant, scope_id);
