-- Searches by meaning. Everything here works without the extension `vector`; what needs it is made by the server where the
-- extension is there: the extension itself, and indexes on vectors.

create table item_vectors (
    tenant text collate "C" not null,
    namespace text[] collate "C" not null,
    key bytea not null,
    -- Of the item. A vector counts only while its item has this version: what a race leaves behind is never found.
    version bigint not null,
    -- Only vectors of one model are compared.
    model text collate "C" not null,
    no smallint not null,
    -- Path of the part of the value that it stands for, as its sender names it.
    field text not null,
    dims integer not null,
    -- An array, which needs no extension; indexes and statements cast it.
    vector real[] not null,
    primary key (tenant, namespace, key, version, model, no)
);
alter table item_vectors alter column vector set storage external;

alter table items
    -- Of its vectors; 0: there are none, and a put that replaces the item has none to look for.
    add column vector_bytes integer not null default 0,
    -- The server makes its vectors: it has a row in item_indexing.
    add column is_indexed boolean not null default false;

-- How long the vectors of a model are, from the first one on.
create table vector_models (
    tenant text collate "C" not null,
    model text collate "C" not null,
    dims integer not null,
    primary key (tenant, model)
);

-- Items whose vectors the server makes.
create table item_indexing (
    tenant text collate "C" not null,
    namespace text[] collate "C" not null,
    key bytea not null,
    version bigint not null,
    -- Paths of the texts in the value: a JSON list.
    fields text not null,
    -- What its vectors were made by; null: it has none yet.
    model text collate "C",
    -- When to make them, or to try again; null: they are made.
    due_at bigint,
    attempts integer not null default 0,
    primary key (tenant, namespace, key, version)
);
create index item_indexing_due on item_indexing (due_at) where due_at is not null;
-- What was made by another model.
create index item_indexing_model on item_indexing (model) where due_at is null;

-- Vectors say what is in the values: nobody but the owner sees a row.
alter table item_vectors enable row level security;
alter table vector_models enable row level security;
alter table item_indexing enable row level security;
