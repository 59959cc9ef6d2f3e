-- When a key ends: its text says so too, and counts. The day of its last use, in days since 1970 UTC, is for people who look at a list.
alter table keys add column expires_at integer;
alter table keys add column last_used_day integer;
