//! Finds the texts of a document at a path, as LangGraph's stores do (`langgraph.store.base.get_text_at_path`). Paths are `a.b`, `list[0]`,
//! `list[-1]`, `list[*].text`, `*`, `{a,b.c}`, and `$` for the whole. Pure.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::exact_json::code_points;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;

/// Where texts are in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    /// None: what is between the brackets is no number, so there is nothing.
    Entry(Option<i64>),
    EachEntry,
    /// Values of an object, or entries of a list.
    Each,
    /// Paths of plain names in one object.
    Fields(Vec<Vec<String>>),
}

impl FieldPath {
    /// # Errors
    /// 422 naming `index` for what is too long.
    pub fn new(text: &str) -> Result<Self> {
        let max = LIMITS.vector_field_bytes_max;
        if text.len() as u64 > max || text.contains('\0') {
            let detail = format!("a path has at most {max} bytes and no NUL");
            return Err(Error::out_of_range("index", detail, max));
        }
        let steps = if text == "$" { Vec::new() } else { tokens(text).map(step).collect() };
        Ok(Self { text: text.to_owned(), steps })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands there, with the name of each: the path, and its number where there are several. So many texts, each cut behind so
    /// many characters: nothing beyond that is written.
    pub fn texts(
        &self,
        document: &Value,
        texts_max: usize,
        characters_max: usize,
    ) -> Vec<(String, String)> {
        let mut found = Found { texts: Vec::new(), has_more: false, texts_max, characters_max };
        if self.steps.is_empty() && texts_max > 0 {
            found.add_json(document);
        } else if !self.steps.is_empty() {
            collect(document, &self.steps, &mut found);
        }
        if let [_] = found.texts.as_slice()
            && !found.has_more
        {
            return found.texts.into_iter().map(|it| (self.text.clone(), it)).collect();
        }
        let named = found.texts.into_iter().enumerate();
        named.map(|(at, it)| (format!("{}.{at}", self.text), it)).collect()
    }
}

/// Texts that were found, as many and as long as are used.
struct Found {
    texts: Vec<String>,
    /// There was one that did not fit.
    has_more: bool,
    texts_max: usize,
    characters_max: usize,
}

impl Found {
    fn add(&mut self, value: &Value) {
        if self.texts.len() >= self.texts_max {
            self.has_more |= !value.is_null();
            return;
        }
        match value {
            Value::Null => {}
            Value::Bool(true) => self.add_cut("True".chars()),
            Value::Bool(false) => self.add_cut("False".chars()),
            Value::Number(number) => self.add_cut(number.to_string().chars()),
            Value::String(text) => self.add_cut(shown(text)),
            Value::Array(_) | Value::Object(_) => self.add_json(value),
        }
    }

    fn add_cut(&mut self, text: impl Iterator<Item = char>) {
        self.texts.push(text.take(self.characters_max).collect());
    }

    fn add_json(&mut self, value: &Value) {
        let mut written = Written { text: String::new(), characters_left: self.characters_max };
        write_json(value, &mut written);
        self.texts.push(written.text);
    }
}

/// A text that takes so many characters and no more.
struct Written {
    text: String,
    characters_left: usize,
}

impl Written {
    fn is_full(&self) -> bool {
        self.characters_left == 0
    }

    fn add(&mut self, characters: impl Iterator<Item = char>) {
        for character in characters.take(self.characters_left) {
            self.text.push(character);
            self.characters_left -= 1;
        }
    }

    /// A string in quotation marks.
    fn add_quoted(&mut self, characters: impl Iterator<Item = char>) {
        let text: String = characters.take(self.characters_left).collect();
        self.add(Value::from(text).to_string().chars());
    }
}

/// Names, and what stands in brackets or braces with them.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    let (mut tokens, mut name) = (Vec::new(), String::new());
    let mut rest = text.chars();
    while let Some(it) = rest.next() {
        match it {
            '[' | '{' => {
                tokens.push(std::mem::take(&mut name));
                let close = if it == '[' { ']' } else { '}' };
                let (mut group, mut depth) = (String::from(it), 1);
                for inner in rest.by_ref() {
                    group.push(inner);
                    depth += i32::from(inner == it) - i32::from(inner == close);
                    if depth == 0 {
                        break;
                    }
                }
                tokens.push(group);
            }
            '.' => tokens.push(std::mem::take(&mut name)),
            other => name.push(other),
        }
    }
    tokens.push(name);
    tokens.into_iter().filter(|it| !it.is_empty())
}

fn step(token: String) -> Step {
    let inside = |open: char, close: char| token.strip_prefix(open)?.strip_suffix(close);
    match (inside('[', ']'), inside('{', '}')) {
        (Some("*"), _) => Step::EachEntry,
        (Some(number), _) => Step::Entry(number.trim().parse().ok()),
        (_, Some(fields)) => {
            let paths = fields.split(',').map(|it| tokens(it.trim()).collect::<Vec<_>>());
            Step::Fields(paths.filter(|it| !it.is_empty()).collect())
        }
        _ if token == "*" => Step::Each,
        _ => Step::Field(token),
    }
}

/// Documents have a limited depth, so this has too.
fn collect(value: &Value, steps: &[Step], found: &mut Found) {
    if found.has_more {
        return;
    }
    let Some((step, rest)) = steps.split_first() else {
        found.add(value);
        return;
    };
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => {
            if let Some(value) = fields.get(name) {
                collect(value, rest, found);
            }
        }
        (Step::Each, Value::Object(fields)) => collect_all(fields.values(), rest, found),
        (Step::Each | Step::EachEntry, Value::Array(entries)) => {
            collect_all(entries.iter(), rest, found);
        }
        (Step::Entry(Some(number)), Value::Array(entries)) => {
            let length = i64::try_from(entries.len()).unwrap_or(i64::MAX);
            let at = if *number < 0 { length.saturating_add(*number) } else { *number };
            if let Some(value) = usize::try_from(at).ok().and_then(|at| entries.get(at)) {
                collect(value, rest, found);
            }
        }
        // What comes behind it counts for nothing, as in the reference.
        (Step::Fields(paths), Value::Object(fields)) => collect_fields(fields, paths, found),
        _ => {}
    }
}

fn collect_all<'a>(values: impl Iterator<Item = &'a Value>, rest: &[Step], found: &mut Found) {
    for value in values {
        if found.has_more {
            return;
        }
        collect(value, rest, found);
    }
}

/// A path that comes again costs a copy of its text.
fn collect_fields(fields: &Map<String, Value>, paths: &[Vec<String>], found: &mut Found) {
    let mut written: HashMap<&[String], usize> = HashMap::new();
    for path in paths {
        if found.has_more {
            return;
        }
        let at = found.texts.len();
        if let Some(first) = written.get(path.as_slice())
            && at < found.texts_max
        {
            found.texts.push(found.texts[*first].clone());
        } else if let Some(value) = at_names(fields, path) {
            found.add(value);
            if found.texts.len() > at {
                written.insert(path, at);
            }
        }
    }
}

fn at_names<'a>(fields: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(fields.get(first)?, |value, name| value.as_object()?.get(name))
}

/// As Python writes it with sorted keys: a space behind commas and colons, characters as they are.
fn write_json(value: &Value, into: &mut Written) {
    match value {
        Value::Array(entries) => {
            into.add("[".chars());
            for (at, entry) in entries.iter().enumerate() {
                if into.is_full() {
                    return;
                }
                into.add(if at > 0 { ", " } else { "" }.chars());
                write_json(entry, into);
            }
            into.add("]".chars());
        }
        Value::Object(fields) => {
            into.add("{".chars());
            for (at, (name, value)) in
                first_fields(fields, into.characters_left).into_iter().enumerate()
            {
                if into.is_full() {
                    return;
                }
                into.add(if at > 0 { ", " } else { "" }.chars());
                into.add_quoted(shown(name));
                into.add(": ".chars());
                write_json(value, into);
            }
            into.add("}".chars());
        }
        Value::String(text) => into.add_quoted(shown(text)),
        other => into.add(other.to_string().chars()),
    }
}

/// The fields in the order of their names, no more than so many characters can hold. An object is not sorted as a whole to be cut.
fn first_fields(fields: &Map<String, Value>, characters: usize) -> Vec<(&String, &Value)> {
    /// `"": 1, `
    const CHARACTERS_MIN: usize = 7;
    let by_name = |a: &(&String, &Value), b: &(&String, &Value)| shown(a.0).cmp(shown(b.0));
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    let fit = characters / CHARACTERS_MIN + 1;
    if fields.len() > fit {
        fields.select_nth_unstable_by(fit, by_name);
        fields.truncate(fit);
    }
    fields.sort_by(by_name);
    fields
}

/// A string of [`super::exact_json::parse`] as a model may read it: without surrogates, which no text has.
fn shown(text: &str) -> impl Iterator<Item = char> + '_ {
    code_points(text).map(|it| char::from_u32(it).unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::exact_json;

    fn texts(path: &str, document: &str) -> Vec<String> {
        let document = exact_json::parse("x", document.as_bytes()).unwrap();
        let found = FieldPath::new(path).unwrap().texts(&document, 128, 32_768);
        found.into_iter().map(|(name, text)| format!("{name}={text}")).collect()
    }

    const DOCUMENT: &str = r#"{"title":"tea","n":1.50,"yes":true,"no":null,"list":[{"t":"a"},{"t":"b"},{}],
        "deep":{"b":{"c":"ü"},"a":[1,"x"]}}"#;

    #[test]
    fn paths_find_what_the_reference_finds() {
        let found = |path: &str| texts(path, DOCUMENT);
        assert_eq!(found("title"), ["title=tea"]);
        assert_eq!(found("n"), ["n=1.50"]);
        assert_eq!(found("yes"), ["yes=True"]);
        assert_eq!(found("no"), [""; 0]);
        assert_eq!(found("absent.x"), [""; 0]);
        assert_eq!(found("list[*].t"), ["list[*].t.0=a", "list[*].t.1=b"]);
        assert_eq!(found("list[0].t"), ["list[0].t=a"]);
        assert_eq!(found("list[-2].t"), ["list[-2].t=b"]);
        assert_eq!(found("list[7].t"), [""; 0]);
        assert_eq!(found("list[x].t"), [""; 0]);
        assert_eq!(found("title[0]"), [""; 0]);
        assert_eq!(found("deep.b.c"), ["deep.b.c=ü"]);
        assert_eq!(found("deep.*"), ["deep.*.0=[1, \"x\"]", "deep.*.1={\"c\": \"ü\"}"]);
        assert_eq!(
            found("{title, deep.b.c,absent,no}"),
            ["{title, deep.b.c,absent,no}.0=tea", "{title, deep.b.c,absent,no}.1=ü"]
        );
    }

    #[test]
    fn the_whole_is_json_with_sorted_keys() {
        let whole = r#"{"b": ["ü", null, 1.0], "a": {"y": 2, "x": "\ud800\u0000\""}}"#;
        let expected =
            "$={\"a\": {\"x\": \"\u{fffd}\\u0000\\\"\", \"y\": 2}, \"b\": [\"ü\", null, 1.0]}";
        assert_eq!(texts("$", whole), [expected]);
        assert_eq!(texts("", whole), [expected.trim_start_matches('$').to_owned()]);
        assert!(FieldPath::new(&"x".repeat(513)).is_err() && FieldPath::new("a\0").is_err());
    }

    #[test]
    fn an_object_is_cut_as_if_it_was_sorted_as_a_whole() {
        let fields: Map<String, Value> =
            (0..2_000).map(|at| (format!("{:03}", at * 7 % 2_000), Value::from(at))).collect();
        let document = Value::Object(fields);
        let whole = FieldPath::new("$").unwrap().texts(&document, 1, usize::MAX).remove(0).1;
        for characters in [1, 7, 8, 500, 6_999, 20_000] {
            let cut = FieldPath::new("$").unwrap().texts(&document, 1, characters).remove(0).1;
            assert_eq!(cut, whole.chars().take(characters).collect::<String>());
        }
    }

    #[test]
    fn a_path_that_comes_again_gives_its_text_again() {
        assert_eq!(
            texts("{n,title,n}", DOCUMENT),
            ["{n,title,n}.0=1.50", "{n,title,n}.1=tea", "{n,title,n}.2=1.50"]
        );
        assert_eq!(texts("{no,n,no}", DOCUMENT), ["{no,n,no}=1.50"]);
        let document = exact_json::parse("x", DOCUMENT.as_bytes()).unwrap();
        assert_eq!(FieldPath::new("{n,n,n}").unwrap().texts(&document, 2, 9).len(), 2);
    }

    #[test]
    fn no_more_is_collected_than_is_used() {
        let large = "x".repeat(1 << 20);
        let document = serde_json::json!({"a": large, "list": vec![large.as_str(); 50]});
        let copies = |path: &str, texts_max| {
            FieldPath::new(path).unwrap().texts(&document, texts_max, 1_000)
        };
        let many = format!("{{{}}}", ["a"; 250].join(","));
        for path in [many.as_str(), "list[*]", "*.*"] {
            let found = copies(path, 7);
            assert_eq!(found.len(), 7, "{path}");
            let bytes = found.iter().map(|it| it.1.capacity()).sum::<usize>();
            assert!(bytes <= 7 * 4_096, "{path}: {bytes}");
        }
        assert!(copies("$", 1)[0].1.capacity() <= 4_096, "the whole is not written to be cut");
        assert!(copies("list", 1)[0].1.starts_with("[\"xxx") && copies("$", 0).is_empty());
        // A name does not depend on how many there may be.
        assert_eq!(copies("list[*]", 1)[0].0, "list[*].0");
        assert_eq!(copies("a", 1)[0].0, "a");
    }
}
