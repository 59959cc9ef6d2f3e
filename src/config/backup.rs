//! Defines the settings of `threadkeep backup` and `threadkeep restore`.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::Database;

#[derive(Debug, Args)]
pub struct Backup {
    /// Folder, or `s3://BUCKET/PREFIX`: the backup and its manifest are written there under a name with the time.
    #[arg(long)]
    pub to: String,
    /// Remove backups at that place that began more than so many days before, and from the journal the erasures that no backup needs.
    #[arg(long, value_parser = value_parser!(u32).range(1..=36_500))]
    pub keep_days: Option<u32>,
    #[command(flatten)]
    pub programs: PostgresPrograms,
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// The backup: the place that `backup --to` named, and the name in its manifest, joined by a slash. Or `latest` in place of the name.
    #[arg(long, required_unless_present = "in_place", conflicts_with = "in_place")]
    pub from: Option<String>,
    /// The database was put back by other means, such as recovery to a point in time: only renew it and do again what the journal says.
    #[arg(long, requires = "as_of")]
    pub in_place: bool,
    /// With `--in-place`: the time that the database shows, in RFC 3339.
    #[arg(long, requires = "in_place")]
    pub as_of: Option<String>,
    /// Where cold content lies, as the servers have it: shows that all of it is there.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_URL")]
    pub object_store_url: Option<String>,
    #[command(flatten)]
    pub programs: PostgresPrograms,
    #[command(flatten)]
    pub database: Database,
}

/// Names PostgreSQL's own programs.
#[derive(Debug, Args)]
pub struct PostgresPrograms {
    /// Folder of PostgreSQL's `pg_dump` and `pg_restore`. Default: they are found by `PATH`.
    #[arg(long, env = "THREADKEEP_POSTGRES_PROGRAMS", value_name = "FOLDER")]
    pub postgres_programs: Option<PathBuf>,
}
