//! Defines texts that may hold lone surrogates, which UTF-8 cannot encode. In MessagePack such a text is sent as the JSON text of the
//! string, as keys of items are.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::exact::ExactOut;
use crate::domain::Result;
use crate::domain::files::path::of_request;
use crate::domain::json::wide_text::WideText;
use crate::domain::store::item::Key;
use crate::http::store::key::KeyIn;

/// Any string in a request.
#[derive(Debug)]
pub struct WideIn<'a>(KeyIn<'a>);

/// Any string in an answer.
#[derive(Debug)]
pub struct WideOut(pub WideText);

impl WideIn<'_> {
    /// # Errors
    /// 422 for anything but a string.
    pub fn text(self, field: &str) -> Result<WideText> {
        match self.0 {
            KeyIn::Text(text) => Ok(text.into_owned().into()),
            KeyIn::Json(json) => WideText::of_json(field, json),
        }
    }

    /// The path of a file.
    ///
    /// # Errors
    /// `invalid_path` over the limit.
    pub fn path(self, field: &str) -> Result<Key> {
        of_request(self.text(field)?)
    }
}

impl From<&Key> for WideOut {
    fn from(key: &Key) -> Self {
        Self(key.wide().clone())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WideIn<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        KeyIn::deserialize(deserializer).map(Self)
    }
}

impl Serialize for WideOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.text() {
            Some(text) => serializer.serialize_str(text),
            None => ExactOut(Bytes::from(self.0.json())).serialize(serializer),
        }
    }
}

const TEXT: &str = "Any string, with NUL or lone surrogates too. In application/msgpack a `str`; one with lone surrogates is a \
    `bin` with the JSON text of the string.";

impl PartialSchema for WideIn<'_> {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).description(Some(TEXT));
        let mark = ExtensionsBuilder::new().add("x-msgpack", "str or bin").build();
        text.extensions(Some(mark)).into()
    }
}

impl ToSchema for WideIn<'_> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AnyText")
    }
}
