//! Stops a server: receives the signals, ends the parts in order, and enforces the time limits.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::io;
use crate::app::{App, Readiness};
use crate::auth::authenticator::Authenticator;
use crate::config::Stopping;
use crate::domain::Result;
use crate::domain::scheduling::background_tasks;
use crate::domain::storage::Storage;
use crate::domain::store::feeds::Feeds;

/// Of the time to stop, requests have four parts and the storage one.
const PARTS: u32 = 5;
/// A database that does not answer must not keep the listener open.
const FORGET_WITHIN: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What ends the process in order.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None: whoever started the process had it ignored, as `nohup` does.
    hang_up: Option<Signal>,
}

impl Signals {
    pub(super) fn listen() -> Result<Self> {
        let of = |kind| signal(kind).map_err(|error| io("signals cannot be received", &error));
        let hang_up = (!is_hang_up_ignored()).then(|| of(SignalKind::hangup()));
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
            hang_up: hang_up.transpose()?,
        })
    }

    /// The name of the next one.
    pub(super) async fn next(&mut self) -> &'static str {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = hang_up => "SIGHUP",
        }
    }
}

/// Linux tells; elsewhere it is taken for not ignored.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_signals(&status).is_some_and(|mask| mask & 1 == 1)
}

/// One bit for each signal, SIGHUP is the lowest.
fn ignored_signals(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// How long the parts of a stop may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Requests are still answered, while `/readyz` says no.
    drain: Duration,
    /// Everything, from then on.
    stop: Duration,
}

impl Times {
    pub(super) fn of(settings: &Stopping) -> Self {
        Self {
            drain: Duration::from_secs(settings.drain_seconds.into()),
            stop: Duration::from_secs(settings.stop_seconds.into()),
        }
    }

    /// For requests that run. What is left afterwards is for the storage.
    pub(super) fn of_requests(&self) -> Duration {
        self.stop / PARTS * (PARTS - 1)
    }

    /// For requests at the listener of operators, which ends last.
    pub(super) fn of_operators(&self) -> Duration {
        self.stop / PARTS / 2
    }
}

/// Gives the order to stop, and returns when the stop must not go on: too late, or told a second time.
pub(super) async fn conduct(
    (app, signals): (&Stopped, &mut Signals),
    times: Times,
    stop: oneshot::Sender<()>,
) {
    let drain = tokio::select! {
        name = signals.next() => {
            tracing::info!("{name}: stopping");
            times.drain
        }
        () = app.authenticator.outdated() => {
            tracing::error!("the database was encrypted meanwhile: stopping");
            Duration::ZERO
        }
    };
    app.readiness.begin_stop();
    let late = Instant::now() + drain + times.stop;
    let stops = async {
        // Before requests have ended: whoever loses patience with them kills a server that was in order.
        let forgotten = timeout(FORGET_WITHIN, background_tasks::stop(&*app.storage));
        let (_, ()) = tokio::join!(forgotten, sleep(drain));
        // Who follows the change feed would else keep the server until its patience ends.
        app.feeds.close();
        drop(stop);
        sleep_until(late).await;
    };
    tokio::select! {
        () = stops => tracing::warn!(
            "the stop took longer than {} seconds (--stop-seconds) and ends here; what was acknowledged is stored",
            times.stop.as_secs()
        ),
        name = signals.next() => tracing::warn!("{name} again: the server ends at once; what was acknowledged is stored"),
    }
}

/// What the order to stop goes to. It does not keep the app.
pub(super) struct Stopped {
    authenticator: Arc<Authenticator>,
    feeds: Arc<Feeds>,
    storage: Arc<dyn Storage>,
    readiness: Arc<Readiness>,
}

impl Stopped {
    pub(super) fn of(app: &App) -> Self {
        Self {
            authenticator: Arc::clone(&app.authenticator),
            feeds: Arc::clone(&app.feeds),
            storage: Arc::clone(&app.storage),
            readiness: Arc::clone(&app.readiness),
        }
    }
}

/// Stops the app once the requests have let go of it; those that were cut off do within moments.
pub(super) async fn stop_alone(mut app: Arc<App>) {
    loop {
        match Arc::try_unwrap(app) {
            Ok(app) => return app.stop().await,
            Err(shared) => app = shared,
        }
        sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_ignored_is_seen_in_the_state_of_the_process() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert_eq!(ignored_signals(&status("0000000000000001")), Some(1));
        assert_eq!(ignored_signals(&status("0000000000001000")), Some(0x1000));
        assert_eq!(ignored_signals("Name:\tx\n"), None);
    }

    #[test]
    fn requests_and_the_storage_share_the_time_to_stop() {
        let times = Times::of(&Stopping { drain_seconds: 7, stop_seconds: 10 });
        assert_eq!(times.of_requests(), Duration::from_secs(8));
        assert_eq!(times.of_operators(), Duration::from_secs(1));
    }
}
