//! Parses the braces of glob patterns, `{a,b}` and `{1..3}`, into a tree. A pattern stands for as many texts as its choices make together.
//! These are written out only where a choice cannot be read alone.

use super::dialect::Dialect;
use super::glob::GlobLimit;
use crate::domain::limits::LIMITS;

/// A pattern is a row of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<char>),
    /// One of several rows.
    Choice(Vec<Vec<Piece>>),
}

/// The pieces of a pattern that stands for no more texts than are allowed.
pub(super) fn read(dialect: Dialect, pattern: &str) -> Result<Vec<Piece>, GlobLimit> {
    let characters: Vec<char> = pattern.chars().collect();
    let pieces = pieces(dialect, &characters, 0)?;
    if count(&pieces) > LIMITS.glob_alternatives_max {
        return Err(GlobLimit::Alternatives);
    }
    Ok(pieces)
}

fn pieces(dialect: Dialect, pattern: &[char], depth: u64) -> Result<Vec<Piece>, GlobLimit> {
    if depth > LIMITS.glob_depth_max {
        return Err(GlobLimit::Depth);
    }
    let (mut found, mut text, mut at) = (Vec::new(), Vec::new(), 0);
    while at < pattern.len() {
        let is_variable = at > 0 && pattern[at - 1] == '$' && dialect == Dialect::Python;
        let group = if pattern[at] == '{' && !is_variable { closing(pattern, at) } else { None };
        let choices = match group {
            Some(end) => choices(dialect, &pattern[at + 1..end], depth)?,
            None => None,
        };
        if let (Some(end), Some(choices)) = (group, choices) {
            if let [only] = choices.as_slice()
                && let [Piece::Text(more)] = only.as_slice()
            {
                text.extend_from_slice(more);
            } else {
                found.push(Piece::Text(std::mem::take(&mut text)));
                found.push(Piece::Choice(choices));
            }
            at = end + 1;
        } else {
            let length = if pattern[at] == '\\' { 2 } else { 1 };
            let end = (at + length).min(pattern.len());
            text.extend_from_slice(&pattern[at..end]);
            at = end;
        }
    }
    found.push(Piece::Text(text));
    found.retain(|it| !matches!(it, Piece::Text(text) if text.is_empty()));
    Ok(found)
}

/// How many texts the pieces stand for.
fn count(pieces: &[Piece]) -> u64 {
    let of = |piece: &Piece| match piece {
        Piece::Text(_) => 1,
        Piece::Choice(rows) => rows.iter().map(|it| count(it)).fold(0, u64::saturating_add),
    };
    pieces.iter().map(of).fold(1, u64::saturating_mul)
}

/// The texts that the pieces stand for, if they have so many characters together at most.
pub(super) fn written_out(
    pieces: &[Piece],
    characters_max: usize,
) -> Result<Vec<Vec<char>>, GlobLimit> {
    let mut made: Vec<Vec<char>> = vec![Vec::new()];
    for piece in pieces {
        match piece {
            Piece::Text(text) => made.iter_mut().for_each(|it| it.extend_from_slice(text)),
            Piece::Choice(rows) => {
                let mut choices = Vec::new();
                for row in rows {
                    choices.extend(written_out(row, characters_max)?);
                }
                let length = |all: &[Vec<char>]| all.iter().map(Vec::len).sum::<usize>();
                let together = length(&made) * choices.len() + length(&choices) * made.len();
                if together > characters_max {
                    return Err(GlobLimit::Program);
                }
                let with = |begin: &Vec<char>| {
                    choices.iter().map(|it| [&begin[..], &it[..]].concat()).collect::<Vec<_>>()
                };
                made = made.iter().flat_map(with).collect();
            }
        }
        if made.iter().map(Vec::len).sum::<usize>() > characters_max {
            return Err(GlobLimit::Program);
        }
    }
    Ok(made)
}

/// Where the brace that opens at `open` closes.
fn closing(pattern: &[char], open: usize) -> Option<usize> {
    let (mut depth, mut at) = (0, open);
    while at < pattern.len() {
        match pattern[at] {
            '\\' => at += 1,
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// What stands between two braces; None: it is no choice, and the braces mean themselves.
fn choices(
    dialect: Dialect,
    inner: &[char],
    depth: u64,
) -> Result<Option<Vec<Vec<Piece>>>, GlobLimit> {
    let parts = split_at_commas(inner);
    if parts.len() > 1 {
        let rows = parts.into_iter().map(|it| pieces(dialect, it, depth + 1));
        return rows.collect::<Result<_, _>>().map(Some);
    }
    let text: String = inner.iter().collect();
    let texts = match dialect {
        Dialect::Python => sequence(&text)?,
        Dialect::JavaScript => class(&text),
    };
    Ok(texts.map(|all| all.into_iter().map(|it| vec![Piece::Text(it)]).collect()))
}

fn split_at_commas(inner: &[char]) -> Vec<&[char]> {
    let (mut parts, mut depth, mut from, mut at) = (Vec::new(), 0_usize, 0, 0);
    while at < inner.len() {
        match inner[at] {
            '\\' => at += 1,
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&inner[from.min(inner.len())..]);
    parts
}

/// `1..3`, `01..10..2`, `a..c`, as shells have it.
fn sequence(text: &str) -> Result<Option<Vec<Vec<char>>>, GlobLimit> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => match step.parse::<i64>() {
            Ok(step) => (*first, *last, step.unsigned_abs().max(1)),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    let numbers = (number(first), number(last));
    let letters = (letter(first), letter(last));
    let (from, to) = match (numbers, letters) {
        ((Some(from), Some(to)), _) => (from, to),
        (_, (Some(from), Some(to))) => (i64::from(u32::from(from)), i64::from(u32::from(to))),
        _ => return Ok(None),
    };
    let count = from.abs_diff(to) / step + 1;
    if count > LIMITS.glob_alternatives_max {
        return Err(GlobLimit::Alternatives);
    }
    let is_padded = |it: &str| {
        it.trim_start_matches(['-', '+']).len() > 1
            && it.trim_start_matches(['-', '+']).starts_with('0')
    };
    let is_number = numbers.0.is_some() && numbers.1.is_some();
    let width = if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
    let value = |at: u64| {
        let distance = i64::try_from(at * step).unwrap_or(i64::MAX);
        if to >= from { from + distance } else { from - distance }
    };
    let written = |it: i64| {
        if is_number {
            return format!("{it:0width$}").chars().collect();
        }
        u32::try_from(it).ok().and_then(char::from_u32).into_iter().collect()
    };
    Ok(Some((0..count).map(|at| written(value(at))).collect()))
}

fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_one =
        !digits.is_empty() && digits.len() < 18 && digits.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

fn letter(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|it| it.is_ascii_alphabetic() && characters.next().is_none())
}

/// micromatch makes a class of the two ends.
fn class(text: &str) -> Option<Vec<Vec<char>>> {
    let (first, last) = text.split_once("..").filter(|it| !it.1.contains(".."))?;
    let mut ends = [first, last];
    ends.sort_unstable();
    Some(vec![format!("[{}-{}]", ends[0], ends[1]).chars().collect()])
}
