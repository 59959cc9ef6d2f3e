//! Makes UUIDs of names: the same name in the same namespace has the same UUID everywhere.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use uuid::Uuid;

/// The UUID of a name in a namespace, of version 5.
pub fn named_uuid(namespace: Uuid, name: &str) -> String {
    let bytes = [namespace.as_bytes(), name.as_bytes()].concat();
    uuid::Builder::from_sha1_bytes(sha1(&bytes).to_be_bytes()).into_uuid().to_string()
}

/// The first 16 bytes.
pub fn sha1(bytes: &[u8]) -> u128 {
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    let first = digest.as_ref().first_chunk::<16>().copied();
    u128::from_be_bytes(first.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_uuid_of_the_standard() {
        // The example of RFC 9562, in the namespace of DNS.
        let dns = Uuid::from_u128(0x6ba7_b810_9dad_11d1_80b4_00c0_4fd4_30c8);
        assert_eq!(named_uuid(dns, "www.example.com"), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    }
}
