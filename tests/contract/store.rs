//! Puts into the store and reads from it in short form, through the same queue as the server's.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::json::filter::Filter;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::store::commit::ItemCommit;
use threadkeep::domain::store::item::{
    Address, ChangeItem, GetItem, Item, ItemOp, ItemPage, ItemSort, Key, ListNamespaces,
    NamespacePage, NewValue, OpResult, Scope, SearchItems, SearchMode, Select,
};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::store::namespace_settings::NamespaceSettings;
use threadkeep::domain::store::service::{ItemBatchRequest, Items};
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::tokens::grants::{Actions, NamespaceGrant, Scoped};
use threadkeep::domain::{Conflict, Error, Result};

use crate::harness::{Harness, NEVER};

pub const SECOND: Micros = 1_000_000;
pub const START: Micros = 1_700_000_000_000_000;

/// A server of the store with a clock of its own.
pub struct Store {
    pub items: Arc<Items>,
    pub settings: Arc<NamespaceSettings>,
    pub quotas: Arc<Quotas>,
    pub clock: Arc<Clock>,
    pub caller: Caller,
    pub storage: Arc<dyn Storage>,
}

impl Store {
    pub async fn on(harness: &Harness) -> Self {
        Self::of(&harness.storage, &harness.caller).await
    }

    pub async fn of(storage: &Arc<dyn Storage>, caller: &Caller) -> Self {
        Self::made(storage, caller, |it| it).await
    }

    /// Whose batches have so much time for what they search.
    pub async fn with_batch_time(
        storage: &Arc<dyn Storage>,
        caller: &Caller,
        time: Duration,
    ) -> Self {
        Self::made(storage, caller, |it| it.with_batch_time(time)).await
    }

    async fn made(
        storage: &Arc<dyn Storage>,
        caller: &Caller,
        shaped: impl FnOnce(Items) -> Items,
    ) -> Self {
        let clock = Arc::new(Clock::Fixed(Mutex::new(START)));
        let commits = Arc::new(ItemCommit::start(storage.clone(), &clock));
        let quotas = Quotas::load(storage.clone(), Arc::clone(&clock), Rates::default());
        let quotas = Arc::new(quotas.await.unwrap());
        let own = Arc::clone(&quotas);
        let settings = NamespaceSettings::load(storage.clone(), Arc::clone(&clock));
        let settings = Arc::new(settings.await.unwrap());
        let declared = Arc::clone(&settings);
        let items = Items::new(storage.clone(), commits, Arc::clone(&clock), own, declared);
        let items = Arc::new(shaped(items));
        Self {
            items,
            settings,
            quotas,
            clock,
            caller: caller.clone(),
            storage: Arc::clone(storage),
        }
    }

    /// The same server asked by somebody else.
    pub async fn run_as(&self, caller: &Caller, op: ItemOp) -> Result<OpResult> {
        self.items.run(caller, op, None, NEVER).await
    }

    pub async fn run(&self, op: ItemOp) -> Result<OpResult> {
        self.run_as(&self.caller, op).await
    }

    pub async fn put(&self, namespace: &[&str], key: &str, value: &str) -> i64 {
        self.try_put(change(namespace, key, Some(value))).await.unwrap()
    }

    pub async fn try_put(&self, change: ChangeItem) -> Result<i64> {
        match self.run(ItemOp::Change(change)).await? {
            OpResult::Put(version) => Ok(version),
            OpResult::Deleted => Ok(0),
            other => panic!("{other:?}"),
        }
    }

    pub async fn delete(&self, namespace: &[&str], key: &str) {
        self.try_put(change(namespace, key, None)).await.unwrap();
    }

    pub async fn get(&self, namespace: &[&str], key: &str) -> Option<Item> {
        self.get_as(&self.caller, namespace, key).await
    }

    pub async fn get_as(&self, caller: &Caller, namespace: &[&str], key: &str) -> Option<Item> {
        match self.run_as(caller, get(namespace, key, true)).await.unwrap() {
            OpResult::Got(item) => item,
            other => panic!("{other:?}"),
        }
    }

    pub async fn search(&self, query: SearchItems) -> ItemPage {
        self.search_as(&self.caller, query).await
    }

    pub async fn search_as(&self, caller: &Caller, query: SearchItems) -> ItemPage {
        match self.run_as(caller, ItemOp::Search(query)).await.unwrap() {
            OpResult::Found(page) => page,
            other => panic!("{other:?}"),
        }
    }

    /// All pages of a search, by cursor.
    pub async fn scan(&self, query: SearchItems) -> Vec<Item> {
        let (mut all, mut query) = (Vec::new(), query);
        loop {
            let page = self.search(query.clone()).await;
            all.extend(page.items);
            let Some(next) = page.next else { return all };
            (query.after, query.offset) = (Some(next), 0);
        }
    }

    pub async fn count(&self, scope: Scope) -> u64 {
        match self.run(ItemOp::Count(scope)).await.unwrap() {
            OpResult::Count(count) => count,
            other => panic!("{other:?}"),
        }
    }

    pub async fn namespaces(&self, query: ListNamespaces) -> Vec<Vec<String>> {
        self.namespaces_as(&self.caller, query).await
    }

    pub async fn namespaces_as(&self, caller: &Caller, query: ListNamespaces) -> Vec<Vec<String>> {
        match self.run_as(caller, ItemOp::ListNamespaces(query)).await.unwrap() {
            OpResult::Namespaces(page) => labels(&page.namespaces),
            other => panic!("{other:?}"),
        }
    }

    pub async fn namespace_page(&self, caller: &Caller, query: ListNamespaces) -> NamespacePage {
        match self.run_as(caller, ItemOp::ListNamespaces(query)).await.unwrap() {
            OpResult::Namespaces(page) => page,
            other => panic!("{other:?}"),
        }
    }

    /// All pages of a listing, by cursor, with the counts.
    pub async fn scan_namespaces(&self, query: ListNamespaces) -> (Vec<Vec<String>>, Vec<u64>) {
        let (mut all, mut counts) = (Vec::new(), Vec::new());
        let mut query = ListNamespaces { counts: true, ..query };
        loop {
            let page = self.namespace_page(&self.caller, query.clone()).await;
            assert!(page.namespaces.len() <= query.limit);
            all.extend(labels(&page.namespaces));
            counts.extend(page.counts.unwrap());
            let Some(next) = page.next else { return (all, counts) };
            query.after = Some(next);
        }
    }

    pub async fn batch(&self, ops: Vec<ItemOp>, atomic: bool) -> Result<Vec<Result<OpResult>>> {
        let ops = ops.into_iter().map(Ok).collect();
        let request = ItemBatchRequest { ops, atomic, idempotency: None, deadline: NEVER };
        self.items.batch(&self.caller, request).await
    }
}

pub fn namespace(labels: &[&str]) -> Namespace {
    Namespace::new(labels.iter().map(|it| (*it).to_owned()).collect()).unwrap()
}

pub fn address(labels: &[&str], key: &str) -> Address {
    Address { namespace: namespace(labels), key: Key::of_text(key).unwrap() }
}

pub fn change(labels: &[&str], key: &str, value: Option<&str>) -> ChangeItem {
    let new = |it: &str| NewValue {
        text: Bytes::from(it.to_owned()),
        ttl_micros: None,
        vectors: None,
        index: vec![],
        kept: None,
    };
    ChangeItem { address: address(labels, key), value: value.map(new), if_version: None }
}

pub fn put(labels: &[&str], key: &str, value: &str) -> ItemOp {
    ItemOp::Change(change(labels, key, Some(value)))
}

pub fn get(labels: &[&str], key: &str, refresh_ttl: bool) -> ItemOp {
    ItemOp::Get(GetItem { address: address(labels, key), refresh_ttl })
}

pub fn scope(prefix: &[&str], filter: &str) -> Scope {
    let filter = Filter::read(filter.as_bytes()).unwrap();
    Scope { prefix: namespace(prefix), exact: false, filter }
}

pub fn search(prefix: &[&str], filter: &str) -> SearchItems {
    SearchItems {
        scope: scope(prefix, filter),
        mode: SearchMode::List,
        limit: 1_000,
        offset: 0,
        sort: ItemSort::Created,
        after: None,
        select: Select::Whole,
        refresh_ttl: true,
    }
}

pub fn labels(namespaces: &[Namespace]) -> Vec<Vec<String>> {
    namespaces.iter().map(|it| it.labels().to_vec()).collect()
}

pub fn all_namespaces() -> ListNamespaces {
    ListNamespaces { limit: 1_000, ..ListNamespaces::default() }
}

/// A token of the tenant with grants on namespaces.
pub fn granted(tenant: &str, grants: &[(&[&str], Actions)]) -> Caller {
    let grant = |(labels, actions): &(&[&str], Actions)| NamespaceGrant {
        prefix: labels.iter().map(|it| (*it).to_owned()).collect(),
        actions: *actions,
    };
    let namespaces = grants.iter().map(grant).collect();
    let scoped = Scoped { namespaces, ..Scoped::default() };
    Caller { grants: Grants::Scoped(Arc::new(scoped)), ..Caller::of_tenant(tenant) }
}

pub fn text(item: &Item) -> String {
    String::from_utf8(item.value.clone().unwrap().to_vec()).unwrap()
}

pub fn keys(items: &[Item]) -> Vec<String> {
    items.iter().map(|it| it.address.key.text().unwrap().to_owned()).collect()
}

#[track_caller]
pub fn current<T: std::fmt::Debug>(result: Result<T>) -> i64 {
    match result.unwrap_err() {
        Error::Conflict(Conflict::VersionConflict { current }) => current,
        other => panic!("{other}"),
    }
}
