-- Contents of files that are too large for a value, and their uploads. A content is chunks in the content scope of its
-- namespace root; an item shows it.

create table contents (
    tenant text collate "C" not null,
    -- Random; also the id of the upload.
    content_id bytea not null,
    -- Where it is uploaded to: the labels, each with a zero byte behind it, and the key.
    namespace bytea not null,
    key bytea not null,
    scope_id bigint not null,
    -- Of all parts that have arrived.
    size_bytes bigint not null,
    -- What the bytes are known by, under the tenant's secret: empty until it is whole.
    digest bytea not null,
    created_at bigint not null,
    -- When it became whole; 0: it is still being uploaded.
    finished_at bigint not null,
    -- Since when nothing has used it; 0: an item shows it. A day later it goes.
    idle_since bigint not null,
    primary key (tenant, content_id)
);
create index contents_idle on contents (idle_since) where idle_since > 0;
create index contents_scope on contents (tenant, scope_id, finished_at);
-- Erasing a subject.
create index contents_place on contents (tenant, namespace);

-- Parts of an upload that have arrived. One that is sent again replaces the earlier one.
create table content_parts (
    tenant text collate "C" not null,
    content_id bytea not null,
    part bigint not null,
    -- Which slices are its own: each time that it is sent it has others.
    attempt bigint not null,
    size_bytes bigint not null,
    sha256 bytea not null,
    arrived_at bigint not null,
    primary key (tenant, content_id, part)
);

-- The bytes, some MiB in each row: the list of their chunks, as in manifests.
create table content_slices (
    tenant text collate "C" not null,
    content_id bytea not null,
    attempt bigint not null,
    no bigint not null,
    -- Where it begins in the content, once that is whole.
    start_at bigint not null,
    size_bytes bigint not null,
    scope_id bigint not null,
    parts bytea not null,
    primary key (tenant, content_id, attempt, no)
);
create index content_slices_start on content_slices (tenant, content_id, start_at);
-- The collection of a scope.
create index content_slices_scope on content_slices (tenant, scope_id);

-- A trigger, because whatever replaces or removes an item or a version of one (a batch, the sweep, an erasure) has to do this
-- with it.
create function show_contents() returns trigger language plpgsql as $$
begin
    if tg_op <> 'DELETE' then
        if new.content_id is not null then
            update contents set idle_since = 0
            where tenant = new.tenant and content_id = new.content_id and idle_since <> 0;
        end if;
    end if;
    if tg_op <> 'INSERT' then
        if old.content_id is not null and (tg_op = 'DELETE' or new.content_id is distinct from old.content_id) then
            -- Not at once: somebody may be reading it. The sweep looks whether something else shows it.
            update contents set idle_since = (extract(epoch from clock_timestamp()) * 1000000)::bigint
            where tenant = old.tenant and content_id = old.content_id;
        end if;
    end if;
    return null;
end
$$;
revoke all on function show_contents() from public;

create trigger contents_shown after insert on items for each row
    when (new.content_id is not null) execute function show_contents();
create trigger contents_exchanged after update on items for each row
    when (new.content_id is distinct from old.content_id) execute function show_contents();
create trigger contents_left after delete on items for each row
    when (old.content_id is not null) execute function show_contents();
create trigger contents_of_version_left after delete on item_versions for each row
    when (old.content_id is not null) execute function show_contents();

-- What shows a content.
create index items_content on items (tenant, content_id) where content_id is not null;
create index item_versions_content on item_versions (tenant, content_id) where content_id is not null;

alter table contents enable row level security;
alter table content_parts enable row level security;
alter table content_slices enable row level security;
