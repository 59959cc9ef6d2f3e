-- The `run_of` at which short values were derived, which the projection of the thread's details has. Where it is another one they are not
-- known: 0 for never, -1 where not all of them can be told.
alter table threads add column values_of integer not null default 0;
create index threads_values_unknown on threads (tenant, thread_key) where values_of <> run_of;
