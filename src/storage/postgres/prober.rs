//! Asks a server, on a connection of its own, which statements it works at. So a long statement is told from a connection that swallows
//! packets.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long the server may take to answer.
const WITHIN: Duration = Duration::from_millis(1_500);
/// A statement that is asked after began long before: what was asked so shortly before tells of it, too.
const BEFORE: Duration = Duration::from_millis(500);

/// Sessions of the same user that are at work, or do not say what they do.
const AT_WORK: &str = "select pid from pg_stat_activity
    where datname = current_database() and state not in ('idle', 'idle in transaction', 'idle in transaction (aborted)')";

#[derive(Debug, Clone)]
pub enum Answer {
    /// These are at work.
    Sessions(Arc<HashSet<i32>>),
    /// It answers, but would not say: it has no connection left, or is stopping.
    Refused,
    Silent,
}

/// Of one server.
pub struct Prober {
    options: PgConnectOptions,
    /// Who asks meanwhile waits for the same answer.
    last: Mutex<Option<ProbeResult>>,
}

struct ProbeResult {
    began: Instant,
    ended: Instant,
    answer: Answer,
}

impl ProbeResult {
    fn serves(&self, since: Instant) -> bool {
        self.began + BEFORE >= since
            || (matches!(self.answer, Answer::Silent) && self.ended >= since)
    }
}

impl Prober {
    pub fn new(options: PgConnectOptions) -> Self {
        Self { options: options.application_name("threadkeep probe"), last: Mutex::default() }
    }

    /// Ends within [`WITHIN`], or a little more when others ask at the same time.
    pub async fn ask(&self) -> Answer {
        let since = Instant::now();
        let mut last = self.last.lock().await;
        if let Some(asked) = last.as_ref().filter(|it| it.serves(since)) {
            return asked.answer.clone();
        }
        let began = Instant::now();
        let answer = match timeout(WITHIN, self.sessions()).await {
            Ok(Ok(sessions)) => Answer::Sessions(Arc::new(sessions)),
            Ok(Err(sqlx::Error::Database(_))) => Answer::Refused,
            Ok(Err(_)) | Err(_) => Answer::Silent,
        };
        *last = Some(ProbeResult { began, ended: Instant::now(), answer: answer.clone() });
        answer
    }

    async fn sessions(&self) -> sqlx::Result<HashSet<i32>> {
        let mut connection = self.options.connect().await?;
        let rows = sqlx::raw_sql(AT_WORK).fetch_all(&mut connection).await?;
        let sessions = rows.iter().map(|it| it.try_get("pid")).collect();
        // It has done its work, however it ends.
        let _ = connection.close().await;
        sessions
    }
}
