//! Finds the words of texts, for the index and for queries alike: Unicode words in lower case, with composed letters. Both engines store them
//! as numbers that are made here, so both find the same.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::error::{Error, Result};
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;

/// Stands for all texts of a value.
pub const ALL: &str = "$";
/// Longer words count by what they begin with.
const WORD_BYTES_MAX: usize = 128;
/// How words are made. Words of another way are stale: they are made again when their namespace is declared again. Raised with each
/// change of what is found.
const WAY: u32 = 2;
/// Words of one item that are indexed, and bytes of text that are looked at for them.
const WORDS_MAX: usize = 50_000;
const TEXT_BYTES_MAX: usize = 1 << 20;

/// What a search by words looks for: different words, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery(Vec<String>);

/// Words of an item, as both engines index them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemWords {
    /// Names the fields that they are of.
    pub fields: i64,
    /// Numbers of the different words, least first.
    pub words: Vec<i64>,
    /// How often each comes, up to 255.
    pub counts: Vec<u8>,
    /// All words, each as often as it comes.
    pub total: i32,
}

impl TextQuery {
    /// # Errors
    /// 422 over the limits of bytes and of different words.
    pub fn new(query: &str) -> Result<Self> {
        let max = LIMITS.text_query_bytes_max;
        if query.len() as u64 > max {
            let detail = format!("query has {} bytes, at most {max} are allowed", query.len());
            return Err(Error::out_of_range("query", detail, max));
        }
        let mut words: Vec<String> = Vec::new();
        each_word(query, &mut |word| words.push(word.to_owned()));
        words.sort();
        words.dedup();
        at_most("query", words.len(), LIMITS.text_query_words_max)?;
        Ok(Self(words))
    }

    /// No word is in it: it finds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Numbers of the words, in their order.
    pub fn numbers(&self, tenant: &str) -> Vec<i64> {
        self.0.iter().map(|it| number(tenant, it)).collect()
    }
}

impl ItemWords {
    /// Of a document's fields.
    pub fn of(tenant: &str, fields: &[String], document: &Value) -> Self {
        let (mut counts, mut total): (BTreeMap<i64, u8>, i32) = (BTreeMap::new(), 0);
        let mut room = TEXT_BYTES_MAX;
        let mut count = |text: &str| {
            let text = &text[..text.floor_char_boundary(room.min(text.len()))];
            room -= text.len();
            each_word(text, &mut |word| {
                let is_full = counts.len() >= WORDS_MAX;
                let word = number(tenant, word);
                total += 1;
                if let Some(count) = counts.get_mut(&word) {
                    *count = count.saturating_add(1);
                } else if !is_full {
                    counts.insert(word, 1);
                }
            });
        };
        if fields.iter().any(|it| it == ALL) {
            each_text(document, &mut count);
        } else {
            for field in fields {
                if let Some(part) = part_of(document, field) {
                    each_text(part, &mut count);
                }
            }
        }
        let (words, counts) = counts.into_iter().unzip();
        Self { fields: fields_number(fields), words, counts, total }
    }

    /// How often each of some words comes, in their order. None: none does.
    pub fn counts_of(&self, words: &[i64]) -> Option<Vec<u8>> {
        let count = |it: &i64| self.words.binary_search(it).map_or(0, |at| self.counts[at]);
        let counts: Vec<u8> = words.iter().map(count).collect();
        counts.iter().any(|it| *it > 0).then_some(counts)
    }

    /// Whether one of these words is there.
    pub fn has_any(&self, words: &[i64]) -> bool {
        words.iter().any(|it| self.words.binary_search(it).is_ok())
    }
}

/// Names a list of fields, and how words are made of them.
pub fn fields_number(fields: &[String]) -> i64 {
    number("", &serde_json::json!([WAY, fields]).to_string())
}

/// A word of a tenant: words of two tenants have different numbers, so an index that has no column for the tenant parts them.
fn number(tenant: &str, word: &str) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(tenant.len() as u64).to_le_bytes());
    hasher.update(tenant.as_bytes());
    hasher.update(word.as_bytes());
    let mut number = [0; 8];
    hasher.finalize_xof().fill(&mut number);
    i64::from_le_bytes(number)
}

fn each_word(text: &str, take: &mut dyn FnMut(&str)) {
    for word in composed(text).unicode_words() {
        let lower = word.to_lowercase();
        // Some letters come apart in lower case.
        let lower = composed(&lower);
        take(&lower[..lower.floor_char_boundary(WORD_BYTES_MAX.min(lower.len()))]);
    }
}

/// In Unicode's form NFC: a letter with its marks is one text, however a keyboard or a file system wrote it.
fn composed(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// Names of objects' fields, with dots between them; a name that has dots itself is tried first.
fn part_of<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(part) = document.get(path) {
        return Some(part);
    }
    let (first, rest) = path.split_once('.')?;
    part_of(document.get(first)?, rest)
}

/// All texts below, in the order of the document. Deep documents were refused at the door.
fn each_text(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(&readable(text)),
        Value::Array(values) => values.iter().for_each(|it| each_text(it, take)),
        Value::Object(fields) => fields.values().for_each(|it| each_text(it, take)),
        _ => {}
    }
}

/// Without what stands for lone surrogates in a document that was read without loss.
fn readable(text: &str) -> String {
    if !text.contains('\u{fdd0}') {
        return text.to_owned();
    }
    exact_json::code_points(text).map(|it| char::from_u32(it).unwrap_or(' ')).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn query(text: &str) -> Vec<String> {
        TextQuery::new(text).unwrap().0
    }

    fn words(fields: &[&str], document: &Value) -> (usize, i32) {
        let fields: Vec<String> = fields.iter().map(|it| (*it).to_owned()).collect();
        let words = ItemWords::of("t", &fields, document);
        assert!(words.words.is_sorted() && words.words.len() == words.counts.len());
        (words.words.len(), words.total)
    }

    #[test]
    fn words_are_unicode_words_in_lower_case() {
        assert_eq!(
            query("The CAN'T-do 3.14, Ünïcode; Ünïcode!"),
            ["3.14", "can't", "do", "the", "ünïcode"]
        );
        assert_eq!(query("ΑΣ straße 日本語"), ["straße", "ας", "日", "本", "語"]);
        assert_eq!(query(" -- !?\u{0} "), Vec::<String>::new());
        assert_eq!(query(&"x".repeat(1_000))[0].len(), 128);
    }

    #[test]
    fn letters_are_the_same_however_they_are_composed() {
        assert_eq!(query("cafe\u{301}"), query("caf\u{e9}"));
        // The sign of Ångström, marks in another order, syllables of Hangul, and a letter that comes apart in lower case.
        for (one, other) in [
            ("\u{212b}", "A\u{30a}"),
            ("q\u{307}\u{323}", "q\u{323}\u{307}"),
            ("\u{d55c}\u{ae00}", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
            ("\u{130}\u{323}", "I\u{323}\u{307}"),
        ] {
            assert_eq!(query(one), query(other), "{one}");
        }
        assert_ne!(query("cafe"), query("caf\u{e9}"), "marks count");
        let of = |text: &str| ItemWords::of("t", &["$".into()], &json!([text]));
        assert_eq!(of("cafe\u{301} cafe\u{301}"), of("caf\u{e9} caf\u{e9}"));
        // One letter with as many marks as a text has room for.
        let marks = "\u{323}\u{301}".repeat(200_000);
        assert_eq!(of(&format!("a{marks}")).total, 1);
    }

    #[test]
    fn a_query_that_is_too_long_is_refused_with_field_and_limit() {
        for (text, max) in [
            ("x ".repeat(513), 1_024),
            ("a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7".into(), 32),
        ] {
            let Err(Error::Invalid { field, limit, .. }) = TextQuery::new(&text) else { panic!() };
            assert_eq!((field.as_str(), limit), ("query", Some(max)));
        }
    }

    #[test]
    fn fields_are_paths_and_a_dollar_is_all() {
        let document =
            json!({"a": {"b": ["one two", {"c": "two"}]}, "d.e": "three", "n": 5, "x": "four"});
        assert_eq!(words(&["$"], &document), (4, 5));
        assert_eq!(words(&["a"], &document), (2, 3));
        assert_eq!(words(&["a.b"], &document), (2, 3));
        assert_eq!(words(&["d.e", "x"], &document), (2, 2));
        assert_eq!(words(&["none", "a.c", "n"], &document), (0, 0));
        assert_eq!(words(&[], &document), (0, 0));
    }

    #[test]
    fn counts_end_and_tenants_differ() {
        let often = ItemWords::of("t", &["$".into()], &json!(["a ".repeat(300)]));
        assert_eq!((often.counts, often.total), (vec![255], 300));
        let of = |tenant| ItemWords::of(tenant, &["$".into()], &json!(["a b"])).words;
        assert!(of("t").iter().all(|it| !of("u").contains(it)));
        assert_eq!(TextQuery::new("b A").unwrap().numbers("t").len(), 2);
        let marked = exact_json::parse("x", br#"["a\ud800b \ufdd0"]"#).unwrap();
        assert_eq!(words(&["$"], &marked).1, 2);
    }
}
