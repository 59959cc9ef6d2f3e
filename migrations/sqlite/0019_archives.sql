-- Archives of workspaces: the same tables as on PostgreSQL (migrations/postgres/0019_archives.sql), in SQLite's idiom.

create table workspaces (
    tenant text not null,
    -- Whose it is; empty: of a key of the whole tenant. The same name of two subjects is two workspaces.
    owner text not null,
    name text not null,
    scope_id integer not null,
    primary key (tenant, owner, name)
) strict;

create table archives (
    tenant text not null,
    content_id blob not null,
    owner text not null,
    workspace text not null,
    scope_id integer not null,
    -- What the bytes are known by and how many files there are, sealed for the scope. Empty until it is whole.
    head blob not null,
    -- When it became whole; 0: it is still arriving.
    staged_at integer not null,
    primary key (tenant, content_id)
) strict;
-- The last of a workspace; erasing a subject.
create index archives_workspace on archives (tenant, owner, workspace);

-- Which archive a snapshot has.
create table snapshot_archives (
    tenant text not null,
    snapshot_no integer not null,
    content_id blob not null,
    primary key (tenant, snapshot_no)
) strict;
-- What shows a content.
create index snapshot_archives_content on snapshot_archives (tenant, content_id);
