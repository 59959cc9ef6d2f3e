//! Defines the settings of encryption at rest, and of the commands that turn it on and change its keys.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Database;

/// Encryption at rest. On where a master key is given, and then for everything in the database.
#[derive(Debug, Args)]
pub struct Encryption {
    /// File with the master key: 32 bytes as base64 or hexadecimal digits. Content is encrypted with keys that it wraps;
    /// without it nothing can be read again. The variable `THREADKEEP_MASTER_KEY` may hold the key itself.
    #[arg(long, env = "THREADKEEP_MASTER_KEY_FILE")]
    pub master_key_file: Option<PathBuf>,
    /// A command that writes the master key to standard output, such as the client of a key manager. `sh -c` runs it once when the program
    /// starts, for at most 30 seconds.
    #[arg(long, env = "THREADKEEP_MASTER_KEY_COMMAND", value_name = "COMMAND")]
    pub master_key_command: Option<String>,
    /// A second master key that is accepted, while it is being changed: the one before.
    #[arg(long, env = "THREADKEEP_PREVIOUS_MASTER_KEY_FILE")]
    pub previous_master_key_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum MasterKey {
    /// Make a new master key. Keep it apart from the database and its backups.
    Create {
        /// Write it into this new file, which only this user can read. Without it the key is printed, alone on standard output.
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Wrap the keys of all tenants with a new master key. Servers that were started with both go on meanwhile.
    Rotate {
        /// File with the new master key.
        #[arg(long)]
        new_master_key_file: PathBuf,
        #[command(flatten)]
        database: Database,
    },
    /// Destroy the key of a tenant: everything it has stored is unreadable then, for ever and for everybody.
    Destroy {
        #[arg(long)]
        tenant: String,
        /// Yes, for ever.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        database: Database,
    },
}

#[derive(Debug, Args)]
pub struct Encrypt {
    /// Where cold content lies, as the servers have it.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_URL")]
    pub object_store_url: Option<String>,
    /// Look at every tenant again and seal what is still plain: what a server without the master key wrote meanwhile.
    #[arg(long)]
    pub repair: bool,
    /// Sign the keys that are there, and owners that are not signed, without asking.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub database: Database,
}
