-- What namespaces declare, and earlier versions of items.

-- By prefix; of several that an item lies below, the longest that says something counts. An absent column says nothing.
create table namespace_settings (
    tenant text collate "C" not null,
    -- The labels, each with a zero byte behind it: servers hold all of them in memory and compare labels there.
    namespace bytea not null,
    -- Earlier versions that an item keeps.
    history integer,
    -- JSON: paths of the fields whose words are indexed; [] none, ["$"] all.
    text_fields text,
    changed_at bigint not null,
    primary key (tenant, namespace)
);

-- Earlier versions that the item keeps, as its last put decided; put by the trigger below, no row where it is 0.
alter table items add column history integer not null default 0;

-- The item's row as it was before a put replaced it. What is sealed is bound to namespace and key, so it opens here too.
create table item_versions (
    tenant text collate "C" not null,
    namespace text[] collate "C" not null,
    key bytea not null,
    version bigint not null,
    -- When this version was put.
    updated_at bigint not null,
    ttl_micros bigint,
    size_bytes integer not null,
    digest bytea not null,
    body bytea not null,
    parts bytea,
    scope_id bigint,
    primary key (tenant, namespace, key, version)
);
alter table item_versions alter column body set storage external;
alter table item_versions alter column parts set storage external;

-- What of a namespace root lies in chunks: the collection of its scope.
create index item_versions_scope on item_versions (tenant, scope_id) where scope_id is not null;

-- Triggers, because whatever replaces or removes an item (a batch, the sweep, an erasure) has to do this with it, in its
-- own statement; and because only the row that is being replaced is surely the last one. They do not run for items that keep
-- nothing.
create function keep_item_versions() returns trigger language plpgsql as $$
declare
    kept integer := 0;
begin
    if tg_op = 'UPDATE' then
        -- One that had expired is another item under the same name.
        if old.expires_at is null or old.expires_at > new.updated_at then
            kept := new.history;
        end if;
        if kept > 0 and new.version <> old.version then
            insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes,
                digest, body, parts, scope_id)
            values (old.tenant, old.namespace, old.key, old.version, old.updated_at, old.ttl_micros,
                old.size_bytes, old.digest, old.body, old.parts, old.scope_id);
        end if;
    end if;
    with gone as (
        delete from item_versions v
        where v.tenant = old.tenant and v.namespace = old.namespace and v.key = old.key
            and v.version <= (select w.version from item_versions w
                where w.tenant = old.tenant and w.namespace = old.namespace and w.key = old.key
                order by w.version desc offset kept limit 1)
        returning v.scope_id
    )
    -- Their chunks go with a collection, an hour later at the earliest: somebody may be reading them.
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct old.tenant, scope_id, scope_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint
    from gone where scope_id is not null
    on conflict do nothing;
    return null;
end
$$;
-- Nobody else has to call it; a trigger runs it without asking.
revoke all on function keep_item_versions() from public;

create trigger items_replaced after update on items for each row
    when ((new.history > 0 or old.history > 0)
        and (new.version <> old.version or new.history < old.history))
    execute function keep_item_versions();
create trigger items_removed after delete on items for each row
    when (old.history > 0) execute function keep_item_versions();

alter table namespace_settings enable row level security;
alter table item_versions enable row level security;
