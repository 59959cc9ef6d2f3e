//! Statements that the rule of tenants does not hold for, each with its reason.

/// What goes over all tenants on purpose, or has its condition elsewhere: file, words of the statement, reason.
pub const OVER_TENANTS: &[(&str, &str, &str)] = &[
    (
        "storage/credentials.rs",
        "from keys where revoked_at is null union all select",
        "who holds a key or a token is not known before it was read",
    ),
    (
        "storage/encrypting.rs",
        "from tenants t where t.tenant > $1",
        "goes through the tenants one by one",
    ),
    (
        "storage/tenant_keys.rs",
        "select count(*) from tenants t where not exists",
        "whether a server may start",
    ),
    ("storage/resealing.rs", "where {name}.tenant = $1", "the name of the table is put in"),
    (
        "postgres/item_statement.rs",
        "{indexed} offset 0",
        "entries of the index begin with the tenant's name; what it finds is asked for the tenant around it",
    ),
    ("postgres/items.rs", "from items where expires_at <= $1", "removal by age"),
    ("sqlite/items.rs", "from items where expires_at <= $1", "removal by age"),
    (
        "storage/wrapped.rs",
        "{secret}, length(master) from {}",
        "a new master key is for all tenants",
    ),
    (
        "storage/wrapped.rs",
        "update {} set {} = $1, master = $2",
        "the rows of the select before, by their whole key",
    ),
    ("storage/wrapped.rs", "from {} where length(master)", "whether a server may start"),
    ("postgres/item_words.rs", "update word_walks set claimed_until = $3", "polling of walks"),
    ("sqlite/item_words.rs", "update word_walks set claimed_until = $3", "polling of walks"),
    (
        "sqlite/item_words.rs",
        "select 1 from word_walks where tenant is not null",
        "polling of walks",
    ),
    (
        "storage/setting_rows.rs",
        "from namespace_settings where tenant is not null",
        "polling of settings",
    ),
    ("storage/quota_rows.rs", "from quotas where tenant is not null", "polling of quotas"),
    ("storage/audit_rows.rs", "from audit_events where at < $1", "removal by age"),
    ("postgres/garbage.rs", "delete from token_revocations where expires_at <", "removal by age"),
    ("postgres/garbage.rs", "delete from signing_secrets where created_at <", "removal by age"),
    (
        "storage/doctor/mod.rs",
        "from tenants where tenant > $1",
        "goes through the tenants one by one",
    ),
    ("postgres/batch_sql.rs", "from threads where false", "the shape of rows, never one"),
    ("postgres/garbage.rs", "delete from idempotency where created_at <", "removal by age"),
    ("postgres/garbage.rs", "delete from thread_tombstones where deleted_at <", "removal by age"),
    (
        "postgres/garbage.rs",
        "from garbage where created_at <",
        "removal by age; each row has its tenant",
    ),
    ("sqlite/delete.rs", "delete from idempotency where created_at <", "removal by age"),
    (
        "sqlite/delete.rs",
        "from garbage where created_at <",
        "removal by age; each row has its tenant",
    ),
    ("storage/policy_rows.rs", "from retention_reports where finished_at <", "removal by age"),
    ("postgres/policies.rs", "where (due_at <= $1 or round", "polling of due policies"),
    ("sqlite/policies.rs", "where (due_at <= $1 or round", "polling of due policies"),
    (
        "postgres/packs.rs",
        "where (tenant, thread_id) > ($1, $2)",
        "the packer goes through all threads",
    ),
    (
        "sqlite/packs.rs",
        "where (tenant, thread_id) > ($1, $2)",
        "the packer goes through all threads",
    ),
    (
        "postgres/packs.rs",
        "where live_bytes * 2 < size_bytes",
        "the packer looks for packs to rewrite",
    ),
    (
        "sqlite/packs.rs",
        "where live_bytes * 2 < size_bytes",
        "the packer looks for packs to rewrite",
    ),
    (
        "postgres/packs.rs",
        "where $1::text is null or (tenant = $1",
        "the audit of all packs, or of one scope",
    ),
    (
        "sqlite/packs.rs",
        "where $1 is null or (tenant = $1",
        "the audit of all packs, or of one scope",
    ),
    ("postgres/pack_writes.rs", "delete from packs where live_bytes <= 0", "sweep of empty packs"),
    ("sqlite/pack_writes.rs", "from packs where live_bytes <= 0", "sweep of empty packs"),
    ("postgres/pack_writes.rs", "delete from uploads where created_at <", "removal by age"),
    ("sqlite/pack_writes.rs", "from uploads where created_at <", "removal by age"),
    (
        "postgres/pack_writes.rs",
        "from object_deletions where dropped_at <=",
        "polling of the outbox",
    ),
    ("sqlite/pack_writes.rs", "from object_deletions where dropped_at <=", "polling of the outbox"),
    ("storage/indexing_rows.rs", "from item_indexing where due_at <=", "polling of due vectors"),
    (
        "storage/indexing_rows.rs",
        "from item_indexing where due_at is null",
        "what another model made",
    ),
];
