//! Stores the vectors that servers make as rows, and the queue of items that are due. The SQL is the same for both engines.

use async_trait::async_trait;

use super::models::ModelMemory;
use super::namespaces;
use crate::domain::clock::Micros;
use crate::domain::store::indexing_storage::{IndexingStorage, IndexingTask};
use crate::domain::store::item::{Address, Key};
use crate::domain::store::vector::{Model, NewVectors};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};
use crate::storage::maintenance::background_tasks::Living;

/// What was made by another model and is due again in one round.
const RENEWED_ROWS: i64 = 500;

/// Workers go over all tenants: each row is of one. $1 time, $2 limit.
const DUE: &str = "select tenant, namespace, key, version, fields, attempts from item_indexing
    where due_at <= $1 order by due_at limit $2 {skip_locked}";

/// $1 tenant, $2 namespace, $3 key, $4 version, as in the next ones.
const CLAIM: &str = "update item_indexing set due_at = $5, attempts = attempts + 1
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4";

const POSTPONE: &str = "update item_indexing set due_at = $5
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4 and due_at is not null";

const LOCK: &str = "select version from items
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4 {lock}";

const FORGET: &str = "delete from item_indexing
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4";

const REMOVE: &str = "delete from item_vectors
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4";

const ADD: &str =
    "insert into item_vectors (tenant, namespace, key, version, model, no, field, dims, vector)
    values ($1, {namespace}, $3, $4, $5, $6, $7, $8, {numbers})";

const COUNT: &str = "update items set vector_bytes = $5
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4";

const DONE: &str = "update item_indexing set model = $5, due_at = null, attempts = 0
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4";

/// $1 model, $2 limit.
const MADE_BY_OTHERS: &str = "select tenant, namespace, key, version from item_indexing
    where due_at is null and (model < $1 or model > $1) limit $2 {skip_locked}";

const RENEW: &str = "update item_indexing set due_at = $5, attempts = 0
    where tenant = $1 and namespace = {namespace} and key = $3 and version = $4";

/// An engine with a memory of the models.
pub trait Indexable: Accessible {
    fn models(&self) -> &ModelMemory;
}

#[async_trait]
impl<T: Indexable + Living> IndexingStorage for T {
    async fn claim_indexing(
        &self,
        now: Micros,
        until: Micros,
        limit: usize,
    ) -> Result<Vec<IndexingTask>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut access = self.begin_read().await?;
        // Without work there is nothing to lock.
        let any = access.rows(&without_lock(DUE), &[now.into(), 1.into()]).await?;
        access.end().await?;
        if any.is_empty() {
            return Ok(Vec::new());
        }
        let mut access = self.begin_write().await?;
        let rows = access.rows(&self.dialect().fill(DUE), &[now.into(), limit.into()]).await?;
        let claim = self.dialect().fill(CLAIM);
        let mut tasks = Vec::with_capacity(rows.len());
        for row in &rows {
            access.rows(&claim, &[&row.0[..4], &[until.into()]].concat()).await?;
            tasks.push(task(row)?);
        }
        access.end().await?;
        Ok(tasks)
    }

    async fn finish_indexing(
        &self,
        task: &IndexingTask,
        model: &Model,
        vectors: Option<&NewVectors>,
    ) -> Result<()> {
        if let Some(vectors) = vectors {
            self.models().check_new(self, &task.tenant, vectors).await?;
        }
        let fill = |text: &str| self.dialect().fill(text);
        let place = place(self, task);
        let mut access = self.begin_write().await?;
        if access.rows(&fill(LOCK), &place).await?.is_empty() {
            access.rows(&fill(FORGET), &place).await?;
            return access.end().await;
        }
        access.rows(&fill(REMOVE), &place).await?;
        if let Some(vectors) = vectors {
            add(access.as_mut(), (&fill(ADD), has_arrays(self)), &place, vectors).await?;
        }
        let bytes = vectors.map_or(0, NewVectors::size_bytes);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        access.rows(&fill(COUNT), &[&place[..], &[bytes.into()]].concat()).await?;
        access.rows(&fill(DONE), &[&place[..], &[model.as_str().into()]].concat()).await?;
        access.end().await
    }

    async fn postpone_indexing(&self, task: &IndexingTask, due_at: Micros) -> Result<()> {
        let binds = [&place(self, task)[..], &[due_at.into()]].concat();
        let mut access = self.begin_write().await?;
        access.rows(&self.dialect().fill(POSTPONE), &binds).await?;
        access.end().await
    }

    async fn renew_indexing(&self, model: &Model, now: Micros) -> Result<bool> {
        let asked = |limit: i64| [SqlValue::from(model.as_str()), limit.into()];
        let mut access = self.begin_read().await?;
        let any = access.rows(&without_lock(MADE_BY_OTHERS), &asked(1)).await?;
        access.end().await?;
        if any.is_empty() {
            return Ok(false);
        }
        let mut access = self.begin_write().await?;
        let text = self.dialect().fill(MADE_BY_OTHERS);
        let rows = access.rows(&text, &asked(RENEWED_ROWS)).await?;
        let renew = self.dialect().fill(RENEW);
        for row in &rows {
            access.rows(&renew, &[&row.0[..4], &[now.into()]].concat()).await?;
        }
        access.end().await?;
        Ok(!rows.is_empty())
    }
}

async fn add(
    access: &mut dyn Access,
    (text, as_text): (&str, bool),
    place: &[SqlValue],
    vectors: &NewVectors,
) -> Result<()> {
    let dims = i64::try_from(vectors.dims()).unwrap_or(i64::MAX);
    for (no, it) in vectors.all().iter().enumerate() {
        let no = i64::try_from(no).unwrap_or(i64::MAX);
        let numbers = it.vector.numbers();
        let numbers = if as_text {
            SqlValue::Text(format!(
                "{{{}}}",
                numbers.iter().map(f32::to_string).collect::<Vec<_>>().join(",")
            ))
        } else {
            SqlValue::Bytes(numbers.iter().flat_map(|it| it.to_le_bytes()).collect())
        };
        let more = [
            vectors.model().as_str().into(),
            no.into(),
            it.field.as_str().into(),
            dims.into(),
            numbers,
        ];
        access.rows(text, &[place, &more[..]].concat()).await?;
    }
    Ok(())
}

fn without_lock(text: &str) -> String {
    text.replace("{skip_locked}", "")
}

fn place<T: Accessible + ?Sized>(engine: &T, task: &IndexingTask) -> [SqlValue; 4] {
    let Address { namespace, key } = &task.address;
    let namespace = if has_arrays(engine) {
        SqlValue::Text(serde_json::Value::from(namespace.labels().to_vec()).to_string())
    } else {
        SqlValue::Bytes(namespaces::encode(namespace))
    };
    [task.tenant.as_str().into(), namespace, key.as_bytes().into(), task.version.into()]
}

/// Whether the engine's cells have arrays as texts, or as bytes.
fn has_arrays<T: Accessible + ?Sized>(engine: &T) -> bool {
    !engine.dialect().first_namespace.is_empty()
}

fn task(row: &SqlRow) -> Result<IndexingTask> {
    let damaged = || Error::Integrity("a namespace is damaged".into());
    let namespace = namespaces::of_cell(&row.0[1]).ok_or_else(damaged)?;
    Ok(IndexingTask {
        tenant: row.text(0)?.to_owned(),
        address: Address { namespace, key: Key::stored(row.bytes(2)?.to_vec()) },
        version: row.integer(3)?,
        fields: row.text(4)?.to_owned(),
        attempt: row.integer(5)? + 1,
    })
}
