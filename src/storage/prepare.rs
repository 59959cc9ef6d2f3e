//! Turns a caller's commit into what the queue takes: values sealed, names hashed. The same for every engine.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::content::envelope;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoint::{CheckpointPut, Commit, EMPTY, NewValue, Op, Value, WriteGroup};
use crate::domain::clock::Micros;
use crate::domain::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::names::{Channel, Tag};
use crate::domain::prepared::{
    Condition, Prepared, PreparedCheckpoint, PreparedOp, PreparedWrites, Sealed, Slot, SlotSource,
    ThreadLabels,
};
use crate::domain::{Error, Result};

/// Stored values up to this many envelope bytes stay in their row; larger ones become a chunk.
pub const INLINE_BYTES_MAX: usize = 1_024;

/// Seals one commit. Pure CPU work: run it in the caller's task, not in the batch's.
///
/// # Errors
/// 413 and 422 for documents and values that break a limit or are not what they must be.
pub fn prepare(
    secret: &TenantSecret,
    caller: &Caller,
    commit: Commit,
    deadline: Micros,
) -> Result<Prepared> {
    let ops = commit.ops.into_iter().map(|op| match op {
        Op::Checkpoint(put) => {
            Ok(PreparedOp::Checkpoint(Box::new(prepare_checkpoint(secret, put)?)))
        }
        Op::Writes(group) => Ok(PreparedOp::Writes(prepare_writes(secret, group)?)),
    });
    let ops = ops.collect::<Result<Vec<_>>>()?;
    Ok(Prepared {
        tenant: caller.tenant.clone(),
        owner: caller.subject.clone(),
        thread_id: commit.thread_id,
        condition: Condition { generation: commit.generation, fence: commit.fence, epoch: None },
        writer: commit.writer.into_string(),
        deadline,
        size_bytes: ops.iter().map(size_of_op).sum(),
        ops,
    })
}

/// Seals a value.
///
/// # Errors
/// 413 over the value limit.
pub fn seal_value(secret: &TenantSecret, field: &str, value: &Value) -> Result<Sealed> {
    let too_large = || Error::TooLarge { field: field.into(), limit: LIMITS.value_bytes_max };
    if value.data.len() as u64 > LIMITS.value_bytes_max {
        return Err(too_large());
    }
    Ok(Sealed {
        tag: value.tag.as_str().to_owned(),
        size_bytes: i32::try_from(value.data.len()).map_err(|_| too_large())?,
        digest: secret.digest(&value.data),
        body: envelope::seal(&value.data),
    })
}

/// Opens what [`seal_value`] made and checks its digest.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_value(
    secret: &TenantSecret,
    tag: &str,
    size_bytes: i32,
    digest: &[u8],
    body: &[u8],
) -> Result<Value> {
    let size = usize::try_from(size_bytes).unwrap_or(0);
    let data = envelope::open(body, size).map_err(|error| Error::Integrity(error.to_string()))?;
    if secret.digest(&data) != *digest {
        return Err(Error::Integrity("a value does not match its digest".into()));
    }
    let tag = Tag::new(tag).map_err(|_| Error::Integrity("a stored tag is not legal".into()))?;
    Ok(Value { tag, data })
}

/// Envelope of a document whose size is kept inside: 4 bytes little endian, 16 bytes digest, the envelope.
pub fn seal_document(secret: &TenantSecret, data: &[u8]) -> Bytes {
    let mut sealed = Vec::with_capacity(data.len() / 2 + 24);
    let size = u32::try_from(data.len()).expect("documents are checked against the value limit");
    sealed.extend_from_slice(&size.to_le_bytes());
    sealed.extend_from_slice(&secret.digest(data));
    sealed.extend_from_slice(&envelope::seal(data));
    Bytes::from(sealed)
}

/// Opens what [`seal_document`] made.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_document(secret: &TenantSecret, sealed: &[u8]) -> Result<Bytes> {
    let damaged = || Error::Integrity("a document is truncated".into());
    let (size, rest) = sealed.split_first_chunk::<4>().ok_or_else(damaged)?;
    let (digest, body) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
    let size = u32::from_le_bytes(*size) as usize;
    let data = envelope::open(body, size).map_err(|error| Error::Integrity(error.to_string()))?;
    if secret.digest(&data) == *digest {
        return Ok(data);
    }
    Err(Error::Integrity("a document does not match its digest".into()))
}

/// Key of a channel's name in the map of a checkpoint.
pub fn channel_key(secret: &TenantSecret, channel: &str) -> i64 {
    secret.tuple_key(&[b"channel", channel.as_bytes()])
}

/// Channels of a stored skeleton, in channel order (bytes).
///
/// # Errors
/// `Integrity`: it was readable when it was stored.
pub fn channels_of(skeleton: &[u8]) -> Result<Vec<String>> {
    let read = Skeleton::read(skeleton)
        .map_err(|_| Error::Integrity("a stored skeleton cannot be read".into()))?;
    Ok(read.versions.into_keys().collect())
}

fn prepare_checkpoint(secret: &TenantSecret, put: CheckpointPut) -> Result<PreparedCheckpoint> {
    exact_json::check_object("skeleton", &put.skeleton)?;
    exact_json::check_object("metadata", &put.metadata)?;
    let metadata = exact_json::parse("metadata", &put.metadata)?;
    let skeleton = Skeleton::read(&put.skeleton)?;
    let version_key = |channel: &str, version: &str| {
        secret.tuple_key(&[put.ns.as_str().as_bytes(), channel.as_bytes(), version.as_bytes()])
    };
    let mut new: HashMap<(String, String), &NewValue> = HashMap::new();
    for value in &put.values {
        let version = canonical_version("values.version", &value.version)?;
        new.insert((value.channel.as_str().to_owned(), version), value);
    }
    let mut carried: HashMap<&str, &NewValue> = HashMap::new();
    for value in &put.carried {
        carried.insert(value.channel.as_str(), value);
    }
    let mut slots = Vec::with_capacity(skeleton.versions.len());
    for (channel, version) in &skeleton.versions {
        let source = match new.remove(&(channel.clone(), version.clone())) {
            Some(value) if value.value.tag.as_str() == EMPTY => SlotSource::Empty,
            Some(value) => SlotSource::New(seal_value(secret, "values.data", &value.value)?),
            None => SlotSource::Carried(
                carried.get(channel.as_str()).map(|it| secret.digest(&it.value.data)),
            ),
        };
        slots.push(Slot {
            channel_key: channel_key(secret, channel),
            version_key: version_key(channel, version),
            source,
        });
    }
    let mut unlisted = Vec::new();
    for ((channel, version), value) in new {
        if value.value.tag.as_str() != EMPTY {
            let sealed = seal_value(secret, "values.data", &value.value)?;
            unlisted.push((version_key(&channel, &version), sealed));
        }
    }
    let delta_channels = delta_channels(&metadata, &skeleton.versions);
    Ok(PreparedCheckpoint {
        size_bytes: i32::try_from(put.skeleton.len() + put.metadata.len()).unwrap_or(i32::MAX),
        skeleton: seal_document(secret, &put.skeleton),
        metadata: seal_document(secret, &put.metadata),
        legacy: skeleton.legacy,
        step: metadata.get("step").and_then(Json::as_i64),
        run_id: text(&metadata, "run_id", LIMITS.checkpoint_id_bytes_max),
        labels: ThreadLabels {
            graph_id: text(&metadata, "graph_id", LIMITS.checkpoint_id_bytes_max),
            assistant_id: text(&metadata, "assistant_id", LIMITS.checkpoint_id_bytes_max),
            user_id: text(&metadata, "user_id", LIMITS.checkpoint_id_bytes_max),
        },
        delta_keys: delta_channels.iter().map(|it| channel_key(secret, it)).collect(),
        delta_channels,
        slots,
        unlisted,
        ns: put.ns,
        id: put.id,
        parent: put.parent,
    })
}

fn prepare_writes(secret: &TenantSecret, group: WriteGroup) -> Result<PreparedWrites> {
    let writes = group.writes.into_iter().map(|write| {
        let sealed = seal_value(secret, "writes.data", &write.value)?;
        Ok((write.idx, write.channel.into_string(), sealed))
    });
    Ok(PreparedWrites {
        writes: writes.collect::<Result<Vec<_>>>()?,
        ns: group.ns,
        checkpoint_id: group.checkpoint_id,
        task_id: group.task_id,
        task_path: group.task_path,
        seq: group.seq,
    })
}

/// What the server reads of a skeleton; the text itself is kept.
struct Skeleton {
    /// channel → canonical version, in channel order (bytes)
    versions: BTreeMap<String, String>,
    legacy: bool,
}

impl Skeleton {
    fn read(text: &[u8]) -> Result<Self> {
        #[derive(serde::Deserialize)]
        struct Known<'a> {
            #[serde(borrow, default)]
            v: Option<&'a RawValue>,
            #[serde(borrow, default)]
            channel_versions: Option<BTreeMap<String, &'a RawValue>>,
        }
        let known: Known<'_> = serde_json::from_slice(text).map_err(|error| {
            Error::invalid("skeleton", format!("skeleton cannot be read: {error}"))
        })?;
        let mut versions = BTreeMap::new();
        for (channel, version) in known.channel_versions.unwrap_or_default() {
            let channel = Channel::new(channel)?.into_string();
            let version = canonical_version("skeleton.channel_versions", version.get().as_bytes())?;
            versions.insert(channel, version);
        }
        check_channel_count(versions.len())?;
        let format = known.v.and_then(|it| it.get().parse::<f64>().ok());
        Ok(Self { versions, legacy: format.is_some_and(|v| v < 4.0) })
    }
}

fn check_channel_count(count: usize) -> Result<()> {
    crate::domain::checkpoint::at_most("skeleton.channel_versions", count, LIMITS.channels_max)
}

/// A version's JSON scalar in one form: strings without their escapes, numbers and the rest as sent, so
/// that `1`, `"1"` and `1.0` stay three versions.
fn canonical_version(field: &str, text: &[u8]) -> Result<String> {
    let text = text.trim_ascii();
    let refuse = || Error::invalid(field, format!("{field} must be a JSON string or number"));
    match exact_json::parse(field, text)? {
        Json::String(version) => Ok(format!("\"{version}")),
        Json::Number(number) => Ok(number.to_string()),
        _ => Err(refuse()),
    }
}

/// Delta channels that a checkpoint's metadata names, if they have a version.
fn delta_channels(metadata: &Json, versions: &BTreeMap<String, String>) -> Vec<String> {
    let named = ["counters_since_delta_snapshot", "delta_writes_versioned"];
    let mut channels: Vec<String> = named
        .iter()
        .filter_map(|key| metadata.get(key)?.as_object())
        .flat_map(|counters| counters.keys())
        .filter(|channel| versions.contains_key(*channel))
        .cloned()
        .collect();
    channels.sort();
    channels.dedup();
    channels
}

/// A metadata field that is copied to a column: a text without NUL and lone surrogates, or nothing.
fn text(metadata: &Json, key: &str, limit: u64) -> Option<String> {
    let text = metadata.get(key)?.as_str()?;
    let legal = !text.contains('\0') && !text.contains('\u{fdd0}') && text.len() as u64 <= limit;
    legal.then(|| text.to_owned())
}

fn size_of_op(op: &PreparedOp) -> usize {
    match op {
        PreparedOp::Checkpoint(put) => {
            let slots = put.slots.iter().map(|slot| match &slot.source {
                SlotSource::New(sealed) => sealed.body.len(),
                _ => 16,
            });
            let unlisted = put.unlisted.iter().map(|(_, sealed)| sealed.body.len());
            put.skeleton.len() + put.metadata.len() + slots.chain(unlisted).sum::<usize>()
        }
        PreparedOp::Writes(group) => {
            group.writes.iter().map(|(_, _, sealed)| sealed.body.len() + 128).sum()
        }
    }
}
