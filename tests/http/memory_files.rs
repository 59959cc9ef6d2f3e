//! Listings of files, in memory: of the values as they are.

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::exact_json;
use threadkeep::domain::files::head::FileHead;
use threadkeep::domain::files::storage::{FilePage, FileRow, FileStorage, ListFiles};
use threadkeep::domain::files::value::FileValue;
use threadkeep::domain::item::Item;

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
