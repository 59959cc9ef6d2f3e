//! Serves `DELETE /v1/subjects`: erases a subject with everything that belongs to it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::domain::names::ThreadId;
use crate::domain::tenants::erasure::Receipt;
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::problem::Problem;
use crate::http::threads::handlers::query_of;

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
    let erasing = tokio::spawn(async move {
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
