//! What a glob pattern says of one part of a path: text, `*`, `?`, `[…]` and, in JavaScript, groups such as `@(a|b)`.

use super::dialect::Dialect;

#[derive(Debug, Clone)]
pub(super) struct Name {
    tokens: Vec<Token>,
    dialect: Dialect,
}

#[derive(Debug, Clone)]
pub(super) enum Token {
    Text(char),
    /// One character, whichever.
    One,
    Any,
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
        kinds: Vec<Kind>,
    },
    Group {
        kind: char,
        choices: Vec<Vec<Token>>,
    },
}

type Kind = fn(&char) -> bool;

impl Name {
    pub(super) fn ends_with_star(&self) -> bool {
        matches!(self.tokens.last(), Some(Token::Any))
    }

    /// Wildcards match no dot at the beginning in Python, and no `.` and `..` in JavaScript.
    pub(super) fn matches(&self, name: &[char]) -> bool {
        let is_wild = self.tokens.first().is_some_and(|it| !matches!(it, Token::Text(_)));
        let is_hidden = match self.dialect {
            Dialect::Python => name.first() == Some(&'.'),
            Dialect::JavaScript => matches!(name, [] | ['.'] | ['.', '.']),
        };
        if is_wild && is_hidden {
            return false;
        }
        // A lone star needs something.
        if name.is_empty() && !self.tokens.is_empty() {
            return false;
        }
        if !self.tokens.iter().any(|it| matches!(it, Token::Group { .. })) {
            return matches_plainly(&self.tokens, name);
        }
        let mut begin = vec![false; name.len() + 1];
        begin[0] = true;
        reach(&self.tokens, name, begin)[name.len()]
    }
}

/// Without groups every token but a star takes one character: on a mismatch the last star takes one more.
fn matches_plainly(tokens: &[Token], name: &[char]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match tokens.get(token) {
            Some(Token::Any) => {
                token += 1;
                star = Some((token, at));
                continue;
            }
            Some(one) if one.takes(name[at]) => {
                (token, at) = (token + 1, at + 1);
                continue;
            }
            _ => {}
        }
        let Some((behind, taken)) = star else { return false };
        star = Some((behind, taken + 1));
        (token, at) = (behind, taken + 1);
    }
    tokens[token..].iter().all(|it| matches!(it, Token::Any))
}

impl Token {
    /// Whether it can stand for this one character.
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Text(wanted) => character == *wanted,
            Self::One => true,
            Self::Class { is_negated, ranges, kinds } => {
                let inside =
                    ranges.iter().any(|(first, last)| (*first..=*last).contains(&character))
                        || kinds.iter().any(|kind| kind(&character));
                inside != *is_negated
            }
            Self::Any | Self::Group { .. } => false,
        }
    }
}

/// Which places of the name the tokens can lead to from those that are set.
fn reach(tokens: &[Token], name: &[char], mut places: Vec<bool>) -> Vec<bool> {
    for token in tokens {
        places = step(token, name, &places);
    }
    places
}

fn step(token: &Token, name: &[char], places: &[bool]) -> Vec<bool> {
    let mut next = vec![false; places.len()];
    match token {
        Token::Any => {
            let first = places.iter().position(|it| *it).unwrap_or(places.len());
            next[first.min(places.len())..].fill(true);
        }
        Token::Group { kind, choices } => group(*kind, choices, name, places, &mut next),
        one => {
            for (at, character) in name.iter().enumerate() {
                next[at + 1] = places[at] && one.takes(*character);
            }
        }
    }
    next
}

fn group(kind: char, choices: &[Vec<Token>], name: &[char], places: &[bool], next: &mut [bool]) {
    let once = |from: &[bool]| {
        let mut all = vec![false; from.len()];
        for choice in choices {
            merge(&mut all, &reach(choice, name, from.to_vec()));
        }
        all
    };
    match kind {
        '!' => {
            for from in (0..places.len()).filter(|it| places[*it]) {
                let mut alone = vec![false; places.len()];
                alone[from] = true;
                let matched = once(&alone);
                for to in from..places.len() {
                    next[to] |= !matched[to];
                }
            }
        }
        '*' | '+' => {
            let mut all = if kind == '*' { places.to_vec() } else { once(places) };
            for _ in 0..places.len() {
                let further = once(&all);
                merge(&mut all, &further);
            }
            merge(next, &all);
        }
        _ => {
            merge(next, &once(places));
            if kind == '?' {
                merge(next, places);
            }
        }
    }
}

fn merge(into: &mut [bool], from: &[bool]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into |= from;
    }
}

pub(super) fn parse(dialect: Dialect, pattern: &[char]) -> Name {
    Name { tokens: tokens(dialect, pattern), dialect }
}

fn tokens(dialect: Dialect, pattern: &[char]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let character = pattern[at];
        if dialect == Dialect::JavaScript
            && let Some((group, end)) = group_at(pattern, at)
        {
            found.push(group);
            at = end;
            continue;
        }
        match character {
            '\\' if at + 1 < pattern.len() => {
                found.push(Token::Text(pattern[at + 1]));
                at += 2;
                continue;
            }
            // At the end it means nothing.
            '\\' if dialect == Dialect::Python => {}
            '*' if matches!(found.last(), Some(Token::Any)) => {}
            '*' => found.push(Token::Any),
            '?' => found.push(Token::One),
            '[' => {
                if let Some((class, end)) = class_at(dialect, pattern, at) {
                    found.push(class);
                    at = end;
                    continue;
                }
                found.push(Token::Text('['));
            }
            other => found.push(Token::Text(other)),
        }
        at += 1;
    }
    found
}

/// `@(a|b)`, or `(a|b)`, which is the same; and where it ends.
fn group_at(pattern: &[char], at: usize) -> Option<(Token, usize)> {
    let (kind, open) = match (pattern[at], pattern.get(at + 1)) {
        ('(', _) => ('@', at),
        (kind @ ('@' | '?' | '*' | '+' | '!'), Some('(')) => (kind, at + 1),
        _ => return None,
    };
    let (mut depth, mut end, mut choices, mut from) = (0, open, Vec::new(), open + 1);
    while end < pattern.len() {
        match pattern[end] {
            '\\' => end += 1,
            '(' => depth += 1,
            '|' if depth == 1 => {
                choices.push(tokens(Dialect::JavaScript, &pattern[from..end]));
                from = end + 1;
            }
            ')' if depth == 1 => {
                choices.push(tokens(Dialect::JavaScript, &pattern[from..end]));
                return Some((Token::Group { kind, choices }, end + 1));
            }
            ')' => depth -= 1,
            _ => {}
        }
        end += 1;
    }
    None
}

/// `[a-z]`, and where it ends; None: the bracket means itself.
pub(super) fn class_at(dialect: Dialect, pattern: &[char], at: usize) -> Option<(Token, usize)> {
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
            return Some((Token::Class { is_negated, ranges, kinds }, next + 1));
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
