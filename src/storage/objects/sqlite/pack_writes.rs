//! Writes the rows of the packer: intents, packs, the outbox. A pack is installed in slices, and batches are written between them. Its
//! count of living bytes grows with each slice, so that it is true whenever the server dies.

use bytes::Bytes;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::packs::{id_of, name_of};
use crate::content::parts::Name;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::storage::objects::pack_location::{PackId, PackLocation};
use crate::storage::objects::packs::{NewPack, Scope, bytes_by_pack};
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::RowSet;

/// Chunks that one transaction points to a pack: some milliseconds.
const SLICE_CHUNKS: usize = 500;
/// Objects that one claim takes.
const DELETIONS: i64 = 100;

impl SqliteStorage {
    pub(in crate::storage) async fn insert_upload(
        &self,
        scope: &Scope,
        pack: &PackId,
        now: Micros,
    ) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "insert into uploads (tenant, pack_id, scope_id, created_at) values ($1, $2, $3, $4)",
        )
        .bind(&scope.tenant)
        .bind(pack.to_vec())
        .bind(scope.id)
        .bind(now)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    /// The epoch stays: every name that was known to be in the scope still is.
    pub(in crate::storage) async fn install_pack(
        &self,
        scope: &Scope,
        pack: &NewPack,
        now: Micros,
    ) -> Result<i64> {
        let mut live = 0;
        for (at, slice) in pack.chunks.chunks(SLICE_CHUNKS).enumerate() {
            let _turn = self.connections.background().await;
            let mut write = self.connections.begin_write().await?;
            let wanted = if at == 0 {
                begin_pack(&mut write, scope, pack, now).await?
            } else {
                is_there(&mut write, scope, pack).await?
            };
            if wanted {
                live += point(&mut write, scope, pack, slice, now).await?;
            }
            write.commit().await?;
            if !wanted {
                break;
            }
        }
        if live == 0 {
            self.drop_empty_packs(now).await?;
        }
        Ok(live)
    }

    pub(in crate::storage) async fn drop_empty_packs(&self, now: Micros) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
             select tenant, pack_id, $1, 0 from packs where live_bytes <= 0 on conflict do nothing;
             delete from packs where live_bytes <= 0 and tenant is not null",
        )
        .bind(now)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    pub(in crate::storage) async fn delete_uploads(
        &self,
        before: Micros,
        now: Micros,
    ) -> Result<u64> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
             select tenant, pack_id, $2, 0 from uploads where created_at < $1
             on conflict do nothing",
        )
        .bind(before)
        .bind(now)
        .execute(&mut *write)
        .await?;
        let done = sqlx::query("delete from uploads where created_at < $1 and tenant is not null")
            .bind(before)
            .execute(&mut *write)
            .await?;
        write.commit().await?;
        Ok(done.rows_affected())
    }

    pub(in crate::storage) async fn take_deletions(
        &self,
        dropped_before: Micros,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<(String, PackId)>> {
        let mut write = self.connections.begin_write().await?;
        let rows = sqlx::query(
            "update object_deletions set claimed_until = $3
             where (tenant, pack_id) in (select tenant, pack_id from object_deletions
                where dropped_at <= $1 and claimed_until <= $2 order by dropped_at limit $4)
             returning tenant, pack_id",
        )
        .bind(dropped_before)
        .bind(now)
        .bind(until)
        .bind(DELETIONS)
        .fetch_all(&mut *write)
        .await?;
        write.commit().await?;
        rows.iter().map(|row| Ok((row.try_get("tenant")?, id_of(row)?))).collect()
    }

    pub(in crate::storage) async fn forget_deletions(
        &self,
        done: &[(String, PackId)],
    ) -> Result<()> {
        let mut set = RowSet::default();
        for (tenant, pack) in done {
            let at = set.bytes(pack);
            set.push(json!([tenant, at.0, at.1]));
        }
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "delete from object_deletions where (tenant, pack_id) in
                (select j.value ->> 0, substr($2, j.value ->> 1, j.value ->> 2) from jsonb_each($1) j)",
        )
        .bind(set.json())
        .bind(set.blob)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    pub(in crate::storage) async fn insert_staged(
        &self,
        scope: &Scope,
        thread_key: i64,
        chunks: &[(Name, Bytes)],
    ) -> Result<()> {
        let mut set = RowSet::default();
        for (name, body) in chunks {
            let (name, body) = (set.bytes(name), set.bytes(body));
            set.push(json!([name.0, name.1, body.0, body.1]));
        }
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "insert into chunks (tenant, scope_id, name, body)
             select $1, $2, substr($5, j.value ->> 0, j.value ->> 1),
                substr($5, j.value ->> 2, j.value ->> 3)
             from jsonb_each($4) j
             where exists (select 1 from garbage where tenant = $1 and thread_key = $3)
             on conflict do nothing",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(thread_key)
        .bind(set.json())
        .bind(set.blob)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }
}

/// Turns the intent into an empty pack; into a deletion, where the scope or the intent is gone.
async fn begin_pack(
    connection: &mut SqliteConnection,
    scope: &Scope,
    pack: &NewPack,
    now: Micros,
) -> Result<bool> {
    let intent = sqlx::query("delete from uploads where tenant = $1 and pack_id = $2")
        .bind(&scope.tenant)
        .bind(pack.id.to_vec())
        .execute(&mut *connection)
        .await?;
    let held = sqlx::query("select 1 from scope_holders where tenant = $1 and scope_id = $2")
        .bind(&scope.tenant)
        .bind(scope.id)
        .fetch_optional(&mut *connection)
        .await?;
    let wanted = intent.rows_affected() == 1 && held.is_some();
    let row = if wanted {
        "insert into packs (tenant, scope_id, pack_id, size_bytes, live_bytes, created_at)
         values ($1, $2, $3, $4, 0, $5)"
    } else {
        "insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
         select $1, $3, $5, 0 where $2 is not null and $4 is not null on conflict do nothing"
    };
    sqlx::query(row)
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(pack.id.to_vec())
        .bind(pack.size_bytes)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(wanted)
}

/// A removal between two slices may have taken the last chunk, and the pack with it.
async fn is_there(
    connection: &mut SqliteConnection,
    scope: &Scope,
    pack: &NewPack,
) -> Result<bool> {
    let row =
        sqlx::query("select 1 from packs where tenant = $1 and scope_id = $2 and pack_id = $3")
            .bind(&scope.tenant)
            .bind(scope.id)
            .bind(pack.id.to_vec())
            .fetch_optional(connection)
            .await?;
    Ok(row.is_some())
}

const READ_MOVABLE: &str = "
select c.rowid as row_id, c.name, case when substr(c.body, 1, 1) = x'02' then c.body end as place
from jsonb_each($3) j
cross join chunks c on c.tenant = $1 and c.scope_id = $2
    and c.name = substr($4, j.value ->> 0, j.value ->> 1)";

/// Points the chunks of a slice that still exist, and are not in a pack but one of those replaced, to the new pack. Answers
/// the bytes that this adds to what is alive of it.
async fn point(
    connection: &mut SqliteConnection,
    scope: &Scope,
    pack: &NewPack,
    slice: &[(Name, PackLocation)],
    now: Micros,
) -> Result<i64> {
    let mut set = RowSet::default();
    for (name, _) in slice {
        let at = set.bytes(name);
        set.push(json!([at.0, at.1]));
    }
    let rows = sqlx::query(READ_MOVABLE)
        .bind(&scope.tenant)
        .bind(scope.id)
        .bind(set.json())
        .bind(set.blob)
        .fetch_all(&mut *connection)
        .await?;
    let places: std::collections::HashMap<Name, PackLocation> = slice.iter().copied().collect();
    let (mut moved, mut left, mut live) = (RowSet::default(), Vec::new(), 0);
    for row in rows {
        let name = name_of(&row.try_get::<Vec<u8>, _>("name")?)?;
        let old: Option<Vec<u8>> = row.try_get("place")?;
        let old = PackLocation::read(&old.unwrap_or_default())?;
        if old.is_some_and(|it| !pack.replaces.contains(&it.pack)) {
            continue;
        }
        left.extend(old);
        let place = places[&name];
        live += i64::from(place.length);
        let at = moved.bytes(&place.body());
        let row_id: i64 = row.try_get("row_id")?;
        moved.push(json!([row_id, at.0, at.1]));
    }
    sqlx::query(
        "update chunks set body = substr($2, j.value ->> 1, j.value ->> 2) from jsonb_each($1) j
         where chunks.rowid = j.value ->> 0 and chunks.tenant = $3;
         update packs set live_bytes = live_bytes + $4
         where tenant = $3 and scope_id = $5 and pack_id = $6",
    )
    .bind(moved.json())
    .bind(moved.blob)
    .bind(&scope.tenant)
    .bind(live)
    .bind(scope.id)
    .bind(pack.id.to_vec())
    .execute(&mut *connection)
    .await?;
    release(connection, scope, left, Some(now)).await?;
    Ok(live)
}

/// Takes what chunks no longer point to off their packs; a pack with nothing left goes to the outbox.
pub(in crate::storage) async fn release(
    connection: &mut SqliteConnection,
    scope: &Scope,
    places: Vec<PackLocation>,
    now: Option<Micros>,
) -> Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let mut set = RowSet::default();
    for (pack, bytes) in bytes_by_pack(places) {
        let at = set.bytes(&pack);
        set.push(json!([bytes, at.0, at.1]));
    }
    sqlx::query(
        "update packs set live_bytes = live_bytes - (j.value ->> 0) from jsonb_each($3) j
         where tenant = $1 and scope_id = $2
            and pack_id = substr($4, j.value ->> 1, j.value ->> 2);
         insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
         select p.tenant, p.pack_id,
            coalesce($5, case when not exists (
                select 1 from garbage where tenant = $1 and scope_id = $2 and erased = 1)
            then cast(unixepoch('subsec') * 1000000 as integer) end, 0), 0
         from jsonb_each($3) j
         cross join packs p on p.tenant = $1 and p.scope_id = $2
            and p.pack_id = substr($4, j.value ->> 1, j.value ->> 2)
         where p.live_bytes <= 0 on conflict do nothing;
         delete from packs where tenant = $1 and scope_id = $2 and live_bytes <= 0
            and pack_id in (select substr($4, j.value ->> 1, j.value ->> 2) from jsonb_each($3) j)",
    )
    .bind(&scope.tenant)
    .bind(scope.id)
    .bind(set.json())
    .bind(set.blob)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}
