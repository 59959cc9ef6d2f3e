-- Ownership: who a deleted thread and the thread of a report belonged to, and the threads of an owner.

-- A caller with nothing but its own sees of a deleted thread only what was its own; null: nobody's.
alter table thread_tombstones add column owner text;

-- Whose the thread of a report was: somebody else may have its id by now.
alter table retention_reports add column owner text;

-- Listings of what a subject owns, newest first.
create index threads_owner on threads (tenant, owner, created_at, thread_id) where owner is not null;
