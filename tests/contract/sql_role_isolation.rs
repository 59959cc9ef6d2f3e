//! Tests that a role for direct SQL cannot see more than its tenant.

use sqlx::{Connection, Executor, PgConnection};
use threadkeep::storage::tables::{Sql, TABLES};

use crate::harness::Harness;
use crate::sql_reader::{Role, fill, views};

#[tokio::test]
async fn a_role_reads_the_views_of_its_tenant_and_no_table() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let mut role = Role::of(&h, "tenant-a").await;
    for view in views() {
        let rows = role.texts(&format!("select x::text from {view} x")).await.unwrap();
        assert_eq!(rows.len(), 1, "{view}: {rows:?}");
        assert!(rows[0].contains("ours") && !rows[0].contains("theirs"), "{view}: {rows:?}");
        for content in ["ours-value", "ours-written"] {
            assert!(!rows[0].contains(content), "{view}: {rows:?}");
        }
        Role::denied(role.run(&format!("delete from {view}")).await);
        Role::denied(role.run(&format!("select * from {view} for update")).await);
        role.run(&format!("copy (select * from {view}) to stdout")).await.unwrap_or_default();
    }
    let row = role
        .texts("select thread_id || ' ' || checkpoint_count || ' ' || (created_at > now() - interval '1 minute') from sql_threads")
        .await;
    assert_eq!(row.unwrap(), ["ours-thread 1 true"]);
    let joined = role
        .texts("select w.channel from sql_writes w join sql_checkpoints c using (thread_id, checkpoint_id) where c.run_id = 'ours-run'")
        .await;
    assert_eq!(joined.unwrap(), ["ours-channel"]);
    for table in TABLES {
        let name = table.name;
        for statement in [
            format!("select * from {name}"),
            format!("select 1 from {name}"),
            format!("delete from {name}"),
            format!("copy {name} to stdout"),
            format!("truncate {name}"),
            format!("do 'begin lock table {name}; end'"),
        ] {
            Role::denied(role.run(&statement).await);
        }
    }
    for statement in [
        "insert into sql_roles (role, tenant, created_at) values (current_user, 'tenant-b', 1)",
        "update sql_roles set tenant = 'tenant-b'",
        "insert into sql_threads (thread_id) values ('x')",
    ] {
        Role::denied(role.run(statement).await);
    }
    assert_eq!(role.threads().await, ["ours-thread"]);
}

#[tokio::test]
async fn nothing_that_a_role_sets_shows_it_more() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let mut role = Role::of(&h, "tenant-a").await;
    let other = Role::of(&h, "tenant-b").await.name;
    for statement in [
        "set threadkeep.tenant = 'tenant-b'",
        "set app.tenant = 'tenant-b'; set tenant.id = 'tenant-b'",
        "set row_security = off",
        "set search_path = pg_temp, public",
        "set session_replication_role = replica",
        &format!("set role {other}"),
        "set role postgres",
        &format!("set session authorization {other}"),
        "set session authorization postgres",
        &format!("set local session authorization '{other}'"),
        &format!("grant {other} to current_user"),
        "alter role current_user bypassrls",
        "alter role current_user superuser",
        "alter view sql_threads set (security_barrier = false)",
        "create or replace view sql_threads as select * from threads",
        "alter table threads disable row level security",
        "create policy mine on threads using (true)",
        "alter function sql_role_tenant() security invoker",
        "create or replace function sql_role_tenant() returns text language sql return 'tenant-b'",
        "reset all",
    ] {
        let done = role.run(statement).await;
        if let Err(error) = &done {
            let refusals =
                ["permission denied", "must ", "cannot set", "only roles with", "not allowed"];
            assert!(refusals.iter().any(|it| error.contains(it)), "{statement}: {error}");
        }
        let found = role.texts("select thread_id from public.sql_threads").await.unwrap();
        assert_eq!(found, ["ours-thread"], "{statement}");
    }
    assert!(role.run("set role postgres").await.is_err());
    assert!(role.run("set session authorization postgres").await.is_err());
    // It may rename nothing, itself neither: a name is what its tenant hangs on.
    Role::denied(role.run(&format!("alter role current_user rename to {other}_2")).await);
}

#[tokio::test]
async fn what_a_role_makes_shows_it_no_more() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let mut role = Role::of(&h, "tenant-a").await;
    for statement in [
        "create table public.mine (x text)",
        "create schema mine",
        "create function public.leak(text) returns boolean language sql return true",
        "create view public.mine as select * from sql_threads",
        "create extension dblink",
        "create trigger t before insert on threads execute function f()",
    ] {
        Role::denied(role.run(statement).await);
    }
    // Tables that stand before others in the search path.
    role.run(
        "create temp table sql_roles (role text, tenant text, created_at bigint);
         insert into sql_roles values (current_user, 'tenant-b', 1);
         create temp table threads as select * from sql_threads;
         set search_path = pg_temp, public, pg_catalog",
    )
    .await
    .unwrap();
    assert_eq!(role.texts("select public.sql_role_tenant()").await.unwrap(), ["tenant-a"]);
    assert_eq!(role.threads().await, ["ours-thread"]);
    // Functions and operators of its own see only rows that it may see.
    role.run(
        "create function pg_temp.sql_role_tenant() returns text language sql return 'tenant-b';
         create temp table seen (x text);
         create function pg_temp.leak(x text) returns boolean language plpgsql cost 0.0000001 as
            $$ begin insert into pg_temp.seen values (x); return true; end $$;
         create function pg_temp.eats(text, text) returns boolean language plpgsql cost 0.0000001 as
            $$ begin insert into pg_temp.seen values ($1); return true; end $$;
         create operator pg_temp.=== (leftarg = text, rightarg = text, function = pg_temp.eats)",
    )
    .await
    .unwrap();
    // With plans in which rows of all tenants would meet the conditions of the query.
    h.sql("analyze").await;
    let plans =
        "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off;
        set enable_hashjoin = off; set enable_mergejoin = off";
    role.run(plans).await.unwrap();
    for statement in [
        "select * from sql_threads where pg_temp.leak(thread_id)",
        "select * from sql_threads where thread_id operator(pg_temp.===) 'x'",
        "select * from sql_checkpoints c where pg_temp.leak(c.checkpoint_id) and pg_temp.leak(c.thread_id)",
        "select * from sql_writes where pg_temp.leak(channel) order by pg_temp.leak(task_id)",
        "select * from sql_threads t join sql_writes w on pg_temp.leak(w.task_id || t.thread_id)",
        "select * from sql_retention_reports where pg_temp.leak(thread_id)",
        "select * from sql_retention_policies where pg_temp.leak(thread_id)",
    ] {
        role.run(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let seen = role.texts("select distinct x from pg_temp.seen order by 1").await.unwrap();
    assert!(seen.len() > 4 && seen.iter().all(|it| !it.contains("theirs")), "{seen:?}");
    let error = role.run("select thread_id::integer from sql_threads").await.unwrap_err();
    assert!(error.contains("ours-thread"), "{error}");
    let error = role.run("select 1 from sql_checkpoints where checkpoint_id::integer = 1").await;
    assert!(!error.unwrap_err().contains("theirs"));
}

#[tokio::test]
async fn catalogs_and_large_objects_show_nothing_of_others() {
    let h = Harness::postgres().await;
    fill(&h).await;
    h.sql("analyze").await;
    h.sql("select lo_from_bytea(4711, 'theirs')").await;
    let mut busy = PgConnection::connect(h.url()).await.unwrap();
    busy.execute("select 'theirs-query'").await.unwrap();
    let owner = h.texts("select count(*)::text from pg_stats where schemaname = 'public'").await;
    assert_ne!(owner, ["0"], "there are statistics to be seen");
    let other = Role::of(&h, "tenant-b").await.name;
    let mut role = Role::of(&h, "tenant-a").await;
    for statement in [
        "select x::text from pg_stats x where schemaname = 'public'",
        "select x::text from pg_stats_ext x",
        "select query from pg_stat_activity where query like '%theirs-query%' and pid <> pg_backend_pid()",
        "select grantee::text from information_schema.role_table_grants where table_name = 'sql_roles'",
    ] {
        assert_eq!(role.texts(statement).await.unwrap(), Vec::<String>::new(), "{statement}");
    }
    for statement in [
        "select lo_get(4711)",
        "select * from pg_largeobject",
        "select lo_import('/etc/passwd')",
        "select lo_export(4711, '/tmp/x')",
        "copy sql_threads to '/tmp/x'",
        "copy (select 1) to program 'true'",
        "select pg_read_file('PG_VERSION')",
        "select * from pg_authid",
        "select * from pg_statistic",
        "select pg_ls_dir('.')",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
    ] {
        Role::denied(role.run(statement).await);
    }
    // Every role sees the names of all: so they say nothing of tenants.
    let names = role.texts("select rolname::text from pg_roles").await.unwrap();
    assert!(names.contains(&other) && names.iter().all(|it| !it.contains("tenant")), "{names:?}");
    // Of functions, it may run this one of ours. Those of the extension `vector` see nothing but what they are given.
    let ours = role
        .texts(
            "select p.oid::regprocedure::text from pg_proc p where pronamespace = 'public'::regnamespace
             and has_function_privilege(p.oid, 'execute') and not exists (select from pg_depend d
                where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')",
        )
        .await;
    assert_eq!(ours.unwrap(), ["sql_role_tenant()"]);
}

/// The policies of the tables hold by themselves, should somebody grant what the program does not.
#[tokio::test]
async fn tables_that_were_granted_by_mistake_show_no_more() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let mut role = Role::of(&h, "tenant-a").await;
    h.sql(&format!("grant all on all tables in schema public to {}", role.name)).await;
    for table in TABLES.iter().filter(|it| it.sql != Sql::NoTenant) {
        let rows = role.texts(&format!("select x::text from {} x", table.name)).await.unwrap();
        let expected = usize::from(matches!(table.sql, Sql::View(_)));
        assert_eq!(rows.len(), expected, "{}: {rows:?}", table.name);
        assert!(rows.iter().all(|it| !it.contains("theirs")), "{}: {rows:?}", table.name);
    }
    role.run("delete from threads; update writes set channel = 'x'; delete from sql_roles")
        .await
        .unwrap();
    let insert = "insert into sql_roles (role, tenant, created_at) values ('x', 'tenant-b', 1)";
    let refused = role.run(insert).await.unwrap_err();
    assert!(refused.contains("row-level security"), "{refused}");
    assert_eq!(h.count("select count(*) from threads").await, 2);
    assert_eq!(h.count("select count(*) from writes where channel = 'x'").await, 0);
}
