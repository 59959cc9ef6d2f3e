//! Checks that no pattern and path cause a panic or more steps than the pattern allows.
//!
//! Input: 1 byte dialect and place, then a pattern, a zero byte, a path.

use std::time::{Duration, Instant};

use threadkeep::domain::files::dialect::Dialect;
use threadkeep::domain::files::glob::Glob;
use threadkeep::domain::scheduling::long_work::Stop;

/// Characters of a path: longer ones take `!(…)` long.
const CHARACTERS_MAX: usize = 120;

/// Steps for each byte of a pattern, times the length of the path, squared.
const STEPS_PER_BYTE: u64 = 128;

pub fn check(data: &[u8]) {
    let Some((glob, pattern_bytes, path)) = read(data) else { return };
    let stop = Stop::at(Instant::now() + Duration::from_hours(1));
    let mut matcher = glob.matcher(&stop);
    let found = matcher.matches(&path);
    let steps = matcher.steps();
    let length = path.len() as u64 + 2;
    let linear = STEPS_PER_BYTE * pattern_bytes as u64 * length * length;
    let most = linear.min(4 * glob.steps_max(path.len()));
    assert!(steps <= most, "{steps} of {most}");
    assert_eq!(matcher.matches(&path), found, "the same again");
}

pub fn is_pattern(data: &[u8]) -> bool {
    read(data).is_some()
}

fn read(data: &[u8]) -> Option<(Glob, usize, String)> {
    let (mode, rest) = data.split_first()?;
    let mut parts = rest.splitn(2, |it| *it == 0);
    let pattern = String::from_utf8_lossy(parts.next()?);
    let path = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let dialect = if mode & 1 == 0 { Dialect::Python } else { Dialect::JavaScript };
    let of = if mode & 2 == 0 { Glob::of_listing } else { Glob::of_search };
    let path = path.chars().take(CHARACTERS_MAX).collect();
    Some((of(dialect, &pattern).ok()?, pattern.len().max(1), path))
}
