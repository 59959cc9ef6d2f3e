//! Defines the title that callers see of a thread: the one that was set, a text in its metadata, or its first message.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::details::{Details, NO_METADATA};

/// Characters of a title that nobody wrote as one.
pub const TITLE_CHARACTERS_MAX: usize = 200;

/// Where a title comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleFrom {
    /// It was set by hand.
    Set,
    /// The text in `metadata.title`.
    Metadata,
    /// The first human text of the conversation.
    FirstMessage,
}

impl Details {
    /// The title that callers see, and where it comes from.
    pub fn shown_title(&self) -> Option<(Cow<'_, str>, TitleFrom)> {
        if let Some(title) = &self.title {
            return Some((title.into(), TitleFrom::Set));
        }
        if let Some(title) = self.metadata_title() {
            return Some((title.into(), TitleFrom::Metadata));
        }
        self.first_message.as_deref().map(|it| (it.into(), TitleFrom::FirstMessage))
    }

    /// None for a field that is no text, or a text that shows nothing.
    fn metadata_title(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Titled<'a> {
            #[serde(borrow)]
            title: Option<&'a RawValue>,
        }
        if self.metadata == NO_METADATA {
            return None;
        }
        let titled: Titled<'_> = serde_json::from_str(&self.metadata).ok()?;
        let text: String = serde_json::from_str(titled.title?.get()).ok()?;
        Some(one_line(&text, TITLE_CHARACTERS_MAX)).filter(|it| !it.is_empty())
    }
}

/// The beginning of a text as one line: runs of white space are one space, and characters that show nothing or turn the direction of text are
/// left out. At most so many characters.
pub fn one_line(text: &str, characters_max: usize) -> String {
    let (mut line, mut left, mut has_space) = (String::new(), characters_max, false);
    for character in text.chars() {
        if character.is_whitespace() {
            has_space = !line.is_empty();
            continue;
        }
        if character.is_control() || is_format(character) {
            continue;
        }
        let needed = 1 + usize::from(has_space);
        if needed > left {
            break;
        }
        if std::mem::take(&mut has_space) {
            line.push(' ');
        }
        line.push(character);
        left -= needed;
    }
    line
}

/// Marks of direction, of width zero, and of the byte order: [Unicode 16, table 23-1 to 23-3](https://www.unicode.org/versions/Unicode16.0.0/).
/// The joiners stay: emoji and Indic scripts need them.
const fn is_format(character: char) -> bool {
    matches!(character, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_comes_before_metadata_and_the_first_message() {
        let details = |title: Option<&str>, metadata: &str, first: Option<&str>| Details {
            title: title.map(str::to_owned),
            metadata: metadata.into(),
            first_message: first.map(str::to_owned),
            ..Details::default()
        };
        let titled = r#"{"title": " To\n\u202eRome "}"#;
        for (details, shown) in [
            (details(Some("Set"), titled, Some("Hello")), Some(("Set", TitleFrom::Set))),
            (details(Some(""), titled, Some("Hello")), Some(("", TitleFrom::Set))),
            (details(None, titled, Some("Hello")), Some(("To Rome", TitleFrom::Metadata))),
            (details(None, "{}", Some("Hello")), Some(("Hello", TitleFrom::FirstMessage))),
            (details(None, r#"{"title": 7}"#, None), None),
            (details(None, r#"{"title": null}"#, None), None),
            (details(None, r#"{"title": " \u202e"}"#, None), None),
            (details(None, r#"{"title": "\ud800"}"#, None), None),
            (details(None, r#"{"deep": {"title": "x"}}"#, None), None),
        ] {
            let found = details.shown_title();
            assert_eq!(found.as_ref().map(|(text, from)| (text.as_ref(), *from)), shown);
        }
        let long = details(None, &format!(r#"{{"title": "{}"}}"#, "é".repeat(500)), None);
        assert_eq!(long.shown_title().unwrap().0.chars().count(), TITLE_CHARACTERS_MAX);
    }
}
