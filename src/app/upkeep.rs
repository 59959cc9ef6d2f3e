//! Runs the server's own work beside requests: sweeping, moving cold content, and what is measured now and then.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use crate::domain::Result;
use crate::domain::clock::Clock;
use crate::domain::engine::DatabaseSize;
use crate::domain::metric_families as families;
use crate::domain::scheduling::background_tasks::Kind;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::scheduling::write_health::WriteHealth;
use crate::domain::storage::Storage;

const SWEEP_EVERY: Duration = Duration::from_mins(1);
/// What was deleted on a full disk gives its room back.
const SWEEP_WHILE_WRITES_FAIL_EVERY: Duration = Duration::from_secs(5);
/// Histograms keep raw samples until they are told to fold them.
const FOLD_METRICS_EVERY: Duration = Duration::from_secs(5);
/// The sizes of the database go into the metrics.
const MEASURE_EVERY: Duration = Duration::from_secs(30);

pub(super) async fn sweep(storage: Arc<dyn Storage>, clock: Arc<Clock>, writes: Arc<WriteHealth>) {
    let health = TaskHealth::new("sweep", &clock).every(SWEEP_EVERY);
    let mut ticks = every(SWEEP_WHILE_WRITES_FAIL_EVERY);
    let mut next = Instant::now();
    loop {
        ticks.tick().await;
        if writes.check().is_ok() && Instant::now() < next {
            continue;
        }
        next = Instant::now() + SWEEP_EVERY;
        let swept = storage.sweep(clock.now()).await;
        health.note(&swept);
        if let Err(error) = swept {
            writes.note(&error);
            tracing::warn!(%error, "sweeping failed; the next round tries again");
        }
        if let Err(error) = count_parked(&*storage).await {
            tracing::warn!(%error, "parked work is counted later");
        }
    }
}

/// Parked work is rare, so its rows are few.
async fn count_parked(storage: &dyn Storage) -> Result<()> {
    let mut counts = HashMap::new();
    for parked in storage.list_parked(None).await? {
        *counts.entry(parked.kind).or_insert(0_u32) += 1;
    }
    for kind in Kind::ALL {
        let count = counts.get(kind.name()).copied().unwrap_or(0);
        metrics::gauge!(families::TASKS_PARKED, "task" => kind.name()).set(count);
    }
    Ok(())
}

/// Moves cold content where the storage does. Apart from the sweep, because a round may wait for a slow object store.
pub(super) fn move_content(
    storage: &Arc<dyn Storage>,
    clock: &Arc<Clock>,
) -> Option<JoinHandle<()>> {
    let pause = storage.moves_content_every()?;
    let health = TaskHealth::new("packing", clock).every(pause);
    let mut ticks = every(pause);
    let (storage, clock) = (Arc::clone(storage), Arc::clone(clock));
    Some(tokio::spawn(async move {
        loop {
            ticks.tick().await;
            let moved = storage.move_content(clock.now()).await;
            health.note(&moved);
            if let Err(error) = moved {
                tracing::warn!(%error, "moving cold content failed; the next round tries again");
            }
        }
    }))
}

/// Puts the sizes of the database into the metrics, whether somebody reads them or not.
pub(super) async fn measure(storage: Arc<dyn Storage>) {
    let mut ticks = every(MEASURE_EVERY);
    loop {
        ticks.tick().await;
        match storage.measure().await {
            Ok(size) => show(size),
            Err(error) => tracing::warn!(%error, "the database is measured later"),
        }
    }
}

fn show(DatabaseSize { main_bytes, log_bytes, free_bytes }: DatabaseSize) {
    metrics::gauge!(families::DATABASE_BYTES, "part" => "main").set(main_bytes as f64);
    if let Some(bytes) = log_bytes {
        metrics::gauge!(families::DATABASE_BYTES, "part" => "log").set(bytes as f64);
    }
    if let Some(bytes) = free_bytes {
        metrics::gauge!(families::DISK_FREE).set(bytes as f64);
    }
}

pub(super) async fn fold_metrics(metrics: Option<PrometheusHandle>) {
    let Some(metrics) = metrics else { return };
    let mut ticks = every(FOLD_METRICS_EVERY);
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
    }
}

/// Ticks at once and then with this distance, also after a delay.
fn every(period: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
