//! Reads one checkpoint with the history of its delta channels, in one read transaction.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::history::{Ground, Want, fill};
use super::views::{COLUMNS, CheckpointRow, Tenant, documents, load_views};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::Target;
use crate::domain::checkpoints::history::{Chain, channels_without_value};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::tokens::grants::Action;
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// A thread, perhaps with the checkpoint asked for.
pub(in crate::storage) struct FoundTarget {
    pub(in crate::storage) generation: String,
    ids: (i64, i64),
    owner: Option<String>,
    pub(in crate::storage) checkpoint: Option<CheckpointRow>,
}

impl SqliteStorage {
    pub(in crate::storage) async fn read_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<CheckpointTuple> {
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch)
            .reading((target.large_values, &target.wanted), &caller.memory);
        loop {
            let owned = (OwnedThread::by(caller, target.thread_id.as_str(), Action::Read), target);
            let found = self.try_checkpoint(tenant, owned, history_channels).await;
            if prefetch.is_complete() {
                return found;
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    async fn try_checkpoint(
        &self,
        tenant: Tenant<'_>,
        owned: (OwnedThread<'_>, &Target),
        history_channels: &[String],
    ) -> Result<CheckpointTuple> {
        let mut read = self.connections.begin_read_for(tenant.name).await?;
        let Some(found) = self.find_target(&mut read, owned, tenant.secret).await? else {
            read.end().await?;
            return Ok(CheckpointTuple::default());
        };
        let name = (tenant.name, owned.0.thread_id);
        let owner = found.owner.as_deref();
        self.chunks.scopes.saw_encrypted(tenant.secret, name, found.ids, owner);
        let mut answer =
            CheckpointTuple { generation: Some(found.generation), ..CheckpointTuple::default() };
        if let Some(row) = found.checkpoint {
            let rows = [row];
            let mut opened = OpenedBytes::of(tenant.memory, tenant.large_values);
            let views = vec![documents(tenant, &rows[0])?];
            let view = load_views(&mut read, tenant, (&rows, views), &mut opened).await?.pop();
            let [row] = rows;
            if let Some(view) = view {
                let asked = asked_of(tenant, &row, history_channels);
                let channels = channels_without_value(&view.delta_channels, &asked, &view.values);
                let ground = Ground { tenant, thread_key: row.thread_key, scope_id: row.scope_id };
                let mut wants =
                    [Want::new(&view.ns, view.parent.as_deref(), &channels, &view.bases)];
                let mut chain = Chain::default();
                fill(&mut read, ground, (&mut chain, &mut opened), &mut wants).await?;
                answer.history_channels = channels;
                answer.chain = chain;
                answer.view = Some(view);
            }
        }
        read.end().await?;
        Ok(answer)
    }

    pub(in crate::storage) async fn find_target(
        &self,
        connection: &mut SqliteConnection,
        (thread, target): (OwnedThread<'_>, &Target),
        secret: &TenantSecret,
    ) -> Result<Option<FoundTarget>> {
        let statement = format!(
            "select t.thread_id, t.thread_key, t.scope_id, t.generation, t.owner, t.mac, {COLUMNS}
             from threads t
             left join checkpoints c on c.tenant = t.tenant and c.thread_key = t.thread_key and c.ns = $3
                 and c.checkpoint_id = coalesce($4, (
                     select max(m.checkpoint_id) from checkpoints m
                     where m.tenant = t.tenant and m.thread_key = t.thread_key and m.ns = $3))
             where t.tenant = $1 and t.thread_id = $2 and ($5 is null or t.owner = $5)"
        );
        let row = sqlx::query(AssertSqlSafe(statement))
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(target.ns.as_str())
            .bind(target.id.as_ref().map(|id| id.as_str().to_owned()))
            .bind(thread.owner)
            .fetch_optional(connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let id: Option<String> = row.try_get("checkpoint_id")?;
        let scope_id = row.try_get("scope_id")?;
        let thread_key = row.try_get("thread_key")?;
        let owner: Option<String> = row.try_get("owner")?;
        let mac: Option<Vec<u8>> = row.try_get("mac")?;
        OwnerRow::thread(thread.thread_id, (thread_key, scope_id), owner.as_deref())
            .check(secret, mac.as_deref())?;
        let thread = (row.try_get("thread_id")?, thread_key, scope_id);
        Ok(Some(FoundTarget {
            ids: (thread_key, scope_id),
            owner,
            generation: row.try_get("generation")?,
            checkpoint: id.map(|_| CheckpointRow::read(&row, thread)).transpose()?,
        }))
    }
}

/// Those of the channels asked for that have a version in this checkpoint.
fn asked_of(tenant: Tenant<'_>, row: &CheckpointRow, channels: &[String]) -> Vec<String> {
    let known = |channel: &&String| {
        channel_map::value_no(&row.map, channel_key(tenant.secret, channel)).is_some()
    };
    channels.iter().filter(known).cloned().collect()
}
