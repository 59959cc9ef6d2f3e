-- Whose rows are: erasure of a subject, and roles that read one tenant with SQL.

-- Whose a thing was whose thread is gone: erasing the subject finds it. Null: nobody's, or older than this column.
alter table thread_tombstones add column owner text collate "C";
alter table garbage add column owner text collate "C";
alter table retention_reports add column owner text collate "C";
alter table idempotency add column subject text collate "C";
-- Of an erased subject: what lies in packs goes at once, not after the time that objects are kept.
alter table garbage add column erased boolean not null default false;

-- Login roles for direct SQL, and the tenant that each may read. Names of roles are those of the whole cluster.
create table sql_roles (
    role text collate "C" primary key,
    tenant text collate "C" not null,
    created_at bigint not null
);

-- The tenant of whoever logged in: null for everybody but SQL roles. It asks who the session belongs to, which only a
-- superuser can change, and never a setting, which anybody can. Its body was bound when it was made, so no search path
-- of a caller and no temporary table can put another table in the place of sql_roles.
create function sql_role_tenant() returns text
    language sql stable security definer parallel safe
    set search_path = pg_catalog, pg_temp
    return (select r.tenant from sql_roles r where r.role = session_user::text);
revoke all on function sql_role_tenant() from public;

-- Enabled, not forced: the owner, as which the servers connect, is not slowed down. A table without a policy shows
-- nothing to anybody else.
alter table tenants enable row level security;
alter table keys enable row level security;
alter table scopes enable row level security;
alter table scope_holders enable row level security;
alter table threads enable row level security;
alter table thread_tombstones enable row level security;
alter table checkpoints enable row level security;
alter table writes enable row level security;
alter table delta_bases enable row level security;
alter table manifests enable row level security;
alter table chunks enable row level security;
alter table idempotency enable row level security;
alter table garbage enable row level security;
alter table retention_policies enable row level security;
alter table retention_reports enable row level security;
alter table signing_secrets enable row level security;
alter table token_revocations enable row level security;
alter table packs enable row level security;
alter table uploads enable row level security;
alter table object_deletions enable row level security;
alter table scope_packing enable row level security;
alter table sql_roles enable row level security;

create policy sql_role_reads on threads for select using (tenant = (select sql_role_tenant()));
create policy sql_role_reads on checkpoints for select using (tenant = (select sql_role_tenant()));
create policy sql_role_reads on writes for select using (tenant = (select sql_role_tenant()));
create policy sql_role_reads on retention_policies for select using (tenant = (select sql_role_tenant()));
create policy sql_role_reads on retention_reports for select using (tenant = (select sql_role_tenant()));

-- What SQL roles may read. A view runs as its owner, whom the policies let pass (running as the reader came with version
-- 15), so each asks for the tenant itself; as a security barrier, so that no condition of a query is tried on rows
-- of others. No content, no keys, no secrets.
create view sql_threads with (security_barrier = true) as
select t.thread_id, t.owner, t.graph_id, t.assistant_id, t.user_id,
    timestamptz 'epoch' + t.created_at * interval '1 microsecond' as created_at,
    timestamptz 'epoch' + t.updated_at * interval '1 microsecond' as updated_at,
    t.last_step, t.checkpoint_count, t.size_bytes, t.generation, t.fence, t.lease_holder,
    timestamptz 'epoch' + t.lease_expires_at * interval '1 microsecond' as lease_expires_at
from threads t where t.tenant = (select sql_role_tenant());

create view sql_checkpoints with (security_barrier = true) as
select t.thread_id, c.ns as checkpoint_ns, c.checkpoint_id, c.parent_id as parent_checkpoint_id, c.run_id,
    cardinality(c.channel_keys) as channel_count, c.size_bytes,
    timestamptz 'epoch' + c.created_at * interval '1 microsecond' as created_at
from threads t join checkpoints c on c.tenant = t.tenant and c.thread_key = t.thread_key
where t.tenant = (select sql_role_tenant()) and c.tenant = (select sql_role_tenant());

create view sql_writes with (security_barrier = true) as
select t.thread_id, w.ns as checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel, w.tag, w.size_bytes
from threads t join writes w on w.tenant = t.tenant and w.thread_key = t.thread_key
where t.tenant = (select sql_role_tenant()) and w.tenant = (select sql_role_tenant());

create view sql_retention_policies with (security_barrier = true) as
select nullif(p.thread_id, '') as thread_id, p.expire_after_seconds, p.keep_last, p.older_than_seconds,
    p.keep_interrupted, p.dry_run,
    timestamptz 'epoch' + p.created_at * interval '1 microsecond' as created_at,
    timestamptz 'epoch' + p.updated_at * interval '1 microsecond' as updated_at,
    timestamptz 'epoch' + p.due_at * interval '1 microsecond' as due_at
from retention_policies p where p.tenant = (select sql_role_tenant());

create view sql_retention_reports with (security_barrier = true) as
select r.report_id, nullif(r.thread_id, '') as thread_id,
    timestamptz 'epoch' + r.started_at * interval '1 microsecond' as started_at,
    timestamptz 'epoch' + r.finished_at * interval '1 microsecond' as finished_at,
    r.dry_run, r.examined, r.expired, r.pruned, r.skipped, r.errors, r.last_error, r.removed_checkpoints,
    r.removed_writes, r.removed_values, r.removed_size_bytes, r.removed_stored_bytes
from retention_reports r where r.tenant = (select sql_role_tenant());
