//! Writes the selected parts of a tenant, or all of it, to an export file.

use serde::Serialize;
use serde_bytes::ByteBuf;

use super::frames::{FrameWriter, Output, SigningKey};
use super::items::put_noun;
use super::nouns::NounWriter;
use super::records::{Begin, Counts, FORMAT, FORMAT_PLAIN, Finish, Record};
use super::salvage::{LeftOut, Salvage};
use super::snapshots::put_snapshot;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::export::items::StoredItem;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::sessions::SESSION;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::SNAPSHOT;
use crate::domain::snapshots::storage::{ListSnapshots, SnapshotCursor};
use crate::domain::storage::Storage;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::threads::thread::{ThreadCursor, ThreadQuery, ThreadSort};
use crate::domain::time::rfc3339;
use crate::domain::tokens::grants::Action;
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
    to: (&mut dyn Output, Option<SigningKey>),
    now: Micros,
) -> Result<Exported> {
    write(storage, caller, selection, to, (now, None)).await
}

/// The same of a database that may be damaged: what is not whole is left out and told.
///
/// # Errors
/// As [`export`], but for damage.
pub async fn export_whole_only(
    storage: &dyn Storage,
    caller: &Caller,
    selection: &Selection,
    to: (&mut dyn Output, Option<SigningKey>),
    (now, left_out): (Micros, &mut (dyn FnMut(LeftOut) + Send)),
) -> Result<Exported> {
    write(storage, caller, selection, to, (now, Some(left_out))).await
}

async fn write(
    storage: &dyn Storage,
    caller: &Caller,
    selection: &Selection,
    (output, key): (&mut dyn Output, Option<SigningKey>),
    (now, salvage): (Micros, Salvage<'_>),
) -> Result<Exported> {
    caller.require_tenant_read()?;
    let frames = FrameWriter::begin(output, key, &caller.tenant).await?;
    let (counts, waiting) = (Counts::default(), Waiting::default());
    let mut writer = Writer { storage, caller, now, frames, counts, waiting, salvage };
    writer.begin(selection).await?;
    match selection {
        Selection::Tenant => writer.tenant().await?,
        Selection::Parts(parts) => writer.parts(parts).await?,
    }
    writer.finish().await
}

/// A file that is being written.
pub struct Writer<'a, 'f, 's> {
    pub(super) storage: &'a dyn Storage,
    pub(super) caller: &'a Caller,
    pub(super) now: Micros,
    frames: FrameWriter<'f>,
    counts: Counts,
    waiting: Waiting,
    pub(super) salvage: Salvage<'s>,
}

/// Items that become one noun.
#[derive(Default)]
struct Waiting {
    items: Vec<StoredItem>,
    bytes: usize,
}

impl Writer<'_, '_, '_> {
    async fn begin(&mut self, selection: &Selection) -> Result<()> {
        let has_snapshots = self.has_snapshots(selection).await?;
        let begin = Begin {
            format: if has_snapshots { FORMAT } else { FORMAT_PLAIN },
            made_by: concat!("threadkeep ", env!("CARGO_PKG_VERSION")).to_owned(),
            made_at: rfc3339(self.now),
            tenant: self.caller.tenant.clone(),
            is_signed: self.frames.sign().is_some(),
        };
        self.frames.put(&Record::Begin(begin).encode()).await
    }

    async fn finish(mut self) -> Result<Exported> {
        let signature = self.frames.sign().map(ByteBuf::from);
        let counts = self.counts;
        self.frames.put(&Record::Finish(Finish { counts, signature }).encode()).await?;
        let Counts { threads, sessions, items, settings, policies, snapshots } = counts;
        let size_bytes = self.frames.bytes;
        Ok(Exported { threads, sessions, items, settings, policies, snapshots, size_bytes })
    }

    async fn tenant(&mut self) -> Result<()> {
        self.all_threads().await?;
        self.all_sessions().await?;
        let everything = Namespace::default();
        self.items_below(&everything).await?;
        self.settings_below(&everything).await?;
        self.policy(None).await?;
        self.all_snapshots().await
    }

    async fn parts(&mut self, parts: &Parts) -> Result<()> {
        for thread in &parts.threads {
            if self.is_whole_thread(thread).await? && !self.one_thread(thread).await? {
                return Err(Error::NotFound(THREAD));
            }
        }
        for session in &parts.sessions {
            if self.is_whole_session(session).await? && !self.one_session(session).await? {
                return Err(Error::NotFound(SESSION));
            }
        }
        for prefix in &parts.namespaces {
            self.items_below(prefix).await?;
            self.settings_below(prefix).await?;
        }
        for id in &parts.snapshots {
            if self.is_whole_snapshot(id).await? && !self.one_snapshot(id).await? {
                return Err(Error::NotFound(SNAPSHOT));
            }
        }
        Ok(())
    }

    /// What makes a file one that an older program cannot read.
    async fn has_snapshots(&mut self, selection: &Selection) -> Result<bool> {
        match selection {
            Selection::Parts(parts) => Ok(!parts.snapshots.is_empty()),
            Selection::Tenant => {
                let query = ListSnapshots { limit: 1, ..ListSnapshots::default() };
                let listed = self.storage.list_snapshots(self.caller, &query).await;
                // Those that cannot be listed are told when they are to be written.
                match listed {
                    Err(Error::Integrity(_)) if self.salvage.is_some() => Ok(true),
                    listed => Ok(!listed?.is_empty()),
                }
            }
        }
    }

    /// Newest first. One that is deleted meanwhile is not in the file.
    async fn all_snapshots(&mut self) -> Result<()> {
        let mut query = ListSnapshots { limit: SNAPSHOTS_PER_PAGE, ..ListSnapshots::default() };
        loop {
            let page = self.storage.list_snapshots(self.caller, &query).await;
            let Some(page) = self.whole(("snapshot", None), page)? else { return Ok(()) };
            for snapshot in &page {
                let id = SnapshotId::new(snapshot.id.as_str())?;
                if self.is_whole_snapshot(&id).await? {
                    self.one_snapshot(&id).await?;
                }
            }
            let Some(last) = page.into_iter().next_back() else { return Ok(()) };
            query.after = Some(SnapshotCursor { created_at: last.created_at, id: last.id });
        }
    }

    async fn one_snapshot(&mut self, id: &SnapshotId) -> Result<bool> {
        let found = put_snapshot(self.storage, self.caller, id, &mut self.frames).await?;
        self.counts.snapshots += u64::from(found);
        Ok(found)
    }

    /// In the order of their ids. One that is deleted meanwhile is not in the file.
    async fn all_threads(&mut self) -> Result<()> {
        if self.salvage.is_some() {
            let listed = self.storage.list_readable_threads(self.caller).await;
            let Some(listed) = self.whole(("thread", None), listed)? else { return Ok(()) };
            for id in self.names("thread", listed) {
                if self.is_whole_thread(&id).await? {
                    self.one_thread(&id).await?;
                }
            }
            return Ok(());
        }
        let mut after: Option<ThreadCursor> = None;
        loop {
            let query = ThreadQuery {
                limit: NAMES_PER_PAGE,
                after: after.take(),
                sort: ThreadSort::ThreadId,
                ascending: true,
                ..ThreadQuery::default()
            };
            let page = self.storage.list_threads(self.caller, &query).await?;
            for thread in &page.threads {
                self.one_thread(&thread.thread_id).await?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// With its rule of retention.
    async fn one_thread(&mut self, thread_id: &str) -> Result<bool> {
        let mut noun = NounWriter::into_file(&mut self.frames);
        let found = self.storage.read_thread(self.caller, thread_id, &mut noun).await?;
        if found {
            noun.end().await?;
            self.counts.threads += 1;
            self.policy(Some(thread_id)).await?;
        }
        Ok(found)
    }

    /// In the order of their kinds and keys.
    async fn all_sessions(&mut self) -> Result<()> {
        if self.salvage.is_some() {
            let listed = self.storage.list_readable_sessions(self.caller).await;
            let Some(listed) = self.whole(("session", None), listed)? else { return Ok(()) };
            for session in self.names("session", listed) {
                if self.is_whole_session(&session).await? {
                    self.one_session(&session).await?;
                }
            }
            return Ok(());
        }
        let mut after: Option<SessionName> = None;
        loop {
            let listed =
                self.storage.list_session_names(self.caller, after.as_ref(), NAMES_PER_PAGE);
            let page = listed.await?;
            for session in &page {
                self.one_session(session).await?;
            }
            let Some(last) = page.into_iter().next_back() else { return Ok(()) };
            after = Some(last);
        }
    }

    async fn one_session(&mut self, session: &SessionName) -> Result<bool> {
        let mut noun = NounWriter::into_file(&mut self.frames);
        let found = self.storage.read_session(self.caller, session, &mut noun).await?;
        if found {
            noun.end().await?;
            self.counts.sessions += 1;
        }
        Ok(found)
    }

    /// In the order of namespace and key; those with contents are nouns of their own.
    async fn items_below(&mut self, prefix: &Namespace) -> Result<()> {
        let mut after: Option<Address> = None;
        loop {
            let read = self.storage.read_items(self.caller, prefix, after.as_ref(), self.now).await;
            if matches!(&read, Err(Error::Integrity(_))) && self.salvage.is_some() {
                return self.salvage_items(prefix, after.as_ref()).await;
            }
            let read = read?;
            self.put_items(read.items).await?;
            let Some(last) = read.last else { break };
            after = Some(last);
        }
        self.put_waiting().await
    }

    pub(super) async fn put_items(&mut self, items: Vec<StoredItem>) -> Result<()> {
        for item in items {
            if item.contents.is_empty() {
                self.counts.items += 1;
                self.waiting.bytes += item.record.size_bytes();
                self.waiting.items.push(item);
                if self.waiting.items.len() >= ITEMS_TOGETHER || self.waiting.bytes >= ITEMS_BYTES {
                    self.put_waiting().await?;
                }
            } else if self.has_whole_contents(&item).await? {
                self.counts.items += 1;
                self.put_waiting().await?;
                put_noun(&mut self.frames, self.storage, self.caller, vec![item]).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn put_waiting(&mut self) -> Result<()> {
        let Waiting { items, .. } = std::mem::take(&mut self.waiting);
        put_noun(&mut self.frames, self.storage, self.caller, items).await
    }

    async fn settings_below(&mut self, prefix: &Namespace) -> Result<()> {
        let listed = self.storage.list_namespace_settings(self.caller).await;
        for setting in self.whole(("setting", None), listed)?.unwrap_or_default() {
            if setting.namespace.starts_with(prefix) {
                let mut noun = NounWriter::into_file(&mut self.frames);
                noun.record(&Record::Setting((&setting).into())).await?;
                noun.end().await?;
                self.counts.settings += 1;
            }
        }
        Ok(())
    }

    /// The rule of a thread, or of the tenant.
    async fn policy(&mut self, thread_id: Option<&str>) -> Result<()> {
        let thread = thread_id.map(ThreadId::new).transpose()?;
        let read = self.storage.get_policy(self.caller, thread.as_ref()).await;
        if let Some(Some(policy)) = self.whole(("policy", thread_id), read)? {
            let mut noun = NounWriter::into_file(&mut self.frames);
            noun.record(&Record::Policy(policy.into())).await?;
            noun.end().await?;
            self.counts.policies += 1;
        }
        Ok(())
    }
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
