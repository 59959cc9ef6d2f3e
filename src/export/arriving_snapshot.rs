//! Imports a snapshot from a file. Its parts are stored under a number of this database, and its row makes them visible at the end.

use bytes::Bytes;

use super::arriving_archive::ArrivingArchive;
use super::arriving_copies::ArrivingCopies;
use super::frames::FrameReader;
use super::import::{Fate, Ground, truncated};
use super::nouns::NounDigest;
use super::records::{ArchiveOf, PartOf, Record, SnapshotOf};
use super::snapshot_heads::SnapshotHead;
use super::snapshots::write_snapshot;
use super::stored::{Arriving as ArrivingNoun, NounHead, of_file};
use crate::domain::clock::Micros;
use crate::domain::export::records::Existing;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::snapshots::Snapshot;
use crate::domain::snapshots::export::ArrivedSnapshot;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};

/// How often the storage is told that it is still being made: what it does not hear of for an hour goes with a sweep.
const RENEW_AFTER: Micros = 5 * 60 * 1_000_000;

/// Reads a snapshot to its end and shows it unless it is there as it is in the file. None: the file says to forget it.
pub async fn import_snapshot(
    ground: &Ground<'_>,
    frames: &mut FrameReader<'_>,
    (head, payload): (SnapshotOf, &Bytes),
) -> Result<Option<Fate>> {
    let Ground { storage, caller, options, .. } = *ground;
    let id = SnapshotId::new(head.snapshot_id.as_str()).map_err(|it| of_file(frames, it))?;
    let there = storage.get_snapshot(caller, &id, Action::Read).await?;
    // One that is there is only compared, unless it may be replaced.
    let wanted = there.is_none() || options.existing == Existing::Replace;
    let number =
        if wanted && !options.dry_run { Some(storage.begin_snapshot(caller).await?) } else { None };
    let shown = async {
        let made = SnapshotHead::begin(head, number.unwrap_or(0));
        let head = made.map_err(|it| of_file(frames, it))?;
        let mut digest = NounDigest::default();
        digest.add_payload(&caller.tenant, payload).await?;
        let renewed_at = ground.clock.now();
        let mut arriving =
            Arriving { ground, number, renewed_at, head, digest, part: None, archive: None };
        let is_whole = arriving.read(frames).await;
        let done = match is_whole {
            Ok(true) => arriving.show(there).await.map(Some),
            other => other.map(|_| None),
        };
        if !is_shown(&done) {
            arriving.drop_part().await?;
        }
        done
    };
    let shown = shown.await;
    if !is_shown(&shown)
        && let Some(number) = number
    {
        storage.drop_snapshot(caller, number).await?;
    }
    shown
}

fn is_shown(done: &Result<Option<Fate>>) -> bool {
    matches!(done, Ok(Some(Fate::Created | Fate::Replaced)))
}

struct Arriving<'a> {
    ground: &'a Ground<'a>,
    /// None: nothing is stored.
    number: Option<i64>,
    /// When the storage was last told that it is being made.
    renewed_at: Micros,
    head: SnapshotHead,
    digest: NounDigest,
    part: Option<Part<'a>>,
    /// Comes after the parts.
    archive: Option<ArrivingArchive>,
}

struct Part<'a> {
    of: PartOf,
    what: What<'a>,
}

enum What<'a> {
    /// Its first record has not come.
    Nothing,
    Noun(Box<ArrivingNoun<'a>>),
    Items(Box<ArrivingCopies>),
}

impl Arriving<'_> {
    /// False: the file says to forget it.
    async fn read(&mut self, frames: &mut FrameReader<'_>) -> Result<bool> {
        loop {
            let Some(payload) = frames.next().await? else { return Err(truncated()) };
            self.renew(RENEW_AFTER).await?;
            let taken = match frames.decode(&payload).await? {
                Record::End(end) => {
                    frames.verify(end.signature.as_ref().map(|it| &it[..]))?;
                    self.end_parts().await.map_err(|error| of_file(frames, error))?;
                    return Ok(true);
                }
                Record::Gone(_) => return Ok(false),
                Record::Part(part) => self.begin_part(part, &payload).await,
                Record::Archive(of) => self.begin_archive(of, &payload).await,
                record => self.take(record, &payload).await,
            };
            taken.map_err(|error| of_file(frames, error))?;
        }
    }

    /// Says that it is still being made, where that was not said for so long.
    async fn renew(&mut self, after: Micros) -> Result<()> {
        let Ground { storage, caller, clock, .. } = *self.ground;
        let now = clock.now();
        if let Some(number) = self.number.filter(|_| (now - self.renewed_at).abs() >= after) {
            storage.renew_snapshot(caller, number).await?;
            self.renewed_at = now;
        }
        Ok(())
    }

    async fn begin_archive(&mut self, of: ArchiveOf, payload: &Bytes) -> Result<()> {
        self.end_part().await?;
        if self.archive.is_some() {
            return Err(wrong("a second archive"));
        }
        self.head.check_archive(&of)?;
        let (owner, stores) = (self.head.snapshot.owner.clone(), self.number.is_some());
        let begun = ArrivingArchive::begin(self.ground, of, (owner, payload), stores);
        self.archive = Some(begun.await?);
        Ok(())
    }

    async fn end_parts(&mut self) -> Result<()> {
        self.end_part().await?;
        let Some(archive) = &mut self.archive else { return Ok(()) };
        let (archive, digest) = archive.end(self.ground).await?;
        self.head.snapshot.archive = archive;
        self.digest.add(&digest);
        Ok(())
    }

    async fn begin_part(&mut self, of: PartOf, payload: &Bytes) -> Result<()> {
        if self.archive.is_some() {
            return Err(wrong("a part behind the archive"));
        }
        self.end_part().await?;
        self.digest.add_payload(&self.ground.caller.tenant, payload).await?;
        self.head.add_part(of.clone())?;
        let what = match &of.namespace {
            Some(labels) => {
                let namespace = Namespace::new(labels.clone())?;
                What::Items(Box::new(ArrivingCopies::below(namespace)))
            }
            None => What::Nothing,
        };
        self.part = Some(Part { of, what });
        Ok(())
    }

    async fn take(&mut self, record: Record, payload: &Bytes) -> Result<()> {
        let (ground, number) = (self.ground, self.number);
        if let Some(archive) = &mut self.archive {
            return archive.take(ground, record, payload).await;
        }
        let Some(part) = &mut self.part else { return Err(wrong("a record of no part")) };
        match (record, &mut part.what) {
            (Record::Thread(head), what) => {
                let is_it = part.of.thread_id.as_ref() == Some(&head.thread_id);
                let head = NounHead::Thread(head.into());
                begin_noun(ground, what, (head, payload), is_it, number.is_some()).await
            }
            (Record::Session(head), what) => {
                let name = (head.kind.clone(), head.key.clone());
                let is_it = part.of.session.as_ref() == Some(&name);
                let head = NounHead::Session(head.into());
                begin_noun(ground, what, (head, payload), is_it, number.is_some()).await
            }
            (record, What::Noun(noun)) => noun.take(record, payload).await,
            (record, What::Items(items)) => items.take(ground, number, (record, payload)).await,
            _ => Err(wrong("a record that belongs to nothing")),
        }
    }

    async fn end_part(&mut self) -> Result<()> {
        let Some(Part { of, what }) = &mut self.part else { return Ok(()) };
        let Ground { storage, caller, .. } = *self.ground;
        let digest = match what {
            What::Nothing => return Err(wrong("a part without what is in it")),
            What::Noun(noun) => {
                noun.flush().await?;
                if matches!(noun.head, NounHead::Thread(_)) && noun.checkpoints != of.entries {
                    return Err(wrong("a part has other checkpoints than it says"));
                }
                if let Some((number, staged)) = self.number.zip(noun.staged.as_ref()) {
                    match &noun.head {
                        NounHead::Thread(head) => {
                            let part = usize::try_from(of.part_no).unwrap_or(usize::MAX);
                            let mut head = head.clone();
                            head.thread_id = ThreadId::hidden(number, part).into_string();
                            storage.show_thread(caller, staged, &head, Existing::Refuse).await?;
                        }
                        NounHead::Session(head) => {
                            storage.keep_session(caller, number, staged, head).await?;
                        }
                    }
                    noun.staged = None;
                }
                noun.digest()
            }
            What::Items(items) => items.end(self.ground, (self.number, of.entries)).await?,
        };
        self.digest.add(&digest);
        self.part = None;
        Ok(())
    }

    async fn drop_part(&mut self) -> Result<()> {
        let Ground { storage, caller, now, .. } = *self.ground;
        if let Some(archive) = self.archive.take() {
            archive.drop_it(self.ground).await?;
        }
        match self.part.take().map(|it| it.what) {
            Some(What::Noun(noun)) => match &noun.staged {
                Some(staged) => storage.drop_staged(caller, staged).await,
                None => Ok(()),
            },
            Some(What::Items(items)) => {
                for id in items.unkept() {
                    storage.drop_upload(caller, id, now).await?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn show(&mut self, there: Option<Snapshot>) -> Result<Fate> {
        let Ground { storage, caller, options, now, .. } = *self.ground;
        let digest = std::mem::take(&mut self.digest).end();
        if let Some(there) = &there {
            let stored = write_snapshot(storage, caller, None, there).await?;
            if stored == Some(digest) {
                return Ok(Fate::Unchanged);
            }
            if options.existing == Existing::Refuse {
                return if options.dry_run { Ok(Fate::Conflict) } else { Err(self.conflict()) };
            }
        }
        let fate = if there.is_some() { Fate::Replaced } else { Fate::Created };
        if self.number.is_none() {
            return Ok(fate);
        }
        self.renew(0).await?;
        let SnapshotHead { snapshot, asked, .. } = &self.head;
        let act = Act::of(caller, ActKind::SnapshotDeleted, &snapshot.id, now);
        let replaces = there.map(|it| (it.no, &act));
        let arrived = ArrivedSnapshot { snapshot, digest: asked, replaces };
        if storage.show_snapshot(caller, arrived).await? { Ok(fate) } else { Err(self.conflict()) }
    }

    fn conflict(&self) -> Error {
        let name = self.head.snapshot.id.clone();
        Error::Conflict(Conflict::ImportConflict { noun: "the snapshot", name })
    }
}

async fn begin_noun<'a>(
    ground: &'a Ground<'a>,
    what: &mut What<'a>,
    (head, payload): (NounHead, &Bytes),
    is_it: bool,
    stores: bool,
) -> Result<()> {
    if !is_it {
        return Err(wrong("a part of another name than it says"));
    }
    head.check()?;
    match what {
        // It changed while it was read: what came before does not count.
        What::Noun(noun) => noun.restart(head, payload).await,
        What::Nothing => {
            let noun = ArrivingNoun::begin(ground, head, payload, Some(stores)).await?;
            *what = What::Noun(Box::new(noun));
            Ok(())
        }
        What::Items(_) => Err(wrong("a part that is not one thing")),
    }
}

fn wrong(what: &'static str) -> Error {
    Error::invalid("snapshot", what)
}
