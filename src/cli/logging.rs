//! Logs go to standard error, as text or JSON. Values, keys and thread contents never go into them: spans
//! and events name ids of requests, routes and counts only.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;
use crate::domain::{Error, Result};

/// Starts logging for the process.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(format: LogFormat, filter: &str) -> Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Error::invalid("log-filter", format!("--log-filter: {error}")))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Error::Internal(format!("logging could not be started: {error}")))
}
