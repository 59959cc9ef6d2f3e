//! Lists and deletes files of a person's drive: one tree over several namespaces. `drive` decides what a path means.

use std::sync::Arc;

use super::drive::{Area, Drive, DriveTarget, Spot};
use super::raw_files::{media_type_of, tag_of};
use super::storage::{FileRow, KeyRange, ListFiles};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::files::storage::FileStorage;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{
    Address, ChangeItem, ItemOp, Key, ListNamespaces, MatchCondition, MatchKind,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::service::{ItemBatchRequest, Items};
use crate::domain::tokens::grants::Action;

/// Threads whose files one listing goes through.
const THREADS_MAX: usize = 1_000;
/// Files that one look brings.
const LOOK_ROWS: usize = 1_000;

/// Drives of a tenant's subjects.
pub struct DriveFiles {
    storage: Arc<dyn FileStorage>,
    items: Arc<Items>,
    clock: Arc<Clock>,
}

/// A file or a folder, as the drive shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    pub is_dir: bool,
    /// 0 for folders.
    pub size_bytes: u64,
    /// As its writer wrote it.
    pub modified_at: Option<String>,
    pub media_type: Option<String>,
    /// As a download calls its state; None: not known.
    pub tag: Option<String>,
}

/// Where a listing goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveCursor {
    /// Of the areas that it goes through, in their order.
    pub area: usize,
    /// Keys from here on, as bytes.
    pub from: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DrivePage {
    pub entries: Vec<Entry>,
    pub next: Option<DriveCursor>,
}

#[derive(Debug, Clone)]
pub struct ListDrive {
    pub place: DriveTarget,
    pub is_recursive: bool,
    pub limit: usize,
    pub after: Option<DriveCursor>,
}

/// One area, as a listing shows it.
struct View<'a> {
    namespace: Namespace,
    spot: &'a Spot,
    is_recursive: bool,
    /// Keys whose paths lead into other folders are not shown.
    is_root: bool,
}

impl DriveFiles {
    pub fn new(storage: Arc<dyn FileStorage>, items: Arc<Items>, clock: Arc<Clock>) -> Self {
        Self { storage, items, clock }
    }

    /// Folders in the order of their paths, among the files; what the caller may not read is not there.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(
        &self,
        caller: &Caller,
        drive: &Drive,
        query: &ListDrive,
    ) -> Result<DrivePage> {
        let areas = self.areas(caller, drive, query).await?;
        let mut page = DrivePage::default();
        if query.after.is_none() && !query.is_recursive {
            page.entries = self.mounts(caller, drive, &query.place).await?;
            page.entries.truncate(query.limit);
        }
        let start = query.after.as_ref().map_or(0, |it| it.area);
        for (at, spot) in areas.iter().enumerate().skip(start) {
            let from = query.after.as_ref().filter(|it| it.area == at).map(|it| it.from.clone());
            let wanted = query.limit - page.entries.len();
            let view = View {
                namespace: drive.namespace(&spot.area),
                spot,
                is_recursive: query.is_recursive,
                is_root: query.place == DriveTarget::Root,
            };
            let next = self.list_area(caller, &view, (from, wanted), &mut page.entries).await?;
            if let Some(from) = next {
                page.next = Some(DriveCursor { area: at, from });
                return Ok(page);
            }
            if page.entries.len() == query.limit && at + 1 < areas.len() {
                page.next = Some(DriveCursor { area: at + 1, from: Vec::new() });
                return Ok(page);
            }
        }
        Ok(page)
    }

    /// Removes a file, or a folder with all that is in it. Answers how many files there were; none is no error.
    ///
    /// # Errors
    /// `NotGranted`; those of deletions.
    pub async fn delete(
        &self,
        caller: &Caller,
        drive: &Drive,
        place: &DriveTarget,
        deadline: Micros,
    ) -> Result<u64> {
        let DriveTarget::Within(spot) = place else {
            let detail = "path must name a file or a folder below the root of the drive";
            return Err(Error::invalid("path", detail));
        };
        let namespace = drive.namespace(&spot.area);
        if !caller.may_touch_namespace(namespace.labels(), Action::Write) {
            return Err(Error::NotGranted("no grant covers this namespace"));
        }
        let mut deleted = 0;
        let ranges = match spot.key.as_str() {
            "/" => vec![KeyRange::below(b"")],
            key => vec![exactly(key.as_bytes()), KeyRange::below(key.as_bytes())],
        };
        for mut range in ranges {
            loop {
                let query = ListFiles {
                    namespace: namespace.clone(),
                    range: range.clone(),
                    limit: LOOK_ROWS,
                };
                let page = self.storage.list_files(caller, &query, self.clock.now()).await?;
                deleted += page.files.len() as u64;
                self.delete_keys(caller, &namespace, page.files, deadline).await?;
                let Some(next) = page.next else { break };
                range.from = next;
            }
        }
        Ok(deleted)
    }

    async fn delete_keys(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        files: Vec<FileRow>,
        deadline: Micros,
    ) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let delete = |row: FileRow| {
            let address = Address { namespace: namespace.clone(), key: row.key };
            Ok(ItemOp::Change(ChangeItem { address, value: None, if_version: None }))
        };
        let ops = files.into_iter().map(delete).collect();
        let request = ItemBatchRequest { ops, atomic: false, idempotency: None, deadline };
        for result in self.items.batch(caller, request).await? {
            result?;
        }
        Ok(())
    }

    /// What the listing goes through.
    async fn areas(&self, caller: &Caller, drive: &Drive, query: &ListDrive) -> Result<Vec<Spot>> {
        let whole = |area| Spot { area, key: "/".to_owned() };
        Ok(match (&query.place, query.is_recursive) {
            (DriveTarget::Within(spot), _) => vec![spot.clone()],
            (DriveTarget::Root, false) => vec![whole(Area::Workspace)],
            (DriveTarget::Threads, false) => Vec::new(),
            (DriveTarget::Root, true) => {
                let mut all = vec![whole(Area::Workspace), whole(Area::Memories)];
                all.extend(self.threads(caller, drive).await?.into_iter().map(whole));
                all
            }
            (DriveTarget::Threads, true) => {
                self.threads(caller, drive).await?.into_iter().map(whole).collect()
            }
        })
    }

    /// Folders that no key makes.
    async fn mounts(
        &self,
        caller: &Caller,
        drive: &Drive,
        place: &DriveTarget,
    ) -> Result<Vec<Entry>> {
        match place {
            DriveTarget::Within(_) => Ok(Vec::new()),
            DriveTarget::Root => {
                let mut mounts = Vec::new();
                let memories = drive.namespace(&Area::Memories);
                if !self.look(caller, &memories, KeyRange::all(), 1).await?.0.is_empty() {
                    mounts.push(folder("/memories/".to_owned()));
                }
                if !self.threads(caller, drive).await?.is_empty() {
                    mounts.push(folder("/threads/".to_owned()));
                }
                Ok(mounts)
            }
            DriveTarget::Threads => {
                let threads = self.threads(caller, drive).await?;
                let shown = threads.iter().filter_map(|it| it.path("/"));
                Ok(shown.map(folder).collect())
            }
        }
    }

    /// Areas of the threads that wrote something.
    async fn threads(&self, caller: &Caller, drive: &Drive) -> Result<Vec<Area>> {
        let labels = drive.threads().labels().to_vec();
        let query = ListNamespaces {
            conditions: vec![MatchCondition::new(MatchKind::Prefix, labels)?],
            max_depth: None,
            limit: THREADS_MAX,
            ..ListNamespaces::default()
        };
        let within = query.prefix().readable(caller);
        if within.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let found = self.storage.list_namespaces(caller, &within, &query, now).await?;
        let threads = found.iter().filter_map(|it| drive.thread_of(it));
        Ok(threads.map(|it| Area::Thread(it.to_owned())).collect())
    }

    /// Adds entries of one area. Answers where it goes on, if it does.
    async fn list_area(
        &self,
        caller: &Caller,
        view: &View<'_>,
        (from, wanted): (Option<Vec<u8>>, usize),
        entries: &mut Vec<Entry>,
    ) -> Result<Option<Vec<u8>>> {
        let View { namespace, spot, is_recursive, is_root } = view;
        let folder_key = if spot.key == "/" { "" } else { spot.key.as_str() };
        let mut range = KeyRange::below(folder_key.as_bytes());
        let depth = folder_key.len() + 1;
        if let Some(from) = from {
            range.from = range.from.max(from);
        }
        let mut added = 0;
        loop {
            let (files, next) = self.look(caller, namespace, range.clone(), LOOK_ROWS).await?;
            let mut behind = next;
            for row in &files {
                let key = row.key.as_bytes();
                if key < range.from.as_slice() {
                    continue;
                }
                if added == wanted {
                    return Ok(Some(key.to_vec()));
                }
                let name_end = key.iter().skip(depth).position(|it| *it == b'/');
                let inner = name_end.filter(|_| !*is_recursive).map(|it| depth + it);
                let shown = match inner {
                    None => Entry::of_file(&spot.area, namespace, row),
                    Some(end) => {
                        // Everything of this folder is passed over.
                        range.from = [&key[..end], b"0"].concat();
                        text(&key[..=end]).and_then(|it| spot.area.path(it)).map(folder)
                    }
                };
                // The root shows what it has under its own names, and the rest below /workspace.
                let is_elsewhere = |it: &Entry| *is_root && !is_recursive && !is_top(it);
                let here = shown.filter(|it| !is_elsewhere(it));
                if let Some(entry) = here {
                    entries.push(entry);
                    added += 1;
                }
            }
            match behind.take() {
                None => return Ok(None),
                Some(next) => range.from = range.from.max(next),
            }
            if range.from >= range.to {
                return Ok(None);
            }
        }
    }

    async fn look(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        range: KeyRange,
        limit: usize,
    ) -> Result<(Vec<FileRow>, Option<Vec<u8>>)> {
        if !caller.may_touch_namespace(namespace.labels(), Action::Read) {
            return Ok((Vec::new(), None));
        }
        let query = ListFiles { namespace: namespace.clone(), range, limit };
        let page = self.storage.list_files(caller, &query, self.clock.now()).await?;
        Ok((page.files, page.next))
    }
}

/// The subject whose drive a caller asks for.
///
/// # Errors
/// `NotGranted` for another subject than the caller's; 422 where a caller without one names none.
pub fn drive_of(caller: &Caller, named: Option<&str>, is_keyless: bool) -> Result<Drive> {
    crate::domain::caller::check_subject("subject", named)?;
    match (&caller.subject, named) {
        (Some(own), Some(named)) if own != named => {
            Err(Error::NotGranted("a drive is opened by its own subject"))
        }
        (Some(own), _) => Ok(Drive::of(own)),
        (None, Some(named)) => Ok(Drive::of(named)),
        (None, None) if is_keyless => Ok(Drive::of(KEYLESS_SUBJECT)),
        (None, None) => {
            Err(Error::invalid("subject", "a key without a subject names one: subject=…"))
        }
    }
}

/// Whose drive it is on a server without keys.
const KEYLESS_SUBJECT: &str = "default";

/// Where a file of the drive is.
///
/// # Errors
/// 422 over the limit of keys.
pub fn address(drive: &Drive, spot: &Spot) -> Result<Address> {
    Ok(Address { namespace: drive.namespace(&spot.area), key: Key::of_text(&spot.key)? })
}

fn exactly(key: &[u8]) -> KeyRange {
    KeyRange { from: key.to_vec(), to: [key, b"\0"].concat() }
}

impl Entry {
    /// None for a file that no path of the drive leads to.
    pub fn of_file(area: &Area, namespace: &Namespace, row: &FileRow) -> Option<Self> {
        let path = area.path(text(row.key.as_bytes())?)?;
        let address = Address { namespace: namespace.clone(), key: row.key.clone() };
        let modified_at = row.head.modified_at.as_ref().and_then(|it| it.text());
        Some(Self {
            path,
            is_dir: false,
            size_bytes: row.head.size,
            modified_at: modified_at.map(str::to_owned),
            media_type: Some(media_type_of(&address, &row.head)),
            tag: tag_of(row),
        })
    }
}

fn folder(path: String) -> Entry {
    Entry { path, is_dir: true, size_bytes: 0, modified_at: None, media_type: None, tag: None }
}

fn text(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()
}

fn is_top(entry: &Entry) -> bool {
    !entry.path.trim_matches('/').contains('/')
}

/// Limits of a listing.
///
/// # Errors
/// 422 naming the limit.
pub fn page_size(wanted: Option<u64>) -> Result<usize> {
    let max = LIMITS.drive_entries_max;
    let size = wanted.unwrap_or(max);
    let legal = usize::try_from(size).ok().filter(|_| (1..=max).contains(&size));
    legal.ok_or_else(|| {
        Error::out_of_range("limit", format!("limit must be a number from 1 to {max}"), max)
    })
}
