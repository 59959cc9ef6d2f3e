//! Seals the content of a change, and opens the content of sessions.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::content::cipher::AssociatedData;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::checkpoints::prepared::{PlannedScope, Sealed};
use crate::domain::clock::{Micros, random_id};
use crate::domain::names::Tag;
use crate::domain::sessions::change::{
    About, Append, Change, Compact, NewEntry, PreparedChange, PreparedEntry, PutDocument, Step,
};
use crate::domain::sessions::name::SessionName;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::ValueRow;
use crate::storage::content::chunk_memory::Known;
use crate::storage::content::sealing::Sealer;

/// Entries up to this size stay in their row.
const WHOLE_BYTES_MAX: usize = 32 << 10;
/// What is counted for an entry beside its text, when batches are made.
const ROW_BYTES: usize = 256;
pub const TAG: &str = "json";

/// Seals a change for a scope. Pure CPU work: run it in the caller's task, not in the batch's.
///
/// # Errors
/// 413 over the value limit.
pub fn prepare(
    secret: &TenantSecret,
    caller: &Caller,
    change: Change,
    (scope, known): (PlannedScope, Option<Arc<Mutex<Known>>>),
) -> Result<PreparedChange> {
    let action = change.needs();
    let Change { session, about, steps } = change;
    let mut sealing = Sealing {
        secret,
        scope_id: scope.id,
        sealer: Sealer::new(secret, scope.id, known),
        has_entries: false,
        has_parts: false,
        size_bytes: ROW_BYTES,
    };
    let steps = steps.into_iter().map(|it| sealing.step(it)).collect::<Result<Vec<_>>>()?;
    let Sealing { sealer, has_entries, has_parts, size_bytes, .. } = sealing;
    let (chunks, epoch) = sealer.finish();
    let about = about.map(|about| {
        let title = about.title.as_ref();
        let title = title.map(|it| seal_title(secret, (scope.id, &session), it));
        (about, title)
    });
    let has_title = about.as_ref().is_some_and(|it: &(About, _)| it.1.is_some());
    let is_encrypted = secret.cipher().is_some();
    Ok(PreparedChange {
        tenant: caller.tenant.clone(),
        owner: caller.subject.clone(),
        if_owner: caller.session_owner(&session, action).map(str::to_owned),
        needs_scope: has_parts || is_encrypted && (has_entries || has_title),
        session,
        about,
        steps,
        scope,
        size_bytes: size_bytes + chunks.iter().map(|it| it.body.len() + 128).sum::<usize>(),
        chunks,
        epoch,
        idempotency: None,
        deadline: Micros::MAX,
    })
}

struct Sealing<'a> {
    secret: &'a TenantSecret,
    scope_id: i64,
    sealer: Sealer<'a>,
    has_entries: bool,
    has_parts: bool,
    size_bytes: usize,
}

impl Sealing<'_> {
    fn step(&mut self, step: Step<NewEntry>) -> Result<Step<PreparedEntry>> {
        Ok(match step {
            Step::Append(Append { stream, entries, if_head }) => {
                let entries = self.entries(entries)?;
                Step::Append(Append { stream, entries, if_head })
            }
            Step::PutDocument(PutDocument { name, content, if_version, only_joins }) => {
                let content = self.entry(content)?;
                Step::PutDocument(PutDocument { name, content, if_version, only_joins })
            }
            Step::ExtendDocument { name, content } => {
                Step::ExtendDocument { name, content: self.entry(content)? }
            }
            Step::DeleteDocument { name } => Step::DeleteDocument { name },
            Step::DeleteStream { stream } => Step::DeleteStream { stream },
            Step::Count { counter, by } => Step::Count { counter, by },
            Step::Compact(compact) => {
                let document = compact.document;
                let document = document.map(|(name, it)| Ok::<_, Error>((name, self.entry(it)?)));
                Step::Compact(Box::new(Compact {
                    stream: compact.stream,
                    through_seq: compact.through_seq,
                    expected_head: compact.expected_head,
                    expected_count: compact.expected_count,
                    archive_stream: compact.archive_stream,
                    archives_before: compact.archives_before,
                    archive_number: compact.archive_number,
                    replacement: self.entries(compact.replacement)?,
                    document: document.transpose()?,
                }))
            }
        })
    }

    fn entries(&mut self, entries: Vec<NewEntry>) -> Result<Vec<PreparedEntry>> {
        entries.into_iter().map(|it| self.entry(it)).collect()
    }

    fn entry(&mut self, entry: NewEntry) -> Result<PreparedEntry> {
        let NewEntry { id, text } = entry;
        let entry_no = random_id();
        let sealed = seal_entry(self.secret, self.scope_id, &mut self.sealer, entry_no, text)?;
        self.has_entries = true;
        self.has_parts |= sealed.parts.is_some();
        self.size_bytes += ROW_BYTES + sealed.body.len();
        Ok(PreparedEntry { id, entry_no, sealed })
    }
}

/// The text of an entry, sealed for its number.
///
/// # Errors
/// 413 over the value limit.
pub fn seal_entry(
    secret: &TenantSecret,
    scope_id: i64,
    sealer: &mut Sealer<'_>,
    entry_no: i64,
    text: Bytes,
) -> Result<Sealed> {
    let row = ValueRow::Entry(entry_no);
    if text.len() > WHOLE_BYTES_MAX {
        return sealer.value("data", row, &Value::new(tag()?, text));
    }
    let too_large = |_| Error::TooLarge { field: "data".into(), limit: WHOLE_BYTES_MAX as u64 };
    let digest = secret.digest(&text);
    Ok(Sealed {
        tag: TAG.to_owned(),
        size_bytes: i32::try_from(text.len()).map_err(too_large)?,
        body: row.aad(scope_id, (TAG, &digest), |aad| secret.seal(aad, &text)),
        digest,
        parts: None,
    })
}

fn tag() -> Result<Tag> {
    Tag::new(TAG)
}

pub fn seal_title(secret: &TenantSecret, place: (i64, &SessionName), title: &str) -> Bytes {
    title_home(place.0, (place.1.kind(), &place.1.key_bytes()), |aad| {
        secret.seal(aad, title.as_bytes())
    })
}

/// # Errors
/// `Integrity` when it is damaged.
pub fn open_title(
    secret: &TenantSecret,
    place: (i64, &SessionName),
    sealed: &[u8],
) -> Result<String> {
    let max = usize::try_from(crate::domain::limits::LIMITS.session_name_bytes_max);
    let opened = title_home(place.0, (place.1.kind(), &place.1.key_bytes()), |aad| {
        secret.open_at_most(aad, sealed, max.unwrap_or(usize::MAX))
    });
    let damaged = || Error::Integrity("the title of a session is damaged".into());
    let opened = opened.map_err(|_| damaged())?;
    String::from_utf8(opened.to_vec()).map_err(|_| damaged())
}

/// The associated data of a session's title. What a snapshot keeps has its number before the kind, and the title of the session.
pub fn title_home<R>(
    scope_id: i64,
    (kind, key): (&str, &[u8]),
    act: impl FnOnce(AssociatedData<'_>) -> R,
) -> R {
    let kind = kind.rsplit(':').next().unwrap_or_default();
    act(AssociatedData { scope_id, noun: "title", row: &[kind.as_bytes(), key] })
}
