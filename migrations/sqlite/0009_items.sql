-- The store: the same tables as on PostgreSQL (migrations/postgres/0009_items.sql), in SQLite's idiom.

create table items (
    tenant text not null,
    -- The labels, each with a zero byte behind it: injective, because labels hold none, and in the order of the labels.
    namespace blob not null,
    -- Any string: UTF-8, with lone surrogates as three bytes each and NUL as it is.
    key blob not null,
    -- Begins at about the time of the creation in microseconds and grows by one with each put, so that no number comes twice
    -- for a key, also when the item was deleted in between.
    version integer not null,
    created_at integer not null,
    updated_at integer not null,
    ttl_micros integer,
    expires_at integer,
    -- The exact JSON text: as in manifests. scope_id says where the chunks of parts are.
    size_bytes integer not null,
    digest blob not null,
    body blob not null,
    parts blob,
    scope_id integer,
    primary key (tenant, namespace, key)
) strict;

-- The sweep of what has expired.
create index items_expiry on items (expires_at) where expires_at is not null;
-- What of a namespace root lies in chunks: the collection of its scope.
create index items_scope on items (tenant, scope_id) where scope_id is not null;

-- The content scope of a namespace root (the first label), made with the first item that needs one.
create table namespace_roots (
    tenant text not null,
    root text not null,
    scope_id integer not null,
    primary key (tenant, root)
) strict, without rowid;
