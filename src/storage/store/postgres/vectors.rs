//! Adds the vectors of items to the statement of a batch, and removes those that a concurrent change leaves.
//!
//! **Invariant:** a vector counts only with the version of its item, in every statement that reads it.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::items::places;
use super::writes::Query;
use crate::domain::Result;
use crate::domain::store::batch::{ItemBatch, ItemRow};
use crate::domain::store::item::Address;
use crate::domain::store::vector::NewVectors;
use crate::storage::postgres::PostgresStorage;

/// Only rows that have some are looked for, so a batch without vectors pays nothing.
pub(super) const STALE: &str = r"
, stale_vectors as (
    delete from item_vectors x using v
    where v.is_ok and v.old_vector_bytes > 0
        and x.tenant = v.tenant and x.namespace = v.namespace::text[] and x.key = v.key
), stale_indexing as (
    delete from item_indexing x using v
    where v.is_ok and v.old_is_indexed
        and x.tenant = v.tenant and x.namespace = v.namespace::text[] and x.key = v.key
)
";

/// Another server changed the item, or made its vectors, between the snapshot and the lock: they were not seen.
pub(in crate::storage) const RACED: &str = r"
case when is_ok and (old_vector_bytes > 0 or old_is_indexed) then not exists
    (select from items s where s.tenant = v.tenant and s.namespace = v.namespace::text[] and s.key = v.key
        and s.version = old_version and s.vector_bytes = old_vector_bytes)
else false end as raced
";

/// By the number of the row: bytes, how many, model, where its fields and its numbers begin, dimensions. Arrays of equal
/// lengths have no holes, so an entry is found without going through those before it.
pub(super) const ADDED: &str = r"
, new_vectors as (
    insert into item_vectors (tenant, namespace, key, version, model, no, field, dims, vector)
    select v.tenant, v.namespace::text[], v.key, v.new_version, ($31::text[])[v.ord::integer], k.no,
        ($35::text[])[($32::integer[])[v.ord::integer] + k.no], ($34::integer[])[v.ord::integer],
        ($36::real[])[($33::integer[])[v.ord::integer] + k.no * ($34::integer[])[v.ord::integer]
            : ($33::integer[])[v.ord::integer] + (k.no + 1) * ($34::integer[])[v.ord::integer] - 1]
    from v cross join lateral generate_series(0, ($30::integer[])[v.ord::integer] - 1) as k (no)
    where v.is_ok and not v.deletes
), new_indexing as (
    insert into item_indexing (tenant, namespace, key, version, fields, due_at)
    select v.tenant, v.namespace::text[], v.key, v.new_version, ($37::text[])[v.ord::integer], $18
    from v where v.is_ok and not v.deletes and ($37::text[])[v.ord::integer] is not null
)
";

/// Whether the batch brings some, or items whose vectors the server makes.
pub(in crate::storage) fn has_vectors(batch: &ItemBatch) -> bool {
    batch.rows.iter().any(|it| vectors(it).is_some() || index(it).is_some())
}

/// What becomes of the columns of `items` that say so.
pub(in crate::storage) fn filled(text: &str, batch: &ItemBatch) -> String {
    let (bytes, is_indexed) = if has_vectors(batch) {
        ("($29::integer[])[v.ord::integer]", "($37::text[])[v.ord::integer] is not null")
    } else {
        ("0", "false")
    };
    text.replace("{vector_bytes}", bytes).replace("{is_indexed}", is_indexed)
}

pub(in crate::storage) fn bind<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    if !has_vectors(batch) {
        return query;
    }
    let (mut fields, mut numbers) = (Vec::new(), Vec::<f32>::new());
    let (mut field_at, mut number_at) = (Vec::new(), Vec::new());
    let all: Vec<Option<&NewVectors>> = batch.rows.iter().map(vectors).collect();
    for row in &all {
        field_at.push(number(fields.len() + 1));
        number_at.push(number(numbers.len() + 1));
        for one in row.iter().flat_map(|it| it.all()) {
            fields.push(one.field.as_str());
            numbers.extend_from_slice(one.vector.numbers());
        }
    }
    let each = |of: fn(&NewVectors) -> usize| {
        all.iter().map(|it| it.map_or(0, |it| number(of(it)))).collect::<Vec<i32>>()
    };
    query
        .bind(each(NewVectors::size_bytes))
        .bind(each(|it| it.all().len()))
        .bind(all.iter().map(|it| it.map(|it| it.model().as_str())).collect::<Vec<_>>())
        .bind(field_at)
        .bind(number_at)
        .bind(each(NewVectors::dims))
        .bind(fields)
        .bind(numbers)
        .bind(batch.rows.iter().map(index).collect::<Vec<_>>())
}

impl PostgresStorage {
    /// After a batch was written: where another server changed an item at the same time, vectors of its version are left.
    /// They are never found; removing them may fail.
    pub(super) async fn remove_left_vectors(&self, batch: &ItemBatch, rows: &[PgRow]) {
        let raced = rows.iter().filter(|it| it.get("raced"));
        let places = raced.filter_map(|it| {
            let group = usize::try_from(it.get::<i64, _>("grp") - 1).ok()?;
            let change = usize::try_from(it.get::<i32, _>("change")).ok()?;
            batch.rows.iter().find(|row| (row.group, row.change) == (group, change))
        });
        for row in places {
            let left = self.remove_vectors_of_others(&row.tenant, &row.address).await;
            if let Err(error) = left {
                tracing::warn!(%error, "vectors that nobody finds are left of a race");
            }
        }
    }

    /// Removes what is not of the item's version.
    async fn remove_vectors_of_others(&self, tenant: &str, address: &Address) -> Result<()> {
        let (namespaces, keys) = places(std::slice::from_ref(address));
        for table in ["item_vectors", "item_indexing"] {
            let text = format!(
                "delete from {table} x
                 where x.tenant = $1 and x.namespace = cast($2 as text)::text[] and x.key = $3
                    and not exists (select from items i where i.tenant = $1
                        and i.namespace = x.namespace and i.key = x.key and i.version = x.version)"
            );
            sqlx::query(AssertSqlSafe(text))
                .bind(tenant)
                .bind(&namespaces[0])
                .bind(&keys[0])
                .execute(&mut *self.pool.get().await?)
                .await?;
        }
        Ok(())
    }
}

fn vectors(row: &ItemRow) -> Option<&NewVectors> {
    row.put.as_ref().and_then(|it| it.vectors.as_deref())
}

fn index(row: &ItemRow) -> Option<&str> {
    row.put.as_ref().and_then(|it| it.index.as_deref())
}

fn number(count: usize) -> i32 {
    i32::try_from(count).expect("a batch is far below 2 GiB")
}
