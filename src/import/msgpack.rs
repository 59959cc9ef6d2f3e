//! Walks MessagePack by its lengths. Values are found and copied, never built. Only values that JSON can represent are written as JSON.

use super::step::wrong;
use crate::domain::Result;
use crate::domain::limits::LIMITS;

/// The entries of a map: names, and the bytes of the values.
///
/// # Errors
/// Anything else than one map with text as keys.
pub fn fields(data: &[u8]) -> Result<Vec<(&str, &[u8])>> {
    let mut walk = Walk { rest: data };
    let Head::Map(count) = walk.head()? else { return Err(wrong("a map was expected")) };
    let mut found = Vec::new();
    for _ in 0..count {
        let Head::Text(name) = walk.head()? else { return Err(wrong("a key is not text")) };
        let name = text(name)?;
        let start = walk.rest;
        walk.skip()?;
        found.push((name, &start[..start.len() - walk.rest.len()]));
    }
    if walk.rest.is_empty() { Ok(found) } else { Err(wrong("there is more behind the map")) }
}

/// The content, where the value is bytes.
///
/// # Errors
/// Bytes that are no MessagePack.
pub fn bytes(data: &[u8]) -> Result<Option<&[u8]>> {
    match (Walk { rest: data }).head()? {
        Head::Bytes(bytes) => Ok(Some(bytes)),
        _ => Ok(None),
    }
}

/// One value as JSON text.
///
/// # Errors
/// Bytes that are no MessagePack, and what JSON has no form for.
pub fn json(data: &[u8]) -> Result<String> {
    let (mut walk, mut out) = (Walk { rest: data }, String::new());
    walk.write(&mut out, 0)?;
    Ok(out)
}

/// A string as JSON text.
pub fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Walk<'a> {
    rest: &'a [u8],
}

enum Head<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    List(usize),
    Map(usize),
    Extension,
}

impl<'a> Walk<'a> {
    /// Past one value. Without recursion: depth costs nothing.
    fn skip(&mut self) -> Result<()> {
        let mut left: u64 = 1;
        while left > 0 {
            left -= 1;
            left += match self.head()? {
                Head::List(count) => count as u64,
                Head::Map(count) => 2 * count as u64,
                _ => 0,
            };
        }
        Ok(())
    }

    fn write(&mut self, out: &mut String, depth: u64) -> Result<()> {
        if depth > LIMITS.json_depth_max {
            return Err(wrong("it is nested too deep"));
        }
        match self.head()? {
            Head::Nil => out.push_str("null"),
            Head::Bool(it) => out.push_str(if it { "true" } else { "false" }),
            Head::Unsigned(it) => *out += &it.to_string(),
            Head::Signed(it) => *out += &it.to_string(),
            Head::Float(it) => match serde_json::Number::from_f64(it) {
                Some(number) => *out += &number.to_string(),
                None => return Err(wrong("a number is not finite")),
            },
            Head::Text(it) => *out += &json_text(text(it)?),
            Head::List(count) => {
                self.entries(out, ('[', ']'), count, |walk, out| walk.write(out, depth + 1))?;
            }
            Head::Map(count) => self.entries(out, ('{', '}'), count, |walk, out| {
                let Head::Text(name) = walk.head()? else {
                    return Err(wrong("a key is not text"));
                };
                *out += &json_text(text(name)?);
                out.push(':');
                walk.write(out, depth + 1)
            })?,
            Head::Bytes(_) | Head::Extension => {
                return Err(wrong("bytes or an object stand where only JSON can"));
            }
        }
        Ok(())
    }

    fn entries(
        &mut self,
        out: &mut String,
        (open, close): (char, char),
        count: usize,
        mut entry: impl FnMut(&mut Self, &mut String) -> Result<()>,
    ) -> Result<()> {
        out.push(open);
        for at in 0..count {
            if at > 0 {
                out.push(',');
            }
            entry(self, out)?;
        }
        out.push(close);
        Ok(())
    }

    fn head(&mut self) -> Result<Head<'a>> {
        let marker = self.take(1)?[0];
        Ok(match marker {
            0x00..=0x7f => Head::Unsigned(marker.into()),
            0x80..=0x8f => Head::Map((marker & 0x0f).into()),
            0x90..=0x9f => Head::List((marker & 0x0f).into()),
            0xa0..=0xbf => Head::Text(self.take((marker & 0x1f).into())?),
            0xc0 => Head::Nil,
            0xc1 => return Err(cut()),
            0xc2 | 0xc3 => Head::Bool(marker == 0xc3),
            0xc4..=0xc6 => Head::Bytes(self.sized(1 << (marker - 0xc4))?),
            0xc7..=0xc9 => {
                let length = self.length(1 << (marker - 0xc7))?;
                self.extension(length)?
            }
            #[expect(clippy::cast_possible_truncation, reason = "four bytes were taken")]
            0xca => Head::Float(f32::from_bits(self.number(4)? as u32).into()),
            0xcb => Head::Float(f64::from_bits(self.number(8)?)),
            0xcc..=0xcf => Head::Unsigned(self.number(1 << (marker - 0xcc))?),
            0xd0..=0xd3 => {
                let width = 1 << (marker - 0xd0);
                let unused = 64 - 8 * u32::try_from(width).map_err(|_| cut())?;
                Head::Signed((self.number(width)? << unused).cast_signed() >> unused)
            }
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4))?,
            0xd9..=0xdb => Head::Text(self.sized(1 << (marker - 0xd9))?),
            0xdc | 0xdd => Head::List(self.length(2 << (marker - 0xdc))?),
            0xde | 0xdf => Head::Map(self.length(2 << (marker - 0xde))?),
            0xe0..=0xff => Head::Signed(marker.cast_signed().into()),
        })
    }

    fn extension(&mut self, length: usize) -> Result<Head<'a>> {
        self.take(1)?;
        self.take(length)?;
        Ok(Head::Extension)
    }

    fn sized(&mut self, width: usize) -> Result<&'a [u8]> {
        let length = self.length(width)?;
        self.take(length)
    }

    fn length(&mut self, width: usize) -> Result<usize> {
        usize::try_from(self.number(width)?).map_err(|_| cut())
    }

    fn number(&mut self, width: usize) -> Result<u64> {
        Ok(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (first, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        Ok(first)
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| wrong("a text is not UTF-8"))
}

fn cut() -> crate::domain::Error {
    wrong("it is no MessagePack, or cut short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_become_json() {
        let data = b"\x99\x05\xe0\xcc\xff\xcd\x01\x00\xd0\x80\xd1\xff\x00\xd3\xff\xff\xff\xff\xff\xff\xff\xfe\xcb\x3f\xf0\0\0\0\0\0\0\xca\x3f\0\0\0";
        assert_eq!(json(data).unwrap(), "[5,-32,255,256,-128,-256,-2,1.0,0.5]");
    }

    #[test]
    fn objects_and_endless_lengths_are_refused() {
        for data in [&b"\xd4\x05\x00"[..], b"\xc4\x01\x00", b"\xdd\xff\xff\xff\xff", b"\xc1", b""] {
            assert!(json(data).is_err(), "{data:?}");
        }
        assert!(fields(b"\x81\x01\x02").is_err());
        assert!(fields(b"\x80\x00").is_err());
    }
}
