//! Imports a thread or a session from a file into the storage.

use bytes::Bytes;

use super::frames::FrameReader;
use super::import::{Fate, Ground, truncated};
use super::nouns::{Identity, NounDigest, NounWriter, Unnumbered};
use super::records::Record;
use super::sessions::to_session;
use super::threads::{to_base_write, to_thread};
use super::values::Unpacker;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::export::records::{
    Existing, SessionHead, SessionRecord, Staged, ThreadBase, ThreadHead, ThreadRecord,
};
use crate::domain::names::ThreadId;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Conflict, Error, Result};

/// Records that are staged by one transaction, and their bytes; a larger one goes alone.
const SLICE_RECORDS: usize = 256;
const SLICE_BYTES: usize = 2 << 20;

pub enum NounHead {
    Thread(ThreadHead),
    Session(SessionHead),
}

/// Records that wait to be staged.
enum Waiting {
    Threads(Vec<ThreadRecord>),
    Sessions(Vec<SessionRecord>),
}

/// A record with its value taken out of the file.
enum Unpacked {
    Thread(ThreadRecord),
    BaseWrite(String, Value),
    Session(SessionRecord),
}

/// A noun as it is read.
pub struct Arriving<'a> {
    ground: &'a Ground<'a>,
    pub head: NounHead,
    digest: NounDigest,
    unnumbered: Unnumbered,
    unpacker: Unpacker,
    /// None: nothing is stored, because nothing will be shown.
    pub staged: Option<Staged>,
    /// Of a thread: how many have come.
    pub checkpoints: i64,
    /// Whether it is stored, where others have decided.
    stores: Option<bool>,
    waiting: Waiting,
    waiting_bytes: usize,
}

/// Reads a noun to its end, and shows it unless it is there as it is in the file. Its head was read before.
pub async fn import_noun(
    ground: &Ground<'_>,
    frames: &mut FrameReader<'_>,
    (head, payload): (NounHead, &Bytes),
) -> Result<Fate> {
    let mut arriving = Arriving::begin(ground, head, payload, None).await?;
    let read = arriving.read(frames).await;
    let shown = match read {
        Ok(()) => arriving.show().await,
        Err(error) => Err(error),
    };
    if !matches!(shown, Ok(Fate::Created | Fate::Replaced))
        && let Some(staged) = &arriving.staged
    {
        ground.storage.drop_staged(ground.caller, staged).await?;
    }
    shown
}

impl NounHead {
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Thread(head) => head.check(),
            Self::Session(head) => head.check(),
        }
    }

    fn conflict(&self) -> Error {
        let (noun, name) = match self {
            Self::Thread(head) => ("the thread", head.thread_id.clone()),
            Self::Session(head) => ("the session", format!("{} {}", head.kind, head.key.join("/"))),
        };
        Error::Conflict(Conflict::ImportConflict { noun, name })
    }

    fn waiting(&self) -> Waiting {
        match self {
            Self::Thread(_) => Waiting::Threads(Vec::new()),
            Self::Session(_) => Waiting::Sessions(Vec::new()),
        }
    }
}

impl Waiting {
    fn len(&self) -> usize {
        match self {
            Self::Threads(records) => records.len(),
            Self::Sessions(records) => records.len(),
        }
    }
}

impl<'a> Arriving<'a> {
    pub async fn begin(
        ground: &'a Ground<'a>,
        head: NounHead,
        payload: &Bytes,
        stores: Option<bool>,
    ) -> Result<Self> {
        let mut digest = NounDigest::default();
        digest.add_payload(&ground.caller.tenant, payload).await?;
        let mut arriving = Self {
            ground,
            waiting: head.waiting(),
            head,
            digest,
            unnumbered: Unnumbered::default(),
            unpacker: Unpacker::default(),
            staged: None,
            checkpoints: 0,
            stores,
            waiting_bytes: 0,
        };
        let wanted = match stores {
            Some(stores) => stores,
            None => arriving.is_wanted().await?,
        };
        if wanted {
            let staged = ground.storage.begin_noun(ground.caller).await?;
            arriving.staged = Some(staged);
        }
        Ok(arriving)
    }

    /// Whether it will be stored, as far as that is known before it was read.
    async fn is_wanted(&self) -> Result<bool> {
        let Ground { storage, caller, options, .. } = *self.ground;
        if options.dry_run {
            return Ok(false);
        }
        if options.existing == Existing::Replace {
            return Ok(true);
        }
        // One that no caller could have named is refused before it is asked for again.
        match &self.head {
            NounHead::Thread(head) => {
                let Ok(id) = ThreadId::new(head.thread_id.as_str()) else { return Ok(false) };
                Ok(storage.get_thread(caller, &id).await?.is_none())
            }
            NounHead::Session(head) => {
                let Ok(name) = head.name() else { return Ok(false) };
                Ok(!storage.has_session(caller, &name).await?)
            }
        }
    }

    async fn read(&mut self, frames: &mut FrameReader<'_>) -> Result<()> {
        self.head.check().map_err(|error| of_file(frames, error))?;
        loop {
            let Some(payload) = frames.next().await? else { return Err(truncated()) };
            match frames.decode(&payload).await? {
                Record::End(end) => {
                    frames.verify(end.signature.as_ref().map(|it| &it[..]))?;
                    return self.flush().await.map_err(|error| of_file(frames, error));
                }
                Record::Thread(head) if matches!(self.head, NounHead::Thread(_)) => {
                    self.restart(NounHead::Thread(head.into()), &payload).await?;
                    self.head.check().map_err(|error| of_file(frames, error))?;
                }
                Record::Session(head) if matches!(self.head, NounHead::Session(_)) => {
                    self.restart(NounHead::Session(head.into()), &payload).await?;
                    self.head.check().map_err(|error| of_file(frames, error))?;
                }
                record => {
                    let taken = self.take(record, &payload).await;
                    taken.map_err(|error| of_file(frames, error))?;
                }
            }
        }
    }

    /// What came before does not count.
    pub async fn restart(&mut self, head: NounHead, payload: &Bytes) -> Result<()> {
        if let Some(staged) = self.staged.take() {
            self.ground.storage.drop_staged(self.ground.caller, &staged).await?;
        }
        *self = Self::begin(self.ground, head, payload, self.stores).await?;
        Ok(())
    }

    /// Keeps a record, after what waits was stored where it would be too much together; a base may still grow.
    pub async fn take(&mut self, record: Record, payload: &[u8]) -> Result<()> {
        let wrong = || Error::invalid("record", "a record that is none of this noun's");
        match self.unpack(record, payload).await?.ok_or_else(wrong)? {
            Unpacked::BaseWrite(task, value) => {
                let Waiting::Threads(waiting) = &mut self.waiting else { return Err(wrong()) };
                let Some(ThreadRecord::Base(ThreadBase { base, .. })) = waiting.last_mut() else {
                    return Err(wrong());
                };
                self.waiting_bytes += value.data.len() + 64;
                base.writes.push((task, value));
            }
            Unpacked::Thread(record) => {
                record.check()?;
                self.checkpoints += i64::from(matches!(record, ThreadRecord::Checkpoint(_)));
                self.make_room(record.size_bytes()).await?;
                if let Waiting::Threads(waiting) = &mut self.waiting {
                    waiting.push(record);
                }
            }
            Unpacked::Session(record) => {
                record.check()?;
                self.make_room(record.size_bytes()).await?;
                if let Waiting::Sessions(waiting) = &mut self.waiting {
                    waiting.push(record);
                }
            }
        }
        Ok(())
    }

    /// Counts a record for the digest, and takes its value out of the file, beside the async workers where it is long. None: it is none of
    /// this noun's.
    async fn unpack(&mut self, record: Record, payload: &[u8]) -> Result<Option<Unpacked>> {
        let is_thread = matches!(self.head, NounHead::Thread(_));
        // As a part of a snapshot it counts as it is.
        let unnumbered = self.stores.is_none().then_some(&mut self.unnumbered);
        let (unpacker, digest) = (&mut self.unpacker, &mut self.digest);
        let size = payload.len().saturating_add(record.value_bytes());
        let unpack = || {
            let counted = unnumbered.and_then(|it| it.of(&record)).map(|it| it.encode());
            digest.add(counted.as_deref().unwrap_or(payload));
            match record {
                Record::BaseWrite(it) => {
                    to_base_write(unpacker, it).map(|(task, it)| Unpacked::BaseWrite(task, it))
                }
                record if is_thread => to_thread(unpacker, record).map(Unpacked::Thread),
                record => to_session(unpacker, record).map(Unpacked::Session),
            }
        };
        cpu_pool::run_here(&self.ground.caller.tenant, size, unpack).await
    }

    async fn make_room(&mut self, bytes: usize) -> Result<()> {
        let count = self.waiting.len();
        if count >= SLICE_RECORDS || count > 0 && self.waiting_bytes + bytes > SLICE_BYTES {
            self.flush().await?;
        }
        self.waiting_bytes += bytes;
        Ok(())
    }

    pub fn digest(&self) -> [u8; 32] {
        self.digest.clone().end()
    }

    pub async fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::replace(&mut self.waiting, self.head.waiting());
        self.waiting_bytes = 0;
        let Some(staged) = self.staged.as_mut().filter(|_| waiting.len() > 0) else {
            return Ok(());
        };
        let Ground { storage, caller, .. } = *self.ground;
        match waiting {
            Waiting::Threads(records) => storage.stage_thread(caller, staged, records).await,
            Waiting::Sessions(records) => storage.stage_session(caller, staged, records).await,
        }
    }

    async fn show(&mut self) -> Result<Fate> {
        let Ground { storage, caller, options, .. } = *self.ground;
        let (found, stored) = match &self.head {
            NounHead::Thread(head) => {
                let identity = Identity {
                    generation: head.generation.clone(),
                    fence: head.fence,
                    first_message: head.details.first_message.clone(),
                };
                let mut stored = NounWriter::comparing(&caller.tenant, Some(identity));
                let found = storage.read_thread(caller, &head.thread_id, &mut stored).await?;
                (found, stored)
            }
            NounHead::Session(head) => {
                let mut stored = NounWriter::comparing_session(&caller.tenant);
                let found = storage.read_session(caller, &head.name()?, &mut stored).await?;
                (found, stored)
            }
        };
        if found && stored.end().await? == self.digest.clone().end() {
            return Ok(Fate::Unchanged);
        }
        if found && options.existing == Existing::Refuse {
            return if options.dry_run { Ok(Fate::Conflict) } else { Err(self.head.conflict()) };
        }
        let fate = if found { Fate::Replaced } else { Fate::Created };
        let Some(staged) = &self.staged else {
            // It was there when its head was read, and is not any more.
            return if options.dry_run { Ok(fate) } else { Err(gone()) };
        };
        match &self.head {
            NounHead::Thread(head) => {
                storage.show_thread(caller, staged, head, options.existing).await?;
            }
            NounHead::Session(head) => {
                storage.show_session(caller, staged, head, options.existing).await?;
            }
        }
        Ok(fate)
    }
}

/// What a record says that nothing can be is the file's fault.
pub fn of_file(frames: &FrameReader<'_>, error: Error) -> Error {
    match error {
        Error::Invalid { detail, .. } => frames.damaged(&detail),
        Error::TooLarge { .. } => frames.damaged(&error.to_string()),
        other => other,
    }
}

fn gone() -> Error {
    Error::Unavailable {
        detail: "what was there went while it was imported".into(),
        retry_after: std::time::Duration::from_secs(1),
    }
}
