//! Defines the `data` of a value on the wire: bytes, or an object instead. In requests the object is a difference to a value both sides
//! have. In answers it can also be `same`, the name of a value that the caller holds.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder, Ref, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::parts_wire::{PartNames, PartsBody};
use crate::app::values::{Difference, Digest, Piece};
use crate::domain::checkpoints::checkpoint::InParts;
use crate::domain::limits::LIMITS;
use crate::domain::{Error, Result};
use crate::http::request::decode::Received;
use crate::http::request::exact::{Data, DataOut};

/// `data` in a request.
pub enum DataIn<'a> {
    Whole(Data<'a>),
    Difference(Box<DifferenceBody<'a>>),
    InParts(PartsBody<'a>),
}

/// `data` in an answer: `Whole`, but to a caller that sent `have_values` or `value_parts`.
#[derive(Serialize)]
#[serde(untagged)]
pub enum DataAnswered {
    Whole(DataOut),
    Same { same: DataOut },
    Difference(DifferenceOut),
    InParts { parts: Vec<DataOut>, length: u64 },
}

/// How a value comes out of another one, its base: pieces of the base and bytes, in their order.
#[derive(ToSchema)]
#[schema(as = Difference)]
pub struct DifferenceBody<'a> {
    /// SHA-256 of the base: a value of this thread.
    base: Data<'a>,
    /// At most 1,024.
    #[schema(value_type = Vec<PieceBody>)]
    ops: Pieces<'a>,
    /// SHA-256 of the result.
    sha256: Data<'a>,
    /// Bytes of the result.
    length: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DifferenceOp)]
pub enum PieceBody<'a> {
    /// Offset in the base, and length.
    Copy(CopiedPart),
    #[serde(borrow)]
    Insert(Data<'a>),
}

/// Offset and length. Read by hand: a third number is a wrong shape, and not the end of the document.
pub struct CopiedPart(u64, u64);

#[derive(Serialize)]
pub struct DifferenceOut {
    base: DataOut,
    ops: Vec<PieceOut>,
    sha256: DataOut,
    length: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum PieceOut {
    Copy([u64; 2]),
    Insert(DataOut),
}

/// The value that the caller holds under this name.
#[derive(ToSchema)]
#[schema(as = SameValue)]
#[expect(dead_code, reason = "only the document reads it")]
struct Same<'a> {
    /// SHA-256 of a value that the request named or that came earlier in this answer.
    same: Data<'a>,
}

/// What `data` may be instead of bytes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectBody<'a> {
    #[serde(borrow)]
    base: Option<Data<'a>>,
    #[serde(borrow)]
    ops: Option<Pieces<'a>>,
    #[serde(borrow)]
    sha256: Option<Data<'a>>,
    #[serde(borrow)]
    parts: Option<PartNames<'a>>,
    length: Option<u64>,
}

/// Pieces up to the limit; what comes after is counted and not kept.
struct Pieces<'a> {
    kept: Vec<PieceBody<'a>>,
    count: u64,
}

impl DifferenceBody<'_> {
    /// Owned, with its lengths checked.
    ///
    /// # Errors
    /// 422 for digests that are none and for too many pieces.
    pub fn into_difference(self, field: &str, received: &Received) -> Result<Difference> {
        let max = LIMITS.difference_ops_max;
        if self.ops.count > max {
            let detail =
                format!("{field}.ops has {} entries, at most {max} are allowed", self.ops.count);
            return Err(Error::out_of_range(format!("{field}.ops"), detail, max));
        }
        let pieces = self.ops.kept.into_iter().map(|it| match it {
            PieceBody::Copy(CopiedPart(offset, length)) => Piece::Copy { offset, length },
            PieceBody::Insert(data) => Piece::Insert(data.part_of(&received.body)),
        });
        Ok(Difference {
            pieces: pieces.collect(),
            base: name(&format!("{field}.base"), self.base, received)?,
            digest: name(&format!("{field}.sha256"), self.sha256, received)?,
            size_bytes: self.length,
        })
    }
}

fn name(field: &str, data: Data<'_>, received: &Received) -> Result<Digest> {
    Digest::try_from(&data.part_of(&received.body)[..])
        .map_err(|_| Error::out_of_range(field, format!("{field} must be a SHA-256, 32 bytes"), 32))
}

impl From<Difference> for DifferenceOut {
    fn from(difference: Difference) -> Self {
        let pieces = difference.pieces.into_iter().map(|it| match it {
            Piece::Copy { offset, length } => PieceOut::Copy([offset, length]),
            Piece::Insert(data) => PieceOut::Insert(DataOut(data)),
        });
        Self {
            base: name_out(&difference.base),
            ops: pieces.collect(),
            sha256: name_out(&difference.digest),
            length: difference.size_bytes,
        }
    }
}

impl DataAnswered {
    pub fn same(digest: &Digest) -> Self {
        Self::Same { same: name_out(digest) }
    }

    pub fn in_parts(value: InParts) -> Self {
        let parts = value.names.into_iter().map(DataOut).collect();
        Self::InParts { parts, length: value.size_bytes }
    }
}

fn name_out(digest: &Digest) -> DataOut {
    DataOut(bytes::Bytes::copy_from_slice(digest))
}

impl<'de: 'a, 'a> Deserialize<'de> for DataIn<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_text = deserializer.is_human_readable();
        deserializer.deserialize_any(DataVisitor { is_text })
    }
}

struct DataVisitor {
    is_text: bool,
}

impl<'de> Visitor<'de> for DataVisitor {
    type Value = DataIn<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = if self.is_text { "padded base64 text" } else { "data as bin" };
        write!(f, "{form}, a difference, or a value in parts")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DataIn<'de>, E> {
        if !self.is_text {
            return Err(E::invalid_type(Unexpected::Str("…"), &self));
        }
        Data::of_base64(text).map(DataIn::Whole)
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<DataIn<'de>, E> {
        Ok(DataIn::Whole(Data::borrowed(bytes)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DataIn<'de>, A::Error> {
        let found = ObjectBody::deserialize(MapAccessDeserializer::new(map))?;
        let missing = A::Error::missing_field;
        let Some(parts) = found.parts else {
            return Ok(DataIn::Difference(Box::new(DifferenceBody {
                base: found.base.ok_or_else(|| missing("base"))?,
                ops: found.ops.ok_or_else(|| missing("ops"))?,
                sha256: found.sha256.ok_or_else(|| missing("sha256"))?,
                length: found.length.ok_or_else(|| missing("length"))?,
            })));
        };
        if found.base.is_some() || found.ops.is_some() || found.sha256.is_some() {
            return Err(A::Error::custom("a value in parts is no difference"));
        }
        let length = found.length.ok_or_else(|| missing("length"))?;
        Ok(DataIn::InParts(PartsBody { parts, length }))
    }
}

impl<'de> Deserialize<'de> for CopiedPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = CopiedPart;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an offset and a length")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CopiedPart, A::Error> {
        let mut numbers = [0; 2];
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = list.next_element()?.ok_or_else(|| A::Error::invalid_length(at, &self))?;
        }
        match list.next_element::<u64>()? {
            None => Ok(CopiedPart(numbers[0], numbers[1])),
            Some(_) => Err(A::Error::invalid_length(3, &self)),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pieces<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PiecesVisitor(PhantomData))
    }
}

struct PiecesVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for PiecesVisitor<'a> {
    type Value = Pieces<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of copies and inserts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pieces<'a>, A::Error> {
        let mut pieces = Pieces { kept: Vec::new(), count: 0 };
        while let Some(piece) = list.next_element::<PieceBody<'a>>()? {
            pieces.count += 1;
            if pieces.count <= LIMITS.difference_ops_max {
                pieces.kept.push(piece);
            }
        }
        Ok(pieces)
    }
}

impl PartialSchema for CopiedPart {
    fn schema() -> RefOr<Schema> {
        let two = ArrayBuilder::new().items(u64::schema()).min_items(Some(2)).max_items(Some(2));
        two.description(Some("Offset and length.")).into()
    }
}

impl ToSchema for CopiedPart {}

/// The schema of `data` that may be one of these instead.
fn one_of(names: &[&str]) -> RefOr<Schema> {
    let all =
        names.iter().fold(OneOfBuilder::new(), |all, it| all.item(Ref::from_schema_name(*it)));
    Schema::OneOf(all.build()).into()
}

type Schemas = Vec<(String, RefOr<Schema>)>;

fn add_difference(schemas: &mut Schemas) {
    schemas.push((Data::name().into(), Data::schema()));
    schemas.push((DifferenceBody::name().into(), DifferenceBody::schema()));
    DifferenceBody::schemas(schemas);
    schemas.push((PartsBody::name().into(), PartsBody::described()));
}

impl PartialSchema for DataIn<'_> {
    fn schema() -> RefOr<Schema> {
        one_of(&["Data", "Difference", "ValueInParts"])
    }
}

impl PartialSchema for DataAnswered {
    fn schema() -> RefOr<Schema> {
        one_of(&["Data", "SameValue", "Difference", "ValueInParts"])
    }
}

impl ToSchema for DataIn<'_> {
    fn schemas(schemas: &mut Schemas) {
        add_difference(schemas);
    }
}

impl ToSchema for DataAnswered {
    fn schemas(schemas: &mut Schemas) {
        add_difference(schemas);
        schemas.push((Same::name().into(), Same::schema()));
    }
}
