//! Splits a checkpoint of another saver into the parts that threadkeep stores: skeleton, metadata, values of channels, writes. Serialized
//! values are copied as they are.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::msgpack;
use crate::domain::{Error, Result};

/// What the savers of LangGraph call it.
pub(super) const MSGPACK: &str = "msgpack";
pub(super) const JSON: &str = "json";
const NULL: &str = "null";

/// A serialized value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    pub tag: String,
    pub data: Bytes,
}

#[derive(Debug, Default)]
pub struct Step {
    /// None: there are only writes.
    pub checkpoint: Option<Checkpoint>,
    /// In (`task_path`, `task_id`, `idx`) order.
    pub writes: Vec<Write>,
}

#[derive(Debug, Default)]
pub struct Checkpoint {
    pub skeleton: Bytes,
    pub metadata: Bytes,
    pub channels: Vec<Channel>,
}

/// A channel of `channel_versions`.
#[derive(Debug, Clone)]
pub struct Channel {
    pub name: String,
    /// JSON text.
    pub version: String,
    pub value: ChannelValue,
    pub by_version: bool,
}

#[derive(Debug, Clone)]
pub enum ChannelValue {
    Absent,
    /// What the parent shows.
    Carried,
    Value(Coded),
}

#[derive(Debug, Clone)]
pub struct Write {
    pub task_id: String,
    pub task_path: String,
    pub idx: i32,
    pub channel: String,
    pub value: Coded,
}

/// A checkpoint's text without `channel_values`, and these.
#[derive(Debug, Default)]
pub struct Split {
    pub skeleton: Bytes,
    /// Channel and version, as JSON text.
    pub versions: BTreeMap<String, String>,
    pub values: BTreeMap<String, Coded>,
}

impl Split {
    /// Of JSON text, as PostgreSQL keeps it: scalars may be beside the other values, which are in rows of their own.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_json(text: &[u8], coded: fn(&RawValue) -> Result<Coded>) -> Result<Self> {
        let mut fields: BTreeMap<String, Box<RawValue>> = parse("checkpoint", text)?;
        let values = match fields.remove("channel_values") {
            Some(values) if values.get() != "null" => {
                let values: BTreeMap<String, Box<RawValue>> =
                    parse("channel_values", values.get().as_bytes())?;
                values
                    .into_iter()
                    .map(|(name, value)| Ok((name, coded(&value)?)))
                    .collect::<Result<_>>()?
            }
            _ => BTreeMap::new(),
        };
        let versions = versions(fields.get("channel_versions").map(|it| it.get()))?;
        let skeleton = serde_json::to_vec(&fields)
            .map_err(|error| wrong(format!("checkpoint is not JSON: {error}")))?;
        Ok(Self { skeleton: skeleton.into(), versions, values })
    }

    /// Of MessagePack, as SQLite keeps it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_msgpack(data: &[u8]) -> Result<Self> {
        let (mut skeleton, mut values, mut version_text) =
            (String::from("{"), BTreeMap::new(), None);
        for (name, bytes) in msgpack::fields(data)? {
            if name == "channel_values" {
                for (channel, value) in msgpack::fields(bytes)? {
                    values.insert(channel.to_owned(), of_embedded(value)?);
                }
                continue;
            }
            let text = msgpack::json(bytes)?;
            if skeleton.len() > 1 {
                skeleton.push(',');
            }
            skeleton += &msgpack::json_text(name);
            skeleton.push(':');
            skeleton += &text;
            if name == "channel_versions" {
                version_text = Some(text);
            }
        }
        skeleton.push('}');
        let versions = versions(version_text.as_deref())?;
        Ok(Self { skeleton: skeleton.into_bytes().into(), versions, values })
    }

    /// # Errors
    /// A value of a channel without a version: nothing says when it is shown.
    pub fn channels(self) -> Result<(Bytes, Vec<Channel>)> {
        let Self { skeleton, versions, mut values } = self;
        let channel = |(name, version): (String, String)| {
            let value = values.remove(&name).map_or(ChannelValue::Absent, ChannelValue::Value);
            Channel { name, version, value, by_version: false }
        };
        let channels = versions.into_iter().map(channel).collect();
        match values.into_keys().next() {
            Some(name) => Err(wrong(format!("the channel {name:?} has a value and no version"))),
            None => Ok((skeleton, channels)),
        }
    }
}

fn versions(text: Option<&str>) -> Result<BTreeMap<String, String>> {
    let Some(text) = text.filter(|it| *it != "null") else { return Ok(BTreeMap::new()) };
    let all: BTreeMap<String, Box<RawValue>> = parse("channel_versions", text.as_bytes())?;
    Ok(all.into_iter().map(|(name, version)| (name, version.get().to_owned())).collect())
}

/// A value inside of a larger MessagePack, as LangGraph codes it alone.
fn of_embedded(data: &[u8]) -> Result<Coded> {
    if data == [0xc0] {
        return Ok(Coded { tag: NULL.into(), data: Bytes::new() });
    }
    if let Some(bytes) = msgpack::bytes(data)? {
        return Ok(Coded { tag: "bytes".into(), data: Bytes::copy_from_slice(bytes) });
    }
    Ok(Coded { tag: MSGPACK.into(), data: Bytes::copy_from_slice(data) })
}

/// A scalar that stands in a checkpoint's JSON, as LangGraph for Python codes it alone. What it has no form for stays JSON.
///
/// # Errors
/// Text that cannot be decoded.
pub fn of_scalar(value: &RawValue) -> Result<Coded> {
    let text = value.get();
    let unreadable = |error: &dyn std::fmt::Display| wrong(format!("a value is not JSON: {error}"));
    let packed = match text.as_bytes()[0] {
        b'n' => return Ok(Coded { tag: NULL.into(), data: Bytes::new() }),
        b't' | b'f' => rmp_serde::to_vec(&(text == "true")),
        b'"' => {
            let text: String = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
            rmp_serde::to_vec(&text)
        }
        b'{' | b'[' => return Ok(of_json(value)),
        _ if text.contains(['.', 'e', 'E']) => {
            let number: f64 = text.parse().map_err(|error| unreadable(&error))?;
            rmp_serde::to_vec(&number)
        }
        _ => match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(number), _) => rmp_serde::to_vec(&number),
            (_, Ok(number)) => rmp_serde::to_vec(&number),
            // MessagePack ends at 64 bits, JSON does not.
            _ => return Ok(of_json(value)),
        },
    };
    let packed = packed.map_err(|error| unreadable(&error))?;
    Ok(Coded { tag: MSGPACK.into(), data: packed.into() })
}

/// The text as it is.
pub fn of_json(value: &RawValue) -> Coded {
    Coded { tag: JSON.into(), data: Bytes::copy_from_slice(value.get().as_bytes()) }
}

fn parse<T: serde::de::DeserializeOwned>(what: &str, text: &[u8]) -> Result<T> {
    serde_json::from_slice(text)
        .map_err(|error| wrong(format!("{what} is not as expected: {error}")))
}

/// A row that cannot be taken over.
pub fn wrong(detail: impl Into<String>) -> Error {
    Error::invalid("from", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Coded {
        of_scalar(&RawValue::from_string(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn scalars_are_coded_as_langgraph_codes_them_alone() {
        assert_eq!(scalar("null"), Coded { tag: "null".into(), data: Bytes::new() });
        assert_eq!(&scalar("true").data[..], [0xc3]);
        assert_eq!(&scalar("-1").data[..], [0xff]);
        assert_eq!(&scalar("300").data[..], [0xcd, 1, 44]);
        assert_eq!(&scalar("1.0").data[..], [0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&scalar("\"\\u00e9\"").data[..], [0xa2, 0xc3, 0xa9]);
        assert_eq!(scalar("18446744073709551615").tag, MSGPACK);
        let large = scalar("18446744073709551616");
        assert_eq!((large.tag.as_str(), &large.data[..]), (JSON, &b"18446744073709551616"[..]));
    }

    #[test]
    fn a_packed_checkpoint_comes_apart_and_its_values_keep_their_bytes() {
        let mut data = vec![0x83, 0xa1, b'v', 4];
        data.extend(b"\xaechannel_values\x83\xa1a\xc0\xa1b\xc4\x02\x00\xff\xa1c\xd4\x07\xc0");
        data.extend(b"\xb0channel_versions\x83\xa1a\x01\xa1b\xa11\xa1c\x02");
        let split = Split::of_msgpack(&data).unwrap();
        assert_eq!(split.skeleton, r#"{"v":4,"channel_versions":{"a":1,"b":"1","c":2}}"#);
        assert_eq!(split.values["a"].tag, "null");
        assert_eq!(
            (split.values["b"].tag.as_str(), &split.values["b"].data[..]),
            ("bytes", &[0, 0xff][..])
        );
        assert_eq!(&split.values["c"].data[..], b"\xd4\x07\xc0");
        assert_eq!(split.versions["b"], "\"1\"");
        for end in 0..data.len() {
            assert!(Split::of_msgpack(&data[..end]).is_err(), "{end} bytes of it");
        }
    }

    #[test]
    fn a_value_without_a_version_is_refused() {
        let split =
            Split::of_json(br#"{"channel_values":{"a":1},"channel_versions":{}}"#, of_scalar);
        assert!(split.unwrap().channels().is_err());
    }
}
