-- How many derivations read the messages of the thread and found no title; -1 where it has one. After some of them nobody reads on.
alter table threads add column title_misses smallint not null default 0;
-- A thread that was derived before titles were gets one when it is derived again.
update threads set is_stale = true where not is_stale;
