//! Writes logs to standard error, as text or JSON. They never have values, keys or thread contents. Spans and events have only ids of
//! requests, routes and counts.

use std::io;

use tracing::{Subscriber, subscriber};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use super::progress;
use crate::config::LogFormat;
use crate::domain::{Error, Result};
use crate::storage::postgres::notices;

/// Starts logging for the process.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(format: LogFormat, filter: &str) -> Result<()> {
    let read = || EnvFilter::try_new(filter);
    let unreadable = |error| Error::invalid("log-filter", format!("--log-filter: {error}"));
    let for_all = read().map_err(unreadable)?;
    let probe = registry().with(read().map_err(unreadable)?);
    let started = if subscriber::with_default(probe, notices::are_enabled) {
        registry().with(for_all).with(lines(format)).with(notices::NoticeLayer).try_init()
    } else {
        // Filters of single layers cost every statement a look at its text, because sqlx takes it for logged.
        let lines = lines(format).with_filter(for_all);
        registry().with(lines).with(notices::layer()).try_init()
    };
    started.map_err(|error| Error::Internal(format!("logging could not be started: {error}")))
}

fn lines<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let writer = || {
        progress::clear();
        io::stderr()
    };
    let lines = fmt::layer().with_ansi(false).with_writer(writer);
    match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    }
}
