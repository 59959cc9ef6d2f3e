//! Defines the changes that one request makes to a session, before and after their contents are sealed.

use bytes::Bytes;

use super::name::{SessionName, check_name};
use crate::domain::checkpoints::prepared::{Chunk, PlannedScope, Sealed};
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::idempotency::Idempotency;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::scheduling::cpu_pool::size_of;
use crate::domain::tokens::grants::Action;

/// What describes a session; the first one stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    pub user: Option<String>,
    pub agent: Option<String>,
    pub title: Option<String>,
}

/// An entry, or the content of a document, on its way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub id: Option<String>,
    pub text: Bytes,
}

/// One effect. `E` is what is stored: as it came, or sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<E> {
    Append(Append<E>),
    PutDocument(PutDocument<E>),
    /// Behind what the document has; makes it where there is none.
    ExtendDocument {
        name: String,
        content: E,
    },
    DeleteDocument {
        name: String,
    },
    DeleteStream {
        stream: String,
    },
    Count {
        counter: String,
        by: i64,
    },
    Compact(Box<Compact<E>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append<E> {
    pub stream: String,
    /// Those whose id the stream has are left out.
    pub entries: Vec<E>,
    /// Number of the last entry that there must be; 0 for none.
    pub if_head: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutDocument<E> {
    pub name: String,
    pub content: E,
    /// 0: there must be none.
    pub if_version: Option<i64>,
    /// The content is the same in fewer pieces: version and time stay.
    pub only_joins: bool,
}

/// Moves the first entries of a stream to an archive and puts others in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact<E> {
    pub stream: String,
    pub through_seq: i64,
    pub expected_head: i64,
    /// How many entries go to the archive, as the caller counted them.
    pub expected_count: Option<i64>,
    /// The archive is the stream with this name.
    pub archive_stream: String,
    /// How many archives the session must have had, where the archive's id follows from it: it is in what is stored.
    pub archives_before: Option<i64>,
    /// The number in an id that the caller has chosen.
    pub archive_number: Option<i64>,
    pub replacement: Vec<E>,
    /// A document and what is added to it.
    pub document: Option<(String, E)>,
}

/// What one call does to one session; all of it or nothing.
#[derive(Debug, Clone)]
pub struct Change {
    pub session: SessionName,
    /// Set where a session may be made even without a step.
    pub about: Option<About>,
    pub steps: Vec<Step<NewEntry>>,
}

/// A content that is ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedEntry {
    pub id: Option<String>,
    /// What it is sealed for.
    pub entry_no: i64,
    pub sealed: Sealed,
}

/// A change that is ready for the queue.
#[derive(Debug, Clone)]
pub struct PreparedChange {
    pub tenant: String,
    pub session: SessionName,
    /// Subject that owns the session if this makes it.
    pub owner: Option<String>,
    /// Subject that the session must belong to if it is there.
    pub if_owner: Option<String>,
    /// With the title sealed.
    pub about: Option<(About, Option<Bytes>)>,
    pub steps: Vec<Step<PreparedEntry>>,
    /// What a new session is made with, and what an old one must have if `needs_scope`.
    pub scope: PlannedScope,
    /// Something was sealed for the scope.
    pub needs_scope: bool,
    pub chunks: Vec<Chunk>,
    /// Epoch for which the chunks are enough; None: they always are.
    pub epoch: Option<i64>,
    pub idempotency: Option<Idempotency>,
    pub deadline: Micros,
    pub size_bytes: usize,
}

/// What a change did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// The session was made by this.
    #[serde(default)]
    pub created: bool,
    pub steps: Vec<StepDone>,
}

/// What a step did, in the order of the steps.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StepDone {
    Appended { first: Option<i64>, last: Option<i64>, head: i64, appended: i64 },
    Stored { version: i64, updated_at: Micros, size_bytes: i64, pieces: i64 },
    Deleted,
    Counted { value: i64 },
    Compacted { archive: i64, head: i64 },
}

impl Done {
    /// The size of a whole document is for who may read it.
    pub fn tell_only_what_was_sent(&mut self, change: &Change) {
        for (step, done) in change.steps.iter().zip(&mut self.steps) {
            if let (Step::ExtendDocument { content, .. }, StepDone::Stored { size_bytes, .. }) =
                (step, done)
            {
                *size_bytes = i64::try_from(content.text.len()).unwrap_or(i64::MAX);
            }
        }
    }
}

impl Change {
    /// What it needs to be granted: what adds and replaces nothing is an append.
    pub fn needs(&self) -> Action {
        let adds = |it: &Step<NewEntry>| match it {
            Step::Append(_) | Step::ExtendDocument { .. } | Step::Count { .. } => true,
            Step::PutDocument(put) => put.if_version == Some(0),
            Step::DeleteDocument { .. } | Step::DeleteStream { .. } | Step::Compact(_) => false,
        };
        if self.steps.iter().all(adds) { Action::Append } else { Action::Write }
    }

    /// How much work the entries and documents are that it adds.
    pub fn size(&self) -> usize {
        let added = self.steps.iter().flat_map(Step::added);
        let (count, bytes) =
            added.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.text.len()));
        size_of(count, bytes)
    }

    /// # Errors
    /// 422 and 413 for names and contents that break a limit.
    pub fn check(&self) -> Result<()> {
        if let Some(about) = &self.about {
            about.check()?;
        }
        self.steps.iter().try_for_each(Step::check)
    }
}

impl About {
    /// User and agent are compared in indexes, so they hold no NUL; a title is any text.
    fn check(&self) -> Result<()> {
        let max = LIMITS.session_name_bytes_max;
        for (field, text) in [("user", &self.user), ("agent", &self.agent)] {
            if let Some(text) = text {
                crate::domain::names::check(field, text, max, true)?;
            }
        }
        match &self.title {
            Some(title) => check_name("title", title, true),
            None => Ok(()),
        }
    }
}

impl Step<NewEntry> {
    /// The entries and the content of documents in it.
    fn added(&self) -> Vec<&NewEntry> {
        match self {
            Self::Append(append) => append.entries.iter().collect(),
            Self::PutDocument(put) => vec![&put.content],
            Self::ExtendDocument { content, .. } => vec![content],
            Self::Compact(compact) => {
                let document = compact.document.iter().map(|(_, content)| content);
                compact.replacement.iter().chain(document).collect()
            }
            Self::DeleteDocument { .. } | Self::DeleteStream { .. } | Self::Count { .. } => vec![],
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Append(append) => {
                check_name("stream", &append.stream, true)?;
                not_negative("if_head", append.if_head)?;
                check_entries("entries", &append.entries)
            }
            Self::PutDocument(put) => {
                check_name("name", &put.name, true)?;
                not_negative("if_version", put.if_version)?;
                check_size("content", &put.content)
            }
            Self::ExtendDocument { name, content } => {
                check_name("name", name, true)?;
                check_size("content", content)
            }
            Self::DeleteDocument { name } => check_name("name", name, true),
            Self::DeleteStream { stream } => check_name("stream", stream, true),
            Self::Count { counter, .. } => check_name("counter", counter, true),
            Self::Compact(compact) => compact.check(),
        }
    }
}

impl Compact<NewEntry> {
    fn check(&self) -> Result<()> {
        check_name("stream", &self.stream, true)?;
        check_name("archive_stream_prefix", &self.archive_stream, false)?;
        not_negative("through_seq", Some(self.through_seq))?;
        not_negative("expected_head", Some(self.expected_head))?;
        check_entries("replacement", &self.replacement)?;
        if self.replacement.iter().any(|it| it.id.is_some()) {
            return Err(Error::invalid("replacement", "entries of a replacement have no id"));
        }
        match &self.document {
            Some((name, content)) => {
                check_name("document.name", name, true)?;
                check_size("document.append", content)
            }
            None => Ok(()),
        }
    }
}

fn check_entries(field: &str, entries: &[NewEntry]) -> Result<()> {
    at_most(field, entries.len(), LIMITS.session_entries_max)?;
    for (at, entry) in entries.iter().enumerate() {
        if let Some(id) = &entry.id {
            check_name(&format!("{field}[{at}].id"), id, true)?;
        }
        let field = format!("{field}[{at}].data");
        check_size(&field, entry)?;
        exact_json::check_depth(&field, &entry.text, LIMITS.session_entry_depth_max)?;
    }
    Ok(())
}

fn check_size(field: &str, entry: &NewEntry) -> Result<()> {
    let limit = LIMITS.document_bytes_max;
    if entry.text.len() as u64 > limit {
        return Err(Error::TooLarge { field: field.into(), limit });
    }
    Ok(())
}

fn not_negative(field: &str, number: Option<i64>) -> Result<()> {
    if number.is_some_and(|it| it < 0) {
        return Err(Error::invalid(field, format!("{field} must be 0 or more")));
    }
    Ok(())
}
