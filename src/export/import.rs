//! Imports a file into a tenant, noun by noun. Each noun is staged as it arrives. It becomes visible at its end, after everything up to
//! there has passed its check.

use serde::Serialize;

use super::arriving_items::import_items;
use super::arriving_snapshot::import_snapshot;
use super::frames::{FrameReader, Input, SigningKey, fault};
use super::records::{Counts, FORMAT, Record, format_of};
use super::settings::{import_policy, import_setting, index_words};
use super::stored::{NounHead, import_noun};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::FileFault;
use crate::domain::export::records::Existing;
use crate::domain::storage::Storage;
use crate::domain::{Error, Result};

/// How to import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The file has to be signed with it.
    pub key: Option<SigningKey>,
    /// What becomes of nouns that are here with other contents.
    pub existing: Existing,
    /// Reads and checks everything, and changes nothing.
    pub dry_run: bool,
}

/// What became of the nouns of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Were not there.
    pub created: u64,
    /// Were there as in the file.
    pub unchanged: u64,
    /// Were there with other contents.
    pub replaced: u64,
    /// Are there with other contents: of a dry run; else the import ends with an error.
    pub conflicts: u64,
}

/// What an import did, or of a dry run, would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    pub dry_run: bool,
    pub is_signed: bool,
    pub threads: Tally,
    pub sessions: Tally,
    pub items: Tally,
    pub settings: Tally,
    pub policies: Tally,
    pub snapshots: Tally,
}

impl Imported {
    /// By the names of the nouns.
    pub fn tallies(&self) -> [(&'static str, Tally); 6] {
        [
            ("threads", self.threads),
            ("sessions", self.sessions),
            ("items", self.items),
            ("settings", self.settings),
            ("policies", self.policies),
            ("snapshots", self.snapshots),
        ]
    }

    fn counts(&self) -> Counts {
        let [threads, sessions, items, settings, policies, snapshots] =
            self.tallies().map(|(_, tally)| tally.total());
        Counts { threads, sessions, items, settings, policies, snapshots }
    }
}

/// What became of a noun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Created,
    Unchanged,
    Replaced,
    Conflict,
}

impl Tally {
    pub fn add(&mut self, fate: Fate) {
        *match fate {
            Fate::Created => &mut self.created,
            Fate::Unchanged => &mut self.unchanged,
            Fate::Replaced => &mut self.replaced,
            Fate::Conflict => &mut self.conflicts,
        } += 1;
    }

    fn total(&self) -> u64 {
        self.created + self.unchanged + self.replaced + self.conflicts
    }
}

/// What an import works with.
pub struct Ground<'a> {
    pub storage: &'a dyn Storage,
    pub caller: &'a Caller,
    pub options: &'a ImportOptions,
    /// For how long it takes.
    pub clock: &'a Clock,
    /// When it began.
    pub now: Micros,
}

/// Imports a file into the caller's tenant. `progress` hears of every noun.
///
/// # Errors
/// `NotGranted` without the whole tenant; `Export` for a file that is not whole, and `ImportConflict`: what came before that
/// place is there, whole, and finds itself unchanged when the import is repeated.
pub async fn import(
    storage: &dyn Storage,
    caller: &Caller,
    input: &mut dyn Input,
    (options, clock): (&ImportOptions, &Clock),
    progress: &mut (dyn FnMut(&Imported) + Send),
) -> Result<Imported> {
    caller.require_tenant_write()?;
    let ground = Ground { storage, caller, options, clock, now: clock.now() };
    let mut frames = FrameReader::begin(input, options.key.clone(), &caller.tenant).await?;
    let mut imported = Imported { dry_run: options.dry_run, ..Imported::default() };
    imported.is_signed = read_begin(&mut frames).await?;
    loop {
        let Some(payload) = frames.next().await? else { return Err(truncated()) };
        match frames.decode(&payload).await? {
            Record::Thread(head) => {
                let head = NounHead::Thread(head.into());
                let fate = import_noun(&ground, &mut frames, (head, &payload)).await?;
                imported.threads.add(fate);
            }
            Record::Session(head) => {
                let head = NounHead::Session(head.into());
                let fate = import_noun(&ground, &mut frames, (head, &payload)).await?;
                imported.sessions.add(fate);
            }
            Record::Item(item) => {
                for fate in import_items(&ground, &mut frames, (item, &payload)).await? {
                    imported.items.add(fate);
                }
            }
            Record::Setting(it) => {
                imported.settings.add(import_setting(&ground, &mut frames, it).await?);
            }
            Record::Policy(it) => {
                imported.policies.add(import_policy(&ground, &mut frames, it).await?);
            }
            Record::Snapshot(head) => {
                let fate = import_snapshot(&ground, &mut frames, (head, &payload)).await?;
                if let Some(fate) = fate {
                    imported.snapshots.add(fate);
                }
            }
            Record::Finish(finish) => {
                frames.verify(finish.signature.as_ref().map(|it| &it[..]))?;
                if !options.dry_run && imported.items.created + imported.items.replaced > 0 {
                    index_words(&ground).await?;
                }
                let counts = imported.counts();
                if counts != finish.counts {
                    return Err(frames.damaged("the file has other nouns than its end says"));
                }
                return match frames.next().await? {
                    None => Ok(imported),
                    Some(_) => Err(frames.damaged("something follows the end of the file")),
                };
            }
            _ => return Err(frames.damaged("a record that belongs to nothing")),
        }
        progress(&imported);
    }
}

/// Reads a file to its end and says whether it is whole and signed with the key. What its records say is not looked at.
///
/// # Errors
/// `Export` for a file that is not.
pub async fn verify(input: &mut dyn Input, key: Option<SigningKey>) -> Result<()> {
    let mut frames = FrameReader::begin(input, key, "").await?;
    read_begin(&mut frames).await?;
    loop {
        let Some(payload) = frames.next().await? else { return Err(truncated()) };
        match frames.decode(&payload).await? {
            Record::End(end) => frames.verify(end.signature.as_ref().map(|it| &it[..]))?,
            Record::Finish(finish) => {
                frames.verify(finish.signature.as_ref().map(|it| &it[..]))?;
                return match frames.next().await? {
                    None => Ok(()),
                    Some(_) => Err(frames.damaged("something follows the end of the file")),
                };
            }
            _ => {}
        }
    }
}

/// Whether the file says that it is signed.
async fn read_begin(frames: &mut FrameReader<'_>) -> Result<bool> {
    let Some(payload) = frames.next().await? else { return Err(truncated()) };
    match format_of(&payload) {
        Some(format) if format > FORMAT => {
            let detail = format!(
                "the file has format {format}, this program reads up to {FORMAT}: use a later one"
            );
            return Err(fault(FileFault::Version, detail));
        }
        Some(_) => {}
        None => return Err(frames.damaged("the file does not begin with its format")),
    }
    match frames.decode(&payload).await? {
        Record::Begin(begin) => Ok(begin.is_signed),
        _ => Err(frames.damaged("the file does not begin with its format")),
    }
}

pub fn truncated() -> Error {
    fault(FileFault::Truncated, "the file ends before its end: it was cut off".into())
}
