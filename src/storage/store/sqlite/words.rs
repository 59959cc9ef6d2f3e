//! Finds the candidates of a search by words, and walks over earlier items to index their words. A search reads the words of all items in
//! scope. It does not open their values.

use async_trait::async_trait;
use futures::TryStreamExt;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::search::BoundStatement;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{Address, Key, Scope};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::ranking::Candidate;
use crate::domain::store::text_storage::TextStorage;
use crate::domain::store::walk_storage::{Walk, WalkStorage, Walked};
use crate::domain::store::words::ItemWords;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::store::namespaces;
use crate::storage::store::words::{bytes_of, counts_of};

const CLAIM: &str = "
update word_walks set claimed_until = $3
where claimed_until < $1 and (tenant, namespace) in (
    select tenant, namespace from word_walks where changed_at <= $2 and claimed_until < $1
    order by changed_at limit 1)
returning tenant, namespace, changed_at, after_namespace, after_key";

/// $2 and $3 where the walk begins and ends, $4 and $5 the last item that was gone through.
const LIST: &str = "
select namespace, key, version, word_fields from items
where tenant = $1 and namespace >= $2 and ($3 is null or namespace < $3)
    and ($4 is null or (namespace, key) > ($4, $5))
order by namespace, key limit $6";

const GIVE: &str = "
update items set words = substr($3, j.value ->> 5, j.value ->> 6),
    word_counts = substr($3, j.value ->> 7, j.value ->> 8), word_total = j.value ->> 9,
    word_fields = j.value ->> 10
from jsonb_each($2) j
where items.tenant = $1 and items.namespace = substr($3, j.value ->> 0, j.value ->> 1)
    and items.key = substr($3, j.value ->> 2, j.value ->> 3) and items.version = j.value ->> 4";

#[async_trait]
impl TextStorage for SqliteStorage {
    async fn list_text_candidates(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        words: &[i64],
        now: Micros,
    ) -> Result<Option<Vec<Candidate>>> {
        if self.secret(&caller.tenant).await?.cipher().is_some() {
            return Ok(None);
        }
        let place = Scope { filter: None, ..scope.clone() };
        let wanted = BoundStatement::new(&caller.tenant, within, &place, now);
        let text = format!(
            "select i.namespace, i.key, i.version, i.created_at, i.word_total, i.words, i.word_counts
             from items i where i.tenant = $1 and {} and i.words is not null
             order by i.created_at desc, i.namespace, i.key",
            wanted.text
        );
        let rows_max = usize::try_from(LIMITS.text_candidates_max).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let mut read = self.connections.begin_search(&caller.tenant).await?;
        {
            let mut rows = wanted.query(text).fetch(&mut *read);
            while let Some(row) = rows.try_next().await? {
                let (own, counts): (&[u8], &[u8]) =
                    (row.try_get("words")?, row.try_get("word_counts")?);
                let Some(counts) = counts_of(own, counts, words) else { continue };
                found.push(Candidate {
                    address: address(&row)?,
                    version: row.try_get("version")?,
                    created_at: row.try_get("created_at")?,
                    total: row.try_get("word_total")?,
                    counts,
                });
                if found.len() == rows_max {
                    break;
                }
            }
        }
        read.end().await?;
        Ok(Some(found))
    }
}

#[async_trait]
impl WalkStorage for SqliteStorage {
    async fn claim_walk(
        &self,
        now: Micros,
        settled_at: Micros,
        until: Micros,
    ) -> Result<Option<Walk>> {
        let mut read = self.connections.begin_read().await?;
        let any = sqlx::query("select 1 from word_walks where tenant is not null limit 1");
        let any = any.fetch_optional(&mut *read).await?.is_some();
        read.end().await?;
        if !any {
            // The writer has better things to do.
            return Ok(None);
        }
        let mut write = self.connections.begin_write().await?;
        let row = sqlx::query(CLAIM)
            .bind(now)
            .bind(settled_at)
            .bind(until)
            .fetch_optional(&mut *write)
            .await?;
        write.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let after: (Option<Vec<u8>>, Option<Vec<u8>>) =
            (row.try_get("after_namespace")?, row.try_get("after_key")?);
        let after = match after {
            (Some(namespace), Some(key)) => {
                Some(Address { namespace: namespaces::decode(&namespace)?, key: Key::stored(key) })
            }
            _ => None,
        };
        Ok(Some(Walk {
            tenant: row.try_get("tenant")?,
            namespace: namespaces::decode(row.try_get("namespace")?)?,
            changed_at: row.try_get("changed_at")?,
            after,
        }))
    }

    async fn list_walked(&self, walk: &Walk, rows_max: usize) -> Result<Vec<Walked>> {
        let mut read = self.connections.begin_read().await?;
        let rows = sqlx::query(LIST)
            .bind(&walk.tenant)
            .bind(namespaces::encode(&walk.namespace))
            .bind(namespaces::end(&walk.namespace))
            .bind(walk.after.as_ref().map(|it| namespaces::encode(&it.namespace)))
            .bind(walk.after.as_ref().map(|it| it.key.as_bytes().to_vec()))
            .bind(i64::try_from(rows_max).unwrap_or(i64::MAX))
            .fetch_all(&mut *read)
            .await?;
        read.end().await?;
        let walked = |row: &SqliteRow| {
            Ok(Walked {
                address: address(row)?,
                version: row.try_get("version")?,
                fields: row.try_get("word_fields")?,
            })
        };
        rows.iter().map(walked).collect()
    }

    async fn advance_walk(
        &self,
        walk: &Walk,
        words: &[(Walked, Option<ItemWords>)],
        until: Option<Micros>,
    ) -> Result<()> {
        let is_readable = self.secret(&walk.tenant).await?.cipher().is_none();
        let mut set = RowSet::default();
        for (walked, words) in words {
            let words = words.as_ref().filter(|_| is_readable);
            let namespace = set.bytes(&namespaces::encode(&walked.address.namespace));
            let key = set.bytes(walked.address.key.as_bytes());
            let numbers = set.optional_bytes(words.map(|it| bytes_of(&it.words)).as_deref());
            let counts = set.optional_bytes(words.map(|it| it.counts.as_slice()));
            let (total, fields) = (words.map(|it| it.total), words.map(|it| it.fields));
            let place = (namespace.0, namespace.1, key.0, key.1, walked.version);
            let (numbers, counts) = ((numbers.0, numbers.1), (counts.0, counts.1));
            set.push(json!([
                place.0, place.1, place.2, place.3, place.4, numbers.0, numbers.1, counts.0,
                counts.1, total, fields
            ]));
        }
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        if !set.is_empty() {
            sqlx::query(GIVE)
                .bind(&walk.tenant)
                .bind(set.json())
                .bind(set.blob)
                .execute(&mut *write)
                .await?;
        }
        let after = walk.after.as_ref();
        let query = match until {
            None => sqlx::query(
                "delete from word_walks where tenant = $1 and namespace = $2 and changed_at = $3
                    and ($4 is null or true) and ($5 is null or true) and ($6 is null or true)",
            ),
            Some(_) => sqlx::query(
                "update word_walks set after_namespace = $4, after_key = $5, claimed_until = $6
                 where tenant = $1 and namespace = $2 and changed_at = $3",
            ),
        };
        query
            .bind(&walk.tenant)
            .bind(namespaces::encode(&walk.namespace))
            .bind(walk.changed_at)
            .bind(after.map(|it| namespaces::encode(&it.namespace)))
            .bind(after.map(|it| it.key.as_bytes().to_vec()))
            .bind(until)
            .execute(&mut *write)
            .await?;
        write.commit().await
    }
}

fn address(row: &SqliteRow) -> Result<Address> {
    let namespace: &[u8] = row.try_get("namespace")?;
    Ok(Address { namespace: namespaces::decode(namespace)?, key: Key::stored(row.try_get("key")?) })
}
