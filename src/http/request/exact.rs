//! Defines the fields whose form differs between JSON and MessagePack. Text that must survive exactly stays unparsed, and data is bytes.
//! Both are slices of the request's body wherever they can be.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{RefOr, extensions::ExtensionsBuilder};
use utoipa::{PartialSchema, ToSchema};

/// The error of exact text that is not text at all.
pub const NOT_UTF8: &str = "the text is not UTF-8";

/// Exact JSON text in a request: in place in JSON, `bin` in MessagePack.
#[derive(Debug)]
pub struct Exact<'a>(pub &'a [u8]);

/// Serialized bytes in a request: base64 in JSON, `bin` in MessagePack.
#[derive(Debug)]
pub struct Data<'a>(Cow<'a, [u8]>);

/// Text in a request: never `bin`, always UTF-8.
#[derive(Debug, Clone)]
pub struct Text(pub String);

/// Exact JSON text in an answer.
#[derive(Debug)]
pub struct ExactOut(pub Bytes);

/// Serialized bytes in an answer.
#[derive(Debug)]
pub struct DataOut(pub Bytes);

impl Exact<'_> {
    /// The text as a part of the body it came from; no copy.
    pub fn part_of(&self, body: &Bytes) -> Bytes {
        body.slice_ref(self.0)
    }
}

impl<'a> Data<'a> {
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }

    /// # Errors
    /// When it is not padded base64.
    pub fn of_base64<E: serde::de::Error>(text: &str) -> Result<Self, E> {
        Base64.visit_str(text).map(|it| Self(Cow::Owned(it)))
    }

    /// In bytes.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// The bytes, as a part of the body where they stood in it as they are.
    pub fn part_of(self, body: &Bytes) -> Bytes {
        match self.0 {
            Cow::Borrowed(part) => body.slice_ref(part),
            Cow::Owned(decoded) => Bytes::from(decoded),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Exact<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = <&'de RawValue>::deserialize(deserializer)?;
            return Ok(Self(text.get().as_bytes()));
        }
        let text = deserializer.deserialize_bytes(Bin("JSON text as bin"))?;
        // In JSON the whole body is checked; the same mistake gets the same answer here.
        std::str::from_utf8(text).map_err(|_| D::Error::custom(NOT_UTF8))?;
        Ok(Self(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Data<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_str(Base64).map(|it| Self(Cow::Owned(it)));
        }
        deserializer.deserialize_bytes(Bin("data as bin")).map(|it| Self(Cow::Borrowed(it)))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(Utf8).map(Self)
    }
}

struct Bin(&'static str);

impl<'de> Visitor<'de> for Bin {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(bytes)
    }
}

struct Base64;

impl Visitor<'_> for Base64 {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("padded base64 text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        STANDARD.decode(text).map_err(|error| E::custom(format!("not padded base64: {error}")))
    }
}

struct Utf8;

impl Visitor<'_> for Utf8 {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }
}

impl Serialize for ExactOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            let text: &RawValue = serde_json::from_slice(&self.0)
                .map_err(|_| serde::ser::Error::custom("a stored document is not JSON"))?;
            return text.serialize(serializer);
        }
        serializer.serialize_bytes(&self.0)
    }
}

impl Serialize for DataOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(&STANDARD.encode(&self.0));
        }
        serializer.serialize_bytes(&self.0)
    }
}

const EXACT: &str = "Exact JSON text: kept and answered byte for byte. In place in application/json; in \
    application/msgpack a `bin` with the UTF-8 JSON text.";
const DATA: &str = "Serialized bytes: base64 (standard alphabet, padded) in application/json, `bin` in application/msgpack.";

impl PartialSchema for Exact<'_> {
    fn schema() -> RefOr<Schema> {
        let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(EXACT));
        any.extensions(Some(msgpack_bin())).into()
    }
}

impl PartialSchema for Data<'_> {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).description(Some(DATA));
        text.content_encoding("base64").extensions(Some(msgpack_bin())).into()
    }
}

impl PartialSchema for Text {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).into()
    }
}

fn msgpack_bin() -> utoipa::openapi::extensions::Extensions {
    ExtensionsBuilder::new().add("x-msgpack", "bin").build()
}

impl ToSchema for Exact<'_> {}
impl ToSchema for Data<'_> {}
impl ToSchema for Text {}
