//! Turns a caller's commit into what the queue takes: values are sealed and names are hashed. It is the same for every engine.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::value_parts::NamedParts;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{
    CheckpointPut, Commit, EMPTY, NewValue, Op, WriteGroup,
};
use crate::domain::checkpoints::prepared::{
    Condition, Prepared, PreparedCheckpoint, PreparedOp, PreparedWrites, Sealed, Slot, SlotSource,
    ThreadLabels,
};
use crate::domain::clock::Micros;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::names::Channel;
use crate::domain::names::at_most;
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::content::documents::seal_documents;
use crate::storage::content::sealing::Sealer;

/// Seals one commit, without the chunks that its scope is known to have. `named` is what its parts stand for. Pure CPU work: run it in the caller's task, not
/// in the batch's. A large one leaves the async worker to other tasks meanwhile.
///
/// # Errors
/// 413 and 422 for documents and values that break a limit or are not what they must be.
pub async fn prepare(
    secret: &TenantSecret,
    caller: &Caller,
    commit: Commit,
    deadline: Micros,
    memory: &ChunkMemory,
    named: Option<&NamedParts>,
) -> Result<Prepared> {
    let (count, bytes) =
        commit.values().fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.data.len()));
    let work = || seal(secret, caller, commit, deadline, memory, named);
    cpu_pool::run_here(&caller.tenant, size_of(count, bytes), work).await?
}

fn seal(
    secret: &TenantSecret,
    caller: &Caller,
    commit: Commit,
    deadline: Micros,
    memory: &ChunkMemory,
    named: Option<&NamedParts>,
) -> Result<Prepared> {
    let thread = (caller.tenant.as_str(), commit.thread_id.as_str());
    let scope = secret.cipher().map(|_| memory.scopes.plan(thread.0, thread.1));
    let scope_id = scope.map_or(0, |it| it.id);
    let known = memory.known(thread.0, thread.1);
    let mut sealer = Sealer::new(secret, scope_id, known).with_parts(named);
    let ops = commit.ops.into_iter().map(|op| match op {
        Op::Checkpoint(put) => {
            let put = prepare_checkpoint(secret, scope_id, &mut sealer, put)?;
            Ok(PreparedOp::Checkpoint(Box::new(put)))
        }
        Op::Writes(group) => Ok(PreparedOp::Writes(prepare_writes(&mut sealer, group)?)),
    });
    let ops = ops.collect::<Result<Vec<_>>>()?;
    let (chunks, epoch) = sealer.finish();
    Ok(Prepared {
        tenant: caller.tenant.clone(),
        owner: caller.subject.clone(),
        condition: Condition {
            owner: caller
                .thread_owner(commit.thread_id.as_str(), Action::Append)
                .map(str::to_owned),
            generation: commit.generation,
            fence: commit.fence,
            epoch,
            scope,
        },
        thread_id: commit.thread_id,
        writer: commit.writer.into_string(),
        deadline,
        full: commit.full,
        size_bytes: ops.iter().map(size_of_op).sum::<usize>()
            + chunks.iter().map(|it| it.body.len() + 128).sum::<usize>(),
        ops,
        chunks,
    })
}

/// Key of a channel's name in the map of a checkpoint.
pub fn channel_key(secret: &TenantSecret, channel: &str) -> i64 {
    secret.tuple_key(&[b"channel", channel.as_bytes()])
}

/// Channels of a stored skeleton with their versions, in channel order (bytes).
///
/// # Errors
/// `Integrity`: it was readable when it was stored.
pub fn channels_of(skeleton: &[u8]) -> Result<impl Iterator<Item = (String, String)> + use<>> {
    let read = Skeleton::read(skeleton)
        .map_err(|_| Error::Integrity("a stored skeleton cannot be read".into()))?;
    Ok(read.versions.into_iter())
}

/// What the columns of a checkpoint say about its documents.
#[derive(Debug, PartialEq, Eq)]
pub struct Described {
    /// (key of the channel, key of the version), in channel order.
    pub keys: Vec<(i64, i64)>,
    pub legacy: bool,
    pub run_id: Option<String>,
    pub delta_channels: Vec<String>,
    pub size_bytes: i64,
}

/// Describes stored documents as [`prepare`] described them when they came.
///
/// # Errors
/// As when they came: for documents that were never accepted.
pub fn describe(
    secret: &TenantSecret,
    ns: &str,
    skeleton: &[u8],
    metadata: &[u8],
) -> Result<Described> {
    let size_bytes = i64::try_from(skeleton.len() + metadata.len()).unwrap_or(i64::MAX);
    let (skeleton, metadata) =
        (Skeleton::read(skeleton)?, exact_json::parse("metadata", metadata)?);
    let key = |(channel, version): (&String, &String)| {
        (channel_key(secret, channel), version_key(secret, ns, channel, version))
    };
    Ok(Described {
        keys: skeleton.versions.iter().map(key).collect(),
        legacy: skeleton.legacy,
        run_id: text(&metadata, "run_id", LIMITS.checkpoint_id_bytes_max),
        delta_channels: delta_channels(&metadata, &skeleton.versions),
        size_bytes,
    })
}

/// Key of a channel's version in the map of a checkpoint.
pub fn version_key(secret: &TenantSecret, ns: &str, channel: &str, version: &str) -> i64 {
    secret.tuple_key(&[ns.as_bytes(), channel.as_bytes(), version.as_bytes()])
}

fn prepare_checkpoint(
    secret: &TenantSecret,
    scope_id: i64,
    sealer: &mut Sealer<'_>,
    put: CheckpointPut,
) -> Result<PreparedCheckpoint> {
    exact_json::check_object("skeleton", &put.skeleton)?;
    exact_json::check_object("metadata", &put.metadata)?;
    let metadata = exact_json::parse("metadata", &put.metadata)?;
    let skeleton = Skeleton::read(&put.skeleton)?;
    for version in skeleton.versions.values() {
        check_version("skeleton.channel_versions", version)?;
    }
    let version_key =
        |channel: &str, version: &str| version_key(secret, put.ns.as_str(), channel, version);
    let mut new: HashMap<(String, String), &NewValue> = HashMap::new();
    for value in &put.values {
        let version = canonical_version("values.version", &value.version)?;
        check_version("values.version", &version)?;
        new.insert((value.channel.as_str().to_owned(), version), value);
    }
    let mut carried: HashMap<&str, &NewValue> = HashMap::new();
    for value in &put.carried {
        carried.insert(value.channel.as_str(), value);
    }
    let mut slots = Vec::with_capacity(skeleton.versions.len());
    for (channel, version) in &skeleton.versions {
        let version_key = version_key(channel, version);
        let row = ValueRow::Version(version_key);
        let source = match new.remove(&(channel.clone(), version.clone())) {
            Some(value) if value.value.tag.as_str() == EMPTY => SlotSource::Empty,
            Some(value) => SlotSource::New(sealer.value("values.data", row, &value.value)?),
            None => {
                let held = carried.get(channel.as_str());
                let digest = |it: &&NewValue| sealer.digest("carried.data", &it.value);
                SlotSource::Carried(held.map(digest).transpose()?)
            }
        };
        slots.push(Slot { channel_key: channel_key(secret, channel), version_key, source });
    }
    let mut unlisted = Vec::new();
    for ((channel, version), value) in new {
        if value.value.tag.as_str() != EMPTY {
            let key = version_key(&channel, &version);
            let sealed = sealer.value("values.data", ValueRow::Version(key), &value.value)?;
            unlisted.push((key, sealed));
        }
    }
    let delta_channels = delta_channels(&metadata, &skeleton.versions);
    let at = CheckpointAt { scope_id, ns: put.ns.as_str(), id: put.id.as_str() };
    Ok(PreparedCheckpoint {
        size_bytes: i32::try_from(put.skeleton.len() + put.metadata.len()).unwrap_or(i32::MAX),
        documents: seal_documents(secret, at, &put.skeleton, &put.metadata),
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

fn prepare_writes(sealer: &mut Sealer<'_>, group: WriteGroup) -> Result<PreparedWrites> {
    let writes = group.writes.into_iter().map(|write| {
        let row = ValueRow::Write {
            ns: group.ns.as_str(),
            checkpoint_id: group.checkpoint_id.as_str(),
            task_id: group.task_id.as_str(),
            idx: write.idx.into(),
            channel: write.channel.as_str(),
        };
        let sealed = sealer.value("writes.data", row, &write.value)?;
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
    at_most("skeleton.channel_versions", count, LIMITS.channels_max)
}

/// A version's JSON scalar in one form: strings without their escapes, numbers and the rest as sent, so
/// that `1`, `"1"` and `1.0` stay three versions.
fn canonical_version(field: &str, text: &[u8]) -> Result<String> {
    let text = text.trim_ascii();
    let refuse = || Error::invalid(field, format!("{field} must be a JSON string or number"));
    // A list would be built as a whole before it is refused.
    if !matches!(text.first(), Some(b'"' | b'-' | b'0'..=b'9')) {
        return Err(refuse());
    }
    match exact_json::parse(field, text)? {
        Json::String(version) => Ok(format!("\"{version}")),
        Json::Number(number) => Ok(number.to_string()),
        _ => Err(refuse()),
    }
}

/// Of a version in its canonical form. What is stored is not asked again: earlier servers took longer ones.
fn check_version(field: &str, version: &str) -> Result<()> {
    let (length, max) =
        (version.strip_prefix('"').unwrap_or(version).len(), LIMITS.version_bytes_max);
    if length as u64 <= max {
        return Ok(());
    }
    let detail = format!("a version in {field} is {length} bytes long, at most {max} are allowed");
    Err(Error::out_of_range(field, detail, max))
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
                SlotSource::New(sealed) => size_of_value(sealed),
                _ => 16,
            });
            let unlisted = put.unlisted.iter().map(|(_, sealed)| size_of_value(sealed));
            put.documents.len() + slots.chain(unlisted).sum::<usize>()
        }
        PreparedOp::Writes(group) => {
            let row = group.task_path.as_str().len() + 128;
            group.writes.iter().map(|(_, _, sealed)| size_of_value(sealed) + row).sum()
        }
    }
}

fn size_of_value(sealed: &Sealed) -> usize {
    sealed.body.len() + sealed.parts.as_ref().map_or(0, Bytes::len)
}
