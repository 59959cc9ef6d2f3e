//! Creates login roles that read one tenant through views. A row in `sql_roles` has the role's tenant. A function finds it by the session's
//! user, so the role can change nothing to see more.

use sqlx::{AssertSqlSafe, Executor, Row};

use crate::domain::tenants::audit::Act;
use crate::domain::tenants::sql_role::{Dropped, NewSqlRole, SqlRole};
use crate::domain::{Error, Result};
use crate::storage::postgres::access::BorrowedTransaction;
use crate::storage::postgres::connection::Connection;
use crate::storage::postgres::{PostgresStorage, failure};
use crate::storage::tables::{Sql, TABLES};
use crate::storage::tenants::audit_rows::record;

/// So that a script with the role cannot take the servers' connections.
const CONNECTIONS_MAX: u32 = 10;

const NO_PRIVILEGE: &str = "42501";
const ROLE_EXISTS: &str = "42710";
const OWNS_THINGS: &str = "2BP01";

/// What a role could do beside reading the views: through what everybody has been given in this database.
const BEYOND: &str = "
select case
    when has_schema_privilege($1, current_schema(), 'create') then
        'every user may make tables and functions in the schema ' || quote_ident(current_schema())
        || ' (as was usual before PostgreSQL 15). Take that away first: revoke create on schema '
        || quote_ident(current_schema()) || ' from public'
    when not has_database_privilege($1, current_database(), 'connect') then
        'new users may not connect to this database, and this one cannot allow it: grant connect on database '
        || quote_ident(current_database()) || ' to the user that runs this command with grant option'
    when not has_schema_privilege($1, current_schema(), 'usage') then
        'new users may not use the schema ' || quote_ident(current_schema())
        || ', and this one cannot allow it: let its owner run this command'
    when c.relname is not null then
        'every user may read or change the table ' || quote_ident(c.relname)
        || '. Take that away first: revoke all on ' || quote_ident(c.relname) || ' from public'
    end as advice
from (select 1) one left join pg_class c on c.relnamespace = to_regnamespace(quote_ident(current_schema()))
    and c.relname = any ($2)
    and (has_table_privilege($1, c.oid, 'select, insert, update, delete, truncate, references, trigger')
        or has_any_column_privilege($1, c.oid, 'select, insert, update, references'))
limit 1";

impl PostgresStorage {
    /// One transaction: a role is there with all of its limits, or not at all.
    pub(in crate::storage) async fn make_sql_role(
        &self,
        role: &NewSqlRole,
        act: &Act,
    ) -> Result<()> {
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await.map_err(|error| failed(&error))?;
        let mut made = make(&mut transaction, role).await;
        if made.is_ok() {
            made = record(&mut BorrowedTransaction(&mut transaction), act).await;
        }
        if made.is_ok() {
            transaction.commit().await.map_err(|error| failed(&error))?;
        } else {
            transaction.rollback().await.map_err(|error| failed(&error))?;
        }
        made
    }

    pub(in crate::storage) async fn read_sql_roles(&self, tenant: &str) -> Result<Vec<SqlRole>> {
        let rows = sqlx::query(
            "select role, tenant, created_at from sql_roles where tenant = $1
             order by created_at, role",
        )
        .bind(tenant)
        .fetch_all(&mut *self.pool.get().await?)
        .await
        .map_err(|error| failed(&error))?;
        let role = |row: &sqlx::postgres::PgRow| SqlRole {
            name: row.get("role"),
            tenant: row.get("tenant"),
            created_at: row.get("created_at"),
        };
        Ok(rows.iter().map(role).collect())
    }

    /// First the row, which ends what the role reads, also in sessions that are open, with the act; then the role.
    pub(in crate::storage) async fn remove_sql_role(
        &self,
        tenant: &str,
        name: &str,
        act: &Act,
    ) -> Result<Dropped> {
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await.map_err(|error| failed(&error))?;
        let forgotten = sqlx::query("delete from sql_roles where tenant = $1 and role = $2")
            .bind(tenant)
            .bind(name)
            .execute(&mut *transaction)
            .await
            .map_err(|error| failed(&error))?;
        let found = forgotten.rows_affected() > 0;
        if found {
            record(&mut BorrowedTransaction(&mut transaction), act).await?;
        }
        transaction.commit().await.map_err(|error| failed(&error))?;
        if !found {
            return Ok(Dropped::Absent);
        }
        let role = quoted(name);
        let gone = end_role(&mut connection, &role, format!("drop role {role}")).await;
        let dropped = match gone {
            Err(error) if code(&error) == OWNS_THINGS => {
                let disabled = format!("alter role {role} nologin");
                let done = end_role(&mut connection, &role, disabled).await;
                done.map_err(|error| failed(&error))?;
                Dropped::Disabled
            }
            Err(error) => return Err(failed(&error)),
            Ok(()) => Dropped::Gone,
        };
        Ok(dropped)
    }
}

async fn make(connection: &mut Connection, new: &NewSqlRole) -> Result<()> {
    let role = quoted(&new.name);
    let verifier = new.verifier.replace('\'', "''");
    // The password itself never reaches the database, so it cannot be in its log.
    run(
        connection,
        format!(
            "create role {role} login noinherit connection limit {CONNECTIONS_MAX} password '{verifier}'"
        ),
    )
    .await?;
    sqlx::query(
        "insert into sql_roles (role, tenant, created_at)
         values ($1, $2, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
    )
    .bind(&new.name)
    .bind(&new.tenant)
    .execute(&mut *connection)
    .await
    .map_err(|error| failed(&error))?;
    let may = sqlx::query(
        "select quote_ident(current_schema()) as schema, quote_ident(current_database()) as database,
            has_schema_privilege($1, current_schema(), 'usage') as uses,
            has_database_privilege($1, current_database(), 'connect') as connects",
    )
    .bind(&new.name)
    .fetch_one(&mut *connection)
    .await
    .map_err(|error| failed(&error))?;
    let (schema, database): (String, String) = (may.get("schema"), may.get("database"));
    if !may.get::<bool, _>("uses") {
        run(connection, format!("grant usage on schema {schema} to {role}")).await?;
    }
    if !may.get::<bool, _>("connects") {
        run(connection, format!("grant connect on database {database} to {role}")).await?;
    }
    let views: Vec<String> = views().map(|view| format!("{schema}.{view}")).collect();
    run(connection, format!("grant select on {} to {role}", views.join(", "))).await?;
    run(connection, format!("grant execute on function {schema}.sql_role_tenant() to {role}"))
        .await?;
    // Against accidents only: the role may change its own settings, and nothing rests on them.
    run(connection, format!("alter role {role} set default_transaction_read_only = on")).await?;
    refuse_more(connection, &new.name).await
}

/// Refuses a database in which any role may do more than read the views.
async fn refuse_more(connection: &mut Connection, name: &str) -> Result<()> {
    let tables: Vec<&str> = TABLES.iter().map(|it| it.name).collect();
    let row = sqlx::query(BEYOND)
        .bind(name)
        .bind(tables)
        .fetch_one(connection)
        .await
        .map_err(|error| failed(&error))?;
    match row.get::<Option<String>, _>("advice") {
        None => Ok(()),
        Some(advice) => Err(Error::invalid("database-url", advice)),
    }
}

/// Ends its sessions, takes what it has in this database, and then does the last thing to it.
async fn end_role(
    connection: &mut Connection,
    role: &str,
    last: String,
) -> Result<(), sqlx::Error> {
    let row = sqlx::query(
        "select quote_ident(current_user) as me,
            current_setting('is_superuser')::boolean as is_superuser",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (me, is_superuser): (String, bool) = (row.get("me"), row.get("is_superuser"));
    let mut transaction = connection.begin().await?;
    // What a role was granted or has made goes only at the word of a member of it.
    let member = if is_superuser { String::new() } else { format!("grant {role} to {me}; ") };
    let name = role.trim_matches('"');
    let text = format!(
        "{member}select pg_terminate_backend(pid) from pg_stat_activity where usename = '{name}';
         drop owned by {role}; {last}"
    );
    let done = transaction.execute(AssertSqlSafe(text)).await;
    match done {
        Ok(_) => transaction.commit().await,
        Err(error) => {
            transaction.rollback().await?;
            Err(error)
        }
    }
}

async fn run(connection: &mut Connection, text: String) -> Result<()> {
    connection.execute(AssertSqlSafe(text)).await.map_err(|error| failed(&error))?;
    Ok(())
}

fn views() -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter_map(|table| match table.sql {
        Sql::View(view) => Some(view),
        Sql::Hidden(_) | Sql::NoTenant => None,
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn failed(error: &sqlx::Error) -> Error {
    match code(error).as_str() {
        NO_PRIVILEGE => Error::invalid(
            "database-url",
            format!(
                "the database user must not do this ({}); it needs createrole, and must own the tables of threadkeep",
                error.as_database_error().map_or("", |it| it.message())
            ),
        ),
        ROLE_EXISTS => {
            Error::invalid("name", "there is a role of this name in the database cluster")
        }
        _ => failure::of_call(error),
    }
}

fn code(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.map(std::borrow::Cow::into_owned).unwrap_or_default()
}
