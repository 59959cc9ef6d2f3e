//! Lists files: a directory, everything below one, or the files that match a pattern. No value is opened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::dialect::Dialect;
use super::glob::Glob;
use super::searching::SearchBudget;
use super::storage::{FilePage, FileRow, KeyRange, ListFiles};
use super::{FileCall, Files, media, path};
use crate::domain::error::Result;
use crate::domain::scheduling::long_work::Stop;
use crate::domain::store::file_head::Form;
use crate::domain::store::item::Key;
use crate::domain::tokens::grants::Action;

/// Rows of the first statement of a listing, and of each further one.
const ROWS_FIRST: usize = 2_000;
const ROWS: usize = 10_000;
/// What is done in less than a millisecond, and so without a thread of its own: steps of matching, files that are sorted.
const STEPS_AT_ONCE: u64 = 50_000;
const SORTED_AT_ONCE: usize = 1_000;
/// How long a sort of the files that were found may wait.
const SORTING_MAX: Duration = Duration::from_secs(8);

/// A file or a directory in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: Key,
    /// None: a directory.
    pub file: Option<FileRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListDirectory {
    pub path: Key,
    /// All files below it, and no directories.
    pub is_recursive: bool,
    pub limit: usize,
    /// The last path that was seen.
    pub after: Option<Key>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectoryPage {
    /// By path.
    pub entries: Vec<Entry>,
    /// There may be more behind the last one.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobFiles {
    pub pattern: String,
    /// None: everything.
    pub path: Option<Key>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GlobMatches {
    /// Last changed first.
    pub files: Vec<FileRow>,
    pub is_truncated: bool,
}

impl Files {
    /// Statements: one for each 10,000 files, or for each subdirectory that has more than 2,000.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn list(&self, asking: FileCall<'_>, query: &ListDirectory) -> Result<DirectoryPage> {
        let mut found = DirectoryPage::default();
        if !asking.may(Action::Read) || query.limit == 0 {
            return Ok(found);
        }
        let directory = path::directory(&query.path);
        let mut range = KeyRange::below(&directory[..directory.len() - 1]);
        if let Some(after) = &query.after {
            range = range.after(after.as_bytes());
            if after.as_bytes().ends_with(b"/") && !query.is_recursive {
                range = range.after(&behind_directory(after.as_bytes()));
            }
        }
        let mut rows = ROWS_FIRST;
        loop {
            let page = self.page(asking, &range, rows.min(query.limit + 1)).await?;
            for row in page.files {
                // Of a directory the first file is enough.
                let seen = found.entries.last().filter(|it| it.file.is_none());
                if seen.is_some_and(|it| row.key.as_bytes().starts_with(it.path.as_bytes())) {
                    continue;
                }
                let rest = &row.key.as_bytes()[directory.len()..];
                let entry = match rest.iter().position(|it| *it == b'/') {
                    Some(at) if !query.is_recursive => {
                        Entry::directory(row.key.as_bytes()[..=directory.len() + at].to_vec())
                    }
                    _ if row.head.is_file_in(asking.dialect) => Entry::file(row),
                    _ => continue,
                };
                if found.entries.len() == query.limit {
                    found.is_cut = true;
                    return Ok(found);
                }
                found.entries.push(entry);
            }
            let Some(next) = page.next else { return Ok(found) };
            range.from = next;
            if let Some(last) = found.entries.last().filter(|it| it.file.is_none()) {
                range = range.after(&behind_directory(last.path.as_bytes()));
            }
            rows = ROWS;
        }
    }

    /// Statements: one for each 10,000 files below the path.
    ///
    /// # Errors
    /// `InvalidGlob`, `Glob`, for who may read here; `Unavailable` while other searches take all the time.
    pub async fn glob(&self, asking: FileCall<'_>, query: &GlobFiles) -> Result<GlobMatches> {
        let mut found = GlobMatches::default();
        if !asking.may(Action::Read) {
            return Ok(found);
        }
        let mut walk = Walk::new(asking, query.path.as_ref(), &self.budget);
        let (dialect, pattern) = (asking.dialect, query.pattern.clone());
        let read = move || Glob::of_listing(dialect, &pattern);
        let glob = self.read_glob(asking, &walk, &query.pattern, read).await?;
        while let Some(rows) = self.walk(asking, &mut walk).await? {
            found.files.extend(self.matching(asking, &glob, &mut walk, rows).await?);
            if walk.is_truncated {
                break;
            }
        }
        found.is_truncated = walk.is_truncated || found.files.len() > query.limit;
        // Those that have no time come last; of equal ones the order of paths.
        let by_time = |files: &mut Vec<FileRow>| files.sort_by(|a, b| modified(b).cmp(modified(a)));
        let mut files = std::mem::take(&mut found.files);
        found.files = if files.len() > SORTED_AT_ONCE {
            let sort = move |_: &Stop| {
                by_time(&mut files);
                files
            };
            self.long.run(&asking.caller.tenant, walk.ends + SORTING_MAX, sort).await?
        } else {
            by_time(&mut files);
            files
        };
        found.files.truncate(query.limit);
        Ok(found)
    }

    /// The glob that `read` makes of a pattern: braces may stand for much.
    pub(super) async fn read_glob(
        &self,
        asking: FileCall<'_>,
        walk: &Walk,
        pattern: &str,
        read: impl FnOnce() -> Result<Glob> + Send + 'static,
    ) -> Result<Arc<Glob>> {
        let glob = if pattern.contains('{') {
            self.long.run(&asking.caller.tenant, walk.ends, |_| read()).await??
        } else {
            read()?
        };
        Ok(Arc::new(glob))
    }

    /// Those that match. If the time was up before all were looked at, the walk is truncated.
    pub(super) async fn matching(
        &self,
        asking: FileCall<'_>,
        glob: &Arc<Glob>,
        walk: &mut Walk,
        rows: Vec<FileRow>,
    ) -> Result<Vec<FileRow>> {
        let steps = |row: &FileRow| glob.steps_max(row.key.as_bytes().len());
        let steps = rows.iter().map(steps).fold(0, u64::saturating_add);
        let (glob, base) = (Arc::clone(glob), walk.base.clone());
        let work = move |stop: &Stop| {
            let (mut matcher, mut found) = (glob.matcher(stop), Vec::new());
            for row in rows {
                let is_match = matcher.matches(&base.relative(&row.key));
                if matcher.is_stopped() {
                    return (found, true);
                }
                found.extend(is_match.then_some(row));
            }
            (found, false)
        };
        let (found, is_stopped) = if steps > STEPS_AT_ONCE {
            self.long.run(&asking.caller.tenant, walk.ends, work).await?
        } else {
            work(&Stop::at(walk.ends))
        };
        walk.is_truncated |= is_stopped;
        Ok(found)
    }

    /// The next files of a walk, in the order of their paths; None: that was all, or as much as one call may look at.
    pub(super) async fn walk(
        &self,
        asking: FileCall<'_>,
        walk: &mut Walk,
    ) -> Result<Option<Vec<FileRow>>> {
        if !asking.may(Action::Read) {
            return Ok(None);
        }
        while let Some(range) = walk.next.take() {
            if walk.rows_left == 0 || walk.has_found && walk.is_late() {
                walk.is_truncated = true;
                return Ok(None);
            }
            let page = self.page(asking, &range, ROWS.min(walk.rows_left)).await?;
            walk.rows_left = walk.rows_left.saturating_sub(page.files.len());
            walk.next = page.next.map(|from| KeyRange { from, ..range });
            let mut rows = page.files;
            rows.retain(|it| it.head.is_file_in(asking.dialect));
            // A path that names a file means this file.
            if let Some(exact) = walk.exact.take() {
                match rows.iter().position(|it| it.key.as_bytes() == exact) {
                    Some(at) => {
                        walk.next = None;
                        return Ok(Some(vec![rows.swap_remove(at)]));
                    }
                    None if !walk.is_root => {
                        walk.next = Some(walk.below.clone());
                        continue;
                    }
                    None => {}
                }
            }
            walk.has_found = true;
            return Ok(Some(rows));
        }
        Ok(None)
    }

    async fn page(&self, asking: FileCall<'_>, range: &KeyRange, limit: usize) -> Result<FilePage> {
        let (namespace, range) = (asking.namespace.clone(), range.clone());
        let query = ListFiles { namespace, range, limit };
        self.storage.list_files(asking.caller, &query, self.now()).await
    }
}

/// A walk through all files that a search looks at.
pub(super) struct Walk {
    next: Option<KeyRange>,
    below: KeyRange,
    /// The path itself, as long as it was not looked for.
    exact: Option<Vec<u8>>,
    is_root: bool,
    base: Base,
    rows_left: usize,
    pub(super) ends: Instant,
    /// A page was answered: one always is.
    has_found: bool,
    pub(super) is_truncated: bool,
}

impl Walk {
    pub(super) fn new(asking: FileCall<'_>, at: Option<&Key>, budget: &SearchBudget) -> Self {
        let given = at.map_or(&b""[..], Key::as_bytes);
        let is_nothing = !given.is_empty() && given.trim_ascii().is_empty();
        let absolute = match given.first() {
            Some(b'/') => given.to_vec(),
            _ => [b"/", given].concat(),
        };
        let base = match asking.dialect {
            Dialect::Python => path::trimmed(&absolute),
            Dialect::JavaScript => absolute.strip_suffix(b"/").unwrap_or(&absolute),
        };
        let (base, below) = (base.to_vec(), KeyRange::below(base));
        let exact = match asking.dialect {
            Dialect::Python if base.is_empty() && absolute == b"/" => absolute,
            Dialect::Python => base.clone(),
            Dialect::JavaScript => absolute,
        };
        let is_root = exact == b"/";
        let first = if is_root { below.clone() } else { KeyRange::only(&exact) };
        Self {
            next: (!is_nothing).then_some(first),
            below,
            exact: Some(exact),
            is_root,
            base: Base { path: base, dialect: asking.dialect },
            rows_left: budget.files,
            ends: Instant::now() + budget.time,
            has_found: false,
            is_truncated: false,
        }
    }

    pub(super) fn is_late(&self) -> bool {
        Instant::now() > self.ends
    }
}

/// Where a walk begins.
#[derive(Clone)]
struct Base {
    /// Without a slash at the end.
    path: Vec<u8>,
    dialect: Dialect,
}

impl Base {
    /// What patterns are held against.
    fn relative(&self, key: &Key) -> String {
        let below = key.as_bytes().strip_prefix(self.path.as_slice());
        let relative = below.and_then(|it| it.strip_prefix(b"/")).unwrap_or_default();
        let relative = match self.dialect {
            Dialect::JavaScript => relative.strip_prefix(b"/").unwrap_or(relative),
            Dialect::Python => relative,
        };
        if relative.is_empty() {
            return base_name_of(&key.wide().shown()).to_owned();
        }
        String::from_utf8_lossy(relative).into_owned()
    }
}

pub(super) fn base_name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

impl Entry {
    pub fn file(row: FileRow) -> Self {
        Self { path: row.key.clone(), file: Some(row) }
    }

    pub fn directory(path: Vec<u8>) -> Self {
        Self { path: Key::stored(path), file: None }
    }
}

impl FileRow {
    pub fn media_type(&self) -> String {
        let declared = self.head.media_type.as_ref().and_then(|it| it.text());
        let is_bytes = !matches!(self.head.form, Form::Text | Form::Lines);
        media::shown(declared, is_bytes, &self.key.wide().shown())
    }
}

fn modified(row: &FileRow) -> &[u8] {
    row.head.modified_at.as_ref().map_or(b"", |it| it.as_bytes())
}

/// The last key that a directory can have, so that what is after it is behind the directory.
fn behind_directory(directory: &[u8]) -> Vec<u8> {
    [directory, b"\xff"].concat()
}
