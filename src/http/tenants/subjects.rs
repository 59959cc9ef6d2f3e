//! Serves `GET` and `DELETE /v1/subjects`: lists the subjects, and erases one with everything that belongs to it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::domain::names::ThreadId;
use crate::domain::pages::COUNTED_ROWS_MAX;
use crate::domain::scheduling::asker;
use crate::domain::tenants::erasure::Receipt;
use crate::domain::tenants::subjects::{Subject, SubjectQuery};
use crate::domain::time::rfc3339;
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::cursor::{self, limit};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;

const CURSOR: &str = "subjects";

/// List the subjects
///
/// The owners of keys, threads, sessions and snapshots, in the order of their bytes. Counts end at 10,000 each. A subject that has only
/// items of the store is not in the list.
#[utoipa::path(
    get, path = "/v1/subjects", operation_id = "list_subjects", tag = "subjects",
    params(SubjectsParams),
    responses((status = 200, description = "A page", body = SubjectsOut, example = json!({"subjects": [
        {"subject": "ann", "keys": 1, "threads": 12, "sessions": 2, "snapshots": 0, "items": 40, "size_bytes": 91_482, "partial": false,
            "updated_at": "2026-01-31T12:00:00.000000Z"}
    ]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let SubjectsParams { limit: asked, cursor: after } = query_of(&uri)?;
    let after = after.map(|it| cursor::decode(CURSOR, &it)).transpose()?;
    let limit = asked.map_or(Ok(COUNTED_ROWS_MAX), |it| limit(Some(it)))?;
    let page = app.subjects.list(&call.caller, SubjectQuery { limit, after }).await?;
    let subjects = page.subjects.into_iter().map(SubjectOut::from).collect();
    let next_cursor = page.next.map(|it| cursor::encode(CURSOR, &it));
    call.reply.with(&SubjectsOut { subjects, next_cursor }).await
}

/// Erase a subject
///
/// Removes the subject's keys, its threads with everything in them, and what names them, and answers what went. Goes on when
/// the caller leaves; after a failure the same call removes the rest. A second call answers zeros. Tokens of the
/// subject are not ended: revoke them first, or a writer makes new threads. Threads that a key of the whole tenant
/// made belong to no subject and stay, and so do copies that others made.
#[utoipa::path(
    delete, path = "/v1/subjects", operation_id = "delete_subject", tag = "subjects",
    params(SubjectParams),
    responses((status = 200, description = "Erased", body = Receipt)),
)]
pub async fn delete(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let SubjectParams { subject } = query_of(&uri)?;
    let BodylessCall { caller, reply } = call;
    let (erasures, values) = (app.erasures.clone(), app.values.clone());
    drop(app);
    let erasing = asker::spawn(async move {
        let forget = |thread_id: &str| {
            if let Ok(thread_id) = ThreadId::new(thread_id) {
                values.of(&caller, &thread_id).forget();
            }
        };
        erasures.erase(&caller, &subject, forget).await
    });
    let receipt = erasing.await.map_err(|error| Problem::internal(error.to_string()))??;
    reply.with(&receipt).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SubjectParams {
    /// As in the keys and tokens that made its threads.
    subject: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SubjectsParams {
    /// At most 100, which is the default.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Subject)]
pub struct SubjectOut {
    subject: String,
    /// That are not revoked.
    keys: u64,
    threads: u64,
    sessions: u64,
    /// That it took.
    snapshots: u64,
    /// Of the store, below the subject's label.
    items: u64,
    /// Of threads, sessions and items, before compression and sharing.
    size_bytes: u64,
    /// Whether a count ended at 10,000; sizes and times are of what was counted.
    partial: bool,
    /// The newest change of a thread, session or item; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    updated_at: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Subjects)]
pub struct SubjectsOut {
    subjects: Vec<SubjectOut>,
    /// Send it for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl From<Subject> for SubjectOut {
    fn from(it: Subject) -> Self {
        Self {
            partial: it.is_partial(),
            subject: it.subject,
            keys: it.keys,
            threads: it.threads,
            sessions: it.sessions,
            snapshots: it.snapshots,
            items: it.items,
            size_bytes: it.size_bytes,
            updated_at: it.updated_at.map(rfc3339),
        }
    }
}
