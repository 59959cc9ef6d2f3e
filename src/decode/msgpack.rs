//! Reads MessagePack as LangGraph for Python writes it. It trusts no declared length before the bytes are there.

use super::extensions;
use super::shown::{Budget, Json, Unreadable, deeper, object};
use super::text;

/// Bytes that are not read yet.
pub struct Reader<'a> {
    rest: &'a [u8],
}

/// One value and nothing behind it.
///
/// # Errors
/// Any [`Unreadable`] that bytes can be.
pub fn read(data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    read_at(data, budget, 0)
}

/// The same inside of something that is nested so deep.
///
/// # Errors
/// As [`read`].
pub fn read_at(data: &[u8], budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
    let mut reader = Reader::new(data);
    let value = reader.value(budget, depth)?;
    reader.rest.is_empty().then_some(value).ok_or(Unreadable::Malformed)
}

/// Of the extension that stands first, if there is one.
pub fn extension_code(data: &[u8]) -> Option<i8> {
    match Reader::new(data).item() {
        Ok(Item::Extension(code, _)) => Some(code),
        _ => None,
    }
}

/// What follows a marker.
enum Item<'a> {
    Value(Json),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    List(usize),
    Map(usize),
    Extension(i8, &'a [u8]),
}

impl<'a> Reader<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// # Errors
    /// As [`read`].
    pub fn value(&mut self, budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
        budget.take_value()?;
        match self.item()? {
            Item::Value(value) => Ok(value),
            Item::Text(data) => text::value(data, budget),
            Item::Bytes(data) => text::base64(data, budget),
            Item::List(length) => self.list(length, budget, deeper(depth)?),
            Item::Map(length) => self.map(length, budget, deeper(depth)?),
            Item::Extension(code, data) => extensions::show(code, data, budget, deeper(depth)?),
        }
    }

    /// The number of entries of the list that stands here.
    ///
    /// # Errors
    /// `Malformed` when there is none.
    pub fn list_length(&mut self) -> Result<usize, Unreadable> {
        match self.item()? {
            Item::List(length) => Ok(length),
            _ => Err(Unreadable::Malformed),
        }
    }

    /// The entries of the list that is all there is: as they are shown, and their bytes.
    ///
    /// # Errors
    /// As [`read`].
    pub fn raw_items(mut self, budget: &mut Budget) -> Result<Vec<(Json, Vec<u8>)>, Unreadable> {
        let length = self.list_length()?;
        let mut items = Vec::new();
        for _ in 0..length {
            let from = self.rest;
            let shown = self.value(budget, 1)?;
            items.push((shown, from[..from.len() - self.rest.len()].to_vec()));
        }
        self.end()?;
        Ok(items)
    }

    /// The fields of the map that is all there is: names as they are shown, and the bytes of each name with its value.
    ///
    /// # Errors
    /// As [`read`].
    pub fn raw_fields(mut self, budget: &mut Budget) -> Result<Vec<(String, Vec<u8>)>, Unreadable> {
        let Item::Map(length) = self.item()? else { return Err(Unreadable::Malformed) };
        let mut fields = Vec::new();
        for _ in 0..length {
            budget.take_field()?;
            let from = self.rest;
            let name = self.name(budget, 1)?;
            self.value(budget, 1)?;
            fields.push((name, from[..from.len() - self.rest.len()].to_vec()));
        }
        self.end()?;
        Ok(fields)
    }

    /// # Errors
    /// `Malformed` when no text stands here.
    pub fn text(&mut self) -> Result<&'a str, Unreadable> {
        match self.item()? {
            Item::Text(data) => std::str::from_utf8(data).map_err(|_| Unreadable::Malformed),
            _ => Err(Unreadable::Malformed),
        }
    }

    /// # Errors
    /// `Malformed` when no bytes stand here.
    pub fn bytes(&mut self) -> Result<&'a [u8], Unreadable> {
        match self.item()? {
            Item::Bytes(data) => Ok(data),
            _ => Err(Unreadable::Malformed),
        }
    }

    /// # Errors
    /// `Malformed` when there is more.
    pub fn end(self) -> Result<(), Unreadable> {
        self.rest.is_empty().then_some(()).ok_or(Unreadable::Malformed)
    }

    fn list(&mut self, length: usize, budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
        let outermost = budget.begin_entries(Some(length));
        let mut items = Vec::new();
        for at in 0..length {
            let left = budget.left();
            let mut item = self.value(budget, depth)?;
            if let Some(outermost) = &outermost {
                item = outermost.item(at, item);
                budget.recount(left, &item)?;
            }
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn map(&mut self, length: usize, budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
        let outermost = budget.begin_entries(Some(length));
        let mut fields = Vec::new();
        for _ in 0..length {
            budget.take_field()?;
            let name = budget.uncut(|it| self.name(it, depth))?;
            let left = budget.left();
            let mut value = budget.field(&name, |it| self.value(it, depth))?;
            if let Some(outermost) = &outermost {
                value = outermost.field(&name, value);
                budget.recount(left, &value)?;
            }
            fields.push((name, value));
        }
        Ok(object(fields))
    }

    /// A key, which may be any value.
    fn name(&mut self, budget: &mut Budget, depth: u64) -> Result<String, Unreadable> {
        let start = self.rest;
        if let Item::Extension(code, data) = self.item()? {
            let key = extensions::show(code, data, budget, deeper(depth)?)?;
            let date = extensions::is_date(code, data).then(|| text::date(&key)).flatten();
            return date.map_or_else(|| text::name(key, budget), Ok);
        }
        self.rest = start;
        let key = self.value(budget, depth)?;
        text::name(key, budget)
    }

    fn item(&mut self) -> Result<Item<'a>, Unreadable> {
        let marker = self.byte()?;
        Ok(match marker {
            0x00..=0x7f => Item::Value(Json::Int(i64::from(marker))),
            0x80..=0x8f => Item::Map(usize::from(marker & 0x0f)),
            0x90..=0x9f => Item::List(usize::from(marker & 0x0f)),
            0xa0..=0xbf => Item::Text(self.take(usize::from(marker & 0x1f))?),
            0xc0 => Item::Value(Json::Null),
            0xc1 => return Err(Unreadable::Malformed),
            0xc2 | 0xc3 => Item::Value(Json::Bool(marker == 0xc3)),
            0xc4..=0xc6 => Item::Bytes(self.sized(marker - 0xc4)?),
            0xc7..=0xc9 => {
                let length = self.length(marker - 0xc7)?;
                self.extension(length)?
            }
            0xca => Item::Value(Json::of_float(f32::from_be_bytes(self.array()?).into())),
            0xcb => Item::Value(Json::of_float(f64::from_be_bytes(self.array()?))),
            0xcc => Item::Value(Json::Int(self.byte()?.into())),
            0xcd => Item::Value(Json::Int(u16::from_be_bytes(self.array()?).into())),
            0xce => Item::Value(Json::Int(u32::from_be_bytes(self.array()?).into())),
            0xcf => Item::Value(Json::of(u64::from_be_bytes(self.array()?))),
            0xd0 => Item::Value(Json::Int(i8::from_be_bytes(self.array()?).into())),
            0xd1 => Item::Value(Json::Int(i16::from_be_bytes(self.array()?).into())),
            0xd2 => Item::Value(Json::Int(i32::from_be_bytes(self.array()?).into())),
            0xd3 => Item::Value(Json::Int(i64::from_be_bytes(self.array()?))),
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4))?,
            0xd9..=0xdb => Item::Text(self.sized(marker - 0xd9)?),
            0xdc | 0xdd => Item::List(self.length(marker - 0xdc + 1)?),
            0xde | 0xdf => Item::Map(self.length(marker - 0xde + 1)?),
            0xe0..=0xff => Item::Value(Json::Int(i64::from(marker.cast_signed()))),
        })
    }

    fn extension(&mut self, length: usize) -> Result<Item<'a>, Unreadable> {
        let code = self.byte()?.cast_signed();
        Ok(Item::Extension(code, self.take(length)?))
    }

    fn sized(&mut self, width: u8) -> Result<&'a [u8], Unreadable> {
        let length = self.length(width)?;
        self.take(length)
    }

    /// A length of 1, 2 or 4 bytes.
    fn length(&mut self, width: u8) -> Result<usize, Unreadable> {
        Ok(match width {
            0 => self.byte()?.into(),
            1 => u16::from_be_bytes(self.array()?).into(),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(Unreadable::Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Unreadable> {
        let (first, rest) = self.rest.split_at_checked(length).ok_or(Unreadable::Malformed)?;
        self.rest = rest;
        Ok(first)
    }
}
