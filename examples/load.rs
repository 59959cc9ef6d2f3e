//! Load generator for the storage alone: how many commits per second the group commit makes durable, beside one
//! statement per caller on its own connection, on the same database in the same run.
//!
//! `cargo run --release --example load -- --database-url postgres://… --callers 1,16,256 --seconds 5`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{CheckpointPut, Commit, NewValue, Op, Value};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::names::{Channel, CheckpointId, CheckpointNs, Tag, ThreadId, Writer};
use threadkeep::domain::storage::Storage;
use threadkeep::storage::{Encryption, MasterKey, MasterKeys, StorageConfig, open};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser, Clone)]
struct Options {
    /// `postgres://…` or `sqlite://path`; its data is kept, so use a scratch database.
    #[arg(long)]
    database_url: String,
    /// Numbers of callers that commit at the same time, each on a thread of its own.
    #[arg(long, value_delimiter = ',', default_value = "1,16,256")]
    callers: Vec<usize>,
    /// Length of one measurement.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Measurements of each mode, in turn; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Connections of the storage; one statement per caller needs one for each.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Accept a database with fsync off.
    #[arg(long)]
    allow_unsafe: bool,
    /// Encrypt what is stored; the database must be empty or encrypted by this program.
    #[arg(long)]
    encrypted: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Group,
    Alone,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let options = Options::parse();
    // The figures with and without do not depend on which key it is.
    let current = options.encrypted.then(|| MasterKey::new(&[7; 32]));
    let encryption = current.map_or(Encryption::Off, |current| {
        Encryption::On(Arc::new(MasterKeys { current, previous: None }))
    });
    let storage = open(&StorageConfig {
        create: true,
        url: options.database_url.clone(),
        migrate: true,
        allow_unsafe: options.allow_unsafe,
        connections: options.connections,
        exclusive: true,
        objects: None,
        encryption: encryption.clone(),
        read_times: threadkeep::storage::ReadTimes::default(),
    })
    .await?;
    println!("engine {}, {} connections", storage.name(), options.connections);
    println!(
        "{:>8} {:>12} {:>12} {:>7} {:>10} {:>10}",
        "callers", "group/s", "alone/s", "ratio", "p50 ms", "alone p50"
    );
    for callers in options.callers.clone() {
        let (mut group, mut alone) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            group.push(measure(&storage, callers, options.seconds, Mode::Group).await?);
            alone.push(measure(&storage, callers, options.seconds, Mode::Alone).await?);
        }
        let (group, alone) = (median(group), median(alone));
        println!(
            "{callers:>8} {:>12.0} {:>12.0} {:>7.2} {:>10.3} {:>10.3}",
            group.0,
            alone.0,
            group.0 / alone.0,
            group.1,
            alone.1
        );
    }
    Ok(())
}

fn median(mut figures: Vec<(f64, f64)>) -> (f64, f64) {
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    figures[figures.len() / 2]
}

/// Commits per second and the median latency in milliseconds.
async fn measure(
    storage: &Arc<dyn Storage>,
    callers: usize,
    seconds: u64,
    mode: Mode,
) -> Result<(f64, f64), Failure> {
    let clock = Arc::new(Clock::System);
    let queue = Arc::new(GroupCommit::start(Arc::<dyn Storage>::clone(storage), &clock));
    let end = Instant::now() + Duration::from_secs(seconds);
    let done = Arc::new(AtomicU64::new(0));
    let tasks = (0..callers).map(|_| {
        let (storage, queue) = (Arc::clone(storage), Arc::clone(&queue));
        let (clock, done) = (Arc::clone(&clock), Arc::clone(&done));
        tokio::spawn(async move {
            let caller = Caller::of_tenant("load");
            let thread = format!("thread-{:016x}", rand::random::<u64>());
            let mut latencies = Vec::new();
            let mut step = 0_u64;
            while Instant::now() < end {
                let begun = Instant::now();
                let command = commit(&thread, step)?;
                let command = storage.prepare(&caller, command, clock.now() + 30_000_000).await?;
                match mode {
                    Mode::Group => {
                        queue.commit(command).await?;
                    }
                    Mode::Alone => {
                        let (batch, _) = fold(&[&command], clock.now());
                        let outcomes = storage.write_batch(&batch).await?;
                        if !matches!(outcomes[0], Outcome::Done { .. }) {
                            return Err(format!("{:?}", outcomes[0]).into());
                        }
                    }
                }
                latencies.push(begun.elapsed());
                done.fetch_add(1, Ordering::Relaxed);
                step += 1;
            }
            Ok::<_, Failure>(latencies)
        })
    });
    let mut latencies = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        latencies.extend(task.await??);
    }
    latencies.sort();
    let median = latencies.get(latencies.len() / 2).copied().unwrap_or_default();
    Ok((done.load(Ordering::Relaxed) as f64 / seconds as f64, median.as_secs_f64() * 1_000.0))
}

/// A put of the usual shape: 1 KB of skeleton, metadata, two new values.
fn commit(thread: &str, step: u64) -> Result<Commit, Failure> {
    let id = format!("1f0c0000-0000-6000-{:04x}-{:012x}", step % 65_536, step);
    let filler = "x".repeat(700);
    let skeleton = format!(
        r#"{{"v":4,"id":"{id}","ts":"2026-01-01T00:00:00+00:00","channel_versions":{{"messages":{step},"branch:to:model":{step},"files":0}},"versions_seen":{{"model":{{"branch:to:model":{step}}}}},"updated_channels":["messages"],"filler":"{filler}"}}"#
    );
    let value = |channel: &str, bytes: usize| -> Result<NewValue, Failure> {
        let data: Vec<u8> = (0..bytes).map(|_| rand::random::<u8>() & 0x3f).collect();
        Ok(NewValue {
            channel: Channel::new(channel)?,
            version: Bytes::from(step.to_string()),
            value: Value::new(Tag::new("msgpack")?, Bytes::from(data)),
        })
    };
    let parent = (step > 0)
        .then(|| format!("1f0c0000-0000-6000-{:04x}-{:012x}", (step - 1) % 65_536, step - 1));
    Ok(Commit {
        thread_id: ThreadId::new(thread)?,
        generation: None,
        fence: None,
        writer: Writer::new("load")?,
        full: None,
        ops: vec![Op::Checkpoint(CheckpointPut {
            ns: CheckpointNs::new("")?,
            id: CheckpointId::new(id)?,
            parent: parent.map(CheckpointId::new).transpose()?,
            skeleton: Bytes::from(skeleton),
            metadata: Bytes::from(format!(r#"{{"source":"loop","step":{step},"parents":{{}}}}"#)),
            values: vec![value("messages", 500)?, value("branch:to:model", 10)?],
            carried: Vec::new(),
        })],
    })
}
