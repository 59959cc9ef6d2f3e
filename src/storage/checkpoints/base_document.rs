//! Seals and opens the stored form of a delta base: the seed and the writes of one channel in one sealed document.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::checkpoints::history::Base;
use crate::domain::names::Tag;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::{open_document, seal_document};

#[derive(Serialize, Deserialize)]
struct Document {
    seed: Option<Part>,
    writes: Vec<(String, Part)>,
}

#[derive(Serialize, Deserialize)]
struct Part {
    tag: String,
    #[serde(with = "serde_bytes")]
    data: Vec<u8>,
}

/// How much work it is to seal a base.
pub fn size_of_base(base: &Base) -> usize {
    let values = base.seed.iter().chain(base.writes.iter().map(|it| &it.1));
    cpu_pool::size_of(base.writes.len() + 1, values.map(|it| it.data.len()).sum())
}

/// Seals everything of a base but its channel, which is a column beside it.
///
/// # Errors
/// `Internal` when the document cannot be written, which only a defect can cause.
pub fn seal_base(secret: &TenantSecret, at: CheckpointAt<'_>, base: &Base) -> Result<Bytes> {
    let part =
        |value: &Value| Part { tag: value.tag.as_str().to_owned(), data: value.data.to_vec() };
    let document = Document {
        seed: base.seed.as_ref().map(part),
        writes: base.writes.iter().map(|(task, value)| (task.clone(), part(value))).collect(),
    };
    let text = rmp_serde::to_vec(&document)
        .map_err(|error| Error::Internal(format!("a delta base cannot be written: {error}")))?;
    Ok(at.base(&base.channel, |aad| seal_document(secret, aad, &text)))
}

/// Opens what [`seal_base`] made.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_base(
    secret: &TenantSecret,
    at: CheckpointAt<'_>,
    channel: String,
    sealed: &[u8],
) -> Result<Base> {
    let text = at.base(&channel, |aad| open_document(secret, aad, sealed))?;
    let damaged = |detail: String| Error::Integrity(format!("a delta base is damaged: {detail}"));
    let document: Document =
        rmp_serde::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    let value = |part: Part| -> Result<Value> {
        let tag = Tag::new(part.tag).map_err(|error| damaged(error.to_string()))?;
        Ok(Value::new(tag, Bytes::from(part.data)))
    };
    Ok(Base {
        channel,
        seed: document.seed.map(value).transpose()?,
        writes: document
            .writes
            .into_iter()
            .map(|(task, part)| Ok((task, value(part)?)))
            .collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_opens_to_what_was_sealed_and_damage_is_an_error() {
        let secret = TenantSecret::new([3; 32]);
        let value = |tag: &str, data: &'static [u8]| {
            Value::new(Tag::new(tag).unwrap(), Bytes::from_static(data))
        };
        let base = Base {
            channel: "messages".into(),
            seed: Some(value("null", b"")),
            writes: vec![
                ("t1".into(), value("msgpack", &[0x90; 300])),
                (String::new(), value("x", b"\0")),
            ],
        };
        let at = CheckpointAt { scope_id: 7, ns: "", id: "1" };
        let sealed = seal_base(&secret, at, &base).unwrap();
        assert_eq!(open_base(&secret, at, "messages".into(), &sealed).unwrap(), base);
        let mut damaged = sealed.to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        let error = open_base(&secret, at, "messages".into(), &damaged).unwrap_err();
        assert!(matches!(error, Error::Integrity(_)), "{error}");
    }
}
