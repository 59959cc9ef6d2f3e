//! Starts the metrics of a server: where they are counted, and what each of them is.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::domain::clock::Clock;
use crate::domain::metric_families::{self as families, Kind};
use crate::domain::{Error, Result};

/// Counts from now on. What was registered before is lost.
pub(super) fn start() -> Result<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for family in families::ALL {
        if let Kind::Histogram(buckets) = family.kind {
            let name = Matcher::Full(family.name.to_owned());
            builder = builder.set_buckets_for_metric(name, buckets).map_err(not_started)?;
        }
    }
    builder.install_recorder().map_err(not_started)
}

/// Once it is known which engine runs.
pub(super) fn describe(engine: &'static str) {
    families::describe(engine);
    let version = env!("CARGO_PKG_VERSION");
    metrics::gauge!(families::BUILD_INFO, "version" => version, "engine" => engine).set(1.0);
    let now = Clock::System.now() as f64 / 1_000_000.0;
    metrics::gauge!(families::START_TIME).set(now);
}

fn not_started(error: metrics_exporter_prometheus::BuildError) -> Error {
    Error::Internal(format!("metrics could not be started: {error}"))
}
