-- Files: items whose value has the shape of a file. What a listing shows of them stands beside the value, so that it opens none.

-- Null: not known, because the item was put before this migration: whoever lists it opens the value and notes it here. Empty: no
-- file. Else sealed like the value, which it is bound to: sizes, digest, times, media type (src/domain/files/head.rs). The
-- path is the key.
alter table items add column file_head bytea;
-- The name of a content that is not in the value, because it is too large for one. Null: the value has all.
alter table items add column content_id bytea;
alter table item_versions add column file_head bytea;
alter table item_versions add column content_id bytea;

-- The store cannot answer these, and says how many it leaves out.
create index items_kept_elsewhere on items (tenant, namespace, key) where content_id is not null;

-- As in 0011, with the new columns.
create or replace function keep_item_versions() returns trigger language plpgsql as $$
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
                digest, body, parts, scope_id, file_head, content_id)
            values (old.tenant, old.namespace, old.key, old.version, old.updated_at, old.ttl_micros,
                old.size_bytes, old.digest, old.body, old.parts, old.scope_id, old.file_head, old.content_id);
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
