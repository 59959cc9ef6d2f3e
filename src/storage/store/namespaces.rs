//! Encodes namespaces as bytes: each label with a zero byte behind it. The encoding is injective, because no label has a zero byte. It
//! keeps the order of the labels, so that everything below a prefix is one range.

use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::db::access::SqlValue;

pub fn encode(namespace: &Namespace) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in namespace.labels() {
        bytes.extend_from_slice(label.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// # Errors
/// `Integrity` for bytes that [`encode`] did not make.
pub fn decode(bytes: &[u8]) -> Result<Namespace> {
    let damaged = || Error::Integrity("a namespace is damaged".into());
    let inner = match bytes.split_last() {
        None => return Ok(Namespace::default()),
        Some((0, inner)) => inner,
        Some(_) => return Err(damaged()),
    };
    let label = |it: &[u8]| String::from_utf8(it.to_vec()).map_err(|_| damaged());
    inner.split(|it| *it == 0).map(label).collect::<Result<_>>().map(Namespace::stored)
}

/// A namespace as a row of either engine shows it; None where it is damaged.
pub fn of_cell(cell: &SqlValue) -> Option<Namespace> {
    match cell {
        SqlValue::Bytes(bytes) => decode(bytes).ok(),
        SqlValue::Text(json) => serde_json::from_str(json).ok().map(Namespace::stored),
        _ => None,
    }
}

/// The first bytes behind everything below a prefix; None: there is no end.
pub fn end(prefix: &Namespace) -> Option<Vec<u8>> {
    let mut bytes = encode(prefix);
    *bytes.last_mut()? = 1;
    Some(bytes)
}

/// The first bytes that another namespace behind this one can have.
pub fn next(namespace: &Namespace) -> Vec<u8> {
    [encode(namespace), vec![1]].concat()
}

/// The first bytes behind a namespace and behind all that has the same first labels, `depth` of them.
pub fn behind(namespace: &Namespace, depth: usize) -> Vec<u8> {
    let is_cut = namespace.labels().len() >= depth;
    let end = end(&namespace.truncated(depth)).filter(|_| is_cut);
    end.unwrap_or_else(|| next(namespace))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn namespaces() -> impl Strategy<Value = Namespace> {
        prop::collection::vec("[a-b\u{1}-\u{3}:%_*/ ü~\u{10ffff}]{1,3}", 0..4)
            .prop_map(Namespace::stored)
    }

    proptest! {
        #[test]
        fn bytes_lead_back_and_order_like_labels(a in namespaces(), b in namespaces()) {
            prop_assert_eq!(decode(&encode(&a)).unwrap(), a.clone());
            prop_assert_eq!(encode(&a).cmp(&encode(&b)), a.cmp(&b));
        }

        #[test]
        fn a_prefix_is_one_range(prefix in namespaces(), namespace in namespaces()) {
            let bytes = encode(&namespace);
            let inside = bytes >= encode(&prefix) && end(&prefix).is_none_or(|it| bytes < it);
            prop_assert_eq!(inside, namespace.starts_with(&prefix));
        }

        #[test]
        fn the_next_one_is_behind(a in namespaces(), b in namespaces()) {
            prop_assert_eq!(encode(&b) >= next(&a), b > a);
        }
    }

    #[test]
    fn damage_is_found() {
        assert!(decode(b"a").is_err() && decode(b"\xff\0").is_err());
    }
}
