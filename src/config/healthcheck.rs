//! Settings of `threadkeep healthcheck`.

use clap::Args;

use super::administration::origin;

#[derive(Debug, Args)]
pub struct Healthcheck {
    /// Where the server is. With https, a server on a loopback address may have any certificate; elsewhere it must be one that this machine
    /// trusts.
    #[arg(long, env = "THREADKEEP_HEALTHCHECK_URL", default_value = "http://127.0.0.1:7070", value_parser = origin)]
    pub url: String,
}
