//! Parses the names of a glob pattern: text, `*`, `?`, `[…]` and, in JavaScript, groups such as `@(a|b)`; and the slashes between names.

use super::dialect::Dialect;
use super::glob::GlobLimit;

/// A pattern without braces is a row of these.
#[derive(Debug, Clone)]
pub(super) enum Unit {
    /// Between two names.
    Slash,
    Star,
    Take(Take),
    Group(Group),
    /// A backslash that means nothing; two stars before it are no `**`.
    Nothing,
}

/// One character.
#[derive(Debug, Clone)]
pub(super) enum Take {
    Char(char),
    /// Whichever.
    Any,
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
        kinds: Vec<Kind>,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Group {
    /// One of `@?*+!`.
    pub kind: char,
    pub choices: Vec<Vec<Unit>>,
}

type Kind = fn(&char) -> bool;

/// Why a text was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// What it means depends on what follows: a bracket or a parenthesis is open at its end.
    Open,
    Limit(GlobLimit),
}

impl Take {
    pub(super) fn takes(&self, character: char) -> bool {
        match self {
            Self::Char(wanted) => character == *wanted,
            Self::Any => true,
            Self::Class { is_negated, ranges, kinds } => {
                let inside =
                    ranges.iter().any(|(first, last)| (*first..=*last).contains(&character))
                        || kinds.iter().any(|kind| kind(&character));
                inside != *is_negated
            }
        }
    }
}

/// The units of a text. `is_whole`: nothing stands before or behind it; else it may have no parentheses, whose extent others decide.
pub(super) fn units(dialect: Dialect, text: &[char], is_whole: bool) -> Result<Vec<Unit>, Unread> {
    let parts = split(dialect, text, is_whole)?;
    let (mut found, count) = (Vec::new(), parts.len());
    let mut reading = Reading { dialect, negations: 0 };
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            found.push(Unit::Slash);
        }
        let is_open = !is_whole && at + 1 == count;
        found.append(&mut reading.part(&part, is_open, Depth::default())?);
    }
    Ok(found)
}

/// At slashes that stand, in JavaScript, neither in brackets nor in parentheses.
fn split(dialect: Dialect, text: &[char], is_whole: bool) -> Result<Vec<Vec<char>>, Unread> {
    let (mut parts, mut part, mut depth, mut at) = (Vec::new(), Vec::new(), 0_usize, 0);
    while at < text.len() {
        let end = match text[at] {
            '/' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                at += 1;
                continue;
            }
            // The slash counts, and the backslash does not.
            '\\' if text.get(at + 1) == Some(&'/') => {
                at += 1;
                continue;
            }
            '\\' => (at + 2).min(text.len()),
            '[' if dialect == Dialect::JavaScript => match class_at(dialect, text, at) {
                Some((_, end)) => end,
                None if is_whole => at + 1,
                None => return Err(Unread::Open),
            },
            '(' if dialect == Dialect::JavaScript => {
                if !is_whole {
                    return Err(Unread::Open);
                }
                depth += 1;
                at + 1
            }
            ')' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ => at + 1,
        };
        part.extend_from_slice(&text[at..end]);
        at = end;
    }
    parts.push(part);
    Ok(parts)
}

struct Reading {
    dialect: Dialect,
    negations: u64,
}

/// How many groups, and how many `!(…)` of these, a text stands in.
#[derive(Clone, Copy, Default)]
struct Depth {
    groups: u64,
    negations: u64,
}

impl Reading {
    fn part(&mut self, text: &[char], is_open: bool, depth: Depth) -> Result<Vec<Unit>, Unread> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < text.len() {
            if self.dialect == Dialect::JavaScript
                && let Some(group) = group_at(text, at)
            {
                found.push(self.group(text, &group, depth)?);
                at = group.end;
                continue;
            }
            match text[at] {
                '\\' if at + 1 < text.len() => {
                    found.push(Unit::Take(Take::Char(text[at + 1])));
                    at += 1;
                }
                '\\' if self.dialect == Dialect::Python => found.push(Unit::Nothing),
                '*' => found.push(Unit::Star),
                '?' => found.push(Unit::Take(Take::Any)),
                '[' => match class_at(self.dialect, text, at) {
                    Some((class, end)) => {
                        found.push(Unit::Take(class));
                        at = end - 1;
                    }
                    None if is_open => return Err(Unread::Open),
                    None => found.push(Unit::Take(Take::Char('['))),
                },
                other => found.push(Unit::Take(Take::Char(other))),
            }
            at += 1;
        }
        Ok(found)
    }

    fn group(&mut self, text: &[char], at: &GroupAt, depth: Depth) -> Result<Unit, Unread> {
        let is_negation = at.kind == '!';
        self.negations += u64::from(is_negation);
        let depth =
            Depth { groups: depth.groups + 1, negations: depth.negations + u64::from(is_negation) };
        for (count, limit) in [
            (depth.groups, GlobLimit::Depth),
            (depth.negations, GlobLimit::NegationDepth),
            (self.negations, GlobLimit::Negations),
        ] {
            if count > limit.bound() {
                return Err(Unread::Limit(limit));
            }
        }
        let ends = at.bars.iter().copied().chain([at.end - 1]);
        let starts = [at.open].into_iter().chain(at.bars.iter().copied());
        let choices =
            starts.zip(ends).map(|(from, to)| self.part(&text[from + 1..to], false, depth));
        Ok(Unit::Group(Group { kind: at.kind, choices: choices.collect::<Result<_, _>>()? }))
    }
}

/// Where the parts of a group are.
struct GroupAt {
    kind: char,
    open: usize,
    bars: Vec<usize>,
    /// Behind its last parenthesis.
    end: usize,
}

/// `@(a|b)`, or `(a|b)`, which is the same.
fn group_at(text: &[char], at: usize) -> Option<GroupAt> {
    let (kind, open) = match (text[at], text.get(at + 1)) {
        ('(', _) => ('@', at),
        (kind @ ('@' | '?' | '*' | '+' | '!'), Some('(')) => (kind, at + 1),
        _ => return None,
    };
    let (mut depth, mut end, mut bars) = (0_usize, open, Vec::new());
    while end < text.len() {
        match text[end] {
            '\\' => end += 1,
            '(' => depth += 1,
            '|' if depth == 1 => bars.push(end),
            ')' if depth == 1 => return Some(GroupAt { kind, open, bars, end: end + 1 }),
            ')' => depth -= 1,
            _ => {}
        }
        end += 1;
    }
    None
}

/// `[a-z]`, and where it ends; None: the bracket means itself.
pub(super) fn class_at(dialect: Dialect, pattern: &[char], at: usize) -> Option<(Take, usize)> {
    let mut next = at + 1;
    let is_negated = match dialect {
        Dialect::Python => matches!(pattern.get(next), Some('!' | '^')),
        Dialect::JavaScript => pattern.get(next) == Some(&'^'),
    };
    next += usize::from(is_negated);
    let (first, mut ranges, mut kinds, mut pending) = (next, Vec::new(), Vec::new(), None);
    loop {
        let character = *pattern.get(next)?;
        if character == ']' && next > first {
            ranges.extend(pending.map(|it| (it, it)));
            return Some((Take::Class { is_negated, ranges, kinds }, next + 1));
        }
        if let Some((kind, length)) = kind_at(&pattern[next..]) {
            ranges.extend(pending.take().map(|it| (it, it)));
            kinds.push(kind);
            next += length;
            continue;
        }
        let is_range = character == '-' && pending.is_some() && pattern.get(next + 1) != Some(&']');
        let place = if is_range { next + 1 } else { next };
        let is_escaped = pattern.get(place) == Some(&'\\');
        let value = *pattern.get(place + usize::from(is_escaped))?;
        next = place + usize::from(is_escaped) + 1;
        match pending.take() {
            // One that runs backwards holds nothing.
            Some(from) if is_range => ranges.extend((from <= value).then_some((from, value))),
            before => {
                ranges.extend(before.map(|it| (it, it)));
                pending = Some(value);
            }
        }
    }
}

/// `[:alpha:]` and its like.
fn kind_at(rest: &[char]) -> Option<(Kind, usize)> {
    let text: String = rest.iter().take(12).collect();
    let name = text.strip_prefix("[:")?;
    let name = &name[..name.find(":]")?];
    let kind: Kind = match name {
        "alnum" => char::is_ascii_alphanumeric,
        "alpha" => char::is_ascii_alphabetic,
        "ascii" => char::is_ascii,
        "blank" => |it| matches!(it, ' ' | '\t'),
        "cntrl" => char::is_ascii_control,
        "digit" => char::is_ascii_digit,
        "graph" => char::is_ascii_graphic,
        "lower" => char::is_ascii_lowercase,
        "print" => |it| it.is_ascii_graphic() || *it == ' ',
        "punct" => char::is_ascii_punctuation,
        "space" => |it| it.is_ascii_whitespace() || *it == '\x0b',
        "upper" => char::is_ascii_uppercase,
        "word" => |it| it.is_ascii_alphanumeric() || *it == '_',
        "xdigit" => char::is_ascii_hexdigit,
        _ => return None,
    };
    Some((kind, name.len() + 4))
}
