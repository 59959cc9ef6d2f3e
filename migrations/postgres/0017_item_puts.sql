-- A statement that only puts neither reads the items that it replaces nor looks for what they had in other tables.

-- What an item had beside its row goes when a put replaces it: vectors, the place in the queue of the server's vectors, and the
-- names of its chunks. A trigger, because only the row under the lock is surely the last one; it does not run for items
-- that had nothing, which are nearly all.
create function drop_item_belongings() returns trigger language plpgsql as $$
begin
    if old.vector_bytes > 0 then
        delete from item_vectors x
        where x.tenant = old.tenant and x.namespace = old.namespace and x.key = old.key
            and x.version <= old.version;
    end if;
    if old.is_indexed then
        delete from item_indexing x
        where x.tenant = old.tenant and x.namespace = old.namespace and x.key = old.key
            and x.version <= old.version;
    end if;
    if old.scope_id is not null then
        insert into garbage (tenant, thread_key, scope_id, created_at)
        values (old.tenant, old.scope_id, old.scope_id, new.updated_at)
        on conflict do nothing;
    end if;
    return null;
end
$$;
-- Nobody else has to call it; a trigger runs it without asking.
revoke all on function drop_item_belongings() from public;

create trigger items_put_again after update on items for each row
    when (new.version <> old.version
        and (old.scope_id is not null or old.vector_bytes > 0 or old.is_indexed))
    execute function drop_item_belongings();
