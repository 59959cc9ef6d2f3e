//! Lists files of the storage in memory, from the values as they are.

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::files::storage::{
    FilePage, FileRow, FileStorage, KeyRange, ListFiles, Removed,
};
use threadkeep::domain::files::value::FileValue;
use threadkeep::domain::idempotency::Idempotency;
use threadkeep::domain::json::exact_json;
use threadkeep::domain::store::file_head::FileHead;
use threadkeep::domain::store::item::{Address, Item, Key};
use threadkeep::domain::store::namespace::Namespace;

use crate::memory::Memory;

#[async_trait]
impl FileStorage for Memory {
    async fn list_files(&self, caller: &Caller, query: &ListFiles, _: Micros) -> Result<FilePage> {
        self.called(format!("list_files {}", query.limit))?;
        let items = self.items.lock().unwrap();
        let range = query.range.from.as_slice()..query.range.to.as_slice();
        let seen = |it: &&Item| {
            it.address.namespace == query.namespace && range.contains(&it.address.key.as_bytes())
        };
        let own = items.iter().filter(|((tenant, _), _)| *tenant == caller.tenant);
        let mut found: Vec<FileRow> = own.map(|it| it.1).filter(seen).filter_map(row).collect();
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.truncate(query.limit);
        let full = found.last().filter(|_| found.len() == query.limit);
        let next = full.map(|it| [it.key.as_bytes(), b"\0"].concat());
        Ok(FilePage { files: found, next })
    }

    async fn list_paths(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        limit: usize,
        _: Micros,
    ) -> Result<Vec<(Key, i64)>> {
        self.called(format!("list_paths {limit}"))?;
        let items = self.items.lock().unwrap();
        let own = items.iter().filter(|((tenant, _), _)| *tenant == caller.tenant);
        let mut found: Vec<(Key, i64)> = own
            .filter(|((_, address), _)| is_within(address, namespace, ranges))
            .map(|((_, address), item)| (address.key.clone(), item.version))
            .collect();
        found.sort();
        found.truncate(limit);
        Ok(found)
    }

    async fn remove_keys(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        _: &Idempotency,
        _: Micros,
    ) -> Result<Removed> {
        self.called("remove_keys")?;
        let mut items = self.items.lock().unwrap();
        let before = items.len();
        items.retain(|(tenant, address), _| {
            *tenant != caller.tenant || !is_within(address, namespace, ranges)
        });
        Ok(Removed::Items((before - items.len()) as u64))
    }
}

fn is_within(address: &Address, namespace: &Namespace, ranges: &[KeyRange]) -> bool {
    let key = address.key.as_bytes();
    let inside = |it: &KeyRange| (it.from.as_slice()..it.to.as_slice()).contains(&key);
    address.namespace == *namespace && ranges.iter().any(inside)
}

fn row(item: &Item) -> Option<FileRow> {
    let text = item.value.as_ref()?;
    let file = FileValue::read(exact_json::parse("value", text).ok()?)?;
    Some(FileRow {
        key: item.address.key.clone(),
        version: item.version,
        digest: text.to_vec(),
        content_id: item.content_id.clone(),
        head: FileHead::unbounded(&file),
    })
}
