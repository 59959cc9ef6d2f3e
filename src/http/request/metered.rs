//! Reads a body within limits: counts the entries of lists and maps while they are read, and refuses the first that is too
//! many, before it takes memory. Wraps any deserializer, so that no wire type has to count for itself. `meter.rs` counts, and
//! `entries.rs` says how many entries a list may have.

use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::entries::{self, Counted};
use super::meter::{At, Meter};

/// What `serde_json` calls its raw texts, which are slices of the body.
const RAW: &str = "$serde_json::private::RawValue";

/// A deserializer whose lists and maps are counted.
pub struct Metered<'m, D> {
    inner: D,
    meter: &'m Meter,
    at: At,
    /// Where the name of a field goes that is read next.
    name: Option<&'m Cell<&'static str>>,
}

struct MeteredVisitor<'m, V> {
    inner: V,
    meter: &'m Meter,
    at: At,
    name: Option<&'m Cell<&'static str>>,
}

struct MeteredSeed<'m, S> {
    inner: S,
    meter: &'m Meter,
    at: At,
    name: Option<&'m Cell<&'static str>>,
    /// The list or map that the value is an entry of, and how many came before.
    counted: Option<(Counted, u64)>,
}

struct MeteredSeq<'m, A> {
    inner: A,
    meter: &'m Meter,
    at: At,
    counted: Counted,
    read: u64,
}

struct MeteredMap<'m, A> {
    inner: A,
    meter: &'m Meter,
    at: At,
    counted: Counted,
    read: u64,
    name: Cell<&'static str>,
}

struct MeteredEnum<'m, A> {
    inner: A,
    meter: &'m Meter,
    at: At,
}

impl Meter {
    /// A deserializer that counts here.
    pub fn over<D>(&self, inner: D) -> Metered<'_, D> {
        Metered { inner, meter: self, at: At::default(), name: None }
    }
}

impl<V> MeteredVisitor<'_, V> {
    /// Remembers a name that is one of the struct's, or of a field with a limit.
    fn note(&self, name: &str) {
        if let Some(cell) = self.name {
            let known = self.at.fields.iter().copied().find(|it| *it == name);
            cell.set(known.unwrap_or_else(|| entries::known(name)));
        }
    }
}

/// Hands a call on, with the visitor in its wrapper.
macro_rules! deserialize {
    ($($method:ident($($argument:ident: $type:ty),*)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let Self { inner, meter, at, name } = self;
            inner.$method($($argument,)* MeteredVisitor { inner: visitor, meter, at, name })
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Metered<'_, D> {
    type Error = D::Error;

    deserialize! {
        deserialize_any(), deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(),
        deserialize_i64(), deserialize_i128(), deserialize_u8(), deserialize_u16(), deserialize_u32(),
        deserialize_u64(), deserialize_u128(), deserialize_f32(), deserialize_f64(), deserialize_char(),
        deserialize_str(), deserialize_string(), deserialize_bytes(), deserialize_byte_buf(),
        deserialize_option(), deserialize_unit(), deserialize_unit_struct(name_: &'static str),
        deserialize_seq(), deserialize_tuple(length: usize),
        deserialize_tuple_struct(name_: &'static str, length: usize), deserialize_map(),
        deserialize_enum(name_: &'static str, variants: &'static [&'static str]), deserialize_identifier(),
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        newtype: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Self { inner, meter, at, name } = self;
        if newtype == RAW {
            return inner.deserialize_newtype_struct(newtype, visitor);
        }
        let visitor = MeteredVisitor { inner: visitor, meter, at, name };
        inner.deserialize_newtype_struct(newtype, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        owner: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Self { inner, meter, at, name } = self;
        let visitor =
            MeteredVisitor { inner: visitor, meter, at: At { owner, fields, ..at }, name };
        inner.deserialize_struct(owner, fields, visitor)
    }

    /// What is passed over takes no memory.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($type:ty)),* $(,)?) => {$(
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

macro_rules! visit_name {
    ($($method:ident($type:ty)),* $(,)?) => {$(
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.note(&value);
            self.inner.$method(value)
        }
    )*};
}

/// A small number in the place of a name is one as well.
macro_rules! visit_small {
    ($($method:ident($type:ty)),* $(,)?) => {$(
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            if self.name.is_some() {
                return self.visit_u64(u64::from(value));
            }
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for MeteredVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
           visit_bool(bool), visit_i8(i8), visit_i16(i16), visit_i32(i32), visit_i64(i64), visit_i128(i128),
    visit_u128(u128), visit_f32(f32), visit_f64(f64),
           visit_char(char), visit_byte_buf(Vec<u8>),
       }

    visit_name! { visit_str(&str), visit_borrowed_str(&'de str), visit_string(String) }

    visit_small! { visit_u8(u8), visit_u16(u16), visit_u32(u32) }

    /// MessagePack may name a field by its place.
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<V::Value, E> {
        if self.name.is_some() {
            let place = usize::try_from(value).unwrap_or(usize::MAX);
            self.note(self.at.fields.get(place).copied().unwrap_or_default());
        }
        self.inner.visit_u64(value)
    }

    fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Result<V::Value, E> {
        self.note(std::str::from_utf8(value).unwrap_or_default());
        self.inner.visit_bytes(value)
    }

    fn visit_borrowed_bytes<E: serde::de::Error>(self, value: &'de [u8]) -> Result<V::Value, E> {
        self.note(std::str::from_utf8(value).unwrap_or_default());
        self.inner.visit_borrowed_bytes(value)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let Self { inner: visitor, meter, at, name } = self;
        visitor.visit_some(Metered { inner, meter, at, name })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let Self { inner: visitor, meter, at, name } = self;
        visitor.visit_newtype_struct(Metered { inner, meter, at, name })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Self { inner: visitor, meter, at, .. } = self;
        meter.check_depth(at)?;
        visitor.visit_seq(MeteredSeq { inner, meter, at, counted: at.counted(), read: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Self { inner: visitor, meter, at, .. } = self;
        meter.check_depth(at)?;
        let (counted, name) = (at.counted(), Cell::new(""));
        visitor.visit_map(MeteredMap { inner, meter, at, counted, read: 0, name })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Self { inner: visitor, meter, at, .. } = self;
        visitor.visit_enum(MeteredEnum { inner, meter, at })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for MeteredSeed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let Self { inner: seed, meter, at, name, counted } = self;
        if let Some((counted, before)) = counted {
            meter.count(counted, before)?;
        }
        seed.deserialize(Metered { inner, meter, at, name })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for MeteredSeq<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        inner: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Self { meter, at, counted, read, .. } = self;
        let place = usize::try_from(*read).unwrap_or(usize::MAX);
        // A struct may come as the list of its fields.
        let (at, counted) = match at.fields.get(place) {
            Some(field) => (at.in_field(field), None),
            None => (at.in_list(), Some((*counted, *read))),
        };
        *read += 1;
        self.inner.next_element_seed(MeteredSeed { inner, meter, at, name: None, counted })
    }

    /// Nothing is made room for on the word of a client.
    fn size_hint(&self) -> Option<usize> {
        None
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for MeteredMap<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        inner: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Self { meter, at, counted, read, name, .. } = self;
        // A struct has the fields that it has.
        let counted = at.fields.is_empty().then_some((*counted, *read));
        *read += 1;
        name.set("");
        let (at, name) = (*at, Some(&*name));
        self.inner.next_key_seed(MeteredSeed { inner, meter, at, name, counted })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, inner: S) -> Result<S::Value, A::Error> {
        let (meter, at) = (self.meter, self.at.in_field(self.name.get()));
        self.inner.next_value_seed(MeteredSeed { inner, meter, at, name: None, counted: None })
    }

    fn size_hint(&self) -> Option<usize> {
        None
    }
}

impl<'de, 'm, A: EnumAccess<'de>> EnumAccess<'de> for MeteredEnum<'m, A> {
    type Error = A::Error;
    type Variant = MeteredEnum<'m, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let Self { inner, meter, at } = self;
        let (value, inner) = inner.variant_seed(seed)?;
        Ok((value, MeteredEnum { inner, meter, at }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for MeteredEnum<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, inner: S) -> Result<S::Value, A::Error> {
        let Self { inner: access, meter, at } = self;
        access.newtype_variant_seed(MeteredSeed { inner, meter, at, name: None, counted: None })
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, inner: V) -> Result<V::Value, A::Error> {
        let Self { inner: access, meter, at } = self;
        access.tuple_variant(length, MeteredVisitor { inner, meter, at, name: None })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        inner: V,
    ) -> Result<V::Value, A::Error> {
        let Self { inner: access, meter, at } = self;
        let visitor = MeteredVisitor { inner, meter, at: At { fields, ..at }, name: None };
        access.struct_variant(fields, visitor)
    }
}
