-- What namespaces declare, and earlier versions of items: as on PostgreSQL (migrations/postgres/0011_item_history.sql).

create table namespace_settings (
    tenant text not null,
    namespace blob not null,
    history integer,
    text_fields text,
    changed_at integer not null,
    primary key (tenant, namespace)
) strict, without rowid;

-- Earlier versions that the item keeps, as its last put decided; put by the triggers below, no row where it is 0.
alter table items add column history integer not null default 0;

create table item_versions (
    tenant text not null,
    namespace blob not null,
    key blob not null,
    version integer not null,
    -- When this version was put.
    updated_at integer not null,
    ttl_micros integer,
    size_bytes integer not null,
    digest blob not null,
    body blob not null,
    parts blob,
    scope_id integer,
    primary key (tenant, namespace, key, version)
) strict;

-- What of a namespace root lies in chunks: the collection of its scope.
create index item_versions_scope on item_versions (tenant, scope_id) where scope_id is not null;

create trigger items_replaced after update on items
when (new.history > 0 or old.history > 0) and (new.version <> old.version or new.history < old.history)
begin
    -- One that had expired is another item under the same name.
    insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes,
        digest, body, parts, scope_id)
    select old.tenant, old.namespace, old.key, old.version, old.updated_at, old.ttl_micros,
        old.size_bytes, old.digest, old.body, old.parts, old.scope_id
    where new.history > 0 and new.version <> old.version
        and (old.expires_at is null or old.expires_at > new.updated_at);
    -- Chunks go with a collection, an hour later at the earliest: somebody may be reading them.
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct v.tenant, v.scope_id, v.scope_id, cast(unixepoch('subsec') * 1000000 as integer)
    from item_versions v
    where v.tenant = old.tenant and v.namespace = old.namespace and v.key = old.key
        and v.scope_id is not null and v.version <= (
            select w.version from item_versions w
            where w.tenant = old.tenant and w.namespace = old.namespace and w.key = old.key
            order by w.version desc limit 1 offset iif(
                old.expires_at is null or old.expires_at > new.updated_at, new.history, 0))
    on conflict (tenant, thread_key) do nothing;
    delete from item_versions
    where tenant = old.tenant and namespace = old.namespace and key = old.key and version <= (
            select w.version from item_versions w
            where w.tenant = old.tenant and w.namespace = old.namespace and w.key = old.key
            order by w.version desc limit 1 offset iif(
                old.expires_at is null or old.expires_at > new.updated_at, new.history, 0));
end;

create trigger items_removed after delete on items when old.history > 0
begin
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct v.tenant, v.scope_id, v.scope_id, cast(unixepoch('subsec') * 1000000 as integer)
    from item_versions v
    where v.tenant = old.tenant and v.namespace = old.namespace and v.key = old.key
        and v.scope_id is not null
    on conflict (tenant, thread_key) do nothing;
    delete from item_versions
    where tenant = old.tenant and namespace = old.namespace and key = old.key;
end;
