-- Quotas: how much a tenant may keep and how often it may ask; and the audit log.
-- The same tables as on PostgreSQL (migrations/postgres/0007_quotas_audit.sql).

-- One row per tenant that has a quota; null is unlimited. What is used is added up from the threads.
create table quotas (
    tenant text primary key not null,
    bytes_max integer,
    threads_max integer,
    items_max integer,
    requests_per_second integer,
    requests_per_second_per_token integer,
    updated_at integer not null
) strict;

-- Administrative acts, each written by the transaction that does it, and refusals: one row per minute, credential, code
-- and route. Refusals of callers that nobody knows have the empty tenant.
create table audit_events (
    tenant text not null,
    at integer not null,
    event_id text not null,
    actor text not null,
    act text not null,
    -- What the act was done to.
    object text not null,
    -- JSON.
    details text not null,
    count integer not null,
    primary key (tenant, at, event_id)
) strict, without rowid;

-- What has been kept for long enough.
create index audit_events_at on audit_events (at);
