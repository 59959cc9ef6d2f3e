-- Background work, so that work whose data ends the process is put aside. `unit` is a number that the server gave (a version, a scope, a
-- generation), never a client's text.
--   server <> 0, unit = '':  a group of this kind that a server has begun; its tenant is ''
--   server <> 0, unit <> '': a unit that runs alone
--   server = 0, unit = '':   how many groups of this kind ended with their process, the last one at started_at
--   server = 0, unit <> '':  a unit that is put aside since parked_at
create table background_tasks (
    tenant text collate "C" not null,
    kind text collate "C" not null,
    unit text collate "C" not null,
    server bigint not null,
    attempts bigint not null default 0,
    ran_alone bigint not null default 0,
    reason text not null default '',
    started_at bigint not null,
    parked_at bigint,
    primary key (tenant, kind, unit, server)
);
alter table background_tasks enable row level security;
