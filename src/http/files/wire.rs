//! Defines the types that all calls about files share: the namespace, the language, and the form in which a file is shown.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::FileProblem;
use crate::domain::files::dialect::Dialect;
use crate::domain::files::listing::Entry;
use crate::domain::files::{FileCall, FileChangeCall};
use crate::domain::limits::LIMITS;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;
use crate::http::request::decode::Received;
use crate::http::request::exact::Text;
use crate::http::request::wide::{WideIn, WideOut};

/// Which of deepagents' languages asks.
#[derive(Deserialize, ToSchema, Clone, Copy, Default)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = FileDialect)]
pub enum DialectIn {
    #[default]
    Python,
    #[serde(rename = "javascript")]
    JavaScript,
}

by_name!(DialectIn);

/// Files of exactly one namespace, as one language sees them.
pub struct Of {
    namespace: Namespace,
    dialect: Dialect,
}

/// Of a request that changes files.
pub struct OfChange {
    of: Of,
    idempotency: Option<(String, [u8; 32])>,
}

impl Of {
    /// # Errors
    /// 422 for labels that no namespace has.
    pub fn new(namespace: Vec<Text>, dialect: Option<DialectIn>) -> Result<Self> {
        let labels = namespace.into_iter().map(|it| it.0).collect();
        Ok(Self { namespace: Namespace::new(labels)?, dialect: dialect.unwrap_or_default().into() })
    }

    pub fn asking<'a>(&'a self, caller: &'a Caller) -> FileCall<'a> {
        FileCall { caller, dialect: self.dialect, namespace: &self.namespace }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

impl OfChange {
    /// # Errors
    /// 422 for labels that no namespace of an item has.
    pub fn new(
        namespace: Vec<Text>,
        dialect: Option<DialectIn>,
        (received, route): (&Received, &str),
    ) -> Result<Self> {
        let labels = namespace.into_iter().map(|it| it.0).collect();
        let namespace = Namespace::of_put(labels)?;
        let of = Of { namespace, dialect: dialect.unwrap_or_default().into() };
        Ok(Self { of, idempotency: received.idempotency(route) })
    }

    pub fn asked<'a>(&'a self, caller: &'a Caller, deadline: Micros) -> FileChangeCall<'a> {
        let (asking, idempotency) = (self.of.asking(caller), self.idempotency.as_ref());
        FileChangeCall { asking, idempotency, deadline }
    }

    pub fn namespace(&self) -> &Namespace {
        &self.of.namespace
    }
}

impl From<DialectIn> for Dialect {
    fn from(dialect: DialectIn) -> Self {
        match dialect {
            DialectIn::Python => Self::Python,
            DialectIn::JavaScript => Self::JavaScript,
        }
    }
}

/// A file or a directory.
#[derive(Serialize, ToSchema)]
#[schema(as = FileEntry)]
pub struct EntryOut {
    /// That of a directory ends with a slash.
    #[schema(value_type = WideIn)]
    path: WideOut,
    is_dir: bool,
    /// As the language counts it: Python the bytes of the text, and of bytes the length of their base64 text; JavaScript the units
    /// of the text, and of bytes their number.
    size: u64,
    /// The text in the value; empty for a directory, and where the value has none.
    #[schema(value_type = WideIn)]
    modified_at: WideOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WideIn>)]
    created_at: Option<WideOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    /// SHA-256 of the bytes of the content, in hexadecimal; the version where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// SHA-256 of the bytes of the content, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl EntryOut {
    pub fn new(entry: Entry, dialect: Dialect) -> Self {
        let path = WideOut::from(&entry.path);
        let Some(row) = entry.file else {
            let (modified_at, created_at) = (WideOut("".into()), None);
            let (media_type, version, etag, sha256) = (None, None, None, None);
            return Self {
                path,
                is_dir: true,
                size: 0,
                modified_at,
                created_at,
                media_type,
                version,
                etag,
                sha256,
            };
        };
        let sha256 = row.head.sha256.map(hex::encode);
        Self {
            path,
            is_dir: false,
            size: row.head.size_in(dialect),
            media_type: Some(row.media_type()),
            modified_at: WideOut(row.head.modified_at.unwrap_or_default()),
            created_at: row.head.created_at.map(WideOut),
            version: Some(row.version),
            etag: Some(sha256.clone().unwrap_or_else(|| row.version.to_string())),
            sha256,
        }
    }
}

/// What stands in the result of one file of several.
pub fn code_of(error: &Error) -> String {
    match error {
        Error::File { problem: FileProblem::NotFound, .. } => "file_not_found".into(),
        Error::File { problem: FileProblem::InvalidPath, .. } => "invalid_path".into(),
        Error::NotGranted(_) => "permission_denied".into(),
        Error::ValueTooLarge => "value_too_large".into(),
        Error::TooLarge { field, .. } if field == "paths" => "too_large_for_batch".into(),
        other => other.to_string(),
    }
}

/// # Errors
/// 422 over the limit.
pub fn limit(limit: Option<u64>) -> Result<usize> {
    let max = LIMITS.files_listed_max;
    let wanted = limit.unwrap_or(max);
    if !(1..=max).contains(&wanted) {
        let detail = format!("limit must be a number from 1 to {max}");
        return Err(Error::out_of_range("limit", detail, max));
    }
    Ok(usize::try_from(wanted).unwrap_or(usize::MAX))
}
