//! Serves `/v1/retention/…`: retention policies, of the tenant and of threads, and the reports of their rounds.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::domain::names::ThreadId;
use crate::domain::threads::retention::{
    Policy, PolicyCursor, PolicyQuery, Report, ReportCursor, ReportQuery, Rules, keep_last, seconds,
};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::checkpoints::pruning::RemovedOut;
use crate::http::request::call::{Answer, BodylessCall, Call};
use crate::http::request::cursor::{self, limit};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;

const PAGE_DEFAULT: i64 = 100;
const CURSOR: &str = "reports";
const POLICIES_CURSOR: &str = "policies";

/// Put a retention policy
///
/// Of a thread, or without `thread_id` of the tenant, for all threads that have none of their own: a thread's policy
/// replaces the tenant's as a whole, and one without any limit exempts the thread. Begin with `dry_run`. The servers
/// apply it within their retention interval.
#[utoipa::path(
    post, path = "/v1/retention/policies/put", operation_id = "put_retention_policy", tag = "retention",
    request_body(content = PutPolicyBody, example = json!({"keep_last": 20, "older_than_seconds": 604_800,
        "expire_after_seconds": 7_776_000, "dry_run": true})),
    responses(
        (status = 200, description = "Stored", body = GotPolicy),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, call: Call<PutPolicy>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let thread_id = input.thread_id.as_ref();
    let policy = app.policies.put(&caller, thread_id, &input.rules, deadline).await?;
    reply.with(&GotPolicy { policy: Some(policy.into()) }).await
}

/// Get a retention policy
///
/// The thread's own, or without `thread_id` the tenant's. An absent `policy` means that there is none.
#[utoipa::path(
    post, path = "/v1/retention/policies/get", operation_id = "get_retention_policy", tag = "retention",
    request_body(content = OfThreadBody, example = json!({})),
    responses((status = 200, description = "The policy, if there is one", body = GotPolicy)),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<OfThread>) -> Answer {
    let Call { caller, input: OfThread(thread_id), reply, .. } = call;
    let policy = app.policies.get(&caller, thread_id.as_ref()).await?;
    reply.with(&GotPolicy { policy: policy.map(PolicyOut::from) }).await
}

/// List the retention policies
///
/// The tenant's own first, which has no `thread_id`, then those of threads by their ids. A thread's policy is there before the thread is.
#[utoipa::path(
    get, path = "/v1/retention/policies", operation_id = "list_retention_policies", tag = "retention",
    params(PoliciesParams),
    responses((status = 200, description = "A page", body = PoliciesOut, example = json!({"policies": [
        {"expire_after_seconds": 7_776_000, "keep_last": 20, "keep_interrupted": true, "dry_run": false,
            "created_at": "2026-01-31T12:00:00.000000Z", "updated_at": "2026-01-31T12:00:00.000000Z", "due_at": "2026-01-31T12:01:00.000000Z"},
        {"thread_id": "t-1", "keep_interrupted": true, "dry_run": false, "created_at": "2026-01-31T12:00:00.000000Z",
            "updated_at": "2026-01-31T12:00:00.000000Z", "due_at": "2026-01-31T12:01:00.000000Z"}
    ]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let page = app.policies.list(&call.caller, policies_query(&uri)?).await?;
    let position = |it: PolicyCursor| {
        cursor::encode(POLICIES_CURSOR, &it.thread_id.as_ref().map(ThreadId::as_str))
    };
    let policies = page.policies.into_iter().map(PolicyOut::from).collect();
    call.reply.with(&PoliciesOut { policies, next_cursor: page.next.map(position) }).await
}

/// Delete a retention policy
///
/// The thread's own, or without `thread_id` the tenant's. No error when there is none. A thread's policy also goes when the
/// thread is deleted.
#[utoipa::path(
    post, path = "/v1/retention/policies/delete", operation_id = "delete_retention_policy", tag = "retention",
    request_body(content = OfThreadBody, example = json!({"thread_id": "t-1"})),
    responses((status = 200, description = "Deleted, or never there", body = Empty)),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<OfThread>) -> Answer {
    let Call { caller, deadline, input: OfThread(thread_id), reply } = call;
    app.policies.delete(&caller, thread_id.as_ref(), deadline).await?;
    reply.done().await
}

/// Run retention now
///
/// Makes the thread's policy due, or without `thread_id` all of the tenant, and answers how many. Their reports follow.
#[utoipa::path(
    post, path = "/v1/retention/run", operation_id = "run_retention", tag = "retention",
    request_body(content = OfThreadBody, example = json!({})),
    responses((status = 200, description = "Due now", body = Due, example = json!({"policies": 1}))),
)]
pub async fn run(State(app): State<Arc<App>>, call: Call<OfThread>) -> Answer {
    let Call { caller, deadline, input: OfThread(thread_id), reply } = call;
    let policies = app.policies.run(&caller, thread_id.as_ref(), deadline).await?;
    reply.with(&Due { policies }).await
}

/// List retention reports
///
/// One per finished round, newest first, kept for 30 days. A round that removed nothing, and a dry run, replaces the last
/// such report of its policy.
#[utoipa::path(
    get, path = "/v1/retention/reports", operation_id = "list_retention_reports", tag = "retention",
    params(ReportsParams),
    responses((status = 200, description = "A page", body = Reports, example = json!({"reports": []}))),
)]
pub async fn reports(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let page = app.policies.list_reports(&call.caller, query(&uri)?).await?;
    let position = |it: ReportCursor| cursor::encode(CURSOR, &(it.finished_at, it.report_id));
    call.reply
        .with(&Reports {
            reports: page.reports.into_iter().map(ReportOut::from).collect(),
            next_cursor: page.next.map(position),
        })
        .await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutRetentionPolicy)]
pub struct PutPolicyBody {
    thread_id: Option<Text>,
    /// 1-3,153,600,000. A thread without a commit for so long is deleted.
    #[schema(minimum = 1, maximum = 3_153_600_000_i64)]
    expire_after_seconds: Option<i64>,
    /// 1-1,000,000. So many of the greatest checkpoint ids of each namespace stay. Default 1 beside `older_than_seconds`.
    #[schema(minimum = 1, maximum = 1_000_000)]
    keep_last: Option<i64>,
    /// 1-3,153,600,000. What was stored within that time stays too.
    #[schema(minimum = 1, maximum = 3_153_600_000_i64)]
    older_than_seconds: Option<i64>,
    /// Threads that wait at an interrupt do not expire, and keep what a resume needs. Default true.
    keep_interrupted: Option<bool>,
    /// Only report what would go. Default false.
    dry_run: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RetentionPolicyName)]
pub struct OfThreadBody {
    /// Absent: the tenant's.
    thread_id: Option<Text>,
}

pub struct PutPolicy {
    thread_id: Option<ThreadId>,
    rules: Rules,
}

pub struct OfThread(Option<ThreadId>);

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PoliciesParams {
    /// At most 1,000; default 100.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportsParams {
    /// Only of this thread's policy.
    thread_id: Option<String>,
    /// At most 1,000; default 100.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RetentionPolicyAnswer)]
pub struct GotPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RetentionPolicy)]
pub struct PolicyOut {
    /// Absent: of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_after_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_last: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    older_than_seconds: Option<i64>,
    keep_interrupted: bool,
    dry_run: bool,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    /// When the next round begins.
    #[schema(format = DateTime)]
    due_at: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RetentionPolicies)]
pub struct PoliciesOut {
    policies: Vec<PolicyOut>,
    /// Send it for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RetentionDue)]
pub struct Due {
    policies: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RetentionReports)]
pub struct Reports {
    reports: Vec<ReportOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RetentionReport)]
pub struct ReportOut {
    report_id: String,
    /// Absent: of the tenant's policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<String>,
    #[schema(format = DateTime)]
    started_at: String,
    #[schema(format = DateTime)]
    finished_at: String,
    dry_run: bool,
    /// Looked at: those that changed since the last round, or are old enough.
    threads_examined: i64,
    threads_expired: i64,
    threads_pruned: i64,
    /// Their lease was held; the next round looks again.
    threads_skipped: i64,
    errors: i64,
    /// Kind of the last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// What went, or in a dry run would go.
    removed: RemovedOut,
}

impl From<Policy> for PolicyOut {
    fn from(policy: Policy) -> Self {
        let Rules {
            expire_after_seconds,
            keep_last,
            older_than_seconds,
            keep_interrupted,
            dry_run,
        } = policy.rules;
        Self {
            thread_id: policy.thread_id,
            expire_after_seconds,
            keep_last,
            older_than_seconds,
            keep_interrupted,
            dry_run,
            created_at: rfc3339(policy.created_at),
            updated_at: rfc3339(policy.updated_at),
            due_at: rfc3339(policy.due_at),
        }
    }
}

impl From<Report> for ReportOut {
    fn from(report: Report) -> Self {
        Self {
            report_id: report.report_id,
            thread_id: report.thread_id,
            started_at: rfc3339(report.started_at),
            finished_at: rfc3339(report.finished_at),
            dry_run: report.dry_run,
            threads_examined: report.done.examined,
            threads_expired: report.done.expired,
            threads_pruned: report.done.pruned,
            threads_skipped: report.done.skipped,
            errors: report.done.errors,
            last_error: report.last_error,
            removed: report.done.removed.into(),
        }
    }
}

impl Input for PutPolicy {
    type Wire<'a> = PutPolicyBody;

    fn from_wire(wire: PutPolicyBody, _: &Received) -> Result<Self> {
        let age = |field: &str, value: Option<i64>| value.map(|it| seconds(field, it)).transpose();
        let rules = Rules {
            expire_after_seconds: age("expire_after_seconds", wire.expire_after_seconds)?,
            keep_last: wire.keep_last.map(keep_last).transpose()?,
            older_than_seconds: age("older_than_seconds", wire.older_than_seconds)?,
            keep_interrupted: wire.keep_interrupted.unwrap_or(true),
            dry_run: wire.dry_run.unwrap_or_default(),
        };
        let thread_id = wire.thread_id.map(|it| ThreadId::new(it.0)).transpose()?;
        Ok(Self { thread_id, rules })
    }
}

impl Input for OfThread {
    type Wire<'a> = OfThreadBody;

    fn from_wire(wire: OfThreadBody, _: &Received) -> Result<Self> {
        wire.thread_id.map(|it| ThreadId::new(it.0)).transpose().map(Self)
    }
}

fn policies_query(uri: &Uri) -> Result<PolicyQuery, Problem> {
    let params: PoliciesParams = query_of(uri)?;
    let decode = |text: String| -> Result<PolicyCursor> {
        let thread_id: Option<String> = cursor::decode(POLICIES_CURSOR, &text)?;
        // One that no policy has is no cursor.
        let thread_id = thread_id.map(ThreadId::new).transpose();
        let refuse = |_| Error::invalid("cursor", "this is not a cursor of this listing");
        Ok(PolicyCursor { thread_id: thread_id.map_err(refuse)? })
    };
    Ok(PolicyQuery {
        limit: limit(Some(params.limit.unwrap_or(PAGE_DEFAULT)))?,
        after: params.cursor.map(decode).transpose()?,
    })
}

fn query(uri: &Uri) -> Result<ReportQuery, Problem> {
    let params: ReportsParams = query_of(uri)?;
    let after = cursor::decode_time_and_id(CURSOR, params.cursor.as_deref())?;
    Ok(ReportQuery {
        thread_id: params.thread_id.map(ThreadId::new).transpose()?,
        limit: limit(Some(params.limit.unwrap_or(PAGE_DEFAULT)))?,
        after: after.map(|(finished_at, report_id)| ReportCursor { finished_at, report_id }),
    })
}
