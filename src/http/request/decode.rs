//! Decodes a body into a typed request. Malformed bytes are 400, well-formed bytes of the wrong shape are 422 with the field. A document
//! that nests too deep is one of the two and never a crash, because no code here recurses into unknown fields.

use axum::http::HeaderMap;
use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};

use super::exact::NOT_UTF8;
use super::media::Format;
use super::meter::{Meter, Refusal};
use super::problem::{Code, Problem};
use crate::domain::limits::LIMITS;
use crate::domain::{Error, Result as DomainResult};

/// Of an error, and of a field's path in it.
const QUOTED_BYTES_MAX: usize = 1_024;

/// A request of the domain, and the shape in which it arrives.
pub trait Input: Sized + Send + 'static {
    /// Borrows from the body.
    type Wire<'a>: Deserialize<'a>;

    /// # Errors
    /// 422 naming the field.
    fn from_wire(wire: Self::Wire<'_>, received: &Received) -> DomainResult<Self>;
}

/// What arrived.
#[derive(Debug)]
pub struct Received {
    pub format: Format,
    pub body: Bytes,
    /// Key that the caller gave this request, checked; see [`Received::idempotency`].
    pub idempotency_key: Option<String>,
}

impl Received {
    /// The request's key with the digest of route and body.
    pub fn idempotency(&self, route: &str) -> Option<(String, [u8; 32])> {
        Some((self.idempotency_key.clone()?, self.digest(route)))
    }

    /// The SHA-256 of route and body.
    pub fn digest(&self, route: &str) -> [u8; 32] {
        let digest = Sha256::new().chain_update(route).chain_update([0]).chain_update(&self.body);
        digest.finalize().into()
    }
}

/// # Errors
/// 422 when there is one and it is not 1-255 visible ASCII characters.
pub fn idempotency_key(headers: &HeaderMap) -> DomainResult<Option<String>> {
    const NAME: &str = "Idempotency-Key";
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let max = LIMITS.idempotency_key_bytes_max;
    let legal = |text: &&str| {
        let visible = text.bytes().all(|it| it.is_ascii_graphic());
        visible && !text.is_empty() && text.len() as u64 <= max
    };
    let text = value.to_str().ok().filter(legal).ok_or_else(|| {
        let detail = format!("{NAME} must be 1 to {max} visible ASCII characters");
        Error::out_of_range(NAME, detail, max)
    })?;
    Ok(Some(text.to_owned()))
}

/// # Errors
/// 400 and 422, see the module.
pub fn decode<T: Input>(received: &Received) -> Result<T, Problem> {
    let bytes = &received.body[..];
    let wire = match received.format {
        Format::Json => from_json(bytes),
        Format::MessagePack => from_msgpack(bytes),
    };
    Ok(T::from_wire(wire?, received)?)
}

fn from_json<'a, W: Deserialize<'a>>(bytes: &'a [u8]) -> Result<W, Problem> {
    if bytes.trim_ascii_start().first().is_some_and(|it| *it != b'{') {
        return Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => not_an_object(),
            Err(error) => malformed(error.to_string()),
        });
    }
    let meter = Meter::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = W::deserialize(meter.over(&mut deserializer));
    let wire = read.and_then(|wire| deserializer.end().map(|()| wire));
    wire.map_err(|error| {
        let detail = error.to_string();
        if let Some(refusal) = meter.refusal() {
            return refusal.into();
        }
        if !error.is_data() {
            return malformed(detail);
        }
        let mut again = serde_json::Deserializer::from_slice(bytes);
        invalid(&detail, path::<W, _>(Meter::default().over(&mut again)))
    })
}

fn from_msgpack<'a, W: Deserialize<'a>>(bytes: &'a [u8]) -> Result<W, Problem> {
    let is_map = |first: &u8| matches!(first, 0x80..=0x8f | 0xde | 0xdf | 0xc1);
    if !bytes.first().is_none_or(is_map) {
        return Err(not_an_object());
    }
    let meter = Meter::default();
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    let wire = W::deserialize(meter.over(&mut deserializer)).map_err(|error| {
        let detail = error.to_string();
        if let Some(refusal) = meter.refusal() {
            return refusal.into();
        }
        if is_malformed(&error) {
            return malformed(detail);
        }
        let mut again = rmp_serde::Deserializer::from_read_ref(bytes);
        invalid(&detail, path::<W, _>(Meter::default().over(&mut again)))
    })?;
    // After the document only the end may come.
    match IgnoredAny::deserialize(&mut deserializer) {
        Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) => Ok(wire),
        _ => Err(malformed("bytes follow the document".into())),
    }
}

fn is_malformed(error: &rmp_serde::decode::Error) -> bool {
    use rmp_serde::decode::Error;
    match error {
        Error::InvalidMarkerRead(_) | Error::InvalidDataRead(_) | Error::Utf8Error(_) => true,
        Error::Syntax(reason) => reason == NOT_UTF8,
        // 0xc1, which no document has; the type of the marker is not exported.
        Error::TypeMismatch(marker) => format!("{marker:?}") == "Reserved",
        _ => false,
    }
}

/// Structs could be read from arrays too, which no document of ours describes.
fn not_an_object() -> Problem {
    Problem::new(Code::Invalid, "the body must be an object with named fields").at("body")
}

/// Reads again, slowly, to learn where it fails. Empty when that is the document itself.
fn path<'de, W: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> String {
    let found = serde_path_to_error::deserialize::<D, W>(deserializer);
    let path = found.err().map(|error| error.path().to_string());
    path.filter(|path| path != ".").unwrap_or_default()
}

/// Names a missing or unknown field by its parent's path and its name.
fn invalid(detail: &str, path: String) -> Problem {
    let about_a_field = ["missing field `", "unknown field `", "duplicate field `"];
    let name = about_a_field.iter().find_map(|it| detail.strip_prefix(it)?.split('`').next());
    let field = match name {
        Some(name) if path.is_empty() => name.to_owned(),
        Some(name) if path.rsplit('.').next() == Some(name) => path,
        Some(name) => format!("{path}.{name}"),
        None if path.is_empty() => "body".to_owned(),
        None => path,
    };
    let (field, detail) = (shortened(field), shortened(detail.to_owned()));
    Problem::new(Code::Invalid, format!("{field}: {detail}")).at(field)
}

fn malformed(detail: String) -> Problem {
    Problem::new(Code::MalformedBody, shortened(detail)).at("body")
}

/// Errors quote what they found, which may be most of the body.
fn shortened(mut text: String) -> String {
    if text.len() > QUOTED_BYTES_MAX {
        text.truncate(text.floor_char_boundary(QUOTED_BYTES_MAX));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let Refusal { field, limit, detail } = refusal;
        Self::new(Code::Invalid, detail).at(field).limited(limit)
    }
}
