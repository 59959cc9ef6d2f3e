-- Followers of changed threads are told of deleted ones by their time.
create index thread_tombstones_deleted on thread_tombstones (tenant collate "POSIX", deleted_at);
