//! Tests globs against the results of wcmatch and micromatch.

use serde_json::Value;

use std::time::{Duration, Instant};

use super::*;

impl Glob {
    pub(super) fn matches(&self, path: &str) -> bool {
        self.matches_in(path).0
    }

    /// And in how many steps.
    pub(super) fn matches_in(&self, path: &str) -> (bool, u64) {
        let stop = Stop::at(Instant::now() + Duration::from_hours(1));
        let mut matcher = self.matcher(&stop);
        (matcher.matches(path), matcher.steps())
    }
}

/// What wcmatch and micromatch find, by the numbers of the paths.
const VECTORS: &str = include_str!("../../../tests/vectors/globs.json");

fn check(dialect: Dialect, name: &str) {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let paths: Vec<&str> =
        vectors["paths"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    for (pattern, expected) in vectors[name].as_object().unwrap() {
        let glob = Glob::of_listing(dialect, pattern).unwrap();
        let found: Vec<usize> = (0..paths.len()).filter(|at| glob.matches(paths[*at])).collect();
        let wanted: Vec<usize> = serde_json::from_value(expected.clone()).unwrap();
        let names = |all: &[usize]| all.iter().map(|at| paths[*at].to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&wanted), "{pattern:?}");
    }
}

#[test]
fn python_finds_what_wcmatch_finds() {
    check(Dialect::Python, "python");
}

#[test]
fn javascript_finds_what_micromatch_finds() {
    check(Dialect::JavaScript, "javascript");
}

#[test]
fn what_ends_with_a_star_is_not_what_is_below_it() {
    let script = |pattern: &str, path: &str| {
        Glob::of_listing(Dialect::JavaScript, pattern).unwrap().matches(path)
    };
    assert!(!script("*/**", "a") && script("*/**", "a/b") && script("a/**", "a"));
    assert!(!script("*/*/**", "a/b") && script("a/?/**", "a/b") && !script("a*/**", "ab"));
}

#[test]
fn refused_patterns_are_refused_in_pythons_words() {
    let says = |pattern: &str| Glob::of_listing(Dialect::Python, pattern).unwrap_err().to_string();
    assert_eq!(says("a/../*.py"), "Path traversal not allowed in glob pattern 'a/../*.py'");
    assert_eq!(
        says("{1..2000}"),
        "Invalid glob pattern '{1..2000}': Pattern limit exceeded the limit of 1000"
    );
    let many = "{a,b}".repeat(11);
    assert!(says(&many).ends_with("Pattern limit exceeded the limit of 1000"));
    let script = |pattern: &str| Glob::of_listing(Dialect::JavaScript, pattern);
    assert!(script(&many).is_err() && script("").is_err());
    assert!(!script("../*").unwrap().matches("x"), "no error, and nothing found");
}

#[test]
fn a_search_of_javascript_looks_at_names() {
    let glob = Glob::of_search(Dialect::JavaScript, "*.md").unwrap();
    assert!(glob.matches("x/y/a.md") && glob.matches(".md") && !glob.matches("a.txt"));
    assert!(!Glob::of_search(Dialect::JavaScript, "x/*.md").unwrap().matches("x/a.md"));
    assert!(Glob::of_search(Dialect::Python, "x/*.md").unwrap().matches("x/a.md"));
}
