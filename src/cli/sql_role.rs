//! Implements `threadkeep sql-role create | list | drop`: login roles of PostgreSQL that read one tenant. Only this file ever shows the
//! password of a role.

use serde_json::json;

use crate::auth::scram;
use crate::config::SqlRoles;
use crate::domain::caller::check_tenant;
use crate::domain::clock::{Clock, random_hex};
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tenants::sql_role::{Dropped, NewSqlRole, SqlRole, check_name, unsupported};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};

use super::form::{Answer, Form};
use super::opening::open_existing;
use super::tenants;

pub(super) async fn run(command: SqlRoles, form: Form) -> Result<()> {
    let (SqlRoles::Create { database, tenant, .. }
    | SqlRoles::List { database, tenant }
    | SqlRoles::Drop { database, tenant, .. }) = &command;
    check_tenant(tenant)?;
    let Some(url) = database.database_url.as_deref().filter(|it| it.starts_with("postgres")) else {
        return Err(unsupported());
    };
    let storage = open_existing(database, None).await?;
    let done = carry_out(storage.as_ref(), url, &command).await;
    storage.close().await;
    form.print(&done?)
}

/// A role makes no tenant: it reads one that is there.
async fn carry_out(storage: &dyn Storage, url: &str, command: &SqlRoles) -> Result<Answer> {
    match command {
        SqlRoles::Create { tenant, name, .. } => {
            tenants::require(storage, tenant).await?;
            create(storage, url, tenant, name.as_deref()).await
        }
        // A role may have outlived what it was made for.
        SqlRoles::Drop { tenant, name, .. } => drop_role(storage, tenant, name).await,
        SqlRoles::List { tenant, .. } => {
            let roles = storage.list_sql_roles(tenant).await?;
            if roles.is_empty() {
                tenants::require(storage, tenant).await?;
            }
            listed(&roles)
        }
    }
}

/// Prints the URL to log in with, alone on its line.
async fn create(
    storage: &dyn Storage,
    url: &str,
    tenant: &str,
    name: Option<&str>,
) -> Result<Answer> {
    let made = || format!("threadkeep_sql_{}", &random_hex()[..16]);
    let name = name.map_or_else(made, str::to_owned);
    check_name(&name)?;
    let password = format!("{}{}", random_hex(), random_hex());
    let verifier = scram::verifier(&password, &rand::random());
    let role = NewSqlRole { name: name.clone(), tenant: tenant.to_owned(), verifier };
    let act = Act::of_operator(tenant, ActKind::RoleCreated, &name, Clock::System.now());
    storage.create_sql_role(&role, &act).await?;
    let url = login_url(url, &name, &password);
    Answer::new(format!("{url}\n"), &json!({ "name": name, "url": url }))
}

fn listed(roles: &[SqlRole]) -> Result<Answer> {
    let line = |role: &SqlRole| format!("{}\t{}\n", role.name, rfc3339(role.created_at));
    let row = |role: &SqlRole| json!({ "name": role.name, "created_at": rfc3339(role.created_at) });
    let lines: String = roles.iter().map(line).collect();
    Answer::new(lines, &roles.iter().map(row).collect::<Vec<_>>())
}

async fn drop_role(storage: &dyn Storage, tenant: &str, name: &str) -> Result<Answer> {
    let act = Act::of_operator(tenant, ActKind::RoleDropped, name, Clock::System.now());
    match storage.drop_sql_role(tenant, name, &act).await? {
        Dropped::Gone => {
            Answer::new(format!("dropped {name}\n"), &json!({ "name": name, "dropped": true }))
        }
        // It cannot log in any more, and is still there.
        Dropped::Disabled => {
            let text = format!(
                "{name} reads nothing any more and cannot log in; it owns things in another database: drop those, then \
                 drop role {name}\n"
            );
            Answer::new(text, &json!({ "name": name, "dropped": false }))
        }
        Dropped::Absent => Err(Error::NotFound("a role of this tenant with this name was")),
    }
}

/// The server's URL with another user. Name and password hold nothing that a URL escapes.
fn login_url(url: &str, name: &str, password: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.is_empty() { "localhost" } else { host };
    // Where the server may log in by other means than the role.
    let own = ["user=", "password=", "passfile=", "sslcert=", "sslkey=", "ssl-cert=", "ssl-key="];
    let kept: Vec<&str> = query
        .split('&')
        .filter(|it| !it.is_empty() && !own.iter().any(|own| it.starts_with(own)))
        .collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{scheme}://{name}:{password}@{host}/{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_url_keeps_the_place_and_nothing_of_the_servers_login() {
        for (url, expected) in [
            ("postgres://a:b@db:5432/x", "postgres://r:p@db:5432/x"),
            ("postgresql://a:b%40c@db/x?sslmode=require", "postgresql://r:p@db/x?sslmode=require"),
            (
                "postgres:///x?host=/run/pg&user=a&password=b",
                "postgres://r:p@localhost/x?host=/run/pg",
            ),
            ("postgres://db", "postgres://r:p@db/"),
        ] {
            assert_eq!(login_url(url, "r", "p"), expected);
        }
    }
}
