//! Leaves damaged records out of an export. It reads each record once before it writes it, so that the file contains only complete
//! records.

use super::items::write_items;
use super::nouns::NounWriter;
use super::snapshots::write_snapshot;
use super::write::Writer;
use crate::domain::export::items::{StoredItem, shown};
use crate::domain::export::records::Readable;
use crate::domain::names::SnapshotId;
use crate::domain::sessions::name::SessionName;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};

/// Something that is not in the file, because it cannot be read or does not match its digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `thread`, `session`, `item`, `file`, `snapshot`, `setting`, `policy`, or `row` of anything else.
    pub kind: &'static str,
    /// None: its name cannot be read.
    pub name: Option<String>,
    pub reason: String,
}

/// Takes what is left out. None: damage ends the export.
pub type Salvage<'a> = Option<&'a mut (dyn FnMut(LeftOut) + Send)>;

impl Writer<'_, '_, '_> {
    /// Leaves something out that is damaged, where that is wanted.
    pub(super) fn whole<T>(
        &mut self,
        (kind, name): (&'static str, Option<&str>),
        read: Result<T>,
    ) -> Result<Option<T>> {
        match (read, &mut self.salvage) {
            (Err(Error::Integrity(reason)), Some(left_out)) => {
                left_out(LeftOut { kind, name: name.map(str::to_owned), reason });
                Ok(None)
            }
            (read, _) => read.map(Some),
        }
    }

    /// Whether a thread can be read to its end.
    pub(super) async fn is_whole_thread(&mut self, thread_id: &str) -> Result<bool> {
        if self.salvage.is_none() {
            return Ok(true);
        }
        let mut noun = NounWriter::comparing(&self.caller.tenant, None);
        let read = self.storage.read_thread(self.caller, thread_id, &mut noun).await;
        Ok(self.whole(("thread", Some(thread_id)), read)?.is_some())
    }

    pub(super) async fn is_whole_session(&mut self, session: &SessionName) -> Result<bool> {
        if self.salvage.is_none() {
            return Ok(true);
        }
        let mut noun = NounWriter::comparing(&self.caller.tenant, None);
        let read = self.storage.read_session(self.caller, session, &mut noun).await;
        let name = name_of(session);
        Ok(self.whole(("session", Some(&name)), read)?.is_some())
    }

    pub(super) async fn is_whole_snapshot(&mut self, id: &SnapshotId) -> Result<bool> {
        if self.salvage.is_none() {
            return Ok(true);
        }
        let read = async {
            match self.storage.get_snapshot(self.caller, id, Action::Read).await? {
                Some(it) => write_snapshot(self.storage, self.caller, None, &it).await.map(drop),
                None => Ok(()),
            }
        };
        let read = read.await;
        Ok(self.whole(("snapshot", Some(id.as_str())), read)?.is_some())
    }

    /// Whether the contents of an item can be read to their end; its record was.
    pub(super) async fn has_whole_contents(&mut self, item: &StoredItem) -> Result<bool> {
        if self.salvage.is_none() {
            return Ok(true);
        }
        let mut noun = NounWriter::comparing(&self.caller.tenant, None);
        let items = vec![item.clone()];
        let read = write_items(&mut noun, self.storage, self.caller, items).await;
        Ok(self.whole(("file", Some(&shown(&item.record.address))), read)?.is_some())
    }

    /// Names, and what of them could not be read.
    pub(super) fn names<T>(&mut self, kind: &'static str, readable: Readable<T>) -> Vec<T> {
        if let Some(left_out) = &mut self.salvage {
            for reason in readable.unread {
                left_out(LeftOut { kind, name: None, reason });
            }
        }
        readable.names
    }

    /// Items below a prefix one by one, from one on: somewhere behind it there is damage.
    pub(super) async fn salvage_items(
        &mut self,
        prefix: &Namespace,
        after: Option<&Address>,
    ) -> Result<()> {
        let listed = self.storage.list_readable_items(self.caller, prefix, after).await;
        let Some(listed) = self.whole(("item", None), listed)? else { return Ok(()) };
        for address in self.names("item", listed) {
            let read = self.storage.read_item(self.caller, &address, self.now).await;
            if let Some(Some(item)) = self.whole(("item", Some(&shown(&address))), read)? {
                self.put_items(vec![item]).await?;
            }
        }
        self.put_waiting().await
    }
}

/// Kind and key as the command line takes them.
pub fn name_of(session: &SessionName) -> String {
    std::iter::once(session.kind())
        .chain(session.key().iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("/")
}
