//! Checks that any envelope opens to an error or to no more bytes than were allowed, and that opened bytes can be sealed again.
//!
//! Input: 4 bytes limit, little endian, then the envelope.

use threadkeep::content::cipher::Cipher;
use threadkeep::content::envelope::{EnvelopeError, open, open_at_most, seal};
use threadkeep::content::keys::TenantSecret;
use threadkeep::storage::checkpoints::base_document::open_base;
use threadkeep::storage::content::associated_data::CheckpointAt;
use threadkeep::storage::content::documents::open_documents;

/// A limit that inputs may ask for; a broken check would show as an allocation far beyond it.
const SIZE_BYTES_MAX: usize = 1 << 20;

pub fn check(data: &[u8]) {
    let Some((limit, envelope)) = data.split_first_chunk::<4>() else { return };
    let limit = u32::from_le_bytes(*limit) as usize % (SIZE_BYTES_MAX + 1);
    match open_at_most(envelope, limit) {
        Ok(opened) => {
            assert!(opened.len() <= limit);
            assert_eq!(open(envelope, opened.len()).as_ref(), Ok(&opened));
            assert!(open(envelope, opened.len() + 1).is_err());
            let sealed = seal(&opened);
            assert_eq!(open_at_most(&sealed, opened.len()), Ok(opened));
        }
        Err(EnvelopeError::TooLarge(told)) => assert_eq!(told, limit),
        Err(_) => assert!(open(envelope, limit).is_err()),
    }
    let at = CheckpointAt { scope_id: 7, ns: "", id: "1" };
    let encrypting = TenantSecret::encrypting([7; 32], Cipher::new("t", 1, &[8; 32]));
    for secret in [TenantSecret::new([7; 32]), encrypting] {
        let _ = open_documents(&secret, at, envelope);
        let _ = open_base(&secret, at, "messages".into(), envelope);
        let opened = at.documents(|aad| secret.open_at_most(aad, envelope, limit));
        assert!(secret.cipher().is_none() || opened.is_err(), "nobody sealed this");
    }
}
