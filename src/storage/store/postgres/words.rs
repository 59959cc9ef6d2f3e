//! Finds the candidates of a search by words, and walks over earlier items to index their words.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::items::{literal, places};
use super::search_sql::{Bound, Statement, bounds};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::{Address, Key, Scope};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::ranking::Candidate;
use crate::domain::store::text_storage::TextStorage;
use crate::domain::store::walk_storage::{Walk, WalkStorage, Walked};
use crate::domain::store::words::ItemWords;
use crate::domain::{Error, Result};
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::namespaces;

const CLAIM: &str = "
update word_walks set claimed_until = $3
where claimed_until < $1 and (tenant, namespace) in (
    select tenant, namespace from word_walks where changed_at <= $2 and claimed_until < $1
    order by changed_at limit 1)
returning tenant, namespace, changed_at, after_namespace, after_key";

/// $2 and $3 where the walk begins and ends, $4 and $5 the last item that was gone through.
const LIST: &str = "
select namespace, key, version, word_fields from items
where tenant = $1 and namespace >= cast($2 as text)::text[]
    and (cast($3 as text) is null or namespace < cast($3 as text)::text[])
    and (cast($4 as text) is null or (namespace, key) > (cast($4 as text)::text[], $5))
order by namespace, key limit $6";

const GIVE: &str = "
update items i set words = k.words::bigint[], word_counts = k.counts, word_total = k.total,
    word_fields = k.fields
from unnest($2::text[], $3::bytea[], $4::bigint[], $5::text[], $6::bytea[], $7::integer[], $8::bigint[])
    as k (namespace, key, version, words, counts, total, fields)
where i.tenant = $1 and i.namespace = k.namespace::text[] and i.key = k.key and i.version = k.version";

#[async_trait]
impl TextStorage for PostgresStorage {
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
        let mut statement = Statement::new(&caller.tenant, now);
        let wanted = statement.conditions(&caller.tenant, within, &place);
        let rows_max = i64::try_from(LIMITS.text_candidates_max).unwrap_or(i64::MAX);
        let limit = statement.bind(Bound::Number(rows_max));
        // In the text, so that the plan knows how rare they are.
        let words = array_of(words);
        statement.text = format!(
            "select i.namespace, i.key, i.version, i.created_at, i.word_total,
                (select string_agg(set_byte('\\x00'::bytea, 0,
                        coalesce(get_byte(i.word_counts, array_position(i.words, w.word) - 1), 0)), ''::bytea
                    order by w.at)
                 from unnest('{words}'::bigint[]) with ordinality as w (word, at)) as counts
             from items i
             where i.tenant = $1 and {} and i.words && '{words}'::bigint[]
             order by i.created_at desc, i.namespace, i.key limit {limit}",
            wanted.place
        );
        let rows =
            statement.query().fetch_all(&mut *self.searches.get(&caller.tenant).await?).await;
        let rows = self.clear_pool_on_loss(rows.map_err(Error::from))?;
        let candidate = |row: &PgRow| Candidate {
            address: address(row),
            version: row.get("version"),
            created_at: row.get("created_at"),
            total: row.get("word_total"),
            counts: row.get("counts"),
        };
        let size = cpu_pool::size_of_sorting(rows.len());
        let read = || rows.iter().map(candidate).collect();
        Ok(Some(cpu_pool::run_here(&caller.tenant, size, read).await?))
    }
}

#[async_trait]
impl WalkStorage for PostgresStorage {
    async fn claim_walk(
        &self,
        now: Micros,
        settled_at: Micros,
        until: Micros,
    ) -> Result<Option<Walk>> {
        let row = sqlx::query(CLAIM)
            .bind(now)
            .bind(settled_at)
            .bind(until)
            .fetch_optional(&mut *self.pool.get().await?)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let after: (Option<Vec<String>>, Option<Vec<u8>>) =
            (row.get("after_namespace"), row.get("after_key"));
        let address =
            |(labels, key)| Address { namespace: Namespace::stored(labels), key: Key::stored(key) };
        Ok(Some(Walk {
            tenant: row.get("tenant"),
            namespace: namespaces::decode(row.get("namespace"))?,
            changed_at: row.get("changed_at"),
            after: after.0.zip(after.1).map(address),
        }))
    }

    async fn list_walked(&self, walk: &Walk, rows_max: usize) -> Result<Vec<Walked>> {
        let (from, to) = bounds(&walk.namespace);
        let rows = sqlx::query(LIST)
            .bind(&walk.tenant)
            .bind(from)
            .bind(Some(to).filter(|_| !walk.namespace.labels().is_empty()))
            .bind(walk.after.as_ref().map(|it| literal(&it.namespace)))
            .bind(walk.after.as_ref().map(|it| it.key.as_bytes().to_vec()))
            .bind(i64::try_from(rows_max).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.pool.get().await?)
            .await?;
        let walked = |row: &PgRow| Walked {
            address: address(row),
            version: row.get("version"),
            fields: row.get("word_fields"),
        };
        Ok(rows.iter().map(walked).collect())
    }

    async fn advance_walk(
        &self,
        walk: &Walk,
        words: &[(Walked, Option<ItemWords>)],
        until: Option<Micros>,
    ) -> Result<()> {
        let is_readable = self.secret(&walk.tenant).await?.cipher().is_none();
        let addresses: Vec<Address> = words.iter().map(|it| it.0.address.clone()).collect();
        let (namespaces_of, keys) = places(&addresses);
        let given = || words.iter().map(|it| it.1.as_ref().filter(|_| is_readable));
        let mut connection = self.pool.get().await?;
        if !words.is_empty() {
            sqlx::query(GIVE)
                .bind(&walk.tenant)
                .bind(namespaces_of)
                .bind(keys)
                .bind(words.iter().map(|it| it.0.version).collect::<Vec<_>>())
                .bind(given().map(|it| it.map(|it| array_of(&it.words))).collect::<Vec<_>>())
                .bind(given().map(|it| it.map(|it| it.counts.clone())).collect::<Vec<_>>())
                .bind(given().map(|it| it.map(|it| it.total)).collect::<Vec<_>>())
                .bind(given().map(|it| it.map(|it| it.fields)).collect::<Vec<_>>())
                .execute(&mut *connection)
                .await?;
        }
        let after = walk.after.as_ref();
        let query = match until {
            None => sqlx::query(
                "delete from word_walks where tenant = $1 and namespace = $2 and changed_at = $3",
            ),
            Some(_) => sqlx::query(
                "update word_walks set after_namespace = cast($4 as text)::text[], after_key = $5,
                    claimed_until = $6
                 where tenant = $1 and namespace = $2 and changed_at = $3",
            ),
        };
        let query = query
            .bind(&walk.tenant)
            .bind(namespaces::encode(&walk.namespace))
            .bind(walk.changed_at);
        let query = match until {
            None => query,
            Some(until) => query
                .bind(after.map(|it| literal(&it.namespace)))
                .bind(after.map(|it| it.key.as_bytes().to_vec()))
                .bind(until),
        };
        let done = query.execute(&mut *connection).await;
        done?;
        Ok(())
    }
}

/// As PostgreSQL reads an array.
pub(super) fn array_of(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}

fn address(row: &PgRow) -> Address {
    Address { namespace: Namespace::stored(row.get("namespace")), key: Key::stored(row.get("key")) }
}
