//! Reads JSON text as clients write it, including lone surrogates, `NaN` and duplicate names. Shows the records that stand for values JSON
//! cannot represent.

use super::javascript::{Revived, revived};
use super::shown::{Budget, Fields, Json, Unreadable, deeper, object};
use super::text;

/// A value with the tag `json`.
///
/// # Errors
/// Any [`Unreadable`] that text can be.
pub fn read_value(data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    read(data, budget, true)
}

/// A document that is JSON and nothing else.
///
/// # Errors
/// As [`read_value`].
pub fn read_text(data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    read(data, budget, false)
}

fn read(data: &[u8], budget: &mut Budget, revives: bool) -> Result<Json, Unreadable> {
    let mut reader = Reader { rest: data, revives };
    let value = reader.value(budget, 0)?;
    reader.space();
    if !reader.rest.is_empty() {
        return Err(Unreadable::Malformed);
    }
    Ok(value.unwrap_or(Json::Null))
}

struct Reader<'a> {
    rest: &'a [u8],
    revives: bool,
}

impl Reader<'_> {
    /// None: `undefined`.
    fn value(&mut self, budget: &mut Budget, depth: u64) -> Result<Option<Json>, Unreadable> {
        budget.take_value()?;
        self.space();
        match self.rest.first() {
            Some(b'{') => self.object(budget, deeper(depth)?),
            Some(b'[') => self.list(budget, deeper(depth)?).map(Some),
            Some(b'"') => {
                let text = self.string(budget)?;
                text::shortened(text, budget).map(Some)
            }
            _ => self.scalar().map(Some),
        }
    }

    fn object(&mut self, budget: &mut Budget, depth: u64) -> Result<Option<Json>, Unreadable> {
        budget.enter_object();
        let mut fields: Fields = Vec::new();
        self.rest = &self.rest[1..];
        let mut is_first = true;
        while !self.closes(b'}', is_first)? {
            is_first = false;
            budget.take_field()?;
            self.space();
            if self.rest.first() != Some(&b'"') {
                return Err(Unreadable::Malformed);
            }
            let name = self.string(budget)?;
            self.space();
            self.expect(b':')?;
            if let Some(value) = budget.field(&name, |it| self.value(it, depth))? {
                fields.push((name, value));
            }
        }
        let shown = object(fields);
        if !self.revives {
            return Ok(Some(shown));
        }
        Ok(match revived(shown, budget)? {
            Revived::Undefined => None,
            Revived::Value(value) => Some(value),
        })
    }

    fn list(&mut self, budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
        let length = budget.needs_length().then(|| self.length(budget, depth)).transpose()?;
        let outermost = budget.begin_entries(length);
        let mut items = Vec::new();
        self.rest = &self.rest[1..];
        while !self.closes(b']', items.is_empty())? {
            let left = budget.left();
            let mut item = self.value(budget, depth)?.unwrap_or(Json::Null);
            if let Some(outermost) = &outermost {
                item = outermost.item(items.len(), item);
                budget.recount(left, &item)?;
            }
            items.push(item);
        }
        Ok(Json::List(items))
    }

    /// The number of items of the list that stands here, which is read again after that.
    fn length(&self, budget: &mut Budget, depth: u64) -> Result<usize, Unreadable> {
        let mut ahead = Reader { rest: &self.rest[1..], revives: self.revives };
        let mut length = 0;
        budget.inside(|budget| {
            while !ahead.closes(b']', length == 0)? {
                let left = budget.left();
                ahead.value(budget, depth)?;
                budget.restore(left);
                length += 1;
            }
            Ok(length)
        })
    }

    /// Whether the end is here; else steps over the comma before the next entry.
    fn closes(&mut self, end: u8, is_first: bool) -> Result<bool, Unreadable> {
        self.space();
        if self.rest.first() == Some(&end) {
            self.rest = &self.rest[1..];
            return Ok(true);
        }
        if !is_first {
            self.expect(b',')?;
        }
        Ok(false)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Unreadable> {
        let (first, rest) = self.rest.split_first().ok_or(Unreadable::Malformed)?;
        if *first != byte {
            return Err(Unreadable::Malformed);
        }
        self.rest = rest;
        Ok(())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn scalar(&mut self) -> Result<Json, Unreadable> {
        let is_part = |it: &u8| it.is_ascii_alphanumeric() || b"+-.".contains(it);
        let length = self.rest.iter().take_while(|it| is_part(it)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        match word {
            b"null" | b"NaN" | b"Infinity" | b"-Infinity" => Ok(Json::Null),
            b"true" => Ok(Json::Bool(true)),
            b"false" => Ok(Json::Bool(false)),
            _ => std::str::from_utf8(word).ok().and_then(number).ok_or(Unreadable::Malformed),
        }
    }

    fn string(&mut self, budget: &mut Budget) -> Result<String, Unreadable> {
        let data = &self.rest[1..];
        let mut end = 0;
        loop {
            match data.get(end).ok_or(Unreadable::Malformed)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.rest = &data[end + 1..];
        let data = &data[..end];
        if data.contains(&b'\\') {
            return unescaped(data, budget);
        }
        text::lossy(data, budget)
    }
}

/// Exact where it is a whole number of 64 bits, else as every JSON reader takes it.
fn number(word: &str) -> Option<Json> {
    let begins = word.strip_prefix('-').unwrap_or(word).bytes().next()?.is_ascii_digit();
    if !begins {
        return None;
    }
    let whole = word.parse().map(Json::Int).ok();
    let whole = whole.or_else(|| word.parse().map(Json::Uint).ok());
    whole.or_else(|| word.parse().map(Json::of_float).ok())
}

/// Lone surrogates become U+FFFD.
fn unescaped(data: &[u8], budget: &mut Budget) -> Result<String, Unreadable> {
    budget.take(data.len() as u64)?;
    let mut units: Vec<u8> = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\\' {
            units.push(*first);
            rest = after;
            continue;
        }
        let (escape, after) = after.split_first().ok_or(Unreadable::Malformed)?;
        rest = after;
        let point = match escape {
            b'u' => {
                let (unit, after) = escaped_point(rest)?;
                rest = after;
                unit
            }
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'"' | b'\\' | b'/' => char::from(*escape),
            _ => return Err(Unreadable::Malformed),
        };
        units.extend_from_slice(point.encode_utf8(&mut [0; 4]).as_bytes());
    }
    text::lossy(&units, budget)
}

/// What stands behind `\u`, with the second half of a pair.
fn escaped_point(rest: &[u8]) -> Result<(char, &[u8]), Unreadable> {
    let (high, after) = unit(rest)?;
    if (0xd800..0xdc00).contains(&high)
        && let Some(second) = after.strip_prefix(b"\\u")
        && let Ok((low @ 0xdc00..0xe000, after)) = unit(second)
    {
        let point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return Ok((char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), after));
    }
    Ok((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), after))
}

fn unit(rest: &[u8]) -> Result<(u32, &[u8]), Unreadable> {
    let (digits, after) = rest.split_at_checked(4).ok_or(Unreadable::Malformed)?;
    let digits = std::str::from_utf8(digits).map_err(|_| Unreadable::Malformed)?;
    let number = u32::from_str_radix(digits, 16).map_err(|_| Unreadable::Malformed)?;
    Ok((number, after))
}
