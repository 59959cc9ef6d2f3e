//! Seals and opens what is kept of threads beside their checkpoints, and makes the columns that searches look at.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::content::cipher::AssociatedData;
use crate::content::keys::TenantSecret;
use crate::domain::json::exact_json;
use crate::domain::threads::details::Details;
use crate::domain::threads::details_filter::folded;
use crate::domain::threads::ttl::TtlOf;
use crate::domain::{Error, Result};
use crate::storage::content::documents::{open_document, seal_document};
use crate::storage::db::sql_row::SqlValue;
use crate::storage::sessions::rows::Rows;
use crate::storage::store::projection::{beside, project};

/// What the sealed column holds.
#[derive(Serialize, Deserialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first_message: Option<String>,
    #[serde(borrow, skip_serializing_if = "Option::is_none", default)]
    from_checkpoints: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    ttl: Option<TtlOf>,
    #[serde(borrow, skip_serializing_if = "Option::is_none", default)]
    short_values: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: &'a RawValue,
}

/// The columns behind the key of a row.
pub struct DetailsRow {
    version: i64,
    document: Vec<u8>,
    projection: String,
    has_marks: bool,
    title_folded: String,
    has_ttl: bool,
}

impl DetailsRow {
    /// Where content is encrypted, only the document says anything.
    ///
    /// # Errors
    /// `Integrity` for metadata that is no JSON.
    pub fn new(
        tenant: &str,
        secret: &TenantSecret,
        scope_id: i64,
        details: &Details,
    ) -> Result<Self> {
        let document = seal(secret, scope_id, details)?;
        let mut row = Self {
            version: details.version,
            document,
            projection: String::new(),
            has_marks: false,
            title_folded: String::new(),
            has_ttl: details.ttl.is_some(),
        };
        if secret.cipher().is_none() {
            let parsed = exact_json::parse("metadata", details.all_metadata()?.as_bytes())?;
            (row.projection, row.has_marks) = project(tenant, &parsed);
            if let Some(values) = &details.short_values {
                let parsed = exact_json::parse("values", values.as_bytes())?;
                let (projection, has_marks) = project(&values_of(tenant), &parsed);
                row.projection = beside(&row.projection, &projection);
                row.has_marks |= has_marks;
            }
            row.title_folded = details.shown_title().map(|it| folded(&it.0)).unwrap_or_default();
        }
        Ok(row)
    }

    /// Whether these are the columns beside the document: the projection, whether it has marks, the folded title, whether it is looked at for
    /// its ttl.
    pub fn is_shown_as(
        &self,
        (projection, has_marks, title, has_ttl): (Option<&str>, bool, Option<&str>, bool),
        has_projection: bool,
    ) -> bool {
        // A database writes JSON in its own form.
        let parsed = |text: &str| exact_json::parse("projection", text.as_bytes());
        let is_projected = match projection {
            Some(text) => matches!(
                (parsed(text), parsed(&self.projection)),
                (Ok(shown), Ok(expected)) if exact_json::equal(&shown, &expected)
            ),
            None => !has_projection || self.projection.is_empty(),
        };
        is_projected
            && has_marks == self.has_marks
            && title.unwrap_or_default() == self.title_folded
            && has_ttl == self.has_ttl
    }

    /// The row of a thread with this key, for [`put_derived_details`](super::derived_details::put_derived_details).
    pub fn push(self, thread_key: i64, rows: &mut Rows) {
        let (start, length) = rows.bytes(&self.document);
        let Self { version, projection, has_marks, title_folded, .. } = self;
        let has_marks = i64::from(has_marks);
        rows.push(json!([thread_key, version, start, length, projection, has_marks, title_folded]));
    }

    /// Binds $3 to $8 of [`PUT`].
    pub fn cells(self) -> [SqlValue; 6] {
        [
            self.version.into(),
            SqlValue::Bytes(self.document),
            SqlValue::Text(self.projection),
            self.has_marks.into(),
            SqlValue::Text(self.title_folded),
            self.has_ttl.into(),
        ]
    }
}

/// The name beside the tenant's under which a projection has short values. No tenant has a point in its name.
pub fn values_of(tenant: &str) -> String {
    format!("{tenant}.values")
}

/// Binds the details to the scope. Copies of one owner share it, and what they copied.
pub fn details_at<R>(scope_id: i64, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
    act(AssociatedData { scope_id, noun: "thread details", row: &[] })
}

fn seal(secret: &TenantSecret, scope_id: i64, details: &Details) -> Result<Vec<u8>> {
    let metadata = raw(&details.metadata)?;
    let from_checkpoints = details.from_checkpoints.as_deref().map(raw).transpose()?;
    let (title, first_message) = (details.title.clone(), details.first_message.clone());
    let short_values = details.short_values.as_deref().map(raw).transpose()?;
    let ttl = details.ttl.clone();
    let document = Document { title, first_message, from_checkpoints, ttl, short_values, metadata };
    let json = serde_json::to_vec(&document).map_err(|_| damaged())?;
    Ok(details_at(scope_id, |aad| seal_document(secret, aad, &json)).to_vec())
}

fn raw(text: &str) -> Result<&RawValue> {
    serde_json::from_str(text).map_err(|_| damaged())
}

/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open(
    secret: &TenantSecret,
    scope_id: i64,
    version: i64,
    document: &[u8],
) -> Result<Details> {
    let json = details_at(scope_id, |aad| open_document(secret, aad, document))?;
    let document: Document<'_> = serde_json::from_slice(&json).map_err(|_| damaged())?;
    let Document { title, first_message, from_checkpoints, ttl, short_values, metadata } = document;
    let [from_checkpoints, short_values] =
        [from_checkpoints, short_values].map(|it| it.map(|it| it.get().to_owned()));
    let metadata = metadata.get().to_owned();
    Ok(Details { version, title, metadata, ttl, first_message, from_checkpoints, short_values })
}

fn damaged() -> Error {
    Error::Integrity("the title and metadata of a thread are damaged".into())
}
