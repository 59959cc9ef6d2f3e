//! Defines the settings of `support`: those of the server that it tells about, and where the bundle goes.

use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::Serve;

#[derive(Debug, Args)]
pub struct Support {
    /// The file to make, readable for this user only: a tar file packed with gzip.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// A running server whose metrics and readiness go into the bundle. Its `/metrics` wants a key in `THREADKEEP_API_KEY`, but for an
    /// address of `--metrics-listen`.
    #[arg(long)]
    pub url: Option<Url>,
    #[command(flatten)]
    pub serve: Serve,
}
