//! Seals and opens documents that are stored whole in a row: skeleton and metadata of a checkpoint, and the documents of delta bases. A
//! digest precedes each envelope. Each is sealed for the checkpoint that it belongs to.

use bytes::Bytes;

use super::associated_data::CheckpointAt;
use crate::content::cipher::AssociatedData;
use crate::content::keys::TenantSecret;
use crate::domain::limits::LIMITS;
use crate::domain::{Error, Result};

/// In front of the envelope of a pair of documents: a digest, which finds damage and names nothing.
pub const DOCUMENTS_PREFIX_BYTES: usize = 8;
/// In front of the envelope of a base: its size and its digest.
pub const BASE_PREFIX_BYTES: usize = 4 + 16;

/// Skeleton and metadata of a checkpoint in one envelope: together they compress better. 8 bytes digest, then the
/// envelope of 4 bytes length of the first, little endian, the first and the second.
pub fn seal_documents(
    secret: &TenantSecret,
    at: CheckpointAt<'_>,
    first: &[u8],
    second: &[u8],
) -> Bytes {
    let length = u32::try_from(first.len()).expect("documents are checked against their limit");
    let both = [&length.to_le_bytes()[..], first, second].concat();
    let digest = secret.digest(&both);
    let sealed = at.documents(|aad| secret.seal(aad, &both));
    Bytes::from([&digest[..DOCUMENTS_PREFIX_BYTES], &sealed].concat())
}

/// About how many bytes sealed documents open to, which they do not say: JSON text takes a quarter of its bytes and less.
pub fn size_of_documents(sealed: &[u8]) -> usize {
    sealed.len() * 4
}

/// Opens what [`seal_documents`] made.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_documents(
    secret: &TenantSecret,
    at: CheckpointAt<'_>,
    sealed: &[u8],
) -> Result<(Bytes, Bytes)> {
    let damaged = || Error::Integrity("a document is truncated".into());
    let (digest, body) = sealed.split_at_checked(DOCUMENTS_PREFIX_BYTES).ok_or_else(damaged)?;
    let size_max = 4 + usize::try_from(2 * LIMITS.document_bytes_max).unwrap_or(usize::MAX);
    let both = at
        .documents(|aad| secret.open_at_most(aad, body, size_max))
        .map_err(|error| Error::Integrity(error.to_string()))?;
    if secret.digest(&both)[..DOCUMENTS_PREFIX_BYTES] != *digest {
        return Err(Error::Integrity("a document does not match its digest".into()));
    }
    let (length, _) = both.split_first_chunk::<4>().ok_or_else(damaged)?;
    let end = 4 + usize::try_from(u32::from_le_bytes(*length)).map_err(|_| damaged())?;
    if end > both.len() {
        return Err(damaged());
    }
    Ok((both.slice(4..end), both.slice(end..)))
}

/// Envelope of a document whose size is kept inside: 4 bytes little endian, 16 bytes digest, the envelope.
pub fn seal_document(secret: &TenantSecret, aad: AssociatedData<'_>, data: &[u8]) -> Bytes {
    let mut sealed = Vec::with_capacity(data.len() / 2 + 24);
    let size = u32::try_from(data.len()).expect("documents are checked against the value limit");
    sealed.extend_from_slice(&size.to_le_bytes());
    sealed.extend_from_slice(&secret.digest(data));
    sealed.extend_from_slice(&secret.seal(aad, data));
    Bytes::from(sealed)
}

/// The size that a sealed document says it has.
pub fn size_of_document(sealed: &[u8]) -> u32 {
    sealed.first_chunk().map_or(0, |it| u32::from_le_bytes(*it))
}

/// Opens what [`seal_document`] made.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_document(
    secret: &TenantSecret,
    aad: AssociatedData<'_>,
    sealed: &[u8],
) -> Result<Bytes> {
    let damaged = || Error::Integrity("a document is truncated".into());
    let (size, rest) = sealed.split_first_chunk::<4>().ok_or_else(damaged)?;
    let (digest, body) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
    let size = u32::from_le_bytes(*size) as usize;
    let data = secret.open(aad, body, size).map_err(|error| Error::Integrity(error.to_string()))?;
    if secret.digest(&data) == *digest {
        return Ok(data);
    }
    Err(Error::Integrity("a document does not match its digest".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: CheckpointAt<'_> = CheckpointAt { scope_id: 7, ns: "", id: "1" };

    #[test]
    fn documents_open_to_what_was_sealed_and_damage_is_an_error() {
        let secret = TenantSecret::new([3; 32]);
        for (first, second) in [("", ""), ("{}", "{\"step\":1}"), (&"x".repeat(9_000), "y")] {
            let sealed = seal_documents(&secret, AT, first.as_bytes(), second.as_bytes());
            let (a, b) = open_documents(&secret, AT, &sealed).unwrap();
            assert_eq!((&a[..], &b[..]), (first.as_bytes(), second.as_bytes()));
            for cut in 0..sealed.len() {
                assert!(open_documents(&secret, AT, &sealed[..cut]).is_err());
            }
        }
    }
}
