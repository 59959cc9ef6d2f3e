-- Encryption at rest, off without a master key. wrapped holds the key that encrypts a tenant's content and the one that
-- names it, 32 bytes each, sealed with a master key that is not in the database; tenants.secret is empty then. master
-- names that master key. Destroying a tenant's key empties wrapped and keeps the row.
create table tenant_keys (
    tenant text collate "C" not null,
    key_no bigint not null,
    wrapped bytea not null,
    master bytea not null,
    created_at bigint not null,
    destroyed_at bigint,
    -- 1: written before encryption was turned on, and not all of it is encrypted yet.
    plain_rows bigint not null,
    primary key (tenant, key_no)
);
alter table tenant_keys enable row level security;

-- The master key that a signing secret is wrapped with; empty: it is not wrapped.
alter table signing_secrets add column master bytea not null default '';
