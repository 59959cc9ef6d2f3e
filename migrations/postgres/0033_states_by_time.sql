-- Threads in a rare state, the newest first.
create index threads_run_state_created on threads (tenant collate "POSIX", run_state, created_at) where run_state <> 0;
