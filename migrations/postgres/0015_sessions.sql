-- Sessions: append-only streams, small documents and counters of agents that are not LangGraph.
-- Times are microseconds since 1970 UTC. What callers name is bytes, so that any text is a name.

-- One session. key is the list of its parts, encoded so that bytes order like parts and a prefix is a range
-- (domain/sessions/name.rs). session_no is random and new for each incarnation, like a thread's key. title is sealed.
-- Every write locks the row of its content scope first. No index holds what an append changes.
create table sessions (
    tenant text collate "C" not null,
    kind text collate "C" not null,
    key bytea not null,
    session_no bigint not null,
    scope_id bigint not null,
    owner text collate "C",
    user_id text collate "C",
    agent text collate "C",
    title bytea,
    created_at bigint not null,
    updated_at bigint not null,
    -- How many compactions there were: the number of the last archive.
    archives bigint not null,
    -- Numbers of logs are never given twice.
    next_log bigint not null,
    size_bytes bigint not null,
    primary key (tenant, kind, key)
) with (fillfactor = 70);
create unique index sessions_no on sessions (tenant, session_no);
-- From a content scope to the session that holds it.
create unique index sessions_scope on sessions (tenant, scope_id);
create index sessions_user on sessions (tenant, kind, user_id) where user_id is not null;
create index sessions_owner on sessions (tenant, owner) where owner is not null;

-- Streams (kind 0), documents (1), counters (2) and what was removed of them and still has rows (3).
-- A stream shows of its log the entries of its era, if that is not 0, and those of era 0 with floor < seq <= ceiling. So a
-- compaction writes one entry and two of these rows, whatever it archives. A document is the pieces above its floor, joined.
-- A counter has no entries: its head is its value.
create table session_logs (
    tenant text collate "C" not null,
    session_no bigint not null,
    kind bigint not null,
    name bytea not null,
    log_no bigint not null,
    era bigint not null,
    floor bigint not null,
    ceiling bigint,
    head bigint not null,
    -- Where the last compaction found the head.
    compacted_head bigint not null,
    -- Of a document its version; of a stream how many entries its era has.
    version bigint not null,
    -- Of documents.
    size_bytes bigint not null,
    updated_at bigint not null,
    primary key (tenant, session_no, kind, name)
) with (fillfactor = 70);

-- Entries and pieces. entry_no is what the body is sealed for. body and parts as in manifests; chunks lie in the
-- session's scope.
create table session_entries (
    tenant text collate "C" not null,
    session_no bigint not null,
    log_no bigint not null,
    era bigint not null,
    seq bigint not null,
    entry_no bigint not null,
    id bytea,
    at bigint not null,
    size_bytes bigint not null,
    digest bytea not null,
    body bytea not null,
    parts bytea,
    primary key (tenant, session_no, log_no, era, seq)
);
alter table session_entries alter column body set storage external;
alter table session_entries alter column parts set storage external;
-- An id comes once in a log; what was archived counts.
create unique index session_entries_id on session_entries (tenant, session_no, log_no, id) where id is not null;
-- What of a session lies in chunks: the collection of its scope.
create index session_entries_parts on session_entries (tenant, session_no) where parts is not null;

-- Nobody but the owner sees a row.
alter table sessions enable row level security;
alter table session_logs enable row level security;
alter table session_entries enable row level security;
