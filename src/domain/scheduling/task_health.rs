//! Tells in the metrics how a background task stands: when a round last ended well, how many failed, and how often it runs.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge};

use crate::domain::clock::Clock;
use crate::domain::error::Result;
use crate::domain::metric_families as families;

/// One task of this server.
pub struct TaskHealth {
    succeeded_at: Gauge,
    failures: Counter,
    interval: Gauge,
    clock: Arc<Clock>,
}

impl TaskHealth {
    /// `task` is the value of the label.
    pub fn new(task: &'static str, clock: &Arc<Clock>) -> Self {
        let health = Self {
            succeeded_at: metrics::gauge!(families::TASK_SUCCESS, "task" => task),
            failures: metrics::counter!(families::TASK_FAILURES, "task" => task),
            interval: metrics::gauge!(families::TASK_INTERVAL, "task" => task),
            clock: Arc::clone(clock),
        };
        health.succeeded_at.set(0.0);
        health.failures.increment(0);
        health
    }

    /// The task says how long it pauses between two rounds.
    #[must_use]
    pub fn every(self, pause: Duration) -> Self {
        self.interval.set(pause.as_secs_f64());
        self
    }

    /// A round has ended so.
    pub fn note<T>(&self, ended: &Result<T>) {
        match ended {
            Ok(_) => self.succeeded_at.set(self.clock.now() as f64 / 1_000_000.0),
            Err(_) => self.failures.increment(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;
    use crate::domain::error::Error;

    #[test]
    fn a_failed_round_leaves_the_time_of_the_last_good_one() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let text = metrics::with_local_recorder(&recorder, || {
            let clock = Arc::new(Clock::System);
            let health = TaskHealth::new("sweep", &clock).every(Duration::from_mins(1));
            let before = recorder.handle().render();
            assert!(
                before.contains("last_success_timestamp_seconds{task=\"sweep\"} 0\n"),
                "{before}"
            );
            health.note(&Ok(()));
            let good = recorder.handle().render();
            health.note::<()>(&Err(Error::DeadlineExceeded));
            let both = recorder.handle().render();
            let time = |text: &str| {
                let found =
                    text.lines().find(|it| it.starts_with("threadkeep_background_last_success"));
                found.unwrap().to_owned()
            };
            assert_eq!(time(&good), time(&both));
            assert!(!good.contains("seconds{task=\"sweep\"} 0\n"), "{good}");
            both
        });
        assert!(
            text.contains("threadkeep_background_failures_total{task=\"sweep\"} 1\n"),
            "{text}"
        );
        assert!(
            text.contains("threadkeep_background_interval_seconds{task=\"sweep\"} 60\n"),
            "{text}"
        );
    }
}
