//! Searching the contents of files for a text. Contents are opened once and then remembered by their digests; which digests there are is
//! asked of the database in every search.

use std::sync::Arc;
use std::time::Duration;

use memchr::memmem::Finder;

use super::dialect::Dialect;
use super::glob::Glob;
use super::listing::Walk;
use super::storage::FileRow;
use super::value::FileValue;
use super::{Asking, Files, count, media};
use crate::domain::error::Result;
use crate::domain::exact_json;
use crate::domain::files::head::Form;
use crate::domain::item::Key;
use crate::domain::limits::LIMITS;
use crate::domain::wide_text::WideText;

/// Contents that are fetched at one time.
const FETCHED_FILES: usize = 1_000;
const FETCHED_BYTES: u64 = 4 << 20;

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
    /// `InvalidGlob`; a storage that cannot be read.
    pub async fn grep(&self, asking: Asking<'_>, query: &GrepFiles) -> Result<GrepMatches> {
        let glob = query.glob.as_deref().filter(|it| !it.is_empty());
        let glob = glob.map(|it| Glob::of_search(asking.dialect, it)).transpose()?;
        let mut grep = Grep::new(query, &self.budget);
        let mut walk = Walk::new(asking, query.path.as_ref(), &self.budget);
        'walk: while let Some(rows) = self.walk(asking, &mut walk).await? {
            let wanted: Vec<FileRow> = rows
                .into_iter()
                .filter(|row| is_searched(asking.dialect, row))
                .filter(|row| glob.as_ref().is_none_or(|it| it.matches(&walk.relative(&row.key))))
                .collect();
            let mut rest = wanted.as_slice();
            while !rest.is_empty() {
                // Contents may be slow to come where their listing was not.
                if walk.is_late() {
                    walk.is_truncated = true;
                    break 'walk;
                }
                let (part, further) = rest.split_at(portion(rest));
                for (row, content) in part.iter().zip(self.contents(asking, part).await?) {
                    if let Some(content) = content
                        && !grep.look(&row.key, &content)
                    {
                        break 'walk;
                    }
                }
                rest = further;
                // Other requests of this thread have their turn.
                tokio::task::yield_now().await;
            }
        }
        grep.found.is_over_budget |= walk.is_truncated;
        grep.found.is_truncated |= walk.is_truncated;
        Ok(grep.found)
    }

    /// Texts of some files, from the memory or from the database. None: it has gone, or is no text any more.
    async fn contents(
        &self,
        asking: Asking<'_>,
        rows: &[FileRow],
    ) -> Result<Vec<Option<Arc<[u8]>>>> {
        let scope = (asking.caller.tenant.clone(), asking.namespace.clone());
        let digests: Vec<&[u8]> = rows.iter().map(|it| it.digest.as_slice()).collect();
        let mut found = self.memory.find(&scope, &digests);
        let missing: Vec<usize> = (0..rows.len()).filter(|at| found[*at].is_none()).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        let addresses: Vec<_> = missing.iter().map(|at| asking.address(&rows[*at].key)).collect();
        let items = self.items.storage.get_items(asking.caller, &addresses, self.now()).await?;
        let mut learnt = Vec::with_capacity(missing.len());
        for (at, item) in missing.into_iter().zip(items) {
            let Some((version, text)) = item.and_then(|it| Some((it.version, it.value?))) else {
                continue;
            };
            let file = FileValue::read(exact_json::parse("value", &text)?);
            let content = file.as_ref().and_then(|it| it.content.text());
            let content: Option<Arc<[u8]>> = content.map(|it| it.as_bytes().into());
            if let Some(content) = content.as_ref().filter(|_| version == rows[at].version) {
                learnt.push((rows[at].digest.clone(), Arc::clone(content)));
            }
            found[at] = content;
        }
        self.memory.add(&scope, learnt);
        Ok(found)
    }
}

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

struct Grep<'a> {
    finder: Finder<'a>,
    count_max: usize,
    matches_max: usize,
    bytes_left: usize,
    found: GrepMatches,
}

impl<'a> Grep<'a> {
    fn new(query: &'a GrepFiles, budget: &SearchBudget) -> Self {
        Self {
            finder: Finder::new(query.pattern.as_bytes()),
            count_max: query.count_max.unwrap_or(usize::MAX),
            matches_max: budget.matches,
            bytes_left: budget.bytes,
            found: GrepMatches::default(),
        }
    }

    /// Adds the lines of a file that have the text. False: there is one too many.
    fn look(&mut self, path: &Key, content: &[u8]) -> bool {
        let (mut from, mut line, mut counted) = (0, 1, 0);
        while from <= content.len() {
            let Some(at) = self.finder.find(&content[from..]) else { return true };
            let at = from + at;
            let start = memchr::memrchr(b'\n', &content[..at]).map_or(0, |it| it + 1);
            let end = memchr::memchr(b'\n', &content[at..]).map_or(content.len(), |it| at + it);
            if at + self.finder.needle().len() > end {
                // It goes beyond the line: no line has it here.
                from = at + 1;
                continue;
            }
            line += memchr::memchr_iter(b'\n', &content[counted..start]).count() as u64;
            counted = start;
            if !self.take(path, line, &content[start..end]) {
                return false;
            }
            from = end + 1;
        }
        true
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pattern: &str, content: &str, count_max: Option<usize>) -> (Vec<(u64, String)>, bool) {
        let query = GrepFiles { pattern: pattern.into(), path: None, glob: None, count_max };
        let mut grep = Grep::new(&query, &SearchBudget::default());
        grep.look(&Key::of_text("/x").unwrap(), content.as_bytes());
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
    fn a_count_is_exact_before_it_cuts() {
        assert!(!lines("a", "a\na\na", Some(3)).1);
        let (found, is_cut) = lines("a", "a\na\na", Some(2));
        assert!(found.len() == 2 && is_cut);
        assert!(lines("a", "a", Some(0)).1);
    }
}
