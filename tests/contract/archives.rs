//! Tests archives of workspaces: they come back as they were, a second one stores only new content, and a snapshot keeps its own. Archives
//! that no snapshot shows are deleted completely.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use threadkeep::content::slicing::whole_chunks;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::archives::{
    Archive, ArchiveId, Archives, Arrived, WorkspaceName,
};
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::tokens::grants::Scoped;
use threadkeep::domain::{Error, Result};

use crate::contents::{Files, LARGE, noise, sound};
use crate::doctor::examine;
use crate::faulty_store::FaultyStore;
use crate::granted_callers;
use crate::harness::{Harness, caller_of};
use crate::packs::{PLACED, later};
use crate::snapshot_calls::{Desk, check_sound, of, snapshot_id};
use crate::snapshots::converse;

const SLICE: usize = 2 << 20;
const CHUNKS: &str = "select count(*) from chunks";

pub struct Workspaces {
    archives: Archives,
    storage: Arc<dyn Storage>,
}

impl Workspaces {
    pub async fn on(h: &Harness) -> Self {
        let clock = Arc::new(Clock::System);
        let quotas = Quotas::load(h.storage.clone(), Arc::clone(&clock), Rates::default());
        let quotas = Arc::new(quotas.await.unwrap());
        let archives = Archives::new(h.storage.clone(), quotas, clock);
        Self { archives, storage: Arc::clone(&h.storage) }
    }

    /// As the server does it with what comes out of a tar.
    pub async fn stage(&self, caller: &Caller, workspace: &str, bytes: &[u8]) -> Result<Archive> {
        let id = self.archives.begin(caller, &name(workspace)).await?;
        self.fill(caller, id, bytes).await?;
        let sha256 = Sha256::digest(bytes).into();
        let arrived = Arrived { size_bytes: bytes.len() as u64, file_count: 7, sha256 };
        self.archives.finish(caller, id, &arrived).await
    }

    async fn fill(&self, caller: &Caller, id: ArchiveId, bytes: &[u8]) -> Result<()> {
        let (mut rest, mut number, mut start) = (bytes, 0, 0);
        while !rest.is_empty() {
            let length = if rest.len() > SLICE { whole_chunks(&rest[..SLICE]) } else { rest.len() };
            let (slice, behind) = rest.split_at(length);
            let slice = Bytes::copy_from_slice(slice);
            self.archives.put_slice(caller, id, (number, start), slice).await?;
            (rest, number, start) = (behind, number + 1, start + length as u64);
        }
        Ok(())
    }

    pub async fn read(&self, caller: &Caller, archive: &Archive) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < archive.size_bytes {
            let at = bytes.len() as u64;
            let (start, slice) = self.storage.read_slice(caller, archive.id.0, at).await?;
            assert_eq!(start, at);
            bytes.extend_from_slice(&slice);
        }
        Ok(bytes)
    }
}

fn name(workspace: &str) -> WorkspaceName {
    WorkspaceName::new(workspace).unwrap()
}

fn with(id: &str, archive: &Archive) -> TakeSnapshot {
    TakeSnapshot { archive: Some(archive.id), ..of(id, &[], History::All) }
}

/// A caller that reaches what is its own.
fn own(subject: &str) -> Caller {
    let scoped = Scoped::of_subject(subject);
    Caller { grants: Grants::Scoped(Arc::new(scoped)), ..granted_callers::subject(subject) }
}

async fn nothing_is_left(h: &Harness) {
    for table in [
        "workspaces",
        "archives",
        "snapshot_archives",
        "contents",
        "content_parts",
        "content_slices",
        "chunks",
        "scopes",
        "scope_holders",
        "garbage",
    ] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
}

/// Three times: what goes leaves its content to a later sweep.
async fn sweep_all(h: &Harness) {
    for hours in [30, 60, 90] {
        h.storage.sweep(Clock::System.now() + hours * 3_600_000_000).await.unwrap();
    }
}

pub async fn a_snapshot_gives_back_its_archive(h: Harness) {
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    converse(&h, "t").await;
    let bytes = noise(1, LARGE);
    let archive = workspaces.stage(&h.caller, "w", &bytes).await.unwrap();
    let request = TakeSnapshot { archive: Some(archive.id), ..of("s", &["t"], History::All) };
    let taken = desk.take(&h.caller, request).await.unwrap().snapshot;
    assert_eq!(taken.archive.as_ref(), Some(&archive));
    assert!(archive.staged_at < taken.taken_at);
    let got = desk.get(&h, "s").await.unwrap();
    assert_eq!(got, taken);
    assert_eq!(got.size_bytes(), got.threads[0].size_bytes + i64::try_from(LARGE).unwrap());
    assert_eq!(desk.snapshots.archive(&h.caller, &snapshot_id("s")).await.unwrap(), archive);
    let query =
        threadkeep::domain::snapshots::storage::ListSnapshots { limit: 9, ..<_>::default() };
    let page = desk.snapshots.list(&h.caller, query).await.unwrap();
    assert_eq!(page.snapshots[0].archive.as_ref(), Some(&archive));
    // A day later it is still there, and what becomes of the thread does not concern it.
    h.storage.sweep(Clock::System.now() + 30 * 3_600_000_000).await.unwrap();
    crate::packs::delete(&h, "t").await;
    assert!(workspaces.read(&h.caller, &archive).await.unwrap() == bytes);
    // A slice from the middle, and nothing for the upload routes of files.
    let (start, slice) = h.storage.read_slice(&h.caller, archive.id.0, 3 << 20).await.unwrap();
    let from = usize::try_from(start).unwrap();
    assert!(start <= 3 << 20 && slice == bytes[from..from + slice.len()]);
    let files = Files::on(&h).await;
    assert_eq!(files.uploads.get(&h.caller, archive.id.0).await.unwrap(), None);
    files.uploads.abort(&h.caller, archive.id.0).await.unwrap();
    check_sound(&h).await;
    assert!(desk.delete(&h, "s").await);
    let gone = workspaces.read(&h.caller, &archive).await;
    assert!(matches!(gone, Err(Error::NotFound(_))));
    sweep_all(&h).await;
    nothing_is_left(&h).await;
}

pub async fn a_second_archive_stores_what_is_new(h: Harness) {
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    let before = noise(2, LARGE);
    // Something was put in near the beginning, so all behind it lies elsewhere.
    let after = [&before[..300_000], b"one more file", &before[300_000..]].concat();
    let first = workspaces.stage(&h.caller, "w", &before).await.unwrap();
    desk.take(&h.caller, with("first", &first)).await.unwrap();
    let chunks = h.count(CHUNKS).await;
    assert!(chunks > 20, "{chunks}");
    let second = workspaces.stage(&h.caller, "w", &after).await.unwrap();
    assert!(h.count(CHUNKS).await <= chunks + 3);
    workspaces.stage(&h.caller, "w", &before).await.unwrap();
    assert!(h.count(CHUNKS).await <= chunks + 3);
    assert_eq!(h.count("select count(*) from scopes").await, 1);
    desk.take(&h.caller, with("second", &second)).await.unwrap();
    assert!(desk.delete(&h, "first").await);
    // The third, which nobody takes, goes as well; what the second one shares with them stays.
    sweep_all(&h).await;
    assert_eq!(h.count("select count(*) from contents").await, 1);
    assert!(workspaces.read(&h.caller, &second).await.unwrap() == after);
    sound(&h).await;
    // Another workspace shares nothing.
    let chunks = h.count(CHUNKS).await;
    workspaces.stage(&h.caller, "v", &after).await.unwrap();
    assert_eq!(h.count(CHUNKS).await, 2 * chunks);
    check_sound(&h).await;
}

pub async fn the_same_bytes_again_are_the_same_request(h: Harness) {
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    let bytes = noise(3, 100_000);
    let first = workspaces.stage(&h.caller, "w", &bytes).await.unwrap();
    let taken = desk.take(&h.caller, with("s", &first)).await.unwrap();
    assert!(taken.is_new);
    // A client that has lost everything and repeats all of it.
    let again = workspaces.stage(&h.caller, "w", &bytes).await.unwrap();
    assert_ne!(again.id, first.id);
    let repeated = desk.take(&h.caller, with("s", &again)).await.unwrap();
    assert!(!repeated.is_new && repeated.snapshot == taken.snapshot);
    let other = workspaces.stage(&h.caller, "w", &noise(4, 100_000)).await.unwrap();
    let elsewhere = workspaces.stage(&h.caller, "v", &bytes).await.unwrap();
    for request in [with("s", &other), with("s", &elsewhere), of("s", &[], History::All)] {
        let refused = desk.take(&h.caller, request).await;
        assert!(matches!(refused, Err(Error::SnapshotIdTaken)), "{refused:?}");
    }
    // Of two snapshots with one archive the last one takes it along.
    desk.take(&h.caller, with("t", &first)).await.unwrap();
    assert!(desk.delete(&h, "s").await);
    sweep_all(&h).await;
    assert!(workspaces.read(&h.caller, &first).await.unwrap() == bytes);
    assert!(desk.delete(&h, "t").await);
    sweep_all(&h).await;
    nothing_is_left(&h).await;
    let late = desk.take(&h.caller, with("s", &first)).await;
    assert!(matches!(late, Err(Error::NotFound("archive"))), "{late:?}");
}

pub async fn an_archive_belongs_to_who_staged_it(h: Harness) {
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    let bytes = noise(5, 200_000);
    let (ann, bob) = (own("ann"), own("bob"));
    let archive = workspaces.stage(&ann, "w", &bytes).await.unwrap();
    let unknown = Archive {
        id: ArchiveId::parse("x", &format!("arc_{:032}", 7)).unwrap(),
        ..archive.clone()
    };
    for (who, what) in [
        (&bob, &archive),
        (&h.caller, &archive),
        (&caller_of("tenant-b"), &archive),
        (&ann, &unknown),
    ] {
        let refused = desk.take(who, with("s", what)).await;
        assert!(matches!(refused, Err(Error::NotFound("archive"))), "{refused:?}");
    }
    assert_eq!(h.count("select count(*) from snapshots").await, 0);
    assert_eq!(h.count("select count(*) from snapshot_leftovers").await, 0);
    // The same name of another subject is another workspace, and tells nothing of this one.
    let chunks = h.count(CHUNKS).await;
    workspaces.stage(&bob, "w", &bytes).await.unwrap();
    assert_eq!(h.count(CHUNKS).await, 2 * chunks);
    desk.take(&ann, with("s", &archive)).await.unwrap();
    let others = desk.snapshots.archive(&bob, &snapshot_id("s")).await;
    assert!(matches!(others, Err(Error::NotFound("snapshot"))), "{others:?}");
    let erasures = Erasures::new(h.storage.clone(), Arc::new(Clock::System));
    let receipt = erasures.erase(&granted_callers::tenant(), "ann", |_| {}).await.unwrap();
    assert_eq!((receipt.snapshots, receipt.contents), (1, 1));
    assert_eq!(h.count(CHUNKS).await, chunks);
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    for table in ["workspaces", "archives", "snapshots", "scope_holders"] {
        let rows = h.dump(table).await;
        assert!(!rows.contains("ann"), "{table}: {rows}");
    }
    sound(&h).await;
}

pub async fn what_is_not_taken_or_not_whole_goes(h: Harness) {
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    let hour = 3_600_000_000;
    let staged = workspaces.stage(&h.caller, "w", &noise(6, LARGE)).await.unwrap();
    // As if a server had died over it.
    let left = workspaces.archives.begin(&h.caller, &name("w")).await.unwrap();
    workspaces.fill(&h.caller, left, &noise(7, 100_000)).await.unwrap();
    let half = Archive { id: left, ..staged.clone() };
    let refused = desk.take(&h.caller, with("s", &half)).await;
    assert!(matches!(refused, Err(Error::NotFound("archive"))), "{refused:?}");
    let aborted = workspaces.archives.begin(&h.caller, &name("other")).await.unwrap();
    workspaces.fill(&h.caller, aborted, &noise(8, 100_000)).await.unwrap();
    workspaces.archives.abort(&h.caller, aborted).await.unwrap();
    assert_eq!(h.count("select count(*) from workspaces").await, 1);
    let late = workspaces.fill(&h.caller, aborted, b"late").await;
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    h.storage.sweep(Clock::System.now() + 23 * hour).await.unwrap();
    assert_eq!(h.count("select count(*) from contents").await, 2);
    assert!(h.storage.find_archive(&h.caller, staged.id).await.unwrap().is_some());
    h.storage.sweep(Clock::System.now() + 25 * hour).await.unwrap();
    assert_eq!(h.count("select count(*) from contents").await, 0);
    let late = desk.take(&h.caller, with("s", &staged)).await;
    assert!(matches!(late, Err(Error::NotFound("archive"))), "{late:?}");
    let late = workspaces.fill(&h.caller, left, b"late").await;
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    sweep_all(&h).await;
    nothing_is_left(&h).await;
    // A snapshot that expires frees what it had, as one that is deleted.
    let archive = workspaces.stage(&h.caller, "w", &noise(9, 100_000)).await.unwrap();
    let request = TakeSnapshot { expires_in_seconds: Some(60), ..with("s", &archive) };
    desk.take(&h.caller, request).await.unwrap();
    h.storage.sweep(Clock::System.now() + 61_000_000).await.unwrap();
    assert_eq!(h.count("select count(*) from archives").await, 0);
    sweep_all(&h).await;
    nothing_is_left(&h).await;
}

pub async fn archives_are_staged_beside_collections(h: Harness) {
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    let versions: Vec<Vec<u8>> =
        (0..4_u64).map(|it| [&noise(20, 600_000)[..], &noise(21 + it, 400_000)].concat()).collect();
    let staging = async {
        for round in 0..6_usize {
            let bytes = &versions[round % versions.len()];
            let archive = workspaces.stage(&h.caller, "w", bytes).await.unwrap();
            let id = format!("s{round}");
            // The sweeps below are two hours ahead: to them, what is being taken is what a crash left.
            while let Err(error) = desk.take(&h.caller, with(&id, &archive)).await {
                assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
            }
            if round > 0 {
                assert!(desk.delete(&h, &format!("s{}", round - 1)).await);
            }
        }
    };
    let collecting = async {
        for _ in 0..40 {
            h.storage.sweep(Clock::System.now() + 2 * 3_600_000_000).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    // What comes and goes with its only archive, at the same time.
    let another = async {
        for round in 0..6 {
            let one = workspaces.stage(&h.caller, "v", &noise(30 + round, 150_000)).await.unwrap();
            workspaces.archives.abort(&h.caller, one.id).await.unwrap();
        }
    };
    tokio::join!(staging, collecting, another);
    let archive = desk.get(&h, "s5").await.unwrap().archive.unwrap();
    assert!(workspaces.read(&h.caller, &archive).await.unwrap() == versions[1]);
    sweep_all(&h).await;
    assert!(workspaces.read(&h.caller, &archive).await.unwrap() == versions[1]);
    assert_eq!(h.count("select count(*) from workspaces").await, 1);
    let report = examine(&h, false).await;
    assert!(report.is_sound(), "{report:?}");
}

pub async fn archives_move_to_the_object_store(h: Harness) {
    let store = FaultyStore::in_memory();
    let h = h.with_objects(store.clone()).await;
    let (workspaces, desk) = (Workspaces::on(&h).await, Desk::on(&h).await);
    let bytes = noise(10, LARGE);
    let archive = workspaces.stage(&h.caller, "w", &bytes).await.unwrap();
    desk.take(&h.caller, with("s", &archive)).await.unwrap();
    h.storage.move_content(later(0)).await.unwrap();
    let placed = h.count(PLACED).await;
    assert!(placed > 20, "{placed}");
    assert!(workspaces.read(&h.caller, &archive).await.unwrap() == bytes);
    workspaces.stage(&h.caller, "w", &bytes).await.unwrap();
    assert_eq!(h.count(CHUNKS).await, placed);
    sound(&h).await;
    assert!(desk.delete(&h, "s").await);
    sweep_all(&h).await;
    h.storage.move_content(later(24 * 365 * 10)).await.unwrap();
    nothing_is_left(&h).await;
}

pub async fn archives_count_for_the_quota(h: Harness) {
    let workspaces = Workspaces::on(&h).await;
    let before = h.storage.measure_usage("tenant-a").await.unwrap().bytes;
    workspaces.stage(&h.caller, "w", &noise(11, LARGE)).await.unwrap();
    let after = h.storage.measure_usage("tenant-a").await.unwrap().bytes;
    assert_eq!(after - before, LARGE as u64);
}
