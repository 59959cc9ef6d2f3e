-- When the sweep looks at the thread, not after the end of its ttl, which stands in the document; 0 before it was looked at once, null without
-- a ttl. A commit does not move it: a sweep that finds the ttl still running does.
alter table thread_details add column ttl_due integer;
create index thread_details_ttl_due on thread_details (ttl_due) where ttl_due is not null;
