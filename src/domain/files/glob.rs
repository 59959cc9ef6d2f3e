//! Reads glob patterns as the matchers of both languages do: wcmatch with BRACE and GLOBSTAR for Python, micromatch with dotfiles for
//! JavaScript.

use super::dialect::Dialect;
use super::glob_braces;
use super::glob_matcher::Matcher;
use super::glob_program::Program;
use super::problem::{problem, python_repr};
use crate::domain::error::{Error, FileProblem, Result};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::long_work::Stop;

/// Instructions that a path meets at one character, for each byte of the pattern: one for each state of the text before it, and what Python's
/// brackets around braces are written out to.
pub const INSTRUCTIONS_PER_BYTE: u64 = 32;

#[derive(Debug, Clone)]
pub struct Glob {
    pub(super) program: Program,
    /// Held against the last part of a path only.
    pub(super) is_of_names: bool,
    pub(super) is_negated: bool,
    /// JavaScript takes a path that is the pattern for a match.
    pub(super) literal: Option<String>,
    pub(super) dialect: Dialect,
    pattern_bytes: usize,
}

/// What of a pattern can be too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GlobLimit {
    Bytes,
    Alternatives,
    Depth,
    NegationDepth,
    Negations,
    /// So many characters for this pattern.
    WrittenOut(u64),
}

impl GlobLimit {
    pub(super) fn bound(self) -> u64 {
        match self {
            Self::Bytes => LIMITS.glob_bytes_max,
            Self::Alternatives => LIMITS.glob_alternatives_max,
            Self::Depth => LIMITS.glob_depth_max,
            Self::NegationDepth => LIMITS.glob_negation_depth_max,
            Self::Negations => LIMITS.glob_negations_max,
            Self::WrittenOut(characters) => characters,
        }
    }

    fn refuse(self, field: &'static str) -> Error {
        let limit = self.bound();
        let detail = match self {
            Self::Bytes => format!("a glob pattern has at most {limit} bytes"),
            Self::Alternatives => {
                format!("the braces of a glob pattern make at most {limit} patterns")
            }
            Self::Depth => {
                format!("braces and groups of a glob pattern are nested at most {limit} deep")
            }
            Self::NegationDepth => {
                format!("groups !(…) of a glob pattern are nested at most {limit} deep")
            }
            Self::Negations => format!("a glob pattern has at most {limit} groups !(…)"),
            Self::WrittenOut(_) => {
                format!(
                    "the patterns that braces in brackets make of this one have at most {limit} characters"
                )
            }
        };
        Error::Glob { field, detail, limit }
    }
}

impl Glob {
    /// Of a listing: Python holds a pattern without slashes against names at any depth.
    ///
    /// # Errors
    /// `InvalidGlob`, in Python's words; `Glob`, which names `pattern` and the limit that it breaks.
    pub fn of_listing(dialect: Dialect, pattern: &str) -> Result<Self> {
        match dialect {
            Dialect::Python => Self::python("pattern", pattern),
            Dialect::JavaScript => Self::javascript("pattern", pattern, false),
        }
    }

    /// Of the files that a search looks into: JavaScript holds it against names only.
    ///
    /// # Errors
    /// As [`Self::of_listing`], of `glob`.
    pub fn of_search(dialect: Dialect, pattern: &str) -> Result<Self> {
        match dialect {
            Dialect::Python => Self::python("glob", pattern),
            Dialect::JavaScript => Self::javascript("glob", pattern, true),
        }
    }

    /// For one path after the other, until it is stopped.
    pub fn matcher<'a>(&'a self, stop: &'a Stop) -> Matcher<'a> {
        Matcher::new(self, stop)
    }

    /// Steps that a path takes at most, but for a factor of four: instructions, times characters, and these once more where `!(…)` begins
    /// at each of them.
    pub fn steps_max(&self, path_bytes: usize) -> u64 {
        let (size, length) = (self.program.size as u64, path_bytes as u64 + 2);
        let size = size.min(INSTRUCTIONS_PER_BYTE * self.pattern_bytes.max(1) as u64);
        let starts = if self.program.has_negations { length } else { 1 };
        size.saturating_mul(length).saturating_mul(starts)
    }

    fn program(dialect: Dialect, pattern: &str) -> Result<Program, GlobLimit> {
        Program::new(dialect, &glob_braces::read(dialect, pattern)?, pattern.len())
    }

    fn python(field: &'static str, pattern: &str) -> Result<Self> {
        check_bytes(field, pattern)?;
        let is_climbing = pattern.replace('\\', "/").split('/').any(|it| it == "..");
        let shown = || python_repr(&pattern.into());
        if is_climbing {
            let detail = format!("Path traversal not allowed in glob pattern {}", shown());
            return Err(problem(FileProblem::InvalidGlob, detail));
        }
        let program = Self::program(Dialect::Python, pattern.trim_start_matches('/'));
        let program = program.map_err(|limit| match limit {
            GlobLimit::Alternatives => {
                let why = format!("Pattern limit exceeded the limit of {}", limit.bound());
                Error::Glob {
                    field,
                    detail: format!("Invalid glob pattern {}: {why}", shown()),
                    limit: limit.bound(),
                }
            }
            other => other.refuse(field),
        })?;
        Ok(Self {
            program,
            is_of_names: !pattern.contains('/'),
            is_negated: false,
            literal: None,
            dialect: Dialect::Python,
            pattern_bytes: pattern.len(),
        })
    }

    fn javascript(field: &'static str, pattern: &str, is_of_names: bool) -> Result<Self> {
        check_bytes(field, pattern)?;
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
        let program = Self::program(Dialect::JavaScript, rest);
        Ok(Self {
            program: program.map_err(|it| it.refuse(field))?,
            is_of_names,
            is_negated,
            literal: (!is_negated).then(|| pattern.to_owned()),
            dialect: Dialect::JavaScript,
            pattern_bytes: pattern.len(),
        })
    }
}

fn check_bytes(field: &'static str, pattern: &str) -> Result<()> {
    if pattern.len() as u64 > LIMITS.glob_bytes_max {
        return Err(GlobLimit::Bytes.refuse(field));
    }
    Ok(())
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "glob_bounds.rs"]
mod bounds;
