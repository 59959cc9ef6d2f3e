//! Serves `POST /v1/files/glob` and `…/grep`.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire::{DialectIn, EntryOut, Of, limit};
use crate::app::App;
use crate::domain::Result;
use crate::domain::files::listing::{Entry, GlobFiles};
use crate::domain::files::searching::{GrepFiles, GrepMatch};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::wide::{WideIn, WideOut};

/// A search looks at so many files, lines and bytes (`files_searched_max`, …) and no more.
const BUDGET: &str = "budget";

/// Find files by a pattern
///
/// Files whose paths match, last changed first. Python: as wcmatch with BRACE and GLOBSTAR, a pattern without slashes is held
/// against names at any depth, dotfiles are left out. JavaScript: as micromatch with dotfiles.
#[utoipa::path(
    post, path = "/v1/files/glob", operation_id = "glob_files", tag = "files",
    request_body(content = GlobBody, example = json!({"namespace": ["ann", "filesystem"], "pattern": "**/*.md", "path": "/notes"})),
    responses(
        (status = 200, description = "What matches", body = GlobOut, example = json!({"matches": [], "truncated": false})),
        (status = 422, description = "`invalid_glob`, `invalid`"),
    ),
)]
pub async fn glob(State(app): State<Arc<App>>, call: Call<Glob>) -> Answer {
    let Call { caller, input: Glob { of, query }, reply, .. } = call;
    let found = app.files.glob(of.asking(&caller), &query).await?;
    let entries = found.files.into_iter().map(|it| EntryOut::new(Entry::file(it), of.dialect()));
    reply
        .with(&GlobOut {
            matches: entries.collect(),
            truncated: found.is_truncated,
            truncation_reason: found.is_truncated.then_some(BUDGET),
        })
        .await
}

/// Search files for a text
///
/// Lines that hold a text, literally, by path and line. Files of bytes are passed over. `max_count` cuts, and so do the server's limits;
/// `truncated` says that there is more.
#[utoipa::path(
    post, path = "/v1/files/grep", operation_id = "grep_files", tag = "files",
    request_body(content = GrepBody, example = json!({"namespace": ["ann", "filesystem"], "pattern": "FIND", "glob": "*.md",
        "max_count": 100})),
    responses(
        (status = 200, description = "Lines", body = GrepOut, example = json!({"matches": [{"path": "/plan.md", "line": 3,
            "text": "FIND: tea"}], "truncated": false})),
        (status = 422, description = "`invalid_glob`, `invalid`"),
    ),
)]
pub async fn grep(State(app): State<Arc<App>>, call: Call<Grep>) -> Answer {
    let Call { caller, input: Grep { of, query }, reply, .. } = call;
    let found = app.files.grep(of.asking(&caller), &query).await?;
    reply
        .with(&GrepOut {
            matches: found.matches.into_iter().map(LineOut::from).collect(),
            truncated: found.is_truncated,
            truncation_reason: found.is_over_budget.then_some(BUDGET),
        })
        .await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GlobFiles)]
pub struct GlobBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    pattern: Text,
    /// Where the search begins; a file's path is that file. Default everything.
    #[serde(borrow)]
    path: Option<WideIn<'a>>,
    /// Default and at most 10,000.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    limit: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GrepFiles)]
pub struct GrepBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    /// Taken literally.
    #[serde(borrow)]
    pattern: WideIn<'a>,
    /// Where the search begins; a file's path is that file. Default everything.
    #[serde(borrow)]
    path: Option<WideIn<'a>>,
    /// Only files that match. JavaScript: their names.
    glob: Option<Text>,
    /// Lines over all files.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    max_count: Option<u64>,
}

pub struct Glob {
    of: Of,
    query: GlobFiles,
}

pub struct Grep {
    of: Of,
    query: GrepFiles,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GlobResult)]
pub struct GlobOut {
    matches: Vec<EntryOut>,
    truncated: bool,
    /// `budget`: a limit of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncation_reason: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GrepResult)]
pub struct GrepOut {
    matches: Vec<LineOut>,
    truncated: bool,
    /// `budget`: a limit of the server; absent where `max_count` cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncation_reason: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GrepLine)]
pub struct LineOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    /// From 1.
    line: u64,
    #[schema(value_type = WideIn)]
    text: WideOut,
}

impl From<GrepMatch> for LineOut {
    fn from(found: GrepMatch) -> Self {
        Self { path: (&found.path).into(), line: found.line, text: WideOut(found.text) }
    }
}

impl Input for Glob {
    type Wire<'a> = GlobBody<'a>;

    fn from_wire(wire: GlobBody<'_>, _: &Received) -> Result<Self> {
        Ok(Self {
            of: Of::new(wire.namespace, wire.dialect)?,
            query: GlobFiles {
                pattern: wire.pattern.0,
                path: wire.path.map(|it| it.path("path")).transpose()?,
                limit: limit(wire.limit)?,
            },
        })
    }
}

impl Input for Grep {
    type Wire<'a> = GrepBody<'a>;

    fn from_wire(wire: GrepBody<'_>, _: &Received) -> Result<Self> {
        let count = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        Ok(Self {
            of: Of::new(wire.namespace, wire.dialect)?,
            query: GrepFiles {
                pattern: wire.pattern.text("pattern")?,
                path: wire.path.map(|it| it.path("path")).transpose()?,
                glob: wire.glob.map(|it| it.0),
                count_max: wire.max_count.map(count),
            },
        })
    }
}
