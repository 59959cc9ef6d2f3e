//! Maps errors to HTTP, in this place only: `application/problem+json`, typed by `code`.
//! The edge adds the request id and logs each internal error's cause once. The caller never receives the cause.

mod of_error;

use std::borrow::Cow;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// A refusal or failure on its way to the caller.
#[derive(Debug, Clone)]
pub struct Problem {
    pub code: Code,
    pub detail: Cow<'static, str>,
    pub field: Option<String>,
    pub limit: Option<u64>,
    pub current_version: Option<i64>,
    pub retry_after: Option<Duration>,
    /// The answer has its detail as `error` too, for readers that know no more.
    pub shows_error: bool,
    /// For the log only.
    pub cause: Option<Box<str>>,
    /// The cause stands in the way of every write.
    pub is_obstacle: bool,
}

/// Declares the codes with their status and title.
macro_rules! codes {
    ($($name:ident = $status:literal $code:literal $title:literal;)*) => {
        /// What happened, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($name),* }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Status, stable code, title.
            pub const fn parts(self) -> (u16, &'static str, &'static str) {
                match self { $(Self::$name => ($status, $code, $title)),* }
            }
        }
    };
}

codes! {
    MalformedBody = 400 "malformed_body" "The body cannot be read";
    BadRequest = 400 "bad_request" "The request cannot be carried out";
    Unauthorized = 401 "unauthorized" "A valid key is needed";
    KeyExpired = 401 "key_expired" "The key has expired";
    TokenExpired = 401 "token_expired" "The token has expired";
    TokenRevoked = 401 "token_revoked" "The token was revoked";
    NotGranted = 403 "not_granted" "The key does not allow this";
    ForbiddenHost = 403 "forbidden_host" "Not a Host of this server";
    ForbiddenOrigin = 403 "forbidden_origin" "Not from another site";
    ForbiddenForwarding = 403 "forbidden_forwarding" "Not through a proxy";
    NotFound = 404 "not_found" "Not found";
    SnapshotNotFound = 404 "snapshot_not_found" "There is no such snapshot";
    ArchiveNotFound = 404 "archive_not_found" "There is no such archive";
    ThreadNotFound = 404 "thread_not_found" "There is no such thread";
    SessionNotFound = 404 "session_not_found" "There is no such stream";
    DocumentNotFound = 404 "document_not_found" "There is no such document";
    RunNotFound = 404 "run_not_found" "There is no such run";
    AssistantNotFound = 404 "assistant_not_found" "There is no such assistant";
    FileNotFound = 404 "file_not_found" "The file is not there";
    MethodNotAllowed = 405 "method_not_allowed" "The route has other methods";
    NotAcceptable = 406 "not_acceptable" "No answer in an accepted media type";
    ThreadRestored = 409 "thread_restored" "The thread was restored";
    LeaseHeld = 409 "lease_held" "The lease is held by another";
    FenceStale = 409 "fence_stale" "The fence is not the current one";
    ThreadAbsent = 409 "thread_absent" "There is no such thread to copy";
    ThreadExists = 409 "thread_exists" "The thread exists";
    NamespaceExists = 409 "namespace_exists" "The namespace has items";
    SessionExists = 409 "session_exists" "The session exists";
    VersionConflict = 409 "version_conflict" "The version is another one";
    BaseMismatch = 409 "base_mismatch" "The file has another content";
    FileExists = 409 "file_exists" "The file exists";
    ThreadTaken = 409 "thread_taken" "The thread belongs to somebody else";
    SessionTaken = 409 "session_taken" "The session belongs to somebody else";
    HeadMoved = 409 "head_moved" "The stream is not as it was";
    ImportConflict = 409 "import_conflict" "What is here is not as in the file";
    ResendWhole = 409 "resend_whole" "Send the value whole";
    PartsMissing = 409 "parts_missing" "A part of the value is not there";
    PositionGone = 410 "position_gone" "The log of changes does not reach back so far";
    KeyDestroyed = 410 "key_destroyed" "The tenant's key was destroyed";
    TooLarge = 413 "too_large" "Larger than a limit";
    ValueTooLarge = 413 "value_too_large" "The content is too large for a value";
    QuotaExceeded = 413 "quota_exceeded" "A quota of the tenant is used up";
    RangeNotSatisfiable = 416 "range_not_satisfiable" "No byte of the range is there";
    UnsupportedMediaType = 415 "unsupported_media_type" "The media type is not supported";
    Invalid = 422 "invalid" "The request is not valid";
    InvalidPath = 422 "invalid_path" "Not a path of a file";
    OffsetPastEnd = 422 "offset_past_end" "The file has fewer lines";
    NotText = 422 "not_text" "The file is not text";
    OldStringEmpty = 422 "old_string_empty" "Nothing is to be replaced";
    StringNotFound = 422 "string_not_found" "The file does not have the text";
    StringNotUnique = 422 "string_not_unique" "The file has the text several times";
    InvalidGlob = 422 "invalid_glob" "Not a glob pattern";
    NotAFile = 422 "not_a_file" "The item is not a file";
    ExportDamaged = 422 "export_damaged" "The export is damaged";
    ExportTruncated = 422 "export_truncated" "The export was cut off";
    ExportVersion = 422 "export_version_unsupported" "The export has a later format";
    ExportSignature = 422 "export_signature_wrong" "The export is not signed with this key";
    NeedsGraph = 422 "needs_graph" "Only the process that has the graph can do this";
    SearchTooWide = 422 "search_too_wide" "The search would open too many threads";
    SearchNeedsPlaintext = 422 "search_needs_plaintext" "Values are encrypted: this cannot be searched";
    IdempotencyMismatch = 422 "idempotency_mismatch" "The key of the request was used before";
    HeadTooLarge = 431 "head_too_large" "The address or the headers are too large";
    TooManyRequests = 429 "too_many_requests" "Too many requests";
    Internal = 500 "internal" "A defect in the server";
    Unavailable = 503 "unavailable" "Not available now";
    ThreadsIndexing = 503 "threads_indexing" "The states or the UUID aliases of threads are still being derived";
    DeadlineExceeded = 503 "deadline_exceeded" "The time budget ran out";
    Overloaded = 503 "overloaded" "Too much at once";
    CommitUnknown = 503 "commit_unknown" "It is not known whether the write happened";
}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody<'a> {
    /// URN of the code.
    pub r#type: String,
    pub title: &'a str,
    pub status: u16,
    /// For people.
    pub detail: &'a str,
    /// For programs; stable.
    pub code: &'a str,
    /// Finds the request in the server's log.
    pub request_id: &'a str,
    /// The limit that was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The input that is at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'a str>,
    /// Of `version_conflict`: the version that the item has; 0 when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<i64>,
    /// Of `head_moved`: the number of the stream's last entry; 0 when it was never written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_head: Option<i64>,
    /// The detail again; only where Agentrail's Inspector asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        let retry_after = (code.parts().0 == 503).then_some(Duration::from_secs(1));
        Self {
            code,
            detail,
            field: None,
            limit: None,
            current_version: None,
            shows_error: false,
            retry_after,
            cause: None,
            is_obstacle: false,
        }
    }

    /// A defect; the caller sees none of its cause.
    pub fn internal(cause: impl Into<String>) -> Self {
        let detail = "the server made an error; its log has more under the request id";
        Self { cause: Some(cause.into().into()), ..Self::new(Code::Internal, detail) }
    }

    #[must_use]
    pub fn with_error(self) -> Self {
        Self { shows_error: true, ..self }
    }

    #[must_use]
    pub fn at(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    #[must_use]
    pub fn limited(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.parts().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The complete answer. Called by the edge, which knows the request's id.
    pub fn render(&self, request_id: &str) -> Response {
        let json = self.json(request_id);
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status(), [(header::CONTENT_TYPE, kind)], json).into_response();
        if let Some(seconds) = self.retry_after_seconds() {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }

    /// Whole seconds, rounded up.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "waits are short")]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(|it| it.as_secs_f64().ceil().max(1.0) as u64)
    }

    /// The body.
    pub fn json(&self, request_id: &str) -> Vec<u8> {
        let (status, code, title) = self.code.parts();
        let is_head = self.code == Code::HeadMoved;
        let body = ProblemBody {
            r#type: format!("urn:threadkeep:problem:{code}"),
            title,
            status,
            detail: &self.detail,
            code,
            request_id,
            limit: self.limit,
            field: self.field.as_deref(),
            current_version: self.current_version.filter(|_| !is_head),
            current_head: self.current_version.filter(|_| is_head),
            error: self.shows_error.then_some(&*self.detail),
        };
        serde_json::to_vec(&body).expect("texts and numbers always serialize")
    }
}

/// Hands the problem to the edge, which renders it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
