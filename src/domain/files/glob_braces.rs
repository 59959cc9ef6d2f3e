//! Braces of glob patterns: `{a,b}` and `{1..3}`.

use super::dialect::Dialect;

/// All patterns that one with braces stands for; None: more than `most`.
pub(super) fn expand(dialect: Dialect, pattern: &str, most: usize) -> Option<Vec<String>> {
    let characters: Vec<char> = pattern.chars().collect();
    let expanded = expand_all(dialect, &characters, most)?;
    Some(expanded.into_iter().map(|it| it.into_iter().collect()).collect())
}

fn expand_all(dialect: Dialect, pattern: &[char], most: usize) -> Option<Vec<Vec<char>>> {
    let mut made: Vec<Vec<char>> = vec![Vec::new()];
    let mut at = 0;
    while at < pattern.len() {
        let is_variable = at > 0 && pattern[at - 1] == '$' && dialect == Dialect::Python;
        let group = if pattern[at] == '{' && !is_variable { closing(pattern, at) } else { None };
        let choices = match group {
            Some(end) => choices(dialect, &pattern[at + 1..end], most)?,
            None => None,
        };
        match (group, choices) {
            (Some(end), Some(choices)) => {
                if made.len() * choices.len() > most {
                    return None;
                }
                let with = |begin: &Vec<char>| {
                    choices.iter().map(|it| [&begin[..], &it[..]].concat()).collect::<Vec<_>>()
                };
                made = made.iter().flat_map(with).collect();
                at = end + 1;
            }
            _ => {
                let length = if pattern[at] == '\\' { 2 } else { 1 };
                let end = (at + length).min(pattern.len());
                for begin in &mut made {
                    begin.extend_from_slice(&pattern[at..end]);
                }
                at = end;
            }
        }
    }
    Some(made)
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

type Choices = Option<Vec<Vec<char>>>;

/// What stands between two braces; the inner None: it is no choice, and the braces mean themselves.
fn choices(dialect: Dialect, inner: &[char], most: usize) -> Option<Choices> {
    let parts = split_at_commas(inner);
    if parts.len() > 1 {
        let mut all = Vec::new();
        for part in parts {
            all.extend(expand_all(dialect, part, most)?);
            if all.len() > most {
                return None;
            }
        }
        return Some(Some(all));
    }
    let text: String = inner.iter().collect();
    match dialect {
        Dialect::Python => sequence(&text, most),
        Dialect::JavaScript => Some(class(&text)),
    }
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
fn sequence(text: &str, most: usize) -> Option<Choices> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => match step.parse::<i64>() {
            Ok(step) => (*first, *last, step.unsigned_abs().max(1)),
            Err(_) => return Some(None),
        },
        _ => return Some(None),
    };
    let numbers = (number(first), number(last));
    let letters = (letter(first), letter(last));
    let (from, to) = match (numbers, letters) {
        ((Some(from), Some(to)), _) => (from, to),
        (_, (Some(from), Some(to))) => (i64::from(u32::from(from)), i64::from(u32::from(to))),
        _ => return Some(None),
    };
    let count = from.abs_diff(to) / step + 1;
    if count > most as u64 {
        return None;
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
    Some(Some((0..count).map(|at| written(value(at))).collect()))
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
fn class(text: &str) -> Choices {
    let (first, last) = text.split_once("..").filter(|it| !it.1.contains(".."))?;
    let mut ends = [first, last];
    ends.sort_unstable();
    Some(vec![format!("[{}-{}]", ends[0], ends[1]).chars().collect()])
}
