//! Indexes the words of items that are older than their namespace's declaration of words, or its last change. It walks through the items
//! below the namespace, in slices, on whichever server claims the walk.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::item::{Address, Item};
use super::namespace_settings::NamespaceSettings;
use super::walk_storage::{Walk, Walked};
use super::words::{ItemWords, fields_number};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::json::exact_json;
use crate::domain::scheduling::background_tasks::{self, Group, Kind};
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::store::storage::ItemStorage;

const LOOK_EVERY: Duration = Duration::from_secs(2);
/// After so long every server indexes by a new declaration (it polls every two seconds): what was put before is gone
/// through then, and what is put later needs no walk.
const SETTLED: Micros = 5_000_000;
/// A server that has a walk keeps it for so long without a sign of life.
const CLAIMED: Micros = 60_000_000;
const WALKED_ROWS: usize = 200;
/// Items that are read at one time, where they are small.
const SLICE: usize = 64;

/// Gives words to items that were there before, one server at a time for each namespace.
pub struct WordWalks {
    storage: Arc<dyn ItemStorage>,
    settings: Arc<NamespaceSettings>,
    clock: Arc<Clock>,
}

impl WordWalks {
    pub fn new(
        storage: Arc<dyn ItemStorage>,
        settings: Arc<NamespaceSettings>,
        clock: Arc<Clock>,
    ) -> Self {
        Self { storage, settings, clock }
    }

    /// Never returns.
    pub async fn run(self, health: TaskHealth) {
        let health = health.every(LOOK_EVERY);
        loop {
            let worked = self.work().await;
            health.note(&worked);
            if let Err(error) = worked {
                tracing::warn!(%error, "indexing of words stopped; it goes on where it stands");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Walks what is due. Answers how many walks it finished.
    ///
    /// # Errors
    /// A storage that does not answer; another round goes on.
    pub async fn work(&self) -> Result<u64> {
        let mut finished = 0;
        loop {
            let now = self.clock.now();
            let Some(walk) = self.storage.claim_walk(now, now - SETTLED, now + CLAIMED).await?
            else {
                return Ok(finished);
            };
            // The declaration is older than a poll, but this server may have missed one.
            self.settings.poll().await?;
            let group = background_tasks::begin(&*self.storage, Kind::Words, now).await?;
            let walked = self.walk(&group, walk).await;
            group.end(walked).await?;
            finished += 1;
        }
    }

    async fn walk(&self, group: &Group<'_>, mut walk: Walk) -> Result<()> {
        loop {
            let found = self.storage.list_walked(&walk, WALKED_ROWS).await?;
            walk.after = found.last().map(|it| it.address.clone()).or(walk.after);
            let is_last = found.len() < WALKED_ROWS;
            let words = self.words_in(group, &walk.tenant, found).await?;
            let until = (!is_last).then(|| self.clock.now() + CLAIMED);
            self.storage.advance_walk(&walk, &words, until).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Of those whose words are of other fields than they should be. An item that is put aside keeps the words that it has.
    async fn words_in(
        &self,
        group: &Group<'_>,
        tenant: &str,
        found: Vec<Walked>,
    ) -> Result<Vec<(Walked, Option<ItemWords>)>> {
        let mut stale = self.stale(tenant, found);
        if group.is_together() {
            stale.retain(|it| !group.is_parked(tenant, &it.0.version.to_string()));
            return self.words_of(tenant, &stale).await;
        }
        let mut words = Vec::new();
        for it in &stale {
            let (unit, work) =
                (it.0.version.to_string(), self.words_of(tenant, std::slice::from_ref(it)));
            words.extend(
                group.run((tenant, &unit), self.clock.now(), work).await?.into_iter().flatten(),
            );
        }
        Ok(words)
    }

    /// Items whose words are of other fields than they should be, each with these.
    fn stale(&self, tenant: &str, found: Vec<Walked>) -> Vec<(Walked, Option<Vec<String>>)> {
        let fields = |it: &Walked| {
            let declared = self.settings.effective(tenant, &it.address.namespace);
            declared.text_fields.filter(|it| !it.is_empty())
        };
        found
            .into_iter()
            .map(|it| (fields(&it), it))
            .filter(|(fields, it)| fields.as_deref().map(fields_number) != it.fields)
            .map(|(fields, it)| (it, fields))
            .collect()
    }

    async fn words_of(
        &self,
        tenant: &str,
        stale: &[(Walked, Option<Vec<String>>)],
    ) -> Result<Vec<(Walked, Option<ItemWords>)>> {
        let caller = Caller::of_tenant(tenant);
        let mut words = Vec::with_capacity(stale.len());
        let undeclared = stale.iter().filter(|it| it.1.is_none());
        words.extend(undeclared.map(|it| (it.0.clone(), None)));
        let declared: Vec<(&Walked, &Vec<String>)> =
            stale.iter().filter_map(|(walked, fields)| Some((walked, fields.as_ref()?))).collect();
        let mut rest = declared.as_slice();
        while !rest.is_empty() {
            let slice = rest.iter().take(SLICE);
            let addresses: Vec<Address> = slice.map(|it| it.0.address.clone()).collect();
            let now = self.clock.now();
            let items = self.storage.get_first_items(&caller, &addresses, now).await?;
            let (read, further) = rest.split_at(items.len());
            rest = further;
            let bytes = items.iter().flatten().filter_map(|it| it.value.as_ref());
            let bytes = bytes.map(Bytes::len).sum();
            let index = || {
                read.iter().zip(items).try_for_each(|((walked, fields), item)| {
                    let Some(Item { value: Some(text), version, .. }) = item else { return Ok(()) };
                    let document = exact_json::parse("value", &text)?;
                    let of = ItemWords::of(tenant, fields, &document);
                    words.push((Walked { version, ..(*walked).clone() }, Some(of)));
                    Ok::<_, Error>(())
                })
            };
            cpu_pool::run_here(tenant, bytes, index).await??;
        }
        Ok(words)
    }
}
