//! Defines the settings of the commands that move stored data: export and import.

use std::path::PathBuf;

use clap::Args;

use super::{Database, ReportFormat};

#[derive(Debug, Args)]
pub struct Export {
    /// Whose.
    #[arg(long)]
    pub tenant: String,
    /// The file to make, readable for this user only; `-`: standard output. It is NOT encrypted, whatever the database is.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Only these threads, whole; may be given several times.
    #[arg(long = "thread", value_name = "THREAD_ID")]
    pub threads: Vec<String>,
    /// Only these sessions, whole: the kind, and the parts of the key, joined by `/`; may be given several times.
    #[arg(long = "session", value_name = "KIND/KEY")]
    pub sessions: Vec<String>,
    /// Only what is in this namespace and below: its labels as a JSON list; may be given several times.
    #[arg(long = "namespace", value_name = "JSON")]
    pub namespaces: Vec<String>,
    /// Only this snapshot, with what it keeps; may be given several times.
    #[arg(long = "snapshot", value_name = "SNAPSHOT_ID")]
    pub snapshots: Vec<String>,
    /// File with a key of at least 32 bytes: ends of nouns are signed with it (HMAC-SHA256).
    #[arg(long, value_name = "FILE")]
    pub signing_key_file: Option<PathBuf>,
    /// Of a damaged database bring off what is whole: threads, items, sessions and snapshots that cannot be read are left out and
    /// named on standard error, and the exit code is 1. Where only indexes of an embedded database are damaged, a copy with new indexes is
    /// exported; it takes as much room as the database, beside the file. Without the option the first damage ends the export, and there is
    /// no file.
    #[arg(long)]
    pub skip_damaged: bool,
    /// Where cold content lies, as the servers have it.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_URL")]
    pub object_store_url: Option<String>,
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Args)]
pub struct Import {
    /// A file that `threadkeep export` made; `-`: standard input.
    #[arg(required_unless_present = "from")]
    pub file: Option<PathBuf>,
    /// Or another store: `postgres://…` or `sqlite:PATH` with the tables of LangGraph's savers and stores, `dir:PATH` or
    /// `s3://BUCKET/PREFIX` with files laid out as `users/NAME/workspace/…` and `users/NAME/memory/…`. Nothing is written there.
    /// Credentials of a bucket come from the `AWS_…` variables.
    #[arg(
        long,
        env = "THREADKEEP_IMPORT_FROM",
        hide_env_values = true,
        value_name = "URL",
        conflicts_with_all = ["file", "overwrite", "signing_key_file"]
    )]
    pub from: Option<String>,
    /// Into which tenant.
    #[arg(long)]
    pub tenant: String,
    /// Replace what is here with other contents. Without it the import ends there.
    #[arg(long)]
    pub overwrite: bool,
    /// Read and check everything, say what would happen, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The file has to be signed with this key.
    #[arg(long, value_name = "FILE")]
    pub signing_key_file: Option<PathBuf>,
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Where cold content lies, as the servers have it.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_URL")]
    pub object_store_url: Option<String>,
    #[command(flatten)]
    pub database: Database,
}
