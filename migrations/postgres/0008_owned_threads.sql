-- Ownership: who a deleted thread and the thread of a report belonged to, and the threads of an owner.

-- A caller with nothing but its own sees of a deleted thread only what was its own; null: nobody's.
alter table thread_tombstones add column owner text collate "C";

-- Whose the thread of a report was: somebody else may have its id by now.
alter table retention_reports add column owner text collate "C";

-- Listings of what a subject owns, newest first. The owner is written once, so commits stay heap-only; a thread without one
-- costs nothing here. Without thread_id, as threads_created.
create index threads_owner on threads (tenant, owner, created_at) where owner is not null;
