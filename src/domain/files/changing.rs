//! Changes files: write, append, edit, upload. A change is a put on the version that was read. If another change came between, the file is
//! read again, so no change is lost.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use futures::future::join_all;
use sha2::{Digest as _, Sha256};

use super::dialect::Dialect;
use super::path::check_new;
use super::problem::{not_found_for_change, problem};
use super::reading::{any_file_of, file_of};
use super::replacing::replace;
use super::value::{Content, FileValue};
use super::writing::{NewContent, of_bytes};
use super::{FileChangeCall, Files, media, text_of};
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error, FileProblem, Result};
use crate::domain::json::wide_text::WideText;
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::scheduling::contention::Contention;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::changing::Changing;
use crate::domain::store::item::{ChangeItem, Item, Key, NewValue};
use crate::domain::tokens::grants::Action;

/// As JavaScript's `atob` reads base64: nothing but the alphabet, with its padding or without.
const UNPADDED: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);
const NO_TEXT: &str = "Error: Cannot edit binary files with text replacements.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFile {
    pub path: Key,
    pub content: WideText,
    /// The version that the file must have; 0: there must be none.
    pub if_version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendFile {
    pub path: Key,
    pub content: WideText,
    /// Of the whole content that it is appended to.
    pub base_sha256: Option<[u8; 32]>,
    pub if_version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFile {
    pub path: Key,
    pub old: WideText,
    pub new: WideText,
    pub all: bool,
    pub if_version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadFile {
    pub path: Key,
    pub bytes: Vec<u8>,
    pub media_type: Option<String>,
}

/// The new value of a file, and what is answered beside its version.
pub(super) struct Plan {
    pub text: String,
    pub ttl_micros: Option<Micros>,
    pub note: i64,
}

/// How the new value is made from what is there.
struct Planning<'a> {
    plan: &'a (dyn Fn(Option<&Item>) -> Result<Plan> + Send + Sync),
    /// How much work that is, given the bytes of the value that is there.
    size: &'a (dyn Fn(usize) -> usize + Send + Sync),
}

impl Files {
    /// The version, and whether there was no such file. Two statements.
    ///
    /// # Errors
    /// `InvalidPath`, `NotAFile`, `VersionConflict`, `TooLarge`.
    pub async fn write(&self, asked: FileChangeCall<'_>, write: &WriteFile) -> Result<(i64, bool)> {
        let asking = asked.asking;
        let creates = write.if_version == Some(0) && asking.may(Action::Append);
        asking.require(if creates { Action::Append } else { Action::Write })?;
        at_most("content", write.content.as_bytes().len())?;
        let name = write.path.wide().shown();
        let plan = |found: Option<&Item>| {
            let content = written(asking.dialect, &name, &write.content)?;
            let new = new_content(asked, self.now(), &name, content);
            match found {
                None => {
                    check_new(&write.path)?;
                    Ok(Plan { text: new.created(), ttl_micros: None, note: 1 })
                }
                Some(item) => changed(asked, &new, item, "").map(|it| Plan { note: 0, ..it }),
            }
        };
        let planning = Planning { plan: &plan, size: &|it| it + write.content.as_bytes().len() };
        let answer = self.change(asked, (&write.path, write.if_version), planning).await?;
        Ok((answer.0, answer.1 == 1))
    }

    /// The new version. Two statements.
    ///
    /// # Errors
    /// `NotFound` where a base is named and nothing there, `BaseMismatch`, `NotText`, `InvalidPath`, `NotAFile`, `VersionConflict`.
    pub async fn append(&self, asked: FileChangeCall<'_>, append: &AppendFile) -> Result<i64> {
        let asking = asked.asking;
        asking.require(if asking.may(Action::Append) { Action::Append } else { Action::Write })?;
        at_most("content", append.content.as_bytes().len())?;
        let name = append.path.wide().shown();
        let plan = |found: Option<&Item>| {
            let Some(item) = found else {
                if append.base_sha256.is_some() {
                    return Err(not_found_for_change(&append.path));
                }
                check_new(&append.path)?;
                let content = Content::Text(append.content.clone());
                let new = new_content(asked, self.now(), &name, content);
                return Ok(Plan { text: new.created(), ttl_micros: None, note: 0 });
            };
            let file = file_of(asking.dialect, item, "Error: ")?;
            let text = text_to_change(asking.dialect, &file)?;
            if append.base_sha256.is_some_and(|it| it[..] != Sha256::digest(text.as_bytes())[..]) {
                let detail = "the file has another content than the one that is appended to";
                return Err(problem(FileProblem::BaseMismatch, detail));
            }
            let whole = [text.as_bytes(), append.content.as_bytes()].concat();
            at_most("content", whole.len())?;
            let content = Content::Text(WideText::of_bytes(whole));
            changed(asked, &new_content(asked, self.now(), &name, content), item, "Error: ")
        };
        let planning = Planning { plan: &plan, size: &|it| it + append.content.as_bytes().len() };
        Ok(self.change(asked, (&append.path, append.if_version), planning).await?.0)
    }

    /// The new version, and how many occurrences were replaced. Two statements.
    ///
    /// # Errors
    /// `NotFound`, `NotText`, `OldStringEmpty`, `StringNotFound`, `StringNotUnique`, `NotAFile`, `VersionConflict`.
    pub async fn edit(&self, asked: FileChangeCall<'_>, edit: &EditFile) -> Result<(i64, u64)> {
        let asking = asked.asking;
        asking.require(Action::Read)?;
        asking.require(Action::Write)?;
        let name = edit.path.wide().shown();
        let plan = |found: Option<&Item>| {
            let item = found.ok_or_else(|| not_found_for_change(&edit.path))?;
            let file = file_of(asking.dialect, item, "Error: ")?;
            let text = text_to_change(asking.dialect, &file)?;
            let (text, count) = replace(asking.dialect, text, (&edit.old, &edit.new), edit.all)?;
            at_most("new_string", text.as_bytes().len())?;
            let new = new_content(asked, self.now(), &name, Content::Text(text));
            let note = i64::try_from(count).unwrap_or(i64::MAX);
            changed(asked, &new, item, "Error: ").map(|it| Plan { note, ..it })
        };
        let planning = Planning { plan: &plan, size: &|it| edit.size_after(it) };
        let answer = self.change(asked, (&edit.path, edit.if_version), planning).await?;
        Ok((answer.0, answer.1.unsigned_abs()))
    }

    /// Puts files whole, each for itself; those that arrive together share statements. One result per file, in their order: its
    /// version.
    ///
    /// # Errors
    /// `NotGranted`, too many files.
    pub async fn upload(
        &self,
        asked: FileChangeCall<'_>,
        files: Vec<UploadFile>,
    ) -> Result<Vec<Result<i64>>> {
        asked.asking.require(Action::Write)?;
        let max = LIMITS.files_per_request_max;
        names::at_most("files", files.len(), max)?;
        let now = self.now();
        let uploads = files.into_iter().map(|file| self.upload_one(asked, file, now));
        Ok(join_all(uploads).await)
    }

    async fn upload_one(
        &self,
        asked: FileChangeCall<'_>,
        file: UploadFile,
        now: Micros,
    ) -> Result<i64> {
        check_new(&file.path)?;
        let size = file.bytes.len();
        at_most("bytes", size)?;
        let address = asked.asking.address(&file.path);
        let dialect = asked.asking.dialect;
        let make = || {
            let name = file.path.wide().shown();
            let content = of_bytes(dialect, &name, file.bytes);
            let media_type = file.media_type.as_deref();
            NewContent { dialect, now, path: &name, content, media_type }.created()
        };
        let text = cpu_pool::run_here(&asked.asking.caller.tenant, size, make).await?;
        let change = ChangeItem { address, value: Some(new_value(text, None)), if_version: None };
        let changing = asked.changing(Vec::new());
        let versions = self.items.write(&changing, vec![change], None).await?;
        Ok(versions.first().copied().unwrap_or(0))
    }

    /// Puts what is planned on what is there. Answers the version and the note: those of the first request, where this one repeats
    /// it.
    async fn change(
        &self,
        asked: FileChangeCall<'_>,
        (path, if_version): (&Key, Option<i64>),
        planning: Planning<'_>,
    ) -> Result<(i64, i64)> {
        let address = asked.asking.address(path);
        let _turn = self.turns.take((&asked.asking.caller.tenant, &address)).await;
        let mut contention = Contention::default();
        loop {
            let found = self.stored(asked.asking, path).await?;
            let current = found.as_ref().map_or(0, |it| it.version);
            let planned = match if_version {
                Some(wanted) if wanted != current => {
                    Err(Error::Conflict(Conflict::VersionConflict { current }))
                }
                _ => {
                    let size = found.as_ref().map_or(0, Item::value_bytes);
                    let size = (planning.size)(usize::try_from(size).unwrap_or(usize::MAX));
                    let plan = || (planning.plan)(found.as_ref());
                    cpu_pool::run_here(&asked.asking.caller.tenant, size, plan).await?
                }
            };
            let planned = match planned {
                Ok(planned) => planned,
                // It may look wrong because it has been done.
                Err(error) => {
                    return self.answered(asked).await?.map(|it| pair(&it)).ok_or(error);
                }
            };
            let change = ChangeItem {
                address: address.clone(),
                value: Some(new_value(planned.text, planned.ttl_micros)),
                if_version: Some(current),
            };
            let changing = asked.changing(vec![planned.note]);
            match self.items.write(&changing, vec![change], None).await {
                Err(Error::Conflict(Conflict::VersionConflict { .. })) if if_version.is_none() => {
                    contention.lost("the file keeps").await?;
                }
                answer => return answer.map(|it| pair(&it)).map_err(of_content),
            }
        }
    }

    /// What was answered to this very request before. One statement.
    pub(super) async fn answered(&self, asked: FileChangeCall<'_>) -> Result<Option<Vec<i64>>> {
        if asked.idempotency.is_none() {
            return Ok(None);
        }
        self.items.answered(&asked.changing(Vec::new())).await
    }
}

impl EditFile {
    /// No more bytes than the file has afterwards, given what it has.
    fn size_after(&self, bytes: usize) -> usize {
        let (old, new) = (self.old.as_bytes().len(), self.new.as_bytes().len());
        let most = if self.all { bytes.saturating_mul(new / old.max(1)) } else { new };
        bytes.saturating_add(most)
    }
}

impl<'a> FileChangeCall<'a> {
    pub(super) fn changing(&self, note: Vec<i64>) -> Changing<'a> {
        let idempotency = self.idempotency.cloned();
        let (caller, deadline) = (self.asking.caller, self.deadline);
        Changing { caller, atomic: true, idempotency, deadline, note }
    }
}

pub(super) fn new_value(text: String, ttl_micros: Option<Micros>) -> NewValue {
    NewValue { text: text.into(), ttl_micros, vectors: None, index: Vec::new(), kept: None }
}

/// The value of a file is its content as JSON text, where a control character takes six bytes.
fn of_content(error: Error) -> Error {
    match error {
        Error::TooLarge { field, limit } if field == "value" => {
            Error::TooLarge { field: "content".into(), limit }
        }
        error => error,
    }
}

/// # Errors
/// `TooLarge` over the limit of a file that is written with its whole content.
pub(super) fn at_most(field: &str, length: usize) -> Result<()> {
    let limit = LIMITS.file_bytes_max;
    if length as u64 > limit {
        return Err(Error::TooLarge { field: field.into(), limit });
    }
    Ok(())
}

fn pair(answer: &[i64]) -> (i64, i64) {
    let at = |place: usize| answer.get(place).copied().unwrap_or(0);
    (at(0), at(1))
}

/// JavaScript takes what is written to a path of bytes for base64.
fn written(dialect: Dialect, name: &str, content: &WideText) -> Result<Content> {
    if dialect == Dialect::Python || media::is_text(media::by_extension(name)) {
        return Ok(Content::Text(content.clone()));
    }
    let text = content.as_bytes().trim_ascii();
    let payload = match text.strip_prefix(b"data:") {
        Some(rest) => rest.splitn(2, |it| *it == b',').nth(1).unwrap_or(text),
        None => text,
    };
    let payload: Vec<u8> = payload.iter().copied().filter(|it| !it.is_ascii_whitespace()).collect();
    let bytes = UNPADDED
        .decode(payload.strip_suffix(b"==").or(payload.strip_suffix(b"=")).unwrap_or(&payload))
        .ok();
    bytes.map(Content::Bytes).ok_or_else(|| {
        Error::invalid("content", "content must be base64: the path is one of a file of bytes")
    })
}

fn new_content<'a>(
    asked: FileChangeCall<'_>,
    now: Micros,
    path: &'a str,
    content: Content,
) -> NewContent<'a> {
    NewContent { dialect: asked.asking.dialect, now, path, content, media_type: None }
}

fn changed(
    asked: FileChangeCall<'_>,
    new: &NewContent<'_>,
    item: &Item,
    prefix: &str,
) -> Result<Plan> {
    let file = any_file_of(asked.asking.dialect, item, prefix)?;
    let is_lines = matches!(file.content, Content::Lines(_));
    let text = new.changed(text_of(item)?, is_lines)?;
    Ok(Plan { text, ttl_micros: item.ttl_micros, note: 0 })
}

fn text_to_change(dialect: Dialect, file: &FileValue) -> Result<&WideText> {
    let detail = match dialect {
        Dialect::Python => NO_TEXT,
        Dialect::JavaScript => "Error: Cannot convert binary FileData to string",
    };
    file.content.text().ok_or_else(|| problem(FileProblem::NotText, detail))
}
