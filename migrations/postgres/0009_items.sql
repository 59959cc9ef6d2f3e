-- The store: JSON items under namespaces, which are arrays of labels.

create table items (
    tenant text collate "C" not null,
    namespace text[] collate "C" not null,
    -- Any string: UTF-8, with lone surrogates as three bytes each and NUL as it is, which text would refuse.
    key bytea not null,
    -- Begins at about the time of the creation in microseconds and grows by one with each put, so that no number comes twice
    -- for a key, also when the item was deleted in between.
    version bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    -- Time to live, and when it ends unless a read extends it. An item that has expired is absent to every statement.
    ttl_micros bigint,
    expires_at bigint,
    -- The exact JSON text: as in manifests. scope_id says where the chunks of parts are.
    size_bytes integer not null,
    digest bytea not null,
    body bytea not null,
    parts bytea,
    scope_id bigint,
    -- What filters look at, under the tenant's name: entries of an index that has no column for the tenant are then the
    -- tenant's own. Strings are escaped so that NUL and lone surrogates keep their place in the order; what is
    -- long is a mark.
    projection jsonb not null,
    -- The projection has marks: a match is looked at again in the text.
    has_marks boolean not null,
    primary key (tenant, namespace, key)
);
alter table items alter column body set storage external;
alter table items alter column parts set storage external;

-- Equality filters. Hashes of paths with values: an entry per scalar, however long its path is.
create index items_projection on items using gin (projection jsonb_path_ops);
-- The newest first, of a tenant and of large parts of it: it is walked until there are enough. Ties are sorted; names in the
-- index would cost every put more than that.
create index items_created on items (tenant, created_at desc);
-- The sweep of what has expired.
create index items_expiry on items (expires_at) where expires_at is not null;
-- What of a namespace root lies in chunks: the collection of its scope.
create index items_scope on items (tenant, scope_id) where scope_id is not null;

-- The content scope of a namespace root (the first label), made with the first item that needs one.
create table namespace_roots (
    tenant text collate "C" not null,
    root text collate "C" not null,
    scope_id bigint not null,
    primary key (tenant, root)
);

-- Nobody but the owner sees a row: values are sealed, and the projection says what is in them.
alter table items enable row level security;
alter table namespace_roots enable row level security;
