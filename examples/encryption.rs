//! Measures what encryption costs: runs the same commits and reads on a plain and on an encrypted database, in turn. Both must be
//! empty or made by this program.
//!
//! `cargo run --release --example encryption -- --plain-url sqlite:///tmp/a.db --encrypted-url sqlite:///tmp/b.db`

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{
    CheckpointPut, Commit, LargeValues, NewValue, Op, Target, Value,
};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::service::write;
use threadkeep::domain::checkpoints::wanted::WantedChannels;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::names::{Channel, CheckpointId, CheckpointNs, Tag, ThreadId, Writer};
use threadkeep::domain::storage::Storage;
use threadkeep::storage::{Encryption, MasterKey, MasterKeys, ReadTimes, StorageConfig, open};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
struct Options {
    #[arg(long)]
    plain_url: String,
    #[arg(long)]
    encrypted_url: String,
    /// Turns of a conversation; each commits the whole list of messages and reads it back.
    #[arg(long, default_value_t = 200)]
    turns: usize,
    /// Conversations on each, in turn.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Bytes of a message.
    #[arg(long, default_value_t = 1_000)]
    message_bytes: usize,
    /// Accept a database with fsync off.
    #[arg(long)]
    allow_unsafe: bool,
}

/// One of the two databases, and what was measured on it.
struct Side {
    storage: Arc<dyn Storage>,
    queue: GroupCommit,
    puts: Vec<Duration>,
    gets: Vec<Duration>,
    preparations: Vec<Duration>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let masters = MasterKeys { current: MasterKey::new(&[7; 32]), previous: None };
    let mut plain = Side::open(&options, &options.plain_url, Encryption::Off).await?;
    let encryption = Encryption::On(Arc::new(masters));
    let mut encrypted = Side::open(&options, &options.encrypted_url, encryption).await?;
    for _ in 0..options.rounds {
        plain.converse(&options).await?;
        encrypted.converse(&options).await?;
    }
    println!("{:<24} {:>5} {:>10} {:>10} {:>7}", "µs", "", "without", "with", "ratio");
    for (what, of) in [
        ("put", (|it| &mut it.puts) as fn(&mut Side) -> &mut Vec<Duration>),
        ("of it in the caller", |it| &mut it.preparations),
        ("get", |it| &mut it.gets),
    ] {
        // The tenth part says what it costs when nothing else runs.
        for percent in [10, 50] {
            let (without, with) = (at(of(&mut plain), percent), at(of(&mut encrypted), percent));
            let ratio = with / without;
            println!("{what:<24} p{percent:<4} {without:>10.1} {with:>10.1} {ratio:>7.2}");
        }
    }
    Ok(())
}

/// In microseconds.
fn at(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    times.get(times.len() * percent / 100).map_or(0.0, |it| it.as_secs_f64() * 1e6)
}

impl Side {
    async fn open(options: &Options, url: &str, encryption: Encryption) -> Result<Self, Failure> {
        let storage = open(&StorageConfig {
            create: true,
            url: url.to_owned(),
            migrate: true,
            allow_unsafe: options.allow_unsafe,
            connections: 4,
            exclusive: true,
            objects: None,
            encryption,
            read_times: ReadTimes::default(),
        })
        .await?;
        let queue = GroupCommit::start(storage.clone(), &Arc::new(Clock::System));
        let (puts, gets, preparations) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { storage, queue, puts, gets, preparations })
    }

    /// One thread, from its first message to its last.
    async fn converse(&mut self, options: &Options) -> Result<(), Failure> {
        let caller = Caller::of_tenant("cost");
        let thread = format!("thread-{:016x}", rand::random::<u64>());
        let mut messages = Vec::new();
        for turn in 0..options.turns {
            let words = (0..options.message_bytes / 8).map(|_| rand::random::<u16>().to_string());
            messages.extend(words.flat_map(|it| format!("{it} lorem ").into_bytes()));
            let commit = commit(&thread, turn, Bytes::copy_from_slice(&messages))?;
            let begun = Instant::now();
            let prepared = self.storage.prepare(&caller, commit.clone(), i64::MAX).await?;
            self.preparations.push(begun.elapsed());
            drop(prepared);
            let begun = Instant::now();
            write(&*self.storage, &self.queue, &caller, &commit, i64::MAX).await?;
            self.puts.push(begun.elapsed());
            let target = Target {
                large_values: LargeValues::Whole,
                thread_id: ThreadId::new(thread.as_str())?,
                ns: CheckpointNs::new("")?,
                id: None,
                wanted: WantedChannels::All,
            };
            let begun = Instant::now();
            let found = self.storage.get_checkpoint(&caller, &target, &[]).await?;
            self.gets.push(begun.elapsed());
            let view = found.view.ok_or("what was committed is not there")?;
            if view.values[0].1.data != messages {
                return Err("what was read is not what was committed".into());
            }
        }
        Ok(())
    }
}

fn commit(thread: &str, turn: usize, messages: Bytes) -> Result<Commit, Failure> {
    let id = |turn: usize| CheckpointId::new(format!("1f0c0000-0000-6000-0000-{turn:012x}"));
    let skeleton = format!(
        r#"{{"v":4,"id":"1f0c0000-0000-6000-0000-{turn:012x}","channel_versions":{{"messages":{turn}}},"versions_seen":{{}}}}"#
    );
    let value = NewValue {
        channel: Channel::new("messages")?,
        version: Bytes::from(turn.to_string()),
        value: Value::new(Tag::new("msgpack")?, messages),
    };
    Ok(Commit {
        full: None,
        thread_id: ThreadId::new(thread)?,
        generation: None,
        fence: None,
        writer: Writer::new("cost")?,
        ops: vec![Op::Checkpoint(CheckpointPut {
            ns: CheckpointNs::new("")?,
            id: id(turn)?,
            parent: (turn > 0).then(|| id(turn - 1)).transpose()?,
            skeleton: Bytes::from(skeleton),
            metadata: Bytes::from(format!(r#"{{"source":"loop","step":{turn},"parents":{{}}}}"#)),
            values: vec![value],
            carried: Vec::new(),
        })],
    })
}
