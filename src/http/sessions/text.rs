//! Defines contents of documents on the wire: any string. A string that UTF-8 cannot encode is sent as its JSON text.

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
use crate::domain::json::wide_text::WideText;
use crate::http::request::exact::ExactOut;

/// A content in a request.
#[derive(Debug)]
pub enum ContentIn<'a> {
    Text(Cow<'a, str>),
    /// JSON text of a string.
    Json(&'a [u8]),
}

/// A content in an answer.
#[derive(Debug)]
pub struct ContentOut(pub Bytes);

impl ContentIn<'_> {
    /// # Errors
    /// 422 for anything but a string.
    pub fn into_bytes(self, field: &str) -> Result<Bytes> {
        match self {
            Self::Text(text) => Ok(Bytes::from(text.into_owned())),
            Self::Json(json) => {
                WideText::of_json(field, json).map(|it| Bytes::from(it.into_bytes()))
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ContentIn<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = <&'de RawValue>::deserialize(deserializer)?;
            return Ok(Self::Json(text.get().as_bytes()));
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = ContentIn<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or its JSON text as bin")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(ContentIn::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(ContentIn::Text(Cow::Borrowed(text)))
    }

    fn visit_borrowed_bytes<E>(self, json: &'de [u8]) -> Result<Self::Value, E> {
        Ok(ContentIn::Json(json))
    }
}

impl Serialize for ContentOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let wide = WideText::of_bytes(self.0.to_vec());
                ExactOut(Bytes::from(wide.json())).serialize(serializer)
            }
        }
    }
}

const CONTENT: &str = "Any string, also with NUL or with lone surrogates. In application/msgpack a `str`; one with lone \
    surrogates is a `bin` with the JSON text of the string.";

impl PartialSchema for ContentIn<'_> {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).description(Some(CONTENT));
        let mark = ExtensionsBuilder::new().add("x-msgpack", "str or bin").build();
        text.extensions(Some(mark)).into()
    }
}

impl ToSchema for ContentIn<'_> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("DocumentContent")
    }
}
