//! Makes vectors in the background: a put never waits for the endpoint and never fails with it. Work is a row beside its item, claimed for
//! a while. So any number of servers may work, and a crash loses no work.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::embedding::{Embeddings, Refused};
use super::indexing_storage::IndexingTask;
use super::vector::{FieldVector, NewVectors};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::json::exact_json;
use crate::domain::json::field_path::FieldPath;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::background_tasks::{self, Group, Kind};
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::store::storage::ItemStorage;

/// Items of one round, and texts of one question to the endpoint.
const ITEMS_MAX: usize = 32;
const TEXTS_MAX: usize = 64;
/// Texts of items that are in memory together, but for those of the last item.
const BYTES_TOGETHER: usize = 4 << 20;
/// Characters of a text that are embedded: models read no more.
const CHARACTERS_MAX: usize = 32_768;
/// How often work is looked for when nothing says that there is some.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Time after which somebody else may take over, and the longest pause between two attempts.
const CLAIM: Micros = 120 * 1_000_000;
const PAUSE_MAX: Micros = 3_600 * 1_000_000;

/// The worker.
pub struct Indexer {
    storage: Arc<dyn ItemStorage>,
    embeddings: Arc<dyn Embeddings>,
    clock: Arc<Clock>,
    wake: Arc<Notify>,
}

/// A task with its texts, and the names of these.
struct Work {
    task: IndexingTask,
    texts: Vec<(String, String)>,
}

impl Indexer {
    pub fn new(
        storage: Arc<dyn ItemStorage>,
        embeddings: Arc<dyn Embeddings>,
        clock: Arc<Clock>,
        wake: Arc<Notify>,
    ) -> Self {
        Self { storage, embeddings, clock, wake }
    }

    /// Until it is aborted.
    pub async fn run(self, health: TaskHealth) {
        let health = health.every(LOOK_EVERY);
        loop {
            let ended = self.round().await;
            health.note(&ended);
            match ended {
                Ok(true) => {}
                Ok(false) => {
                    let _ = tokio::time::timeout(LOOK_EVERY, self.wake.notified()).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "items wait for their vectors");
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    /// Whether there was something to do.
    ///
    /// # Errors
    /// Those of the storage.
    pub async fn round(&self) -> Result<bool> {
        let now = self.clock.now();
        let renewed = self.storage.renew_indexing(self.embeddings.model(), now).await?;
        let tasks = self.storage.claim_indexing(now, now + CLAIM, ITEMS_MAX).await?;
        if tasks.is_empty() {
            return Ok(renewed);
        }
        let group = background_tasks::begin(&*self.storage, Kind::Vectors, now).await?;
        let made = if group.is_together() {
            self.make_together(&group, tasks, now).await
        } else {
            self.make_alone(&group, tasks, now).await
        };
        group.end(made).await?;
        Ok(true)
    }

    async fn make_together(
        &self,
        group: &Group<'_>,
        tasks: Vec<IndexingTask>,
        now: Micros,
    ) -> Result<()> {
        let (mut works, mut bytes) = (Vec::new(), 0);
        for task in tasks {
            if group.is_parked(&task.tenant, &task.version.to_string()) {
                self.put_off(&task, now).await?;
                continue;
            }
            let work = self.read(task, now).await?;
            bytes += work.texts.iter().map(|it| it.1.len()).sum::<usize>();
            works.push(work);
            if bytes > BYTES_TOGETHER {
                self.make(std::mem::take(&mut works)).await?;
                bytes = 0;
            }
        }
        self.make(works).await
    }

    async fn make_alone(
        &self,
        group: &Group<'_>,
        tasks: Vec<IndexingTask>,
        now: Micros,
    ) -> Result<()> {
        for task in tasks {
            let (tenant, unit) = (task.tenant.clone(), task.version.to_string());
            let work = async { self.make(vec![self.read(task.clone(), now).await?]).await };
            if group.run((&tenant, &unit), now, work).await?.is_none() {
                self.put_off(&task, now).await?;
            }
        }
        Ok(())
    }

    /// A task that is put aside is met again later, in case that somebody released it.
    async fn put_off(&self, task: &IndexingTask, now: Micros) -> Result<()> {
        self.storage.postpone_indexing(task, now + PAUSE_MAX).await
    }

    /// Makes the vectors of some items, or puts them off.
    async fn make(&self, works: Vec<Work>) -> Result<()> {
        if let Err(refused) = self.embed(&works).await? {
            // Perhaps because of one of them.
            let alone = matches!(refused, Refused::Texts(_)) && works.len() > 1;
            for work in works {
                let refused = if alone {
                    self.embed(std::slice::from_ref(&work)).await?.err()
                } else {
                    Some(refused.clone())
                };
                if let Some(refused) = refused {
                    self.postpone(&work.task, &refused).await?;
                }
            }
        }
        Ok(())
    }

    /// The item's texts; none where it is gone or has another version, which the storage finds again.
    async fn read(&self, task: IndexingTask, now: Micros) -> Result<Work> {
        let caller = Caller::of_tenant(&task.tenant);
        let places = std::slice::from_ref(&task.address);
        let found = self.storage.get_items(&caller, places, None, now).await?.pop().flatten();
        let current = found.filter(|it| it.version == task.version);
        let Some(text) = current.and_then(|it| it.value) else {
            return Ok(Work { task, texts: Vec::new() });
        };
        let paths = || texts_of(&text, &task.fields);
        let texts = cpu_pool::run_here(&task.tenant, text.len(), paths).await??;
        Ok(Work { task, texts })
    }

    /// Makes and stores the vectors of all, or of none.
    async fn embed(&self, works: &[Work]) -> Result<Result<(), Refused>> {
        let mut texts: Vec<&str> =
            works.iter().flat_map(|it| it.texts.iter().map(|it| it.1.as_str())).collect();
        texts.sort_unstable();
        texts.dedup();
        let mut known = HashMap::new();
        for part in texts.chunks(TEXTS_MAX) {
            let asked: Vec<String> = part.iter().map(|it| (*it).to_owned()).collect();
            match self.embeddings.embed(&asked).await {
                Ok(vectors) => known.extend(part.iter().copied().zip(vectors)),
                Err(refused) => return Ok(Err(refused)),
            }
        }
        let model = self.embeddings.model();
        for Work { task, texts } in works {
            let vectors = texts.iter().map(|(field, text)| {
                let vector = known.get(text.as_str()).cloned();
                let missing = || Error::Internal("a text has no vector".into());
                Ok(FieldVector { field: cut(field), vector: vector.ok_or_else(missing)? })
            });
            let vectors = vectors.collect::<Result<Vec<_>>>()?;
            let vectors = (!vectors.is_empty()).then(|| NewVectors::new(model.clone(), vectors));
            let stored = vectors.transpose()?;
            self.storage.finish_indexing(task, model, stored.as_ref()).await?;
        }
        Ok(Ok(()))
    }

    async fn postpone(&self, task: &IndexingTask, refused: &Refused) -> Result<()> {
        let (Refused::ForNow(detail) | Refused::Texts(detail)) = refused;
        let doubled = u32::try_from(task.attempt).unwrap_or(u32::MAX).min(12);
        let pause = (1_000_000 << doubled).min(PAUSE_MAX);
        tracing::warn!(detail, attempt = task.attempt, "an item waits for its vectors");
        self.storage.postpone_indexing(task, self.clock.now() + pause).await
    }
}

/// The texts of a value at these paths, each with its name.
fn texts_of(value: &[u8], fields: &str) -> Result<Vec<(String, String)>> {
    let document = exact_json::parse("value", value)?;
    let damaged = |_| Error::Integrity("the paths of an item are no list".into());
    let paths: Vec<String> = serde_json::from_str(fields).map_err(damaged)?;
    let most = usize::try_from(LIMITS.vectors_per_item_max).unwrap_or(usize::MAX);
    let mut texts = Vec::new();
    for path in paths {
        let left = most - texts.len();
        if left == 0 {
            break;
        }
        texts.extend(FieldPath::new(&path)?.texts(&document, left, CHARACTERS_MAX));
    }
    // Endpoints take no empty texts.
    texts.retain(|(_, text)| !text.trim().is_empty());
    Ok(texts)
}

/// A path with its number may be a little longer than a path.
fn cut(field: &str) -> String {
    let most = usize::try_from(LIMITS.vector_field_bytes_max).unwrap_or(usize::MAX);
    let end = (0..=most.min(field.len())).rev().find(|it| field.is_char_boundary(*it));
    field[..end.unwrap_or(0)].to_owned()
}
