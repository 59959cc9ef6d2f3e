//! Removes, moves and copies files and whole directories.

use super::carrying::Carried;
use super::changing::new_value;
use super::path::{check_new, of_request, trimmed};
use super::problem::{not_found_for_change, problem};
use super::storage::{KeyRange, Removed};
use super::{FileCall, FileChangeCall, Files, OPENED_MAX, count, text_of};
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error, FileProblem, Result};
use crate::domain::json::wide_text::WideText;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::contention::Contention;
use crate::domain::store::item::{Address, ChangeItem, KeptContent, Key, NewValue};
use crate::domain::store::namespace::Namespace;
use crate::domain::tokens::grants::Action;

/// How often a removal is tried that the database refused.
const ATTEMPTS_MAX: u32 = 8;
/// Values that are moved together.
const MOVED_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteFile {
    pub path: Key,
    /// The version that the file must have; then nothing below it is deleted.
    pub if_version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveFile {
    pub from: Key,
    pub to: Key,
    pub to_namespace: Namespace,
    pub overwrites: bool,
    /// The version that the one file must have.
    pub if_version: Option<i64>,
    /// The source stays.
    pub copies: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Of the first file.
    pub version: i64,
    pub files: u64,
}

/// An item on its way.
struct Source {
    key: Key,
    version: i64,
    value: NewValue,
    /// Of a large file.
    content_id: Option<Vec<u8>>,
}

/// What puts files at their new places, and what takes them from their old ones.
struct Planned {
    puts: Vec<ChangeItem>,
    deletions: Vec<ChangeItem>,
    /// Of each put: what it is of, in which version, and the content of a large one.
    origins: Vec<(Key, i64, Option<Vec<u8>>)>,
}

impl Files {
    /// The file and everything below it; how many there were. One statement.
    ///
    /// # Errors
    /// `NotFound` where there is nothing; `VersionConflict`.
    pub async fn delete(&self, asked: FileChangeCall<'_>, delete: &DeleteFile) -> Result<u64> {
        asked.asking.require(Action::Write)?;
        if delete.if_version.is_some() {
            return self.delete_version(asked, delete).await;
        }
        let FileChangeCall { asking, .. } = asked;
        let request = asked.changing(Vec::new()).idempotency(None);
        let ranges = with_all_below(&delete.path);
        let mut lost = None;
        for attempt in 1.. {
            let storage = &self.storage;
            let now = self.now();
            if now > asked.deadline {
                return Err(Error::DeadlineExceeded);
            }
            let removed =
                storage.remove_keys(asking.caller, asking.namespace, &ranges, &request, now);
            match removed.await {
                Ok(Removed::Items(0)) => return Err(not_found_for_change(&delete.path)),
                Ok(Removed::Items(count) | Removed::Repeated(count)) => {
                    self.items.commits.written().notify_one();
                    return Ok(count);
                }
                Ok(Removed::IdempotencyMismatch) => return Err(Error::IdempotencyMismatch),
                // Whether it had been done says the database when it is asked again.
                Err(Error::Unavailable { detail, .. }) => {
                    lost = Some(detail);
                    if attempt >= ATTEMPTS_MAX {
                        break;
                    }
                }
                // An attempt before it may have done it.
                Err(Error::Obstacle { detail, .. }) if lost.is_some() => {
                    lost = Some(detail);
                    break;
                }
                Err(error) => return Err(error),
            }
            let millis = 10 << attempt;
            let millis = rand::random_range(millis / 2..=millis);
            tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
        }
        Err(Error::CommitUnknown { detail: lost.unwrap_or_default() })
    }

    async fn delete_version(&self, asked: FileChangeCall<'_>, delete: &DeleteFile) -> Result<u64> {
        let (address, value) = (asked.asking.address(&delete.path), None);
        let change = ChangeItem { address, value, if_version: delete.if_version };
        self.items.write(&asked.changing(vec![1]), vec![change], None).await?;
        Ok(1)
    }

    /// A file or a whole directory, at once. Statements: two that list, one for each 64 files, one that writes; one more for each
    /// thousand files where some are large.
    ///
    /// # Errors
    /// `NotFound`, `InvalidPath`, `Exists`, `VersionConflict`; too many files; too many bytes of large files for another root.
    pub async fn transfer(&self, asked: FileChangeCall<'_>, request: &MoveFile) -> Result<Moved> {
        let target = FileCall { namespace: &request.to_namespace, ..asked.asking };
        asked.asking.require(Action::Read)?;
        if !request.copies {
            asked.asking.require(Action::Write)?;
        }
        let adds_only = !request.overwrites && target.may(Action::Append);
        target.require(if adds_only { Action::Append } else { Action::Write })?;
        check_new(&request.to)?;
        check_apart(asked.asking, request)?;
        let mut carried = Carried::default();
        let answer = self.transfer_once_planned(asked, target, request, &mut carried).await;
        if !matches!(answer, Err(Error::CommitUnknown { .. })) {
            self.drop_unshown(asked.asking.caller, carried).await;
        }
        answer
    }

    async fn transfer_once_planned(
        &self,
        asked: FileChangeCall<'_>,
        target: FileCall<'_>,
        request: &MoveFile,
        carried: &mut Carried,
    ) -> Result<Moved> {
        let mut contention = Contention::default();
        loop {
            let planned = self.plan_transfer(asked.asking, target, request).await;
            let shown = match planned {
                Ok(planned) => self.show_large(asked, target, (planned, request), carried).await,
                Err(error) => Err(error),
            };
            let changes = match shown {
                Ok(Some(changes)) => changes,
                // Replaced since it was read.
                Ok(None) => {
                    contention.lost("the files keep").await?;
                    continue;
                }
                Err(error) => {
                    // It may look wrong because it has been done.
                    return self.answered(asked).await?.map(|it| moved(&it)).ok_or(error);
                }
            };
            let files = changes.iter().filter(|it| it.value.is_some()).count();
            let changing = asked.changing(vec![i64::try_from(files).unwrap_or(i64::MAX)]);
            match self.items.write(&changing, changes, None).await {
                Err(Error::Conflict(Conflict::VersionConflict { .. })) => {
                    contention.lost("the files keep").await?;
                }
                answer => return answer.map(|it| moved(&it)),
            }
        }
    }

    async fn plan_transfer(
        &self,
        asking: FileCall<'_>,
        target: FileCall<'_>,
        request: &MoveFile,
    ) -> Result<Planned> {
        let sources = self.sources(asking, request).await?;
        let base = trimmed(request.from.as_bytes()).len();
        let new_key = |key: &Key| {
            let moved = [request.to.as_bytes(), &key.as_bytes()[base..]].concat();
            of_request(WideText::of_bytes(moved))
        };
        let there = self.keys(target, &with_all_below(&request.to)).await?;
        let mut puts = Vec::with_capacity(sources.len());
        for source in &sources {
            let key = new_key(&source.key)?;
            let at = there.binary_search_by(|it| it.0.cmp(&key));
            let present = at.ok().map(|at| there[at].1);
            if present.is_some() && !request.overwrites {
                let shown = key.wide().shown();
                let detail = format!("Error: File '{shown}' already exists");
                return Err(problem(FileProblem::Exists, detail));
            }
            puts.push(ChangeItem {
                address: target.address(&key),
                value: Some(source.value.clone()),
                if_version: Some(present.unwrap_or(0)),
            });
        }
        // What is overwritten by another is not deleted too.
        let kept: Vec<Address> = puts.iter().map(|it| it.address.clone()).collect();
        let deletions = sources.iter().filter(|_| !request.copies).map(|it| ChangeItem {
            address: asking.address(&it.key),
            value: None,
            if_version: Some(it.version),
        });
        let deletions = deletions.filter(|it| !kept.contains(&it.address)).collect();
        let origins = sources.into_iter().map(|it| (it.key, it.version, it.content_id)).collect();
        Ok(Planned { puts, deletions, origins })
    }

    /// All changes, puts first in the order of paths: those of large files show their contents. None: one was replaced meanwhile.
    async fn show_large(
        &self,
        asked: FileChangeCall<'_>,
        target: FileCall<'_>,
        (planned, request): (Planned, &MoveFile),
        carried: &mut Carried,
    ) -> Result<Option<Vec<ChangeItem>>> {
        let Planned { mut puts, deletions, origins } = planned;
        if origins.iter().any(|it| it.2.is_some()) {
            let rows = self.large_rows(asked.asking, with_all_below(&request.from)).await?;
            for (put, (key, version, content_id)) in puts.iter_mut().zip(origins) {
                let Some(content_id) = content_id else { continue };
                let row = rows.get(&key).filter(|it| it.version == version);
                let Some(row) = row else { return Ok(None) };
                let kept = if target.namespace.root() == asked.asking.namespace.root() {
                    KeptContent { content_id, head: row.head.clone() }
                } else {
                    self.carry(asked, &put.address, row, carried).await?
                };
                if let Some(value) = &mut put.value {
                    value.kept = Some(kept);
                }
            }
        }
        puts.extend(deletions);
        Ok(Some(puts))
    }

    async fn sources(&self, asking: FileCall<'_>, request: &MoveFile) -> Result<Vec<Source>> {
        let keys = self.keys(asking, &with_all_below(&request.from)).await?;
        if keys.is_empty() {
            return Err(not_found_for_change(&request.from));
        }
        if let Some(wanted) = request.if_version {
            let own = keys.iter().find(|it| it.0 == request.from).map_or(0, |it| it.1);
            if own != wanted || keys.len() > 1 {
                return Err(Error::Conflict(Conflict::VersionConflict { current: own }));
            }
        }
        let addresses: Vec<Address> = keys.iter().map(|it| asking.address(&it.0)).collect();
        let (mut sources, mut bytes) = (Vec::with_capacity(keys.len()), 0);
        let mut rest = addresses.as_slice();
        while !rest.is_empty() {
            let part = &rest[..rest.len().min(OPENED_MAX)];
            let found = self.storage.get_first_items(asking.caller, part, self.now()).await?;
            rest = &rest[found.len()..];
            for item in found.into_iter().flatten() {
                bytes += text_of(&item)?.len();
                sources.push(source(item)?);
            }
            if bytes > MOVED_BYTES_MAX {
                let limit = MOVED_BYTES_MAX as u64;
                return Err(Error::TooLarge { field: "from".into(), limit });
            }
        }
        Ok(sources)
    }

    async fn keys(&self, asking: FileCall<'_>, ranges: &[KeyRange]) -> Result<Vec<(Key, i64)>> {
        let max = LIMITS.files_per_request_max;
        let (caller, namespace) = (asking.caller, asking.namespace);
        let limit = count(max) + 1;
        let storage = &self.storage;
        let mut keys = storage.list_paths(caller, namespace, ranges, limit, self.now()).await?;
        if keys.len() == limit {
            let detail = format!("a directory has at most {max} files to be moved or copied");
            return Err(Error::out_of_range("from", detail, max));
        }
        keys.sort();
        Ok(keys)
    }
}

/// A path without slashes at its end, and what is below it.
fn with_all_below(path: &Key) -> Vec<KeyRange> {
    let base = trimmed(path.as_bytes());
    vec![KeyRange::only(base), KeyRange::below(base)]
}

/// A directory does not go into itself.
fn check_apart(asking: FileCall<'_>, request: &MoveFile) -> Result<()> {
    let (from, to) = (trimmed(request.from.as_bytes()), request.to.as_bytes());
    let is_inside = to == from || to.strip_prefix(from).is_some_and(|it| it.starts_with(b"/"));
    if *asking.namespace == request.to_namespace && is_inside {
        let shown = request.to.wide().shown();
        let detail = format!("Path is the source or lies in it: {shown}");
        return Err(problem(FileProblem::InvalidPath, detail));
    }
    Ok(())
}

fn source(item: crate::domain::store::item::Item) -> Result<Source> {
    let ttl_micros: Option<Micros> = item.ttl_micros;
    let text = item.value.ok_or_else(|| Error::Internal("a file without its value".into()))?;
    let value = NewValue { text, ..new_value(String::new(), ttl_micros) };
    let content_id = item.content_id;
    Ok(Source { key: item.address.key, version: item.version, value, content_id })
}

fn moved(answer: &[i64]) -> Moved {
    let files = answer.last().copied().unwrap_or(0).unsigned_abs();
    Moved { version: answer.first().copied().unwrap_or(0), files }
}
