//! Reads threads for an export from the rows of either engine, and stages imported threads as rows. The SQL is the same for both engines.
//!
//! **Invariant:** staged rows have an entry in the garbage until the transaction that shows them removes it. So the sweep finds all that a
//! crash leaves. A sweep that comes first ends the whole import, never half of it.

mod bases;
pub mod copies;
pub mod items;
mod items_put;
mod moment;
mod readable;
mod reading;
pub mod sessions;
pub mod sessions_staged;
mod showing;
pub mod staging;
mod values;

use async_trait::async_trait;

use super::sessions::SessionEngine;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::export::items::{ItemExportStorage, ItemTimes, ItemsRead, StoredItem};
use crate::domain::export::records::{
    Existing, Readable, SessionHead, SessionRecord, SessionSink, Staged, ThreadHead, ThreadRecord,
    ThreadSink,
};
use crate::domain::export::storage::ExportStorage;
use crate::domain::sessions::name::SessionName;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::db::access::Access;
use crate::storage::files::contents::Roots;

#[async_trait]
impl<T: SessionEngine + Roots> ExportStorage for T {
    async fn read_thread(
        &self,
        caller: &Caller,
        thread_id: &str,
        sink: &mut dyn ThreadSink,
    ) -> Result<bool> {
        let secret = self.session_secret(&caller.tenant).await?;
        reading::read(self, (&caller.tenant, &secret), thread_id, sink).await
    }

    async fn begin_noun(&self, caller: &Caller) -> Result<Staged> {
        staging::begin(self, &caller.tenant).await
    }

    async fn stage_thread(
        &self,
        caller: &Caller,
        staged: &mut Staged,
        records: Vec<ThreadRecord>,
    ) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        staging::stage(self, (&caller.tenant, &secret), staged, records).await
    }

    async fn show_thread(
        &self,
        caller: &Caller,
        staged: &Staged,
        head: &ThreadHead,
        existing: Existing,
    ) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        let of = (caller.tenant.as_str(), &secret);
        let replaced = showing::show(self, of, (staged, head), existing).await?;
        self.session_chunks().forget(&caller.tenant, &head.thread_id);
        if let Some((thread_key, scope_id)) = replaced {
            self.remove_unreachable(&caller.tenant, thread_key, scope_id).await?;
        }
        Ok(())
    }

    async fn list_session_names(
        &self,
        caller: &Caller,
        after: Option<&SessionName>,
        limit: usize,
    ) -> Result<Vec<SessionName>> {
        sessions::names(self, &caller.tenant, after, limit).await
    }

    async fn has_session(&self, caller: &Caller, session: &SessionName) -> Result<bool> {
        sessions::has(self, &caller.tenant, session).await
    }

    async fn list_readable_threads(&self, caller: &Caller) -> Result<Readable<String>> {
        readable::threads(self, &caller.tenant).await
    }

    async fn list_readable_sessions(&self, caller: &Caller) -> Result<Readable<SessionName>> {
        readable::sessions(self, &caller.tenant).await
    }

    async fn read_session(
        &self,
        caller: &Caller,
        session: &SessionName,
        sink: &mut dyn SessionSink,
    ) -> Result<bool> {
        let secret = self.session_secret(&caller.tenant).await?;
        sessions::read(self, (&caller.tenant, &secret), session, sink).await
    }

    async fn stage_session(
        &self,
        caller: &Caller,
        staged: &mut Staged,
        records: Vec<SessionRecord>,
    ) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        sessions_staged::stage(self, (&caller.tenant, &secret), staged, records).await
    }

    async fn show_session(
        &self,
        caller: &Caller,
        staged: &Staged,
        head: &SessionHead,
        existing: Existing,
    ) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        let of = (caller.tenant.as_str(), &secret);
        let name = head.name()?;
        let replaced = sessions_staged::show(self, of, (staged, head, &name), existing).await?;
        self.sessions().forget(&caller.tenant, &head.name()?);
        if let Some((session_no, scope_id)) = replaced {
            self.remove_unreachable(&caller.tenant, session_no, scope_id).await?;
        }
        Ok(())
    }

    async fn drop_staged(&self, caller: &Caller, staged: &Staged) -> Result<()> {
        self.remove_unreachable(&caller.tenant, staged.key, staged.scope_id).await
    }
}

#[async_trait]
impl<T: SessionEngine + Roots> ItemExportStorage for T {
    async fn read_items(
        &self,
        caller: &Caller,
        prefix: &Namespace,
        after: Option<&Address>,
        now: Micros,
    ) -> Result<ItemsRead> {
        let secret = self.session_secret(&caller.tenant).await?;
        let ground = items::Ground {
            engine: self,
            tenant: &caller.tenant,
            secret: &secret,
            now,
            copies_of: None,
        };
        ground.page(prefix, after).await
    }

    async fn list_readable_items(
        &self,
        caller: &Caller,
        prefix: &Namespace,
        after: Option<&Address>,
    ) -> Result<Readable<Address>> {
        readable::items(self, &caller.tenant, (prefix, after)).await
    }

    async fn read_item(
        &self,
        caller: &Caller,
        address: &Address,
        now: Micros,
    ) -> Result<Option<StoredItem>> {
        let secret = self.session_secret(&caller.tenant).await?;
        let ground = items::Ground {
            engine: self,
            tenant: &caller.tenant,
            secret: &secret,
            now,
            copies_of: None,
        };
        ground.one(address).await
    }

    async fn put_items(
        &self,
        caller: &Caller,
        items: Vec<StoredItem>,
        (existing, now): (Existing, Micros),
    ) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        items_put::put(self, (&caller.tenant, &secret), items, (existing, now)).await
    }

    async fn keep_times(&self, caller: &Caller, items: &[ItemTimes]) -> Result<()> {
        items_put::keep_times(self, &caller.tenant, items).await
    }
}

/// A number, or null.
/// Whether something of the tenant was deleted here. Then somebody may hold a greater version of what is not here than a file has.
async fn has_removed(access: &mut dyn Access, tenant: &str) -> Result<bool> {
    let text = "select 1 from tenants where tenant = $1 and removed_at is not null";
    Ok(!access.rows(text, &[tenant.into()]).await?.is_empty())
}

/// What was staged is gone.
fn lost() -> Error {
    Error::Unavailable {
        detail: "the import took too long".into(),
        retry_after: std::time::Duration::from_secs(1),
    }
}

/// What was to be replaced went meanwhile.
fn removed() -> Error {
    Error::Unavailable {
        detail: "what was to be replaced was removed during the import".into(),
        retry_after: std::time::Duration::from_secs(1),
    }
}
