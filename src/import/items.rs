//! Imports items of stores. Labels stay unchanged, so an agent finds its items where it asks for them.

use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::Value as Json;

use super::report::{Report, Show};
use super::rows::{ForeignItem, Rows};
use super::step::wrong;
use super::target::Target;
use crate::domain::clock::Micros;
use crate::domain::export::items::ItemTimes;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{
    Address, ChangeItem, GetItem, Item, ItemOp, Key, NewValue, OpResult,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::service::ItemBatchRequest;
use crate::domain::{Error, Result};

const BATCH: usize = 200;
/// What our clients write bytes as; a document of the source that looks so is written as they write it.
const TAG: &str = "threadkeep:";

/// # Errors
/// A source that cannot be read any more, a target that cannot be written.
pub(super) async fn import(
    rows: &mut dyn Rows,
    target: &Target,
    report: &mut Report,
    show: &mut Show<'_>,
) -> Result<()> {
    let mut pages = rows.items().chunks(BATCH);
    while let Some(page) = pages.next().await {
        let mut wanted = Vec::with_capacity(page.len());
        for item in page {
            match item {
                Ok(item) => wanted.extend(prepared(item, target, report)),
                Err(error @ Error::Invalid { .. }) => {
                    report.items.failed += 1;
                    report.fail("an item".into(), error);
                }
                Err(error) => return Err(error),
            }
        }
        bring(wanted, target, report).await?;
        show(report);
    }
    Ok(())
}

struct ImportedItem {
    address: Address,
    value: NewValue,
    /// As in the source; the first is None where it does not tell.
    created_at: Option<Micros>,
    updated_at: Micros,
}

/// None: it is counted already.
fn prepared(item: ForeignItem, target: &Target, report: &mut Report) -> Option<ImportedItem> {
    let now = target.clock.now();
    if item.expires_at.is_some_and(|it| it <= now) {
        report.items.skipped += 1;
        return None;
    }
    let place = format!("item {:?} of {:?}", item.key, item.labels);
    let wanted = || {
        let text = untagged(item.value)?;
        exact_json::check_object("value", &text)?;
        // A time to live that was not kept is what is left of it.
        let ttl_micros = item.ttl_micros.or(item.expires_at.map(|it| it - now));
        let address =
            Address { namespace: Namespace::of_put(item.labels)?, key: Key::of_text(&item.key)? };
        let value = NewValue { text, ttl_micros, vectors: None, index: Vec::new(), kept: None };
        let updated_at = item.updated_at.map_or(now, |it| it.min(now));
        let created_at = item.created_at.map(|it| it.min(updated_at));
        Ok::<_, Error>(ImportedItem { address, value, created_at, updated_at })
    };
    match wanted() {
        Ok(wanted) => Some(wanted),
        Err(error) => {
            report.items.failed += 1;
            report.fail(place, error);
            None
        }
    }
}

async fn bring(wanted: Vec<ImportedItem>, target: &Target, report: &mut Report) -> Result<()> {
    let there = read(&wanted, target).await?;
    let (mut changes, mut times) = (Vec::new(), Vec::new());
    for (wanted, there) in wanted.into_iter().zip(there) {
        match there {
            Some(item) if item.value.as_ref() == Some(&wanted.value.text) => {
                report.items.unchanged += 1;
                // An import that ended between the put and the times of it.
                if wanted.created_at.is_some_and(|it| it < item.created_at) {
                    times.extend(wanted.times(item.version));
                }
            }
            Some(item) if item.updated_at >= wanted.updated_at => report.items.skipped += 1,
            there => changes.push((there.map_or(0, |it| it.version), wanted)),
        }
    }
    if target.dry_run {
        report.items.imported += changes.len() as u64;
        return Ok(());
    }
    let written = put(changes, target, report).await?;
    times.extend(written.iter().filter_map(|(version, it)| it.times(*version)));
    if !times.is_empty() {
        target.storage.keep_times(&target.caller, &times).await?;
    }
    let written: Vec<ImportedItem> = written.into_iter().map(|(_, it)| it).collect();
    let there = read(&written, target).await?;
    for (wanted, there) in written.into_iter().zip(there) {
        if there.is_some_and(|it| wanted.is(&it)) {
            report.items.imported += 1;
            report.bytes += wanted.value.text.len() as u64;
        } else {
            fail(&wanted, "what was read back is not what the source has".into(), report);
        }
    }
    Ok(())
}

/// What was written, each with its version.
async fn put(
    changes: Vec<(i64, ImportedItem)>,
    target: &Target,
    report: &mut Report,
) -> Result<Vec<(i64, ImportedItem)>> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let ops = changes.iter().map(|(version, it)| {
        let (address, value) = (it.address.clone(), Some(it.value.clone()));
        Ok(ItemOp::Change(ChangeItem { address, value, if_version: Some(*version) }))
    });
    let results = run(ops.collect(), target).await?;
    let (mut written, mut all_done) = (Vec::new(), results.into_iter());
    for (_, wanted) in changes {
        match all_done.next() {
            Some(Ok(OpResult::Put(version))) => written.push((version, wanted)),
            Some(Err(error)) if error.is_retryable() => return Err(error),
            Some(Err(error)) => fail(&wanted, error.to_string(), report),
            Some(Ok(_)) | None => fail(&wanted, "it has no result".into(), report),
        }
    }
    Ok(written)
}

impl ImportedItem {
    fn times(&self, version: i64) -> Option<ItemTimes> {
        let (address, updated_at) = (self.address.clone(), self.updated_at);
        self.created_at.map(|created_at| ItemTimes { address, version, created_at, updated_at })
    }

    /// Whether the item is what the source has.
    fn is(&self, item: &Item) -> bool {
        let times = (item.created_at, item.updated_at);
        item.value.as_ref() == Some(&self.value.text)
            && self.created_at.is_none_or(|it| (it, self.updated_at) == times)
    }
}

fn fail(wanted: &ImportedItem, reason: String, report: &mut Report) {
    let Address { namespace, key } = &wanted.address;
    report.items.failed += 1;
    report.fail(
        format!("item {:?} of {:?}", key.text().unwrap_or_default(), namespace.labels()),
        reason,
    );
}

async fn read(wanted: &[ImportedItem], target: &Target) -> Result<Vec<Option<Item>>> {
    let gets = wanted
        .iter()
        .map(|it| Ok(ItemOp::Get(GetItem { address: it.address.clone(), refresh_ttl: false })));
    let results = run(gets.collect(), target).await?;
    results
        .into_iter()
        .map(|it| match it {
            Ok(OpResult::Got(item)) => Ok(item),
            Ok(_) => Err(Error::Internal("a get has another result".into())),
            // A large file stands there: something of the target's own.
            Err(Error::ValueTooLarge) => Ok(None),
            Err(error) => Err(error),
        })
        .collect()
}

async fn run(ops: Vec<Result<ItemOp>>, target: &Target) -> Result<Vec<Result<OpResult>>> {
    let deadline = target.deadline();
    debug_assert!(ops.len() as u64 <= LIMITS.store_ops_max);
    let request = ItemBatchRequest { ops, atomic: false, idempotency: None, deadline };
    target.items.batch(&target.caller, request).await
}

/// Objects with one key that looks like our tag of bytes get a `$` more, as our clients write them.
fn untagged(text: Bytes) -> Result<Bytes> {
    if memchr::memmem::find(&text, TAG.as_bytes()).is_none() {
        return Ok(text);
    }
    let mut value: Json = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("value is not JSON: {error}")))?;
    if let Json::Object(fields) = &mut value {
        fields.values_mut().for_each(escape);
    }
    Ok(value.to_string().into())
}

fn escape(value: &mut Json) {
    match value {
        Json::Array(entries) => entries.iter_mut().for_each(escape),
        Json::Object(fields) => {
            fields.values_mut().for_each(escape);
            let only = fields.keys().next().filter(|_| fields.len() == 1).cloned();
            let tagged = only
                .filter(|it| it.starts_with('$') && it.trim_start_matches('$').starts_with(TAG));
            if let Some(entry) = tagged.as_ref().and_then(|it| fields.remove(it)) {
                fields.insert(format!("${}", tagged.unwrap_or_default()), entry);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_our_bytes_is_escaped_and_nothing_else() {
        let text = r#"{"a":[{"$threadkeep:bytes":"AA=="}],"b":{"$threadkeep:x":1,"y":2}}"#;
        let escaped = untagged(Bytes::from_static(text.as_bytes())).unwrap();
        assert_eq!(
            escaped,
            r#"{"a":[{"$$threadkeep:bytes":"AA=="}],"b":{"$threadkeep:x":1,"y":2}}"#
        );
        let plain = Bytes::from_static(b"{\"a\": 1}");
        assert_eq!(untagged(plain.clone()).unwrap(), plain);
    }
}
