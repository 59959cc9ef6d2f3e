//! Exports and imports snapshots: reads their content, and writes it under a number of this database.

use async_trait::async_trait;

use super::rows::insert;
use super::{SnapshotEngine, archives, leftovers, removal};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_id};
use crate::domain::export::items::{ItemsRead, StoredItem};
use crate::domain::export::records::{Existing, SessionHead, Staged};
use crate::domain::names::SnapshotId;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::SNAPSHOT;
use crate::domain::snapshots::export::{ArrivedSnapshot, SnapshotExportStorage};
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::export::{copies, items, sessions_staged};
use crate::storage::tenants::audit_rows::record;

#[async_trait]
impl<T: SnapshotEngine> SnapshotExportStorage for T {
    async fn read_snapshot_items(
        &self,
        caller: &Caller,
        number: i64,
        prefix: &Namespace,
        after: Option<&Address>,
    ) -> Result<ItemsRead> {
        let (tenant, secret) = (&caller.tenant, self.session_secret(&caller.tenant).await?);
        // All of them: how long they live is the business of whoever restores them.
        let now = Micros::MIN;
        let ground =
            items::Ground { engine: self, tenant, secret: &secret, now, copies_of: Some(number) };
        ground.page(prefix, after).await
    }

    async fn snapshot_digest(&self, caller: &Caller, id: &SnapshotId) -> Result<Option<Vec<u8>>> {
        let text = "select digest from snapshots where tenant = $1 and snapshot_id = $2";
        let binds = [caller.tenant.as_str().into(), id.as_str().into()];
        let rows = self.read_rows(&caller.tenant, text, &binds).await?;
        rows.first().map(|row| row.bytes(0).map(<[u8]>::to_vec)).transpose()
    }

    async fn begin_snapshot(&self, caller: &Caller) -> Result<i64> {
        let number = random_id();
        let mut access = self.begin_write().await?;
        leftovers::note(access.as_mut(), &caller.tenant, number, Clock::System.now()).await?;
        access.end().await?;
        Ok(number)
    }

    async fn renew_snapshot(&self, caller: &Caller, number: i64) -> Result<()> {
        let text = "update snapshot_leftovers set created_at = $3
            where tenant = $1 and snapshot_no = $2 and created_at > 0 returning snapshot_no";
        let binds = [caller.tenant.as_str().into(), number.into(), Clock::System.now().into()];
        let mut access = self.begin_write().await?;
        if access.rows(text, &binds).await?.is_empty() {
            return Err(super::restore::again("the import took too long"));
        }
        access.end().await
    }

    async fn keep_session(
        &self,
        caller: &Caller,
        number: i64,
        staged: &Staged,
        head: &SessionHead,
    ) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        let name = head.name()?;
        let hidden = SessionName::stored(name.hidden_kind(number), &name.key_bytes());
        let hidden = hidden.ok_or(Error::NotFound(SNAPSHOT))?;
        let of = (caller.tenant.as_str(), &secret);
        let staged = (staged, head, &hidden);
        sessions_staged::show(self, of, staged, Existing::Refuse).await.map(drop)
    }

    async fn keep_items(&self, caller: &Caller, number: i64, items: Vec<StoredItem>) -> Result<()> {
        let secret = self.session_secret(&caller.tenant).await?;
        copies::put(self, (&caller.tenant, &secret), number, &items).await
    }

    async fn show_snapshot(&self, caller: &Caller, arrived: ArrivedSnapshot<'_>) -> Result<bool> {
        let ArrivedSnapshot { snapshot, digest, replaces } = arrived;
        let tenant = caller.tenant.as_str();
        let secret = self.session_secret(tenant).await?;
        let mut access = self.begin_write().await?;
        if !leftovers::settle(access.as_mut(), tenant, snapshot.no).await? {
            return Err(super::restore::again("the import took too long"));
        }
        if let Some((number, act)) = replaces
            && removal::forget(access.as_mut(), tenant, number, act.at).await?
        {
            record(access.as_mut(), act).await?;
        }
        if !insert(access.as_mut(), (tenant, &secret), snapshot, digest).await? {
            // Not ended: nothing is settled, and what was there stays.
            return Ok(false);
        }
        if let Some(archive) = &snapshot.archive {
            archives::show(access.as_mut(), (tenant, snapshot.no), archive.id).await?;
            archives::keep_time(access.as_mut(), tenant, archive).await?;
        }
        access.end().await?;
        if let Some((number, _)) = replaces {
            leftovers::remove(self, tenant, number, Clock::System.now()).await?;
        }
        Ok(true)
    }

    async fn drop_snapshot(&self, caller: &Caller, number: i64) -> Result<()> {
        leftovers::remove(self, &caller.tenant, number, Clock::System.now()).await
    }
}
