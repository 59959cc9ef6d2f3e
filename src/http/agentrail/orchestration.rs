//! Serves Agentrail's trace, and the events, checkpoints, mailboxes and agent histories of its orchestration.

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ExactList, PathIds, change, document, logged, own, put, stream};
use crate::app::App;
use crate::domain::agentrail::{EVENTS, SNAPSHOT, TRACE, history, mailbox, mailbox_state};
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::request::call::{Answer, BodylessCall, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, ExactOut};
use crate::http::sessions::asking;

/// Load the trace of a session of Agentrail's
///
/// In the order in which it was appended.
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/trace", operation_id = "agentrail_load_trace", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    responses((status = 200, description = "All of it", body = ExactList, example = json!({"envelopes": []}))),
)]
pub async fn load_trace(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let loaded = stream(&app, &call.caller, &ids.session()?, TRACE).await?;
    call.reply.with(&ExactList::of("envelopes", loaded)).await
}

/// Append to the trace of a session of Agentrail's
///
/// An envelope whose `id` the trace has is left out.
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/trace", operation_id = "agentrail_append_trace", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = TraceBody, example = json!({"envelopes": [{"id": "e1", "sequence": 0, "event": {}}]})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn append_trace(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<TraceIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![logged(TRACE, input.0, "id")?];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// Load the orchestration's events of a session of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/events", operation_id = "agentrail_load_events", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    responses((status = 200, description = "All of them", body = ExactList, example = json!({"events": []}))),
)]
pub async fn load_events(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let loaded = stream(&app, &call.caller, &ids.session()?, EVENTS).await?;
    call.reply.with(&ExactList::of("events", loaded)).await
}

/// Append to the orchestration's events of a session of Agentrail's
///
/// An event whose `eventId` is there is left out. `event` with `snapshot` is one transaction: the event and the checkpoint behind it.
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/events", operation_id = "agentrail_append_events", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = EventsBody, example = json!({"event": {"eventId": "e1", "type": "run_started"}, "snapshot": {"runs": {}}})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn append_events(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<EventsIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let mut steps = vec![logged(EVENTS, input.events, "eventId")?];
    steps.extend(input.snapshot.map(|it| put(SNAPSHOT, it)));
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// Get the orchestration's checkpoint of a session of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/snapshot", operation_id = "agentrail_get_snapshot", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    responses((status = 200, description = "The last one", body = SnapshotOut), (status = 404, description = "`document_not_found`")),
)]
pub async fn get_snapshot(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let found = document(&app, &call.caller, &ids.session()?, SNAPSHOT).await?;
    call.reply.with(&SnapshotOut { snapshot: ExactOut(found.text) }).await
}

/// Put the orchestration's checkpoint of a session of Agentrail's
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/snapshot", operation_id = "agentrail_put_snapshot", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = SnapshotBody, example = json!({"snapshot": {"runs": {}}})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_snapshot(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<SnapshotIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![put(SNAPSHOT, input.0)];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// Load the mailbox of an agent of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/mailbox", operation_id = "agentrail_load_mailbox", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("agent" = String, Path)),
    responses((status = 200, description = "All of it", body = ExactList, example = json!({"events": []}))),
)]
pub async fn load_mailbox(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let mailbox = mailbox(ids.id("agent"));
    let loaded = stream(&app, &call.caller, &ids.session()?, &mailbox).await?;
    call.reply.with(&ExactList::of("events", loaded)).await
}

/// Append to the mailbox of an agent of Agentrail's
///
/// An event whose `eventId` is there is left out.
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/mailbox", operation_id = "agentrail_append_mailbox", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("agent" = String, Path)),
    request_body(content = EventsBody, example = json!({"events": [{"eventId": "e1", "type": "input_enqueued"}]})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn append_mailbox(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<EventsIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    if input.snapshot.is_some() {
        return Err(Error::invalid("snapshot", "snapshot: a mailbox has none").into());
    }
    let steps = vec![logged(mailbox(ids.id("agent")), input.events, "eventId")?];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// Get the state of a mailbox of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/mailbox-state", operation_id = "agentrail_get_mailbox_state", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("agent" = String, Path)),
    responses((status = 200, description = "As it was put", body = StateOut), (status = 404, description = "`document_not_found`")),
)]
pub async fn get_mailbox_state(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: BodylessCall,
) -> Answer {
    let name = mailbox_state(ids.id("agent"));
    let found = document(&app, &call.caller, &ids.session()?, &name).await?;
    call.reply.with(&StateOut { state: ExactOut(found.text) }).await
}

/// Put the state of a mailbox of Agentrail's
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/mailbox-state", operation_id = "agentrail_put_mailbox_state", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("agent" = String, Path)),
    request_body(content = StateBody, example = json!({"state": {"processedEventCount": 1, "closeRequested": null}})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_mailbox_state(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<StateIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![put(mailbox_state(ids.id("agent")), input.0)];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// Get the history of an agent of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/history", operation_id = "agentrail_get_history", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("agent" = String, Path)),
    responses((status = 200, description = "As it was put", body = HistoryOut), (status = 404, description = "`document_not_found`")),
)]
pub async fn get_history(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let name = history(ids.id("agent"));
    let found = document(&app, &call.caller, &ids.session()?, &name).await?;
    call.reply.with(&HistoryOut { history: ExactOut(found.text) }).await
}

/// Put the history of an agent of Agentrail's
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/history", operation_id = "agentrail_put_history", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("agent" = String, Path)),
    request_body(content = HistoryBody, example = json!({"history": []})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_history(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<HistoryIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![put(history(ids.id("agent")), input.0)];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentrailTrace)]
pub struct TraceBody<'a> {
    #[serde(borrow)]
    envelopes: Vec<Exact<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentrailEvents)]
pub struct EventsBody<'a> {
    #[serde(borrow)]
    events: Option<Vec<Exact<'a>>>,
    #[serde(borrow)]
    event: Option<Exact<'a>>,
    #[serde(borrow)]
    snapshot: Option<Exact<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentrailSnapshot)]
pub struct SnapshotBody<'a> {
    #[serde(borrow)]
    snapshot: Exact<'a>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentrailMailboxState)]
pub struct StateBody<'a> {
    #[serde(borrow)]
    state: Exact<'a>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentrailHistory)]
pub struct HistoryBody<'a> {
    #[serde(borrow)]
    history: Exact<'a>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentrailSnapshotRead)]
pub struct SnapshotOut {
    #[schema(value_type = Exact)]
    snapshot: ExactOut,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentrailMailboxStateRead)]
pub struct StateOut {
    #[schema(value_type = Exact)]
    state: ExactOut,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentrailHistoryRead)]
pub struct HistoryOut {
    #[schema(value_type = Exact)]
    history: ExactOut,
}

pub struct TraceIn(Vec<Bytes>);

pub struct EventsIn {
    events: Vec<Bytes>,
    snapshot: Option<Bytes>,
}

pub struct SnapshotIn(Bytes);
pub struct StateIn(Bytes);
pub struct HistoryIn(Bytes);

impl Input for TraceIn {
    type Wire<'a> = TraceBody<'a>;

    fn from_wire(wire: TraceBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self(wire.envelopes.iter().map(|it| own(it, received)).collect()))
    }
}

impl Input for EventsIn {
    type Wire<'a> = EventsBody<'a>;

    fn from_wire(wire: EventsBody<'_>, received: &Received) -> Result<Self> {
        let events = wire.events.iter().flatten().chain(&wire.event);
        Ok(Self {
            events: events.map(|it| own(it, received)).collect(),
            snapshot: wire.snapshot.map(|it| own(&it, received)),
        })
    }
}

impl Input for SnapshotIn {
    type Wire<'a> = SnapshotBody<'a>;

    fn from_wire(wire: SnapshotBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self(own(&wire.snapshot, received)))
    }
}

impl Input for StateIn {
    type Wire<'a> = StateBody<'a>;

    fn from_wire(wire: StateBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self(own(&wire.state, received)))
    }
}

impl Input for HistoryIn {
    type Wire<'a> = HistoryBody<'a>;

    fn from_wire(wire: HistoryBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self(own(&wire.history, received)))
    }
}
