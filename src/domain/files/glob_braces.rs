//! Parses the braces of glob patterns, `{a,b}` and `{1..3}`, and the groups of JavaScript, `@(a|b)`, into a tree. Choices stand in it where
//! they stand in the pattern, and are not multiplied. Only a bracket of Python around braces needs each text of the pattern.

use std::collections::BTreeMap;
use std::ops::Range;

use super::dialect::Dialect;
use super::glob::GlobLimit;
use super::glob_name::class_at;
use crate::domain::limits::LIMITS;

/// A pattern is a row of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<char>),
    /// One of several rows.
    Choice(Vec<Vec<Piece>>),
    /// Of JavaScript only. `kind` is one of `@?*+!`.
    Group {
        kind: char,
        rows: Vec<Vec<Piece>>,
    },
}

/// The pieces of a pattern that stands for no more texts than are allowed.
pub(super) fn read(dialect: Dialect, pattern: &str) -> Result<Vec<Piece>, GlobLimit> {
    let pattern: Vec<char> = pattern.chars().collect();
    let spans = spans(dialect, &pattern);
    let mut reading = Reading { dialect, pattern: &pattern, spans: &spans, negations: 0 };
    let pieces = reading.row(0..pattern.len(), Depth::default())?;
    if count(&pieces) > LIMITS.glob_alternatives_max {
        return Err(GlobLimit::Alternatives);
    }
    Ok(pieces)
}

/// What begins at a character.
#[derive(Clone, Copy, Default)]
struct Span {
    /// Behind the last character of the brace, class or group. 0: the character means itself.
    end: usize,
    /// The brace has a comma of its own.
    is_choice: bool,
}

/// In JavaScript classes come first, then parentheses, then braces. In Python braces come before all else.
fn spans(dialect: Dialect, pattern: &[char]) -> Vec<Span> {
    let mut spans = vec![Span::default(); pattern.len()];
    if dialect == Dialect::JavaScript {
        close_groups(pattern, &mut spans);
    }
    close_braces(pattern, &mut spans);
    spans
}

fn close_groups(pattern: &[char], spans: &mut [Span]) {
    let (mut open, mut at) = (Vec::new(), 0);
    while at < pattern.len() {
        match pattern[at] {
            '[' => {
                if let Some((_, end)) = class_at(Dialect::JavaScript, pattern, at) {
                    spans[at].end = end;
                }
            }
            '(' => open.push(at),
            ')' => {
                if let Some(first) = open.pop() {
                    spans[first].end = at + 1;
                }
            }
            _ => {}
        }
        at = next(pattern, spans, at);
    }
}

fn close_braces(pattern: &[char], spans: &mut [Span]) {
    let (mut open, mut at) = (Vec::<usize>::new(), 0);
    while at < pattern.len() {
        let last = open.last().copied().filter(|it| pattern[*it] == '{');
        match (pattern[at], last) {
            ('{', _) => open.push(at),
            ('(', _) if spans[at].end > 0 => open.push(at),
            // A brace that a group opens and does not close means itself.
            (')', _) => {
                let group = open.iter().rposition(|it| spans[*it].end == at + 1);
                open.truncate(group.unwrap_or(open.len()));
            }
            ('}', Some(first)) => {
                spans[first].end = at + 1;
                open.pop();
            }
            (',', Some(first)) => spans[first].is_choice = true,
            _ => {}
        }
        at = next(pattern, spans, at);
    }
}

/// Behind a class, an escaped character, or this character.
fn next(pattern: &[char], spans: &[Span], at: usize) -> usize {
    match pattern[at] {
        '\\' => at + 2,
        '[' if spans[at].end > 0 => spans[at].end,
        _ => at + 1,
    }
}

struct Reading<'a> {
    dialect: Dialect,
    pattern: &'a [char],
    spans: &'a [Span],
    /// Groups `!(…)` up to here.
    negations: u64,
}

/// How many braces and groups, and how many `!(…)` of these, a row stands in.
#[derive(Clone, Copy, Default)]
struct Depth {
    all: u64,
    negations: u64,
}

impl Reading<'_> {
    fn row(&mut self, inside: Range<usize>, depth: Depth) -> Result<Vec<Piece>, GlobLimit> {
        for (count, limit) in [
            (depth.all, GlobLimit::Depth),
            (depth.negations, GlobLimit::NegationDepth),
            (self.negations, GlobLimit::Negations),
        ] {
            if count > limit.bound() {
                return Err(limit);
            }
        }
        let (mut found, mut text, mut at) = (Vec::new(), Vec::new(), inside.start);
        while at < inside.end {
            if let Some((piece, end)) = self.piece(at, inside.end, depth)? {
                found.push(Piece::Text(std::mem::take(&mut text)));
                found.push(piece);
                at = end;
            } else {
                let end = next(self.pattern, self.spans, at).min(inside.end);
                text.extend_from_slice(&self.pattern[at..end]);
                at = end;
            }
        }
        found.push(Piece::Text(text));
        found.retain(|it| !matches!(it, Piece::Text(text) if text.is_empty()));
        Ok(found)
    }

    /// The choice or the group that begins here and ends before `to`, and where it ends.
    fn piece(
        &mut self,
        at: usize,
        to: usize,
        depth: Depth,
    ) -> Result<Option<(Piece, usize)>, GlobLimit> {
        let (kind, open) = match (self.pattern[at], self.pattern.get(at + 1)) {
            (kind @ ('@' | '?' | '*' | '+' | '!'), Some('(')) => (kind, at + 1),
            ('(', _) => ('@', at),
            ('{', _) => ('{', at),
            _ => return Ok(None),
        };
        let end = self.spans[open].end;
        if end == 0 || end > to {
            return Ok(None);
        }
        let inside = open + 1..end - 1;
        let depth =
            Depth { all: depth.all + 1, negations: depth.negations + u64::from(kind == '!') };
        self.negations += u64::from(kind == '!');
        let is_variable = at > 0 && self.pattern[at - 1] == '$' && self.dialect == Dialect::Python;
        let piece = match kind {
            '{' if is_variable => None,
            '{' if self.spans[open].is_choice => {
                let separators = match self.dialect {
                    Dialect::Python => &[','][..],
                    Dialect::JavaScript => &[',', '|'],
                };
                Some(Piece::Choice(self.rows(inside, separators, depth)?))
            }
            '{' => self.sequence(inside)?.map(Piece::Choice),
            kind => Some(Piece::Group { kind, rows: self.rows(inside, &['|'], depth)? }),
        };
        Ok(piece.map(|it| (it, end)))
    }

    fn rows(
        &mut self,
        inside: Range<usize>,
        separators: &[char],
        depth: Depth,
    ) -> Result<Vec<Vec<Piece>>, GlobLimit> {
        let (mut rows, mut from, mut at) = (Vec::new(), inside.start, inside.start);
        while at < inside.end {
            if separators.contains(&self.pattern[at]) {
                rows.push(self.row(from..at, depth)?);
                from = at + 1;
            }
            at = self.after(at);
        }
        rows.push(self.row(from..inside.end, depth)?);
        Ok(rows)
    }

    /// What stands between two braces without a comma; None: it is no choice, and the braces mean themselves.
    fn sequence(&self, inside: Range<usize>) -> Result<Option<Vec<Vec<Piece>>>, GlobLimit> {
        let text: String = self.pattern[inside].iter().collect();
        Ok(match self.dialect {
            Dialect::Python => sequence(&text)?.map(|texts| {
                let texts: Vec<&[char]> = texts.iter().map(Vec::as_slice).collect();
                shared(&texts)
            }),
            Dialect::JavaScript => class(&text).map(|it| vec![vec![it]]),
        })
    }

    /// Behind all that begins here.
    fn after(&self, at: usize) -> usize {
        let span = self.spans[at];
        let is_whole = self.pattern[at] == '(' || span.is_choice;
        if is_whole && span.end > 0 { span.end } else { next(self.pattern, self.spans, at) }
    }
}

/// Rows for texts that share their beginnings: so a name meets few of a thousand numbers at each of its characters.
fn shared(texts: &[&[char]]) -> Vec<Vec<Piece>> {
    let mut rests = BTreeMap::<Option<char>, Vec<&[char]>>::new();
    for text in texts {
        let rest = text.get(1..).unwrap_or_default();
        rests.entry(text.first().copied()).or_default().push(rest);
    }
    let row = |(first, rests): (Option<char>, Vec<&[char]>)| {
        let Some(first) = first else { return Vec::new() };
        match rests.as_slice() {
            [rest] => vec![Piece::Text([&[first], *rest].concat())],
            rests => vec![Piece::Text(vec![first]), Piece::Choice(shared(rests))],
        }
    };
    rests.into_iter().map(row).collect()
}

/// How many texts the pieces stand for.
fn count(pieces: &[Piece]) -> u64 {
    let of = |piece: &Piece| match piece {
        Piece::Text(_) => 1,
        Piece::Choice(rows) => rows.iter().map(|it| count(it)).fold(0, u64::saturating_add),
        Piece::Group { rows, .. } => rows.iter().map(|it| count(it)).fold(1, u64::saturating_mul),
    };
    pieces.iter().map(of).fold(1, u64::saturating_mul)
}

/// The texts that pieces without groups stand for; None: they have more characters together than that.
pub(super) fn written_out(pieces: &[Piece], characters_max: usize) -> Option<Vec<Vec<char>>> {
    let mut made: Vec<Vec<char>> = vec![Vec::new()];
    for piece in pieces {
        let mut endings = Vec::new();
        match piece {
            Piece::Text(text) => endings.push(text.clone()),
            Piece::Choice(rows) => {
                for row in rows {
                    endings.extend(written_out(row, characters_max)?);
                }
            }
            Piece::Group { .. } => unreachable!("Python has no groups"),
        }
        let length = |all: &[Vec<char>]| all.iter().map(Vec::len).sum::<usize>();
        if length(&made) * endings.len() + length(&endings) * made.len() > characters_max {
            return None;
        }
        let with = |begin: &Vec<char>| {
            endings.iter().map(|it| [&begin[..], &it[..]].concat()).collect::<Vec<_>>()
        };
        made = made.iter().flat_map(with).collect();
    }
    Some(made)
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
fn class(text: &str) -> Option<Piece> {
    let (first, last) = text.split_once("..").filter(|it| !it.1.contains(".."))?;
    let mut ends = [first, last];
    ends.sort_unstable();
    Some(Piece::Text(format!("[{}-{}]", ends[0], ends[1]).chars().collect()))
}
