//! Sends server-sent events until either side ends them.
//!
//! **Invariant:** the credential is checked again every second: a stream ends with the credential that opened it.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::watch;
use tokio::time::Instant;

use super::outgoing::{self, Sender};
use super::problem::{Code, Problem};
use crate::app::App;
use crate::auth::authenticator::{Authenticator, Identity};
use crate::domain::scheduling::shares::Held;

pub const EVENT_STREAM: &str = "text/event-stream";
/// How often the credential is looked at.
pub const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Who takes nothing for this long has left.
const STALL_MAX: Duration = Duration::from_mins(1);
/// Held from the beginning, so that a stream that finds no room for events can say why it ends.
const END_BYTES: usize = 256;

/// Why a stream ends: the code of the server's reason; None where the caller has left.
pub type End = Option<&'static str>;

/// One stream, from the server's side.
pub struct EventStream {
    authenticator: Arc<Authenticator>,
    key: Option<String>,
    identity: Identity,
    closed: watch::Receiver<bool>,
    checked_at: Instant,
    events: Sender,
    /// What the end of the stream takes, and nothing else between two events.
    held: Held,
}

impl EventStream {
    /// The stream of who presented `key`, and its answer.
    ///
    /// # Errors
    /// 503 where there is no room.
    pub fn open(
        app: &App,
        identity: Identity,
        key: Option<&str>,
        mut held: Held,
    ) -> Result<(Self, Response), Problem> {
        held.grow(END_BYTES)?;
        let (events, body) = outgoing::channel(&held);
        let stream = Self {
            authenticator: Arc::clone(&app.authenticator),
            key: key.map(str::to_owned),
            identity,
            closed: app.feeds.closed(),
            checked_at: Instant::now(),
            events,
            held,
        };
        let headers = [
            (header::CONTENT_TYPE.as_str(), EVENT_STREAM),
            (header::CACHE_CONTROL.as_str(), "no-store"),
            // A proxy must not gather events.
            ("x-accel-buffering", "no"),
        ];
        Ok((stream, (headers, body).into_response()))
    }

    /// Whether the stream may go on: the server does not stop, and what was presented still stands for the same caller.
    ///
    /// # Errors
    /// Why it ends.
    pub async fn check(&mut self) -> Result<(), End> {
        if *self.closed.borrow() {
            return Err(Some("stopping"));
        }
        if self.checked_at.elapsed() < CHECK_EVERY {
            return Ok(());
        }
        match self.authenticator.identify(self.key.as_deref()).await {
            Ok(identity) if identity.caller == self.identity.caller => {
                self.checked_at = Instant::now();
                Ok(())
            }
            Ok(_) => Err(Some(Code::NotGranted.parts().1)),
            Err(refusal) => Err(Some(Problem::from(refusal).code.parts().1)),
        }
    }

    /// Waits for what is told next. None: it is time to [check](Self::check).
    ///
    /// # Errors
    /// The caller has left.
    pub async fn next<T>(&mut self, told: impl Future<Output = T>) -> Result<Option<T>, End> {
        tokio::select! {
            told = told => Ok(Some(told)),
            _ = self.closed.changed() => Ok(None),
            () = self.events.left() => Err(None),
        }
    }

    /// Its bytes count in the ledger until the connection has released them.
    ///
    /// # Errors
    /// Why the stream ends.
    pub async fn send(&mut self, text: &str) -> Result<(), End> {
        if !self.is_taken().await {
            return Err(None);
        }
        self.held.grow(text.len()).map_err(|full| Some(Problem::from(full).code.parts().1))?;
        self.events.put(text.as_bytes(), &mut self.held);
        Ok(())
    }

    /// Ends it, with a last event where there is one.
    pub async fn end(mut self, last: Option<String>) {
        if let Some(text) = last
            && self.is_taken().await
        {
            self.events.put(text.as_bytes(), &mut self.held);
        }
        self.events.end();
    }

    /// Whether somebody takes what is sent.
    async fn is_taken(&self) -> bool {
        tokio::time::timeout(STALL_MAX, self.events.ready()).await == Ok(true)
    }
}

/// # Errors
/// 406 for who takes no events.
pub fn require_accepted(headers: &HeaderMap) -> Result<(), Problem> {
    let mut all = headers.get_all(header::ACCEPT).iter().peekable();
    let is_event_stream = |range: &str| {
        let media = range.split(';').next().unwrap_or_default().trim();
        ["*/*", "text/*", EVENT_STREAM].iter().any(|it| media.eq_ignore_ascii_case(it))
    };
    let accepted = |it: &str| it.split(',').any(is_event_stream);
    if all.peek().is_none() || all.filter_map(|it| it.to_str().ok()).any(accepted) {
        return Ok(());
    }
    Err(Problem::new(Code::NotAcceptable, "the answer is text/event-stream").at("Accept"))
}
