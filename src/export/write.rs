//! Writes a file.

use serde::Serialize;
use serde_bytes::ByteBuf;

use super::frames::{FrameWriter, Output, SigningKey};
use super::items::put_noun;
use super::nouns::NounWriter;
use super::records::{Begin, Counts, FORMAT, FORMAT_PLAIN, Finish, Record};
use super::snapshots::put_snapshot;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::grants::Action;
use crate::domain::item::Address;
use crate::domain::names::ThreadId;
use crate::domain::namespace::Namespace;
use crate::domain::sessions::SESSION;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::storage::{ListSnapshots, SnapshotCursor};
use crate::domain::snapshots::{SNAPSHOT, SnapshotId};
use crate::domain::storage::Storage;
use crate::domain::thread::{ThreadCursor, ThreadQuery, ThreadSort};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};

/// Names of one listing.
const NAMES_PER_PAGE: usize = 500;
const SNAPSHOTS_PER_PAGE: usize = 50;
/// Items of one noun.
const ITEMS_TOGETHER: usize = 128;
const ITEMS_BYTES: usize = 1 << 20;
/// What is not found where a part is not there.
const THREAD: &str = "a thread that was to be exported was";

/// What of a tenant goes into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Everything.
    Tenant,
    Parts(Parts),
}

/// Parts of a tenant, each whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub threads: Vec<String>,
    pub sessions: Vec<SessionName>,
    /// With everything below them.
    pub namespaces: Vec<Namespace>,
    pub snapshots: Vec<SnapshotId>,
}

/// What a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub threads: u64,
    pub sessions: u64,
    pub items: u64,
    pub settings: u64,
    pub policies: u64,
    pub snapshots: u64,
    pub size_bytes: u64,
}

/// Writes what is selected of the caller's tenant.
///
/// # Errors
/// `NotGranted` without the whole tenant; `NotFound` for a part that is not there; of the storage and the output.
pub async fn export(
    storage: &dyn Storage,
    caller: &Caller,
    selection: &Selection,
    (output, key): (&mut dyn Output, Option<SigningKey>),
    now: Micros,
) -> Result<Exported> {
    caller.require_whole_tenant()?;
    let mut frames = FrameWriter::begin(output, key).await?;
    let begin = Begin {
        format: if has_snapshots(storage, caller, selection).await? {
            FORMAT
        } else {
            FORMAT_PLAIN
        },
        made_by: concat!("threadkeep ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_at: rfc3339(now),
        tenant: caller.tenant.clone(),
        is_signed: frames.sign().is_some(),
    };
    let begin_format = begin.format;
    frames.put(&Record::Begin(begin).encode()).await?;
    let mut counts = Counts::default();
    match selection {
        Selection::Tenant => {
            all_threads(storage, caller, &mut frames, &mut counts).await?;
            all_sessions(storage, caller, &mut frames, &mut counts).await?;
            let everything = Namespace::default();
            items_below(storage, caller, (&everything, now), &mut frames, &mut counts).await?;
            settings_below(storage, caller, &everything, &mut frames, &mut counts).await?;
            policy(storage, caller, None, &mut frames, &mut counts).await?;
            if begin_format == FORMAT {
                all_snapshots(storage, caller, &mut frames, &mut counts).await?;
            }
        }
        Selection::Parts(parts) => {
            for thread in &parts.threads {
                if !one_thread(storage, caller, thread, &mut frames).await? {
                    return Err(Error::NotFound(THREAD));
                }
                counts.threads += 1;
                policy(storage, caller, Some(thread), &mut frames, &mut counts).await?;
            }
            for session in &parts.sessions {
                if !one_session(storage, caller, session, &mut frames).await? {
                    return Err(Error::NotFound(SESSION));
                }
                counts.sessions += 1;
            }
            for prefix in &parts.namespaces {
                items_below(storage, caller, (prefix, now), &mut frames, &mut counts).await?;
                settings_below(storage, caller, prefix, &mut frames, &mut counts).await?;
            }
            for id in &parts.snapshots {
                if !put_snapshot(storage, caller, id, &mut frames).await? {
                    return Err(Error::NotFound(SNAPSHOT));
                }
                counts.snapshots += 1;
            }
        }
    }
    let signature = frames.sign().map(ByteBuf::from);
    frames.put(&Record::Finish(Finish { counts, signature }).encode()).await?;
    let Counts { threads, sessions, items, settings, policies, snapshots } = counts;
    let size_bytes = frames.bytes;
    Ok(Exported { threads, sessions, items, settings, policies, snapshots, size_bytes })
}

/// What makes a file one that an older program cannot read.
async fn has_snapshots(
    storage: &dyn Storage,
    caller: &Caller,
    selection: &Selection,
) -> Result<bool> {
    match selection {
        Selection::Parts(parts) => Ok(!parts.snapshots.is_empty()),
        Selection::Tenant => {
            let query = ListSnapshots { limit: 1, ..ListSnapshots::default() };
            Ok(!storage.list_snapshots(caller, &query).await?.is_empty())
        }
    }
}

/// Newest first. One that is deleted meanwhile is not in the file.
async fn all_snapshots(
    storage: &dyn Storage,
    caller: &Caller,
    frames: &mut FrameWriter<'_>,
    counts: &mut Counts,
) -> Result<()> {
    let mut query = ListSnapshots { limit: SNAPSHOTS_PER_PAGE, ..ListSnapshots::default() };
    loop {
        let page = storage.list_snapshots(caller, &query).await?;
        for snapshot in &page {
            let id = SnapshotId::new(snapshot.id.as_str())?;
            if put_snapshot(storage, caller, &id, frames).await? {
                counts.snapshots += 1;
            }
        }
        let Some(last) = page.into_iter().next_back() else { return Ok(()) };
        query.after = Some(SnapshotCursor { created_at: last.created_at, id: last.id });
    }
}

/// In the order of their ids. One that is deleted meanwhile is not in the file.
async fn all_threads(
    storage: &dyn Storage,
    caller: &Caller,
    frames: &mut FrameWriter<'_>,
    counts: &mut Counts,
) -> Result<()> {
    let mut after: Option<ThreadCursor> = None;
    loop {
        let query = ThreadQuery {
            limit: NAMES_PER_PAGE,
            after: after.take(),
            sort: ThreadSort::ThreadId,
            ascending: true,
            ..ThreadQuery::default()
        };
        let page = storage.list_threads(caller, &query).await?;
        for thread in &page {
            if one_thread(storage, caller, &thread.thread_id, frames).await? {
                counts.threads += 1;
                policy(storage, caller, Some(&thread.thread_id), frames, counts).await?;
            }
        }
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(ThreadCursor { time: 0, thread_id: last.thread_id.clone() });
    }
}

async fn one_thread(
    storage: &dyn Storage,
    caller: &Caller,
    thread_id: &str,
    frames: &mut FrameWriter<'_>,
) -> Result<bool> {
    let mut noun = NounWriter::into_file(frames);
    let found = storage.read_thread(caller, thread_id, &mut noun).await?;
    if found {
        noun.end().await?;
    }
    Ok(found)
}

/// In the order of their kinds and keys.
async fn all_sessions(
    storage: &dyn Storage,
    caller: &Caller,
    frames: &mut FrameWriter<'_>,
    counts: &mut Counts,
) -> Result<()> {
    let mut after: Option<SessionName> = None;
    loop {
        let page = storage.list_session_names(caller, after.as_ref(), NAMES_PER_PAGE).await?;
        for session in &page {
            if one_session(storage, caller, session, frames).await? {
                counts.sessions += 1;
            }
        }
        let Some(last) = page.into_iter().next_back() else { return Ok(()) };
        after = Some(last);
    }
}

async fn one_session(
    storage: &dyn Storage,
    caller: &Caller,
    session: &SessionName,
    frames: &mut FrameWriter<'_>,
) -> Result<bool> {
    let mut noun = NounWriter::into_file(frames);
    let found = storage.read_session(caller, session, &mut noun).await?;
    if found {
        noun.end().await?;
    }
    Ok(found)
}

/// In the order of namespace and key; those with contents are nouns of their own.
async fn items_below(
    storage: &dyn Storage,
    caller: &Caller,
    (prefix, now): (&Namespace, Micros),
    frames: &mut FrameWriter<'_>,
    counts: &mut Counts,
) -> Result<()> {
    let mut after: Option<Address> = None;
    let (mut waiting, mut bytes) = (Vec::new(), 0);
    loop {
        let read = storage.read_items(caller, prefix, after.as_ref(), now).await?;
        counts.items += read.items.len() as u64;
        for item in read.items {
            if !item.contents.is_empty() {
                put_noun(frames, storage, caller, std::mem::take(&mut waiting)).await?;
                put_noun(frames, storage, caller, vec![item]).await?;
                bytes = 0;
                continue;
            }
            bytes += item.record.size_bytes();
            waiting.push(item);
            if waiting.len() >= ITEMS_TOGETHER || bytes >= ITEMS_BYTES {
                put_noun(frames, storage, caller, std::mem::take(&mut waiting)).await?;
                bytes = 0;
            }
        }
        let Some(last) = read.last else { break };
        after = Some(last);
    }
    put_noun(frames, storage, caller, waiting).await
}

async fn settings_below(
    storage: &dyn Storage,
    caller: &Caller,
    prefix: &Namespace,
    frames: &mut FrameWriter<'_>,
    counts: &mut Counts,
) -> Result<()> {
    for setting in storage.list_namespace_settings(caller).await? {
        if setting.namespace.starts_with(prefix) {
            let mut noun = NounWriter::into_file(frames);
            noun.record(&Record::Setting((&setting).into())).await?;
            noun.end().await?;
            counts.settings += 1;
        }
    }
    Ok(())
}

/// The rule of a thread, or of the tenant.
async fn policy(
    storage: &dyn Storage,
    caller: &Caller,
    thread_id: Option<&str>,
    frames: &mut FrameWriter<'_>,
    counts: &mut Counts,
) -> Result<()> {
    let thread_id = thread_id.map(ThreadId::new).transpose()?;
    if let Some(policy) = storage.get_policy(caller, thread_id.as_ref()).await? {
        let mut noun = NounWriter::into_file(frames);
        noun.record(&Record::Policy(policy.into())).await?;
        noun.end().await?;
        counts.policies += 1;
    }
    Ok(())
}

/// Whether every part is there, before anything is written.
///
/// # Errors
/// `NotFound`; 422 for a thread that no caller could have named.
pub async fn require_parts(
    storage: &dyn Storage,
    caller: &Caller,
    selection: &Selection,
) -> Result<()> {
    let Selection::Parts(parts) = selection else { return Ok(()) };
    for thread in &parts.threads {
        let thread = ThreadId::new(thread.as_str())?;
        storage.get_thread(caller, &thread).await?.ok_or(Error::NotFound(THREAD))?;
    }
    for session in &parts.sessions {
        if !storage.has_session(caller, session).await? {
            return Err(Error::NotFound(SESSION));
        }
    }
    for id in &parts.snapshots {
        let found = storage.get_snapshot(caller, id, Action::Read).await?;
        found.ok_or(Error::NotFound(SNAPSHOT))?;
    }
    Ok(())
}
