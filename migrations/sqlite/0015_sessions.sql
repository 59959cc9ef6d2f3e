-- Sessions: the same tables as on PostgreSQL (migrations/postgres/0015_sessions.sql), in SQLite's idiom.
-- Times are microseconds since 1970 UTC. What callers name is bytes, so that any text is a name.

-- One session. key is the list of its parts, encoded so that bytes order like parts and a prefix is a range
-- (domain/sessions/name.rs). session_no is random and new for each incarnation, like a thread's key. title is sealed.
-- Every write locks the row of its content scope first. No index holds what an append changes.
create table sessions (
    tenant text not null,
    kind text not null,
    key blob not null,
    session_no integer not null,
    scope_id integer not null,
    owner text,
    user_id text,
    agent text,
    title blob,
    created_at integer not null,
    updated_at integer not null,
    -- How many compactions there were: the number of the last archive.
    archives integer not null,
    -- Numbers of logs are never given twice.
    next_log integer not null,
    size_bytes integer not null,
    primary key (tenant, kind, key)
) strict;
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
    tenant text not null,
    session_no integer not null,
    kind integer not null,
    name blob not null,
    log_no integer not null,
    era integer not null,
    floor integer not null,
    ceiling integer,
    head integer not null,
    -- Where the last compaction found the head.
    compacted_head integer not null,
    -- Of a document its version; of a stream how many entries its era has.
    version integer not null,
    -- Of documents.
    size_bytes integer not null,
    updated_at integer not null,
    primary key (tenant, session_no, kind, name)
) strict;

-- Entries and pieces. entry_no is what the body is sealed for. body and parts as in manifests; chunks lie in the
-- session's scope.
create table session_entries (
    tenant text not null,
    session_no integer not null,
    log_no integer not null,
    era integer not null,
    seq integer not null,
    entry_no integer not null,
    id blob,
    at integer not null,
    size_bytes integer not null,
    digest blob not null,
    body blob not null,
    parts blob,
    primary key (tenant, session_no, log_no, era, seq)
) strict;
-- An id comes once in a log; what was archived counts.
create unique index session_entries_id on session_entries (tenant, session_no, log_no, id) where id is not null;
-- What of a session lies in chunks: the collection of its scope.
create index session_entries_parts on session_entries (tenant, session_no) where parts is not null;

