//! Makes pages of the versions of an item from the rows that an engine read.

use super::StoredItem;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::store::history_storage::{ItemVersion, ListVersions, VersionPage};
use crate::storage::content::opening::Chunks;

/// `found` are rows in order, one more than the page has where there are more, and whether each is the item's present one. A row
/// whose value was wanted and not read ends the page: the answer has its bytes.
///
/// # Errors
/// `Integrity` for a value that is damaged.
pub fn page(
    query: &ListVersions,
    found: &[(StoredItem, bool)],
    secret: &TenantSecret,
    chunks: &Chunks,
) -> Result<Option<VersionPage>> {
    if found.is_empty() && query.before.is_none() {
        return Ok(None);
    }
    let mut page = VersionPage::default();
    for (stored, is_current) in found {
        if page.versions.len() == query.limit || query.values && stored.body.is_none() {
            page.next = page.versions.last().map(|it| it.version);
            break;
        }
        // A content that is kept elsewhere is not in the value.
        let shows = query.values && stored.item.content_id.is_none();
        let value = if shows { Some(stored.open(secret, chunks)?) } else { None };
        page.versions.push(ItemVersion {
            version: stored.item.version,
            updated_at: stored.item.updated_at,
            ttl_micros: stored.item.ttl_micros,
            size_bytes: stored.item.size_bytes,
            is_current: *is_current,
            value,
        });
    }
    Ok(Some(page))
}
