//! Implements settings of namespaces and versions of items of the storage in memory.

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::store::history_storage::{
    ItemHistoryStorage, ItemVersion, ListVersions, VersionPage,
};
use threadkeep::domain::store::item::{Item, Scope};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::store::namespace_settings::{Setting, SettingsStorage};
use threadkeep::domain::store::ranking::Candidate;
use threadkeep::domain::store::text_storage::TextStorage;
use threadkeep::domain::store::walk_storage::{Walk, WalkStorage, Walked};
use threadkeep::domain::store::words::ItemWords;
use threadkeep::domain::tenants::audit::Act;

use crate::memory::Memory;

#[async_trait]
impl ItemHistoryStorage for Memory {
    async fn list_item_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
        _: Micros,
    ) -> Result<Option<VersionPage>> {
        self.called(format!("versions {} {}", query.limit, query.values))?;
        let place = (caller.tenant.clone(), query.address.clone());
        let Some(current) = self.items.lock().unwrap().get(&place).cloned() else {
            return Ok(None);
        };
        let mut all = self.item_versions.lock().unwrap().get(&place).cloned().unwrap_or_default();
        all.push(current.clone());
        let mut versions: Vec<ItemVersion> = all
            .into_iter()
            .rev()
            .filter(|it| query.before.is_none_or(|before| it.version < before))
            .map(|it| shown(&it, current.version, query.values))
            .collect();
        let next = (versions.len() > query.limit && query.limit > 0)
            .then(|| versions[query.limit - 1].version);
        versions.truncate(query.limit);
        Ok(Some(VersionPage { versions, next }))
    }
}

fn shown(item: &Item, current: i64, values: bool) -> ItemVersion {
    ItemVersion {
        version: item.version,
        updated_at: item.updated_at,
        ttl_micros: item.ttl_micros,
        size_bytes: item.size_bytes,
        is_current: item.version == current,
        value: item.value.clone().filter(|_| values),
    }
}

#[async_trait]
impl SettingsStorage for Memory {
    async fn put_namespace_setting(
        &self,
        caller: &Caller,
        setting: &Setting,
        rows_max: u64,
        act: &Act,
    ) -> Result<bool> {
        self.called(format!("put_setting {} {}", act.kind.name(), act.object))?;
        let mut settings = self.settings.lock().unwrap();
        let place = (caller.tenant.clone(), setting.namespace.clone());
        let own = settings.keys().filter(|it| it.0 == caller.tenant && **it != place).count();
        if own as u64 >= rows_max {
            return Ok(false);
        }
        settings.insert(place, setting.clone());
        Ok(true)
    }

    async fn delete_namespace_setting(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        act: &Act,
    ) -> Result<()> {
        self.called(format!("delete_setting {}", act.kind.name()))?;
        self.settings.lock().unwrap().remove(&(caller.tenant.clone(), namespace.clone()));
        Ok(())
    }

    async fn list_namespace_settings(&self, caller: &Caller) -> Result<Vec<Setting>> {
        let settings = self.settings.lock().unwrap();
        let own = settings.iter().filter(|it| it.0.0 == caller.tenant);
        Ok(own.map(|it| it.1.clone()).collect())
    }

    async fn load_namespace_settings(&self) -> Result<Vec<(String, Setting)>> {
        let settings = self.settings.lock().unwrap();
        Ok(settings.iter().map(|it| (it.0.0.clone(), it.1.clone())).collect())
    }
}

#[async_trait]
impl TextStorage for Memory {
    async fn list_text_candidates(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        words: &[i64],
        _: Micros,
    ) -> Result<Option<Vec<Candidate>>> {
        self.called(format!("candidates {}", words.len()))?;
        let place = Scope { filter: None, ..scope.clone() };
        let candidate = |it: Item| {
            let document = serde_json::from_slice(it.value.as_ref()?).ok()?;
            let own = ItemWords::of(&caller.tenant, &["$".into()], &document);
            own.counts_of(words).map(|counts| Candidate {
                address: it.address.clone(),
                version: it.version,
                created_at: it.created_at,
                total: own.total,
                counts,
            })
        };
        let found = self.found(caller, within, &place);
        Ok(Some(found.into_iter().filter_map(candidate).collect()))
    }
}

/// Nothing was there before.
#[async_trait]
impl WalkStorage for Memory {
    async fn claim_walk(&self, _: Micros, _: Micros, _: Micros) -> Result<Option<Walk>> {
        Ok(None)
    }

    async fn list_walked(&self, _: &Walk, _: usize) -> Result<Vec<Walked>> {
        Ok(Vec::new())
    }

    async fn advance_walk(
        &self,
        _: &Walk,
        _: &[(Walked, Option<ItemWords>)],
        _: Option<Micros>,
    ) -> Result<()> {
        Ok(())
    }
}
