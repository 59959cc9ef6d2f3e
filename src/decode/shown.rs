//! Defines JSON for display, the memory it may take, and the reasons why a value is not shown.

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::cut::{Cut, Cuts};
use crate::domain::limits::LIMITS;

/// What a value and its place in a list take at most: a list that grows has up to twice the places it needs.
const VALUE_BYTES: u64 = 64;
/// The same for a field, without its name.
const FIELD_BYTES: u64 = 112;

/// A JSON value whose objects keep their order. Numbers are what JSON readers take them for.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// Above what `Int` holds.
    Uint(u64),
    /// Finite.
    Float(f64),
    Text(String),
    List(Vec<Json>),
    /// No name twice.
    Object(Fields),
    /// What is shown of a value in part.
    Cut(Box<Cut>),
    /// Stands for an entry that the answer will not have, with the bytes of its JSON text. None is left when an answer is made.
    Skipped(u64),
}

pub type Fields = Vec<(String, Json)>;

/// Bytes of memory that values may still take, and what reading them may leave out.
#[derive(Debug)]
pub struct Budget {
    left: u64,
    pub(super) cuts: Option<Cuts>,
    /// The value that is read now must not be cut.
    pub(super) is_uncut: bool,
    /// The next list or map is the outermost of a value.
    pub(super) is_outermost: bool,
}

/// Why a value is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is nested deeper than {}", LIMITS.json_depth_max)]
    TooDeep,
    #[error("it is too large to be shown here")]
    TooLarge,
    #[error("the bytes are not what their codec says")]
    Malformed,
    #[error("it was encrypted by its client")]
    Encrypted,
    #[error("there is no display for this codec")]
    UnknownCodec,
}

impl Budget {
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes, cuts: None, is_uncut: false, is_outermost: false }
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    /// Gives back what was taken since there was so much left.
    pub fn restore(&mut self, left: u64) {
        self.left = left.max(self.left);
    }

    /// Asked before memory is taken.
    ///
    /// # Errors
    /// `TooLarge` when there is not so much left.
    pub fn take(&mut self, bytes: u64) -> Result<(), Unreadable> {
        self.left = self.left.checked_sub(bytes).ok_or(Unreadable::TooLarge)?;
        Ok(())
    }

    pub(super) fn take_value(&mut self) -> Result<(), Unreadable> {
        self.take(VALUE_BYTES)
    }

    pub(super) fn take_field(&mut self) -> Result<(), Unreadable> {
        self.take(FIELD_BYTES)
    }

    /// For a copy of a value.
    pub(super) fn take_again(&mut self, value: &Json) -> Result<(), Unreadable> {
        self.take(value.size_bytes())
    }
}

/// One level further down.
///
/// # Errors
/// `TooDeep` beyond the limit of documents.
pub(super) fn deeper(depth: u64) -> Result<u64, Unreadable> {
    if depth >= LIMITS.json_depth_max {
        return Err(Unreadable::TooDeep);
    }
    Ok(depth + 1)
}

impl Json {
    pub fn of(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Uint(number), Self::Int)
    }

    /// Null for what JSON has no number for.
    pub fn of_float(number: f64) -> Self {
        if number.is_finite() { Self::Float(number) } else { Self::Null }
    }

    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A field of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().find(|(it, _)| it == name).map(|(_, value)| value)
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text, or its beginning where it was cut.
    pub fn text_head(&self) -> Option<&str> {
        match self {
            Self::Cut(cut) => cut.head.as_text(),
            whole => whole.as_text(),
        }
    }

    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    fn size_bytes(&self) -> u64 {
        VALUE_BYTES
            + match self {
                Self::Text(text) => text.len() as u64,
                Self::List(items) => items.iter().map(Self::size_bytes).sum(),
                Self::Object(fields) => fields
                    .iter()
                    .map(|(name, value)| FIELD_BYTES + name.len() as u64 + value.size_bytes())
                    .sum(),
                // With what it says beside its head.
                Self::Cut(cut) => 2 * FIELD_BYTES + cut.head.size_bytes(),
                _ => 0,
            }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null | Self::Skipped(_) => serializer.serialize_unit(),
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Int(it) => serializer.serialize_i64(*it),
            Self::Uint(it) => serializer.serialize_u64(*it),
            Self::Float(it) => serializer.serialize_f64(*it),
            Self::Text(it) => serializer.serialize_str(it),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|it| list.serialize_element(it))?;
                list.end()
            }
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, it)| map.serialize_entry(name, it))?;
                map.end()
            }
            Self::Cut(cut) => cut.serialize(serializer),
        }
    }
}

/// Fields in the order in which their names first came, with the value that came last.
pub(super) fn object(fields: Fields) -> Json {
    let mut names = std::collections::HashMap::with_capacity(fields.len());
    let is_unique =
        fields.iter().enumerate().all(|(at, (name, _))| names.insert(name, at).is_none());
    if is_unique {
        return Json::Object(fields);
    }
    let mut places = std::collections::HashMap::new();
    let mut kept: Fields = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        match places.get(&name) {
            Some(&at) => {
                let field: &mut (String, Json) = &mut kept[at];
                field.1 = value;
            }
            None => {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
    }
    Json::Object(kept)
}
