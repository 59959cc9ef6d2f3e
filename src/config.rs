//! Defines every setting: a flag, else a `THREADKEEP_…` variable, else a line of a file, else a default. The doc comments are the manual that `--help` prints.
//! Reads nothing but the command line and the environment; `cli/sources.rs` adds what files have.

mod administration;
mod agent_server;
mod backup;
mod browsers;
mod doctor;
mod embeddings;
mod encryption;
mod healthcheck;
mod manuals;
mod stopping;
mod support;
mod tls;
mod transfer;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ipnet::IpNet;

pub use self::administration::{
    Audit, Console, Erase, Keys, MintToken, Quotas, SetQuota, SqlRoles, Tenants, Token,
};
pub use self::agent_server::{AgentServer, ChannelRule};
pub use self::backup::{Backup, PostgresPrograms, Restore};
pub use self::browsers::Browsers;
pub use self::doctor::{Doctor, ReportFormat};
pub use self::embeddings::EmbeddingsEndpoint;
pub use self::encryption::{Encrypt, Encryption, MasterKey};
pub use self::healthcheck::Healthcheck;
pub use self::manuals::{Completions, Man, Shell};
pub use self::stopping::Stopping;
pub use self::support::Support;
pub use self::tls::Tls;
pub use self::transfer::{Export, Import};

/// Of a graph or a field of metadata.
const NAME_BYTES_MAX: usize = 256;

/// Memory for AI agents that outlives their sandbox.
#[derive(Debug, Parser)]
#[command(name = "threadkeep", version, propagate_version = true)]
pub struct Config {
    /// Print one JSON value on standard output. Each line on standard error is a JSON object then; the last one of a command that fails has
    /// `error` and `exit_code`.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the HTTP API.
    Serve(Box<Serve>),
    /// Ask a running server whether it is ready. Exit code 0: it is; 1: it is not, and standard error says why.
    Healthcheck(Healthcheck),
    /// Look at the settings of `serve`: flags, variables, and the file that `--config` names.
    #[command(subcommand)]
    Config(Settings),
    /// Bring the database's schema to this version, then exit.
    Migrate(Database),
    /// Make, list and revoke the keys that open a tenant.
    #[command(subcommand)]
    Keys(Keys),
    /// List the tenants that there are: what each has stored, and when it was last written to.
    ///
    /// One per line: name, bytes, threads, items, time of the last write.
    Tenants(Tenants),
    /// Say how much a tenant may keep and how often it may ask.
    #[command(subcommand)]
    Quotas(Quotas),
    /// List a tenant's administrative acts and refusals, newest first.
    Audit(Audit),
    /// Make and revoke tokens: a part of what a key may, for a while.
    #[command(subcommand)]
    Token(Token),
    /// Print a link that logs in to the console with a token, alone on standard output; its id and its end go to standard error.
    /// The token lasts until it expires or is revoked by its id.
    Console(Console),
    /// Make, list and drop login roles of PostgreSQL that read one tenant with SQL, through views without contents.
    #[command(subcommand)]
    SqlRole(SqlRoles),
    /// Erase a subject: its threads with everything in them, and its keys. Prints counts of what went.
    ///
    /// It can be interrupted; the same command removes the rest. Threads that a key of the whole tenant made belong to
    /// no subject and stay.
    Erase(Erase),
    /// Write a tenant, or parts of it, into one file that any threadkeep reads, whatever database it has.
    ///
    /// The file is NOT encrypted. Runs beside a server.
    Export(Export),
    /// Read a file of `threadkeep export` into a tenant, or, with `--from`, what another store has.
    ///
    /// It can be interrupted and repeated: what is here as there stays. Runs beside a server. Another store is only read; all that
    /// comes from it is read back and compared. Exit code 0: all is here; 1: something failed and is named.
    Import(Import),
    /// Write a backup of the whole database: all tenants, keys, quotas and settings. Prints its manifest as JSON.
    ///
    /// Runs beside servers. An embedded database is copied while it is written; of PostgreSQL, `pg_dump` makes an archive. Content in an
    /// object store is not copied: it stays there for `--object-store-keep-seconds` after the database has let go of it.
    Backup(Backup),
    /// Make a database from a backup, before any server uses it. Prints what was renewed and done again, as JSON.
    ///
    /// Leases, tokens and signed addresses end, threads get new generations, and followers begin anew. Then the journal is read:
    /// what was revoked, erased or destroyed since the backup is so again.
    Restore(Restore),
    /// Make a master key, change it, and destroy the key of a tenant.
    #[command(subcommand)]
    MasterKey(MasterKey),
    /// Turn encryption on for a database that has content: encrypts everything that is stored.
    ///
    /// Stop every server first, and start them with the master key afterwards. It may be ended and begun again.
    Encrypt(Encrypt),
    /// Read everything that is stored, hold it against its digests, and say what is damaged, missing or left over.
    ///
    /// Runs beside a server, in pages. On SQLite the integrity check of the file comes first. What cannot be read is a finding, and
    /// the rest is examined. Exit code 0: sound, orphans are only a note; 1: something is damaged, missing, unread or counted
    /// wrongly; 2 and above: it could not run.
    Doctor(Doctor),
    /// Make one file about a server for whoever helps with it: versions, settings without secrets, sizes and numbers of rows, and with
    /// `--url` the metrics of a running server. No contents, keys or names of tenants.
    ///
    /// Runs beside a server. On an embedded database it goes through the whole file. What cannot be read is named, and the exit code says why.
    Support(Box<Support>),
    /// Print the script that lets a shell complete commands and options.
    Completions(Completions),
    /// Write the manual pages, one for each command.
    #[command(hide = true)]
    Man(Man),
    /// Print an OpenAPI document.
    #[command(hide = true)]
    Openapi {
        #[arg(value_enum, default_value_t = Openapi::Json)]
        document: Openapi,
        /// Changes nothing: bodies are JSON without it, too.
        #[arg(long, hide = true)]
        plain: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Settings {
    /// Say whether the settings of `serve` are right, without a database and without listening.
    Check(Box<Serve>),
    /// Print every setting of `serve` with its value and where that is from, in the form of a config file. Secrets are not shown.
    Show(Box<Serve>),
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Address to listen on; port 0 takes a free one. Without any key only loopback addresses are allowed.
    #[arg(long, env = "THREADKEEP_LISTEN", default_value = "127.0.0.1:7070")]
    pub listen: String,
    /// Address that shows `/metrics`, `/healthz` and `/readyz` without a key, for who runs the server; nobody else should reach it.
    /// `--listen` has no `/metrics` then. Without this address a key or token that reads a whole tenant sees them there.
    #[arg(long, env = "THREADKEEP_METRICS_LISTEN", value_name = "ADDRESS")]
    pub metrics_listen: Option<String>,
    /// Let local programs in without a key although every key was revoked. A database that never had a key does so by itself; while
    /// there is a key, it is needed.
    #[arg(long, env = "THREADKEEP_KEYLESS")]
    pub keyless: bool,
    #[command(flatten)]
    pub tls: Tls,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub objects: ObjectStore,
    /// `redis://…`, or `rediss://…` with TLS: a memory that servers share for what they have read from the object store, and for files just moved there. Without an object store it is not
    /// used; gone, slow or flushed it only costs time.
    #[arg(long, env = "THREADKEEP_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    #[command(flatten)]
    pub embeddings: EmbeddingsEndpoint,
    #[command(flatten)]
    pub browsers: Browsers,
    #[command(flatten)]
    pub agent_server: AgentServer,
    /// What a program of Agentrail's is told that asks, for one user, for a session of another: the session, as Agentrail's own store
    /// does; 409; or 403.
    #[arg(long, env = "THREADKEEP_AGENTRAIL_OTHER_USER", value_enum, default_value_t = OtherUser::Answered)]
    pub agentrail_other_user: OtherUser,
    /// JSON file that says which other issuers' tokens (JWT) are accepted, and for which tenant.
    #[arg(long, env = "THREADKEEP_ISSUERS", value_name = "FILE")]
    pub issuers: Option<PathBuf>,
    /// Refuse to run on an old schema instead of bringing it up to date.
    #[arg(long, env = "THREADKEEP_NO_MIGRATE")]
    pub no_migrate: bool,
    /// Seconds to wait for a database that is away when the server starts. Without them it ends at once.
    #[arg(long, env = "THREADKEEP_WAIT_FOR_DATABASE", value_name = "SECONDS", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub wait_for_database: u32,
    /// Run although the database may lose acknowledged writes (fsync off). For tests.
    #[arg(long, env = "THREADKEEP_ALLOW_UNSAFE")]
    pub allow_unsafe: bool,
    /// Bytes of values lately written or read that are kept in memory, so that clients can send and get
    /// differences to them. 0 keeps none.
    #[arg(long, env = "THREADKEEP_RECENT_BYTES_MAX", default_value_t = 256 << 20)]
    pub recent_bytes_max: u64,
    /// Bytes that differences in requests may expand to at one time, over all requests; more is refused for a
    /// moment. Up to 4 GiB.
    #[arg(long, env = "THREADKEEP_EXPANDED_BYTES_MAX", default_value_t = 256 << 20)]
    pub expanded_bytes_max: u32,
    /// Seconds between two looks at the retention policies that are due.
    #[arg(long, env = "THREADKEEP_RETENTION_INTERVAL", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub retention_interval: u64,
    /// Seconds after its last commit in which a thread with tasks to run is shown as busy; after them as interrupted. A lease shows
    /// more exactly who works on it.
    #[arg(long, env = "THREADKEEP_BUSY_SECONDS", default_value_t = 120,
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub busy_seconds: u32,
    /// Fields of the metadata of checkpoints that threads show in theirs, by comma, beside `graph_id`, `assistant_id` and `user_id`. What
    /// was set of a thread comes first. It holds for threads that change from then on.
    #[arg(long, env = "THREADKEEP_THREAD_METADATA_KEYS", value_delimiter = ',', value_parser = metadata_key)]
    pub thread_metadata_keys: Vec<String>,
    /// Requests per second of each tenant whose quota does not say, on this server. Unlimited without it.
    #[arg(long, env = "THREADKEEP_REQUESTS_PER_SECOND",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub requests_per_second: Option<u64>,
    /// The same for each key and each token.
    #[arg(long, env = "THREADKEEP_REQUESTS_PER_SECOND_PER_TOKEN",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub requests_per_second_per_token: Option<u64>,
    /// Connections of clients at one time; more are told to come again. Fewer where the system grants fewer file descriptors.
    #[arg(long, env = "THREADKEEP_CLIENT_CONNECTIONS_MAX", default_value_t = 8_192,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub client_connections_max: u32,
    /// Connections of one address, or of one /64 network of IPv6, at one time. Default: a quarter of all. This machine and trusted
    /// proxies may have all of them.
    #[arg(long, env = "THREADKEEP_CONNECTIONS_PER_ADDRESS_MAX",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections_per_address_max: Option<u32>,
    /// Addresses of proxies, or networks such as 10.0.0.0/8, joined by commas: each of them connects for many clients.
    #[arg(long, env = "THREADKEEP_TRUSTED_PROXIES", value_delimiter = ',', value_parser = network)]
    pub trusted_proxies: Vec<IpNet>,
    /// Seconds in which the head of a request has to arrive; a connection without a request for longer is closed.
    #[arg(long, env = "THREADKEEP_HEAD_SECONDS_MAX", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub head_seconds_max: u32,
    #[command(flatten)]
    pub stopping: Stopping,
    /// Days that the audit log is kept.
    #[arg(long, env = "THREADKEEP_AUDIT_KEEP_DAYS", default_value_t = 90,
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub audit_keep_days: u32,
    /// Milliseconds from which on a statement of the database is logged as slow: a warning with its text and time, without values. 0
    /// logs none.
    #[arg(long, env = "THREADKEEP_SLOW_STATEMENT_MS", default_value_t = 1_000,
          value_parser = clap::value_parser!(u32).range(0..=3_600_000))]
    pub slow_statement_ms: u32,
    /// Form of the log on standard error.
    #[arg(long, env = "THREADKEEP_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// What is logged: a level, or `module=level` pairs joined by commas.
    #[arg(long, env = "THREADKEEP_LOG_FILTER", default_value = "info")]
    pub log_filter: String,
}

/// A field of metadata. Some have columns of their own.
fn metadata_key(text: &str) -> Result<String, String> {
    if ["graph_id", "assistant_id", "user_id"].contains(&text) {
        return Err(format!("{text} shows anyway"));
    }
    name("field", text)
}

/// The name of something, as the labels of threads have it.
fn name(what: &str, text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > NAME_BYTES_MAX || text.contains('\0') {
        return Err(format!("the name of a {what} has 1 to {NAME_BYTES_MAX} bytes, without NUL"));
    }
    Ok(text.to_owned())
}

/// One address is a network, too.
fn network(text: &str) -> Result<IpNet, String> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    let network = address.or_else(|_| text.parse());
    network.map_err(|_| "must be an address, or a network such as 10.0.0.0/8".to_owned())
}

/// Where the data is.
#[derive(Debug, Args)]
pub struct Database {
    /// File in TOML form with settings, one in a line: the names of flags without the dashes. A flag goes before its variable, a
    /// variable before the file, the file before the default.
    #[arg(long, env = "THREADKEEP_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// `postgres://…` or `sqlite://PATH`. Default: the embedded database in the data folder.
    #[arg(long, env = "THREADKEEP_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Folder of the embedded database; made, for this user only, when it does not exist.
    #[arg(long, env = "THREADKEEP_DATA_DIR", default_value = "./threadkeep-data")]
    pub data_dir: PathBuf,
    /// Refuse to run where there is no embedded database yet, instead of making one: its folder may be on a volume that is not mounted.
    #[arg(long, env = "THREADKEEP_NO_CREATE")]
    pub no_create: bool,
    /// Connections to a PostgreSQL database for commits and reads by key. Half as many come on top for searches and lists, and four
    /// for keys, revocations and readiness.
    #[arg(long, env = "THREADKEEP_CONNECTIONS", default_value_t = 8,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=1_000))]
    pub connections: usize,
    /// Where revocations of keys, erasures and destroyed keys of tenants are written besides the database, so that a restored backup does not
    /// bring back what they ended: `s3://BUCKET/PREFIX` or a folder. Give it to all servers and commands.
    #[arg(long, env = "THREADKEEP_JOURNAL_URL")]
    pub journal_url: Option<String>,
    #[command(flatten)]
    pub encryption: Encryption,
}

/// Where cold content goes, outside the database. Off without a URL.
#[derive(Debug, Args)]
pub struct ObjectStore {
    /// `s3://BUCKET/PREFIX` or `file:///ABSOLUTE/FOLDER`: content of idle threads moves there. Credentials, region and
    /// endpoint come from the `AWS_…` variables. Once content lies there the server needs it for ever.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_URL")]
    pub object_store_url: Option<String>,
    /// Content of a thread without a commit for so many seconds moves.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_AFTER_SECONDS", default_value_t = 3_600,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub object_store_after_seconds: u32,
    /// Seconds between two rounds of moving and deleting.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_EVERY_SECONDS", default_value_t = 300,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub object_store_every_seconds: u32,
    /// A thread with less content than this to move keeps it in the database.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_PACK_BYTES_MIN", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u32).range(1..=4 << 20))]
    pub object_store_pack_bytes_min: u32,
    /// Seconds that an object stays after the database has let go of it. As long as you keep backups of the database,
    /// or one of them will miss content.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_KEEP_SECONDS", default_value_t = 3_600,
          value_parser = clap::value_parser!(u32).range(3_600..))]
    pub object_store_keep_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OtherUser {
    Answered,
    Conflict,
    Forbidden,
}

/// One of the documents that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Openapi {
    /// `/openapi.json`: everything but Agentrail's operations, bodies as JSON.
    Json,
    /// `/openapi-msgpack.json`: bodies in MessagePack.
    Msgpack,
    /// `/agentrail/openapi.json`: Agentrail's operations.
    Agentrail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Config::command().debug_assert();
    }

    #[test]
    fn options_of_the_database_follow_the_command() {
        let line = ["threadkeep", "keys", "create", "--tenant", "t", "--data-dir", "/x"];
        let config = Config::try_parse_from(line).unwrap();
        let Command::Keys(Keys::Create { database, .. }) = config.command else { panic!() };
        assert_eq!(database.data_dir, PathBuf::from("/x"));
    }
}
