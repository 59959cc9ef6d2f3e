//! Checks packs of cold content: their rows against the chunks that point to them. With an object store it also checks their objects
//! against both. It asks the store when no transaction is open.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::{TenantScan, size};
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::doctor::{Noun, Report, State};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, Source, SqlValue, lock_scope, page};
use crate::storage::objects::Objects;
use crate::storage::objects::pack_location::{PackId, PackLocation};
use crate::storage::objects::packs::bytes_by_pack;

const PACKS: Source<'static> = Source {
    columns: "pack_id, size_bytes, live_bytes",
    size: "64",
    rows: "from packs where tenant = $1 and scope_id = $2 and pack_id > $3 order by pack_id",
};

/// Chunks with a body of the length of a place.
const PLACES: Source<'static> = Source {
    columns: "name, body",
    size: "64",
    rows: "from chunks where tenant = $1 and scope_id = $2 and name > $3 and length(body) = 25 order by name",
};

/// Packs that are looked for until one is there. Their ids are random, so the least are as good as others. $1 a tenant, or all.
const SOUGHT_PACKS: &str =
    "select pack_id from packs where $1 = '' or tenant = $1 order by pack_id limit $2";
const SOUGHT_MAX: i64 = 1_000;

/// Chunks that are fetched together: some MiB.
const FETCHED_TOGETHER: usize = 2_000;

/// What one transaction sees of a scope's packs.
struct Packed {
    /// Size and counted live bytes.
    packs: BTreeMap<PackId, (i64, i64)>,
    /// In the order of packs.
    chunks: Vec<(PackLocation, Name)>,
    live: BTreeMap<PackId, i64>,
}

impl Packed {
    /// Packs whose counter is not the sum of the chunks that point to them.
    fn miscounted(&self) -> impl Iterator<Item = (&PackId, i64)> {
        let live = |id: &PackId| self.live.get(id).copied().unwrap_or(0);
        let wrong = self.packs.iter().filter(move |(id, (_, counted))| *counted != live(id));
        wrong.map(move |(id, _)| (id, live(id)))
    }
}

/// Refuses to examine against a store that has none of the packs: each of them would look damaged.
///
/// # Errors
/// `Invalid` with advice; `Unavailable` of the store.
pub(super) async fn require_store(engine: &dyn Accessible, tenant: &str) -> Result<()> {
    let Some(objects) = engine.objects() else { return Ok(()) };
    let mut access = engine.begin_read().await?;
    let found = access.rows(SOUGHT_PACKS, &[tenant.into(), SOUGHT_MAX.into()]).await?;
    access.end().await?;
    let ids = found.iter().filter_map(|row| PackId::try_from(row.bytes(0).ok()?).ok());
    objects.require_any(&ids.collect::<Vec<_>>()).await
}

impl TenantScan<'_> {
    pub(super) async fn examine_packs(
        &self,
        scope_id: i64,
        thread_id: Option<&str>,
        report: &mut Report,
    ) -> Result<()> {
        let mut access = self.engine.begin_read().await?;
        let packed = self.packed(access.as_mut(), scope_id).await?;
        access.end().await?;
        let wrong = packed.miscounted().count();
        if wrong > 0 && self.repairs(report) && self.correct_packs(scope_id).await? {
            report.add(State::Repaired, Noun::Packs, size(wrong), 0);
        } else {
            for _ in 0..wrong {
                let detail = "live_bytes is not what the chunks in the pack take";
                let place = self.place(thread_id);
                report.find(State::WrongCounter, Noun::Packs, 0, place, detail);
            }
        }
        for (_, bytes) in packed.live.iter().filter(|(id, _)| !packed.packs.contains_key(*id)) {
            let detail = "the row of a pack that chunks lie in";
            let place = self.place(thread_id);
            report.find(State::Missing, Noun::Packs, bytes.unsigned_abs(), place, detail);
        }
        let Some(objects) = self.engine.objects() else {
            let bytes: i64 = packed.packs.values().map(|(bytes, _)| bytes).sum();
            let live: i64 = packed.live.values().sum();
            report.add(State::Moved, Noun::Packs, size(packed.packs.len()), bytes.unsigned_abs());
            report.add(State::Moved, Noun::Chunks, size(packed.chunks.len()), live.unsigned_abs());
            return Ok(());
        };
        let ids: BTreeSet<&PackId> = packed.packs.keys().chain(packed.live.keys()).collect();
        for id in ids {
            self.examine_object(objects, (id, &packed), thread_id, report).await?;
        }
        Ok(())
    }

    /// The object of a pack, and every chunk in it that is alive.
    async fn examine_object(
        &self,
        objects: &Objects,
        (id, packed): (&PackId, &Packed),
        thread_id: Option<&str>,
        report: &mut Report,
    ) -> Result<()> {
        let live = packed.live.get(id).copied().unwrap_or(0).unsigned_abs();
        let Some(bytes) = objects.size(id).await? else {
            let place = self.place(thread_id);
            report.find(State::Missing, Noun::Packs, live, place, "the object of a pack");
            return Ok(());
        };
        report.add(State::Checked, Noun::Packs, 1, bytes);
        if packed.packs.get(id).is_some_and(|(stored, _)| stored.unsigned_abs() != bytes) {
            let detail = "the object of a pack does not have the pack's length";
            report.find(State::Damaged, Noun::Packs, bytes, self.place(thread_id), detail);
        }
        let first = packed.chunks.partition_point(|(place, _)| place.pack < *id);
        let end = packed.chunks.partition_point(|(place, _)| place.pack <= *id);
        for chunks in packed.chunks[first..end].chunks(FETCHED_TOGETHER) {
            let sound = fetch_sound(objects, (&self.tenant, &self.secret), chunks.to_vec()).await?;
            for (place, _) in chunks {
                let bytes = u64::from(place.length);
                report.add(State::Checked, Noun::Chunks, 1, bytes);
                if !sound.contains_key(place) {
                    let detail = "a chunk in a pack cannot be read or does not have its name";
                    report.find(State::Damaged, Noun::Chunks, bytes, self.place(thread_id), detail);
                }
            }
        }
        Ok(())
    }

    /// Makes the counters of a scope's packs true. False: the scope is gone.
    async fn correct_packs(&self, scope_id: i64) -> Result<bool> {
        let mut access = self.engine.begin_write().await?;
        let is_there = lock_scope(access.as_mut(), self.dialect, &self.tenant, scope_id).await?;
        if is_there {
            self.count_packs(access.as_mut(), scope_id).await?;
        }
        access.end().await?;
        Ok(is_there)
    }

    /// Counts again what is alive in the packs of a scope that is locked. A pack without anything alive is left to
    /// the packer.
    pub(super) async fn count_packs(&self, access: &mut dyn Access, scope_id: i64) -> Result<()> {
        let text = "update packs set live_bytes = $4
            where tenant = $1 and scope_id = $2 and pack_id = $3";
        let packed = self.packed(access, scope_id).await?;
        for (id, live) in packed.miscounted() {
            let binds = [self.name(), scope_id.into(), SqlValue::from(&id[..]), live.into()];
            access.rows(text, &binds).await?;
        }
        Ok(())
    }

    async fn packed(&self, access: &mut dyn Access, scope_id: i64) -> Result<Packed> {
        let (mut packs, mut chunks) = (BTreeMap::new(), Vec::new());
        let mut after = SqlValue::Bytes(Vec::new());
        loop {
            let binds = [self.name(), scope_id.into(), after];
            let rows = page(access, self.dialect, &PACKS, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[0].clone();
            for row in &rows {
                // An id of another length is nobody's: its chunks are said to have no row.
                let Ok(id) = PackId::try_from(row.bytes(0)?) else { continue };
                packs.insert(id, (row.integer(1)?, row.integer(2)?));
            }
        }
        let mut after = SqlValue::Bytes(Vec::new());
        loop {
            let binds = [self.name(), scope_id.into(), after];
            let rows = page(access, self.dialect, &PLACES, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[0].clone();
            for row in &rows {
                // Damage of name or place is found with the chunk.
                let place = PackLocation::read(row.bytes(1)?).ok().flatten();
                chunks.extend(place.zip(Name::try_from(row.bytes(0)?).ok()));
            }
        }
        chunks.sort_unstable();
        let live = bytes_by_pack(chunks.iter().map(|(place, _)| *place));
        Ok(Packed { packs, chunks, live })
    }
}

/// Bodies of those packed chunks that are there and have their names.
///
/// # Errors
/// `Unavailable` of the store.
pub async fn fetch_sound(
    objects: &Objects,
    of: (&str, &TenantSecret),
    wanted: Vec<(PackLocation, Name)>,
) -> Result<BTreeMap<PackLocation, Bytes>> {
    let mut sound = BTreeMap::new();
    let mut open = vec![wanted];
    let mut looked_for = false;
    while let Some(mut part) = open.pop() {
        match objects.fetch(of, part.iter().copied()).await {
            Ok(bodies) => sound.extend(bodies),
            Err(Error::Integrity(_)) if !looked_for => {
                looked_for = true;
                let missing = missing_packs(objects, &part).await?;
                part.retain(|(place, _)| !missing.contains(&place.pack));
                open.push(part);
            }
            // Halves, until what is damaged is alone.
            Err(Error::Integrity(_)) if part.len() > 1 => {
                let rest = part.split_off(part.len() / 2);
                open.extend([part, rest]);
            }
            Err(Error::Integrity(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sound)
}

async fn missing_packs(
    objects: &Objects,
    chunks: &[(PackLocation, Name)],
) -> Result<BTreeSet<PackId>> {
    let packs: BTreeSet<PackId> = chunks.iter().map(|(place, _)| place.pack).collect();
    let mut missing = BTreeSet::new();
    for pack in packs {
        if objects.size(&pack).await?.is_none() {
            missing.insert(pack);
        }
    }
    Ok(missing)
}
