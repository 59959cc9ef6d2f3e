//! Tests how roles for direct SQL are made and dropped: who may make one, where one is refused, and what is left of one.

use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::storage::tables::{Sql, TABLES};

use crate::commands::Put;
use crate::harness::{Harness, NEVER, caller_of, commit, config, thread_id};
use crate::sql_reader::{Role, fill, on, on_url};

#[tokio::test]
async fn roles_are_listed_and_dropped_and_then_read_nothing() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let (mut role, other) = (Role::of(&h, "tenant-a").await, Role::of(&h, "tenant-b").await);
    let listed = on(&h, &["list", "--tenant", "tenant-a"]).unwrap();
    assert!(listed.starts_with(&format!("{}\t20", role.name)) && listed.lines().count() == 1);
    let refused = on(&h, &["drop", "--tenant", "tenant-b", "--name", &role.name]).unwrap_err();
    assert!(refused.contains("not found"), "{refused}");
    let refused = on(&h, &["drop", "--tenant", "tenant-a", "--name", "postgres"]).unwrap_err();
    assert!(refused.contains("not found"), "{refused}");
    role.run("select lo_create(0)").await.unwrap();
    assert_eq!(role.threads().await, ["ours-thread"]);
    on(&h, &["drop", "--tenant", "tenant-a", "--name", &role.name]).unwrap();
    assert!(role.texts("select thread_id from sql_threads").await.is_err());
    assert!(PgConnection::connect(&role.url).await.is_err());
    assert_eq!(on(&h, &["list", "--tenant", "tenant-a"]).unwrap(), "");
    assert!(PgConnection::connect(&other.url).await.is_ok());
    let exists = format!("select count(*) from pg_roles where rolname = '{}'", role.name);
    assert_eq!(h.count(&exists).await, 0);
}

#[tokio::test]
async fn a_role_that_owns_something_elsewhere_is_cut_off() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let elsewhere = Harness::postgres().await;
    let role = Role::of(&h, "tenant-a").await;
    elsewhere.sql(&format!("create schema mine authorization {}", role.name)).await;
    let said = on(&h, &["drop", "--tenant", "tenant-a", "--name", &role.name]).unwrap();
    assert!(said.contains("cannot log in"), "{said}");
    assert!(PgConnection::connect(&role.url).await.is_err());
    elsewhere.sql(&format!("drop schema mine; drop role {}", role.name)).await;
}

#[tokio::test]
async fn the_password_is_needed_and_the_database_never_hears_it() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let name = format!("reader_{}", std::process::id());
    h.sql("revoke create on schema public from public").await;
    let url = on(&h, &["create", "--tenant", "tenant-a", "--name", &name]).unwrap();
    let (head, rest) = url.split_once(&format!("://{name}:")).unwrap();
    let (password, place) = rest.split_once('@').unwrap();
    assert_eq!((head, password.len()), ("postgres", 64));
    let kept =
        h.texts(&format!("select rolpassword from pg_authid where rolname = '{name}'")).await;
    assert!(kept[0].starts_with("SCRAM-SHA-256$4096:"), "{kept:?}");
    for wrong in ["", "0", &password[..63]] {
        let url = format!("{head}://{name}:{wrong}@{place}");
        assert!(PgConnection::connect(&url).await.is_err(), "logged in with {wrong:?}");
    }
    PgConnection::connect(&url).await.unwrap();
    let taken = on(&h, &["create", "--tenant", "tenant-b", "--name", &name]).unwrap_err();
    assert!(taken.contains("there is a role of this name"), "{taken}");
    for bad in ["Robert\"; drop table threads", "pg_reader", "A"] {
        let refused = on(&h, &["create", "--tenant", "tenant-a", "--name", bad]).unwrap_err();
        assert!(refused.contains("the name of a role must be"), "{refused}");
    }
    assert_eq!(on(&h, &["list", "--tenant", "tenant-b"]).unwrap(), "");
    on(&h, &["drop", "--tenant", "tenant-a", "--name", &name]).unwrap();
}

#[tokio::test]
async fn a_database_in_which_everybody_may_more_is_refused_with_advice() {
    let h = Harness::postgres().await;
    fill(&h).await;
    // Roles belong to all databases of a server, and other tests make some of theirs.
    let name = format!("refused_reader_{}", std::process::id());
    let create = ["create", "--tenant", "tenant-a", "--name", &name];
    for (open, close, advice) in [
        (
            "grant create on schema public to public",
            "revoke create on schema public from public",
            "revoke create on schema public from public",
        ),
        (
            "grant select on keys to public",
            "revoke all on keys from public",
            "revoke all on keys from public",
        ),
        (
            "grant update (tenant) on threads to public",
            "revoke update (tenant) on threads from public",
            "revoke all on threads from public",
        ),
    ] {
        h.sql(open).await;
        let refused = on(&h, &create).unwrap_err();
        assert!(refused.contains(advice), "{refused}");
        h.sql(close).await;
    }
    let role = format!("select count(*) from pg_roles where rolname = '{name}'");
    assert_eq!(h.count(&role).await, 0, "a refused role is not there");
    assert_eq!(on(&h, &["list", "--tenant", "tenant-a"]).unwrap(), "");
    // All that a role needs is granted to it, should everybody else not have it.
    h.sql("revoke all on schema public from public").await;
    let database = h.texts("select quote_ident(current_database())").await.remove(0);
    h.sql(&format!("revoke connect on database {database} from public")).await;
    assert_eq!(Role::of(&h, "tenant-a").await.threads().await, ["ours-thread"]);
}

#[tokio::test]
async fn who_must_not_make_roles_is_told_what_is_missing() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let me = format!("plain_{}", std::process::id());
    // A superuser reaches all tables, so it stands in for their owner here.
    h.sql(&format!("create role {me} login password 'x' bypassrls")).await;
    h.sql(&format!("grant select, insert, delete on all tables in schema public to {me}")).await;
    let url = h.url().replace("postgres@", &format!("{me}:x@"));
    let refused = on_url(&url, &["create", "--tenant", "tenant-a"]).unwrap_err();
    assert!(refused.contains("createrole"), "{refused}");
    h.sql(&format!("drop owned by {me}; drop role {me}")).await;
}

/// As in production: the tables belong to a user that may make roles and is nothing more.
#[tokio::test]
async fn an_owner_who_is_no_superuser_makes_and_drops_roles() {
    let h = Harness::postgres().await;
    let me = format!("owner_{}", std::process::id());
    h.sql(&format!("create role {me} login password 'x' createrole")).await;
    let here = h.texts("select current_database()::text").await.remove(0);
    h.sql(&format!("create database {here}_owned owner {me}")).await;
    let url = h.url().replace("postgres@", &format!("{me}:x@"));
    let url = url.replace(&here, &format!("{here}_owned"));
    // The schema of a new database is its owner's only from version 15 on.
    let owned = h.url().replace(&here, &format!("{here}_owned"));
    let mut admin = PgConnection::connect(&owned).await.unwrap();
    let schema =
        format!("alter schema public owner to {me}; revoke create on schema public from public");
    admin.execute(sqlx::AssertSqlSafe(schema)).await.unwrap();
    let storage = threadkeep::storage::open(&config(&url)).await.unwrap();
    for tenant in ["tenant-a", "tenant-b"] {
        let put = commit(&format!("thread of {tenant}"), vec![Put::new("1").op()]);
        let prepared = storage.prepare(&caller_of(tenant), put, NEVER).await.unwrap();
        let (batch, _) = fold(&[&prepared], 0);
        storage.write_batch(&batch).await.unwrap();
    }
    let login = on_url(&url, &["create", "--tenant", "tenant-a"]).unwrap();
    let name = PgConnectOptions::from_str(&login).unwrap().get_username().to_owned();
    let mut reader = PgConnection::connect(&login).await.unwrap();
    let read = "select thread_id from sql_threads";
    let seen: Vec<String> = sqlx::query_scalar(read).fetch_all(&mut reader).await.unwrap();
    assert_eq!(seen, ["thread of tenant-a"]);
    on_url(&url, &["drop", "--tenant", "tenant-a", "--name", &name]).unwrap();
    assert!(sqlx::query(read).fetch_all(&mut reader).await.is_err());
    assert!(PgConnection::connect(&login).await.is_err());
    storage.close().await;
    h.sql(&format!("drop database {here}_owned with (force)")).await;
    h.sql(&format!("drop role {me}")).await;
}

#[tokio::test]
async fn an_embedded_database_has_no_roles() {
    let h = Harness::sqlite().await;
    for arguments in [&["create", "--tenant", "a"][..], &["list", "--tenant", "a"]] {
        let refused = on(&h, arguments).unwrap_err();
        assert!(refused.contains("direct SQL roles are for PostgreSQL"), "{refused}");
    }
    assert!(h.storage.list_sql_roles("a").await.is_err());
}

/// A server that is not the owner would find every table empty.
#[tokio::test]
async fn a_server_from_which_rows_are_hidden_does_not_start() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let me = format!("server_{}", std::process::id());
    h.sql(&format!("create role {me} login password 'x'")).await;
    h.sql(&format!("grant all on all tables in schema public to {me}")).await;
    let url = h.url().replace("postgres@", &format!("{me}:x@"));
    let refused = threadkeep::storage::open(&config(&url)).await.err().unwrap().to_string();
    for part in [&me, "connect as postgres", "bypassrls"] {
        assert!(refused.contains(part), "{refused}");
    }
    h.sql(&format!("alter role {me} bypassrls")).await;
    let storage = threadkeep::storage::open(&config(&url)).await.unwrap();
    let found = storage.get_thread(&h.caller, &thread_id("ours-thread")).await.unwrap();
    assert!(found.is_some());
    storage.close().await;
    h.sql(&format!("drop owned by {me}; drop role {me}")).await;
}

/// Row security costs the owner nothing: its statements have the plans that they have without.
#[tokio::test]
async fn the_owners_plans_are_those_without_row_security() {
    let h = Harness::postgres().await;
    fill(&h).await;
    h.sql("analyze").await;
    let statements = [
        "explain select * from threads where tenant = 'tenant-a' and thread_id = 'ours-thread'",
        "explain select * from checkpoints c join threads t on t.tenant = c.tenant and t.thread_key = c.thread_key
            where t.tenant = 'tenant-a' order by c.checkpoint_id desc limit 5",
        "explain update scopes set epoch = epoch + 1 where tenant = 'tenant-a'",
    ];
    let plans = async || {
        let mut plans = Vec::new();
        for statement in statements {
            plans.push(h.texts(statement).await);
        }
        plans
    };
    let with = plans().await;
    assert!(with.iter().flatten().all(|it| !it.contains("sql_role_tenant")), "{with:?}");
    for table in TABLES.iter().filter(|it| it.sql != Sql::NoTenant) {
        h.sql(&format!("alter table {} disable row level security", table.name)).await;
    }
    assert_eq!(plans().await, with);
}
