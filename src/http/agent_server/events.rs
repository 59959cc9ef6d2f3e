//! Holds streams of events open. No graph runs here, so there are none: a stream that ended would be asked for again and again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use tokio::time::Instant;

use super::call::{StreamCall, ThreadPath};
use super::runs::require_thread;
use crate::app::App;
use crate::domain::scheduling::open_streams::OpenStream;
use crate::http::request::call::Answer;
use crate::http::request::event_stream::{CHECK_EVERY, End, EventStream};

/// A stream shows that it lives.
const BEAT_EVERY: Duration = Duration::from_secs(5);
const BEAT: &str = ": heartbeat\n\n";

/// Hold a stream of events
///
/// Without events, because no graph runs here. It shows that it lives, and ends with the credential that opened it.
#[utoipa::path(
    post, path = "/threads/{thread_id}/stream/events", operation_id = "agent_server_follow_events", tag = "agent-server",
    params(("thread_id" = String, Path)),
    responses(
        (status = 200, description = "Until the caller leaves", content_type = "text/event-stream", body = String, example = ": heartbeat\n\n"),
        (status = 404, description = "`thread_not_found`"), (status = 429, description = "`too_many_requests`: too many are open"),
    ),
)]
pub async fn hold(State(app): State<Arc<App>>, path: ThreadPath, call: StreamCall) -> Answer {
    let StreamCall { identity, key, held } = call;
    require_thread(&app, &identity.caller, &path.0).await?;
    let place = app.streams.open(&identity.caller.tenant, &identity.minter_and_subject())?;
    let (stream, answer) = EventStream::open(&app, identity, key.as_deref(), held)?;
    tokio::spawn(Waiting { stream, _place: place }.run());
    Ok(answer)
}

struct Waiting {
    stream: EventStream,
    _place: OpenStream,
}

impl Waiting {
    async fn run(mut self) {
        match self.beat().await {
            Ok(never) => match never {},
            // No client of the wire knows an event that says why.
            Err(_) => self.stream.end(None).await,
        }
    }

    /// # Errors
    /// Why the stream ends, which it does at some time.
    async fn beat(&mut self) -> Result<Infallible, End> {
        loop {
            self.stream.send(BEAT).await?;
            let told_at = Instant::now();
            while told_at.elapsed() < BEAT_EVERY {
                self.stream.next(tokio::time::sleep(CHECK_EVERY)).await?;
                self.stream.check().await?;
            }
        }
    }
}
