//! Reads and replaces fields of JSON text, exactly as they stand in it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::exact_json;
use super::wide_text::WideText;
use crate::domain::error::{Error, Result};

/// Some top-level fields of an object, each as it stands in the text, in the order of `fields`.
///
/// # Errors
/// `Integrity` for text that is no object.
pub fn pick(text: &[u8], fields: &[String]) -> Result<String> {
    let damaged = |_| Error::Integrity("a stored value is no object".into());
    let object: Fields<'_> = serde_json::from_slice(text).map_err(damaged)?;
    let mut picked = Vec::new();
    for field in fields {
        // The last one counts, as parsers have it.
        if let Some((name, value)) = object.0.iter().rfind(|(name, _)| is_named(name, field)) {
            picked.push((name.get().into(), value.get()));
        }
    }
    Ok(joined(&picked))
}

/// Names of an object's fields, in its order; None: no object.
pub fn names(text: &[u8]) -> Option<Vec<WideText>> {
    let object: Fields<'_> = serde_json::from_slice(text).ok()?;
    object
        .0
        .iter()
        .map(|(name, _)| WideText::of_json("value", name.get().as_bytes()).ok())
        .collect()
}

/// The object with some of its fields replaced, added behind the others, or, where the new text is None, left out. The others
/// keep their text.
///
/// # Errors
/// `Integrity` for text that is no object.
pub fn replace(text: &[u8], fields: &[(&str, Option<String>)]) -> Result<String> {
    let damaged = |_| Error::Integrity("a stored value is no object".into());
    let object: Fields<'_> = serde_json::from_slice(text).map_err(damaged)?;
    let mut parts: Vec<(Cow<'_, str>, &str)> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for (name, value) in &object.0 {
        match fields.iter().find(|it| is_named(name, it.0)) {
            None => parts.push((name.get().into(), value.get())),
            // Of several with one name the first place is kept.
            Some((field, _)) if done.contains(field) => {}
            Some((field, new)) => {
                done.push(field);
                parts.extend(new.as_ref().map(|new| (name.get().into(), new.as_str())));
            }
        }
    }
    for (name, new) in fields.iter().filter(|it| !done.contains(&it.0)) {
        parts.extend(new.as_ref().map(|new| (format!("\"{name}\"").into(), new.as_str())));
    }
    Ok(joined(&parts))
}

/// An object of these fields, in JSON text all. Values can be large: each is copied once.
fn joined(parts: &[(Cow<'_, str>, &str)]) -> String {
    let length: usize = parts.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let mut text = String::with_capacity(length + 2);
    text.push('{');
    for (name, value) in parts {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(name);
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// The object with the fields of another one: those of the same names take the place of the first one's, the others come behind. Each
/// keeps its text. Of several fields with one name the last one counts.
///
/// # Errors
/// `Integrity` for text that is no object.
pub fn merge(text: &[u8], changes: &[u8]) -> Result<String> {
    let damaged = |_| Error::Integrity("a stored value is no object".into());
    let mut merged = Vec::<(Cow<'_, str>, &str)>::new();
    let mut places = HashMap::<String, usize>::new();
    for text in [text, changes] {
        let object: Fields<'_> = serde_json::from_slice(text).map_err(damaged)?;
        for (name, value) in &object.0 {
            let field = (name.get().into(), value.get());
            let place = *places.entry(parsed_name(name)?).or_insert(merged.len());
            match merged.get_mut(place) {
                Some(same) => *same = field,
                None => merged.push(field),
            }
        }
    }
    Ok(joined(&merged))
}

fn parsed_name(name: &RawValue) -> Result<String> {
    match exact_json::parse("value", name.get().as_bytes())? {
        Value::String(name) => Ok(name),
        _ => Err(Error::Integrity("the name of a field is no text".into())),
    }
}

fn is_named(name: &RawValue, field: &str) -> bool {
    let parsed = exact_json::parse("value", name.get().as_bytes());
    matches!(parsed, Ok(Value::String(name)) if name == field)
}

/// An object's fields as they stand in its text.
struct Fields<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Visitor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{merge, names, pick, replace};

    #[test]
    fn picked_fields_keep_their_text() {
        let text = br#"{"a": 1.0, "b":{"x" :  2}, "\u0063":"\ud800", "a":1e2}"#;
        let pick = |fields: &[&str]| {
            pick(text, &fields.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(pick(&["b", "a"]), r#"{"b":{"x" :  2},"a":1e2}"#);
        assert_eq!(pick(&["c", "zz"]), r#"{"\u0063":"\ud800"}"#);
        assert_eq!(pick(&[]), "{}");
    }

    #[test]
    fn replaced_fields_leave_the_others_alone() {
        let text = br#"{"a": 1.0, "b":{"x" :  2}, "\u0063":"\ud800", "a":1e2}"#;
        let new = |it: &str| Some(it.to_owned());
        let replaced =
            replace(text, &[("a", new("0")), ("c", None), ("d", new("[]")), ("e", None)]);
        assert_eq!(replaced.unwrap(), r#"{"a":0,"b":{"x" :  2},"d":[]}"#);
        assert_eq!(names(text).unwrap().len(), 4);
        assert_eq!(replace(b" {} ", &[("a", new("1"))]).unwrap(), r#"{"a":1}"#);
        assert!(replace(b"[]", &[]).is_err());
    }

    #[test]
    fn merged_fields_keep_their_text_and_their_place() {
        let merged = |text: &str, changes: &str| merge(text.as_bytes(), changes.as_bytes());
        assert_eq!(
            merged(r#"{"a": 1.0, "\ud800":2}"#, r#"{"b":[ 1 ], "\u0061":null}"#).unwrap(),
            r#"{"\u0061":null,"\ud800":2,"b":[ 1 ]}"#
        );
        assert_eq!(merged("{}", r#"{"a":1,"a":2}"#).unwrap(), r#"{"a":2}"#);
        assert!(merged("{}", "[]").is_err());
    }
}
