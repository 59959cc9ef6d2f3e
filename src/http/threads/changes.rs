//! Serves `GET /v1/threads/changes`: which threads have changed, as server-sent events. It sends names and statuses, never values.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use super::status::StatusParam;
use crate::app::App;
use crate::domain::Error;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::scheduling::asker;
use crate::domain::scheduling::open_streams::OpenStream;
use crate::domain::threads::changes::{
    ThreadChange, ThreadChangeKind, ThreadFollower, Told, WatchedThreads,
};
use crate::domain::time::rfc3339;
use crate::http::request::call::{Answer, Holder, presented_key};
use crate::http::request::cursor;
use crate::http::request::event_stream::{CHECK_EVERY, End, EventStream, require_accepted};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;

const CURSOR: &str = "thread_changes";
/// A stream without changes shows that it lives.
const BEAT_EVERY: Duration = Duration::from_secs(15);

/// Follow changed threads
///
/// Server-sent events of threads that the caller may read: `change` with the thread, its generation, the time of its last change and the kind:
/// `update` when something was committed, written, restored or set, `delete` when it is gone. An `update` has the `status` as soon as
/// it is derived, which may be another event. Several changes in quick succession are one event. First comes `ready`: what changes from
/// then on is told, on whatever server it happens, so read the threads after it. Every event has an `id`: send the last one as
/// `Last-Event-ID` or `after`, and nothing between is missed; some may come twice. `resync` says that changes were left out: read the
/// threads anew. `end` with a `code` says why the server closes the stream. Lines with a colon show that it lives. Leases and erased
/// subjects are not told. A position older than 24 hours is `position_gone`.
#[utoipa::path(
    get, path = "/v1/threads/changes", operation_id = "follow_threads", tag = "threads",
    params(ChangesParams),
    responses(
        (status = 200, description = "Events until either side ends them", content_type = "text/event-stream", body = String,
            example = "id: WzE3\nevent: change\ndata: {\"thread_id\":\"ann-1\",\"generation\":\"5b1e0d3c5f0a4ad1\",\"kind\":\"update\",\"updated_at\":\"2026-01-31T12:00:00.000000Z\",\"status\":\"idle\"}\n\n"),
        (status = 410, description = "`position_gone`"),
        (status = 422, description = "`invalid`, also where too many are open"),
    ),
)]
pub async fn follow(
    State(app): State<Arc<App>>,
    holder: Holder,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    require_accepted(&headers)?;
    let (watched, after) = read(&uri, &headers)?;
    let identity = holder.0;
    let held = app.shares.account(identity.holder()).open();
    let place = app.streams.open(&identity.caller.tenant, &identity.minter_and_subject())?;
    let follower = app.thread_changes.follow(&identity.caller, watched, after).await?;
    let (stream, answer) = EventStream::open(&app, identity, presented_key(&headers), held)?;
    asker::spawn(Following { app, follower, stream, _place: place }.run());
    Ok(answer)
}

/// The parameters of the query.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the document's; `read` reads them, because `id` comes several times")]
pub struct ChangesParams {
    /// Only this thread; the next one is another `id`, up to 100.
    id: Option<Vec<String>>,
    /// Only threads whose id begins with it.
    prefix: Option<String>,
    /// The `id` of an event: what follows it. `Last-Event-ID` is the same, and stronger. Absent: from now on.
    after: Option<String>,
}

fn read(uri: &Uri, headers: &HeaderMap) -> Result<(WatchedThreads, Option<Micros>), Problem> {
    let (mut watched, mut after) = (WatchedThreads::default(), None);
    for (name, value) in query_of::<Vec<(String, String)>>(uri)? {
        match name.as_str() {
            "id" => {
                names::at_most("id", watched.ids.len() + 1, LIMITS.followed_threads_max)?;
                names::check("id", &value, LIMITS.thread_id_bytes_max, false)?;
                watched.ids.push(value);
            }
            "prefix" => {
                names::check("prefix", &value, LIMITS.thread_id_bytes_max, false)?;
                watched.prefix = Some(value);
            }
            "after" => after = Some(value),
            _ => return Err(refuse(&name, "one of id, prefix, after")),
        }
    }
    let last = headers.get("last-event-id").map(|it| it.to_str().unwrap_or("?").to_owned());
    // Who has got no id yet may send an empty one.
    let after = last.into_iter().chain(after).find(|it| !it.is_empty());
    let after = after.map(|it| cursor::decode::<Micros>(CURSOR, &it)).transpose();
    Ok((watched, after.map_err(|_| refuse("after", "the id of an event"))?))
}

fn refuse(field: &str, wanted: &str) -> Problem {
    Error::invalid(field, format!("{field} must be {wanted}")).into()
}

/// One stream.
struct Following {
    app: Arc<App>,
    follower: ThreadFollower,
    stream: EventStream,
    _place: OpenStream,
}

impl Following {
    /// Until either side leaves.
    async fn run(mut self) {
        let end = match self.tell().await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        let last = |code| format!("event: end\ndata: {{\"code\":\"{code}\"}}\n\n");
        self.stream.end(end.map(last)).await;
    }

    /// # Errors
    /// Why the stream ends, which it does at some time.
    async fn tell(&mut self) -> Result<Infallible, End> {
        self.stream.send(&self.event("ready", "{}")).await?;
        let mut told_at = Instant::now();
        loop {
            self.stream.check().await?;
            let next = tokio::time::timeout(CHECK_EVERY, self.follower.next());
            let text = match self.stream.next(next).await? {
                Some(Ok(Told::Change(change))) => self.event("change", &self.data(&change)),
                Some(Ok(Told::Resync)) => self.event("resync", "{}"),
                _ if told_at.elapsed() < BEAT_EVERY => continue,
                _ => ": still here\n\n".to_owned(),
            };
            self.stream.send(&text).await?;
            told_at = Instant::now();
        }
    }

    fn event(&self, name: &str, data: &str) -> String {
        let id = cursor::encode(CURSOR, &self.follower.position());
        format!("id: {id}\nevent: {name}\ndata: {data}\n\n")
    }

    fn data(&self, change: &ThreadChange) -> String {
        let status = change.kind.status(self.app.threads.busy_since());
        let out = ChangeOut {
            thread_id: &change.thread_id,
            generation: &change.generation,
            kind: match change.kind {
                ThreadChangeKind::Update(_) => "update",
                ThreadChangeKind::Delete => "delete",
            },
            updated_at: rfc3339(change.at),
            status: status.map(StatusParam::from),
        };
        serde_json::to_string(&out).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct ChangeOut<'a> {
    thread_id: &'a str,
    generation: &'a str,
    kind: &'static str,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusParam>,
}
