-- Retention: what a tenant, or a thread for itself, wants to be removed by itself, and what was removed.
-- The same tables as on PostgreSQL (migrations/postgres/0002_retention.sql).

-- One row per policy. kind is 'tenant' (thread_id is empty) or 'thread'; a thread's own replaces the tenant's.
create table retention_policies (
    tenant text not null,
    kind text not null,
    thread_id text not null,
    expire_after_seconds integer,
    keep_last integer,
    older_than_seconds integer,
    keep_interrupted integer not null,
    dry_run integer not null,
    created_at integer not null,
    updated_at integer not null,
    due_at integer not null,
    -- The round in progress: since when, who works on it until when, and the last thread that is done. A round whose
    -- claim has run out is taken over where it stands.
    round_started_at integer,
    claimed_by text,
    claimed_until integer,
    last_thread_id text not null default '',
    -- What the round has done. Removals are counted in the transaction that makes them.
    examined integer not null default 0,
    expired integer not null default 0,
    pruned integer not null default 0,
    skipped integer not null default 0,
    errors integer not null default 0,
    last_error text,
    removed_checkpoints integer not null default 0,
    removed_writes integer not null default 0,
    removed_values integer not null default 0,
    removed_size_bytes integer not null default 0,
    removed_stored_bytes integer not null default 0,
    -- Threads without a commit since then hold nothing that could be pruned: earlier rounds looked at them.
    swept_to integer,
    primary key (tenant, kind, thread_id)
) strict;

-- Servers ask for what is due, over all tenants.
create index retention_policies_due on retention_policies (due_at);

-- One row per finished round, kept for 30 days. A round that removed nothing, and a dry run, replaces the last
-- such report of its policy.
create table retention_reports (
    tenant text not null,
    report_id text not null,
    kind text not null,
    thread_id text not null,
    started_at integer not null,
    finished_at integer not null,
    dry_run integer not null,
    has_removed integer not null,
    examined integer not null,
    expired integer not null,
    pruned integer not null,
    skipped integer not null,
    errors integer not null,
    last_error text,
    removed_checkpoints integer not null,
    removed_writes integer not null,
    removed_values integer not null,
    removed_size_bytes integer not null,
    removed_stored_bytes integer not null,
    primary key (tenant, report_id)
) strict;

-- Listings newest first; replacing the report of a policy.
create index retention_reports_finished on retention_reports (tenant, finished_at, report_id);
create index retention_reports_policy on retention_reports (tenant, kind, thread_id);
