-- Rows that decide rights, where a master key is given. A key's row has a MAC; empty: none was made.
alter table keys add column mac bytea not null default '';

-- One row per tenant of an encrypted database: a random key for the MACs of its rows, a counter, and a sum over its keys, signing
-- secrets and revocations, and its quota. Sealed with the master key that the column names, so that nobody can make one from outside.
create table tenant_rights (
    tenant text collate "C" primary key,
    sealed bytea not null,
    master bytea not null
);
alter table tenant_rights enable row level security;

-- Snapshots kept words, projections, vectors and labels as they are: `threadkeep encrypt` looks at every tenant again.
update tenant_keys set plain_rows = 1 where length(wrapped) > 0;
