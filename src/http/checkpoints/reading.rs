//! Serves `POST /v1/checkpoints/get`, `…/list` and `…/history`: reads checkpoints and the histories of delta channels.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::commit::or_empty;
use super::shorten::{HaveValues, shortened};
use super::views::{self, BaseOut, NodeOut, ViewOut};
use crate::app::App;
use crate::domain::checkpoints::checkpoint::{LargeValues, ListCursor, ListQuery, Target};
use crate::domain::checkpoints::service::{DeltaHistory, KnownHistory};
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::names::{self, CheckpointId, CheckpointNs, ThreadId};
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor::{self, limit};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Data, Exact, Text};

const CURSOR: &str = "checkpoints";

/// Get a checkpoint
///
/// The latest, or the one named, with its values and writes and the history of its delta channels. An absent
/// `checkpoint` means that there is none, and nothing else.
#[utoipa::path(
    post, path = "/v1/checkpoints/get", operation_id = "get_checkpoint", tag = "checkpoints",
    request_body(content = GetBody, example = json!({"thread_id": "t-1", "history_channels": ["messages"]})),
    responses((status = 200, description = "The checkpoint, if there is one", body = Got, example = json!({
        "generation": "9f2b7c", "chain": [], "history_channels": [], "checkpoint": {
            "thread_id": "t-1", "checkpoint_ns": "", "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            "skeleton": {"v": 4, "channel_versions": {"messages": "1"}}, "metadata": {"step": 1},
            "values": [{"channel": "messages", "tag": "msgpack", "data": "kaVoZWxsbw=="}],
            "writes": [], "pending_sends": [], "bases": []
        }
    }))),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<Get>) -> Answer {
    let Call { caller, input: Get { target, channels, held, have }, reply, .. } = call;
    let (found, cut) = app.checkpoints.get(&caller, &target, &channels, held.as_ref()).await?;
    let size = found.view.as_ref().map_or(0, views::size) + views::chain_size(&found.chain);
    let got = shortened(&app, (&caller, Some(&target.thread_id)), have, size, move |shorten| Got {
        generation: found.generation,
        checkpoint: found.view.map(|it| views::view(it, shorten)),
        chain: views::chain(found.chain, shorten),
        history_channels: found.history_channels,
        digest: cut.digest.map(hex::encode),
        continues_at: cut.continues_at,
    });
    reply.with(&got.await?).await
}

/// List checkpoints
///
/// Newest first by checkpoint id (bytes), then thread id, then namespace. A page can be empty and still have
/// a `next_cursor`.
#[utoipa::path(
    post, path = "/v1/checkpoints/list", operation_id = "list_checkpoints", tag = "checkpoints",
    request_body(content = ListBody, example = json!({"thread_id": "t-1", "filter": {"source": "loop"}, "limit": 20})),
    responses((status = 200, description = "A page", body = CheckpointPage, example = json!({
        "checkpoints": [], "chain": [], "history_channels": []
    }))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<List>) -> Answer {
    let Call { caller, input: List { query, have }, reply, .. } = call;
    let thread_id = query.thread_id.clone();
    let page = app.checkpoints.list(&caller, query).await?;
    let position = |it: ListCursor| cursor::encode(CURSOR, &(it.id, it.thread_id, it.ns));
    let size = page.views.iter().map(views::size).sum::<usize>() + views::chain_size(&page.chain);
    let listed =
        shortened(&app, (&caller, thread_id.as_ref()), have, size, move |shorten| CheckpointPage {
            checkpoints: page.views.into_iter().map(|it| views::view(it, shorten)).collect(),
            next_cursor: page.next.map(position),
            chain: views::shared_chain(page.chain, shorten),
            history_channels: page.history_channels,
        });
    reply.with(&listed.await?).await
}

/// Get the history of delta channels
///
/// An absent `checkpoint_id` in the answer means that there is no such checkpoint; every history is then empty.
#[utoipa::path(
    post, path = "/v1/checkpoints/history", operation_id = "get_channel_history", tag = "checkpoints",
    request_body(content = HistoryBody, example = json!({"thread_id": "t-1", "channels": ["messages"]})),
    responses((status = 200, description = "The histories", body = Histories, example = json!({
        "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875", "bases": [], "chain": []
    }))),
)]
pub async fn history(State(app): State<Arc<App>>, call: Call<History>) -> Answer {
    let Call { caller, input: History(input), reply, .. } = call;
    let Get { target, channels, held, have } = input;
    let found = app.checkpoints.history(&caller, &target, &channels, held.as_ref()).await?;
    let Some((found, DeltaHistory { digest, continues_at })) = found else {
        return reply.with(&Histories::default()).await;
    };
    let size = views::chain_size(&found.chain);
    let histories =
        shortened(&app, (&caller, Some(&target.thread_id)), have, size, move |shorten| Histories {
            checkpoint_id: Some(found.checkpoint_id),
            parent_checkpoint_id: found.parent,
            bases: views::bases(found.bases, shorten),
            chain: views::chain(found.chain, shorten),
            digest: digest.map(hex::encode),
            continues_at,
        });
    reply.with(&histories.await?).await
}

#[derive(Serialize, ToSchema)]
#[schema(as = GotCheckpoint)]
pub struct Got {
    /// Of the thread; absent when there is no such thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<ViewOut>,
    /// Newest first.
    chain: Vec<NodeOut>,
    /// Channels whose histories the chain holds.
    history_channels: Vec<String>,
    /// Names everything from the first node of the chain on.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The node of the caller's own chain before which this one stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    continues_at: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CheckpointPage)]
pub struct CheckpointPage {
    checkpoints: Vec<ViewOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Nodes that the histories of the listed checkpoints need, each once.
    chain: Vec<NodeOut>,
    history_channels: Vec<String>,
}

#[derive(Serialize, ToSchema, Default)]
pub struct Histories {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_checkpoint_id: Option<String>,
    bases: Vec<BaseOut>,
    chain: Vec<NodeOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continues_at: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetCheckpoint)]
pub struct GetBody<'a> {
    thread_id: Text,
    checkpoint_ns: Option<Text>,
    /// Absent: the greatest by byte order.
    checkpoint_id: Option<Text>,
    /// Channels whose history is wanted beside those that the checkpoint names itself.
    history_channels: Option<Vec<Text>>,
    have: Option<HaveBody>,
    /// SHA-256s of values of this thread that the caller holds, or their first 16 bytes or more; at most 1,024.
    /// When it is there, also empty, values of the answer may come as `same` and as differences.
    #[serde(borrow)]
    have_values: Option<Vec<Data<'a>>>,
    /// Values that came in parts, over `value_in_parts_bytes_min`, come as the names of their parts. Default false: with their
    /// bytes, and 413 for one over `value_inline_bytes_max`.
    value_parts: Option<bool>,
}

/// A chain that the caller holds already.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Have)]
pub struct HaveBody {
    /// Its first node.
    checkpoint_id: Text,
    digest: Text,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListCheckpoints)]
pub struct ListBody<'a> {
    /// Absent: every thread the caller may read.
    thread_id: Option<Text>,
    /// Absent: any.
    checkpoint_ns: Option<Text>,
    checkpoint_id: Option<Text>,
    /// Ids strictly smaller.
    before: Option<Text>,
    /// An object: checkpoints whose metadata contains it.
    #[serde(borrow)]
    filter: Option<Exact<'a>>,
    #[schema(minimum = 0)]
    limit: Option<i64>,
    cursor: Option<Text>,
    /// false: no values, writes and chain.
    values: Option<bool>,
    history_channels: Option<Vec<Text>>,
    /// SHA-256s of values of this thread that the caller holds, or their first 16 bytes or more; at most 1,024.
    /// Goes with a `thread_id`.
    /// When it is there, also empty, values of the answer may come as `same` and as differences.
    #[serde(borrow)]
    have_values: Option<Vec<Data<'a>>>,
    /// Values that came in parts, over `value_in_parts_bytes_min`, come as the names of their parts. Default false: with their
    /// bytes, and 413 for one over `value_inline_bytes_max`.
    value_parts: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetHistory)]
pub struct HistoryBody<'a> {
    thread_id: Text,
    checkpoint_ns: Option<Text>,
    checkpoint_id: Option<Text>,
    channels: Vec<Text>,
    have: Option<HaveBody>,
    /// SHA-256s of values of this thread that the caller holds, or their first 16 bytes or more; at most 1,024.
    /// When it is there, also empty, values of the answer may come as `same` and as differences.
    #[serde(borrow)]
    have_values: Option<Vec<Data<'a>>>,
    /// Values that came in parts, over `value_in_parts_bytes_min`, come as the names of their parts. Default false: with their
    /// bytes, and 413 for one over `value_inline_bytes_max`.
    value_parts: Option<bool>,
}

/// A read of one checkpoint.
pub struct Get {
    target: Target,
    channels: Vec<String>,
    held: Option<KnownHistory>,
    have: Option<HaveValues>,
}

/// A page of checkpoints.
pub struct List {
    query: ListQuery,
    have: Option<HaveValues>,
}

/// The same for its histories alone.
pub struct History(Get);

impl Input for Get {
    type Wire<'a> = GetBody<'a>;

    fn from_wire(wire: GetBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            target: Target {
                large_values: large_values(wire.value_parts),
                ..target(wire.thread_id, wire.checkpoint_ns, wire.checkpoint_id)?
            },
            channels: texts(wire.history_channels.unwrap_or_default()),
            held: wire.have.map(held).transpose()?,
            have: have_values(wire.have_values, received)?,
        })
    }
}

impl Input for History {
    type Wire<'a> = HistoryBody<'a>;

    fn from_wire(wire: HistoryBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self(Get {
            target: Target {
                large_values: large_values(wire.value_parts),
                ..target(wire.thread_id, wire.checkpoint_ns, wire.checkpoint_id)?
            },
            channels: texts(wire.channels),
            held: wire.have.map(held).transpose()?,
            have: have_values(wire.have_values, received)?,
        }))
    }
}

impl Input for List {
    type Wire<'a> = ListBody<'a>;

    fn from_wire(mut wire: ListBody<'_>, received: &Received) -> Result<Self> {
        let have = have_values(wire.have_values.take(), received)?;
        if have.is_some() && wire.thread_id.is_none() {
            return Err(Error::invalid("have_values", "have_values goes with a thread_id"));
        }
        Ok(Self { query: wire.into_query()?, have })
    }
}

impl ListBody<'_> {
    fn into_query(self) -> Result<ListQuery> {
        let wire = self;
        let values = wire.values.unwrap_or(true);
        // Histories are about one thread; a listing over all of them has none.
        let histories = values && wire.thread_id.is_some();
        let channels = texts(wire.history_channels.unwrap_or_default());
        Ok(ListQuery {
            thread_id: wire.thread_id.map(|it| ThreadId::new(it.0)).transpose()?,
            ns: wire.checkpoint_ns.map(|it| CheckpointNs::new(it.0)).transpose()?,
            id: wire.checkpoint_id.map(|it| CheckpointId::new(it.0)).transpose()?,
            before: wire.before.map(before).transpose()?,
            since: None,
            filter: wire.filter.as_ref().map(filter).transpose()?,
            limit: limit(wire.limit)?,
            after: wire.cursor.as_ref().map(|it| position(CURSOR, it)).transpose()?,
            values,
            large_values: large_values(wire.value_parts),
            wanted: WantedChannels::All,
            history_channels: histories.then_some(channels),
        })
    }
}

fn target(thread_id: Text, ns: Option<Text>, id: Option<Text>) -> Result<Target> {
    Ok(Target {
        thread_id: ThreadId::new(thread_id.0)?,
        ns: CheckpointNs::new(or_empty(ns))?,
        id: id.map(|it| CheckpointId::new(it.0)).transpose()?,
        large_values: LargeValues::Inline,
        wanted: WantedChannels::All,
    })
}

fn large_values(value_parts: Option<bool>) -> LargeValues {
    if value_parts == Some(true) { LargeValues::InParts } else { LargeValues::Inline }
}

fn held(have: HaveBody) -> Result<KnownHistory> {
    let mut digest = [0; 16];
    let is_ours = hex::decode_to_slice(&have.digest.0, &mut digest).is_ok();
    let first_id = CheckpointId::new(have.checkpoint_id.0)?;
    Ok(KnownHistory { first_id, digest: is_ours.then_some(digest) })
}

fn have_values(data: Option<Vec<Data<'_>>>, received: &Received) -> Result<Option<HaveValues>> {
    data.map(|it| HaveValues::read(it, received)).transpose()
}

pub fn before(text: Text) -> Result<CheckpointId> {
    names::check("before", &text.0, LIMITS.checkpoint_id_bytes_max, false)?;
    CheckpointId::new(text.0)
}

fn filter(text: &Exact<'_>) -> Result<serde_json::Value> {
    let wanted = exact_json::read_filter(text.0)?;
    exact_json::check_wanted("filter", &wanted)?;
    Ok(wanted)
}

/// `kind`: of which listing.
pub fn position(kind: &str, text: &Text) -> Result<ListCursor> {
    let (id, thread_id, ns): (String, String, String) = cursor::decode(kind, &text.0)?;
    Ok(ListCursor {
        id: CheckpointId::new(id)?.into_string(),
        thread_id: ThreadId::new(thread_id)?.into_string(),
        ns: CheckpointNs::new(ns)?.into_string(),
    })
}

fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|it| it.0).collect()
}
