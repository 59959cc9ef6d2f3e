//! Seals and opens the client's own record in a snapshot. It is sealed for the snapshot, in a scope of its own that has no content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::content::cipher::AssociatedData;
use crate::content::keys::TenantSecret;
use crate::domain::{Error, Result};
use crate::storage::content::documents::{open_document, seal_document};

pub(super) fn aad<R>(number: i64, id: &str, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
    act(AssociatedData { scope_id: number, noun: "snapshot", row: &[id.as_bytes()] })
}

fn labels_home<R>(number: i64, id: &str, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
    act(AssociatedData { scope_id: number, noun: "snapshot labels", row: &[id.as_bytes()] })
}

/// What the column of the labels holds: a JSON object, or, where content is encrypted, what seals it as base64.
pub fn seal_labels(secret: &TenantSecret, (number, id): (i64, &str), json: String) -> String {
    if secret.cipher().is_none() {
        return json;
    }
    labels_home(number, id, |aad| STANDARD.encode(secret.seal_brief(aad, json.as_bytes())))
}

/// The JSON object.
///
/// # Errors
/// `Integrity` when the stored text is damaged, another snapshot's, or plain where content is encrypted.
pub fn open_labels(secret: &TenantSecret, (number, id): (i64, &str), text: &str) -> Result<String> {
    if secret.cipher().is_none() {
        return Ok(text.to_owned());
    }
    let damaged = || Error::Integrity("the labels of a snapshot are damaged".into());
    let sealed = STANDARD.decode(text).map_err(|_| damaged())?;
    let json = labels_home(number, id, |aad| secret.open_at_most(aad, &sealed, sealed.len()));
    json.ok().and_then(|it| String::from_utf8(it.to_vec()).ok()).ok_or_else(damaged)
}

/// Whether labels stand there as they are.
pub fn are_plain(text: &str) -> bool {
    text.starts_with('{')
}

/// Empty for none.
pub fn seal(secret: &TenantSecret, (number, id): (i64, &str), document: Option<&Bytes>) -> Vec<u8> {
    document.map_or_else(Vec::new, |document| {
        aad(number, id, |aad| seal_document(secret, aad, document)).to_vec()
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
    aad(number, id, |aad| open_document(secret, aad, sealed)).map(Some)
}
