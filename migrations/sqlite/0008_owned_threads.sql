-- Listings of what a subject owns, newest first.
create index threads_owner on threads (tenant, owner, created_at, thread_id) where owner is not null;
