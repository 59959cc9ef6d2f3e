//! Searches the contents of files for a text. Contents are opened once and then remembered by their digests. Every search asks the database
//! which digests there are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use memchr::memmem::Finder;

use super::dialect::Dialect;
use super::glob::Glob;
use super::listing::Walk;
use super::storage::FileRow;
use super::value::FileValue;
use super::{FileCall, Files, count, media};
use crate::domain::error::Result;
use crate::domain::json::exact_json;
use crate::domain::json::wide_text::WideText;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::long_work::Stop;
use crate::domain::store::file_head::Form;
use crate::domain::store::item::{Item, Key};
use crate::domain::tokens::grants::Action;

/// Contents that are fetched at one time.
const FETCHED_FILES: usize = 1_000;
const FETCHED_BYTES: u64 = 4 << 20;
/// What is looked through in less than a millisecond, and so without a thread of its own.
const BYTES_AT_ONCE: usize = 64 << 10;
/// Of a large file, between two looks at the time.
const LOOKED_BYTES: usize = 1 << 20;
/// How long contents that were fetched may wait to be opened.
const OPENING_MAX: Duration = Duration::from_secs(8);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepFiles {
    /// Taken literally.
    pub pattern: WideText,
    /// None: everything.
    pub path: Option<Key>,
    pub glob: Option<String>,
    pub count_max: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepMatch {
    pub path: Key,
    /// From 1.
    pub line: u64,
    pub text: WideText,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrepMatches {
    /// By path and line.
    pub matches: Vec<GrepMatch>,
    pub is_truncated: bool,
    /// The server's limits cut it, not the caller's.
    pub is_over_budget: bool,
}

/// What one search may cost. What was found until then is answered, and that it was cut.
#[derive(Debug, Clone, Copy)]
pub struct SearchBudget {
    pub time: Duration,
    /// Files that are looked at.
    pub files: usize,
    /// Lines that are answered, and their bytes with those of their paths.
    pub matches: usize,
    pub bytes: usize,
}

impl Default for SearchBudget {
    /// The time is what deepagents gives its tools.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(LIMITS.search_seconds_max),
            files: count(LIMITS.files_searched_max),
            matches: count(LIMITS.grep_matches_max),
            bytes: count(LIMITS.grep_bytes_max),
        }
    }
}

impl Files {
    /// The same with another budget for searches.
    #[must_use]
    pub fn with_search_budget(self, budget: SearchBudget) -> Self {
        Self { budget, ..self }
    }

    /// Statements: one for each 10,000 files; one, or three where contents lie in chunks, for each 1,000 files or 4 MiB that this
    /// server has not seen.
    ///
    /// # Errors
    /// `InvalidGlob`, `Glob`, for who may read here; a storage that cannot be read; `Unavailable` while other searches take all the time.
    pub async fn grep(&self, asking: FileCall<'_>, query: &GrepFiles) -> Result<GrepMatches> {
        if !asking.may(Action::Read) {
            return Ok(GrepMatches::default());
        }
        let mut walk = Walk::new(asking, query.path.as_ref(), &self.budget);
        let glob = match query.glob.clone().filter(|it| !it.is_empty()) {
            Some(pattern) => {
                let (dialect, owned) = (asking.dialect, pattern.clone());
                let read = move || Glob::of_search(dialect, &owned);
                Some(self.read_glob(asking, &walk, &pattern, read).await?)
            }
            None => None,
        };
        let mut grep = Grep::new(query, &self.budget);
        while let Some(mut rows) = self.walk(asking, &mut walk).await? {
            rows.retain(|row| is_searched(asking.dialect, row));
            if let Some(glob) = &glob {
                rows = self.matching(asking, glob, &mut walk, rows).await?;
            }
            let mut rest = rows.as_slice();
            while !rest.is_empty() && !grep.is_full {
                // Contents may be slow to come where their listing was not.
                if walk.is_late() {
                    walk.is_truncated = true;
                    break;
                }
                let (part, further) = rest.split_at(portion(rest));
                let contents = self.contents(asking, part, walk.ends).await?;
                let keys = part.iter().map(|it| it.key.clone());
                let looked_at = keys.zip(contents).filter_map(|(key, it)| Some((key, it?)));
                grep = self.look(asking, grep, looked_at.collect(), walk.ends).await?;
                walk.is_truncated |= grep.is_stopped;
                rest = further;
                // Other requests of this thread have their turn.
                tokio::task::yield_now().await;
            }
            if walk.is_truncated || grep.is_full {
                break;
            }
        }
        grep.found.is_over_budget |= walk.is_truncated;
        grep.found.is_truncated |= walk.is_truncated;
        Ok(grep.found)
    }

    async fn look(
        &self,
        asking: FileCall<'_>,
        mut grep: Grep,
        files: Vec<LookedAt>,
        ends: Instant,
    ) -> Result<Grep> {
        let bytes = files.iter().map(|it| it.1.len()).sum::<usize>();
        let work = move |stop: &Stop| {
            grep.look_into(&files, stop);
            grep
        };
        if bytes > BYTES_AT_ONCE {
            self.long.run(&asking.caller.tenant, ends, work).await
        } else {
            Ok(work(&Stop::at(ends)))
        }
    }

    /// Texts of some files, from the memory or from the database. None: it has gone, or is no text any more.
    async fn contents(
        &self,
        asking: FileCall<'_>,
        rows: &[FileRow],
        ends: Instant,
    ) -> Result<Vec<Option<Arc<[u8]>>>> {
        let scope = (asking.caller.tenant.clone(), asking.namespace.clone());
        let digests: Vec<&[u8]> = rows.iter().map(|it| it.digest.as_slice()).collect();
        let mut found = self.memory.find(&scope, &digests);
        let missing: Vec<usize> = (0..rows.len()).filter(|at| found[*at].is_none()).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        let mut rest = missing.as_slice();
        while !rest.is_empty() {
            let addresses = rest.iter().map(|at| asking.address(&rows[*at].key));
            let addresses: Vec<_> = addresses.take(FETCHED_FILES).collect();
            // A value has more than the content where somebody put more into it.
            let items = self.storage.get_first_items(asking.caller, &addresses, self.now()).await?;
            let (read, further) = rest.split_at(items.len());
            rest = further;
            let opened = self.open_contents(asking, items, ends).await?;
            let mut learnt = Vec::with_capacity(read.len());
            for (at, opened) in read.iter().zip(opened) {
                let Some((version, content)) = opened else { continue };
                if let Some(content) = content.as_ref().filter(|_| version == rows[*at].version) {
                    learnt.push((rows[*at].digest.clone(), Arc::clone(content)));
                }
                found[*at] = content;
            }
            self.memory.add(&scope, learnt);
        }
        Ok(found)
    }

    /// Versions and texts of some items. None: it has gone.
    async fn open_contents(
        &self,
        asking: FileCall<'_>,
        items: Vec<Option<Item>>,
        ends: Instant,
    ) -> Result<Vec<Option<OpenedText>>> {
        let read = items.into_iter().map(|it| it.and_then(|it| Some((it.version, it.value?))));
        let read: Vec<_> = read.collect();
        let bytes = read.iter().flatten().map(|(_, text)| text.len()).sum::<usize>();
        let open = move |_: &Stop| {
            let opened = |(version, text): (i64, Bytes)| {
                let file = FileValue::read(exact_json::parse("value", &text)?);
                let content = file.as_ref().and_then(|it| it.content.text());
                Ok((version, content.map(|it| Arc::<[u8]>::from(it.as_bytes()))))
            };
            read.into_iter().map(|it| it.map(opened).transpose()).collect::<Result<Vec<_>>>()
        };
        if bytes > BYTES_AT_ONCE {
            // A portion is small; it is opened whole, whenever its turn comes.
            self.long.run(&asking.caller.tenant, ends + OPENING_MAX, open).await?
        } else {
            open(&Stop::at(ends))
        }
    }
}

/// The version of a file and its text, if it has one.
type OpenedText = (i64, Option<Arc<[u8]>>);

/// A file and its text.
type LookedAt = (Key, Arc<[u8]>);

/// As many as are fetched together.
fn portion(rows: &[FileRow]) -> usize {
    let mut bytes = 0;
    let fits = |row: &&FileRow| {
        let is_first = bytes == 0;
        bytes += row.head.size;
        is_first || bytes <= FETCHED_BYTES
    };
    rows.iter().take(FETCHED_FILES).take_while(fits).count().max(1)
}

/// Bytes are passed over, and what JavaScript takes for bytes.
fn is_searched(dialect: Dialect, row: &FileRow) -> bool {
    let is_text = matches!(row.head.form, Form::Text | Form::Lines);
    is_text && (dialect == Dialect::Python || media::is_text(&row.media_type()))
}

struct Grep {
    finder: Finder<'static>,
    count_max: usize,
    matches_max: usize,
    bytes_left: usize,
    found: GrepMatches,
    /// There was one line too many.
    is_full: bool,
    /// The time was up.
    is_stopped: bool,
}

impl Grep {
    fn new(query: &GrepFiles, budget: &SearchBudget) -> Self {
        Self {
            finder: Finder::new(query.pattern.as_bytes()).into_owned(),
            count_max: query.count_max.unwrap_or(usize::MAX),
            matches_max: budget.matches,
            bytes_left: budget.bytes,
            found: GrepMatches::default(),
            is_full: false,
            is_stopped: false,
        }
    }

    fn look_into(&mut self, files: &[LookedAt], stop: &Stop) {
        for (path, content) in files {
            if self.is_stopped || self.is_full {
                break;
            }
            self.look(path, content, stop);
        }
    }

    /// Adds the lines of a file that have the text, piece by piece.
    fn look(&mut self, path: &Key, content: &[u8], stop: &Stop) {
        // No line has a line end.
        if self.finder.needle().contains(&b'\n') {
            return;
        }
        let (mut from, mut line, mut counted, mut looks_at) = (0, 1, 0, 0);
        while from <= content.len() {
            if from >= looks_at {
                if stop.is_due() {
                    self.is_stopped = true;
                    return;
                }
                looks_at = from + LOOKED_BYTES;
            }
            // To the end of a line, so that nothing lies across two pieces.
            let piece_end = line_end(content, from.saturating_add(LOOKED_BYTES).min(content.len()));
            let Some(at) = self.finder.find(&content[from..piece_end]) else {
                from = piece_end + 1;
                continue;
            };
            let at = from + at;
            let start = memchr::memrchr(b'\n', &content[..at]).map_or(0, |it| it + 1);
            let end = line_end(content, at);
            line += memchr::memchr_iter(b'\n', &content[counted..start]).count() as u64;
            counted = start;
            if !self.take(path, line, &content[start..end]) {
                self.is_full = true;
                return;
            }
            from = end + 1;
        }
    }

    fn take(&mut self, path: &Key, line: u64, text: &[u8]) -> bool {
        let length = text.len() + path.as_bytes().len();
        let is_much = self.found.matches.len() >= self.matches_max || length > self.bytes_left;
        if self.found.matches.len() >= self.count_max || is_much {
            self.found.is_truncated = true;
            self.found.is_over_budget = self.found.matches.len() < self.count_max;
            return false;
        }
        self.bytes_left -= length;
        let text = WideText::of_bytes(text.to_vec());
        self.found.matches.push(GrepMatch { path: path.clone(), line, text });
        true
    }
}

/// Of the line that a position is in.
fn line_end(content: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &content[at..]).map_or(content.len(), |it| at + it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pattern: &str, content: &str, count_max: Option<usize>) -> (Vec<(u64, String)>, bool) {
        let query = GrepFiles { pattern: pattern.into(), path: None, glob: None, count_max };
        let mut grep = Grep::new(&query, &SearchBudget::default());
        let stop = Stop::at(Instant::now() + Duration::from_hours(1));
        grep.look(&Key::of_text("/x").unwrap(), content.as_bytes(), &stop);
        let shown = |it: &GrepMatch| (it.line, it.text.text().unwrap().to_owned());
        (grep.found.matches.iter().map(shown).collect(), grep.found.is_truncated)
    }

    /// As Python has it: `content.split("\n")`, and `pattern in line`.
    fn plainly(pattern: &str, content: &str) -> Vec<(u64, String)> {
        let numbered = content.split('\n').zip(1..);
        let found = numbered.filter(|(line, _)| line.contains(pattern));
        found.map(|(line, at)| (at, line.to_owned())).collect()
    }

    #[test]
    fn lines_are_those_of_a_plain_loop() {
        let contents =
            ["", "a", "\n", "a\n", "aa\nba\n\nab", "\na\n\na", "x\r\na\r", "ab\nab\nb\na"];
        for content in contents {
            for pattern in ["", "a", "aa", "b", "\n", "a\nb", "a\r", "é"] {
                assert_eq!(
                    lines(pattern, content, None).0,
                    plainly(pattern, content),
                    "{pattern:?} {content:?}"
                );
            }
        }
    }

    #[test]
    fn lines_of_a_large_file_are_found_where_its_pieces_meet() {
        let line = "x".repeat(LOOKED_BYTES / 3) + "needle" + &"y".repeat(LOOKED_BYTES / 3) + "\n";
        let content = line.repeat(9) + "needle";
        let found = lines("needle", &content, None).0;
        assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn a_search_whose_time_is_up_stops_within_a_file() {
        let query = GrepFiles { pattern: "a".into(), path: None, glob: None, count_max: None };
        let mut grep = Grep::new(&query, &SearchBudget::default());
        let over = Stop::at(Instant::now().checked_sub(Duration::from_secs(1)).unwrap());
        grep.look(&Key::of_text("/x").unwrap(), b"a", &over);
        assert!(grep.is_stopped && grep.found.matches.is_empty());
    }

    #[test]
    fn a_count_is_exact_before_it_cuts() {
        assert!(!lines("a", "a\na\na", Some(3)).1);
        let (found, is_cut) = lines("a", "a\na\na", Some(2));
        assert!(found.len() == 2 && is_cut);
        assert!(lines("a", "a", Some(0)).1);
    }
}
