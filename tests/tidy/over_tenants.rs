//! Lists the statements that are exempt from the rule of tenants, each with its reason.

/// What goes over all tenants on purpose, or has its condition elsewhere: file, words of the statement, reason.
pub const OVER_TENANTS: &[(&str, &str, &str)] = &[
    (
        "maintenance/inventory.rs",
        "select count(*) from {table}",
        "counts the rows of all tenants together, for support",
    ),
    (
        "threads/postgres/conditions/statements.rs",
        "from thread_details i where {guard} and {indexed} offset 0",
        "an index whose entries begin with the tenant's name; the tenant is compared around it",
    ),
    (
        "threads/postgres/conditions/statements.rs",
        "(select 1 from {found} limit",
        "counts what the index finds of the tenant",
    ),
    (
        "threads/postgres/conditions/statements.rs",
        "select {columns} from {from} where {tenant} = $1",
        "the condition names the tenant in one of two forms, for one of two indexes",
    ),
    (
        "threads/postgres/conditions/statements.rs",
        "select {uncertain} as is_uncertain from {found} cross join lateral",
        "what the index finds of the tenant, or all details of the tenant",
    ),
    (
        "threads/sqlite/listing.rs",
        "{certain} as is_certain, {has_values} as has_asked_values from {from}{details}",
        "each source is joined with threads of the tenant, by its first condition",
    ),
    (
        "threads/sqlite/listing.rs",
        "(select tenant as of_tenant",
        "joined by the tenant of a thread",
    ),
    (
        "threads/run_states.rs",
        "update threads set is_stale = true where (tenant, thread_id) in",
        "the server's own walk over all tenants, a few threads at a time",
    ),
    (
        "threads/run_states.rs",
        "select 1 from threads where {unread} limit 1",
        "whether that walk has anything to do",
    ),
    (
        "threads/sqlite/listing.rs",
        "wide cross join",
        "a source of threads; the statement has the tenant",
    ),
    (
        "threads/run_states.rs",
        "where is_stale and {shown} and updated_at < $3",
        "the sweep of states that are to be derived",
    ),
    (
        "threads/run_states.rs",
        "where not is_stale and {shown} and (tenant, thread_id)",
        "the doctor's walk through the states of one tenant or of all",
    ),
    (
        "threads/run_states.rs",
        "from threads where is_stale and {shown} limit $1",
        "a number of the metrics, which are of all tenants together",
    ),
    (
        "threads/aliases.rs",
        "from threads where alias is null and {shown}",
        "the sweep of threads that lack an alias",
    ),
    (
        "threads/ttl.rs",
        "from thread_details where ttl_due <= $1",
        "the sweep of threads whose ttl may have ended",
    ),
    (
        "threads/search.rs",
        "from ({page}) t left join {probe}",
        "both parts are texts of an engine that are bound there",
    ),
    (
        "postgres/write_check.rs",
        "insert into chunks (tenant, scope_id, name, body) values",
        "a chunk of nobody, which is taken back",
    ),
    (
        "storage/maintenance/background_tasks.rs",
        "from background_tasks where kind = $1 {lock}",
        "a group of background work is of all tenants, and so is what is put aside",
    ),
    (
        "storage/maintenance/background_tasks.rs",
        "delete from background_tasks where server = $1",
        "what a server has begun, of all tenants",
    ),
    (
        "storage/maintenance/background_tasks.rs",
        "from background_tasks where parked_at is not null",
        "what is put aside of one tenant or of all, for the doctor",
    ),
    (
        "snapshots/removal.rs",
        "from snapshots where expires_at > 0",
        "the sweep of what has expired",
    ),
    (
        "snapshots/removal.rs",
        "from snapshot_leftovers where created_at < $1",
        "the sweep of what was left behind",
    ),
    (
        "storage/tokens/verified.rs",
        "from keys where revoked_at is null union all select",
        "who holds a key or a token is not known before it was read",
    ),
    (
        "storage/tokens/key_rows.rs",
        "and not exists (select 1 from keys where tenant <> $1",
        "whether any tenant has another key decides if the server answers without one; it answers no row",
    ),
    (
        "storage/tokens/credentials.rs",
        "select tenant from token_revocations where expires_at < $1",
        "tenants that the removal by age goes through",
    ),
    (
        "storage/maintenance/encrypting.rs",
        "update tenant_keys set plain_rows = 1",
        "every tenant is looked at again",
    ),
    (
        "storage/tokens/rights.rs",
        "select tenant from tenant_keys union select tenant from keys",
        "whether a server may start, and whose keys open nothing",
    ),
    ("storage/tokens/rights.rs", "select tenant, sealed from tenant_rights", "polling of quotas"),
    (
        "storage/tokens/credentials.rs",
        "select key_id from keys where hash = $1",
        "the tenant of a key is not known before it was found; the hash of a key is unique",
    ),
    (
        "storage/maintenance/encrypting.rs",
        "from tenants t where t.tenant > $1",
        "goes through the tenants one by one",
    ),
    (
        "storage/maintenance/doctor/packs.rs",
        "select pack_id from packs where $1 = '' or tenant = $1",
        "whether the store is the right one is asked once, for all that is examined",
    ),
    (
        "storage/tenants/tenant_keys.rs",
        "select count(*) from tenants t where exists ( select 1 from tenant_keys k",
        "whether a server may start on a database that an earlier version encrypted",
    ),
    (
        "storage/tenants/tenant_keys.rs",
        "select count(*) from tenants t where not exists",
        "whether a server may start",
    ),
    (
        "storage/db/access.rs",
        "(select {columns} from {table} {alias} where {condition} {end})",
        "tables and conditions are put in; theirs have the tenant",
    ),
    ("storage/db/access.rs", "join {table} {alias} on {condition}", "the same"),
    (
        "sessions/listing.rs",
        "s.archives from sessions s where {session_condition}",
        "the condition has the tenant: SESSION_CONDITION in rows.rs",
    ),
    (
        "sessions/listing.rs",
        "from sessions s {logs} where {session_condition}",
        "the condition has the tenant: SESSION_CONDITION in rows.rs",
    ),
    ("sessions/listing.rs", "from sessions s {log} where {within}", "as the list below"),
    ("sessions/entries.rs", "from sessions s {log} where {within}", "`within` in listing.rs"),
    (
        "sessions/entries.rs",
        "from sessions s {log} where {session_condition}",
        "the condition has the tenant: SESSION_CONDITION in rows.rs",
    ),
    (
        "sessions/listing.rs",
        "from sessions s {join} where {within}",
        "the condition has the tenant: `within` below it",
    ),
    (
        "sessions/removal.rs",
        "s.scope_id from sessions s where {session_condition}",
        "the condition has the tenant: SESSION_CONDITION in rows.rs",
    ),
    (
        "storage/maintenance/resealing.rs",
        "where {name}.tenant = $1",
        "the name of the table is put in",
    ),
    (
        "store/postgres/search_sql.rs",
        "{indexed} offset 0",
        "entries of the index begin with the tenant's name; what it finds is asked for the tenant around it",
    ),
    ("store/postgres/items.rs", "from items where expires_at <= $1", "removal by age"),
    ("store/sqlite/items.rs", "from items where expires_at <= $1", "removal by age"),
    (
        "storage/content/wrapped.rs",
        "{secret}, length(master) from {}",
        "a new master key is for all tenants",
    ),
    (
        "storage/content/wrapped.rs",
        "update {} set {} = $1, master = $2",
        "the rows of the select before, by their whole key",
    ),
    ("storage/content/wrapped.rs", "from {} where length(master)", "whether a server may start"),
    ("store/postgres/words.rs", "update word_walks set claimed_until = $3", "polling of walks"),
    ("store/sqlite/words.rs", "update word_walks set claimed_until = $3", "polling of walks"),
    (
        "store/sqlite/words.rs",
        "select 1 from word_walks where tenant is not null",
        "polling of walks",
    ),
    (
        "storage/store/setting_rows.rs",
        "from namespace_settings where tenant is not null",
        "polling of settings",
    ),
    ("store/postgres/feeds.rs", "select c.ctid from item_feeds f", "removal by age, log by log"),
    (
        "store/postgres/feeds.rs",
        "delete from item_feeds f where f.wanted_until <",
        "removal by age",
    ),
    ("store/sqlite/feeds.rs", "delete from item_feeds where wanted_until <", "removal by age"),
    ("storage/tenants/quota_rows.rs", "from quotas where tenant is not null", "polling of quotas"),
    (
        "storage/tenants/tenant_rows.rs",
        "select min(tenant) as tenant from {it} where tenant > $1",
        "goes through the tenants one by one, for operators",
    ),
    ("storage/tenants/audit_rows.rs", "from audit_events where at < $1", "removal by age"),
    (
        "storage/maintenance/doctor/mod.rs",
        "from tenants where tenant > $2",
        "goes through the tenants one by one",
    ),
    (
        "checkpoints/postgres/batch_sql.rs",
        "from threads where false",
        "the shape of rows, never one",
    ),
    (
        "maintenance/postgres/garbage.rs",
        "delete from idempotency where created_at <",
        "removal by age",
    ),
    (
        "maintenance/postgres/garbage.rs",
        "delete from thread_tombstones where deleted_at <",
        "removal by age",
    ),
    (
        "maintenance/postgres/garbage.rs",
        "from garbage where created_at <",
        "removal by age; each row has its tenant",
    ),
    ("threads/sqlite/delete.rs", "delete from idempotency where created_at <", "removal by age"),
    (
        "threads/sqlite/delete.rs",
        "from garbage where created_at <",
        "removal by age; each row has its tenant",
    ),
    (
        "storage/threads/policy_rows.rs",
        "from retention_reports where finished_at <",
        "removal by age",
    ),
    ("storage/threads/policy_rows.rs", "where (due_at <= $1 or round", "polling of due policies"),
    (
        "objects/postgres/packs.rs",
        "where (tenant, thread_id) > ($1, $2)",
        "the packer goes through all threads",
    ),
    (
        "objects/sqlite/packs.rs",
        "where (tenant, thread_id) > ($1, $2)",
        "the packer goes through all threads",
    ),
    (
        "objects/postgres/packs.rs",
        "where live_bytes * 2 < size_bytes",
        "the packer looks for packs to rewrite",
    ),
    (
        "objects/sqlite/packs.rs",
        "where live_bytes * 2 < size_bytes",
        "the packer looks for packs to rewrite",
    ),
    (
        "objects/postgres/packs.rs",
        "where $1::text is null or (tenant = $1",
        "the audit of all packs, or of one scope",
    ),
    (
        "objects/sqlite/packs.rs",
        "where $1 is null or (tenant = $1",
        "the audit of all packs, or of one scope",
    ),
    (
        "objects/postgres/pack_writes.rs",
        "delete from packs where live_bytes <= 0",
        "sweep of empty packs",
    ),
    ("objects/sqlite/pack_writes.rs", "from packs where live_bytes <= 0", "sweep of empty packs"),
    ("objects/postgres/pack_writes.rs", "delete from uploads where created_at <", "removal by age"),
    ("objects/sqlite/pack_writes.rs", "from uploads where created_at <", "removal by age"),
    (
        "objects/postgres/pack_writes.rs",
        "from object_deletions where dropped_at <=",
        "polling of the outbox",
    ),
    (
        "objects/sqlite/pack_writes.rs",
        "from object_deletions where dropped_at <=",
        "polling of the outbox",
    ),
    (
        "storage/store/indexing_rows.rs",
        "from item_indexing where due_at <=",
        "polling of due vectors",
    ),
    (
        "storage/store/indexing_rows.rs",
        "from item_indexing where due_at is null",
        "what another model made",
    ),
    (
        "contents/packing.rs",
        "from contents c where c.tenant is not null and c.finished_at > 0",
        "what is cold, of every tenant; its tenant is answered with each scope",
    ),
    (
        "contents/sealing.rs",
        "insert into chunks (tenant, scope_id, name, body) values {} on conflict do nothing",
        "the rows are put in; theirs begin with the tenant",
    ),
    (
        "contents/sweeping.rs",
        "from contents where tenant is not null and idle_since > 0",
        "what is left of every tenant; each is removed by its own",
    ),
];
