//! Reads for the packer: cold scopes, their content and their packs.

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::clock::Micros;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::sqlite::chunks::read_chunks;
use crate::storage::files::contents::packing;
use crate::storage::objects::pack_location::{PackId, PackLocation};
use crate::storage::objects::packs::{
    ColdScopes, Coldness, NewPack, PackStorage, Scope, StoredPack,
};
use crate::storage::sqlite::SqliteStorage;

/// Threads looked at by one statement.
const SLICE_THREADS: i64 = 1_000;
const SPARSE_MAX: i64 = 200;

/// $1 tenant and $2 thread after which to begin, $3 threads, $4 untouched since, $5 least bytes of a thread.
const LIST_COLD: &str = "
with slice as materialized (
    select tenant, thread_id, scope_id, updated_at, size_bytes from threads
    where (tenant, thread_id) > ($1, $2) order by tenant, thread_id limit $3
), dated as materialized (
    select s.tenant, s.thread_id, s.scope_id, case when s.size_bytes >= $5 and s.updated_at < $4 then (
        select max(x.updated_at) from threads x where x.tenant = s.tenant and x.scope_id = s.scope_id)
        end as touched
    from slice s
)
select d.tenant, d.thread_id, d.scope_id, d.touched,
    coalesce(d.touched < $4, 0) and coalesce(p.packed_at, -1) < d.touched as cold
from dated d left join scope_packing p on p.tenant = d.tenant and p.scope_id = d.scope_id
order by d.tenant, d.thread_id";

#[async_trait]
impl PackStorage for SqliteStorage {
    async fn tenant_secret(&self, tenant: &str) -> Result<TenantSecret> {
        self.secret(tenant).await
    }

    async fn list_cold(&self, after: (&str, &str), coldness: Coldness) -> Result<ColdScopes> {
        let mut read = self.connections.begin_read().await?;
        let rows = sqlx::query(LIST_COLD)
            .bind(after.0)
            .bind(after.1)
            .bind(SLICE_THREADS)
            .bind(coldness.untouched_since)
            .bind(coldness.size_bytes_min)
            .fetch_all(&mut *read)
            .await?;
        read.end().await?;
        let mut slice = ColdScopes::default();
        for row in &rows {
            if row.try_get::<Option<bool>, _>("cold")? == Some(true) {
                let touched = row.try_get("touched")?;
                slice.cold.push((scope_of(row)?, touched));
            }
        }
        if let Some(last) =
            rows.last().filter(|_| rows.len() as u64 == SLICE_THREADS.unsigned_abs())
        {
            let tenant = last.try_get("tenant")?;
            slice.next = Some((tenant, last.try_get("thread_id")?));
        }
        Ok(slice)
    }

    async fn list_cold_contents(&self) -> Result<Vec<(Scope, Micros)>> {
        packing::list_cold(self).await
    }

    async fn claim_scope(
        &self,
        scope: &Scope,
        touched: Option<Micros>,
        now: Micros,
        until: Micros,
    ) -> Result<bool> {
        let mut write = self.connections.begin_write().await?;
        let claimed = sqlx::query(
            "insert into scope_packing as p (tenant, scope_id, packed_at, claimed_until)
             values ($1, $2, -1, $5)
             on conflict (tenant, scope_id) do update set claimed_until = excluded.claimed_until
                where p.claimed_until <= $4 and p.packed_at < coalesce($3, $4)",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(touched)
        .bind(now)
        .bind(until)
        .execute(&mut *write)
        .await?;
        write.commit().await?;
        Ok(claimed.rows_affected() == 1)
    }

    async fn finish_scope(&self, scope: &Scope, touched: Option<Micros>) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "update scope_packing set packed_at = coalesce($3, packed_at), claimed_until = 0
             where tenant = $1 and scope_id = $2",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(touched)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    async fn list_leaves(&self, scope: &Scope) -> Result<Vec<Name>> {
        self.leaves_of(scope).await
    }

    async fn read_unpacked(&self, scope: &Scope, names: &[Name]) -> Result<Vec<(Name, Vec<u8>)>> {
        let mut read = self.connections.begin_read().await?;
        let place = (scope.tenant.as_str(), scope.id);
        let names = names.iter().map(|name| &name[..]);
        let found = read_chunks(&mut read, place, names).await?;
        read.end().await?;
        let mut unpacked = Vec::with_capacity(found.len());
        for (name, body) in found {
            if PackLocation::read(&body)?.is_none() {
                unpacked.push((name_of(&name)?, body));
            }
        }
        Ok(unpacked)
    }

    async fn list_places(&self, scope: &Scope) -> Result<Vec<(PackLocation, Name)>> {
        let mut read = self.connections.begin_read().await?;
        let places = read_places(&mut read, (&scope.tenant, scope.id)).await?;
        read.end().await?;
        Ok(places)
    }

    async fn list_packs(&self, scope: Option<&Scope>) -> Result<Vec<StoredPack>> {
        let mut read = self.connections.begin_read().await?;
        let rows = sqlx::query(
            "select tenant, scope_id, pack_id, size_bytes, live_bytes from packs
             where $1 is null or (tenant = $1 and scope_id = $2)
             order by created_at, tenant, scope_id, pack_id",
        )
        .bind(scope.map(|it| it.tenant.clone()))
        .bind(scope.map(|it| it.id))
        .fetch_all(&mut *read)
        .await?;
        read.end().await?;
        rows.iter().map(pack_of).collect()
    }

    async fn list_sparse(&self) -> Result<Vec<StoredPack>> {
        let mut read = self.connections.begin_read().await?;
        let rows = sqlx::query(
            "select tenant, scope_id, pack_id, size_bytes, live_bytes from packs
             where live_bytes * 2 < size_bytes order by tenant, scope_id limit $1",
        )
        .bind(SPARSE_MAX)
        .fetch_all(&mut *read)
        .await?;
        read.end().await?;
        rows.iter().map(pack_of).collect()
    }

    async fn intend(&self, scope: &Scope, pack: &PackId, now: Micros) -> Result<()> {
        self.insert_upload(scope, pack, now).await
    }

    async fn install(&self, scope: &Scope, pack: &NewPack, now: Micros) -> Result<i64> {
        self.install_pack(scope, pack, now).await
    }

    async fn drop_empty(&self, now: Micros) -> Result<()> {
        self.drop_empty_packs(now).await
    }

    async fn expire_uploads(&self, before: Micros, now: Micros) -> Result<u64> {
        self.delete_uploads(before, now).await
    }

    async fn claim_deletions(
        &self,
        dropped_before: Micros,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<(String, PackId)>> {
        self.take_deletions(dropped_before, now, until).await
    }

    async fn finish_deletions(&self, done: &[(String, PackId)]) -> Result<()> {
        self.forget_deletions(done).await
    }

    async fn put_staged(
        &self,
        scope: &Scope,
        thread_key: i64,
        chunks: &[(Name, Bytes)],
    ) -> Result<()> {
        self.insert_staged(scope, thread_key, chunks).await
    }
}

/// Places of all packed chunks of a scope.
pub(in crate::storage) async fn read_places(
    connection: &mut SqliteConnection,
    place: (&str, i64),
) -> Result<Vec<(PackLocation, Name)>> {
    let rows = sqlx::query(
        "select name, body from chunks
         where tenant = $1 and scope_id = $2 and length(body) = 25 and substr(body, 1, 1) = x'02'",
    )
    .bind(place.0)
    .bind(place.1)
    .fetch_all(connection)
    .await?;
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        let name = name_of(&row.try_get::<Vec<u8>, _>(0)?)?;
        let place = PackLocation::read(&row.try_get::<Vec<u8>, _>(1)?)?;
        places.extend(place.map(|place| (place, name)));
    }
    Ok(places)
}

fn scope_of(row: &SqliteRow) -> Result<Scope> {
    Ok(Scope { tenant: row.try_get("tenant")?, id: row.try_get("scope_id")? })
}

fn pack_of(row: &SqliteRow) -> Result<StoredPack> {
    Ok(StoredPack {
        scope: scope_of(row)?,
        id: id_of(row)?,
        size_bytes: row.try_get("size_bytes")?,
        live_bytes: row.try_get("live_bytes")?,
    })
}

pub(in crate::storage) fn id_of(row: &SqliteRow) -> Result<PackId> {
    let id: Vec<u8> = row.try_get("pack_id")?;
    id.try_into().map_err(|_| Error::Integrity("the id of a pack has a wrong length".into()))
}

pub(in crate::storage) fn name_of(name: &[u8]) -> Result<Name> {
    let damaged = |_| Error::Integrity("the name of a chunk has a wrong length".into());
    name.try_into().map_err(damaged)
}
