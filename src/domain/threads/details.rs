//! Defines what people set of a thread: its title, its metadata and its ttl, and their changes.

use std::borrow::Cow;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error, Full, Result};
use crate::domain::json::{exact_fields, exact_json};
use crate::domain::limits::LIMITS;
use crate::domain::names::{self, ThreadId};
use crate::domain::threads::ttl::{Ttl, TtlOf};
use crate::domain::tokens::grants::Action;

pub const METADATA: &str = "metadata";
pub const TTL: &str = "ttl";
/// The exact text of metadata that nobody has set.
pub const NO_METADATA: &str = "{}";

/// What is kept of a thread beside its checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// About the time of the change in microseconds, and greater with each, so that no number comes twice for a thread's id. 0: nothing
    /// was ever set.
    pub version: i64,
    /// Set by hand. [`Self::shown_title`] is what callers see.
    pub title: Option<String>,
    /// The exact text of a JSON object.
    pub metadata: String,
    /// [`Self::ttl_of`] is what counts.
    pub ttl: Option<TtlOf>,
    /// The first human text of the conversation, as it was derived once. It changes no version.
    pub first_message: Option<String>,
    /// Fields of the metadata of checkpoints, as an exact JSON object, as they were derived. They change no version.
    pub from_checkpoints: Option<String>,
    /// The short scalars of the newest state, as an exact JSON object that is not empty, as they were derived for the index. They change no
    /// version, and are not known to be of the newest state: the row of the thread says that.
    pub short_values: Option<String>,
}

impl Default for Details {
    fn default() -> Self {
        let metadata = NO_METADATA.into();
        Self {
            version: 0,
            title: None,
            metadata,
            ttl: None,
            first_message: None,
            from_checkpoints: None,
            short_values: None,
        }
    }
}

/// Key and digest of a request: the same pair is answered again as the first time, and changes nothing.
pub type Idempotency = Option<(String, [u8; 32])>;

/// A thread that is to be made; without an id it gets one.
#[derive(Debug)]
pub struct NewThread {
    pub thread_id: Option<ThreadId>,
    pub title: Option<String>,
    pub metadata: Option<String>,
    pub ttl: Option<Ttl>,
    pub idempotency: Idempotency,
}

/// Makes a thread that has no checkpoints yet. Where the thread is there already, nothing changes.
#[derive(Debug, Clone)]
pub struct CreateThread {
    pub thread_id: ThreadId,
    pub title: Option<String>,
    /// The exact text of a JSON object.
    pub metadata: Option<String>,
    pub ttl: Option<Ttl>,
    pub idempotency: Idempotency,
    /// Set when no thread may be made.
    pub full: Option<Full>,
}

/// What a creation did.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub thread_id: String,
    /// False: it was there.
    pub is_new: bool,
}

/// Changes what is kept of a thread. A request without a change moves `updated_at`.
#[derive(Debug, Clone)]
pub struct UpdateThread {
    pub thread_id: ThreadId,
    pub title: Change<String>,
    /// The exact text of a JSON object. Its fields replace those of the same names.
    pub metadata: Option<String>,
    /// `metadata` takes the place of all that was there.
    pub replace_metadata: bool,
    pub ttl: Change<Ttl>,
    /// The version that the change is meant for.
    pub if_version: Option<i64>,
    pub idempotency: Idempotency,
}

impl UpdateThread {
    /// What its caller has to be allowed: a ttl deletes.
    pub fn action(&self) -> Action {
        if self.ttl == Change::Keep { Action::Append } else { Action::Write }
    }
}

/// What becomes of a field that may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    #[default]
    Keep,
    Remove,
    Set(T),
}

impl<T> From<Option<T>> for Change<T> {
    /// Of a field that is there: null takes the value away.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Remove, Self::Set)
    }
}

impl<T> Change<T> {
    /// # Errors
    /// Those of `change`.
    pub fn try_map<U>(self, change: impl FnOnce(T) -> Result<U>) -> Result<Change<U>> {
        Ok(match self {
            Self::Keep => Change::Keep,
            Self::Remove => Change::Remove,
            Self::Set(value) => Change::Set(change(value)?),
        })
    }
}

impl<T: Clone> Change<T> {
    fn of(&self, before: Option<&T>) -> Option<T> {
        match self {
            Self::Keep => before.cloned(),
            Self::Remove => None,
            Self::Set(value) => Some(value.clone()),
        }
    }
}

#[async_trait]
pub trait ThreadDetailsStorage: Send + Sync {
    /// Makes the thread with these details, in one transaction, or leaves the one that is there as it is.
    async fn create_thread(&self, caller: &Caller, request: &CreateThread) -> Result<Created>;

    /// Changes the details in one transaction, and moves `updated_at`.
    async fn update_thread(&self, caller: &Caller, request: &UpdateThread) -> Result<()>;
}

impl Details {
    /// The details of a new thread.
    ///
    /// # Errors
    /// As [`Self::updated`].
    pub fn of_new(request: &CreateThread, now: Micros) -> Result<Self> {
        let none = Self::default();
        if request.title.is_none() && request.metadata.is_none() && request.ttl.is_none() {
            return Ok(none);
        }
        let changed = Self { title: request.title.clone(), ..none };
        let changed = changed.with_ttl(request.ttl, &request.thread_id);
        changed.with_metadata(request.metadata.as_deref(), false, now)
    }

    /// What they become.
    ///
    /// # Errors
    /// `VersionConflict`; `TooLarge` where the merged metadata is.
    pub fn updated(&self, request: &UpdateThread, now: Micros) -> Result<Self> {
        if request.if_version.is_some_and(|it| it != self.version) {
            return Err(Error::Conflict(Conflict::VersionConflict { current: self.version }));
        }
        let is_kept = request.title == Change::Keep && request.ttl == Change::Keep;
        if is_kept && request.metadata.is_none() {
            return Ok(self.clone());
        }
        let title = request.title.of(self.title.as_ref());
        let before = self.ttl_of(request.thread_id.as_str());
        let changed = Self { title, ..self.clone() };
        let changed = changed.with_ttl(request.ttl.of(before.as_ref()), &request.thread_id);
        changed.with_metadata(request.metadata.as_deref(), request.replace_metadata, now)
    }

    /// Checks what came in a file.
    ///
    /// # Errors
    /// As [`check_title`] and [`check_metadata`].
    pub fn check(&self) -> Result<()> {
        for title in self.title.iter().chain(&self.first_message) {
            check_title(title)?;
        }
        if let Some(TtlOf { ttl, .. }) = &self.ttl {
            Ttl::of_minutes(TTL, ttl.minutes(), ttl.strategy)?;
        }
        check_metadata(self.metadata.as_bytes())
    }

    /// What people set, in front of what checkpoints say.
    ///
    /// # Errors
    /// `Integrity` for stored metadata that is no JSON object.
    pub fn all_metadata(&self) -> Result<Cow<'_, str>> {
        match &self.from_checkpoints {
            None => Ok(self.metadata.as_str().into()),
            Some(from) => {
                exact_fields::merge(from.as_bytes(), self.metadata.as_bytes()).map(Cow::from)
            }
        }
    }

    /// Takes in fields of a newer checkpoint. Fields that it does not have stay, as far as there is room.
    ///
    /// # Errors
    /// As [`Self::all_metadata`].
    pub fn take_from_checkpoint(&mut self, fields: &str) -> Result<()> {
        let before = self.from_checkpoints.as_deref().unwrap_or(NO_METADATA);
        let merged = exact_fields::merge(before.as_bytes(), fields.as_bytes())?;
        let has_room = check_size(METADATA, merged.as_bytes()).is_ok();
        self.from_checkpoints = Some(if has_room { merged } else { fields.to_owned() });
        Ok(())
    }

    /// The ttl, where it was set for the thread with this id.
    pub fn ttl_of(&self, thread_id: &str) -> Option<Ttl> {
        self.ttl.as_ref().filter(|it| it.thread_id == thread_id).map(|it| it.ttl)
    }

    fn with_ttl(self, ttl: Option<Ttl>, thread_id: &ThreadId) -> Self {
        let of = |ttl| TtlOf { thread_id: thread_id.to_string(), ttl };
        Self { ttl: ttl.map(of), ..self }
    }

    /// With metadata merged in, and the next version.
    fn with_metadata(self, metadata: Option<&str>, is_whole: bool, now: Micros) -> Result<Self> {
        let before = if is_whole { NO_METADATA } else { self.metadata.as_str() };
        let metadata = match metadata {
            Some(changes) => exact_fields::merge(before.as_bytes(), changes.as_bytes())?,
            None => self.metadata.clone(),
        };
        check_size(METADATA, metadata.as_bytes())?;
        Ok(Self { version: now.max(self.version + 1), metadata, ..self })
    }
}

/// # Errors
/// 422 for NUL or an over-long text.
pub fn check_title(title: &str) -> Result<()> {
    names::check("title", title, LIMITS.title_bytes_max, true)
}

/// Checks the exact text of metadata that a caller sends.
///
/// # Errors
/// As [`check_object`].
pub fn check_metadata(text: &[u8]) -> Result<()> {
    check_object(METADATA, text)
}

/// Checks an object that is metadata, or that metadata or values are to contain.
///
/// # Errors
/// 413 over the limit of metadata; 422 for text that is no JSON object, nested too deep, or with numbers that cannot be compared.
pub fn check_object(field: &str, text: &[u8]) -> Result<()> {
    check_size(field, text)?;
    exact_json::check_object(field, text)?;
    exact_json::check_numbers(field, &exact_json::parse(field, text)?)
}

fn check_size(field: &str, text: &[u8]) -> Result<()> {
    let limit = LIMITS.thread_metadata_bytes_max;
    if text.len() as u64 > limit {
        return Err(Error::TooLarge { field: field.into(), limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let update = |title, metadata: Option<&str>, replace_metadata, if_version| UpdateThread {
            thread_id: ThreadId::new("t-1").unwrap(),
            title,
            metadata: metadata.map(str::to_owned),
            replace_metadata,
            ttl: Change::Keep,
            if_version,
            idempotency: None,
        };
        let first = Details::default()
            .updated(
                &update(Change::Set("One".into()), Some(r#"{"a":1.0,"b":null}"#), false, None),
                0,
            )
            .unwrap();
        assert_eq!((first.version, first.metadata.as_str()), (1, r#"{"a":1.0,"b":null}"#));
        let second =
            first.updated(&update(Change::Keep, Some(r#"{"b":2}"#), false, Some(1)), 0).unwrap();
        assert_eq!(second.title.as_deref(), Some("One"));
        assert_eq!(second.metadata, r#"{"a":1.0,"b":2}"#);
        let third = second.updated(&update(Change::Remove, Some("{}"), true, None), 0).unwrap();
        assert_eq!((third.version, third.title), (3, None));
        assert_eq!(third.metadata, NO_METADATA);
        assert!(first.updated(&update(Change::Keep, None, false, Some(2)), 0).is_err());
        assert_eq!(first.updated(&update(Change::Keep, None, false, None), 0).unwrap(), first);
    }

    #[test]
    fn metadata_over_its_limit_is_refused_also_when_it_grows_by_merging() {
        let half = |name: &str| format!(r#"{{"{name}":"{}"}}"#, "x".repeat(40_000));
        let grown = |metadata: String| UpdateThread {
            thread_id: ThreadId::new("t-1").unwrap(),
            title: Change::Keep,
            metadata: Some(metadata),
            replace_metadata: false,
            ttl: Change::Keep,
            if_version: None,
            idempotency: None,
        };
        let first = Details::default().updated(&grown(half("a")), 0).unwrap();
        let error = first.updated(&grown(half("b")), 0).unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 65_536, .. }), "{error}");
        assert!(check_metadata(&vec![b' '; 65_537]).is_err());
    }
}
