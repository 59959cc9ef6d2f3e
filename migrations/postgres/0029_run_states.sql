-- What the newest checkpoint of the root graph says about the run of a thread. It is derived from the stored rows after a commit, so no
-- commit waits for it. All threads that are there begin as stale.
-- 0 idle, 1 waits for a person, 2 failed, 3 has tasks to run.
alter table threads add column run_state smallint not null default 0;
-- The `updated_at` that it was derived at. Details move it along, because they change nothing of the run.
alter table threads add column run_of bigint not null default 0;
-- When checkpoints or writes last changed, as far as it was derived; 0 for never.
alter table threads add column run_at bigint not null default 0;
-- Something changed since. The trigger sets it, whoever writes; only a derivation takes it back.
alter table threads add column is_stale boolean not null default true;

create function mark_run_stale_29() returns trigger language plpgsql as $$
begin
    new.is_stale := true;
    return new;
end
$$;
revoke execute on function mark_run_stale_29() from public;
create trigger threads_stale before update on threads for each row
when (not new.is_stale and (new.updated_at is distinct from new.run_of or new.size_bytes is distinct from old.size_bytes
    or new.checkpoint_count is distinct from old.checkpoint_count))
execute function mark_run_stale_29();

-- No index has a column that each commit changes: the first commit after a derivation writes them anew, the next ones do not.
create index threads_stale on threads (tenant collate "POSIX", thread_key) where is_stale and octet_length(thread_id) <= 512;
-- Of a thread that is not stale it is the time of its last change.
create index threads_updated on threads (tenant collate "POSIX", run_of) where not is_stale;
create index threads_run_at on threads (tenant collate "POSIX", run_at);
create index threads_run_state on threads (tenant collate "POSIX", run_state, run_of) where run_state <> 0;
