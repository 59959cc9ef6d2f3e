-- Searches by meaning: the same tables as on PostgreSQL (migrations/postgres/0010_vectors.sql), in SQLite's idiom.

create table item_vectors (
    tenant text not null,
    namespace blob not null,
    key blob not null,
    -- Of the item. A vector counts only while its item has this version.
    version integer not null,
    -- Only vectors of one model are compared.
    model text not null,
    no integer not null,
    -- Path of the part of the value that it stands for, as its sender names it.
    field text not null,
    dims integer not null,
    -- 32-bit floats, little-endian.
    vector blob not null,
    primary key (tenant, namespace, key, version, model, no)
) strict;

-- Of its vectors; 0: there are none, and a put that replaces the item has none to look for.
alter table items add column vector_bytes integer not null default 0;
-- The server makes its vectors: it has a row in item_indexing.
alter table items add column is_indexed integer not null default 0;

-- How long the vectors of a model are, from the first one on.
create table vector_models (
    tenant text not null,
    model text not null,
    dims integer not null,
    primary key (tenant, model)
) strict, without rowid;

-- Items whose vectors the server makes.
create table item_indexing (
    tenant text not null,
    namespace blob not null,
    key blob not null,
    version integer not null,
    -- Paths of the texts in the value: a JSON list.
    fields text not null,
    -- What its vectors were made by; null: it has none yet.
    model text,
    -- When to make them, or to try again; null: they are made.
    due_at integer,
    attempts integer not null default 0,
    primary key (tenant, namespace, key, version)
) strict;
create index item_indexing_due on item_indexing (due_at) where due_at is not null;
-- What was made by another model.
create index item_indexing_model on item_indexing (model) where due_at is null;
