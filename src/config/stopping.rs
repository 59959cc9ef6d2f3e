//! Defines the settings of how a server stops.

use clap::Args;

#[derive(Debug, Args)]
pub struct Stopping {
    /// Seconds after SIGTERM, SIGINT or SIGHUP in which requests are still answered while `/readyz` says 503, so that load balancers
    /// send no more. With 0 the server listens no longer from the signal on.
    #[arg(long, env = "THREADKEEP_DRAIN_SECONDS", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=3_600))]
    pub drain_seconds: u32,
    /// Seconds that the stop may take afterwards. Requests that run get most of them; then connections are cut off. A second signal
    /// ends the server at once.
    #[arg(long, env = "THREADKEEP_STOP_SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub stop_seconds: u32,
}
