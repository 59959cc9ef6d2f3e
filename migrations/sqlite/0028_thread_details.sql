-- What people set of a thread: title and metadata. A thread without a row has none. The row belongs to the thread's key, so it follows
-- the thread through a restore and is removed with what the thread holds. No commit touches it.
create table thread_details (
    tenant text not null,
    thread_key integer not null,
    -- About the time of the change in microseconds, and greater with each. A thread without a row has 0.
    version integer not null,
    -- A JSON object with title and metadata, sealed in the thread's scope.
    document blob not null,
    -- Filters are decided on the document: nothing looks at these two.
    projection text,
    has_marks integer not null,
    -- The title in small letters; null for none, and where content is encrypted.
    title_folded text,
    primary key (tenant, thread_key)
) strict;
