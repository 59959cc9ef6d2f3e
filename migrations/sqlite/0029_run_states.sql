-- What the newest checkpoint of the root graph says about the run of a thread. It is derived from the stored rows after a commit, so no
-- commit waits for it. All threads that are there begin as stale.
-- 0 idle, 1 waits for a person, 2 failed, 3 has tasks to run.
alter table threads add column run_state integer not null default 0;
-- The `updated_at` that it was derived at. Details move it along, because they change nothing of the run.
alter table threads add column run_of integer not null default 0;
-- When checkpoints or writes last changed, as far as it was derived; 0 for never.
alter table threads add column run_at integer not null default 0;
-- Something changed since. The trigger sets it, whoever writes; only a derivation takes it back.
alter table threads add column is_stale integer not null default 1;

create trigger threads_stale after update on threads
when not new.is_stale and (new.updated_at <> new.run_of or new.size_bytes <> old.size_bytes
    or new.checkpoint_count <> old.checkpoint_count)
begin
    update threads set is_stale = 1 where tenant = new.tenant and thread_id = new.thread_id;
end;

create index threads_stale on threads (tenant, thread_key) where is_stale and octet_length(thread_id) <= 512;
-- Of a thread that is not stale it is the time of its last change.
create index threads_updated on threads (tenant, run_of) where not is_stale;
create index threads_run_at on threads (tenant, run_at);
create index threads_run_state on threads (tenant, run_state, run_of) where run_state <> 0;
