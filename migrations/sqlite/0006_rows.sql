-- Whose rows are: erasure of a subject.

-- Whose a thing was whose thread is gone: erasing the subject finds it. Null: nobody's, or older than this column.
alter table thread_tombstones add column owner text;
alter table garbage add column owner text;
alter table retention_reports add column owner text;
alter table idempotency add column subject text;
-- Of an erased subject: what lies in packs goes at once, not after the time that objects are kept.
alter table garbage add column erased integer not null default 0;

