//! Lists every table, with its treatment by each operation that covers all tables. A new table needs a line here: a test compares the list
//! with the schemas of both engines.

/// A table of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub erase: Erase,
    pub doctor: Doctor,
    pub sql: Sql,
}

/// What erasing a subject does with its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erase {
    /// They go in this stage; a test finds no trace of the subject in the table.
    Keys,
    Snapshots,
    Threads,
    Sessions,
    Items,
    Traces,
    Content,
    /// It has none of a subject. Why.
    Never(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doctor {
    Examined,
    /// Why not.
    Never(&'static str),
}

/// What roles for direct SQL see of it. Row security is on for every table, also for those that nobody may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sql {
    /// Through this view; a policy holds for the table too.
    View(&'static str),
    /// Nothing. Why.
    Hidden(&'static str),
    /// The table is for one engine that has no roles, or has no tenant.
    NoTenant,
}

const SECRET: Sql = Sql::Hidden("secret");
const CONTENT: Sql = Sql::Hidden("content, which only the server can open");
const OWN: Sql = Sql::Hidden("bookkeeping of the servers");
const PLAIN: Doctor = Doctor::Never("rows stand for themselves: nothing to hold them against");

const PACKER: Doctor = Doctor::Never("the packer looks after it");

const fn table(name: &'static str, erase: Erase, doctor: Doctor, sql: Sql) -> Table {
    Table { name, erase, doctor, sql }
}

/// In the order in which the migrations make them.
#[rustfmt::skip]
pub const TABLES: &[Table] = &[
    table("schema_version", Erase::Never("no rows of tenants"), PLAIN, Sql::NoTenant),
    table("tenants", Erase::Never("one row per tenant"), Doctor::Examined, SECRET),
    table("keys", Erase::Keys, PLAIN, SECRET),
    table("scopes", Erase::Content, Doctor::Examined, OWN),
    table("scope_holders", Erase::Threads, Doctor::Examined, OWN),
    table("threads", Erase::Threads, Doctor::Examined, Sql::View("sql_threads")),
    table("thread_tombstones", Erase::Traces, PLAIN, OWN),
    table("checkpoints", Erase::Content, Doctor::Examined, Sql::View("sql_checkpoints")),
    table("writes", Erase::Content, Doctor::Examined, Sql::View("sql_writes")),
    table("delta_bases", Erase::Content, Doctor::Examined, CONTENT),
    table("manifests", Erase::Content, Doctor::Examined, CONTENT),
    table("chunks", Erase::Content, Doctor::Examined, CONTENT),
    table("idempotency", Erase::Traces, PLAIN, SECRET),
    table("garbage", Erase::Content, Doctor::Examined, OWN),
    table("retention_policies", Erase::Threads, PLAIN, Sql::View("sql_retention_policies")),
    table("retention_reports", Erase::Traces, PLAIN, Sql::View("sql_retention_reports")),
    table("packs", Erase::Content, Doctor::Examined, OWN),
    table("uploads", Erase::Never("random names; what no scope wants is deleted after a day"), PACKER, OWN),
    table("object_deletions", Erase::Never("random names of what is being deleted"), PACKER, OWN),
    table("scope_packing", Erase::Content, PLAIN, OWN),
    table("signing_secrets", Erase::Never("of tenants, not of subjects"), PLAIN, SECRET),
    table("token_revocations", Erase::Never("random names of tokens, for a day"), PLAIN, SECRET),
    table("tenant_keys", Erase::Never("of tenants, not of subjects"), Doctor::Never("opened for its tenant, or nothing of it is read"), SECRET),
    table("quotas", Erase::Never("of tenants, not of subjects"), PLAIN, OWN),
    table("audit_events", Erase::Traces, PLAIN, SECRET),
    table("items", Erase::Items, Doctor::Examined, CONTENT),
    table("namespace_roots", Erase::Items, Doctor::Examined, OWN),
    table("namespace_settings", Erase::Items, PLAIN, OWN),
    table("item_versions", Erase::Items, Doctor::Examined, CONTENT),
    table("item_feeds", Erase::Never("of tenants, not of subjects"), PLAIN, OWN),
    table("item_changes", Erase::Items, PLAIN, OWN),
    table("word_walks", Erase::Items, Doctor::Never("a walk holds it against the items"), OWN),
    table("item_vectors", Erase::Items, Doctor::Never("they count only with the version of their item"), CONTENT),
    table("vector_models", Erase::Never("names of models"), PLAIN, OWN),
    table("item_indexing", Erase::Items, Doctor::Never("the worker holds it against the items"), OWN),
    table("sessions", Erase::Sessions, Doctor::Examined, OWN),
    table("session_logs", Erase::Content, Doctor::Examined, OWN),
    table("session_entries", Erase::Content, Doctor::Examined, CONTENT),
    table("contents", Erase::Items, Doctor::Examined, CONTENT),
    table("content_parts", Erase::Items, PLAIN, CONTENT),
    table("content_slices", Erase::Items, Doctor::Examined, CONTENT),
    table("snapshots", Erase::Snapshots, Doctor::Examined, OWN),
    table("snapshot_parts", Erase::Snapshots, Doctor::Never("read with their snapshots"), OWN),
    table("snapshot_items", Erase::Snapshots, Doctor::Examined, CONTENT),
    table("snapshot_vectors", Erase::Snapshots, Doctor::Never("they count only with an item"), CONTENT),
    table("workspaces", Erase::Snapshots, PLAIN, OWN),
    table("archives", Erase::Snapshots, Doctor::Examined, CONTENT),
    table("snapshot_archives", Erase::Snapshots, Doctor::Examined, OWN),
    table("snapshot_leftovers", Erase::Never("random numbers"), Doctor::Examined, OWN),
    table("tenant_rights", Erase::Never("of tenants, not of subjects"), PLAIN, SECRET),
    table("background_tasks", Erase::Never("numbers that the server gave"), Doctor::Never("the command lists it"), OWN),
    table("thread_details", Erase::Threads, Doctor::Examined, CONTENT),
    table("sql_roles", Erase::Never("of tenants, for operators"), PLAIN, SECRET),
];

/// Tables of one engine only.
pub const POSTGRES_ONLY: &[&str] = &["sql_roles"];
