//! Checks that every value is the sum of its pieces, keeps its chunks when it grows, and comes back from its sealed form.
//!
//! Input: 2 bytes that say where the value ended before it grew, then the value.

use bytes::Bytes;
use threadkeep::content::chunking::{
    CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, HEAD_BYTES, WHOLE_BYTES_MAX, split,
};
use threadkeep::content::cipher::Cipher;
use threadkeep::content::keys::TenantSecret;
use threadkeep::domain::checkpoints::checkpoint::Value;
use threadkeep::domain::names::Tag;
use threadkeep::storage::content::associated_data::ValueRow;
use threadkeep::storage::content::opening::{Chunks, StoredValue, open_value};
use threadkeep::storage::content::sealing::Sealer;

pub fn check(data: &[u8]) {
    let Some((grown_from, value)) = data.split_first_chunk::<2>() else { return };
    let grown_from = usize::from(u16::from_le_bytes(*grown_from)) % (value.len() + 1);
    check_pieces(value);
    check_growth(&value[..grown_from], value);
    check_sealed(value);
}

fn check_pieces(value: &[u8]) {
    let Some(pieces) = split(value) else {
        assert!(value.len() <= WHOLE_BYTES_MAX);
        return;
    };
    let joined = [&[pieces.head][..], &pieces.chunks, &[pieces.foot]].concat().concat();
    assert!(joined == value, "the pieces are not the value");
    assert_eq!(pieces.head.len(), HEAD_BYTES);
    assert!(pieces.chunks.iter().all(|it| (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&it.len())));
    assert!(pieces.foot.len() <= CHUNK_BYTES_MAX);
}

fn check_growth(before: &[u8], after: &[u8]) {
    if let (Some(before), Some(after)) = (split(before), split(after)) {
        assert!(after.chunks.starts_with(&before.chunks), "a value that grew lost chunks");
    }
}

fn check_sealed(data: &[u8]) {
    let encrypting = TenantSecret::encrypting([7; 32], Cipher::new("t", 1, &[8; 32]));
    for secret in [TenantSecret::new([7; 32]), encrypting] {
        check_sealed_with(&secret, data);
    }
}

fn check_sealed_with(secret: &TenantSecret, data: &[u8]) {
    let (scope_id, row) = (9, ValueRow::Version(11));
    let mut sealer = Sealer::new(secret, scope_id, None);
    let tag = Tag::new("msgpack").expect("a legal tag");
    let value = Value::new(tag, Bytes::copy_from_slice(data));
    let sealed = sealer.value("data", row, &value).expect("within the limit");
    let (made, _) = sealer.finish();
    let mut chunks = Chunks::default();
    for chunk in &made {
        chunks.add(secret, &chunk.name, &chunk.body).expect("a chunk that was just sealed");
    }
    let stored = StoredValue {
        scope_id,
        row,
        tag: &sealed.tag,
        size_bytes: sealed.size_bytes,
        digest: &sealed.digest,
        body: &sealed.body,
        parts: sealed.parts.as_deref(),
    };
    assert!(open_value(secret, &stored, &chunks).expect("a sealed value opens") == value);
}
