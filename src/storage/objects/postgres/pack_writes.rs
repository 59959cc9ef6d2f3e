//! Writes the rows of the packer: intents, packs, the outbox. Chunks change under their scope lock.

use std::collections::HashMap;

use bytes::Bytes;
use sqlx::Row;

use super::packs::{id_of, name_of};
use crate::content::parts::Name;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::storage::objects::pack_location::{PackId, PackLocation};
use crate::storage::objects::packs::{NewPack, Scope, bytes_by_pack};
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;

/// Objects that one claim takes.
const DELETIONS: i64 = 100;

impl PostgresStorage {
    pub(in crate::storage) async fn insert_upload(
        &self,
        scope: &Scope,
        pack: &PackId,
        now: Micros,
    ) -> Result<()> {
        sqlx::query(
            "insert into uploads (tenant, pack_id, scope_id, created_at) values ($1, $2, $3, $4)",
        )
        .bind(&scope.tenant)
        .bind(&pack[..])
        .bind(scope.id)
        .bind(now)
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(())
    }

    /// The epoch stays: every name that was known to be in the scope still is.
    pub(in crate::storage) async fn install_pack(
        &self,
        scope: &Scope,
        pack: &NewPack,
        now: Micros,
    ) -> Result<i64> {
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await?;
        let wanted = lock_for(&mut transaction, scope, &pack.id).await?;
        let mut live = 0;
        if wanted {
            let (moved, left) = point(&mut transaction, scope, pack).await?;
            live = moved;
            release(&mut transaction, scope, left, Some(now)).await?;
        }
        let row = if live > 0 {
            "insert into packs (tenant, scope_id, pack_id, size_bytes, live_bytes, created_at)
             values ($1, $2, $3, $4, $5, $6)"
        } else {
            "insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
             select $1, $3, $6, 0 where $2 is not null and $4 + $5 is not null
             on conflict do nothing"
        };
        sqlx::query(row)
            .bind(&scope.tenant)
            .bind(scope.id)
            .bind(&pack.id[..])
            .bind(pack.size_bytes)
            .bind(live)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(live)
    }

    pub(in crate::storage) async fn drop_empty_packs(&self, now: Micros) -> Result<()> {
        sqlx::query(
            "with gone as (delete from packs where live_bytes <= 0 returning tenant, pack_id)
             insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
             select tenant, pack_id, $1, 0 from gone",
        )
        .bind(now)
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(())
    }

    pub(in crate::storage) async fn delete_uploads(
        &self,
        before: Micros,
        now: Micros,
    ) -> Result<u64> {
        let done = sqlx::query(
            "with gone as (delete from uploads where created_at < $1 returning tenant, pack_id)
             insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
             select tenant, pack_id, $2, 0 from gone on conflict do nothing",
        )
        .bind(before)
        .bind(now)
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(done.rows_affected())
    }

    pub(in crate::storage) async fn take_deletions(
        &self,
        dropped_before: Micros,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<(String, PackId)>> {
        let rows = sqlx::query(
            "update object_deletions d set claimed_until = $3
             from (select tenant, pack_id from object_deletions
                where dropped_at <= $1 and claimed_until <= $2
                order by dropped_at limit $4 for update skip locked) due
             where d.tenant = due.tenant and d.pack_id = due.pack_id
             returning d.tenant, d.pack_id",
        )
        .bind(dropped_before)
        .bind(now)
        .bind(until)
        .bind(DELETIONS)
        .fetch_all(&mut *self.pool.get().await?)
        .await?;
        rows.iter().map(|row| Ok((row.get("tenant"), id_of(row)?))).collect()
    }

    pub(in crate::storage) async fn forget_deletions(
        &self,
        done: &[(String, PackId)],
    ) -> Result<()> {
        let (tenants, packs): (Vec<&str>, Vec<&[u8]>) =
            done.iter().map(|(tenant, pack)| (tenant.as_str(), &pack[..])).unzip();
        sqlx::query(
            "delete from object_deletions d using unnest($1::text[], $2::bytea[]) o (tenant, pack_id)
             where d.tenant = o.tenant and d.pack_id = o.pack_id",
        )
        .bind(tenants)
        .bind(packs)
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(())
    }

    pub(in crate::storage) async fn insert_staged(
        &self,
        scope: &Scope,
        thread_key: i64,
        chunks: &[(Name, Bytes)],
    ) -> Result<()> {
        let (names, bodies): (Vec<&[u8]>, Vec<&[u8]>) =
            chunks.iter().map(|(name, body)| (&name[..], &body[..])).unzip();
        sqlx::query(
            "insert into chunks (tenant, scope_id, name, body)
             select $1, $2, n.name, n.body from unnest($4::bytea[], $5::bytea[]) n (name, body)
             where exists (select from garbage where tenant = $1 and thread_key = $3)
             on conflict do nothing",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(thread_key)
        .bind(names)
        .bind(bodies)
        .execute(&mut *self.pool.get().await?)
        .await?;
        Ok(())
    }
}

/// Locks the scope and takes the intent back. Answers whether the pack is still wanted: the intent was there, and somebody
/// holds the scope.
async fn lock_for(connection: &mut Connection, scope: &Scope, pack: &PackId) -> Result<bool> {
    let locked =
        sqlx::query("select epoch from scopes where tenant = $1 and scope_id = $2 for update")
            .bind(&scope.tenant)
            .bind(scope.id)
            .fetch_optional(&mut *connection)
            .await?;
    let row = sqlx::query(
        "with intent as (
            delete from uploads where tenant = $1 and pack_id = $3 returning 1
         )
         select exists (select from intent) and exists (
            select from scope_holders where tenant = $1 and scope_id = $2) as wanted",
    )
    .bind(&scope.tenant)
    .bind(scope.id)
    .bind(&pack[..])
    .fetch_one(&mut *connection)
    .await?;
    Ok(locked.is_some() && row.get("wanted"))
}

/// Points the chunks that still exist, and are not in a pack but one of those replaced, to the new pack. Answers its bytes
/// that are alive, and the places that were left.
async fn point(
    connection: &mut Connection,
    scope: &Scope,
    pack: &NewPack,
) -> Result<(i64, Vec<PackLocation>)> {
    let places: HashMap<Name, PackLocation> = pack.chunks.iter().copied().collect();
    let names: Vec<&[u8]> = pack.chunks.iter().map(|(name, _)| &name[..]).collect();
    let replaced: Vec<&[u8]> = pack.replaces.iter().map(|id| &id[..]).collect();
    let rows = sqlx::query(
        "select k.name, case when get_byte(k.body, 0) = 2 then k.body end as place
         from unnest($3::bytea[]) n (name) cross join lateral (
            select k.name, k.body from chunks k
            where k.tenant = $1 and k.scope_id = $2 and k.name = n.name limit 1) k
         where get_byte(k.body, 0) <> 2 or substring(k.body from 2 for 16) = any ($4)",
    )
    .bind(&scope.tenant)
    .bind(scope.id)
    .bind(names)
    .bind(replaced)
    .fetch_all(&mut *connection)
    .await?;
    let (mut live, mut left) = (0, Vec::new());
    let (mut names, mut bodies) = (Vec::new(), Vec::new());
    for row in &rows {
        let name = name_of(row)?;
        let place = places[&name];
        live += i64::from(place.length);
        names.push(name.to_vec());
        bodies.push(place.body());
        if let Some(body) = row.get::<Option<&[u8]>, _>("place") {
            left.extend(PackLocation::read(body)?);
        }
    }
    sqlx::query(
        "update chunks k set body = n.body from unnest($3::bytea[], $4::bytea[]) n (name, body)
         where k.tenant = $1 and k.scope_id = $2 and k.name = n.name",
    )
    .bind(&scope.tenant)
    .bind(scope.id)
    .bind(names)
    .bind(bodies)
    .execute(connection)
    .await?;
    Ok((live, left))
}

/// Takes what chunks no longer point to off their packs, under the scope lock; a pack with nothing left goes to the outbox.
pub(in crate::storage) async fn release(
    connection: &mut Connection,
    scope: &Scope,
    places: Vec<PackLocation>,
    now: Option<Micros>,
) -> Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let (packs, bytes): (Vec<Vec<u8>>, Vec<i64>) =
        bytes_by_pack(places).into_iter().map(|(pack, bytes)| (pack.to_vec(), bytes)).unzip();
    sqlx::query(
        "with lost as materialized (
            select * from unnest($3::bytea[], $4::bigint[]) l (pack_id, bytes)
         ), reduced as (
            update packs p set live_bytes = p.live_bytes - l.bytes from lost l
            where p.tenant = $1 and p.scope_id = $2 and p.pack_id = l.pack_id
                and p.live_bytes > l.bytes
         ), gone as (
            delete from packs p using lost l
            where p.tenant = $1 and p.scope_id = $2 and p.pack_id = l.pack_id
                and p.live_bytes <= l.bytes
            returning p.tenant, p.pack_id
         )
         insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
         select tenant, pack_id, coalesce($5, case when not exists (
                select from garbage where tenant = $1 and scope_id = $2 and erased)
            then (extract(epoch from clock_timestamp()) * 1000000)::bigint end, 0), 0
         from gone",
    )
    .bind(&scope.tenant)
    .bind(scope.id)
    .bind(packs)
    .bind(bytes)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}
