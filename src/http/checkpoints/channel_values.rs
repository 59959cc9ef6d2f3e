//! Serves `GET /v1/checkpoints/values`: the value of each channel of a checkpoint, in plain JSON and as it is stored.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::cuts::{CutParams, Held, budget, number};
use crate::app::App;
use crate::decode::values::{Channel, Stored, channels, size_bytes};
use crate::decode::{Budget, Cuts, Json, Unreadable, read_text};
use crate::domain::checkpoints::checkpoint::{LargeValues, Target, Value};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::names::{Channel as ChannelName, CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::exact::{Data, DataOut};
use crate::http::request::problem::{Code, Problem};
use crate::http::request::query_fields::query_of;

/// Get the values of a checkpoint
///
/// Every channel with a value, those that are the graph's own affair too, as they enter the step of the checkpoint; decoded for
/// display as `GET /v1/state` does. An absent `checkpoint` means that there is none, and nothing else. Values are cut as
/// `GET /v1/state` cuts them: `channel=messages&from=-50&items_max=50` shows the last 50 messages. With `pointer`, the value of its
/// channel is that of the place, and `channels` is empty where there is no such place. Bytes of `raw` are never cut.
#[utoipa::path(
    get, path = "/v1/checkpoints/values", operation_id = "get_checkpoint_values", tag = "checkpoints",
    params(
        ValuesParams,
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of what the caller holds"),
    ),
    responses(
        (status = 200, description = "The values, if there is such a checkpoint", body = GotValues, headers(
            ("ETag" = String, description = "Of everything that the answer shows; where the query has a `checkpoint_id`"),
        ), example = json!({"checkpoint": {
            "thread_id": "t-1", "checkpoint_ns": "", "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            "channels": [
                {"channel": "branch:to:model", "version": "2", "tag": "null", "size_bytes": 0, "is_delta": false, "value": null,
                    "raw": {"channel": "branch:to:model", "value": {"tag": "null", "data": ""}, "writes": []}},
                {"channel": "title", "version": "1", "tag": "msgpack", "size_bytes": 6, "is_delta": false, "value": "hello",
                    "raw": {"channel": "title", "value": {"tag": "msgpack", "data": "pWhlbGxv"}, "writes": []}}
            ]
        }})),
        (status = 304, description = "The caller holds it already"),
        (status = 413, description = "`too_large`"),
    ),
)]
pub async fn get(
    State(app): State<Arc<App>>,
    call: BodylessCall,
    headers: HeaderMap,
    uri: Uri,
) -> Answer {
    let ValuesQuery { target, only, raw, cuts } = ValuesQuery::read(&uri)?;
    let held = Held::new(target.id.is_some(), headers, &uri);
    let (found, _) = app.checkpoints.get(&call.caller, &target, &[], None).await?;
    let shown = cpu_pool::run_sized(&call.caller.tenant, size_bytes(&found), move || {
        held.or_show(found, |found| ValuesOut::of(found, &only, raw, cuts))
    })
    .await?;
    shown?.reply(call.reply, |checkpoint| GotValues { checkpoint }).await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "the document's; `ValuesQuery` reads them, because `channel` comes several times"
)]
pub struct ValuesParams {
    thread_id: String,
    /// Absent: the root graph.
    checkpoint_ns: Option<String>,
    /// Absent: the newest, by byte order.
    checkpoint_id: Option<String>,
    /// Only this one; another is another `channel`. Absent: all.
    channel: Option<Vec<String>>,
    /// Also what is stored, as it is: base64 with the tag of its codec. Default false.
    raw: Option<bool>,
    /// Cuts longer texts: bytes of UTF-8.
    string_bytes_max: Option<u64>,
    /// Cuts longer lists, and objects with more fields, at any depth.
    items_max: Option<u64>,
    /// Where the value of a channel, or the value that `pointer` names, begins to be shown, if it is a list or an object. Below zero
    /// it counts from the end. Default 0.
    from: Option<i64>,
    /// Only this place of the values, as a JSON Pointer that begins with the channel: `/messages/3/content`.
    pointer: Option<String>,
}

struct ValuesQuery {
    target: Target,
    only: Vec<String>,
    raw: bool,
    cuts: Cuts,
}

#[derive(Serialize, ToSchema)]
pub struct GotValues {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<ValuesOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CheckpointValues)]
pub struct ValuesOut {
    thread_id: String,
    checkpoint_ns: String,
    checkpoint_id: String,
    /// In channel order (bytes).
    channels: Vec<ShownChannel>,
}

#[derive(Serialize, ToSchema)]
pub struct ShownChannel {
    channel: String,
    /// A string or a number, as the client sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    version: Option<Json>,
    /// Codec of the value; absent for a channel that is kept as writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// Of what is decoded.
    size_bytes: u64,
    /// Whether the value is replayed from a seed and writes.
    is_delta: bool,
    #[schema(value_type = serde_json::Value)]
    value: Json,
    /// With `raw` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<RawChannel>,
}

/// What is stored for a channel: a value, or the seed and the writes of a delta channel, oldest first.
#[derive(Serialize, ToSchema)]
pub struct RawChannel {
    channel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<RawValue>,
    writes: Vec<RawValue>,
}

#[derive(Serialize, ToSchema)]
pub struct RawValue {
    tag: String,
    #[schema(value_type = Data)]
    data: DataOut,
}

/// A checkpoint that cannot be shown at all.
pub fn unreadable(reason: Unreadable) -> Error {
    match reason {
        Unreadable::TooLarge => {
            Error::TooLarge { field: "checkpoint".into(), limit: LIMITS.display_bytes_max }
        }
        other => Error::Integrity(format!("a checkpoint cannot be shown: {other}")),
    }
}

impl ValuesQuery {
    fn read(uri: &Uri) -> std::result::Result<Self, Problem> {
        let (mut thread_id, mut ns, mut id, mut only, mut raw) =
            (None, None, None, Vec::new(), false);
        let mut cuts = CutParams::default();
        for (name, value) in query_of::<Vec<(String, String)>>(uri)? {
            match name.as_str() {
                "thread_id" if thread_id.is_none() => thread_id = Some(ThreadId::new(value)?),
                "checkpoint_ns" if ns.is_none() => ns = Some(CheckpointNs::new(value)?),
                "checkpoint_id" if id.is_none() => id = Some(CheckpointId::new(value)?),
                "channel" => only.push(ChannelName::new(value)?.into_string()),
                "raw" => raw = value.parse().map_err(|_| refuse("raw", "must be true or false"))?,
                "string_bytes_max" if cuts.string_bytes_max.is_none() => {
                    cuts.string_bytes_max = Some(number(&name, &value)?);
                }
                "items_max" if cuts.items_max.is_none() => {
                    cuts.items_max = Some(number(&name, &value)?);
                }
                "from" if cuts.from.is_none() => cuts.from = Some(number(&name, &value)?),
                "pointer" if cuts.pointer.is_none() => cuts.pointer = Some(value),
                "thread_id" | "checkpoint_ns" | "checkpoint_id" | "string_bytes_max"
                | "items_max" | "from" | "pointer" => {
                    return Err(refuse(&name, "stands more than once"));
                }
                _ => return Err(refuse(&name, "is not a parameter of this call")),
            }
        }
        at_most("channel", only.len(), LIMITS.channels_max)?;
        let thread_id = thread_id.ok_or_else(|| refuse("thread_id", "is missing"))?;
        let ns = ns.map_or_else(|| CheckpointNs::new(""), Ok)?;
        let large_values = if raw { LargeValues::Inline } else { LargeValues::Shown };
        Ok(Self {
            target: Target { thread_id, ns, id, large_values, wanted: WantedChannels::All },
            only,
            raw,
            cuts: cuts.into_cuts()?,
        })
    }
}

fn refuse(field: &str, reason: &str) -> Problem {
    Problem::new(Code::Invalid, format!("{field} {reason}")).at(field)
}

impl ValuesOut {
    /// None: there is no such checkpoint.
    fn of(
        found: CheckpointTuple,
        only: &[String],
        with_raw: bool,
        cuts: Cuts,
    ) -> Result<Option<Self>> {
        let mut whole = Budget::new(LIMITS.display_bytes_max);
        let Some(view) = &found.view else { return Ok(None) };
        let skeleton = read_text(&view.skeleton, &mut whole).map_err(unreadable)?;
        let mut budget = budget(whole.left(), cuts.clone());
        let versions = skeleton.get("channel_versions");
        let all = channels(&found, only, &mut budget).into_iter();
        let all = all.filter_map(|it| it.cut(&cuts)).map(|it| {
            let version = versions.and_then(|all| all.get(&it.name)).cloned();
            ShownChannel::of(it, version, with_raw)
        });
        Ok(Some(Self {
            channels: all.collect(),
            thread_id: view.thread_id.clone(),
            checkpoint_ns: view.ns.clone(),
            checkpoint_id: view.id.clone(),
        }))
    }
}

impl ShownChannel {
    fn of(it: Channel, version: Option<Json>, with_raw: bool) -> Self {
        let (tag, is_delta) = match &it.stored {
            Stored::Value(value) => (Some(value.tag.as_str().to_owned()), false),
            Stored::Writes(_) => (None, true),
        };
        Self {
            version,
            tag,
            size_bytes: it.stored.size_bytes(),
            is_delta,
            value: it.shown,
            raw: with_raw.then(|| RawChannel::of(it.name.clone(), it.stored)),
            channel: it.name,
        }
    }
}

impl RawChannel {
    pub fn of(channel: String, stored: Stored) -> Self {
        match stored {
            Stored::Value(value) => {
                let value = Some(RawValue::of(value));
                Self { channel, value, seed: None, writes: Vec::new() }
            }
            Stored::Writes(history) => Self {
                channel,
                value: None,
                seed: history.seed.map(RawValue::of),
                writes: history.writes.into_iter().map(|(_, it)| RawValue::of(it)).collect(),
            },
        }
    }
}

impl RawValue {
    pub fn of(value: Value) -> Self {
        Self { tag: value.tag.into_string(), data: DataOut(value.data) }
    }
}
