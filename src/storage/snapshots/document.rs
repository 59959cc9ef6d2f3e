//! The client's own record in a snapshot: sealed for the snapshot, in a scope of its own that has no content.

use bytes::Bytes;

use crate::content::cipher::Home;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::storage::documents::{open_document, seal_document};

pub(super) fn home<R>(number: i64, id: &str, act: impl FnOnce(Home<'_>) -> R) -> R {
    act(Home { scope_id: number, noun: "snapshot", row: &[id.as_bytes()] })
}

/// Empty for none.
pub fn seal(secret: &TenantSecret, (number, id): (i64, &str), document: Option<&Bytes>) -> Vec<u8> {
    document.map_or_else(Vec::new, |document| {
        home(number, id, |home| seal_document(secret, home, document)).to_vec()
    })
}

/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open(
    secret: &TenantSecret,
    (number, id): (i64, &str),
    sealed: &[u8],
) -> Result<Option<Bytes>> {
    if sealed.is_empty() {
        return Ok(None);
    }
    home(number, id, |home| open_document(secret, home, sealed)).map(Some)
}
