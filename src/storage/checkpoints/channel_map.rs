//! Packs and unpacks the map of a checkpoint. It has the version and the scope's value of each channel of the skeleton, in channel order.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::domain::{Error, Result};

/// One channel of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub channel_key: i64,
    pub version_key: i64,
    /// Number of the value's manifest in the scope; 0 for "no value".
    pub value_no: u32,
}

const ENTRY_BYTES: usize = 20;

/// The packed form: 20 bytes per entry, little endian.
pub fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(entries.len() * ENTRY_BYTES);
    for entry in entries {
        packed.extend_from_slice(&entry.channel_key.to_le_bytes());
        packed.extend_from_slice(&entry.version_key.to_le_bytes());
        packed.extend_from_slice(&entry.value_no.to_le_bytes());
    }
    packed
}

/// # Errors
/// `Integrity` when the bytes are no whole number of entries.
pub fn unpack(packed: &[u8]) -> Result<Vec<Entry>> {
    let (entries, rest) = packed.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() {
        return Err(Error::Integrity("a channel map is truncated".into()));
    }
    let long = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("8 of 20 bytes"));
    let entries = entries.iter().map(|it| Entry {
        channel_key: long(&it[..8]),
        version_key: long(&it[8..16]),
        value_no: u32::from_le_bytes(it[16..].try_into().expect("the last 4 of 20 bytes")),
    });
    Ok(entries.collect())
}

/// The value of a channel: None when the channel is not in the map, 0 when it has no value.
pub fn value_no(map: &[Entry], channel_key: i64) -> Option<u32> {
    map.iter().find(|it| it.channel_key == channel_key).map(|it| it.value_no)
}

/// Names of the channels of a map, in its order, from the skeleton it was made of.
///
/// # Errors
/// `Integrity` when skeleton and map do not belong together.
pub fn channel_names(skeleton: &[u8], map_length: usize) -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Known<'a> {
        #[serde(borrow, default)]
        channel_versions: Option<BTreeMap<String, &'a RawValue>>,
    }
    let damaged = |detail: String| Error::Integrity(format!("a stored skeleton: {detail}"));
    let known: Known<'_> =
        serde_json::from_slice(skeleton).map_err(|error| damaged(error.to_string()))?;
    let names: Vec<String> = known.channel_versions.unwrap_or_default().into_keys().collect();
    if names.len() == map_length {
        return Ok(names);
    }
    Err(damaged(format!("{} channels, but {map_length} in the map", names.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_unpacks_to_what_was_packed() {
        let entries = [
            Entry { channel_key: i64::MIN, version_key: -1, value_no: 0 },
            Entry { channel_key: i64::MAX, version_key: 7, value_no: u32::MAX },
        ];
        assert_eq!(unpack(&pack(&entries)).unwrap(), entries);
        assert!(matches!(unpack(&pack(&entries)[1..]), Err(Error::Integrity(_))));
        assert_eq!(value_no(&entries, i64::MIN), Some(0));
        assert_eq!(value_no(&entries, 5), None);
    }

    #[test]
    fn names_come_in_the_order_of_the_map_and_lone_surrogates_elsewhere_do_no_harm() {
        let skeleton = br#"{"channel_versions":{"b":"\ud800","a":1},"x":"\ud800"}"#;
        assert_eq!(channel_names(skeleton, 2).unwrap(), ["a", "b"]);
        assert!(channel_names(b"{}", 1).is_err());
        assert!(channel_names(b"{\"channel_versions\":null}", 0).unwrap().is_empty());
    }
}
