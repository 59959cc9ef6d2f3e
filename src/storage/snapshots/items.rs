//! Copies items into snapshots. A copy is a row of `item_versions` whose version is the snapshot's number below zero, and a row of
//! `snapshot_items` with the rest. A restore makes items of them again, under versions that no item had.

use super::item_sql::ItemSql;
use crate::domain::clock::Micros;
use crate::domain::snapshots::restore::{NamespaceMove, RestoredNamespace};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, SqlValue};

/// $1 tenant, $2 and $3 the namespace, $4 number, $5 now: copies what is there.
const COPY: [&str; 3] = [
    "insert into snapshot_vectors (tenant, snapshot_no, namespace, key, model, no, field, dims, vector)
     select i.tenant, $4, i.namespace, i.key, x.model, x.no, x.field, x.dims, x.vector from items i
     join item_vectors x on x.tenant = i.tenant and x.namespace = i.namespace and x.key = i.key and x.version = i.version
     where i.tenant = $1 and {below} and i.vector_bytes > 0 and {live}",
    "insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes, digest, body, parts,
        scope_id, file_head, content_id)
     select i.tenant, i.namespace, i.key, -$4, i.updated_at, i.ttl_micros, i.size_bytes, i.digest, i.body, i.parts,
        i.scope_id, i.file_head, i.content_id
     from items i where i.tenant = $1 and {below} and {live}",
    "insert into snapshot_items (tenant, snapshot_no, namespace, key, created_at, expires_at, size_bytes{index}, history,
        words, word_counts, word_total, word_fields, vector_bytes, index_fields)
     select i.tenant, $4, i.namespace, i.key, i.created_at, i.expires_at, i.size_bytes{of_i}, i.history,
        i.words, i.word_counts, i.word_total, i.word_fields, i.vector_bytes, x.fields
     from items i
     left join item_indexing x on x.tenant = i.tenant and x.namespace = i.namespace and x.key = i.key
        and x.version = i.version
     where i.tenant = $1 and {below} and {live}",
];

const BELOW: &str = "i.namespace >= {lo} and i.namespace < {hi}";
const LIVE: &str = "(i.expires_at is null or i.expires_at > $5)";

/// Whether the item `i` is as the copy of it. One with vectors is put again: they may be others for the same value.
const SAME: &str = "exists (
    select 1 from snapshot_items c join item_versions v on v.tenant = c.tenant and v.namespace = c.namespace
        and v.key = c.key and v.version = -c.snapshot_no
    where c.tenant = i.tenant and c.snapshot_no = $4 and c.namespace = i.namespace and c.key = i.key
        and v.digest = i.digest and v.content_id is not distinct from i.content_id
        and c.vector_bytes = 0 and i.vector_bytes = 0 and v.ttl_micros is not distinct from i.ttl_micros
        and (i.expires_at is null or i.expires_at > $5))";

/// Whether the item goes: the snapshot has none of its name, or its life has ended.
const GOES: &str = "i.expires_at <= $5 or not exists (
    select 1 from snapshot_items c
    where c.tenant = i.tenant and c.snapshot_no = $4 and c.namespace = i.namespace and c.key = i.key)";

/// The same where the items are nobody's that the snapshot knows: what is put at this moment stays.
const ENDED: &str = "i.expires_at <= $5 and $4 > 0";

/// Which version each copy is put as; none where the item is the same.
const NUMBER: &str = "
update snapshot_items set next_version = (
    select {greatest}(coalesce(max(i.version) + 1, $5), $5) from items i
    where i.tenant = $1 and i.namespace = snapshot_items.namespace and i.key = snapshot_items.key and not {same})
where tenant = $1 and snapshot_no = $4 and namespace >= {lo} and namespace < {hi}";

/// An aggregate over no rows is a row: a same item is told apart here.
const UNNUMBER: &str = "
update snapshot_items set next_version = null
where tenant = $1 and snapshot_no = $4 and namespace >= {lo} and namespace < {hi} and exists (
    select 1 from items i where i.tenant = $1 and i.namespace = snapshot_items.namespace
        and i.key = snapshot_items.key and {same})";

/// What items that go or change have beside their rows. Chunks go with a collection, an hour later at the earliest.
const DROP_BESIDE: [&str; 3] = [
    "delete from item_vectors where tenant = $1 and namespace >= {lo} and namespace < {hi} and not exists (
        select 1 from items i where i.tenant = $1 and i.namespace = item_vectors.namespace and i.key = item_vectors.key
            and {same})",
    "delete from item_indexing where tenant = $1 and namespace >= {lo} and namespace < {hi} and not exists (
        select 1 from items i where i.tenant = $1 and i.namespace = item_indexing.namespace
            and i.key = item_indexing.key and {same})",
    "insert into garbage (tenant, thread_key, scope_id, created_at)
     select distinct i.tenant, i.scope_id, i.scope_id, $5 from items i
     where i.tenant = $1 and {below} and i.scope_id is not null and not {same}
     on conflict (tenant, thread_key) do nothing",
];

const GONE: &str = "
    select i.namespace, i.key, i.version, case when i.expires_at <= $5 then 'expire' else 'delete' end as kind
    from items i where i.tenant = $1 and {below} and ({goes})";

const PUT: &str = "
    select c.namespace, c.key, c.next_version as version, 'put' as kind from snapshot_items c
    where c.tenant = $1 and c.snapshot_no = $4 and c.namespace >= {lo} and c.namespace < {hi}
        and c.next_version is not null";

/// Rows of items that are not like a copy.
const DELETE: &str = "
delete from items as i where i.tenant = $1 and {below} and ({goes}) returning version";

/// Where there is none of the name. $6 when the snapshot was taken, by the servers' clocks, which lives go by: what was left of one begins now.
const INSERT: &str = "
insert into items as o (tenant, namespace, key, version, created_at, updated_at, ttl_micros, expires_at, size_bytes, digest,
    body, parts, scope_id{index}, vector_bytes, is_indexed, history, words, word_counts, word_total, word_fields, file_head,
    content_id)
select c.tenant, c.namespace, c.key, c.next_version, c.created_at, v.updated_at, v.ttl_micros, c.expires_at - $6 + $5,
    v.size_bytes, v.digest, v.body, v.parts, v.scope_id{of_c}, c.vector_bytes, c.index_fields is not null, c.history, c.words,
    c.word_counts, c.word_total, c.word_fields, v.file_head, v.content_id
from snapshot_items c
join item_versions v on v.tenant = c.tenant and v.namespace = c.namespace and v.key = c.key and v.version = -c.snapshot_no
where c.tenant = $1 and c.snapshot_no = $4 and c.namespace >= {lo} and c.namespace < {hi} and c.next_version is not null
on conflict (tenant, namespace, key) do ";
const NOTHING: &str = "nothing returning version";
const REPLACE: &str = "update set version = {greatest}(o.version + 1, excluded.version),
    created_at = excluded.created_at, updated_at = excluded.updated_at, ttl_micros = excluded.ttl_micros,
    expires_at = excluded.expires_at, size_bytes = excluded.size_bytes, digest = excluded.digest, body = excluded.body,
    parts = excluded.parts, scope_id = excluded.scope_id{set_index}, vector_bytes = excluded.vector_bytes,
    is_indexed = excluded.is_indexed, history = excluded.history, words = excluded.words,
    word_counts = excluded.word_counts, word_total = excluded.word_total, word_fields = excluded.word_fields,
    file_head = excluded.file_head, content_id = excluded.content_id
returning version";

const ADD_BESIDE: [&str; 2] = [
    "insert into item_vectors (tenant, namespace, key, version, model, no, field, dims, vector)
     select c.tenant, c.namespace, c.key, c.next_version, x.model, x.no, x.field, x.dims, x.vector
     from snapshot_items c join snapshot_vectors x on x.tenant = c.tenant and x.snapshot_no = c.snapshot_no
        and x.namespace = c.namespace and x.key = c.key
     where c.tenant = $1 and c.snapshot_no = $4 and c.namespace >= {lo} and c.namespace < {hi}
        and c.next_version is not null and $5 > 0",
    "insert into item_indexing (tenant, namespace, key, version, fields, due_at)
     select c.tenant, c.namespace, c.key, c.next_version, c.index_fields, $5 from snapshot_items c
     where c.tenant = $1 and c.snapshot_no = $4 and c.namespace >= {lo} and c.namespace < {hi}
        and c.next_version is not null and c.index_fields is not null",
];

/// Fields whose words are indexed may have changed since: a walk looks at all of them.
const WALK: &str = "
insert into word_walks (tenant, namespace, changed_at, claimed_until)
select s.tenant, s.namespace, $2, 0 from namespace_settings s where s.tenant = $1 and s.text_fields is not null
on conflict (tenant, namespace) do update set changed_at = excluded.changed_at";

const COUNT: &str = "
select count(*), cast(coalesce(sum(size_bytes), 0) as bigint) from snapshot_items
where tenant = $1 and snapshot_no = $4 and namespace >= {lo} and namespace < {hi} and $5 > 0";

/// Statements about one namespace of one snapshot.
pub struct Items<'a> {
    pub sql: &'a ItemSql,
    pub tenant: &'a str,
    pub number: i64,
    pub now: Micros,
}

impl Items<'_> {
    fn text(&self, text: &str) -> String {
        let text = text.replace("{changed}", "").replace("{goes}", GOES).replace("{same}", SAME);
        self.sql.fill(&text.replace("{below}", BELOW).replace("{live}", LIVE))
    }

    fn binds(&self, namespace: &Namespace) -> Vec<SqlValue> {
        let [lo, hi] = self.sql.bounds(namespace);
        vec![self.tenant.into(), lo, hi, self.number.into(), self.now.into()]
    }

    /// Statements for whoever copies all at one moment, each with the same binds.
    pub fn copying(&self) -> Vec<String> {
        COPY.iter().map(|it| self.text(it)).collect()
    }

    /// What is there now.
    ///
    /// # Errors
    /// A database that cannot be written.
    pub async fn copy(&self, access: &mut dyn Access, namespace: &Namespace) -> Result<()> {
        for text in self.copying() {
            access.rows(&text, &self.binds(namespace)).await?;
        }
        Ok(())
    }

    /// Number and bytes of the copies.
    ///
    /// # Errors
    /// A database that cannot be read.
    pub async fn count(
        &self,
        access: &mut dyn Access,
        namespace: &Namespace,
    ) -> Result<(i64, i64)> {
        let rows = access.rows(&self.text(COUNT), &self.binds(namespace)).await?;
        Ok((rows[0].integer(0)?, rows[0].integer(1)?))
    }

    /// A number that a statement with the usual binds answers.
    ///
    /// # Errors
    /// A database that cannot be read.
    pub async fn counted(
        &self,
        access: &mut dyn Access,
        text: &str,
        namespace: &Namespace,
    ) -> Result<i64> {
        access.rows(&self.text(text), &self.binds(namespace)).await?[0].integer(0)
    }

    /// How many live items there are.
    ///
    /// # Errors
    /// A database that cannot be read.
    pub async fn count_live(&self, access: &mut dyn Access, namespace: &Namespace) -> Result<i64> {
        const TEXT: &str =
            "select count(*) from items i where i.tenant = $1 and {below} and {live} and $4 >= 0";
        self.counted(access, TEXT, namespace).await
    }

    /// Makes the namespace what it was at the moment; or another one, where there is nothing, what the copies say.
    ///
    /// # Errors
    /// `NamespaceExists`; a database that cannot be written.
    pub async fn restore(
        &self,
        access: &mut dyn Access,
        it: &NamespaceMove,
        moment: Micros,
    ) -> Result<RestoredNamespace> {
        let binds = self.binds(&it.into);
        self.check(access, it).await?;
        access.rows(&self.text(NUMBER), &binds).await?;
        access.rows(&self.text(UNNUMBER), &binds).await?;
        for text in DROP_BESIDE {
            access.rows(&self.text(text), &binds).await?;
        }
        let going = if it.in_place() { GOES } else { ENDED };
        self.log(access, &GONE.replace("{goes}", going), &binds).await?;
        let delete = self.text(&DELETE.replace("{goes}", going));
        let removed = access.rows(&delete, &binds).await?.len();
        let with_moment = [&binds[..], &[moment.into()]].concat();
        let text = format!("{INSERT}{}", if it.in_place() { REPLACE } else { NOTHING });
        let written = access.rows(&self.text(&text), &with_moment).await?.len();
        self.log(access, PUT, &binds).await?;
        for text in ADD_BESIDE {
            access.rows(&self.text(text), &binds).await?;
        }
        access.rows(WALK, &[self.tenant.into(), self.now.into()]).await?;
        // Somebody may have put something since it was looked at.
        let has_others = !it.in_place()
            && (count(written) < it.part.items
                || self.count_live(access, &it.into).await? > it.part.items);
        if has_others {
            return Err(exists(it));
        }
        Ok(answer(it, count(written), count(removed)))
    }

    /// Into another namespace only where there is nothing.
    async fn check(&self, access: &mut dyn Access, it: &NamespaceMove) -> Result<()> {
        if it.in_place() || self.count_live(access, &it.into).await? == 0 {
            return Ok(());
        }
        Err(exists(it))
    }

    /// What [`Self::restore`] would do.
    ///
    /// # Errors
    /// A database that cannot be read.
    pub async fn look(
        &self,
        access: &mut dyn Access,
        it: &NamespaceMove,
    ) -> Result<RestoredNamespace> {
        const SAMES: &str =
            "select count(*) from items i where i.tenant = $1 and {below} and {same}";
        const GOING: &str =
            "select count(*) from items i where i.tenant = $1 and {below} and ({goes})";
        self.check(access, it).await?;
        let binds = self.binds(&it.into);
        if !it.in_place() {
            return Ok(answer(it, it.part.items, 0));
        }
        let same = access.rows(&self.text(SAMES), &binds).await?[0].integer(0)?;
        let removed = access.rows(&self.text(GOING), &binds).await?[0].integer(0)?;
        Ok(answer(it, it.part.items - same, removed))
    }

    async fn log(&self, access: &mut dyn Access, changed: &str, binds: &[SqlValue]) -> Result<()> {
        let changed = self.text(changed);
        for (at, text) in self.sql.log.iter().enumerate() {
            // The second one only counts.
            let binds = if at == 0 { binds } else { &binds[..1] };
            access.rows(&text.replace("{changed}", &changed), binds).await?;
        }
        Ok(())
    }
}

fn answer(it: &NamespaceMove, written: i64, removed: i64) -> RestoredNamespace {
    let unchanged = it.part.items - written;
    let [namespace, into] = [&it.part.namespace, &it.into].map(|it| it.labels().to_vec());
    RestoredNamespace { namespace, into, written, unchanged, removed }
}

fn exists(it: &NamespaceMove) -> Error {
    Error::Conflict(Conflict::NamespaceExists { name: it.into.labels().join("/") })
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// Copies of a number below a namespace go.
///
/// # Errors
/// A database that cannot be written.
pub async fn remove_below(
    access: &mut dyn Access,
    sql: &ItemSql,
    (tenant, number): (&str, i64),
    [lo, hi]: [&SqlValue; 2],
    now: Micros,
) -> Result<()> {
    const TEXTS: [&str; 4] = [
        "insert into garbage (tenant, thread_key, scope_id, created_at)
         select distinct v.tenant, v.scope_id, v.scope_id, $5 from item_versions v
         where v.tenant = $1 and v.version = -$4 and v.namespace >= {lo} and v.namespace < {hi} and v.scope_id is not null
         on conflict (tenant, thread_key) do nothing",
        "delete from item_versions where tenant = $1 and version = -$4 and namespace >= {lo} and namespace < {hi} and $5 > 0",
        "delete from snapshot_vectors where tenant = $1 and snapshot_no = $4 and namespace >= {lo} and namespace < {hi}
            and $5 > 0",
        "delete from snapshot_items where tenant = $1 and snapshot_no = $4 and namespace >= {lo} and namespace < {hi}
            and $5 > 0",
    ];
    let binds = [tenant.into(), lo.clone(), hi.clone(), number.into(), now.into()];
    for text in TEXTS {
        access.rows(&sql.fill(text), &binds).await?;
    }
    Ok(())
}

/// One slice of the copies of a number goes. False: there are no more.
///
/// # Errors
/// A database that cannot be written.
pub async fn remove_slice(
    access: &mut dyn Access,
    tenant: &str,
    number: i64,
    now: Micros,
) -> Result<bool> {
    // Their chunks go with a collection, an hour later at the earliest.
    const SCOPES: &str = "
        insert into garbage (tenant, thread_key, scope_id, created_at)
        select distinct v.tenant, v.scope_id, v.scope_id, $3 from snapshot_items c
        join item_versions v on v.tenant = c.tenant and v.namespace = c.namespace and v.key = c.key
            and v.version = -c.snapshot_no
        where c.tenant = $1 and c.snapshot_no = $2 and v.scope_id is not null
        on conflict (tenant, thread_key) do nothing";
    const SLICE: &str =
        "select 1 from snapshot_items where tenant = $1 and snapshot_no = $2 limit 501";
    const ROWS: [&str; 3] = [
        "delete from item_versions where tenant = $1 and version = -$2 and (namespace, key) in (
            select c.namespace, c.key from snapshot_items c where c.tenant = $1 and c.snapshot_no = $2
            order by c.namespace, c.key limit 500)",
        "delete from snapshot_vectors where tenant = $1 and snapshot_no = $2 and (namespace, key) in (
            select c.namespace, c.key from snapshot_items c where c.tenant = $1 and c.snapshot_no = $2
            order by c.namespace, c.key limit 500)",
        "delete from snapshot_items where tenant = $1 and snapshot_no = $2 and (namespace, key) in (
            select c.namespace, c.key from snapshot_items c where c.tenant = $1 and c.snapshot_no = $2
            order by c.namespace, c.key limit 500)",
    ];
    let place = [SqlValue::from(tenant), number.into()];
    let more = access.rows(SLICE, &place).await?.len();
    if more == 0 {
        return Ok(false);
    }
    access.rows(SCOPES, &[&place[..], &[now.into()]].concat()).await?;
    for text in ROWS {
        access.rows(text, &place).await?;
    }
    Ok(more > 500)
}
