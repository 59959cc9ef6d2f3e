//! Defines keys of items on the wire. A key that UTF-8 cannot encode is sent as the JSON text of the string.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::domain::Result;
use crate::domain::store::item::Key;
use crate::http::request::exact::ExactOut;

/// A key in a request.
#[derive(Debug)]
pub enum KeyIn<'a> {
    Text(Cow<'a, str>),
    /// JSON text of a string.
    Json(&'a [u8]),
}

/// A key in an answer.
#[derive(Debug)]
pub struct KeyOut(pub Key);

impl KeyIn<'_> {
    /// # Errors
    /// 422 over the limit, and for anything but a string.
    pub fn into_domain(self) -> Result<Key> {
        match self {
            Self::Text(text) => Key::of_text(&text),
            Self::Json(json) => Key::of_json(json),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for KeyIn<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = <&'de RawValue>::deserialize(deserializer)?;
            return Ok(Self::Json(text.get().as_bytes()));
        }
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = KeyIn<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or its JSON text as bin")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(KeyIn::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(KeyIn::Text(Cow::Borrowed(text)))
    }

    fn visit_borrowed_bytes<E>(self, json: &'de [u8]) -> Result<Self::Value, E> {
        Ok(KeyIn::Json(json))
    }
}

impl Serialize for KeyOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.text() {
            Some(text) => serializer.serialize_str(text),
            None => ExactOut(Bytes::from(self.0.json())).serialize(serializer),
        }
    }
}

const KEY: &str = "Any string, also empty, with NUL or with lone surrogates. In application/msgpack a `str`; one with lone \
    surrogates is a `bin` with the JSON text of the string.";

impl PartialSchema for KeyIn<'_> {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).description(Some(KEY));
        let mark = ExtensionsBuilder::new().add("x-msgpack", "str or bin").build();
        text.extensions(Some(mark)).into()
    }
}

impl ToSchema for KeyIn<'_> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ItemKey")
    }
}
