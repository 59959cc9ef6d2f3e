-- A MAC over what says whose content is whose: name, key or number, content scope and owner. Null where the tenant's content is not
-- encrypted, and where none was made yet.
alter table threads add column mac bytea;
alter table sessions add column mac bytea;
alter table namespace_roots add column mac bytea;

-- 1: all of these rows of the tenant have one. `threadkeep encrypt` makes those that an earlier version left without.
alter table tenant_keys add column owner_macs bigint not null default 0;
