-- Quotas: how much a tenant may keep and how often it may ask; and the audit log.
-- Times are microseconds since 1970 UTC. Texts that callers choose compare by bytes. Texts that are absent are empty.

-- One row per tenant that has a quota; null is unlimited. What is used is not here: a row that every commit of a tenant
-- changed would be a lock over all its threads, so servers add it up from the threads.
create table quotas (
    tenant text collate "C" primary key,
    bytes_max bigint,
    threads_max bigint,
    items_max bigint,
    requests_per_second bigint,
    requests_per_second_per_token bigint,
    updated_at bigint not null
);

-- Administrative acts, each written by the transaction that does it, and refusals: one row per minute, credential, code
-- and route, whose id follows from these, so that any number of servers count in it. Refusals of callers that nobody
-- knows have the empty tenant, which no key can open.
create table audit_events (
    tenant text collate "C" not null,
    at bigint not null,
    event_id text collate "C" not null,
    actor text collate "C" not null,
    act text collate "C" not null,
    -- What the act was done to.
    object text collate "C" not null,
    -- JSON.
    details text not null,
    count bigint not null,
    primary key (tenant, at, event_id)
);

-- What has been kept for long enough.
create index audit_events_at on audit_events (at);

-- Roles for direct SQL read neither.
alter table quotas enable row level security;
alter table audit_events enable row level security;
