//! Replacing a text in a text: how occurrences are counted, and what is said where there are none or too many.

use memchr::memmem;

use super::dialect::Dialect;
use super::problem::{FileProblem, problem};
use crate::domain::error::Result;
use crate::domain::wide_text::WideText;

/// The new text and how many occurrences were replaced.
///
/// # Errors
/// `old_string_empty`, `string_not_found`, `string_not_unique`.
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
    let found: Vec<usize> = finder.find_iter(content.as_bytes()).collect();
    match found.len() {
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
        count => Ok((spliced(content.as_bytes(), &found, old, new), count as u64)),
    }
}

fn spliced(content: &[u8], found: &[usize], old: &WideText, new: &WideText) -> WideText {
    let mut made = Vec::with_capacity(content.len());
    let mut from = 0;
    for at in found {
        made.extend_from_slice(&content[from..*at]);
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
