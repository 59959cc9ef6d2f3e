//! Caches bytes in Redis, shared by several servers, under names that describe their content. It is never the truth: a reader has the name
//! from the database in the same request, and checks the bytes against it. So Redis may be down, slow, flushed or full of something else.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use deadpool_redis::redis::{AsyncCommands as _, pipe};
use deadpool_redis::{Config, Connection, Pool, PoolConfig, Runtime, Timeouts};

use crate::domain::metric_families as families;
use crate::domain::{Error, Result};

/// An object store answers in some tens of milliseconds: waiting longer for the cache than for what it stands for is no gain.
const ANSWER_WITHIN: Duration = Duration::from_millis(50);
/// Storing is nobody's wait.
const STORED_WITHIN: Duration = Duration::from_secs(2);
/// Failures in a row after which nobody asks for a while.
const FAILURES_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 16;
/// Larger bytes are not kept: one of them would push out many others.
const BYTES_MAX: usize = 1 << 20;
/// In front of every key, with the version of what stands under it.
const PREFIX: &[u8] = b"threadkeep:1:";

/// Connections, and whether it is worth asking.
pub struct Redis {
    pool: Pool,
    keep: Duration,
    health: Mutex<Health>,
}

#[derive(Default)]
struct Health {
    failures: u32,
    paused_until: Option<Instant>,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redis(…)")
    }
}

impl Redis {
    /// Connects at the first use. `keep`: how long bytes stay.
    ///
    /// # Errors
    /// `Invalid` for a URL that names no Redis.
    pub fn new(url: &str, keep: Duration) -> Result<Self> {
        let refuse = || {
            Error::invalid(
                "redis-url",
                "--redis-url must be redis:// or, with TLS, rediss://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER]",
            )
        };
        // Certificates are never left unchecked.
        if url.ends_with("#insecure") {
            return Err(refuse());
        }
        // Fails when the process has one, and then there is nothing to do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = Config::from_url(url);
        config.pool = Some(PoolConfig {
            max_size: CONNECTIONS,
            timeouts: Timeouts {
                wait: Some(ANSWER_WITHIN),
                // A handshake may take longer than a question.
                create: Some(STORED_WITHIN),
                recycle: Some(ANSWER_WITHIN),
            },
            ..PoolConfig::default()
        });
        let pool = config.create_pool(Some(Runtime::Tokio1)).map_err(|_| refuse())?;
        Ok(Self { pool, keep, health: Mutex::default() })
    }

    /// What is kept under these names, in their order. None of it where it does not answer in time.
    pub async fn get(&self, names: &[Vec<u8>]) -> Vec<Option<Bytes>> {
        let nothing = || vec![None; names.len()];
        if names.is_empty() || self.is_paused() {
            return nothing();
        }
        let ask = async {
            let mut connection = self.connection().await?;
            let keys: Vec<Vec<u8>> = names.iter().map(|it| key(it)).collect();
            connection.mget::<_, Vec<Option<Vec<u8>>>>(keys).await.map_err(|it| it.to_string())
        };
        match tokio::time::timeout(ANSWER_WITHIN, ask).await {
            Ok(Ok(found)) if found.len() == names.len() => {
                self.note(None);
                let hits = found.iter().filter(|it| it.is_some()).count() as u64;
                metrics::counter!(families::REDIS_HITS).increment(hits);
                metrics::counter!(families::REDIS_MISSES).increment(names.len() as u64 - hits);
                found.into_iter().map(|it| it.map(Bytes::from)).collect()
            }
            Ok(Ok(_)) => nothing(),
            Ok(Err(error)) => {
                self.note(Some(&error));
                nothing()
            }
            Err(_) => {
                self.note(Some("it does not answer in time"));
                nothing()
            }
        }
    }

    /// Keeps bytes for a while. Nobody waits for it, and nobody is told when it fails.
    pub async fn put(&self, all: Vec<(Vec<u8>, Bytes)>) {
        if self.is_paused() {
            return;
        }
        let store = async {
            let mut pipe = pipe();
            for (name, bytes) in all.iter().filter(|it| it.1.len() <= BYTES_MAX) {
                pipe.set_ex(key(name), &bytes[..], self.keep.as_secs()).ignore();
            }
            let mut connection = self.connection().await?;
            pipe.query_async::<()>(&mut connection).await.map_err(|it| it.to_string())
        };
        match tokio::time::timeout(STORED_WITHIN, store).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.note(Some(&error)),
            Err(_) => self.note(Some("it does not store in time")),
        }
    }

    /// In a task of its own: who gives up waiting for a handshake leaves it to end, and the next one finds the connection.
    async fn connection(&self) -> Result<Connection, String> {
        let pool = self.pool.clone();
        let taken = tokio::spawn(async move { pool.get().await });
        let taken = taken.await.map_err(|error| error.to_string())?;
        taken.map_err(|error| error.to_string())
    }

    fn is_paused(&self) -> bool {
        let mut health = self.health.lock().expect("no code panics while it holds the health");
        match health.paused_until {
            Some(until) if Instant::now() < until => true,
            Some(_) => {
                // One more failure, and the pause goes on.
                *health = Health { failures: FAILURES_MAX - 1, paused_until: None };
                false
            }
            None => false,
        }
    }

    fn note(&self, failure: Option<&str>) {
        let mut health = self.health.lock().expect("no code panics while it holds the health");
        let Some(failure) = failure else {
            *health = Health::default();
            return;
        };
        metrics::counter!(families::REDIS_FAILURES).increment(1);
        health.failures += 1;
        if health.failures >= FAILURES_MAX && health.paused_until.is_none() {
            health.paused_until = Some(Instant::now() + PAUSE);
            tracing::warn!(failure, "Redis is not asked for a while; everything works without it");
        }
    }
}

fn key(name: &[u8]) -> Vec<u8> {
    [PREFIX, name].concat()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn names() -> Vec<Vec<u8>> {
        vec![b"one".to_vec(), b"two".to_vec()]
    }

    #[test]
    fn other_urls_are_refused() {
        for url in
            ["http://localhost", "localhost", "", "redis:///:::", "rediss://localhost/#insecure"]
        {
            assert!(Redis::new(url, PAUSE).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn without_a_server_nothing_is_known_and_after_some_failures_nobody_asks() {
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let redis = Redis::new(&format!("redis://127.0.0.1:{port}"), PAUSE).unwrap();
        for _ in 0..FAILURES_MAX {
            assert!(!redis.is_paused());
            assert_eq!(redis.get(&names()).await, [None, None]);
        }
        assert!(redis.is_paused());
        redis.put(vec![(b"one".to_vec(), Bytes::from_static(b"1"))]).await;
    }

    #[tokio::test]
    async fn a_server_that_never_answers_costs_a_moment_and_then_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let silent = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                held.push(stream);
            }
        });
        let redis = Redis::new(&url, PAUSE).unwrap();
        let started = Instant::now();
        for _ in 0..100 {
            assert_eq!(redis.get(&names()).await, [None, None]);
        }
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        silent.abort();
    }
}
