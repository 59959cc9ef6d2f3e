//! Tests files that are too large for a value: they come back as they were sent. They are invisible until they are complete, and are
//! deleted when nothing shows them.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::doctor::{Examine, Noun, State};
use threadkeep::domain::files::contents::{ContentId, Part};
use threadkeep::domain::files::raw_files::{PutFile, RawBody, RawFiles, Repetition, Stored};
use threadkeep::domain::files::uploads::Uploads;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::store::item::Address;
use threadkeep::domain::store::namespace_settings::Declared;
use threadkeep::domain::tenants::erasure::{More, Stage};
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Conflict, Error, Result};

use crate::faulty_store::FaultyStore;
use crate::harness::{Harness, NEVER, caller_of};
use crate::packs::{HOUR, PLACED, later};
use crate::store::{START, Store, address, granted, namespace, search};

const CHUNKS: &str = "select count(*) from chunks";
/// Three slices, the last of which is short.
pub const LARGE: usize = (5 << 20) + 17;

/// A server of files.
pub struct Files {
    pub store: Store,
    pub raw: RawFiles,
    pub uploads: Uploads,
}

impl Files {
    pub async fn on(h: &Harness) -> Self {
        Self::of(&h.storage, &h.caller).await
    }

    pub async fn of(storage: &Arc<dyn Storage>, caller: &Caller) -> Self {
        let (store, other) = (Store::of(storage, caller).await, Store::of(storage, caller).await);
        let clock = Arc::clone(&store.clock);
        let raw = RawFiles::new(storage.clone(), other.items, Arc::clone(&clock));
        let uploads = Uploads::new(storage.clone(), Arc::clone(&store.quotas), clock);
        Self { store, raw, uploads }
    }

    pub async fn send(&self, id: ContentId, number: u32, bytes: &[u8]) -> Result<Part> {
        let mut incoming = self.uploads.receive(&self.store.caller, id, number)?;
        // Pieces that no slice is a multiple of.
        for piece in bytes.chunks(300_007) {
            incoming.push(Bytes::copy_from_slice(piece)).await?;
        }
        incoming.end().await
    }

    pub async fn show(&self, id: ContentId, path: &str) -> Result<Stored> {
        let whole = self.uploads.finish(&self.store.caller, id, None).await?;
        self.raw.show(&self.store.caller, put(path), &whole).await
    }

    pub async fn upload(&self, path: &str, bytes: &[u8]) -> Stored {
        let id = self.uploads.begin(&self.store.caller, &place(path)).await.unwrap();
        self.send(id, 1, bytes).await.unwrap();
        self.show(id, path).await.unwrap()
    }

    pub async fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.try_read(path).await.unwrap()
    }

    pub async fn try_read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.try_read_at(&place(path)).await
    }

    pub async fn try_read_at(&self, address: &Address) -> Result<Option<Vec<u8>>> {
        let caller = &self.store.caller;
        let Some(file) = self.raw.open(caller, address).await? else { return Ok(None) };
        let mut bytes = Vec::new();
        match file.body {
            RawBody::Small(small) => bytes.extend_from_slice(&small),
            RawBody::Large(id) => {
                while (bytes.len() as u64) < file.size_bytes {
                    let at = bytes.len() as u64;
                    let (start, slice) = self.raw.read_slice(caller, id, at).await?;
                    assert_eq!(start, at);
                    bytes.extend_from_slice(&slice);
                }
            }
        }
        assert_eq!(bytes.len() as u64, file.size_bytes);
        Ok(Some(bytes))
    }

    pub async fn delete(&self, path: &str) {
        self.store.delete(&["ann", "workspace"], path).await;
    }

    /// Sweeps a day and an hour later, twice: what goes leaves its content to a later sweep.
    pub async fn sweep_all(&self) {
        for day in [30, 60, 90] {
            self.store.storage.sweep(later(day)).await.unwrap();
        }
    }
}

pub fn place(path: &str) -> Address {
    address(&["ann", "workspace"], path)
}

pub fn put(path: &str) -> PutFile {
    let (address, repetition) = (place(path), Repetition::Unknown);
    PutFile { address, media_type: None, if_version: None, deadline: NEVER, repetition }
}

/// Bytes that do not repeat.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

pub async fn sound(h: &Harness) {
    let request = Examine { tenant: None, fix: false, now: START };
    let report = h.storage.examine(&request).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.tally(State::Orphan, Noun::Chunks).count, 0, "{report:?}");
}

pub async fn nothing_is_left(h: &Harness) {
    for table in ["contents", "content_parts", "content_slices", "chunks", "garbage"] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
}

pub async fn a_large_file_comes_back_as_it_was_sent(h: Harness) {
    let files = Files::on(&h).await;
    let bytes = noise(1, LARGE);
    let stored = files.upload("/a.bin", &bytes).await;
    assert!(stored.created && !stored.unchanged && stored.size_bytes == LARGE as u64);
    assert!(files.read("/a.bin").await.unwrap() == bytes);
    // From the middle.
    let file = files.raw.open(&files.store.caller, &place("/a.bin")).await.unwrap().unwrap();
    let RawBody::Large(id) = file.body else { panic!("it is no small file") };
    let (start, slice) = files.raw.read_slice(&files.store.caller, id, 3 << 20).await.unwrap();
    let from = usize::try_from(start).unwrap();
    assert!(start <= 3 << 20 && slice == bytes[from..from + slice.len()]);
    let behind = files.raw.read_slice(&files.store.caller, id, LARGE as u64).await;
    assert!(matches!(behind, Err(Error::NotFound(_))), "{behind:?}");
    // The store does not answer it, and says so.
    let got = files.store.run(crate::store::get(&["ann", "workspace"], "/a.bin", false)).await;
    assert!(matches!(got, Err(Error::ValueTooLarge)), "{got:?}");
    let page = files.store.search(search(&["ann"], "{}")).await;
    assert_eq!((page.items.len(), page.omitted), (0, 1));
    sound(&h).await;
}

pub async fn equal_stretches_of_files_are_kept_once_and_equal_files_are_not_written(h: Harness) {
    let files = Files::on(&h).await;
    let bytes = noise(2, LARGE);
    let first = files.upload("/a.bin", &bytes).await;
    let chunks = h.count(CHUNKS).await;
    assert!(chunks > 20, "{chunks}");
    let again = files.upload("/a.bin", &bytes).await;
    assert!(again.unchanged && again.version == first.version);
    assert_eq!(h.count("select count(*) from contents").await, 1);
    files.upload("/b.bin", &bytes).await;
    assert_eq!(h.count(CHUNKS).await, chunks);
    let longer = [&bytes[..], b"and a line"].concat();
    files.upload("/a.bin", &longer).await;
    assert!(h.count(CHUNKS).await <= chunks + 2);
    assert!(files.read("/a.bin").await.unwrap() == longer);
    assert!(files.read("/b.bin").await.unwrap() == bytes);
    sound(&h).await;
}

pub async fn nothing_shows_before_it_is_whole(h: Harness) {
    let files = Files::on(&h).await;
    let caller = &files.store.caller;
    let bytes = noise(3, LARGE);
    files.raw.put(caller, put("/a.bin"), Bytes::from_static(b"before")).await.unwrap();
    let id = files.uploads.begin(caller, &place("/a.bin")).await.unwrap();
    // The second part first; the first one twice, cut off the first time.
    files.send(id, 2, &bytes[3_000_000..]).await.unwrap();
    let mut cut_off = files.uploads.receive(caller, id, 1).unwrap();
    cut_off.push(Bytes::copy_from_slice(&bytes[..2_500_000])).await.unwrap();
    drop(cut_off);
    let early = files.uploads.finish(caller, id, None).await;
    assert!(matches!(&early, Err(Error::Invalid { field, .. }) if field == "parts"), "{early:?}");
    files.send(id, 1, b"another first part").await.unwrap();
    files.send(id, 1, &bytes[..3_000_000]).await.unwrap();
    let upload = files.uploads.get(caller, id).await.unwrap().unwrap();
    let sizes: Vec<u64> = upload.parts.iter().map(|it| it.size_bytes).collect();
    assert_eq!(sizes, [3_000_000, LARGE as u64 - 3_000_000]);
    assert_eq!(files.read("/a.bin").await.unwrap(), b"before");
    let behind = files.raw.read_slice(caller, id, 0).await;
    assert!(matches!(behind, Err(Error::NotFound(_))), "{behind:?}");
    files.show(id, "/a.bin").await.unwrap();
    assert!(files.read("/a.bin").await.unwrap() == bytes);
    // A lost answer: the same again.
    let again = files.show(id, "/a.bin").await.unwrap();
    assert!(!again.created);
    // What is whole takes nothing more.
    let late = files.send(id, 3, b"late").await;
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    assert_eq!(h.count("select count(*) from content_slices where start_at < 0").await, 0);
    // What was sent in vain goes with the next collection.
    h.storage.sweep(START + 2 * HOUR).await.unwrap();
    assert!(files.read("/a.bin").await.unwrap() == bytes);
    sound(&h).await;
}

pub async fn uploads_live_through_collections_and_end_after_a_day(h: Harness) {
    let files = Files::on(&h).await;
    let caller = &files.store.caller;
    let bytes = noise(4, LARGE);
    files.upload("/shared.bin", &bytes).await;
    let id = files.uploads.begin(caller, &place("/a.bin")).await.unwrap();
    files.send(id, 1, &bytes).await.unwrap();
    // Its chunks are those of another file, which goes, with a collection, while the upload waits.
    files.delete("/shared.bin").await;
    h.sql("update contents set idle_since = 1 where finished_at > 0").await;
    for _ in 0..2 {
        h.storage.sweep(START + 2 * HOUR).await.unwrap();
        h.sql("update garbage set created_at = 1").await;
    }
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    assert_eq!(h.count("select count(*) from contents").await, 1);
    files.show(id, "/a.bin").await.unwrap();
    assert!(files.read("/a.bin").await.unwrap() == bytes);
    sound(&h).await;
    // One that nobody ends, and one that is aborted.
    let left = files.uploads.begin(caller, &place("/b.bin")).await.unwrap();
    files.send(left, 1, &noise(5, 100_000)).await.unwrap();
    let aborted = files.uploads.begin(caller, &place("/c.bin")).await.unwrap();
    files.send(aborted, 1, &noise(6, 100_000)).await.unwrap();
    files.uploads.abort(caller, aborted).await.unwrap();
    assert_eq!(files.uploads.get(caller, aborted).await.unwrap(), None);
    h.storage.sweep(START + 23 * HOUR).await.unwrap();
    assert!(files.uploads.get(caller, left).await.unwrap().is_some());
    h.storage.sweep(START + 25 * HOUR).await.unwrap();
    assert_eq!(files.uploads.get(caller, left).await.unwrap(), None);
    let late = files.send(left, 2, b"late").await;
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    files.delete("/a.bin").await;
    files.sweep_all().await;
    nothing_is_left(&h).await;
}

pub async fn what_replaces_or_removes_a_file_lets_its_content_go(h: Harness) {
    let files = Files::on(&h).await;
    let caller = files.store.caller.clone();
    files.upload("/a.bin", &noise(7, LARGE)).await;
    let first = files.read("/a.bin").await.unwrap();
    let file = files.raw.open(&caller, &place("/a.bin")).await.unwrap().unwrap();
    let RawBody::Large(id) = file.body else { panic!("it is no small file") };
    // A put of the store replaces it like any item.
    files.store.put(&["ann", "workspace"], "/a.bin", r#"{"content":"small"}"#).await;
    assert_eq!(files.read("/a.bin").await.unwrap(), b"small");
    // Who was reading it goes on.
    h.storage.sweep(later(1)).await.unwrap();
    let (_, slice) = files.raw.read_slice(&caller, id, 0).await.unwrap();
    assert!(slice == first[..slice.len()]);
    files.sweep_all().await;
    nothing_is_left(&h).await;
    let gone = files.raw.read_slice(&caller, id, 0).await;
    assert!(matches!(gone, Err(Error::NotFound(_))), "{gone:?}");
    // Versions that a namespace asked to keep have theirs.
    h.sql("delete from items").await;
    let declared = Declared { history: Some(1), ..Declared::default() };
    let own = namespace(&["ann"]);
    files.store.settings.put(&caller, own, declared, NEVER).await.unwrap();
    let other = Files::of(&h.storage, &caller).await;
    other.upload("/v.bin", &noise(8, LARGE)).await;
    other.upload("/v.bin", &noise(9, LARGE)).await;
    other.sweep_all().await;
    assert_eq!(h.count("select count(*) from contents").await, 2);
    other.upload("/v.bin", &noise(10, LARGE)).await;
    other.sweep_all().await;
    assert_eq!(h.count("select count(*) from contents").await, 2);
    other.delete("/v.bin").await;
    other.sweep_all().await;
    nothing_is_left(&h).await;
}

pub async fn conditions_and_grants_hold_for_large_files_too(h: Harness) {
    let files = Files::on(&h).await;
    let caller = files.store.caller.clone();
    let version = files.upload("/a.bin", &noise(11, LARGE)).await.version;
    let id = files.uploads.begin(&caller, &place("/a.bin")).await.unwrap();
    files.send(id, 1, b"new").await.unwrap();
    let whole = files.uploads.finish(&caller, id, None).await.unwrap();
    let stale = PutFile { if_version: Some(version - 1), ..put("/a.bin") };
    let refused = files.raw.show(&caller, stale, &whole).await;
    let conflict = Conflict::VersionConflict { current: version };
    assert!(matches!(&refused, Err(Error::Conflict(it)) if *it == conflict), "{refused:?}");
    let right = PutFile { if_version: Some(version), ..put("/a.bin") };
    assert_eq!(files.raw.show(&caller, right, &whole).await.unwrap().version, version + 1);
    // Neither another tenant nor a caller without the namespace sees the upload or the file.
    let stranger = caller_of("tenant-b");
    let bob = granted("tenant-a", &[(&["bob"], Actions::ALL)]);
    for other in [&stranger, &bob] {
        assert_eq!(files.uploads.get(other, id).await.unwrap(), None);
        assert!(files.raw.open(other, &place("/a.bin")).await.unwrap().is_none());
        files.uploads.abort(other, id).await.unwrap();
    }
    assert!(matches!(files.uploads.begin(&bob, &place("/x")).await, Err(Error::NotGranted(_))));
    assert_eq!(files.read("/a.bin").await.unwrap(), b"new");
}

pub async fn an_erased_subject_leaves_no_content(h: Harness) {
    let files = Files::on(&h).await;
    let caller = &files.store.caller;
    files.upload("/a.bin", &noise(12, LARGE)).await;
    let id = files.uploads.begin(caller, &place("/b.bin")).await.unwrap();
    files.send(id, 1, &noise(13, 3 << 20)).await.unwrap();
    for stage in [Stage::Items, Stage::Traces, Stage::Content] {
        for _ in 0..20 {
            if h.storage.erase_slice(caller, "ann", stage).await.unwrap().more == More::Nothing {
                break;
            }
        }
    }
    nothing_is_left(&h).await;
    assert_eq!(h.count("select count(*) from items").await, 0);
    let late = files.send(id, 2, b"late").await;
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    // Whoever comes after it begins anew.
    files.upload("/a.bin", &noise(14, 3 << 20)).await;
    assert!(files.read("/a.bin").await.unwrap() == noise(14, 3 << 20));
}

pub async fn large_files_move_to_the_object_store_at_once(h: Harness) {
    let store = FaultyStore::in_memory();
    let h = h.with_objects(store.clone()).await;
    let files = Files::on(&h).await;
    let bytes = noise(15, LARGE);
    files.upload("/a.bin", &bytes).await;
    let id = files.uploads.begin(&files.store.caller, &place("/b.bin")).await.unwrap();
    files.send(id, 1, &noise(16, 1 << 20)).await.unwrap();
    let all = h.count(CHUNKS).await;
    h.storage.move_content(later(0)).await.unwrap();
    let placed = h.count(PLACED).await;
    assert!(placed > 20 && placed < all, "{placed} of {all}");
    assert!(files.read("/a.bin").await.unwrap() == bytes);
    sound(&h).await;
    // The same chunks again stay where they are; a second round has nothing to do.
    files.upload("/c.bin", &bytes).await;
    h.storage.move_content(later(0)).await.unwrap();
    assert_eq!(h.count(PLACED).await, placed);
    files.delete("/a.bin").await;
    files.delete("/c.bin").await;
    files.uploads.abort(&files.store.caller, id).await.unwrap();
    files.sweep_all().await;
    h.storage.move_content(later(200)).await.unwrap();
    h.storage.move_content(later(300)).await.unwrap();
    nothing_is_left(&h).await;
    assert_eq!(store.objects().await.len(), 0);
}

pub async fn damage_of_a_content_is_found_and_never_read(h: Harness) {
    let files = Files::on(&h).await;
    files.upload("/a.bin", &noise(17, LARGE)).await;
    h.sql("delete from chunks where name = (select min(name) from chunks)").await;
    let read = files.try_read("/a.bin").await;
    assert!(matches!(read, Err(Error::Integrity(_))), "{:?}", read.map(|_| ()));
    let request = Examine { tenant: None, fix: true, now: START };
    let report = h.storage.examine(&request).await.unwrap();
    assert_eq!(report.tally(State::Missing, Noun::Chunks).count, 1, "{report:?}");
    // What is left of it is not taken for rubbish.
    assert!(h.count(CHUNKS).await > 20);
}

pub async fn contents_count_for_the_quota(h: Harness) {
    let files = Files::on(&h).await;
    let before = h.storage.measure_usage("tenant-a").await.unwrap().bytes;
    files.upload("/a.bin", &noise(18, LARGE)).await;
    let after = h.storage.measure_usage("tenant-a").await.unwrap().bytes;
    assert!((LARGE as u64..LARGE as u64 + 1_000).contains(&(after - before)), "{before} {after}");
}
