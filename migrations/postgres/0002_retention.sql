-- Retention: what a tenant, or a thread for itself, wants to be removed by itself, and what was removed.
-- Times are microseconds since 1970 UTC. Texts that callers choose compare by bytes.

-- One row per policy. kind is 'tenant' (thread_id is empty) or 'thread'; a thread's own replaces the tenant's.
create table retention_policies (
    tenant text collate "C" not null,
    kind text collate "C" not null,
    thread_id text collate "C" not null,
    expire_after_seconds bigint,
    keep_last bigint,
    older_than_seconds bigint,
    keep_interrupted boolean not null,
    dry_run boolean not null,
    created_at bigint not null,
    updated_at bigint not null,
    due_at bigint not null,
    -- The round in progress: since when, who works on it until when, and the last thread that is done. A round whose
    -- claim has run out is taken over where it stands.
    round_started_at bigint,
    claimed_by text collate "C",
    claimed_until bigint,
    last_thread_id text collate "C" not null default '',
    -- What the round has done. Removals are counted in the transaction that makes them.
    examined bigint not null default 0,
    expired bigint not null default 0,
    pruned bigint not null default 0,
    skipped bigint not null default 0,
    errors bigint not null default 0,
    last_error text collate "C",
    removed_checkpoints bigint not null default 0,
    removed_writes bigint not null default 0,
    removed_values bigint not null default 0,
    removed_size_bytes bigint not null default 0,
    removed_stored_bytes bigint not null default 0,
    -- Threads without a commit since then hold nothing that could be pruned: earlier rounds looked at them.
    swept_to bigint,
    primary key (tenant, kind, thread_id)
);

-- Servers ask for what is due, over all tenants.
create index retention_policies_due on retention_policies (due_at);

-- One row per finished round, kept for 30 days. A round that removed nothing, and a dry run, replaces the last
-- such report of its policy.
create table retention_reports (
    tenant text collate "C" not null,
    report_id text collate "C" not null,
    kind text collate "C" not null,
    thread_id text collate "C" not null,
    started_at bigint not null,
    finished_at bigint not null,
    dry_run boolean not null,
    has_removed boolean not null,
    examined bigint not null,
    expired bigint not null,
    pruned bigint not null,
    skipped bigint not null,
    errors bigint not null,
    last_error text collate "C",
    removed_checkpoints bigint not null,
    removed_writes bigint not null,
    removed_values bigint not null,
    removed_size_bytes bigint not null,
    removed_stored_bytes bigint not null,
    primary key (tenant, report_id)
);

-- Listings newest first; replacing the report of a policy.
create index retention_reports_finished on retention_reports (tenant, finished_at, report_id);
create index retention_reports_policy on retention_reports (tenant, kind, thread_id);
