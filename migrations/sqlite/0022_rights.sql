-- Rows that decide rights, where a master key is given. A key's row has a MAC; empty: none was made.
alter table keys add column mac blob not null default x'';

-- One row per tenant of an encrypted database: a random key for the MACs of its rows, a counter, and a sum over its keys, signing
-- secrets and revocations, and its quota. Sealed with the master key that the column names, so that nobody can make one from outside.
create table tenant_rights (
    tenant text primary key,
    sealed blob not null,
    master blob not null
) strict;

-- Snapshots kept words, projections, vectors and labels as they are: `threadkeep encrypt` looks at every tenant again.
update tenant_keys set plain_rows = 1 where length(wrapped) > 0;
