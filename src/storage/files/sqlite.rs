//! Lists files without opening their values.

use async_trait::async_trait;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::storage::{FilePage, FileStorage, KeyRange, ListFiles, Removed};
use crate::domain::idempotency::Idempotency;
use crate::domain::store::item::Key;
use crate::domain::store::namespace::Namespace;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::store::heads::{Head, ListedFile, Noting, number_of, page};
use crate::storage::store::namespaces;

/// All but the size comes from the index; the size only of what is to be opened.
const LIST: &str = "
select i.key, i.version, i.digest, i.content_id, i.file_head,
    case when i.file_head is null then i.size_bytes end as size_bytes
from items i indexed by items_files
where i.tenant = $1 and i.namespace = $2 and i.key >= $3 and i.key < $4
    and (i.expires_at is null or i.expires_at > $5) and i.file_head is not x''
order by i.key limit $6";

const NOTE: &str = "
update items set file_head = substr($3, j.value ->> 5, j.value ->> 6)
from jsonb_each($2) j
where items.tenant = $1 and items.namespace = substr($3, j.value ->> 0, j.value ->> 1)
    and items.key = substr($3, j.value ->> 2, j.value ->> 3)
    and items.version = j.value ->> 4 and items.file_head is null";

const KEYS: &str = "
select i.key, i.version from jsonb_each($3) j
cross join items i on i.tenant = $1 and i.namespace = $2
    and i.key >= substr($4, j.value ->> 0, j.value ->> 1) and i.key < substr($4, j.value ->> 2, j.value ->> 3)
where (i.expires_at is null or i.expires_at > $5)
order by j.key, i.key limit $6";

const PRIOR: &str = "
select digest, answer from idempotency where tenant = $1 and caller = $2 and key = $3";

/// Items of one transaction of a removal: some milliseconds of the writer's time for each hundred.
const SLICE_ROWS: i64 = 500;

/// What a slice removes, first, because everything else goes by it; one more, which says whether another slice is to come.
const DUE: &str = "
create temp table if not exists removed_keys
    (number integer primary key, version integer, was_live integer, scope_id integer, namespace blob, key blob);
delete from temp.removed_keys;
insert into temp.removed_keys (number, version, was_live, scope_id, namespace, key)
select i.rowid, i.version, i.expires_at is null or i.expires_at > $5, i.scope_id, i.namespace, i.key
from jsonb_each($3) j
cross join items i on i.tenant = $1 and i.namespace = $2
    and i.key >= substr($4, j.value ->> 0, j.value ->> 1) and i.key < substr($4, j.value ->> 2, j.value ->> 3)
where true limit $6 + 1 on conflict do nothing";

/// What is left of them for the next slice.
const SPARE: &str = "
delete from temp.removed_keys
where $1 < (select count(*) from temp.removed_keys)
    and number = (select max(number) from temp.removed_keys)";

const REMOVE: &str = "
insert into garbage (tenant, thread_key, scope_id, created_at)
select distinct $1, scope_id, scope_id, $2 from temp.removed_keys where scope_id is not null
on conflict (tenant, thread_key) do nothing;
insert into item_changes (tenant, n, namespace, key, version, kind, written_at)
select f.tenant, f.changes + row_number() over (order by r.key), r.namespace, r.key, r.version,
    iif(r.was_live, 'delete', 'expire'), $2
from temp.removed_keys r join item_feeds f on f.tenant = $1 and f.wanted_until > $2;
update item_feeds set changes = max(changes, coalesce(
    (select max(c.n) from item_changes c where c.tenant = item_feeds.tenant), 0))
where tenant = $1 and wanted_until > $2;
delete from item_vectors where tenant = $1
    and (namespace, key) in (select namespace, key from temp.removed_keys);
delete from item_indexing where tenant = $1
    and (namespace, key) in (select namespace, key from temp.removed_keys);
delete from items where tenant = $1 and rowid in (select number from temp.removed_keys)";

const REMEMBER: &str = "
insert into idempotency (tenant, caller, key, digest, answer, created_at, subject)
values ($1, $2, $3, $4, $5, $6, $7)";

#[async_trait]
impl FileStorage for SqliteStorage {
    async fn list_files(
        &self,
        caller: &Caller,
        query: &ListFiles,
        now: Micros,
    ) -> Result<FilePage> {
        let rows = self.read_files(&caller.tenant, query, now).await?;
        let secret = self.secret(&caller.tenant).await?;
        let noting = Noting { storage: self, caller, secret: &secret, now };
        let (page, noted) = page(&noting, query, rows).await?;
        if !noted.is_empty()
            && let Err(error) = self.note_heads(&caller.tenant, &noted).await
        {
            tracing::warn!(%error, "what files are could not be noted; they are opened again");
        }
        Ok(page)
    }

    async fn list_paths(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        limit: usize,
        now: Micros,
    ) -> Result<Vec<(Key, i64)>> {
        let set = range_set(ranges);
        let mut read = self.connections.begin_search(&caller.tenant).await?;
        let rows = sqlx::query(KEYS)
            .bind(&caller.tenant)
            .bind(namespaces::encode(namespace))
            .bind(set.json())
            .bind(set.blob)
            .bind(now)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *read)
            .await?;
        read.end().await?;
        let key = |row: &SqliteRow| -> Result<(Key, i64)> {
            let key = Key::stored(row.try_get("key")?);
            Ok((key, row.try_get("version")?))
        };
        rows.iter().map(key).collect()
    }

    async fn remove_keys(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        request: &Idempotency,
        now: Micros,
    ) -> Result<Removed> {
        let mut removal = Removal {
            place: (&caller.tenant, namespace),
            ranges: range_set(ranges),
            request,
            now,
            count: 0,
        };
        loop {
            let mut write = self.connections.begin_write_for(&caller.tenant).await?;
            match removal.slice(&mut write).await {
                Ok(None) => write.commit().await?,
                Ok(Some(removed @ Removed::Items(_))) => {
                    write.commit().await?;
                    return Ok(removed);
                }
                other => {
                    write.rollback().await?;
                    return other.map(|it| it.unwrap_or(Removed::Items(0)));
                }
            }
        }
    }
}

/// A removal on its way. The writer is everybody's turn by turn, so commits go between its slices, and reads see what is removed
/// already: one transaction for all would keep them waiting.
struct Removal<'a> {
    place: (&'a str, &'a Namespace),
    ranges: RowSet,
    request: &'a Idempotency,
    now: Micros,
    /// Removed so far.
    count: i64,
}

impl Removal<'_> {
    /// None: there is more. The last one remembers the request with what all have removed.
    async fn slice(&mut self, write: &mut SqliteConnection) -> Result<Option<Removed>> {
        let (tenant, request) = (self.place.0, self.request);
        if let Some(prior) = self.prior(write).await? {
            return Ok(Some(prior));
        }
        let is_cut = self.note_due(write).await?;
        sqlx::query(REMOVE).bind(tenant).bind(self.now).execute(&mut *write).await?;
        let row = sqlx::query("select count(*) from temp.removed_keys where was_live")
            .fetch_one(&mut *write)
            .await?;
        self.count += row.try_get::<i64, _>(0)?;
        if is_cut {
            return Ok(None);
        }
        if self.count > 0 {
            sqlx::query(REMEMBER)
                .bind(tenant)
                .bind(&request.caller)
                .bind(&request.key)
                .bind(&request.digest[..])
                .bind(&self.count.to_be_bytes()[..])
                .bind(self.now)
                .bind(&request.subject)
                .execute(&mut *write)
                .await?;
        }
        Ok(Some(Removed::Items(self.count.unsigned_abs())))
    }

    async fn prior(&self, write: &mut SqliteConnection) -> Result<Option<Removed>> {
        let prior = sqlx::query(PRIOR)
            .bind(self.place.0)
            .bind(&self.request.caller)
            .bind(&self.request.key)
            .fetch_optional(&mut *write)
            .await?;
        let Some(row) = prior else { return Ok(None) };
        let digest: Vec<u8> = row.try_get("digest")?;
        let answer: Vec<u8> = row.try_get("answer")?;
        let is_same = digest == self.request.digest;
        let repeated = Removed::Repeated(number_of(&answer));
        Ok(Some(if is_same { repeated } else { Removed::IdempotencyMismatch }))
    }

    /// Whether there is more than a slice.
    async fn note_due(&self, write: &mut SqliteConnection) -> Result<bool> {
        sqlx::query(DUE)
            .bind(self.place.0)
            .bind(namespaces::encode(self.place.1))
            .bind(self.ranges.json())
            .bind(&self.ranges.blob)
            .bind(self.now)
            .bind(SLICE_ROWS)
            .execute(&mut *write)
            .await?;
        let spare = sqlx::query(SPARE).bind(SLICE_ROWS).execute(&mut *write).await;
        Ok(spare?.rows_affected() > 0)
    }
}

fn range_set(ranges: &[KeyRange]) -> RowSet {
    let mut set = RowSet::default();
    for range in ranges {
        let (from, to) = (set.bytes(&range.from), set.bytes(&range.to));
        set.push(json!([from.0, from.1, to.0, to.1]));
    }
    set
}

impl SqliteStorage {
    async fn read_files(
        &self,
        tenant: &str,
        query: &ListFiles,
        now: Micros,
    ) -> Result<Vec<ListedFile>> {
        let mut read = self.connections.begin_search(tenant).await?;
        let rows = sqlx::query(LIST)
            .bind(tenant)
            .bind(namespaces::encode(&query.namespace))
            .bind(&query.range.from)
            .bind(&query.range.to)
            .bind(now)
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *read)
            .await?;
        read.end().await?;
        rows.iter().map(listed).collect()
    }

    async fn note_heads(&self, tenant: &str, noted: &[Head]) -> Result<()> {
        let mut set = RowSet::default();
        for head in noted {
            let namespace = set.bytes(&namespaces::encode(&head.address.namespace));
            let key = set.bytes(head.address.key.as_bytes());
            let sealed = set.bytes(&head.sealed);
            let place = [namespace.0, namespace.1, key.0, key.1];
            set.push(json!([
                place[0],
                place[1],
                place[2],
                place[3],
                head.version,
                sealed.0,
                sealed.1
            ]));
        }
        let mut write = self.connections.begin_write_for(tenant).await?;
        sqlx::query(NOTE).bind(tenant).bind(set.json()).bind(set.blob).execute(&mut *write).await?;
        write.commit().await
    }
}

fn listed(row: &SqliteRow) -> Result<ListedFile> {
    Ok(ListedFile {
        key: Key::stored(row.try_get("key")?),
        version: row.try_get("version")?,
        digest: row.try_get("digest")?,
        content_id: row.try_get("content_id")?,
        head: row.try_get("file_head")?,
        size_bytes: row.try_get::<Option<i64>, _>("size_bytes")?.unwrap_or(0),
    })
}
