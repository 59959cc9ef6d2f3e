//! Wraps one accepted connection for hyper. It detects the version that the client speaks. A request whose head hyper refuses is answered
//! with a problem like everything else.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::domain::clock::random_hex;
use crate::domain::limits::LIMITS;
use crate::http::request::problem::{Code, Problem};

/// HTTP/2 with prior knowledge begins with this.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// A stream of which the first bytes were read.
#[derive(Debug)]
pub struct Begun<S> {
    stream: S,
    first: Bytes,
    /// Whether a request of this connection reached the server. What is written before is the machinery's own refusal.
    reached: Arc<AtomicBool>,
    /// Ours in place of it, as far as it is not written.
    refusal: Bytes,
}

/// Reads until it is clear which version the client speaks.
///
/// # Errors
/// When it leaves before.
pub async fn begin<S: AsyncRead + Unpin>(mut stream: S) -> io::Result<(Version, Begun<S>)> {
    let mut first = [0; PREFACE.len()];
    let mut read = 0;
    while read < first.len() && PREFACE.starts_with(&first[..read]) {
        match stream.read(&mut first[read..]).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    let version = if first == *PREFACE { Version::Two } else { Version::One };
    let first = Bytes::copy_from_slice(&first[..read]);
    Ok((version, Begun { stream, first, reached: Arc::default(), refusal: Bytes::new() }))
}

impl<S> Begun<S> {
    /// To be set when a request arrives.
    pub fn reached(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.reached)
    }
}

impl<S: AsyncWrite + Unpin> Begun<S> {
    fn write_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.refusal))?;
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.refusal.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// What is answered instead of the machinery's bare refusal of a head. Others are left as they are.
fn instead_of(bytes: &[u8]) -> Option<Bytes> {
    let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    // 414 and 431.
    [b"414", b"431"].iter().any(|it| *it == status).then(|| whole(&head_too_large("head")))
}

/// The problem of heads that are too large; `field` is what of it is.
pub fn head_too_large(field: &'static str) -> Problem {
    let limit = if field == "url" { LIMITS.url_bytes_max } else { LIMITS.head_bytes_max };
    let detail = format!("the {field} of the request is larger than the limit of {limit} bytes");
    Problem::new(Code::HeadTooLarge, detail).at(field).limited(limit)
}

/// The problem as a whole HTTP/1.1 answer, after which the connection ends.
pub fn whole(problem: &Problem) -> Bytes {
    let id = random_hex();
    let (body, retry) = (problem.json(&id), problem.retry_after_seconds());
    let retry = retry.map(|it| format!("retry-after: {it}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\nx-request-id: {id}\r\n\
         {retry}connection: close\r\n\r\n",
        problem.status(),
        body.len()
    );
    Bytes::from([head.into_bytes(), body].concat())
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let length = self.first.len().min(buffer.remaining());
        buffer.put_slice(&self.first.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.write_refusal(cx))?;
        if !self.reached.load(Ordering::Relaxed)
            && let Some(refusal) = instead_of(bytes)
        {
            self.refusal = refusal;
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.reached.load(Ordering::Relaxed) {
            let first = parts.iter().find(|it| !it.is_empty());
            return self.poll_write(cx, first.map_or(&[][..], |it| it));
        }
        ready!(self.write_refusal(cx))?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_refusal(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_refusal(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn begun(sent: &[u8]) -> (Version, Vec<u8>) {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        client.write_all(sent).await.unwrap();
        client.shutdown().await.unwrap();
        let (version, mut begun) = begin(server).await.unwrap();
        let mut all = Vec::new();
        begun.read_to_end(&mut all).await.unwrap();
        (version, all)
    }

    #[tokio::test]
    async fn the_first_bytes_say_the_version_and_none_is_lost() {
        let one = b"PRIVATE /x HTTP/1.1\r\n\r\n".to_vec();
        assert_eq!(begun(&one).await, (Version::One, one));
        let two = [&PREFACE[..], b"rest"].concat();
        assert_eq!(begun(&two).await, (Version::Two, two));
        let (mut client, server) = tokio::io::duplex(64);
        client.write_all(b"PRI").await.unwrap();
        drop(client);
        assert!(begin(server).await.is_err());
    }

    #[tokio::test]
    async fn a_bare_refusal_becomes_a_problem_until_a_request_has_reached_the_server() {
        let bare = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        for reached in [false, true] {
            let (mut client, server) = tokio::io::duplex(8 << 10);
            client.write_all(b"GET").await.unwrap();
            let (_, mut begun) = begin(server).await.unwrap();
            begun.reached().store(reached, Ordering::Relaxed);
            begun.write_all(bare).await.unwrap();
            begun.shutdown().await.unwrap();
            drop(begun);
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert_eq!(answer.contains("\"code\":\"head_too_large\""), !reached, "{answer}");
            assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
        }
    }
}
