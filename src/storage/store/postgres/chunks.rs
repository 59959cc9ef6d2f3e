//! Finds or creates the content scopes of namespace roots, and reads chunks of several scopes at once.

use std::collections::BTreeSet;

use sqlx::Row;

use async_trait::async_trait;

use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::Result;
use crate::domain::clock::random_id;
use crate::domain::scheduling::contention::Contention;
use crate::storage::files::contents::Roots;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;
use crate::storage::tokens::owner_macs::OwnerRow;

/// Chunks that one statement reads.
const CHUNKS_MAX: usize = 4_096;

#[async_trait]
impl Roots for PostgresStorage {
    async fn scope_of_root(&self, tenant: &str, root: &str) -> Result<i64> {
        // Makes a tenant that is new.
        let secret = self.secret(tenant).await?;
        let mut connection = self.pool.get_for(tenant).await?;
        let scope_id = read_or_make_root(&mut connection, (tenant, &secret), root).await?;
        Ok(scope_id)
    }
}

/// Two that meet at a new root: the one whose insert came second reads what the first one made. One that is there is checked.
pub(in crate::storage) async fn read_or_make_root(
    connection: &mut Connection,
    (tenant, secret): (&str, &TenantSecret),
    root: &str,
) -> Result<i64> {
    const MAKE: &str = "
        with known as (
            select scope_id, mac from namespace_roots where tenant = $1 and root = $2
        ), made as (
            insert into namespace_roots (tenant, root, scope_id, mac)
            select $1, $2, $3, $5 where not exists (select from known)
            on conflict do nothing returning scope_id, mac
        ), scope as (
            insert into scopes (tenant, scope_id, epoch, next_no)
            select $1, scope_id, $4, 1 from made
        ), holder as (
            insert into scope_holders (tenant, scope_id, kind, holder)
            select $1, scope_id, 'namespace', $2 from made
        )
        select scope_id, mac from made union all select scope_id, mac from known limit 1";
    let fresh = random_id();
    let mac = OwnerRow::root(root, fresh).mac(secret);
    let mut contention = Contention::default();
    loop {
        let row = sqlx::query(MAKE)
            .bind(tenant)
            .bind(root)
            .bind(fresh)
            .bind(random_id())
            .bind(&mac)
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(row) = row {
            let scope_id = row.get("scope_id");
            OwnerRow::root(root, scope_id).check(secret, row.get("mac"))?;
            return Ok(scope_id);
        }
        // Made since it was looked for.
        contention.lost("the namespace root keeps").await?;
    }
}

pub(in crate::storage) async fn read_chunks(
    connection: &mut Connection,
    tenant: &str,
    wanted: &BTreeSet<(i64, Name)>,
) -> Result<Vec<(i64, Vec<u8>, Vec<u8>)>> {
    const READ: &str = "
        select k.scope_id, k.name, c.body from unnest($2::bigint[], $3::bytea[]) as k (scope_id, name)
        cross join lateral (select c.body from chunks c
            where c.tenant = $1 and c.scope_id = k.scope_id and c.name = k.name limit 1) c";
    let wanted: Vec<&(i64, Name)> = wanted.iter().collect();
    let mut found = Vec::with_capacity(wanted.len());
    for part in wanted.chunks(CHUNKS_MAX) {
        let rows = sqlx::query(READ)
            .bind(tenant)
            .bind(part.iter().map(|it| it.0).collect::<Vec<_>>())
            .bind(part.iter().map(|it| &it.1[..]).collect::<Vec<_>>())
            .fetch_all(&mut *connection)
            .await?;
        found.extend(rows.iter().map(|it| (it.get("scope_id"), it.get("name"), it.get("body"))));
    }
    Ok(found)
}
