//! Answers lists row by row, so that memory does not grow with the list. A short list is answered at once, with its length.

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::IntoResponse as _;
use bytes::Bytes;

use crate::domain::Result;
use crate::domain::scheduling::asker;
use crate::domain::scheduling::shares::Held;
use crate::http::request::call::{Answer, Reply};
use crate::http::request::outgoing::{self, Sender};
use crate::http::request::problem::Problem;

/// Longer lists are sent while they are read.
const AT_ONCE_BYTES: usize = 256 << 10;

/// Rows of a list, one after the other.
#[async_trait]
pub trait Rows: Send + 'static {
    /// The JSON of the next row; None: there are no more.
    async fn next(&mut self) -> Result<Option<Vec<u8>>>;
}

/// What stands around the rows.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    pub before: &'static str,
    pub after: &'static str,
}

/// Nothing but a list.
pub const BARE: Envelope = Envelope { before: "[", after: "]" };

/// A JSON list. What goes wrong before its first bytes are sent is the answer; later it breaks the connection, so that nobody takes the
/// list for a whole one.
///
/// # Errors
/// Those of the rows; 503 where there is no room.
pub async fn list(
    reply: Reply,
    headers: HeaderMap,
    envelope: Envelope,
    mut rows: impl Rows,
) -> Answer {
    let mut held = reply.into_account().open();
    let mut first = envelope.before.as_bytes().to_vec();
    let is_whole = loop {
        let Some(row) = rows.next().await? else {
            first.extend_from_slice(envelope.after.as_bytes());
            break true;
        };
        if first.len() > envelope.before.len() {
            first.push(b',');
        }
        held.grow(row.len())?;
        first.extend_from_slice(&row);
        if first.len() > AT_ONCE_BYTES {
            break false;
        }
    };
    // What was counted row by row is counted as the body from here on.
    held.resize(0)?;
    let body = if is_whole {
        outgoing::whole(held, &Bytes::from(first))?
    } else {
        send(held, first, envelope.after, rows)?
    };
    let kind = HeaderValue::from_static("application/json");
    Ok((headers, [(header::CONTENT_TYPE, kind)], body).into_response())
}

/// # Errors
/// 503 where there is no room.
fn send(
    mut held: Held,
    first: Vec<u8>,
    after: &'static str,
    mut rows: impl Rows,
) -> std::result::Result<Body, Problem> {
    held.grow(first.len())?;
    let (sender, body) = outgoing::channel(&held);
    sender.put(&first, &mut held);
    drop(first);
    asker::spawn(async move {
        loop {
            let row = match rows.next().await {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => return fail(&sender, &error.to_string()),
            };
            if !put(&sender, b",", &mut held).await || !put(&sender, &row, &mut held).await {
                return;
            }
        }
        if put(&sender, after.as_bytes(), &mut held).await {
            sender.end();
        }
    });
    Ok(body)
}

/// False: nobody takes it any more, or there is no room for it.
async fn put(sender: &Sender, bytes: &[u8], held: &mut Held) -> bool {
    if !sender.ready().await {
        return false;
    }
    if held.grow(bytes.len()).is_err() {
        fail(sender, "there is no room for the next row");
        return false;
    }
    sender.put(bytes, held);
    true
}

fn fail(sender: &Sender, cause: &str) {
    tracing::warn!(cause, "a list ends early");
    sender.fail("the list ended early");
}
