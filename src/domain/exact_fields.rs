//! Fields of JSON text, as they stand in it.

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::{Error, Result};
use super::exact_json;

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
            picked.push(format!("{}:{}", name.get(), value.get()));
        }
    }
    Ok(format!("{{{}}}", picked.join(",")))
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
    use super::pick;

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
}
