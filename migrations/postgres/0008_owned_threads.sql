-- Listings of what a subject owns, newest first. The owner is written once, so commits stay heap-only; a thread without one
-- costs nothing here. With thread_id, so that pages need no sort even while the planner takes a subject's threads for few;
-- no statement that looks for one thread says whose it is in a way that leads here.
create index threads_owner on threads (tenant, owner, created_at, thread_id) where owner is not null;
