-- The change feed of the store: the same tables as on PostgreSQL (migrations/postgres/0013_item_changes.sql). There is one
-- writer, so the order of the numbers is the order of the commits.

create table item_feeds (
    tenant text not null,
    feed_id text not null,
    -- The last number that was given: the log may have lost its last row.
    changes integer not null,
    wanted_until integer not null,
    primary key (tenant)
) strict, without rowid;

create table item_changes (
    tenant text not null,
    n integer not null,
    namespace blob not null,
    key blob not null,
    version integer not null,
    kind text not null,
    written_at integer not null,
    primary key (tenant, n)
) strict, without rowid;
