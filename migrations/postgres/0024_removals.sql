-- Since when something of a tenant was deleted. An import keeps the versions of a file while nothing was: from then on a client may hold a
-- greater version of an item that is not there, so what is imported gets new ones. Written once for a tenant, by triggers, because items
-- go in many ways and leave nothing behind.

alter table tenants add column removed_at bigint;
-- What was deleted before this left no trace.
update tenants set removed_at = created_at;

create function note_removal() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        update tenants set removed_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint
        where tenant = old.tenant and removed_at is null;
    else
        update tenants set removed_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint
        where tenant = new.tenant and removed_at is null;
    end if;
    return null;
end
$$;
-- Nobody else has to call it; a trigger runs it without asking.
revoke all on function note_removal() from public;

create trigger items_removal_noted after delete on items for each row execute function note_removal();
create trigger threads_removal_noted after insert on thread_tombstones for each row execute function note_removal();
