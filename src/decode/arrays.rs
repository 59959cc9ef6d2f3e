//! Decodes arrays of numpy, `[dtype, shape, order, bytes]`, into nested lists.

use super::msgpack::Reader;
use super::shown::{Budget, Json, Unreadable, deeper};
use super::text;

/// What numpy itself allows.
const DIMENSIONS_MAX: usize = 64;

struct Array<'a> {
    kind: u8,
    /// Bytes of one element.
    width: usize,
    is_big_endian: bool,
    shape: Vec<usize>,
    /// Elements from one index of a dimension to the next.
    strides: Vec<usize>,
    data: &'a [u8],
}

/// # Errors
/// `Malformed` where shape and bytes differ; `TooDeep`, `TooLarge`.
pub fn show(payload: &[u8], budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
    let mut reader = Reader::new(payload);
    if reader.list_length()? != 4 {
        return Err(Unreadable::Malformed);
    }
    let dtype = reader.text()?;
    let shape = shape(&mut reader, budget)?;
    let is_fortran = reader.text()? == "F";
    let data = reader.bytes()?;
    reader.end()?;
    match Array::new(dtype, shape, is_fortran, data)? {
        Some(array) => array.list(0, 0, budget, depth),
        None => unknown(dtype, data, budget),
    }
}

fn shape(reader: &mut Reader<'_>, budget: &mut Budget) -> Result<Vec<usize>, Unreadable> {
    let count = reader.list_length()?;
    if count > DIMENSIONS_MAX {
        return Err(Unreadable::Malformed);
    }
    let length = |it: Json| match it {
        Json::Int(it) => usize::try_from(it).map_err(|_| Unreadable::Malformed),
        _ => Err(Unreadable::Malformed),
    };
    (0..count).map(|_| reader.value(budget, 0).and_then(length)).collect()
}

/// Elements without a form in JSON: dates, complex numbers, records.
fn unknown(dtype: &str, data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    budget.take(dtype.len() as u64 + 512)?;
    let data = text::base64(data, budget)?;
    Ok(Json::Object(vec![("dtype".to_owned(), Json::text(dtype)), ("data".to_owned(), data)]))
}

impl<'a> Array<'a> {
    /// None: no form in JSON.
    fn new(
        dtype: &str,
        shape: Vec<usize>,
        is_fortran: bool,
        data: &'a [u8],
    ) -> Result<Option<Self>, Unreadable> {
        let Some((kind, width, is_big_endian)) = element(dtype) else { return Ok(None) };
        let count = shape.iter().try_fold(1_usize, |count, it| count.checked_mul(*it));
        let size = count.and_then(|it| it.checked_mul(width)).ok_or(Unreadable::Malformed)?;
        if size != data.len() {
            return Err(Unreadable::Malformed);
        }
        let strides = strides(&shape, is_fortran);
        Ok(Some(Self { kind, width, is_big_endian, shape, strides, data }))
    }

    fn list(
        &self,
        dimension: usize,
        offset: usize,
        budget: &mut Budget,
        depth: u64,
    ) -> Result<Json, Unreadable> {
        budget.take_value()?;
        let Some(&length) = self.shape.get(dimension) else {
            return self.element(offset, budget);
        };
        let (inner, mut items) = (deeper(depth)?, Vec::new());
        for at in 0..length {
            // Without elements the strides are of no meaning, and neither is the sum.
            let offset = offset.saturating_add(at.saturating_mul(self.strides[dimension]));
            items.push(self.list(dimension + 1, offset, budget, inner)?);
        }
        Ok(Json::List(items))
    }

    fn element(&self, offset: usize, budget: &mut Budget) -> Result<Json, Unreadable> {
        let start = offset.checked_mul(self.width).ok_or(Unreadable::Malformed)?;
        let bytes = self.data.get(start..).and_then(|it| it.get(..self.width));
        let bytes = bytes.ok_or(Unreadable::Malformed)?;
        if self.kind == b'U' {
            return self.characters(bytes, budget);
        }
        let mut wide = [0; 8];
        wide[..self.width].copy_from_slice(bytes);
        if self.is_big_endian {
            wide[..self.width].reverse();
        }
        let number = u64::from_le_bytes(wide);
        let unused = 64 - 8 * u32::try_from(self.width).unwrap_or(8);
        Ok(match (self.kind, self.width) {
            (b'b', _) => Json::Bool(number != 0),
            (b'u', _) => Json::of(number),
            (b'i', _) => Json::Int((number << unused).cast_signed() >> unused),
            (b'f', 4) => Json::of_float(f32::from_bits(truncated(number)).into()),
            (b'f', _) => Json::of_float(f64::from_bits(number)),
            _ => return Err(Unreadable::Malformed),
        })
    }

    /// Four bytes each, with NUL up to the width.
    fn characters(&self, bytes: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
        budget.take(bytes.len() as u64)?;
        let point = |it: &[u8]| {
            let four: [u8; 4] = it.try_into().unwrap_or_default();
            if self.is_big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        let points = bytes.chunks_exact(4).map(point);
        let text: String =
            points.map(|it| char::from_u32(it).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        Ok(Json::Text(text.trim_end_matches('\0').to_owned()))
    }
}

/// Kind, bytes and byte order of `<i8`, `|b1`, `>f4`, `<U5`.
fn element(dtype: &str) -> Option<(u8, usize, bool)> {
    let order = dtype.bytes().next().filter(|it| b"<>|=".contains(it))?;
    let kind = *dtype.as_bytes().get(1)?;
    let number: usize = dtype.get(2..)?.parse().ok()?;
    let width = match (kind, number) {
        (b'b', 1) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'f', 4 | 8) => number,
        (b'U', 1..) => number.checked_mul(4)?,
        _ => return None,
    };
    Some((kind, width, order == b'>'))
}

fn strides(shape: &[usize], is_fortran: bool) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let mut step = 1_usize;
    let mut set = |at: usize| {
        strides[at] = step;
        step = step.saturating_mul(shape[at]);
    };
    if is_fortran {
        (0..shape.len()).for_each(&mut set);
    } else {
        (0..shape.len()).rev().for_each(&mut set);
    }
    strides
}

fn truncated(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default()
}
