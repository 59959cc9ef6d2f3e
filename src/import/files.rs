//! Imports folders laid out `users/{uid}/workspace|memory/…`: each file goes to its path in the drive of that subject.

use bytes::Bytes;
use chrono::DateTime;
use futures::StreamExt as _;
use sha2::{Digest as _, Sha256};

use super::folder::Folder;
use super::report::{Report, Show};
use super::step::wrong;
use super::target::Target;
use crate::domain::caller::check_subject;
use crate::domain::files::drive::{Area, Drive};
use crate::domain::files::path::check_new;
use crate::domain::files::raw_files::{PutFile, RawBody, Repetition};
use crate::domain::files::storage::FileRow;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{Address, Key};
use crate::domain::{Error, Result};
use crate::storage::objects::reading::Entry;

/// What Supabase keeps in a folder that is empty.
const PLACEHOLDER: &str = ".emptyFolderPlaceholder";

/// # Errors
/// A folder without that layout; a source that cannot be listed, a target that cannot be written.
pub(super) async fn import(
    folder: &Folder,
    target: &Target,
    report: &mut Report,
    show: &mut Show<'_>,
) -> Result<()> {
    let mut entries = folder.list();
    let (mut known, mut first_other) = (false, None);
    while let Some(entry) = entries.next().await {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                report.files.failed += 1;
                report.fail("a file".into(), error);
                continue;
            }
        };
        let Some(place) = Layout::of(&entry.path) else {
            report.files.skipped += 1;
            first_other.get_or_insert(entry.path);
            continue;
        };
        known = true;
        if entry.path.ends_with(PLACEHOLDER) {
            report.files.skipped += 1;
            continue;
        }
        match bring(folder, &entry, place, target).await {
            Ok(Brought::Imported) => {
                report.files.imported += 1;
                report.bytes += entry.size_bytes;
            }
            Ok(Brought::Unchanged) => report.files.unchanged += 1,
            Ok(Brought::Skipped) => report.files.skipped += 1,
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => {
                report.files.failed += 1;
                report.fail(format!("file {:?}", entry.path), error);
            }
        }
        show(report);
    }
    match first_other {
        Some(path) if !known => Err(wrong(format!(
            "the folder has an unknown layout: {path:?} is not below users/NAME/workspace/ or users/NAME/memory/"
        ))),
        Some(_) => {
            report.notes.push(
                "files outside of users/NAME/workspace and users/NAME/memory were left out".into(),
            );
            Ok(())
        }
        None => Ok(()),
    }
}

enum Brought {
    Imported,
    Unchanged,
    Skipped,
}

/// What a path says.
struct Layout<'a> {
    subject: &'a str,
    area: Area,
    rest: &'a str,
}

impl<'a> Layout<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let (subject, rest) = path.strip_prefix("users/")?.split_once('/')?;
        let (area, rest) = rest.split_once('/')?;
        let area = match area {
            "workspace" => Area::Workspace,
            "memory" => Area::Memories,
            _ => return None,
        };
        Some(Self { subject, area, rest })
    }

    fn address(&self) -> Result<Address> {
        check_subject("users", Some(self.subject))?;
        let key = Key::of_text(&format!("/{}", self.rest))?;
        check_new(&key)?;
        Ok(Address { namespace: Drive::of(self.subject).namespace(&self.area), key })
    }
}

async fn bring(
    folder: &Folder,
    entry: &Entry,
    place: Layout<'_>,
    target: &Target,
) -> Result<Brought> {
    let address = place.address()?;
    let there = target.raw_files.find(&target.caller, &address).await?;
    if let Some(row) = &there {
        let digest = digest(folder, entry).await?;
        if row.head.size == entry.size_bytes && row.head.sha256 == Some(digest) {
            return Ok(Brought::Unchanged);
        }
        if modified_at(row).is_none_or(|it| it >= entry.modified_at) {
            return Ok(Brought::Skipped);
        }
    }
    if target.dry_run {
        return Ok(Brought::Imported);
    }
    let put = PutFile {
        address: address.clone(),
        media_type: None,
        if_version: Some(there.map_or(0, |it| it.version)),
        deadline: target.deadline(),
        repetition: Repetition::Unknown,
    };
    let written = if entry.size_bytes <= LIMITS.file_value_bytes_max {
        let bytes = whole(folder, entry).await?;
        let written = Sha256::digest(&bytes).into();
        target.raw_files.put(&target.caller, put, bytes).await?;
        written
    } else {
        upload(folder, entry, put, target).await?
    };
    if stored_digest(&address, target).await? == Some(written) {
        return Ok(Brought::Imported);
    }
    Err(Error::Integrity("what was read back is not what the source has".into()))
}

/// When its content last changed, as its value says.
fn modified_at(row: &FileRow) -> Option<i64> {
    let text = row.head.modified_at.as_ref().and_then(|it| it.text())?;
    Some(DateTime::parse_from_rfc3339(text).ok()?.timestamp_micros())
}

async fn whole(folder: &Folder, entry: &Entry) -> Result<Bytes> {
    let (mut pieces, mut bytes) = (folder.read(&entry.path).await?, Vec::new());
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece?);
        if bytes.len() as u64 > LIMITS.file_value_bytes_max {
            return Err(wrong("it grows while it is read"));
        }
    }
    Ok(bytes.into())
}

async fn digest(folder: &Folder, entry: &Entry) -> Result<[u8; 32]> {
    let (mut pieces, mut hash) = (folder.read(&entry.path).await?, Sha256::new());
    while let Some(piece) = pieces.next().await {
        hash.update(&piece?);
    }
    Ok(hash.finalize().into())
}

/// As one part, of which no more than a slice is in memory.
async fn upload(folder: &Folder, entry: &Entry, put: PutFile, target: &Target) -> Result<[u8; 32]> {
    let Target { uploads, raw_files, caller, .. } = target;
    let id = uploads.begin(caller, &put.address).await?;
    let stored = async {
        let mut incoming = uploads.receive(caller, id, 1)?;
        let mut pieces = folder.read(&entry.path).await?;
        while let Some(piece) = pieces.next().await {
            incoming.push(piece?).await?;
        }
        let part = incoming.end().await?;
        let whole = uploads.finish(caller, id, None).await?;
        let put = PutFile { deadline: target.deadline(), ..put };
        raw_files.show(caller, put, &whole).await?;
        Ok(part.sha256)
    };
    let stored = stored.await;
    if stored.is_err() {
        // What is left goes in a day; there is no need to wait for that.
        uploads.abort(caller, id).await.ok();
    }
    stored
}

/// Of what is stored, read back.
async fn stored_digest(address: &Address, target: &Target) -> Result<Option<[u8; 32]>> {
    let Target { raw_files, caller, .. } = target;
    let Some(file) = raw_files.open(caller, address).await? else { return Ok(None) };
    match file.body {
        RawBody::Small(bytes) => Ok(Some(Sha256::digest(&bytes).into())),
        RawBody::Large(id) => {
            let (mut at, mut hash) = (0, Sha256::new());
            while at < file.size_bytes {
                let (start, bytes) = raw_files.read_slice(caller, id, at).await?;
                let skip = usize::try_from(at - start).unwrap_or(usize::MAX);
                let Some(fresh) = bytes.get(skip..).filter(|it| !it.is_empty()) else {
                    return Ok(None);
                };
                hash.update(fresh);
                at += fresh.len() as u64;
            }
            Ok(Some(hash.finalize().into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(path: &str) -> Option<(Vec<String>, String)> {
        let address = Layout::of(path)?.address().ok()?;
        Some((address.namespace.labels().to_vec(), address.key.text()?.to_owned()))
    }

    #[test]
    fn a_path_says_whose_file_it_is_and_where() {
        let (labels, key) = address("users/ann@x.y/workspace/a/b.txt").unwrap();
        assert_eq!((labels[0].as_str(), labels[1].as_str()), ("ann@x~2ey", "workspace"));
        assert_eq!(key, "/a/b.txt");
        let (labels, key) = address("users/u/memory/users/x").unwrap();
        assert_eq!((labels[1].as_str(), key.as_str()), ("filesystem", "/users/x"));
        for other in [
            "a.txt",
            "users/u/a.txt",
            "users/u/other/a",
            "users//workspace/a",
            "users/u/workspace/../a",
        ] {
            assert_eq!(address(other), None, "{other}");
        }
    }
}
