//! Reads files: a window of one, several whole, or the facts about one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::dialect::Dialect;
use super::lines::{LineRange, window};
use super::listing::Entry;
use super::problem::{not_a_file, not_found, problem};
use super::value::{Content, FileValue};
use super::{FileCall, Files, OPENED_MAX, count, media, path, text_of};
use crate::domain::error::{Error, FileProblem, Result};
use crate::domain::files::storage::{KeyRange, ListFiles};
use crate::domain::json::exact_json;
use crate::domain::json::wide_text::WideText;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::file_head::FileHead;
use crate::domain::store::item::{Item, Key};
use crate::domain::tokens::grants::Action;

/// A window of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    pub path: Key,
    /// Lines from 0.
    pub offset: i64,
    pub limit: i64,
}

/// What a read shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub body: Body,
    /// Of the whole file.
    pub head: FileHead,
    pub media_type: String,
    pub version: i64,
    pub place: Option<LineRange>,
    pub no_lines_requested: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(WideText),
    /// A part of the base64 text of bytes, which Python has cut as if it were lines.
    Base64(WideText),
    Bytes(Vec<u8>),
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    pub bytes: Vec<u8>,
    pub media_type: String,
    pub version: i64,
    pub sha256: [u8; 32],
}

impl Files {
    /// One round trip; one or two more where the content lies in chunks.
    ///
    /// # Errors
    /// `NotFound`, `OffsetPastEnd`, `NotText`, `NotAFile`; `ValueTooLarge`.
    pub async fn read(&self, asking: FileCall<'_>, read: &ReadFile) -> Result<Shown> {
        let Some(item) = self.visible(asking, &read.path).await? else {
            return Err(not_found(&read.path));
        };
        let size = count(item.value_bytes());
        let show = || shown(asking.dialect, &item, read);
        cpu_pool::run_here(&asking.caller.tenant, size, show).await?
    }

    /// All in one round trip, and one or two more where contents lie in chunks. One result per path, in their order.
    ///
    /// # Errors
    /// Too many paths; a storage that cannot be read.
    pub async fn download(
        &self,
        asking: FileCall<'_>,
        paths: &[Key],
    ) -> Result<Vec<Result<Downloaded>>> {
        at_most("paths", paths.len(), LIMITS.files_per_request_max)?;
        let readable = asking.may(Action::Read);
        let addresses: Vec<_> = paths.iter().map(|it| asking.address(it)).collect();
        let mut results = Vec::with_capacity(paths.len());
        let mut bytes = 0;
        let mut rest = addresses.as_slice();
        while !rest.is_empty() {
            if bytes >= count(LIMITS.files_bytes_max) {
                results.extend(rest.iter().map(|_| Err(too_large_for_batch())));
                break;
            }
            let part = &rest[..rest.len().min(OPENED_MAX)];
            let found = if readable {
                self.storage.get_first_items(asking.caller, part, self.now()).await?
            } else {
                part.iter().map(|_| None).collect()
            };
            rest = &rest[found.len()..];
            for (address, item) in part.iter().zip(found) {
                let size = item.as_ref().map_or(0, |it| count(it.value_bytes()));
                let open = || downloaded(asking.dialect, &address.key, item);
                let result = cpu_pool::run_here(&asking.caller.tenant, size, open).await?;
                let length = result.as_ref().map_or(0, |it| it.bytes.len());
                let is_over = bytes > 0 && bytes + length > count(LIMITS.files_bytes_max);
                bytes += length;
                results.push(if is_over { Err(too_large_for_batch()) } else { result });
            }
        }
        Ok(results)
    }

    /// One round trip for a file; one more to see whether it is a directory.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn stat(&self, asking: FileCall<'_>, at: &Key) -> Result<Entry> {
        if !asking.may(Action::Read) {
            return Err(not_found(at));
        }
        let ranges = [KeyRange::only(at.as_bytes()), KeyRange::below(path::trimmed(at.as_bytes()))];
        for (range, is_own) in ranges.into_iter().zip([true, false]) {
            let namespace = asking.namespace.clone();
            let query = ListFiles { namespace, range, limit: 1 };
            let page = self.storage.list_files(asking.caller, &query, self.now()).await?;
            match page.files.into_iter().next() {
                Some(row) if is_own && row.head.is_file_in(asking.dialect) => {
                    return Ok(Entry::file(row));
                }
                Some(_) if !is_own => return Ok(Entry::directory(path::directory(at))),
                _ => {}
            }
        }
        Err(not_found(at))
    }
}

/// A file whose value has its content.
///
/// # Errors
/// As [`any_file_of`]; `ValueTooLarge`.
pub(super) fn file_of(dialect: Dialect, item: &Item, prefix: &str) -> Result<FileValue> {
    if item.content_id.is_some() {
        return Err(Error::ValueTooLarge);
    }
    any_file_of(dialect, item, prefix)
}

/// # Errors
/// `NotAFile` in the words of the language, behind `prefix`.
pub(super) fn any_file_of(dialect: Dialect, item: &Item, prefix: &str) -> Result<FileValue> {
    let text = text_of(item)?;
    let file = FileValue::read(exact_json::parse("value", text)?);
    file.filter(|it| it.is_file_in(dialect)).ok_or_else(|| not_a_file(dialect, text, prefix))
}

fn shown(dialect: Dialect, item: &Item, read: &ReadFile) -> Result<Shown> {
    let file = file_of(dialect, item, "")?;
    let name = read.path.wide().shown();
    let media_type = media::of_value(&file, &name);
    let head = FileHead::unbounded(&file);
    let (body, place, no_lines_requested) = match dialect {
        Dialect::Python => python_body(file.content, &name, read)?,
        Dialect::JavaScript => javascript_body(file.content, (&name, &media_type), read)?,
    };
    Ok(Shown { body, head, media_type, version: item.version, place, no_lines_requested })
}

type Cut = (Body, Option<LineRange>, bool);

fn python_body(content: Content, name: &str, read: &ReadFile) -> Result<Cut> {
    let is_whole = media::is_whole_in_python(name);
    let text = match content {
        Content::Text(text) | Content::Lines(text) if is_whole => {
            return Ok((Body::Text(text), None, false));
        }
        Content::Text(text) | Content::Lines(text) => {
            let cut = window(Dialect::Python, &text, read.offset, read.limit)?;
            return Ok((Body::Text(cut.content), cut.place, cut.no_lines_requested));
        }
        Content::Base64(text) => text,
        Content::Bytes(bytes) => STANDARD.encode(bytes).into(),
    };
    let raw = super::value::bytes_of_base64(text.as_bytes());
    if is_whole {
        return Ok((raw.map_or(Body::Base64(text), Body::Bytes), None, false));
    }
    let cut = window(Dialect::Python, &text, read.offset, read.limit)?;
    let body = match raw {
        Some(raw) if cut.content == text => Body::Bytes(raw),
        _ => Body::Base64(cut.content),
    };
    Ok((body, cut.place, cut.no_lines_requested))
}

fn javascript_body(content: Content, (name, kind): (&str, &str), read: &ReadFile) -> Result<Cut> {
    let is_text = media::is_text(kind);
    match content {
        Content::Text(text) | Content::Lines(text) if is_text => {
            let cut = window(Dialect::JavaScript, &text, read.offset, read.limit)?;
            Ok((Body::Text(cut.content), cut.place, false))
        }
        Content::Text(text) | Content::Lines(text) => Ok((Body::Text(text), None, false)),
        Content::Bytes(_) | Content::Base64(_) if is_text => Err(problem(
            FileProblem::NotText,
            format!("File '{name}' has binary content but text MIME type"),
        )),
        Content::Bytes(bytes) => Ok((Body::Bytes(bytes), None, false)),
        Content::Base64(text) => {
            let raw = super::value::bytes_of_base64(text.as_bytes());
            Ok((raw.map_or(Body::Text(text), Body::Bytes), None, false))
        }
    }
}

/// The answer has its bytes: such a file is asked for again.
fn too_large_for_batch() -> Error {
    Error::TooLarge { field: "paths".into(), limit: LIMITS.files_bytes_max }
}

fn downloaded(dialect: Dialect, path: &Key, item: Option<Item>) -> Result<Downloaded> {
    let item = item.ok_or_else(|| not_found(path))?;
    let file = file_of(dialect, &item, "")?;
    let raw = file.content.raw().ok_or_else(|| {
        problem(FileProblem::NotAFile, "the file's content is no base64, as its encoding says")
    })?;
    Ok(Downloaded {
        sha256: FileHead::sha256_of(&raw),
        bytes: raw.into_owned(),
        media_type: media::of_value(&file, &path.wide().shown()),
        version: item.version,
    })
}
