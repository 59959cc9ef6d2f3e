//! Tests that the list of tables is that of the schema, and that its statements about row security are true.

use std::collections::BTreeSet;
use std::path::Path;

use threadkeep::storage::tables::{Doctor, POSTGRES_ONLY, Sql, TABLES};

use crate::harness::Harness;

fn listed(with: impl Fn(&str) -> bool) -> BTreeSet<String> {
    TABLES.iter().map(|it| it.name.to_owned()).filter(|name| with(name)).collect()
}

pub async fn every_table_of_the_schema_is_listed(h: Harness) {
    let statement = if h.is_sqlite() {
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'"
    } else {
        "select table_name::text from information_schema.tables
         where table_schema = current_schema() and table_type = 'BASE TABLE'"
    };
    let found: BTreeSet<String> = h.texts(statement).await.into_iter().collect();
    let here = |name: &str| !(h.is_sqlite() && POSTGRES_ONLY.contains(&name));
    assert_eq!(
        found,
        listed(here),
        "a table is in src/storage/tables.rs, and what it is there is told"
    );
}

/// Tables that a view shows have a policy; nobody but the owner sees a row of the others.
#[tokio::test]
async fn row_security_is_on_for_every_table_of_tenants() {
    let h = Harness::postgres().await;
    let with_tenant = h
        .texts(
            "select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid
             where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
                and a.attname = 'tenant' and not a.attisdropped",
        )
        .await;
    let with_tenant: BTreeSet<String> = with_tenant.into_iter().collect();
    let classified =
        |it: &str| TABLES.iter().any(|table| table.name == it && table.sql != Sql::NoTenant);
    assert_eq!(with_tenant, listed(classified));
    let secured = h
        .texts(
            "select relname::text from pg_class where relnamespace = current_schema()::regnamespace
                and relrowsecurity and not relforcerowsecurity",
        )
        .await;
    assert_eq!(with_tenant, secured.into_iter().collect(), "enabled, and not forced");
    let policies = h
        .texts(
            "select tablename || ' ' || cmd || ' ' || (qual like '%sql_role_tenant()%') from pg_policies
             where schemaname = current_schema() order by 1",
        )
        .await;
    let mut shown: Vec<String> = Vec::new();
    for table in TABLES {
        if let Sql::View(view) = table.sql {
            shown.push(format!("{} SELECT true", table.name));
            let barrier = format!(
                "select count(*) from pg_class where relname = '{view}' and relkind = 'v'
                 and 'security_barrier=true' = any (reloptions)
                 and pg_get_viewdef(oid) like '%sql_role_tenant()%'"
            );
            assert_eq!(h.count(&barrier).await, 1, "{view}");
        }
    }
    shown.sort();
    assert_eq!(policies, shown);
    let views =
        h.texts("select viewname::text from pg_views where schemaname = current_schema()").await;
    assert_eq!(views.len(), shown.len(), "{views:?}");
}

#[test]
fn the_doctor_looks_at_what_the_list_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/storage/maintenance/doctor");
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        text += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for table in TABLES {
        let named = text.contains(&format!("from {} ", table.name))
            || text.contains(&format!("from {}\n", table.name))
            || text.contains(&format!("\"{}\"", table.name));
        match table.doctor {
            Doctor::Examined => assert!(named, "{} is not examined", table.name),
            Doctor::Never(_) => assert!(!named, "{} is examined", table.name),
        }
    }
}
