//! Tests which databases a program opens and which it refuses, by their rows of `schema_version`.

use std::sync::Arc;

use sqlx::{Connection, PgConnection};
use threadkeep::storage::{self, StorageConfig};

use crate::commands::Put;
use crate::connections::until;
use crate::harness::{Harness, config};

contract! {
    schema:
        a_newer_schema_is_refused_where_it_has_to_be
        a_migration_with_another_text_is_refused
        a_missing_migration_is_refused
        a_database_from_before_checksums_gets_them;
}

/// What a server is told that starts on the database, with or without the right to migrate.
async fn refusal(h: &Harness, migrate: bool) -> Option<String> {
    let config = StorageConfig { exclusive: false, migrate, ..config(h.url()) };
    storage::open(&config).await.err().map(|error| error.to_string())
}

fn expect(refusal: Option<String>, words: &str) {
    let text = refusal.expect("a server starts on a database that it has to refuse");
    assert!(text.contains(words), "{text}");
}

/// The name of the column that says which schema a program has to know.
fn schema_min(h: &Harness) -> &'static str {
    if h.is_sqlite() { "min_binary_version" } else { "schema_min" }
}

pub async fn a_newer_schema_is_refused_where_it_has_to_be(h: Harness) {
    h.put(Put::new("1")).await;
    let newest = h.count("select max(version) from schema_version").await;
    // As a later release leaves it: its migration keeps to the form that this one knows.
    let (name, text) = if h.is_sqlite() { ("", "") } else { ("name, ", "'later', ") };
    h.sql(&format!(
        "insert into schema_version (version, {name}min_binary_version, applied_at, checksum)
         values ({newest} + 1, {text}1, 1, 'of a text that is not known here')"
    ))
    .await;
    for migrate in [true, false] {
        assert_eq!(refusal(&h, migrate).await, None);
    }
    // The one after it writes rows that this one cannot read.
    let column = schema_min(&h);
    h.sql(&format!(
        "update schema_version set {column} = {newest} + 1 where version = {newest} + 1"
    ))
    .await;
    for migrate in [true, false] {
        expect(refusal(&h, migrate).await, "run a newer threadkeep");
        expect(refusal(&h, migrate).await, &format!("knows schema {}", newest + 1));
    }
}

pub async fn a_migration_with_another_text_is_refused(h: Harness) {
    h.sql("update schema_version set checksum = '00' where version = 12").await;
    for migrate in [true, false] {
        expect(refusal(&h, migrate).await, "migration 12 (words)");
    }
}

pub async fn a_missing_migration_is_refused(h: Harness) {
    h.sql("delete from schema_version where version = 7").await;
    for migrate in [true, false] {
        expect(refusal(&h, migrate).await, "lacks migration 7");
    }
}

pub async fn a_database_from_before_checksums_gets_them(h: Harness) {
    h.sql("delete from schema_version where version >= 25").await;
    h.sql("alter table schema_version drop column checksum").await;
    if !h.is_sqlite() {
        h.sql("alter table schema_version drop column schema_min").await;
    }
    // What the migrations after it added.
    for table in ["threads", "sessions", "namespace_roots"] {
        h.sql(&format!("alter table {table} drop column mac")).await;
    }
    h.sql("alter table tenant_keys drop column owner_macs").await;
    h.sql("drop table thread_details").await;
    let of_table = if h.is_sqlite() { "" } else { " on threads" };
    for trigger in ["threads_stale", "threads_renamed"] {
        h.sql(&format!("drop trigger {trigger}{of_table}")).await;
    }
    if !h.is_sqlite() {
        h.sql("drop function mark_run_stale_29").await;
        h.sql("drop function drop_alias_31").await;
    }
    let of_states = [
        "threads_leased",
        "threads_stale",
        "threads_updated",
        "threads_run_at",
        "threads_run_state",
        "threads_run_state_created",
        "threads_values_unknown",
    ];
    for index in of_states.into_iter().chain(["threads_alias", "threads_unaliased"]) {
        h.sql(&format!("drop index {index}")).await;
    }
    for column in
        ["run_state", "run_of", "run_at", "is_stale", "alias", "title_misses", "values_of"]
    {
        h.sql(&format!("alter table threads drop column {column}")).await;
    }
    for index in ["thread_tombstones_deleted", "threads_graph"] {
        h.sql(&format!("drop index {index}")).await;
    }
    for column in ["name", "text_prefix", "expires_at", "last_used_day"] {
        h.sql(&format!("alter table keys drop column {column}")).await;
    }
    expect(refusal(&h, false).await, "run `threadkeep migrate`");
    assert_eq!(refusal(&h, true).await, None);
    let without = "select count(*) from schema_version where checksum is null";
    assert_eq!(h.count(without).await, 0);
    h.sql("update schema_version set checksum = '00' where version = 3").await;
    expect(refusal(&h, true).await, "migration 3 (objects)");
}

/// The number that servers lock to migrate one at a time.
const MIGRATION_LOCK: i64 = 0x7468_7265_6164_6b70;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_waited_for_another_one_to_migrate_looks_at_the_schema_again() {
    let h = Arc::new(Harness::postgres().await);
    let newest = h.count("select max(version) from schema_version").await;
    h.sql(&format!(
        "create table later as select * from schema_version where version = {newest};
         delete from schema_version where version = {newest}"
    ))
    .await;
    let mut other = PgConnection::connect(h.url()).await.unwrap();
    let lock = sqlx::query("select pg_advisory_lock($1)").bind(MIGRATION_LOCK);
    lock.execute(&mut other).await.unwrap();
    let starting = tokio::spawn({
        let h = Arc::clone(&h);
        async move { refusal(&h, true).await }
    });
    until(&h, "query like '%pg_try_advisory_lock%'", |found| found.len() == 1).await;
    // A server of a later release, which migrated further than this one can follow.
    h.sql(&format!(
        "insert into schema_version select * from later;
         insert into schema_version (version, name, min_binary_version, applied_at, schema_min)
         values ({newest} + 1, 'later', '1', 1, {newest} + 1)"
    ))
    .await;
    other.close().await.unwrap();
    expect(starting.await.unwrap(), "run a newer threadkeep");
}
