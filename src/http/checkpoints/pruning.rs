//! Serves `POST /v1/checkpoints/prune`: removes checkpoints by rank and age, and reports the removed ones or, in a dry run, the candidates.

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::clock::Micros;
use crate::domain::names::ThreadId;
use crate::domain::threads::retention::{
    Keep, PruneRequest, Pruned, Removed, Rule, keep_last, seconds, seconds_before,
};
use crate::domain::threads::ttl::TtlStrategy;
use crate::domain::time::parse_rfc3339;
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

/// Prune threads
///
/// A checkpoint goes only when it is outside of the `keep_last` greatest ids of its namespace **and** was stored before
/// `older_than`. `delete` removes the threads. The answer says what went; with `dry_run`, what would go. Unknown threads
/// are no error.
#[utoipa::path(
    post, path = "/v1/checkpoints/prune", operation_id = "prune_threads", tag = "checkpoints",
    request_body(content = PruneBody,
        example = json!({"thread_ids": ["t-1"], "keep_last": 10, "older_than": 604_800, "dry_run": true})),
    responses(
        (status = 200, description = "Pruned, or what would go", body = PruneOut, example = json!({
            "dry_run": true,
            "threads": [{"thread_id": "t-1", "deleted": false, "checkpoints": 31, "writes": 58, "values": 44,
                "size_bytes": 912_004, "stored_bytes": 61_377}],
            "total": {"checkpoints": 31, "writes": 58, "values": 44, "size_bytes": 912_004, "stored_bytes": 61_377}
        })),
        (status = 409, description = "`lease_held`"),
    ),
)]
pub async fn prune(State(app): State<Arc<App>>, call: Call<Prune>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let request = input.at(app.clock.now());
    let (request, pruned) = app.checkpoints.prune(&caller, request, deadline).await?;
    for (thread_id, pruned) in request.thread_ids.iter().zip(&pruned) {
        let values = app.values.of(&caller, thread_id);
        if *pruned == Pruned::default() { values.forget_if_granted() } else { values.forget() }
    }
    reply.with(&PruneOut::of(&request, &pruned)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Prune)]
pub struct PruneBody {
    /// At most 1,000; of one that is named twice, once.
    thread_ids: Vec<Text>,
    /// May be left out beside `keep_last` or `older_than`.
    strategy: Option<StrategyBody>,
    /// 1-1,000,000. So many of the greatest ids of each namespace stay. Default 1. Not with `delete`.
    #[schema(minimum = 1, maximum = 1_000_000)]
    keep_last: Option<i64>,
    /// Seconds, or an RFC 3339 time. What was stored since stays, by the time of its first storing here. Not with
    /// `delete`.
    #[schema(value_type = Option<AgeSchema>)]
    older_than: Option<Age>,
    /// Threads that wait at an interrupt are not deleted; their waiting checkpoints stay with those that they were called
    /// from. Default false.
    keep_interrupted: Option<bool>,
    /// Only say what would go. Default false.
    dry_run: Option<bool>,
}

#[derive(Deserialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = PruneStrategy)]
pub enum StrategyBody {
    KeepLatest,
    Delete,
}

by_name!(StrategyBody);

impl From<StrategyBody> for TtlStrategy {
    fn from(strategy: StrategyBody) -> Self {
        match strategy {
            StrategyBody::Delete => Self::Delete,
            StrategyBody::KeepLatest => Self::KeepLatest,
        }
    }
}

/// Seconds before now, or a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Age {
    Seconds(i64),
    Time(String),
}

#[derive(ToSchema)]
#[schema(as = Age)]
#[serde(untagged)]
#[allow(dead_code)] // Only its shape is used.
pub enum AgeSchema {
    /// 1-3,153,600,000.
    Seconds(i64),
    /// RFC 3339.
    Time(String),
}

pub struct Prune {
    thread_ids: Vec<ThreadId>,
    rule: Rule,
    /// Completes the rule when the time is known.
    age: Option<Cutoff>,
    dry_run: bool,
}

enum Cutoff {
    SecondsAgo(i64),
    At(Micros),
}

#[derive(Serialize, ToSchema)]
#[schema(as = PruneReport)]
pub struct PruneOut {
    dry_run: bool,
    /// In the order asked for.
    threads: Vec<PrunedThread>,
    total: RemovedOut,
}

#[derive(Serialize, ToSchema)]
pub struct PrunedThread {
    thread_id: String,
    /// The thread went whole.
    deleted: bool,
    #[serde(flatten)]
    removed: RemovedOut,
}

/// Below zero where more was written, for the delta channels of what stays, than removed.
#[derive(Serialize, ToSchema)]
#[schema(as = Removed)]
pub struct RemovedOut {
    checkpoints: i64,
    writes: i64,
    /// Values that nothing names any more.
    values: i64,
    /// Before compression and sharing, as a thread's `size_bytes`.
    size_bytes: i64,
    /// Content as it is stored, in the database or in an object store.
    stored_bytes: i64,
}

impl Prune {
    fn at(self, now: Micros) -> PruneRequest {
        let mut rule = self.rule;
        if let (Some(keep), Some(age)) = (&mut rule.keep, self.age) {
            keep.since = Some(match age {
                Cutoff::SecondsAgo(seconds) => seconds_before(now, seconds),
                Cutoff::At(time) => time,
            });
        }
        PruneRequest { thread_ids: self.thread_ids, rule, dry_run: self.dry_run }
    }
}

impl PruneOut {
    fn of(request: &PruneRequest, pruned: &[Pruned]) -> Self {
        let mut total = Removed::default();
        let threads = request.thread_ids.iter().zip(pruned).map(|(thread_id, pruned)| {
            total += pruned.removed;
            PrunedThread {
                thread_id: thread_id.to_string(),
                deleted: pruned.deleted,
                removed: pruned.removed.into(),
            }
        });
        let threads = threads.collect();
        Self { dry_run: request.dry_run, threads, total: total.into() }
    }
}

impl From<Removed> for RemovedOut {
    fn from(removed: Removed) -> Self {
        let Removed { checkpoints, writes, values, size_bytes, stored_bytes } = removed;
        Self { checkpoints, writes, values, size_bytes, stored_bytes }
    }
}

impl Input for Prune {
    type Wire<'a> = PruneBody;

    fn from_wire(wire: PruneBody, _: &Received) -> Result<Self> {
        let thread_id = |it: Text| {
            ThreadId::new(it.0).map_err(|error| match error {
                Error::Invalid { detail, limit, .. } => {
                    Error::Invalid { field: "thread_ids".into(), detail, limit }
                }
                other => other,
            })
        };
        let thread_ids = wire.thread_ids.into_iter().map(thread_id).collect::<Result<_>>()?;
        let last = wire.keep_last.map(keep_last).transpose()?;
        let age = wire.older_than.map(cutoff).transpose()?;
        let mut rule = match (wire.strategy, last, &age) {
            (None, None, None) => {
                let detail = "one of strategy, keep_last and older_than is needed";
                return Err(Error::invalid("strategy", detail));
            }
            (Some(StrategyBody::Delete), None, None) => Rule::DELETE,
            (Some(StrategyBody::Delete), Some(_), _) => {
                return Err(Error::invalid("keep_last", "keep_last does not go with delete"));
            }
            (Some(StrategyBody::Delete), None, Some(_)) => {
                return Err(Error::invalid("older_than", "older_than does not go with delete"));
            }
            (_, last, _) => {
                let keep = Keep { last: last.unwrap_or(1), since: None };
                Rule { keep: Some(keep), ..Rule::KEEP_LATEST }
            }
        };
        rule.keep_interrupted = wire.keep_interrupted.unwrap_or_default();
        Ok(Self { thread_ids, rule, age, dry_run: wire.dry_run.unwrap_or_default() })
    }
}

fn cutoff(age: Age) -> Result<Cutoff> {
    Ok(match age {
        Age::Seconds(value) => Cutoff::SecondsAgo(seconds("older_than", value)?),
        Age::Time(text) => Cutoff::At(parse_rfc3339("older_than", &text)?),
    })
}

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AgeVisitor)
    }
}

struct AgeVisitor;

impl<'de> Visitor<'de> for AgeVisitor {
    type Value = Age;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number of seconds, or an RFC 3339 time")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Age, E> {
        Ok(Age::Seconds(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Age, E> {
        Ok(Age::Seconds(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Age, E> {
        Ok(Age::Time(value.to_owned()))
    }

    /// JSON numbers of any precision arrive as a map.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Age, A::Error> {
        let number = serde_json::Number::deserialize(MapAccessDeserializer::new(map))?;
        let whole = number.as_i64().map(Age::Seconds);
        whole.ok_or_else(|| A::Error::custom("a whole number of seconds, or an RFC 3339 time"))
    }
}
