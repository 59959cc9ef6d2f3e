//! Defines the `data` of a value that is sent in parts: their names, and the length of the value.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema as _, ToSchema};

use crate::domain::checkpoints::checkpoint::InParts;
use crate::domain::limits::LIMITS;
use crate::domain::{Error, Result};
use crate::http::request::decode::Received;
use crate::http::request::exact::Data;

/// A value whose bytes travel in parts of their own.
#[derive(ToSchema)]
#[schema(as = ValueInParts)]
pub struct PartsBody<'a> {
    /// Names of its parts, in their order. In a commit as `POST /v1/checkpoints/parts/put` answered them, at most 128; in an answer
    /// for `POST /v1/checkpoints/parts/get`.
    #[schema(value_type = Vec<Data>)]
    pub(in crate::http) parts: PartNames<'a>,
    /// Bytes of the value.
    pub(in crate::http) length: u64,
}

/// Names up to the limit; what comes after is counted and not kept.
pub struct PartNames<'a> {
    kept: Vec<Data<'a>>,
    count: u64,
}

/// Parts of the largest value.
const PARTS_MAX: u64 = LIMITS.value_bytes_max / LIMITS.value_part_bytes;

/// No name that the server gives is longer; these are looked up many at a time.
const PART_NAME_BYTES_MAX: usize = 64;

impl PartsBody<'_> {
    /// Owned.
    ///
    /// # Errors
    /// 413 for a length over the limit, 422 for too many names.
    pub fn into_parts(self, field: &str, received: &Received) -> Result<InParts> {
        let limit = LIMITS.value_bytes_max;
        if self.length > limit {
            return Err(Error::TooLarge { field: field.to_owned(), limit });
        }
        if self.parts.count > PARTS_MAX {
            let detail = format!(
                "{field}.parts has {} entries, at most {PARTS_MAX} are allowed",
                self.parts.count
            );
            return Err(Error::out_of_range(format!("{field}.parts"), detail, PARTS_MAX));
        }
        let is_too_long = |it: &Data<'_>| it.length() > PART_NAME_BYTES_MAX;
        if self.parts.kept.iter().any(is_too_long) {
            let detail = format!("{field}.parts has a name that is none of a part");
            return Err(Error::invalid(format!("{field}.parts"), detail));
        }
        let names = self.parts.kept.into_iter();
        // Copied: a part of the body would keep all of it.
        let names = names.map(|it| Bytes::copy_from_slice(&it.part_of(&received.body)));
        Ok(InParts { names: names.collect(), size_bytes: self.length })
    }

    /// Its schema: no answer to a client that does not send `value_parts` has such a value.
    pub fn described() -> RefOr<Schema> {
        let mut schema = Self::schema();
        if let RefOr::T(Schema::Object(it)) = &mut schema {
            let only = ExtensionsBuilder::new().add("x-only-with", "value_parts");
            it.extensions = Some(only.build());
        }
        schema
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for PartNames<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PartNamesVisitor(PhantomData))
    }
}

struct PartNamesVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for PartNamesVisitor<'a> {
    type Value = PartNames<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names of parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PartNames<'a>, A::Error> {
        let mut names = PartNames { kept: Vec::new(), count: 0 };
        while let Some(name) = list.next_element::<Data<'a>>()? {
            names.count += 1;
            if names.count <= PARTS_MAX {
                names.kept.push(name);
            }
        }
        Ok(names)
    }
}
