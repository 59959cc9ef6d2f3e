-- UUID by which clients find a thread whose id is no UUID in its usual spelling; null for one whose id is. Programs compute it, because
-- neither engine can. A row of an earlier release has none until a server adds it.
alter table threads add column alias text collate "C";

-- The alias is that of the id. Servers of an earlier release rename threads and know of none.
create function drop_alias_31() returns trigger language plpgsql as $$
begin
    new.alias := null;
    return new;
end
$$;
revoke execute on function drop_alias_31() from public;
create trigger threads_renamed before update of thread_id on threads for each row
when (new.thread_id is distinct from old.thread_id and new.alias is not distinct from old.alias)
execute function drop_alias_31();

create index threads_alias on threads (tenant collate "POSIX", alias) where alias is not null;
create index threads_unaliased on threads (tenant collate "POSIX", thread_key)
where alias is null and octet_length(thread_id) <= 512
    and thread_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
