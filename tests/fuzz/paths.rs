//! Checks that no path and document cause a panic, or more texts and characters than were asked for.
//!
//! Input: 1 byte texts, 1 byte characters, then a path, a zero byte, a document.

use threadkeep::domain::json::exact_json;
use threadkeep::domain::json::field_path::FieldPath;

pub fn check(data: &[u8]) {
    let Some((path, document, [texts, characters])) = read(data) else { return };
    let found = path.texts(&document, texts.into(), characters.into());
    assert!(found.len() <= usize::from(texts));
    for (name, text) in &found {
        assert!(text.chars().count() <= usize::from(characters), "{name}");
    }
    // What is allowed more only adds to it.
    let more = path.texts(&document, usize::from(texts) + 3, usize::from(characters) + 3);
    assert!(found.len() <= more.len());
    for ((name, text), (same, longer)) in found.iter().zip(&more) {
        assert!(longer.starts_with(text.as_str()) && name == same, "{name} {same}");
    }
}

pub fn finds_texts(data: &[u8]) -> bool {
    let found = read(data).map(|(path, document, _)| path.texts(&document, 9, 9));
    found.is_some_and(|it| !it.is_empty())
}

fn read(data: &[u8]) -> Option<(FieldPath, serde_json::Value, [u8; 2])> {
    let (limits, rest) = data.split_first_chunk::<2>()?;
    let mut parts = rest.splitn(2, |it| *it == 0);
    let path = FieldPath::new(&String::from_utf8_lossy(parts.next()?)).ok()?;
    let document = parts.next()?;
    exact_json::check("x", document).ok()?;
    Some((path, exact_json::parse("x", document).ok()?, *limits))
}
