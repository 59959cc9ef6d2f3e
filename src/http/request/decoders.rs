//! Decodes the largest wire types by number, for tests that feed them arbitrary bytes (tests/fuzz).

use bytes::Bytes;

use super::decode::{self, Input, Received};
use super::media::Format;
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

fn read<T: Input>(received: &Received) -> Result<(), (u16, &'static str, String)> {
    let problem = decode::decode::<T>(received).err();
    problem.map_or(Ok(()), |it| {
        let (status, code, _) = it.code.parts();
        Err((status, code, it.field.unwrap_or_default()))
    })
}
