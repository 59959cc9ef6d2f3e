//! Checks the object store against the database. At the start it checks that the store is the right one. A check of everything reads each
//! packed chunk.

use std::collections::{BTreeMap, BTreeSet};

use super::Objects;
use super::pack_location::{PackId, PackLocation};
use super::packs::{PackStorage, Scope, StoredPack, bytes_by_pack};
use crate::content::parts::Name;
use crate::domain::{Error, Result};

/// Packs that a start looks for: one may be damaged, not all.
const LOOKED_FOR: usize = 3;
const FETCHED_TOGETHER: usize = 2_000;
const NO_STORE: &str = "content of this database lies in an object store: give the --object-store-url it was written with";

/// Refuses to start on a database whose packs are not to be had.
///
/// # Errors
/// `Invalid` with advice.
pub async fn check_start(objects: Option<&Objects>, storage: &dyn PackStorage) -> Result<()> {
    let packs = storage.list_packs(None).await?;
    let refuse = |advice: &str| Err(Error::invalid("object-store-url", advice));
    let Some(objects) = objects else {
        if packs.is_empty() {
            return Ok(());
        }
        return refuse(NO_STORE);
    };
    let newest: Vec<PackId> = packs.iter().rev().take(LOOKED_FOR).map(|it| it.id).collect();
    objects.require_any(&newest).await
}

impl Objects {
    /// Refuses a store that has none of these packs, if there are any.
    ///
    /// # Errors
    /// `Invalid` with advice; `Unavailable`.
    pub(crate) async fn require_any(&self, packs: &[PackId]) -> Result<()> {
        for pack in packs {
            if self.has(pack).await? {
                return Ok(());
            }
        }
        if packs.is_empty() {
            return Ok(());
        }
        let detail = "the packs that this database names are not in this object store: was the bucket, the prefix or \
                      the folder changed?";
        Err(Error::invalid("object-store-url", detail))
    }
}

/// Asks for the size of every pack that the database names. Answers what is wrong, a sentence each.
///
/// # Errors
/// `Unavailable` of the store and the database.
pub async fn missing(objects: Option<&Objects>, storage: &dyn PackStorage) -> Result<Vec<String>> {
    let packs = storage.list_packs(None).await?;
    let Some(objects) = objects else {
        return Ok(if packs.is_empty() { Vec::new() } else { vec![NO_STORE.into()] });
    };
    let mut findings = Vec::new();
    for pack in &packs {
        findings.extend(wrong_size(objects, pack).await?);
    }
    Ok(findings)
}

/// Reads every pack: sizes, counts of what is alive, and every chunk against its name. Answers what is wrong, a sentence each.
///
/// # Errors
/// `Unavailable` of the store and the database; damage is a sentence.
pub async fn audit(objects: Option<&Objects>, storage: &dyn PackStorage) -> Result<Vec<String>> {
    let mut by_scope: BTreeMap<Scope, Vec<StoredPack>> = BTreeMap::new();
    for pack in storage.list_packs(None).await? {
        by_scope.entry(pack.scope.clone()).or_default().push(pack);
    }
    let mut findings = Vec::new();
    let Some(objects) = objects else {
        if !by_scope.is_empty() {
            findings.push(NO_STORE.into());
        }
        return Ok(findings);
    };
    for (scope, packs) in by_scope {
        let places = storage.list_places(&scope).await?;
        let live = bytes_by_pack(places.iter().map(|(place, _)| *place));
        let known: BTreeSet<PackId> = packs.iter().map(|pack| pack.id).collect();
        for stray in live.keys().filter(|it| !known.contains(*it)) {
            findings.push(about(stray, "chunks name it, and it has no row"));
        }
        for pack in &packs {
            let alive = live.get(&pack.id).copied().unwrap_or(0);
            if alive != pack.live_bytes {
                let counted = pack.live_bytes;
                findings.push(about(&pack.id, &format!("{alive} bytes live, {counted} counted")));
            }
            let own = places.iter().filter(|(place, _)| place.pack == pack.id).copied().collect();
            findings.extend(unreadable(objects, storage, pack, own).await?);
        }
    }
    Ok(findings)
}

fn about(pack: &PackId, what: &str) -> String {
    format!("pack {}: {what}", hex::encode(pack))
}

/// The first damage of a pack.
async fn unreadable(
    objects: &Objects,
    storage: &dyn PackStorage,
    pack: &StoredPack,
    places: Vec<(PackLocation, Name)>,
) -> Result<Option<String>> {
    if let Some(wrong) = wrong_size(objects, pack).await? {
        return Ok(Some(wrong));
    }
    let secret = match storage.tenant_secret(&pack.scope.tenant).await {
        // Nobody can read it, which is no damage.
        Err(Error::KeyDestroyed) => return Ok(None),
        secret => secret?,
    };
    for batch in places.chunks(FETCHED_TOGETHER) {
        match objects.fetch((&pack.scope.tenant, &secret), batch.iter().copied()).await {
            Err(Error::Integrity(detail)) => return Ok(Some(detail)),
            other => drop(other?),
        }
    }
    Ok(None)
}

async fn wrong_size(objects: &Objects, pack: &StoredPack) -> Result<Option<String>> {
    let wanted = pack.size_bytes;
    Ok(match objects.size(&pack.id).await? {
        None => Some(about(&pack.id, "its object is missing")),
        Some(size) if i64::try_from(size).ok() == Some(wanted) => None,
        Some(size) => Some(about(&pack.id, &format!("its object has {size} bytes, not {wanted}"))),
    })
}
