-- Files: as on PostgreSQL (migrations/postgres/0014_files.sql).

alter table items add column file_head blob;
alter table items add column content_id blob;
alter table item_versions add column file_head blob;
alter table item_versions add column content_id blob;

create index items_kept_elsewhere on items (tenant, namespace, key) where content_id is not null;
-- A listing reads nothing but this: in the table the value stands before what it wants, on pages of its own. Items that are no files
-- have no entry.
create index items_files on items (tenant, namespace, key, version, expires_at, digest, content_id, file_head)
    where file_head is not x'';

-- As in 0011, with the new columns.
drop trigger items_replaced;
create trigger items_replaced after update on items
when (new.history > 0 or old.history > 0) and (new.version <> old.version or new.history < old.history)
begin
    -- One that had expired is another item under the same name.
    insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes,
        digest, body, parts, scope_id, file_head, content_id)
    select old.tenant, old.namespace, old.key, old.version, old.updated_at, old.ttl_micros,
        old.size_bytes, old.digest, old.body, old.parts, old.scope_id, old.file_head, old.content_id
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
