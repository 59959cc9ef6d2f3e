//! Erases the contents of a subject: all that were uploaded below its label. Their chunks are removed with the scope of the namespace root.

use super::sweeping::drop_content;
use crate::domain::Result;
use crate::domain::clock::Clock;
use crate::domain::store::namespace::Namespace;
use crate::storage::db::access::{Accessible, SqlValue};
use crate::storage::store::namespaces;

/// Contents of one transaction: each may have some thousand rows.
const SLICE_CONTENTS: i64 = 4;

const FOUND: &str = "
select content_id, size_bytes from contents
where {tenant_in_index} = $1 and namespace >= $2 and namespace < $3 limit $4";

/// A slice of contents. Answers how many, and their bytes.
///
/// # Errors
/// A database that cannot be written.
pub async fn erase_contents(
    engine: &dyn Accessible,
    tenant: &str,
    below: &Namespace,
) -> Result<(u64, u64)> {
    let mut access = engine.begin_write().await?;
    let end = namespaces::end(below).unwrap_or_default();
    let range = [
        tenant.into(),
        SqlValue::Bytes(namespaces::encode(below)),
        SqlValue::Bytes(end),
        SLICE_CONTENTS.into(),
    ];
    let (mut count, mut bytes) = (0, 0);
    for row in access.rows(&engine.dialect().fill(FOUND), &range).await? {
        let place = [tenant.into(), row.0[0].clone()];
        drop_content(&mut *access, engine.dialect(), &place, Clock::System.now()).await?;
        count += 1;
        bytes += row.integer(1)?.unsigned_abs();
    }
    access.end().await?;
    Ok((count, bytes))
}
