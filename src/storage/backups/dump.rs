//! Writes and reads archives of a PostgreSQL database with PostgreSQL's own programs, `pg_dump` and `pg_restore`. A password goes to them
//! in their environment, where other users of the machine do not see it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _};
use tokio::process::Command;
use url::Url;

use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};
use crate::storage::postgres::database_url;
use crate::storage::postgres::other_servers::OTHERS;

const SETTING: &str = "database-url";
/// A database with this table was restored halfway: no server uses it.
pub const UNFINISHED: &str = "threadkeep_unfinished_restore";
/// Of what a program writes to standard error.
const TOLD_BYTES_MAX: usize = 2_000;

/// PostgreSQL's programs.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// Folder of `pg_dump` and `pg_restore`; without one the `PATH` has them.
    pub folder: Option<PathBuf>,
}

impl Programs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.as_ref().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
    }

    /// Writes an archive of one state of the database.
    ///
    /// # Errors
    /// `Invalid` without the program, `Obstacle` with what it says.
    pub async fn dump(&self, url: &str, to: &Path) -> Result<()> {
        // The program writes into a file that is there, and leaves who may read it.
        let unmade = |error| Error::file(format!("{} cannot be made", to.display()), &error);
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(unmade)?;
        let mut command = Command::new(self.path("pg_dump"));
        command.args(["--format=custom", "--no-password", "--file"]).arg(to);
        self.run("pg_dump", with_database(command, url)?).await
    }

    /// Reads an archive into a database that has nothing of ours, in one transaction.
    ///
    /// # Errors
    /// As [`Self::dump`].
    pub async fn restore(&self, url: &str, from: &Path) -> Result<()> {
        let mut command = Command::new(self.path("pg_restore"));
        // Users and rights of another cluster need not be here.
        command.args(["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]);
        command.args(["--no-comments", "--no-password"]);
        let mut command = with_database(command, url)?;
        command.arg(from);
        self.run("pg_restore", command).await
    }

    async fn run(&self, name: &str, mut command: Command) -> Result<()> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let ended = command.output().await.map_err(|error| {
            let at = self.path(name);
            let detail = format!(
                "{} cannot be run: {error}; install PostgreSQL's client programs of the server's version or a newer one, or name \
                 their folder with --postgres-programs",
                at.display()
            );
            Error::invalid("postgres-programs", detail)
        })?;
        if ended.status.success() {
            return Ok(());
        }
        let told = String::from_utf8_lossy(&ended.stderr);
        let told = told.trim().replace('\n', "; ");
        let cut = told.chars().take(TOLD_BYTES_MAX).collect::<String>();
        Err(Error::Obstacle { kind: Obstacle::FileFailed, detail: format!("{name} failed: {cut}") })
    }
}

/// Adds the address of the database without its password.
fn with_database(mut command: Command, url: &str) -> Result<Command> {
    let unread = |_| Error::invalid(SETTING, "--database-url cannot be read as a URL");
    let mut url = Url::parse(url).map_err(unread)?;
    let mut password = url.password().map(decoded);
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, value)| {
            let is_password = name == "password";
            if is_password {
                password = Some(value.clone().into_owned());
            }
            !is_password
        })
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let _ = url.set_password(None);
    url.set_query(None);
    if !others.is_empty() {
        url.query_pairs_mut().extend_pairs(others);
    }
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    // In a query, libpq takes a plus sign for itself.
    command.arg(format!("--dbname={}", url.as_str().replace('+', "%20")));
    Ok(command)
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Marks a database that has nothing of ours as one that a restore is filling.
///
/// # Errors
/// `Invalid` for a database that has something of ours, `Obstacle` for one that cannot be reached.
pub async fn begin(url: &str) -> Result<()> {
    let mut connection = connect(url).await?;
    let taken = "select to_regclass('schema_version') is not null";
    let is_taken = sqlx::query_scalar::<_, bool>(taken).fetch_one(&mut connection).await;
    let begun = if is_taken.map_err(|error| failed(&error))? {
        let detail = "the database that --database-url names has tables of threadkeep: restore into an empty database";
        Err(Error::invalid(SETTING, detail))
    } else {
        let text = sqlx::AssertSqlSafe(format!("create table if not exists {UNFINISHED} ()"));
        connection.execute(text).await.map(drop).map_err(|error| failed(&error))
    };
    let _ = connection.close().await;
    begun
}

/// Refuses a database that a server or command of ours has connections to.
///
/// # Errors
/// `Invalid` with what to do, `Obstacle` for a database that cannot be reached.
pub async fn require_no_server(url: &str) -> Result<()> {
    let mut connection = connect(url).await?;
    let counted = sqlx::query_scalar::<_, i64>(OTHERS).fetch_one(&mut connection).await;
    let _ = connection.close().await;
    if counted.map_err(|error| failed(&error))? == 0 {
        return Ok(());
    }
    let detail = "a server uses the database: stop it, or it goes on with what it remembers";
    Err(Error::invalid(SETTING, detail))
}

/// Removes the mark: the restore is whole.
///
/// # Errors
/// `Obstacle` for a database that cannot be reached.
pub async fn finish(url: &str) -> Result<()> {
    let mut connection = connect(url).await?;
    let text = sqlx::AssertSqlSafe(format!("drop table if exists {UNFINISHED}"));
    let done = connection.execute(text).await.map(drop).map_err(|error| failed(&error));
    let _ = connection.close().await;
    done
}

async fn connect(url: &str) -> Result<PgConnection> {
    let mut last = None;
    for options in database_url::parse(SETTING, url)? {
        match PgConnection::connect_with(&options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| Error::invalid(SETTING, "it names no server"), |it| failed(&it)))
}

fn failed(error: &sqlx::Error) -> Error {
    let detail = format!("the database that is to be restored: {error}");
    Error::Obstacle { kind: Obstacle::DatabaseAway, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_an_argument() {
        for url in [
            "postgres://ann:s%40cret@h:1/d?sslmode=require",
            "postgres://ann@h:1/d?password=s%40cret&sslmode=require",
        ] {
            let command = with_database(Command::new("pg_dump"), url).unwrap();
            let command = command.as_std();
            let arguments: Vec<_> =
                command.get_args().map(|it| it.to_string_lossy().into_owned()).collect();
            assert_eq!(arguments, ["--dbname=postgres://ann@h:1/d?sslmode=require"]);
            let environment: Vec<_> = command.get_envs().collect();
            assert_eq!(environment, [("PGPASSWORD".as_ref(), Some("s@cret".as_ref()))]);
        }
    }
}
