//! Fetches the content of packs for one operation. Reads inside a transaction take what was fetched and note what is missing; the
//! operation then ends its transaction, fetches that, and begins again. So no connection, lock or snapshot of the database is
//! held while the store is asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::Objects;
use super::fetch::no_store;
use super::pack_location::PackLocation;
use super::packs::COME_BACK;
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::{Error, Result};
use crate::storage::content::opening::Chunks;

/// Rounds of one operation: each finds all that the ones before led to, unless the packer moves it in between.
const ROUNDS_MAX: u32 = 8;

/// Empty at first.
#[derive(Default)]
pub struct PackPrefetch {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    fetched: HashMap<PackLocation, Bytes>,
    missing: BTreeMap<PackLocation, Name>,
    /// Whose content is missing.
    tenant: String,
    rounds: u32,
}

impl PackPrefetch {
    /// Gives packed chunks their content. Where some is missing, values opened with these chunks are placeholders of the
    /// right size, and the operation's result counts for nothing.
    ///
    /// # Errors
    /// `Integrity` when a chunk is damaged.
    pub fn complete(
        &self,
        (tenant, secret): (&str, &TenantSecret),
        chunks: &mut Chunks,
    ) -> Result<()> {
        let placed = chunks.take_placed();
        if placed.is_empty() {
            return Ok(());
        }
        let mut found = Vec::with_capacity(placed.len());
        let mut inner = self.inner();
        for (place, name) in placed {
            match inner.fetched.get(&place) {
                Some(body) => found.push((name, body.clone())),
                None => {
                    inner.missing.insert(place, name);
                    tenant.clone_into(&mut inner.tenant);
                    chunks.lacks_content();
                }
            }
        }
        drop(inner);
        chunks.add_each((tenant, secret), &found)
    }

    /// Nothing was missing: the result of the operation counts.
    pub fn is_complete(&self) -> bool {
        self.inner().missing.is_empty()
    }

    /// Stops a write that would be made of placeholders.
    ///
    /// # Errors
    /// `Unavailable`, never seen by a caller: the operation restocks and begins again.
    pub fn require(&self) -> Result<()> {
        if self.is_complete() { Ok(()) } else { Err(busy("content is being fetched")) }
    }

    /// Fetches what was missing.
    ///
    /// # Errors
    /// `Integrity` and `Unavailable` of the store.
    pub async fn fetch_missing(
        &self,
        objects: Option<&Objects>,
        secret: &TenantSecret,
    ) -> Result<()> {
        let objects = objects.ok_or_else(no_store)?;
        let (missing, tenant, rounds) = {
            let mut inner = self.inner();
            inner.rounds += 1;
            (std::mem::take(&mut inner.missing), inner.tenant.clone(), inner.rounds)
        };
        if rounds > ROUNDS_MAX {
            return Err(busy("the content was moved again and again while it was read"));
        }
        let fetched = objects.fetch((&tenant, secret), missing).await?;
        self.inner().fetched.extend(fetched);
        Ok(())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn busy(detail: &str) -> Error {
    Error::Unavailable { detail: detail.into(), retry_after: COME_BACK }
}
