//! Implements the items of the storage in memory: one map per tenant, changed batch by batch.

use async_trait::async_trait;
use threadkeep::content::keys::TenantSecret;
use threadkeep::domain::Result;
use threadkeep::domain::batch_error::BatchError;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::idempotency::Idempotency;
use threadkeep::domain::json::exact_json;
use threadkeep::domain::store::batch::{ItemBatch, ItemOutcome, PreparedChanges};
use threadkeep::domain::store::feed::ChangeKind;
use threadkeep::domain::store::item::{
    Address, ChangeItem, Item, ItemPage, Scope, SearchItems, SearchMode,
};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::store::storage::ItemStorage;
use threadkeep::storage::store::{prepare, with_request};

use crate::memory::Memory;

impl Memory {
    pub fn found(&self, caller: &Caller, within: &[Namespace], scope: &Scope) -> Vec<Item> {
        let items = self.items.lock().unwrap();
        let seen = |it: &&Item| {
            let namespace = &it.address.namespace;
            let place = if scope.exact {
                *namespace == scope.prefix
            } else {
                within.iter().any(|prefix| namespace.starts_with(prefix))
            };
            let matches = scope.filter.as_ref().is_none_or(|filter| {
                filter.matches(&exact_json::parse("value", it.value.as_ref().unwrap()).unwrap())
            });
            place && matches
        };
        let own = items.iter().filter(|((tenant, _), _)| *tenant == caller.tenant);
        own.map(|(_, item)| item).filter(seen).cloned().collect()
    }
}

#[async_trait]
impl ItemStorage for Memory {
    async fn prepare_changes(
        &self,
        caller: &Caller,
        changes: Vec<ChangeItem>,
        idempotency: Option<Idempotency>,
        deadline: Micros,
    ) -> Result<PreparedChanges> {
        self.called(format!("prepare_changes {}", changes.len()))?;
        for vectors in changes.iter().filter_map(|it| it.value.as_ref()?.vectors.as_ref()) {
            for it in vectors.all() {
                let (model, numbers) = (vectors.model().as_str(), it.vector.numbers());
                self.called(format!("vectors {model} {} {numbers:?}", it.field))?;
            }
        }
        let texts = changes.iter().filter_map(|it| Some((it.address.clone(), it.value.clone()?)));
        self.texts.lock().unwrap().extend(texts.map(|(address, value)| (address, value.text)));
        let prepared =
            prepare(&TenantSecret::new([7; 32]), &caller.tenant, changes, Vec::new(), false)
                .await?;
        Ok(with_request(prepared, idempotency, deadline))
    }

    async fn write_items(&self, batch: &ItemBatch) -> Result<Vec<ItemOutcome>, BatchError> {
        if let Some(make) = &*self.batch_failure.lock().unwrap() {
            return Err(make());
        }
        let mut items = self.items.lock().unwrap();
        let mut outcomes: Vec<ItemOutcome> =
            batch.groups.iter().map(|_| ItemOutcome::Written(Vec::new())).collect();
        for row in &batch.rows {
            let place = (row.tenant.clone(), row.address.clone());
            let current = items.get(&place).map_or(0, |it| it.version);
            if row.if_version.is_some_and(|it| it != current) {
                outcomes[row.group] = ItemOutcome::Conflict { change: row.change, current };
            }
        }
        for row in &batch.rows {
            let ItemOutcome::Written(versions) = &mut outcomes[row.group] else { continue };
            versions.resize(versions.len().max(row.change + 1), 0);
            let place = (row.tenant.clone(), row.address.clone());
            let Some(put) = &row.put else {
                self.item_versions.lock().unwrap().remove(&place);
                if let Some(gone) = items.remove(&place) {
                    let kind = ChangeKind::Delete;
                    self.log(&row.tenant, &row.address, gone.version, kind, batch.now);
                }
                continue;
            };
            let old = items.get(&place);
            if let (Some(old), Some(kept)) = (old, put.history.filter(|it| *it > 0)) {
                let mut versions = self.item_versions.lock().unwrap();
                let versions = versions.entry(place.clone()).or_default();
                versions.push(old.clone());
                let much = versions.len().saturating_sub(kept as usize);
                versions.drain(..much);
            }
            let version = old.map_or(1, |it| it.version + 1);
            versions[row.change] = version;
            let item = Item {
                address: row.address.clone(),
                version,
                created_at: old.map_or(1_000_000, |it| it.created_at),
                updated_at: 2_000_000,
                ttl_micros: put.ttl_micros,
                expires_at: put.ttl_micros.map(|it| 2_000_000 + it),
                size_bytes: i64::from(put.sealed.size_bytes),
                value: self.texts.lock().unwrap().get(&row.address).cloned(),
                score: None,
                content_id: put.content_id.clone(),
            };
            items.insert(place, item);
            self.log(&row.tenant, &row.address, version, ChangeKind::Put, batch.now);
        }
        Ok(outcomes)
    }

    async fn get_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        _: Option<u64>,
        _: Micros,
    ) -> Result<Vec<Option<Item>>> {
        self.called(format!("get_items {}", addresses.len()))?;
        let items = self.items.lock().unwrap();
        let get = |it: &Address| items.get(&(caller.tenant.clone(), it.clone())).cloned();
        Ok(addresses.iter().map(get).collect())
    }

    async fn get_first_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        self.get_items(caller, addresses, None, now).await
    }

    async fn search_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &SearchItems,
        _: Micros,
    ) -> Result<ItemPage> {
        self.called(format!("search {:?} {:?} {:?}", query.limit, query.sort, query.select))?;
        let mut items = self.found(caller, within, &query.scope);
        items.sort_by(|a, b| a.address.cmp(&b.address));
        let after = query.after.as_ref().map(|it| &it.address);
        items.retain(|it| after.is_none_or(|after| it.address > *after));
        if let SearchMode::Vector(near) = &query.mode {
            // As if every item had the vector (1, 0, …).
            let score = near.metric.score(&[1.0], near.vector.numbers());
            for item in &mut items {
                item.score = Some(score);
            }
        }
        let mut items: Vec<Item> = items.into_iter().skip(query.offset).collect();
        let next = (items.len() > query.limit).then(|| items[query.limit - 1].position(query.sort));
        items.truncate(query.limit);
        Ok(ItemPage { items, next, omitted: 0 })
    }

    async fn count_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        _: Micros,
    ) -> Result<u64> {
        self.called("count_items")?;
        Ok(self.found(caller, within, scope).len() as u64)
    }

    async fn refresh_items(&self, _: &Caller, addresses: &[Address], _: Micros) -> Result<()> {
        self.called(format!("refresh {}", addresses.len()))
    }
}
