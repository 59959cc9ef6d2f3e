-- UUID by which clients find a thread whose id is no UUID in its usual spelling; null for one whose id is. Programs compute it, because
-- neither engine can. A row of an earlier release has none until a server adds it.
alter table threads add column alias text;

-- The alias is that of the id. Servers of an earlier release rename threads and know of none.
create trigger threads_renamed after update of thread_id on threads
when new.thread_id <> old.thread_id and new.alias is old.alias and new.alias is not null
begin
    update threads set alias = null where tenant = new.tenant and thread_id = new.thread_id;
end;

create index threads_alias on threads (tenant, alias) where alias is not null;
create index threads_unaliased on threads (tenant, thread_key)
where alias is null and octet_length(thread_id) <= 512
    and thread_id not glob '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]';
