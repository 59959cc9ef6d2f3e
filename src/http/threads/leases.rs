//! Serves `POST /v1/threads/lease/…`: the lease on a thread. While it is held every kind of write needs its fence.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::limits::LIMITS;
use crate::domain::names::{LeaseHolder, ThreadId};
use crate::domain::threads::thread::{Lease, LeaseRequest};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

/// Acquire the lease of a thread
///
/// Free, expired or already held by the same holder; creates the thread if needed.
#[utoipa::path(
    post, path = "/v1/threads/lease/acquire", operation_id = "acquire_lease", tag = "leases",
    request_body(content = AcquireBody, example = json!({"thread_id": "t-1", "holder": "worker-7", "ttl_seconds": 60})),
    responses(
        (status = 200, description = "Held", body = LeaseOut,
            example = json!({"fence": 1, "expires_at": "2026-01-31T12:01:00.000000Z"})),
        (status = 413, description = "`quota_exceeded`"),
        (status = 409, description = "`lease_held` or `thread_taken`"),
    ),
)]
pub async fn acquire(State(app): State<Arc<App>>, call: Call<Acquire>) -> Answer {
    let Call { caller, deadline, input: Acquire(request), reply } = call;
    let lease = app.threads.acquire_lease(&caller, &request, deadline).await?;
    reply.with(&LeaseOut::from(lease)).await
}

/// Renew the lease of a thread
#[utoipa::path(
    post, path = "/v1/threads/lease/renew", operation_id = "renew_lease", tag = "leases",
    request_body(content = RenewBody, example = json!({"thread_id": "t-1", "holder": "worker-7", "fence": 1, "ttl_seconds": 60})),
    responses(
        (status = 200, description = "Held for longer", body = LeaseOut,
            example = json!({"fence": 1, "expires_at": "2026-01-31T12:02:00.000000Z"})),
        (status = 409, description = "`fence_stale`, `lease_held` or `thread_taken`"),
    ),
)]
pub async fn renew(State(app): State<Arc<App>>, call: Call<Renew>) -> Answer {
    let Call { caller, deadline, input: Renew(request), reply } = call;
    let lease = app.threads.renew_lease(&caller, &request, deadline).await?;
    reply.with(&LeaseOut::from(lease)).await
}

/// Release the lease of a thread
///
/// No error when it is not held any more.
#[utoipa::path(
    post, path = "/v1/threads/lease/release", operation_id = "release_lease", tag = "leases",
    request_body(content = ReleaseBody, example = json!({"thread_id": "t-1", "holder": "worker-7", "fence": 1})),
    responses(
        (status = 200, description = "Free", body = Empty),
        (status = 409, description = "`thread_taken`"),
    ),
)]
pub async fn release(State(app): State<Arc<App>>, call: Call<Release>) -> Answer {
    let Call { caller, deadline, input: Release(request), reply } = call;
    app.threads.release_lease(&caller, &request, deadline).await?;
    reply.done().await
}

/// Break the lease of a thread
///
/// For keys of the whole tenant; it is in the audit log. Whoever held it is refused from here on. No error when nobody holds it.
#[utoipa::path(
    post, path = "/v1/threads/lease/break", operation_id = "break_lease", tag = "leases",
    request_body(content = BreakBody, example = json!({"thread_id": "t-1"})),
    responses((status = 200, description = "Free", body = Empty)),
)]
pub async fn break_lease(State(app): State<Arc<App>>, call: Call<Break>) -> Answer {
    let Call { caller, deadline, input: Break(thread_id), reply } = call;
    app.snapshots.break_lease(&caller, &thread_id, deadline).await?;
    reply.done().await
}

#[derive(Serialize, ToSchema)]
#[schema(as = Lease)]
pub struct LeaseOut {
    /// Only grows; send it with every write while the lease is held.
    fence: i64,
    /// By the database's clock.
    #[schema(format = DateTime)]
    expires_at: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AcquireLease)]
pub struct AcquireBody {
    thread_id: Text,
    holder: Text,
    /// 1-3,600.
    ttl_seconds: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RenewLease)]
pub struct RenewBody {
    thread_id: Text,
    holder: Text,
    fence: i64,
    /// 1-3,600.
    ttl_seconds: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReleaseLease)]
pub struct ReleaseBody {
    thread_id: Text,
    holder: Text,
    fence: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BreakLease)]
pub struct BreakBody {
    thread_id: Text,
}

pub struct Break(ThreadId);
pub struct Acquire(LeaseRequest);
pub struct Renew(LeaseRequest);
pub struct Release(LeaseRequest);

impl Input for Break {
    type Wire<'a> = BreakBody;

    fn from_wire(wire: BreakBody, _: &Received) -> Result<Self> {
        ThreadId::new(wire.thread_id.0).map(Self)
    }
}

impl From<Lease> for LeaseOut {
    fn from(lease: Lease) -> Self {
        Self { fence: lease.fence, expires_at: rfc3339(lease.expires_at) }
    }
}

impl Input for Acquire {
    type Wire<'a> = AcquireBody;

    fn from_wire(wire: AcquireBody, _: &Received) -> Result<Self> {
        let ttl_seconds = ttl(wire.ttl_seconds)?;
        let (thread_id, holder) =
            (ThreadId::new(wire.thread_id.0)?, LeaseHolder::new(wire.holder.0)?);
        Ok(Self(LeaseRequest { thread_id, holder, fence: None, ttl_seconds, full: None }))
    }
}

impl Input for Renew {
    type Wire<'a> = RenewBody;

    fn from_wire(wire: RenewBody, _: &Received) -> Result<Self> {
        let ttl_seconds = ttl(wire.ttl_seconds)?;
        let (thread_id, holder) =
            (ThreadId::new(wire.thread_id.0)?, LeaseHolder::new(wire.holder.0)?);
        Ok(Self(LeaseRequest {
            thread_id,
            holder,
            fence: Some(wire.fence),
            ttl_seconds,
            full: None,
        }))
    }
}

impl Input for Release {
    type Wire<'a> = ReleaseBody;

    fn from_wire(wire: ReleaseBody, _: &Received) -> Result<Self> {
        let (thread_id, holder) =
            (ThreadId::new(wire.thread_id.0)?, LeaseHolder::new(wire.holder.0)?);
        Ok(Self(LeaseRequest {
            thread_id,
            holder,
            fence: Some(wire.fence),
            ttl_seconds: 0,
            full: None,
        }))
    }
}

fn ttl(seconds: i64) -> Result<i64> {
    let max = LIMITS.lease_ttl_seconds_max;
    if u64::try_from(seconds).is_ok_and(|it| (1..=max).contains(&it)) {
        return Ok(seconds);
    }
    let detail = format!("ttl_seconds must be from 1 to {max}");
    Err(Error::out_of_range("ttl_seconds", detail, max))
}
