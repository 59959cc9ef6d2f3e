//! Glob patterns, as the matchers of both languages read them: wcmatch with BRACE and GLOBSTAR for Python, micromatch with dotfiles for
//! JavaScript.

use super::dialect::Dialect;
use super::glob_braces::expand;
use super::glob_name::{Name, class_at, parse};
use super::listing::base_name_of;
use super::problem::{FileProblem, problem, python_repr};
use crate::domain::error::{Error, Result};

/// Expansions of braces that one pattern may have; wcmatch's limit.
const EXPANSIONS_MAX: usize = 1_000;

#[derive(Debug, Clone)]
pub struct Glob {
    alternatives: Vec<Vec<Segment>>,
    /// Held against the last part of a path only.
    is_of_names: bool,
    is_negated: bool,
    /// JavaScript takes a path that is the pattern for a match.
    literal: Option<String>,
    dialect: Dialect,
}

/// What stands between slashes.
#[derive(Debug, Clone)]
enum Segment {
    /// `**`: any number of directories.
    Directories,
    Name(Name),
}

impl Glob {
    /// Of a listing: Python holds a pattern without slashes against names at any depth.
    ///
    /// # Errors
    /// `InvalidGlob`, in Python's words.
    pub fn of_listing(dialect: Dialect, pattern: &str) -> Result<Self> {
        match dialect {
            Dialect::Python => Self::python(pattern),
            Dialect::JavaScript => Self::javascript(pattern, false),
        }
    }

    /// Of the files that a search looks into: JavaScript holds it against names only.
    ///
    /// # Errors
    /// `InvalidGlob`, in Python's words.
    pub fn of_search(dialect: Dialect, pattern: &str) -> Result<Self> {
        match dialect {
            Dialect::Python => Self::python(pattern),
            Dialect::JavaScript => Self::javascript(pattern, true),
        }
    }

    /// `relative` to where the search begins.
    pub fn matches(&self, relative: &str) -> bool {
        let text = if self.is_of_names { base_name_of(relative) } else { relative };
        let parts: Vec<Vec<char>> = text.split('/').map(|it| it.chars().collect()).collect();
        let is_dotted = |it: &[char]| it.first() == Some(&'.');
        let may_enter = |it: &[char]| match self.dialect {
            Dialect::Python => !is_dotted(it),
            Dialect::JavaScript => !matches!(it, ['.'] | ['.', '.']),
        };
        let found = self.literal.as_deref() == Some(text)
            || self.alternatives.iter().any(|it| holds(it, &parts, &may_enter, self.dialect));
        found != self.is_negated
    }

    fn python(pattern: &str) -> Result<Self> {
        let is_climbing = pattern.replace('\\', "/").split('/').any(|it| it == "..");
        let shown = || python_repr(&pattern.into());
        if is_climbing {
            let detail = format!("Path traversal not allowed in glob pattern {}", shown());
            return Err(problem(FileProblem::InvalidGlob, detail));
        }
        let expanded = expand(Dialect::Python, pattern.trim_start_matches('/'), EXPANSIONS_MAX);
        let expanded = expanded.ok_or_else(|| {
            let why = format!("Pattern limit exceeded the limit of {EXPANSIONS_MAX}");
            problem(FileProblem::InvalidGlob, format!("Invalid glob pattern {}: {why}", shown()))
        })?;
        Ok(Self {
            alternatives: expanded.iter().map(|it| segments(Dialect::Python, it)).collect(),
            is_of_names: !pattern.contains('/'),
            is_negated: false,
            literal: None,
            dialect: Dialect::Python,
        })
    }

    fn javascript(pattern: &str, is_of_names: bool) -> Result<Self> {
        let mut rest = pattern;
        let mut is_negated = false;
        while let Some(inner) = rest.strip_prefix('!').filter(|it| !it.starts_with('(')) {
            (rest, is_negated) = (inner, !is_negated);
        }
        if rest.is_empty() {
            let detail = "Expected pattern to be a non-empty string";
            return Err(problem(FileProblem::InvalidGlob, detail));
        }
        let rest = rest.strip_prefix("./").unwrap_or(rest);
        // A short way of micromatch.
        let is_word = |it: &str| it.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
        let extension = rest.strip_prefix("**.").filter(|it| !it.is_empty() && is_word(it));
        let deep = extension.map(|it| format!("**/*.{it}"));
        let rest = deep.as_deref().unwrap_or(rest);
        let expanded = expand(Dialect::JavaScript, rest, EXPANSIONS_MAX).ok_or_else(|| {
            let detail = format!("pattern expands to more than {EXPANSIONS_MAX} patterns");
            Error::invalid("pattern", detail)
        })?;
        Ok(Self {
            alternatives: expanded.iter().map(|it| segments(Dialect::JavaScript, it)).collect(),
            is_of_names,
            is_negated,
            literal: (!is_negated).then(|| pattern.to_owned()),
            dialect: Dialect::JavaScript,
        })
    }
}

fn segments(dialect: Dialect, pattern: &str) -> Vec<Segment> {
    let mut found: Vec<Segment> = Vec::new();
    let parts: Vec<Vec<char>> = split(dialect, pattern);
    let count = parts.len();
    for (at, part) in parts.into_iter().enumerate() {
        let is_last = at + 1 == count;
        if part.is_empty() && !is_last && at > 0 && dialect == Dialect::Python {
            // Several slashes are one.
            continue;
        }
        if part == ['*', '*'] {
            if !matches!(found.last(), Some(Segment::Directories)) {
                found.push(Segment::Directories);
            }
        } else {
            found.push(Segment::Name(parse(dialect, &part)));
        }
    }
    found
}

/// At slashes that stand, in JavaScript, neither in brackets nor in parentheses.
fn split(dialect: Dialect, pattern: &str) -> Vec<Vec<char>> {
    let characters: Vec<char> = pattern.chars().collect();
    let (mut parts, mut depth, mut at) = (vec![Vec::new()], 0_usize, 0);
    while at < characters.len() {
        let part = parts.last_mut().expect("there is one from the beginning");
        let next = characters.get(at + 1);
        let end = match characters[at] {
            '/' if depth == 0 => {
                parts.push(Vec::new());
                at += 1;
                continue;
            }
            // The slash counts, and the backslash does not.
            '\\' if next == Some(&'/') => {
                at += 1;
                continue;
            }
            '\\' => (at + 2).min(characters.len()),
            '[' if dialect == Dialect::JavaScript => {
                class_at(dialect, &characters, at).map_or(at + 1, |it| it.1)
            }
            '(' if dialect == Dialect::JavaScript => {
                depth += 1;
                at + 1
            }
            ')' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ => at + 1,
        };
        part.extend_from_slice(&characters[at..end]);
        at = end;
    }
    parts
}

/// Whether the segments fit the parts of a path, each to each; `**` to any number of parts that may be entered.
fn holds(
    segments: &[Segment],
    parts: &[Vec<char>],
    may_enter: &dyn Fn(&[char]) -> bool,
    dialect: Dialect,
) -> bool {
    // Which numbers of parts the segments so far can have taken.
    let mut reached = vec![false; parts.len() + 1];
    reached[0] = true;
    for (at, segment) in segments.iter().enumerate() {
        let mut next = vec![false; parts.len() + 1];
        match segment {
            Segment::Directories => {
                let is_last = at + 1 == segments.len();
                for (from, _) in reached.iter().enumerate().filter(|it| *it.1) {
                    for (to, reach) in next.iter_mut().enumerate().skip(from) {
                        if to > from && !may_enter(&parts[to - 1]) {
                            break;
                        }
                        // Something has to follow, or to be there.
                        *reach |= if is_last { to > from } else { to < parts.len() };
                    }
                }
                let before = at.checked_sub(1).map(|it| &segments[it]);
                let is_directory =
                    matches!(before, Some(Segment::Name(name)) if !name.ends_with_star());
                if is_last && dialect == Dialect::JavaScript && is_directory {
                    // A directory alone is matched by what is below it.
                    next[parts.len()] |= reached[parts.len()];
                }
            }
            Segment::Name(name) => {
                for from in 0..parts.len() {
                    next[from + 1] |= reached[from] && name.matches(&parts[from]);
                }
            }
        }
        reached = next;
    }
    reached[parts.len()]
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
