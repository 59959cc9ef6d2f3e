//! Replaces a text in a text: counts the occurrences, reckons the size of the result before it is built, and says what is
//! wrong where there are none or too many.

use memchr::memmem;

use super::changing::at_most;
use super::dialect::Dialect;
use super::problem::problem;
use crate::domain::error::{FileProblem, Result};
use crate::domain::json::wide_text::WideText;

/// The new text and how many occurrences were replaced.
///
/// # Errors
/// `old_string_empty`, `string_not_found`, `string_not_unique`; `TooLarge` where a file may not be as large as the result.
pub fn replace(
    dialect: Dialect,
    content: &WideText,
    (old, new): (&WideText, &WideText),
    all: bool,
) -> Result<(WideText, u64)> {
    if old.is_empty() {
        return match dialect {
            Dialect::JavaScript if content.is_empty() => Ok((new.clone(), 0)),
            Dialect::JavaScript => Err(problem(
                FileProblem::OldStringEmpty,
                "Error: oldString cannot be empty when file has content",
            )),
            Dialect::Python => Err(problem(
                FileProblem::OldStringEmpty,
                "Error: old_string cannot be empty. Provide the exact text to replace.",
            )),
        };
    }
    let finder = memmem::Finder::new(old.as_bytes());
    // Counted and not collected: a file may hold as many occurrences as bytes.
    match finder.find_iter(content.as_bytes()).count() {
        0 => Err(problem(FileProblem::StringNotFound, not_found(dialect, content, old))),
        count if count > 1 && !all => {
            let appears = match dialect {
                Dialect::Python => format!("appears {count} times"),
                Dialect::JavaScript => format!("has multiple occurrences (appears {count} times)"),
            };
            let detail = format!(
                "Error: String '{}' {appears} in file. Use replace_all=True to replace all instances, or provide a more \
                 specific string with surrounding context.",
                old.shown()
            );
            Err(problem(FileProblem::StringNotUnique, detail))
        }
        count => {
            let size_bytes = size_after(content, count, (old, new));
            at_most("new_string", size_bytes)?;
            Ok((spliced(content.as_bytes(), &finder, (old, new), size_bytes), count as u64))
        }
    }
}

/// Bytes of the content once `count` occurrences are replaced; as many as there can be where that is no number of ours.
fn size_after(content: &WideText, count: usize, (old, new): (&WideText, &WideText)) -> usize {
    let kept = content.as_bytes().len().saturating_sub(count.saturating_mul(old.as_bytes().len()));
    count.saturating_mul(new.as_bytes().len()).saturating_add(kept)
}

fn spliced(
    content: &[u8],
    finder: &memmem::Finder<'_>,
    (old, new): (&WideText, &WideText),
    size_bytes: usize,
) -> WideText {
    let mut made = Vec::with_capacity(size_bytes);
    let mut from = 0;
    for at in finder.find_iter(content) {
        made.extend_from_slice(&content[from..at]);
        made.extend_from_slice(new.as_bytes());
        from = at + old.as_bytes().len();
    }
    made.extend_from_slice(&content[from..]);
    WideText::of_bytes(made)
}

/// Python says where a line end at the end of the text is what is too much.
fn not_found(dialect: Dialect, content: &WideText, old: &WideText) -> String {
    let stripped = old.as_bytes().strip_suffix(b"\n");
    let ends = |it: &&[u8]| !it.is_empty() && content.as_bytes().ends_with(it);
    let Some(stripped) = stripped.filter(ends).filter(|_| dialect == Dialect::Python) else {
        return format!("Error: String not found in file: '{}'", old.shown());
    };
    let hint = "Error: old_string ends with a newline, but the file does not end with a newline.";
    match memmem::find_iter(content.as_bytes(), stripped).count() {
        1 => format!(
            "{hint} Retry with the trailing newline removed from old_string (and from new_string if it also ends with a \
             newline)."
        ),
        count => format!(
            "{hint} With the trailing newline removed, old_string would appear {count} times in the file. Retry with the \
             trailing newline removed and add surrounding context so the match is unique."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::error::Error;
    use crate::domain::limits::LIMITS;

    fn run(
        dialect: Dialect,
        content: &str,
        old: &str,
        new: &str,
        all: bool,
    ) -> Result<(String, u64), String> {
        let result = replace(dialect, &content.into(), (&old.into(), &new.into()), all);
        let text = |it: (WideText, u64)| (it.0.text().unwrap().to_owned(), it.1);
        result.map(text).map_err(|it| it.to_string())
    }

    #[test]
    fn occurrences_do_not_overlap() {
        let python = |content, old, new, all| run(Dialect::Python, content, old, new, all);
        assert_eq!(python("aaaa", "aa", "b", true), Ok(("bb".into(), 2)));
        assert_eq!(python("abc", "b", "", false), Ok(("ac".into(), 1)));
        assert_eq!(python("x", "x", "x", false), Ok(("x".into(), 1)));
    }

    #[test]
    fn a_result_larger_than_a_file_may_be_is_refused_before_it_is_built() {
        let most = usize::try_from(LIMITS.file_bytes_max).unwrap();
        let content = WideText::of_bytes(vec![b'a'; most / 2]);
        let new = |length| WideText::of_bytes(vec![b'b'; length]);
        let edit = |new: &WideText| replace(Dialect::Python, &content, (&"a".into(), new), true);
        assert_eq!(edit(&new(2)).unwrap().0.as_bytes().len(), most);
        // The last of them would be 8 MiB times 64 MiB.
        for length in [3, 100_000, 64 << 20] {
            let refused = edit(&new(length)).unwrap_err();
            let (field, limit) = ("new_string".into(), LIMITS.file_bytes_max);
            assert_eq!(refused.to_string(), Error::TooLarge { field, limit }.to_string());
        }
        let huge = size_after(&content, usize::MAX / 2, (&"a".into(), &new(3)));
        assert_eq!(huge, usize::MAX);
    }

    #[test]
    fn each_language_says_it_in_its_words() {
        let says = |dialect, content, old| run(dialect, content, old, "", false).unwrap_err();
        assert_eq!(
            says(Dialect::Python, "a", ""),
            "Error: old_string cannot be empty. Provide the exact text to replace."
        );
        assert_eq!(
            says(Dialect::JavaScript, "a", ""),
            "Error: oldString cannot be empty when file has content"
        );
        assert_eq!(run(Dialect::JavaScript, "", "", "new", false), Ok(("new".into(), 0)));
        assert!(run(Dialect::Python, "", "", "new", false).is_err());
        assert_eq!(says(Dialect::Python, "a", "b"), "Error: String not found in file: 'b'");
        assert_eq!(
            says(Dialect::Python, "aa", "a"),
            "Error: String 'a' appears 2 times in file. Use replace_all=True to replace all instances, or provide a more \
             specific string with surrounding context."
        );
        assert_eq!(
            says(Dialect::JavaScript, "aa", "a"),
            "Error: String 'a' has multiple occurrences (appears 2 times) in file. Use replace_all=True to replace all \
             instances, or provide a more specific string with surrounding context."
        );
    }

    #[test]
    fn a_line_end_too_much_is_named() {
        let says = |dialect, content, old| run(dialect, content, old, "", false).unwrap_err();
        assert_eq!(
            says(Dialect::Python, "a\nb", "b\n"),
            "Error: old_string ends with a newline, but the file does not end with a newline. Retry with the trailing \
             newline removed from old_string (and from new_string if it also ends with a newline)."
        );
        assert_eq!(
            says(Dialect::Python, "b\tb", "b\n"),
            "Error: old_string ends with a newline, but the file does not end with a newline. With the trailing newline \
             removed, old_string would appear 2 times in the file. Retry with the trailing newline removed and add \
             surrounding context so the match is unique."
        );
        assert_eq!(says(Dialect::Python, "a", "\n"), "Error: String not found in file: '\n'");
        assert_eq!(says(Dialect::JavaScript, "b", "b\n"), "Error: String not found in file: 'b\n'");
    }
}
