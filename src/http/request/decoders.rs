//! Decodes the largest wire types, and texts of addresses and heads, by number, for tests that feed them arbitrary bytes (tests/fuzz).

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use bytes::Bytes;

use super::cursor;
use super::decode::{self, Input, Received};
use super::media::Format;
use super::query_fields::Fields;
use crate::http::checkpoints::expand::Draft;
use crate::http::checkpoints::pruning::Prune;
use crate::http::checkpoints::reading::{Get, History, List};
use crate::http::snapshots::restoring::Restoring;
use crate::http::store::batch::Batch;

/// How many there are.
pub const COUNT: u8 = 7;

/// Reads a body as one of the operations does.
///
/// # Errors
/// Status, code and field of the answer.
pub fn decode(number: u8, is_json: bool, body: &[u8]) -> Result<(), (u16, &'static str, String)> {
    let format = if is_json { Format::Json } else { Format::MessagePack };
    let received = Received { format, body: Bytes::copy_from_slice(body), idempotency_key: None };
    match number % COUNT {
        0 => read::<Draft>(&received),
        1 => read::<Batch>(&received),
        2 => read::<Restoring>(&received),
        3 => read::<Prune>(&received),
        4 => read::<Get>(&received),
        5 => read::<List>(&received),
        _ => read::<History>(&received),
    }
}

/// How many texts there are.
pub const TEXTS: u8 = 4;

/// Reads a text as operations do: a cursor, `Accept`, `Content-Type`, a query. Answers a text that says the same, or nothing where it is
/// refused.
pub fn read_text(number: u8, text: &str) -> Option<String> {
    match number % TEXTS {
        0 => {
            let position: (String, i64, Vec<String>) = cursor::decode("kind", text).ok()?;
            Some(cursor::encode("kind", &position))
        }
        1 => form(Format::wanted(&head(header::ACCEPT, text)?).ok()?),
        2 => form(Format::sent(&head(header::CONTENT_TYPE, text)?).ok()?),
        _ => {
            let uri = Uri::builder().path_and_query(format!("/?{text}")).build().ok()?;
            let fields = Fields::of(&uri, &["a", "b"]).ok()?;
            let mut again = url::form_urlencoded::Serializer::new(String::new());
            for name in ["a", "b"] {
                for it in fields.all(name) {
                    again.append_pair(name, it);
                }
            }
            Some(again.finish())
        }
    }
}

fn head(name: HeaderName, text: &str) -> Option<HeaderMap> {
    Some(HeaderMap::from_iter([(name, HeaderValue::from_str(text).ok()?)]))
}

fn form(format: Format) -> Option<String> {
    format.content_type().to_str().ok().map(str::to_owned)
}

fn read<T: Input>(received: &Received) -> Result<(), (u16, &'static str, String)> {
    let problem = decode::decode::<T>(received).err();
    problem.map_or(Ok(()), |it| {
        let (status, code, _) = it.code.parts();
        Err((status, code, it.field.unwrap_or_default()))
    })
}
