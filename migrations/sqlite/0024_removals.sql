-- Since when something of a tenant was deleted: as on PostgreSQL (migrations/postgres/0024_removals.sql).

alter table tenants add column removed_at integer;
-- What was deleted before this left no trace.
update tenants set removed_at = created_at;

create trigger items_removal_noted after delete on items begin
    update tenants set removed_at = cast(unixepoch('subsec') * 1000000 as integer)
    where tenant = old.tenant and removed_at is null;
end;

create trigger threads_removal_noted after insert on thread_tombstones begin
    update tenants set removed_at = cast(unixepoch('subsec') * 1000000 as integer)
    where tenant = new.tenant and removed_at is null;
end;
