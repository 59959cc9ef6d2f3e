//! Serves `GET /v1/store/changes`: the change feed of the store, as server-sent events. It sends names of items, never values.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde_json::json;
use tokio::time::Instant;
use utoipa::IntoParams;

use crate::app::App;
use crate::domain::Error;
use crate::domain::scheduling::asker;
use crate::domain::store::feed::{Change, Position, Watched};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::subscription::{Step, Subscription};
use crate::http::request::call::{Answer, Holder, presented_key};
use crate::http::request::cursor;
use crate::http::request::event_stream::{CHECK_EVERY, End, EventStream, require_accepted};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;

const CURSOR: &str = "changes";
/// A stream without changes shows that it lives, and moves its position on.
const BEAT_EVERY: Duration = Duration::from_secs(15);

/// Follow changes
///
/// Server-sent events of what happens to items below a prefix, in the order in which it becomes visible: `change` with namespace,
/// key, version and kind (`put`, `delete`, `expire`), never values. First comes `ready`: what changes from then on is told, so list
/// the items after it. Every event has an `id`: send the last one as `Last-Event-ID` or `after`, and nothing between is missed; some
/// may come twice. Of several puts in quick succession only the last may be told. `resync` says that changes were left out, because
/// they were not taken in time: list the items anew, or come back with an earlier `id`. `end` with a `code` says why the server
/// closes the stream. Lines with a colon, and ids without data, show that the stream lives. Changes are logged for tenants that have
/// followers, and kept for 24 hours; an older position is `position_gone`: list the items, and follow without one. A
/// transaction that stays open in the same PostgreSQL cluster delays the feed.
#[utoipa::path(
    get, path = "/v1/store/changes", operation_id = "follow_changes", tag = "store",
    params(ChangesParams),
    responses(
        (status = 200, description = "Events until either side ends them", content_type = "text/event-stream", body = String,
            example = "id: WyJj\nevent: change\ndata: {\"namespace\":[\"ann\",\"memories\"],\"key\":\"likes\",\"version\":2,\"kind\":\"put\"}\n\n"),
        (status = 410, description = "`position_gone`"),
        (status = 503, description = "`overloaded`"),
    ),
)]
pub async fn follow(
    State(app): State<Arc<App>>,
    holder: Holder,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    require_accepted(&headers)?;
    let asked = ChangesQuery::read(&uri, &headers)?;
    let identity = holder.0;
    let watched = Watched::new(&identity.caller, &asked.prefix, asked.exact);
    let holder = identity.minter_and_subject();
    let held = app.shares.account(identity.holder()).open();
    let subscription = app.feeds.follow(&identity.caller, &holder, watched, asked.after).await?;
    let (stream, answer) = EventStream::open(&app, identity, presented_key(&headers), held)?;
    asker::spawn(Follower { subscription, stream }.run());
    Ok(answer)
}

/// What the query may have.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "the document's; `ChangesQuery` reads them, because `ns` comes several times"
)]
pub struct ChangesParams {
    /// A label of the prefix; the next label is another `ns`. Absent: all that the caller may read.
    ns: Option<Vec<String>>,
    /// Only the namespace itself, nothing below it. Default false.
    exact: Option<bool>,
    /// The `id` of an event: what follows it. `Last-Event-ID` is the same, and stronger. Absent: from now on.
    after: Option<String>,
}

struct ChangesQuery {
    prefix: Namespace,
    exact: bool,
    after: Option<Position>,
}

impl ChangesQuery {
    fn read(uri: &Uri, headers: &HeaderMap) -> Result<Self, Problem> {
        let (mut labels, mut exact, mut after) = (Vec::new(), false, None);
        for (name, value) in query_of::<Vec<(String, String)>>(uri)? {
            match name.as_str() {
                "ns" => labels.push(value),
                "exact" => exact = value.parse().map_err(|_| refuse("exact", "true or false"))?,
                "after" => after = Some(value),
                _ => return Err(refuse(&name, "one of ns, exact, after")),
            }
        }
        let last = headers.get("last-event-id").map(|it| it.to_str().unwrap_or("?").to_owned());
        // Who has got no id yet may send an empty one.
        let after = last.into_iter().chain(after).find(|it| !it.is_empty());
        let after = after.map(|it| position(&it)).transpose()?;
        Ok(Self { prefix: Namespace::new(labels)?, exact, after })
    }
}

/// One stream.
struct Follower {
    subscription: Subscription,
    stream: EventStream,
}

impl Follower {
    /// Until either side leaves.
    async fn run(mut self) {
        let end = match self.tell().await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        let last = |code| format!("event: end\ndata: {}\n\n", json!({"code": code}));
        self.stream.end(end.map(last)).await;
    }

    /// # Errors
    /// Why the stream ends, which it does at some time.
    async fn tell(&mut self) -> Result<Infallible, End> {
        self.stream.send(&self.event("ready", "{}")).await?;
        let mut told_at = Instant::now();
        loop {
            self.stream.check().await?;
            let step = self.subscription.next(CHECK_EVERY);
            let Some(step) = self.stream.next(step).await? else { continue };
            let text = match step {
                Ok(Step::Changes(changes)) => changes.iter().map(change).collect(),
                Ok(Step::Resync) => self.event("resync", "{}"),
                Ok(Step::Nothing) if told_at.elapsed() < BEAT_EVERY => continue,
                Ok(Step::Nothing) => {
                    format!(": still here\nid: {}\n\n", id(self.subscription.position()))
                }
                Err(error) => return Err(Some(code_of(error))),
            };
            self.stream.send(&text).await?;
            told_at = Instant::now();
        }
    }

    fn event(&self, name: &str, data: &str) -> String {
        format!("id: {}\nevent: {name}\ndata: {data}\n\n", id(self.subscription.position()))
    }
}

fn change(change: &Arc<Change>) -> String {
    let address = &change.address;
    let namespace = json!(address.namespace.labels());
    let (key, version, kind) = (address.key.json(), change.version, change.kind.name());
    let data =
        format!(r#"{{"namespace":{namespace},"key":{key},"version":{version},"kind":"{kind}"}}"#);
    format!("id: {}\nevent: change\ndata: {data}\n\n", id(&change.position))
}

fn id(it: &Position) -> String {
    cursor::encode(CURSOR, &(&it.feed, it.commit, it.n, it.at))
}

fn position(text: &str) -> Result<Position, Problem> {
    let refuse = |_| refuse("after", "the id of an event");
    let (feed, commit, n, at) = cursor::decode(CURSOR, text).map_err(refuse)?;
    let position = Position { feed, commit, n, at };
    // Larger numbers than an engine has are of no log.
    let is_legal = i64::try_from(position.commit).is_ok() && i32::try_from(position.n).is_ok();
    if is_legal { Ok(position) } else { Err(Error::PositionGone.into()) }
}

fn refuse(field: &str, wanted: &str) -> Problem {
    Error::invalid(field, format!("{field} must be {wanted}")).into()
}

fn code_of(error: Error) -> &'static str {
    let problem = Problem::from(error);
    if let Some(cause) = &problem.cause {
        tracing::warn!(%cause, "a stream of changes ends");
    }
    problem.code.parts().1
}
