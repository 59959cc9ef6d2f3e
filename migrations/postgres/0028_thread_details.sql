-- What people set of a thread: title and metadata. A thread without a row has none. The row belongs to the thread's key, so it follows
-- the thread through a restore and is removed with what the thread holds. No commit touches it.
create table thread_details (
    tenant text collate "C" not null,
    thread_key bigint not null,
    -- About the time of the change in microseconds, and greater with each. A thread without a row has 0.
    version bigint not null,
    -- A JSON object with title and metadata, sealed in the thread's scope.
    document bytea not null,
    -- What filters look at, as in items; null where content is encrypted.
    projection jsonb,
    has_marks boolean not null,
    -- The title in small letters; null for none, and where content is encrypted.
    title_folded text collate "C",
    primary key (tenant, thread_key)
);
alter table thread_details alter column document set storage external;
create index thread_details_projection on thread_details using gin (projection jsonb_path_ops);
alter table thread_details enable row level security;
