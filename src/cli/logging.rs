//! Logs go to standard error, as text or JSON. Values, keys and thread contents never go into them: spans
//! and events name ids of requests, routes and counts only.

use std::io;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use crate::config::LogFormat;
use crate::domain::{Error, Result};
use crate::storage::postgres::notices;

/// Starts logging for the process.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(format: LogFormat, filter: &str) -> Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Error::invalid("log-filter", format!("--log-filter: {error}")))?;
    let lines = fmt::layer().with_ansi(false).with_writer(io::stderr);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    };
    let started = tracing_subscriber::registry().with(lines).with(notices::layer()).try_init();
    started.map_err(|error| Error::Internal(format!("logging could not be started: {error}")))
}
