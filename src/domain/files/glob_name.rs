//! Parses the names of a glob pattern: text, `*`, `?` and `[…]`; and the slashes between names.

use super::dialect::Dialect;

/// A pattern without braces is a row of these.
#[derive(Debug, Clone)]
pub(super) enum Unit {
    /// Between two names.
    Slash,
    Star,
    Take(Take),
    Group(Group),
    /// Within a group: one of several rows.
    Choice(Vec<Vec<Unit>>),
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

/// The units of a text without braces and groups. None: a bracket of Python is open at its end, so what it means depends on what follows.
/// `is_last`: nothing follows.
pub(super) fn units(dialect: Dialect, text: &[char], is_last: bool) -> Option<Vec<Unit>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let (unit, length) = match rest {
            // The slash counts, and the backslash does not.
            ['\\', '/', ..] => (Unit::Slash, 2),
            ['\\', escaped, ..] => (Unit::Take(Take::Char(*escaped)), 2),
            ['\\'] if dialect == Dialect::Python => (Unit::Nothing, 1),
            ['/', ..] => (Unit::Slash, 1),
            ['*', ..] => (Unit::Star, 1),
            ['?', ..] => (Unit::Take(Take::Any), 1),
            ['[', ..] => {
                // A slash ends a name of Python, in brackets too.
                let slash = rest.iter().position(|it| *it == '/');
                let slash = slash.filter(|_| dialect == Dialect::Python);
                match class_at(dialect, &rest[..slash.unwrap_or(rest.len())], 0) {
                    Some((class, length)) => (Unit::Take(class), length),
                    None if dialect == Dialect::Python && slash.is_none() && !is_last => {
                        return None;
                    }
                    None => (Unit::Take(Take::Char('[')), 1),
                }
            }
            [other, ..] => (Unit::Take(Take::Char(*other)), 1),
            [] => break,
        };
        found.push(unit);
        at += length;
    }
    Some(found)
}

/// `[a-z]`, and where it ends; None: the bracket means itself.
pub(super) fn class_at(dialect: Dialect, pattern: &[char], at: usize) -> Option<(Take, usize)> {
    let mut next = at + 1;
    // Many brackets that do not close cost one look each.
    if !pattern[next..].contains(&']') {
        return None;
    }
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
    let ['[', ':', rest @ ..] = rest else { return None };
    let length = rest.iter().take(10).position(|it| *it == ':')?;
    if rest.get(length + 1) != Some(&']') {
        return None;
    }
    let name: String = rest[..length].iter().collect();
    let kind: Kind = match name.as_str() {
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
