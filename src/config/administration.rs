//! Defines the settings of the commands that look after tenants: keys, tokens, quotas, the audit log, roles for SQL, erasure.

use clap::{Args, Subcommand};
use url::Url;

use super::{Database, ReportFormat};

/// Names the owner of the keys that a command is about.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct WhoseKeys {
    /// Tenant that the key opens: 1 to 63 characters of a-z, 0-9, _ and -.
    #[arg(long)]
    pub tenant: Option<String>,
    /// The key of an operator, who makes keys and quotas of all tenants over HTTP and reads the contents of none.
    #[arg(long)]
    pub operator: bool,
}

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Make a key and print it, once, alone on standard output.
    Create {
        #[command(flatten)]
        whose: WhoseKeys,
        /// Subject the key speaks for; without one it has the whole tenant.
        #[arg(long)]
        subject: Option<String>,
        /// What lists of keys call it: 1 to 100 bytes.
        #[arg(long)]
        name: Option<String>,
        /// The key reads what it would otherwise change.
        #[arg(long)]
        read_only: bool,
        /// Seconds until it expires, up to 315360000. Default: it does not.
        #[arg(long, allow_hyphen_values = true)]
        ttl_seconds: Option<i64>,
        #[command(flatten)]
        database: Database,
    },
    /// List a tenant's keys: id, subject, time of making, and of revocation, how the text begins, name, when it expires, day of last use. `-`
    /// for none.
    List {
        #[command(flatten)]
        whose: WhoseKeys,
        #[command(flatten)]
        database: Database,
    },
    /// Revoke a key, and with it all tokens that were made with it. Running servers refuse them within two seconds.
    Revoke {
        #[command(flatten)]
        whose: WhoseKeys,
        /// The id that `keys list` shows, `key_…`.
        #[arg(long)]
        key_id: String,
        #[command(flatten)]
        database: Database,
    },
}

#[derive(Debug, Args)]
pub struct Tenants {
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Subcommand)]
pub enum Quotas {
    /// Replace a tenant's quota. What is left out is unlimited. Running servers follow within ten seconds.
    Set(SetQuota),
    /// Show a tenant's quota and what it has: one `name value` per line, and the limit where there is one.
    Show {
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        database: Database,
    },
}

#[derive(Debug, Args)]
pub struct SetQuota {
    #[arg(long)]
    pub tenant: String,
    /// Bytes of values, writes, skeletons and metadata, before compression and sharing: as listings of threads count.
    #[arg(long)]
    pub bytes_max: Option<u64>,
    #[arg(long)]
    pub threads_max: Option<u64>,
    #[arg(long)]
    pub items_max: Option<u64>,
    /// On each server. As many may come at once after a pause.
    #[arg(long)]
    pub requests_per_second: Option<u64>,
    /// The same for each key and each token.
    #[arg(long)]
    pub requests_per_second_per_token: Option<u64>,
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("whose").required(true)))]
pub struct Audit {
    #[arg(long, group = "whose")]
    pub tenant: Option<String>,
    /// Refusals of which nobody knows whose they were: requests without a key, or with one that opens nothing.
    #[arg(long, group = "whose")]
    pub unknown: bool,
    /// The keys of operators that were made and revoked.
    #[arg(long, group = "whose")]
    pub operators: bool,
    /// Not before this RFC 3339 time.
    #[arg(long)]
    pub since: Option<String>,
    /// Before this RFC 3339 time.
    #[arg(long)]
    pub until: Option<String>,
    /// Only this kind: `key_created`, `refused`, …
    #[arg(long)]
    pub act: Option<String>,
    /// Events at most.
    #[arg(long, default_value_t = 100)]
    pub limit: usize,
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Subcommand)]
pub enum SqlRoles {
    /// Make a role and print the URL to log in with, once, alone on standard output.
    ///
    /// The role reads views of its tenant only, named sql_…: threads, checkpoints, writes, retention policies and
    /// reports. The database user needs createrole.
    Create {
        #[arg(long)]
        tenant: String,
        /// Name of the role: a-z, 0-9 and _, unique in the database cluster, whose roles can all see it. Default: a
        /// random one.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        database: Database,
    },
    /// List a tenant's roles: name, time of making.
    List {
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        database: Database,
    },
    /// Drop a role, with its open sessions.
    Drop {
        #[arg(long)]
        tenant: String,
        #[arg(long)]
        name: String,
        #[command(flatten)]
        database: Database,
    },
}

#[derive(Debug, Args)]
pub struct Erase {
    #[arg(long)]
    pub tenant: String,
    /// The subject of the keys and tokens that made its threads.
    #[arg(long)]
    pub subject: String,
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token and print it, alone on standard output; its id and its end go to standard error.
    ///
    /// No key ends it: it lasts until it expires or is revoked by its id.
    Mint(MintToken),
    /// Revoke a token and all that were narrowed from it. Running servers refuse them within two seconds.
    Revoke {
        #[arg(long)]
        tenant: String,
        /// `tok_…`.
        #[arg(long)]
        token_id: String,
        #[command(flatten)]
        database: Database,
    },
    /// Throw away what a tenant's tokens are signed with: all its tokens end within two seconds, and new ones are signed
    /// anew. For emergencies; secrets are replaced every 30 days by themselves, and no token notices.
    RotateSecrets {
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        database: Database,
    },
}

#[derive(Debug, Args)]
pub struct Console {
    #[arg(long)]
    pub tenant: String,
    /// Who opens the link reads the tenant and changes nothing.
    #[arg(long)]
    pub read_only: bool,
    /// How long it lasts, up to `24h`: a number of `s`, `m` or `h`.
    #[arg(long, default_value = "8h", value_parser = seconds)]
    pub ttl: u64,
    /// Where browsers reach the server.
    #[arg(long, default_value = "http://127.0.0.1:7070", value_parser = origin)]
    pub url: String,
    #[command(flatten)]
    pub database: Database,
}

/// A number of seconds, minutes or hours.
fn seconds(text: &str) -> Result<u64, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600)];
    let found = units.iter().find_map(|(unit, length)| Some((text.strip_suffix(unit)?, *length)));
    let seconds = found.and_then(|(count, length)| count.parse::<u64>().ok()?.checked_mul(length));
    seconds.ok_or_else(|| "must be a number with s, m or h, such as 30m".to_owned())
}

/// An address that a link can begin with, without a slash at its end.
pub(super) fn origin(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|it| matches!(it.scheme(), "http" | "https"));
    let is_plain = url.is_some_and(|it| it.query().is_none() && it.fragment().is_none());
    let address = is_plain.then(|| text.trim_end_matches('/').to_owned());
    address.ok_or_else(|| "must be an address such as https://memory.example.com".to_owned())
}

#[derive(Debug, Args)]
pub struct MintToken {
    #[arg(long)]
    pub tenant: String,
    /// Subject the token speaks for. Needed without --grants and --read-only.
    #[arg(long)]
    pub subject: Option<String>,
    /// What the token may do, as the API has it: `{"threads":[{"prefix":"acme:","actions":["read"]}]}`. Default: what
    /// the subject has.
    #[arg(long, value_name = "JSON")]
    pub grants: Option<String>,
    /// Instead of --grants: what the subject has, to read; without a subject, everything of the tenant.
    #[arg(long, conflicts_with = "grants")]
    pub read_only: bool,
    /// Seconds until it expires, up to 86400. Default: 3600.
    #[arg(long)]
    pub ttl_seconds: Option<u64>,
    /// `json`: the token with its id, its end and its grants, all on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    #[command(flatten)]
    pub database: Database,
}
