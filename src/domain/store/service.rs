//! Runs the operations on items: checks the permission, then reads, then changes. A batch reads the state from before its own changes. Of
//! several changes of one item the last one counts, as in LangGraph's stores.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::batch::PreparedChanges;
use super::changing::Changing;
use super::commit::{Changed, ItemCommit};
use super::embedding::{Embedder, Embeddings};
use super::item::{
    Address, ChangeItem, GetItem, Item, ItemOp, ItemPage, OpResult, Scope, SearchItems, SearchMode,
};
use super::namespace_settings::NamespaceSettings;
use super::rules::{check_repetitions, fail_as_one, permitted, within};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::scheduling::contention::Contention;
use crate::domain::store::storage::ItemStorage;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tokens::grants::Action;

/// Items of a tenant.
pub struct Items {
    pub(in crate::domain) storage: Arc<dyn ItemStorage>,
    pub(in crate::domain) commits: Arc<ItemCommit>,
    pub(in crate::domain) clock: Arc<Clock>,
    pub(in crate::domain) quotas: Arc<Quotas>,
    pub(in crate::domain) settings: Arc<NamespaceSettings>,
    embedder: Embedder,
    /// Told when vectors are to be made.
    indexer: Arc<Notify>,
    /// What the searches, lists and counts of one batch may take together.
    batch_time: Duration,
}

/// Operations that arrived together. What was wrong with one of them already is its result.
pub struct ItemBatchRequest {
    pub ops: Vec<Result<ItemOp>>,
    /// Either all changes happen or none, and any error is the error of the whole.
    pub atomic: bool,
    /// Key and digest of the request.
    pub idempotency: Option<(String, [u8; 32])>,
    pub deadline: Micros,
}

impl Items {
    pub fn new(
        storage: Arc<dyn ItemStorage>,
        commits: Arc<ItemCommit>,
        clock: Arc<Clock>,
        quotas: Arc<Quotas>,
        settings: Arc<NamespaceSettings>,
    ) -> Self {
        let (embedder, indexer) = (Embedder::default(), Arc::default());
        let batch_time = Duration::from_secs(LIMITS.search_seconds_max);
        Self { storage, commits, clock, quotas, settings, embedder, indexer, batch_time }
    }

    /// With another time for the searches, lists and counts of one batch.
    #[must_use]
    pub fn with_batch_time(self, batch_time: Duration) -> Self {
        Self { batch_time, ..self }
    }

    /// With an endpoint for embeddings, and who makes vectors with it.
    #[must_use]
    pub fn with_embeddings(self, embedder: Embedder, indexer: Arc<Notify>) -> Self {
        Self { embedder, indexer, ..self }
    }

    /// Whether the server makes vectors of texts.
    pub fn makes_vectors(&self) -> bool {
        self.embedder.get().is_some()
    }

    /// What makes vectors of texts, if this server has it.
    pub fn embeddings(&self) -> Option<&Arc<dyn Embeddings>> {
        self.embedder.get()
    }

    /// One operation.
    ///
    /// # Errors
    /// Those of the operation.
    pub async fn run(
        &self,
        caller: &Caller,
        op: ItemOp,
        idempotency: Option<(String, [u8; 32])>,
        deadline: Micros,
    ) -> Result<OpResult> {
        let request = ItemBatchRequest { ops: vec![Ok(op)], atomic: false, idempotency, deadline };
        let mut results = self.batch(caller, request).await?;
        results.pop().unwrap_or_else(|| Err(Error::Internal("an operation has no result".into())))
    }

    /// All reads, then all changes. One result per operation, in their order.
    ///
    /// # Errors
    /// With `atomic`, those of any operation.
    pub async fn batch(
        &self,
        caller: &Caller,
        request: ItemBatchRequest,
    ) -> Result<Vec<Result<OpResult>>> {
        let ItemBatchRequest { ops, atomic, idempotency, deadline } = request;
        at_most("ops", ops.len(), LIMITS.store_ops_max)?;
        let mut results: Vec<Option<Result<OpResult>>> = ops.iter().map(|_| None).collect();
        let (mut reads, mut changes) = (Vec::new(), Vec::new());
        for (at, op) in ops.into_iter().enumerate() {
            match op.and_then(|op| permitted(caller, op)).and_then(|op| self.embedder.check(op)) {
                Ok(ItemOp::Change(change)) => changes.push((at, change)),
                Ok(op) => reads.push((at, op)),
                Err(error) => results[at] = Some(Err(error)),
            }
        }
        if atomic {
            fail_as_one(&mut results)?;
        }
        for (at, result) in self.read(caller, reads).await {
            results[at] = Some(result);
        }
        if atomic {
            fail_as_one(&mut results)?;
        }
        let changing = Changing { caller, atomic, idempotency, deadline, note: Vec::new() };
        for (at, result) in self.change(changing, changes).await? {
            results[at] = Some(result);
        }
        let missing = || Err(Error::Internal("an operation has no result".into()));
        Ok(results.into_iter().map(|it| it.unwrap_or_else(missing)).collect())
    }

    async fn read(
        &self,
        caller: &Caller,
        ops: Vec<(usize, ItemOp)>,
    ) -> Vec<(usize, Result<OpResult>)> {
        let mut results = Vec::with_capacity(ops.len());
        let (mut gets, mut bytes) = (Vec::new(), 0);
        // One alone has the time of a search.
        let ends = (ops.len() > 1).then(|| Instant::now() + self.batch_time);
        for (at, op) in ops {
            if bytes > LIMITS.store_answer_bytes_max {
                results.push((at, Err(too_much_together())));
                continue;
            }
            let op = match op {
                ItemOp::Get(get) => {
                    gets.push((at, get));
                    continue;
                }
                op => op,
            };
            let mut result = self.find_until(ends, caller, &op).await;
            if let (Ok(OpResult::Found(page)), ItemOp::Search(query)) = (&mut result, &op) {
                bytes += page.items.iter().map(Item::value_bytes).sum::<u64>();
                // It writes, so nothing ends it.
                if query.refresh_ttl
                    && let Err(error) = self.refresh_page(caller, page).await
                {
                    result = Err(error);
                }
            }
            results.push((at, result));
        }
        // One statement, as long as the request.
        results.extend(self.get(caller, gets).await);
        results
    }

    /// Ends the work where the time of the batch is over.
    async fn find_until(
        &self,
        ends: Option<Instant>,
        caller: &Caller,
        op: &ItemOp,
    ) -> Result<OpResult> {
        match ends {
            None => self.find(caller, op).await,
            Some(ends) if Instant::now() >= ends => Err(Error::ReadTooLong),
            Some(ends) => {
                timeout_at(ends, self.find(caller, op)).await.unwrap_or(Err(Error::ReadTooLong))
            }
        }
    }

    async fn find(&self, caller: &Caller, op: &ItemOp) -> Result<OpResult> {
        match op {
            ItemOp::Search(query) => self.search(caller, query).await.map(OpResult::Found),
            ItemOp::ListNamespaces(query) => {
                self.list_namespaces(caller, query.clone()).await.map(OpResult::Namespaces)
            }
            ItemOp::Count(scope) => self.count(caller, scope).await.map(OpResult::Count),
            ItemOp::Get(_) | ItemOp::Change(_) => {
                Err(Error::Internal("an operation that finds nothing".into()))
            }
        }
    }

    /// All in one statement.
    async fn get(
        &self,
        caller: &Caller,
        gets: Vec<(usize, GetItem)>,
    ) -> Vec<(usize, Result<OpResult>)> {
        if gets.is_empty() {
            return Vec::new();
        }
        let now = self.clock.now();
        let readable =
            |it: &GetItem| caller.may_touch_namespace(it.address.namespace.labels(), Action::Read);
        let asked: Vec<Address> =
            gets.iter().filter(|(_, it)| readable(it)).map(|(_, it)| it.address.clone()).collect();
        let found = async {
            let bytes_max = Some(LIMITS.store_answer_bytes_max);
            let found = self.storage.get_items(caller, &asked, bytes_max, now).await?;
            let mut found = found.into_iter();
            let mut items = Vec::with_capacity(gets.len());
            for (_, get) in &gets {
                items.push(if readable(get) { found.next().flatten() } else { None });
            }
            let mut due: Vec<&mut Item> = items
                .iter_mut()
                .zip(&gets)
                .filter_map(|(item, (_, get))| item.as_mut().filter(|_| get.refresh_ttl))
                .collect();
            self.refresh(caller, &mut due, now).await?;
            Ok::<_, Error>(items)
        };
        match found.await {
            Ok(items) => {
                let found = gets.iter().zip(items);
                found.map(|((at, _), item)| (*at, whole(item).map(OpResult::Got))).collect()
            }
            Err(error) => gets.iter().map(|(at, _)| (*at, Err(error.clone()))).collect(),
        }
    }

    async fn search(&self, caller: &Caller, query: &SearchItems) -> Result<ItemPage> {
        let within = within(caller, &query.scope);
        if within.is_empty() || query.limit == 0 {
            return Ok(ItemPage::default());
        }
        let now = self.clock.now();
        let query = &self.embedder.resolve(query.clone()).await?;
        match &query.mode {
            SearchMode::Text(text) => self.search_text(caller, &within, (query, text), now).await,
            SearchMode::Hybrid(text, near) => {
                self.search_hybrid(caller, &within, (query, text, near), now).await
            }
            SearchMode::List | SearchMode::Vector(_) | SearchMode::Question { .. } => {
                self.storage.search_items(caller, &within, query, now).await
            }
        }
    }

    async fn refresh_page(&self, caller: &Caller, page: &mut ItemPage) -> Result<()> {
        let mut due: Vec<&mut Item> = page.items.iter_mut().collect();
        self.refresh(caller, &mut due, self.clock.now()).await
    }

    async fn count(&self, caller: &Caller, scope: &Scope) -> Result<u64> {
        let within = within(caller, scope);
        if within.is_empty() {
            return Ok(0);
        }
        self.storage.count_items(caller, &within, scope, self.clock.now()).await
    }

    /// Extends the lives of what was read. One more round trip, once in a tenth of a life.
    async fn refresh(&self, caller: &Caller, read: &mut [&mut Item], now: Micros) -> Result<()> {
        let mut due: Vec<&mut Item> =
            read.iter_mut().map(|it| &mut **it).filter(|it| it.wants_refresh(now)).collect();
        if due.is_empty() {
            return Ok(());
        }
        let addresses: Vec<Address> = due.iter().map(|it| it.address.clone()).collect();
        self.storage.refresh_items(caller, &addresses, now).await?;
        for item in &mut due {
            item.expires_at = item.ttl_micros.map(|ttl| now + ttl);
        }
        Ok(())
    }

    async fn change(
        &self,
        changing: Changing<'_>,
        changes: Vec<(usize, ChangeItem)>,
    ) -> Result<Vec<(usize, Result<OpResult>)>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<(usize, Address, bool)> =
            changes.iter().map(|(at, it)| (*at, it.address.clone(), it.value.is_some())).collect();
        check_repetitions(&changes)?;
        let mut last: HashMap<Address, (usize, ChangeItem)> = HashMap::new();
        let mut order = Vec::new();
        for (at, change) in changes {
            let address = change.address.clone();
            if last.insert(address.clone(), (at, change)).is_none() {
                order.push(address);
            }
        }
        let wanted: Vec<(usize, ChangeItem)> =
            order.iter().filter_map(|it| last.remove(it)).collect();
        let versions: Vec<Result<i64>> = if changing.atomic {
            let together = wanted.into_iter().map(|(_, it)| it).collect();
            let versions = self.write(&changing, together, None).await?;
            versions.into_iter().map(Ok).collect()
        } else {
            let each = wanted.into_iter().map(|(at, it)| self.write(&changing, vec![it], Some(at)));
            let one = |it: Vec<i64>| it.first().copied().unwrap_or(0);
            join_all(each).await.into_iter().map(|it| it.map(one)).collect()
        };
        let by_address: HashMap<Address, Result<i64>> = order.into_iter().zip(versions).collect();
        Ok(places
            .into_iter()
            .map(|(at, address, is_put)| {
                let result = match &by_address[&address] {
                    Ok(version) if is_put => Ok(OpResult::Put(*version)),
                    Ok(_) => Ok(OpResult::Deleted),
                    Err(error) => Err(error.clone()),
                };
                (at, result)
            })
            .collect())
    }

    /// Changes that happen together. `at` tells one of a batch from the others.
    pub(in crate::domain) async fn write(
        &self,
        changing: &Changing<'_>,
        changes: Vec<ChangeItem>,
        at: Option<usize>,
    ) -> Result<Vec<i64>> {
        let Changing { caller, deadline, .. } = changing;
        let puts = changes.iter().any(|it| it.value.is_some());
        if puts {
            self.quotas.require_bytes(caller)?;
        }
        let indexes =
            changes.iter().any(|it| it.value.as_ref().is_some_and(|it| !it.index.is_empty()));
        let conditional = changes.iter().any(|it| it.if_version.is_some());
        let idempotency = conditional.then(|| changing.idempotency(at));
        let mut contention = Contention::default();
        loop {
            let prepared = self.storage.prepare_changes(
                caller,
                changes.clone(),
                idempotency.clone(),
                *deadline,
            );
            let mut prepared =
                PreparedChanges { full: self.quotas.items_full(caller), ..prepared.await? };
            self.declare(&mut prepared, &changes).await?;
            match self.commits.commit(prepared).await? {
                Changed::Versions(versions) => {
                    if indexes {
                        self.indexer.notify_one();
                    }
                    return Ok(versions);
                }
                Changed::EpochStale => contention.lost("content of the namespace keeps").await?,
            }
        }
    }
}

/// What the reads of one batch find has to fit into one answer.
fn too_much_together() -> Error {
    Error::TooLarge { field: "ops".into(), limit: LIMITS.store_answer_bytes_max }
}

/// A value is answered with all its content or not at all.
fn whole(item: Option<Item>) -> Result<Option<Item>> {
    match item {
        Some(Item { content_id: Some(_), .. }) => Err(Error::ValueTooLarge),
        item => Ok(item),
    }
}
