-- Contents of files that are too large for a value, and their uploads: as on PostgreSQL
-- (migrations/postgres/0016_contents.sql).

create table contents (
    tenant text not null,
    content_id blob not null,
    namespace blob not null,
    key blob not null,
    scope_id integer not null,
    size_bytes integer not null,
    digest blob not null,
    created_at integer not null,
    finished_at integer not null,
    idle_since integer not null,
    primary key (tenant, content_id)
) strict;
create index contents_idle on contents (idle_since) where idle_since > 0;
create index contents_scope on contents (tenant, scope_id, finished_at);
create index contents_place on contents (tenant, namespace);

create table content_parts (
    tenant text not null,
    content_id blob not null,
    part integer not null,
    attempt integer not null,
    size_bytes integer not null,
    sha256 blob not null,
    arrived_at integer not null,
    primary key (tenant, content_id, part)
) strict;

create table content_slices (
    tenant text not null,
    content_id blob not null,
    attempt integer not null,
    no integer not null,
    start_at integer not null,
    size_bytes integer not null,
    scope_id integer not null,
    parts blob not null,
    primary key (tenant, content_id, attempt, no)
) strict;
create index content_slices_start on content_slices (tenant, content_id, start_at);
create index content_slices_scope on content_slices (tenant, scope_id);

create trigger contents_shown after insert on items when new.content_id is not null
begin
    update contents set idle_since = 0
    where tenant = new.tenant and content_id = new.content_id and idle_since <> 0;
end;

create trigger contents_exchanged after update on items when new.content_id is not old.content_id
begin
    update contents set idle_since = 0
    where tenant = new.tenant and content_id = new.content_id and idle_since <> 0;
    -- Not at once: somebody may be reading it. The sweep looks whether something else shows it.
    update contents set idle_since = cast(unixepoch('subsec') * 1000000 as integer)
    where tenant = old.tenant and content_id = old.content_id;
end;

create trigger contents_left after delete on items when old.content_id is not null
begin
    update contents set idle_since = cast(unixepoch('subsec') * 1000000 as integer)
    where tenant = old.tenant and content_id = old.content_id;
end;

create trigger contents_of_version_left after delete on item_versions when old.content_id is not null
begin
    update contents set idle_since = cast(unixepoch('subsec') * 1000000 as integer)
    where tenant = old.tenant and content_id = old.content_id;
end;

-- What shows a content.
create index items_content on items (tenant, content_id) where content_id is not null;
create index item_versions_content on item_versions (tenant, content_id) where content_id is not null;
