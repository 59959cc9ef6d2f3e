-- The change feed of the store: what happened to which item, never its value.

-- Tenants that somebody follows. Only their changes are logged: a row of the log for every put costs a tenth to a fifth of the
-- put, and most tenants have no follower.
create table item_feeds (
    tenant text collate "C" not null,
    -- New whenever logging begins again, so that a position from before is told from one of this log.
    feed_id text collate "C" not null,
    -- Whether everything has ended that began before the log and writes nothing into it.
    is_settled boolean not null,
    -- Logging ends then, unless a follower comes.
    wanted_until bigint not null,
    primary key (tenant)
);

create table item_changes (
    tenant text collate "C" not null,
    -- The transaction that made the change, and the place in it. Transactions commit in another order than that of their
    -- ids: the log is read up to the oldest id that is still running, and not beyond.
    xid xid8 not null,
    n integer not null,
    namespace text[] collate "C" not null,
    key bytea not null,
    version bigint not null,
    -- put, delete, expire
    kind text collate "C" not null,
    written_at bigint not null,
    -- Also the sweep of what is old: the beginning of each tenant's range. An index by time would cost every put.
    primary key (tenant, xid, n)
);

-- Names of everybody's items.
alter table item_feeds enable row level security;
alter table item_changes enable row level security;
