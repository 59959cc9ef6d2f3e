//! Reads a content one slice at a time, and checks each chunk against its name. It holds nothing of the database while it asks an object
//! store, or while a client takes the bytes.

use bytes::{Bytes, BytesMut};

use super::key;
use crate::content::keys::TenantSecret;
use crate::content::parts::Part;
use crate::domain::caller::Caller;
use crate::domain::files::contents::ContentId;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::storage::content::opening::{Chunks, parts_of};
use crate::storage::db::access::{Accessible, SqlValue, rows_named};
use crate::storage::objects::pack_prefetch::PackPrefetch;

/// How often a slice is read whose chunks move into a pack, or from one into another, meanwhile.
const READS_MAX: u32 = 8;

/// Of whole contents only: others begin below zero.
const SLICE: &str = "
select start_at, size_bytes, scope_id, parts from content_slices
where tenant = $1 and content_id = $2 and start_at >= 0 and start_at <= $3
order by start_at desc limit 1";

const CHUNKS: &str =
    "select name, body from chunks where tenant = $1 and scope_id = $2 and name in";

pub(super) async fn read_slice(
    engine: &dyn Accessible,
    caller: &Caller,
    id: ContentId,
    at: u64,
) -> Result<(u64, Bytes)> {
    let secret = engine.secret_of(&caller.tenant).await?;
    let prefetch = PackPrefetch::default();
    for _ in 0..READS_MAX {
        let mut access = engine.begin_read_for(&caller.tenant).await?;
        let place = [&key(caller, id)[..], &[super::integer(at)?]].concat();
        let found = access.rows(SLICE, &place).await?;
        let Some(row) = found.first() else { return Err(Error::NotFound("such a content was")) };
        let (start, size) = (row.integer(0)?.unsigned_abs(), row.integer(1)?.unsigned_abs());
        let (scope_id, parts) = (row.integer(2)?, parts_of(row.bytes(3)?)?);
        if at >= start + size {
            return Err(Error::NotFound("such a content was"));
        }
        let names: Vec<SqlValue> = parts.iter().map(|it| SqlValue::from(&it.name()[..])).collect();
        let scope = [caller.tenant.as_str().into(), scope_id.into()];
        let rows = rows_named(&mut *access, CHUNKS, &scope, &names).await?;
        access.end().await?;
        let found = rows.iter().map(|it| Ok((it.bytes(0)?, it.bytes(1)?)));
        let found = found.collect::<Result<Vec<_>>>()?;
        let open = || {
            let (of, mut chunks) = ((caller.tenant.as_str(), &secret), Chunks::default());
            chunks.add_each(of, &found)?;
            prefetch.complete(of, &mut chunks)?;
            let is_whole = prefetch.is_complete();
            is_whole.then(|| join(&secret, scope_id, &parts, size, &chunks)).transpose()
        };
        let size_bytes = usize::try_from(size).unwrap_or(usize::MAX);
        if let Some(bytes) = cpu_pool::run_here(&caller.tenant, size_bytes, open).await?? {
            return Ok((start, bytes));
        }
        prefetch.fetch_missing(engine.objects(), &secret).await?;
    }
    Err(Error::Unavailable {
        detail: "the content was moved again and again while it was read".into(),
        retry_after: crate::storage::objects::packs::COME_BACK,
    })
}

fn join(
    secret: &TenantSecret,
    scope_id: i64,
    parts: &[Part],
    size_bytes: u64,
    chunks: &Chunks,
) -> Result<Bytes> {
    let damaged = |detail: &str| Error::Integrity(format!("a content is damaged: {detail}"));
    let mut bytes = BytesMut::with_capacity(usize::try_from(size_bytes).unwrap_or(0));
    for part in parts {
        let name = part.name();
        let chunk = chunks.leaf(secret, scope_id, &name);
        let chunk = chunk.ok_or_else(|| damaged("a chunk is not there"))?;
        if secret.name(chunk) != name {
            return Err(damaged("a chunk has another name"));
        }
        bytes.extend_from_slice(chunk);
    }
    if bytes.len() as u64 == size_bytes {
        Ok(bytes.freeze())
    } else {
        Err(damaged("its chunks have another length"))
    }
}
