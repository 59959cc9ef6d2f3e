-- Lists of assistants go from one graph that threads name to the next, and find the first and the last thread of each.
create index threads_graph on threads (tenant collate "POSIX", graph_id, assistant_id, created_at)
where graph_id is not null and octet_length(thread_id) <= 512;
