//! Cuts a text into lines, and takes the window that a read shows, as each language does.

use super::dialect::Dialect;
use super::problem::problem;
use crate::domain::error::{FileProblem, Result};
use crate::domain::json::wide_text::WideText;

/// What a read answers of a text: fields as deepagents' `ReadResult` has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    pub content: WideText,
    pub place: Option<LineRange>,
    /// Nothing was asked for, and nothing looked at.
    pub no_lines_requested: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    pub total_lines: u64,
    /// From 1.
    pub start_line: u64,
    pub end_line: u64,
    /// From 0; None: it is the end.
    pub next_offset: Option<u64>,
}

/// `offset` counts from 0; what is below it, or below no lines, is taken for that.
///
/// # Errors
/// `offset_past_end`, in Python.
pub fn window(dialect: Dialect, text: &WideText, offset: i64, limit: i64) -> Result<Window> {
    let (offset, limit) = (offset.max(0).unsigned_abs(), limit.max(0).unsigned_abs());
    match dialect {
        Dialect::Python => python_window(text, offset, limit),
        Dialect::JavaScript => Ok(javascript_window(text, offset, limit)),
    }
}

fn python_window(text: &WideText, offset: u64, limit: u64) -> Result<Window> {
    if is_blank(text) {
        return Ok(Window { content: text.clone(), ..Window::default() });
    }
    if limit == 0 {
        return Ok(Window { no_lines_requested: true, ..Window::default() });
    }
    let bytes = text.as_bytes();
    let (first, last) = (offset, offset.saturating_add(limit));
    let (mut total, mut start, mut end, mut from) = (0, None, 0, 0);
    while from < bytes.len() {
        let to = line_end(bytes, from);
        if (first..last).contains(&total) {
            start.get_or_insert(from);
            end = to;
        }
        total += 1;
        from = to;
    }
    let Some(start) = start else {
        let detail = format!("Line offset {offset} exceeds file length ({total} lines)");
        return Err(problem(FileProblem::OffsetPastEnd, detail));
    };
    let end_line = last.min(total);
    Ok(Window {
        content: WideText::of_bytes(with_plain_ends(&bytes[start..end])),
        place: Some(LineRange {
            total_lines: total,
            start_line: offset + 1,
            end_line,
            next_offset: (end_line < total).then_some(end_line),
        }),
        no_lines_requested: false,
    })
}

fn javascript_window(text: &WideText, offset: u64, limit: u64) -> Window {
    let bytes = text.as_bytes();
    let parts = memchr::memchr_iter(b'\n', bytes).count() as u64 + 1;
    let total = if bytes.is_empty() || bytes.ends_with(b"\n") { parts - 1 } else { parts };
    let (skip, take) = (usize_of(offset), usize_of(limit));
    let selected: Vec<&[u8]> = bytes.split(|it| *it == b'\n').skip(skip).take(take).collect();
    let content = WideText::of_bytes(selected.join(&b'\n'));
    if selected.is_empty() || offset >= total || limit == 0 {
        return Window { content, ..Window::default() };
    }
    let end_line = (offset + selected.len() as u64).min(total);
    let next_offset = (end_line < total).then_some(end_line);
    let place = LineRange { total_lines: total, start_line: offset + 1, end_line, next_offset };
    Window { content, place: Some(place), no_lines_requested: false }
}

/// Behind the line that begins at `from`, its end included: as Python's `splitlines`.
fn line_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest {
            [b'\r', b'\n', ..] | [0xc2, 0x85, ..] => 2,
            [0x0a..=0x0d | 0x1c..=0x1e, ..] => 1,
            [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
            _ => {
                at += 1;
                continue;
            }
        };
        return at + length;
    }
    bytes.len()
}

/// `\r\n` and `\r` as `\n`.
fn with_plain_ends(part: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(part.len());
    for (at, byte) in part.iter().enumerate() {
        match byte {
            b'\r' if part.get(at + 1) == Some(&b'\n') => {}
            b'\r' => plain.push(b'\n'),
            other => plain.push(*other),
        }
    }
    plain
}

/// Nothing but what Python strips.
fn is_blank(text: &WideText) -> bool {
    let strips = |it: char| it.is_whitespace() || matches!(it, '\u{1c}'..='\u{1f}');
    text.text().is_some_and(|it| it.chars().all(strips))
}

fn usize_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(text: &str, offset: i64, limit: i64) -> Window {
        window(Dialect::Python, &text.into(), offset, limit).unwrap()
    }

    fn javascript(text: &str, offset: i64, limit: i64) -> Window {
        window(Dialect::JavaScript, &text.into(), offset, limit).unwrap()
    }

    #[allow(clippy::unnecessary_wraps)]
    fn place(
        total_lines: u64,
        start_line: u64,
        end_line: u64,
        next: Option<u64>,
    ) -> Option<LineRange> {
        Some(LineRange { total_lines, start_line, end_line, next_offset: next })
    }

    #[test]
    fn python_splits_at_every_boundary() {
        let text = "a\nb\r\nc\rd\x0be\x0cf\x1cg\x1dh\x1ei\u{85}j\u{2028}k\u{2029}l";
        for (at, letter) in "abcdefghijkl".chars().enumerate() {
            let at = i64::try_from(at).unwrap();
            let found = python(text, at, 1);
            assert_eq!(found.content.text().unwrap().chars().next(), Some(letter));
            assert_eq!(found.place.unwrap().total_lines, 12);
        }
        assert_eq!(python(text, 1, 2).content, "b\nc\n".into());
        assert_eq!(python("x\r\n\r", 0, 9).content, "x\n\n".into());
    }

    #[test]
    fn a_window_says_where_it_is() {
        let found = python("a\nb\nc\n", 1, 1);
        assert_eq!((found.content, found.place), ("b\n".into(), place(3, 2, 2, Some(2))));
        let found = python("a\nb\nc", -5, 99);
        assert_eq!((found.content, found.place), ("a\nb\nc".into(), place(3, 1, 3, None)));
        let none = python("a", 7, 0);
        assert!(none.no_lines_requested && none.place.is_none() && none.content.is_empty());
        let past = window(Dialect::Python, &"a\nb".into(), 2, 1).unwrap_err();
        assert_eq!(past.to_string(), "Line offset 2 exceeds file length (2 lines)");
    }

    #[test]
    fn blank_files_come_whole() {
        for text in ["", " \n\t", "\u{3000}\u{1f}\u{85}"] {
            let found = python(text, 9, 0);
            assert_eq!(
                (found.content, found.place, found.no_lines_requested),
                (text.into(), None, false)
            );
        }
    }

    #[test]
    fn javascript_splits_at_line_feeds() {
        let found = javascript("a\r\nb\nc\n", 0, 2);
        assert_eq!((found.content, found.place), ("a\r\nb".into(), place(3, 1, 2, Some(2))));
        let found = javascript("a\nb\n", 1, 5);
        assert_eq!((found.content, found.place), ("b\n".into(), place(2, 2, 2, None)));
        assert_eq!(javascript("a\nb", 2, 5), Window::default());
        assert_eq!(javascript("a\n", 1, 5), Window::default());
        assert_eq!(javascript("", 0, 5), Window::default());
        assert_eq!(javascript("a", 0, 0), Window::default());
    }
}
