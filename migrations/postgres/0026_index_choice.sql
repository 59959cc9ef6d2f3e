-- A look-up by primary key (tenant, …) can use no index but that of the key. While a table is empty, or its statistics are of other
-- times, every index that begins with the tenant seems to cost the same, and a plan that took another one reads all rows of the tenant.
-- An index with another collation of the tenant is used only where a statement asks for the tenant in that collation.
drop index threads_created;
create index threads_created on threads (tenant collate "POSIX", created_at);
drop index threads_key;
create unique index threads_key on threads (thread_key, tenant collate "POSIX");
drop index threads_scope;
create index threads_scope on threads (scope_id);

drop index items_created;
create index items_created on items (tenant collate "POSIX", created_at desc);

drop index sessions_no;
create unique index sessions_no on sessions (session_no, tenant collate "POSIX");
drop index sessions_of_scope;
create index sessions_of_scope on sessions (scope_id);

drop index contents_scope;
create index contents_scope on contents (scope_id, finished_at);
drop index contents_place;
create index contents_place on contents (tenant collate "POSIX", namespace);
drop index content_slices_scope;
create index content_slices_scope on content_slices (scope_id);
