-- Archives of workspaces: what a sandbox has in its working directory, kept as the tar that it came as. An archive is a content
-- (migrations 0016) in the scope of its workspace; a snapshot shows it.

-- Names that callers give. Each has a content scope of its own, which all of its archives share, so that an archive stores what
-- is new since the last one. It goes with its last archive.
create table workspaces (
    tenant text collate "C" not null,
    -- Whose it is; empty: of a key of the whole tenant. The same name of two subjects is two workspaces.
    owner text collate "C" not null,
    name text collate "C" not null,
    scope_id bigint not null,
    primary key (tenant, owner, name)
);

create table archives (
    tenant text collate "C" not null,
    content_id bytea not null,
    owner text collate "C" not null,
    workspace text collate "C" not null,
    scope_id bigint not null,
    -- What the bytes are known by and how many files there are, sealed for the scope: a digest beside sealed bytes would say
    -- which they are. Empty until it is whole.
    head bytea not null,
    -- When it became whole; 0: it is still arriving.
    staged_at bigint not null,
    primary key (tenant, content_id)
);
-- The last of a workspace; erasing a subject.
create index archives_workspace on archives (tenant, owner, workspace);

-- Which archive a snapshot has.
create table snapshot_archives (
    tenant text collate "C" not null,
    snapshot_no bigint not null,
    content_id bytea not null,
    primary key (tenant, snapshot_no)
);
-- What shows a content.
create index snapshot_archives_content on snapshot_archives (tenant, content_id);

-- Nobody but the owner sees a row.
alter table workspaces enable row level security;
alter table archives enable row level security;
alter table snapshot_archives enable row level security;
