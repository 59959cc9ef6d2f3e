//! Reads for the packer: cold scopes, their content and their packs.

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::clock::Micros;
use crate::domain::{Error, Result};
use crate::storage::content::postgres::lists_in_order;
use crate::storage::content::reachability::Leaves;
use crate::storage::files::contents::packing;
use crate::storage::objects::pack_location::{PackId, PackLocation};
use crate::storage::objects::packs::{
    ColdScopes, Coldness, NewPack, PackStorage, Scope, StoredPack,
};
use crate::storage::postgres::PostgresStorage;

/// Threads looked at by one statement.
const SLICE_THREADS: i64 = 1_000;
const SPARSE_MAX: i64 = 200;

/// $1 tenant and $2 thread after which to begin, $3 threads, $4 untouched since, $5 least bytes of a thread.
const LIST_COLD: &str = r"
with slice as materialized (
    select tenant, thread_id, scope_id, updated_at, size_bytes from threads
    where (tenant, thread_id) > ($1, $2) order by tenant, thread_id limit $3
)
select s.tenant, s.thread_id, s.scope_id, n.touched, coalesce(p.packed_at, -1) < n.touched as cold
from slice s
left join lateral (
    select max(x.updated_at) as touched from threads x
    where s.size_bytes >= $5 and s.updated_at < $4 and x.tenant = s.tenant and x.scope_id = s.scope_id
    having max(x.updated_at) < $4) n on true
left join lateral (
    select packed_at from scope_packing p
    where n.touched is not null and p.tenant = s.tenant and p.scope_id = s.scope_id limit 1) p on true
order by s.tenant, s.thread_id
";

#[async_trait]
impl PackStorage for PostgresStorage {
    async fn tenant_secret(&self, tenant: &str) -> Result<TenantSecret> {
        self.secret(tenant).await
    }

    async fn list_cold(&self, after: (&str, &str), coldness: Coldness) -> Result<ColdScopes> {
        let rows = sqlx::query(LIST_COLD)
            .bind(after.0)
            .bind(after.1)
            .bind(SLICE_THREADS)
            .bind(coldness.untouched_since)
            .bind(coldness.size_bytes_min)
            .fetch_all(&mut *self.pool.get().await?)
            .await?;
        let cold = rows.iter().filter(|row| row.get::<Option<bool>, _>("cold") == Some(true));
        let last = rows.last().map(|row| (row.get("tenant"), row.get("thread_id")));
        Ok(ColdScopes {
            cold: cold.map(|row| (scope_of(row), row.get("touched"))).collect(),
            next: last.filter(|_| rows.len() as u64 == SLICE_THREADS.unsigned_abs()),
        })
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
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(claimed.rows_affected() == 1)
    }

    async fn finish_scope(&self, scope: &Scope, touched: Option<Micros>) -> Result<()> {
        sqlx::query(
            "update scope_packing set packed_at = coalesce($3, packed_at), claimed_until = 0
             where tenant = $1 and scope_id = $2",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(touched)
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(())
    }

    async fn list_leaves(&self, scope: &Scope) -> Result<Vec<Name>> {
        let mut connection = self.pool.get().await?;
        let mut leaves = Leaves::default();
        for list in lists_in_order(&mut connection, &scope.tenant, scope.id).await? {
            leaves.add_list(&list)?;
        }
        let nodes = sqlx::query(
            "select name, body from chunks
             where tenant = $1 and scope_id = $2 and name = any ($3)",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(leaves.nodes())
        .fetch_all(&mut *connection)
        .await?;
        drop(connection);
        for row in &nodes {
            leaves.add_node(row.get("name"), row.get("body"))?;
        }
        Ok(leaves.in_order())
    }

    async fn read_unpacked(&self, scope: &Scope, names: &[Name]) -> Result<Vec<(Name, Vec<u8>)>> {
        let rows = sqlx::query(
            "select k.name, k.body from unnest($3::bytea[]) n (name)
             cross join lateral (select k.name, k.body from chunks k
                where k.tenant = $1 and k.scope_id = $2 and k.name = n.name limit 1) k
             where get_byte(k.body, 0) <> 2",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(names.iter().map(|name| name.to_vec()).collect::<Vec<_>>())
        .fetch_all(&mut *self.pool.get().await?)
        .await?;
        rows.iter().map(|row| Ok((name_of(row)?, row.get("body")))).collect()
    }

    async fn list_places(&self, scope: &Scope) -> Result<Vec<(PackLocation, Name)>> {
        let rows = sqlx::query(
            "select name, body from chunks where tenant = $1 and scope_id = $2
                and octet_length(body) = 25 and get_byte(body, 0) = 2",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .fetch_all(&mut *self.pool.get().await?)
        .await?;
        let places = rows.iter().map(|row| {
            let place = PackLocation::read(row.get("body"))?;
            Ok((place.expect("the statement looked at the format"), name_of(row)?))
        });
        places.collect()
    }

    async fn list_packs(&self, scope: Option<&Scope>) -> Result<Vec<StoredPack>> {
        let rows = sqlx::query(
            "select tenant, scope_id, pack_id, size_bytes, live_bytes from packs
             where $1::text is null or (tenant = $1 and scope_id = $2)
             order by created_at, tenant, scope_id, pack_id",
        )
        .bind(scope.map(|it| it.tenant.clone()))
        .bind(scope.map(|it| it.id))
        .fetch_all(&mut *self.pool.get().await?)
        .await?;
        rows.iter().map(pack_of).collect()
    }

    async fn list_sparse(&self) -> Result<Vec<StoredPack>> {
        let rows = sqlx::query(
            "select tenant, scope_id, pack_id, size_bytes, live_bytes from packs
             where live_bytes * 2 < size_bytes order by tenant, scope_id limit $1",
        )
        .bind(SPARSE_MAX)
        .fetch_all(&mut *self.pool.get().await?)
        .await?;
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

fn scope_of(row: &PgRow) -> Scope {
    Scope { tenant: row.get("tenant"), id: row.get("scope_id") }
}

fn pack_of(row: &PgRow) -> Result<StoredPack> {
    Ok(StoredPack {
        scope: scope_of(row),
        id: id_of(row)?,
        size_bytes: row.get("size_bytes"),
        live_bytes: row.get("live_bytes"),
    })
}

pub(in crate::storage) fn id_of(row: &PgRow) -> Result<PackId> {
    let damaged = |_| Error::Integrity("the id of a pack has a wrong length".into());
    row.get::<&[u8], _>("pack_id").try_into().map_err(damaged)
}

pub(in crate::storage) fn name_of(row: &PgRow) -> Result<Name> {
    let damaged = |_| Error::Integrity("the name of a chunk has a wrong length".into());
    row.get::<&[u8], _>("name").try_into().map_err(damaged)
}
