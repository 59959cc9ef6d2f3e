//! Expands the differences in a commit into the values they stand for. Later code sees only whole values.
//!
//! Limits keep small requests from taking much memory. The values of a request together are never more than a body could contain. All
//! requests together hold no more than the server's setting. Every length is checked before it is allocated.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use super::difference::DataIn;
use crate::app::App;
use crate::app::values::{Difference, DifferenceError, Digest, digest, is_worth_keeping};
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{Commit, InParts, Op, Value};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Conflict, Error, Result as DomainResult};
use crate::http::request::decode::Received;
use crate::http::request::problem::{Code, Problem};

/// A commit as it was sent. Values that came as differences are still empty.
pub struct Draft {
    pub(in crate::http) commit: Commit,
    pub(in crate::http) open: Vec<Open>,
}

/// A value that came as a difference.
pub struct Open {
    field: &'static str,
    /// Position among all values of the commit, in the order of `values_mut`.
    at: usize,
    difference: Difference,
}

/// Bytes of a value, or what names its parts.
type NextData = (Bytes, Option<Box<InParts>>);

/// Collects the values of a request while it is read.
pub struct Reader<'a> {
    pub received: &'a Received,
    pub open: Vec<Open>,
    seen: usize,
}

/// A commit of whole values.
pub struct Expanded {
    pub commit: Commit,
    pub held: Option<OwnedSemaphorePermit>,
}

impl<'a> Reader<'a> {
    pub fn new(received: &'a Received) -> Self {
        Self { received, open: Vec::new(), seen: 0 }
    }

    /// The bytes of the next value; none yet for a difference, and none for a value in parts.
    pub fn data(&mut self, field: &'static str, data: DataIn<'_>) -> DomainResult<NextData> {
        match data {
            DataIn::Whole(data) => {
                self.seen += 1;
                let data = data.part_of(&self.received.body);
                let limit = LIMITS.value_inline_bytes_max;
                if data.len() as u64 > limit {
                    return Err(Error::TooLarge { field: field.to_owned(), limit });
                }
                Ok((data, None))
            }
            DataIn::InParts(body) => {
                self.seen += 1;
                Ok((Bytes::new(), Some(Box::new(body.into_parts(field, self.received)?))))
            }
            DataIn::Difference(body) => {
                let difference = body.into_difference(field, self.received)?;
                self.open.push(Open { field, at: self.seen, difference });
                self.seen += 1;
                Ok((Bytes::new(), None))
            }
        }
    }

    /// The next value has no data.
    pub fn skip(&mut self) -> Bytes {
        self.seen += 1;
        Bytes::new()
    }
}

impl Draft {
    /// # Errors
    /// 409 `resend_whole` for everything that sending the value whole would mend, 413 over a limit, 503 when all
    /// requests together expand to too much.
    pub async fn expand(self, app: &App, caller: &Caller) -> Result<Expanded, Problem> {
        let Self { mut commit, open } = self;
        if open.is_empty() {
            return Ok(Expanded { commit, held: None });
        }
        let bytes = total(&open)?;
        if bytes > app.memory.expanded_bytes_max as usize {
            return Err(resend(open[0].field).into());
        }
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let held = Arc::clone(&app.expanded_bytes).try_acquire_many_owned(permits);
        let held = held.map_err(|_| {
            let detail = "differences expand to as many bytes as they may at one time; try again";
            let limit = u64::from(app.memory.expanded_bytes_max);
            Problem::new(Code::Overloaded, detail).at(open[0].field).limited(limit)
        })?;
        let values = app.values.of(caller, &commit.thread_id);
        let base = |it: &Open| values.get(&it.difference.base).ok_or_else(|| resend(it.field));
        let bases = open.iter().map(base).collect::<DomainResult<Vec<Bytes>>>()?;
        let results = cpu_pool::run_sized(&caller.tenant, bytes, move || {
            open.iter()
                .zip(&bases)
                .map(|(it, base)| it.apply(base))
                .collect::<DomainResult<Vec<_>>>()
        });
        let results = results.await??;
        fill(&mut commit, results);
        Ok(Expanded { commit, held: Some(held) })
    }
}

impl Open {
    fn apply(&self, base: &[u8]) -> DomainResult<(usize, Bytes)> {
        let refused = |error: DifferenceError| match error {
            DifferenceError::Range => {
                Error::invalid(self.field, format!("{}: {error}", self.field))
            }
            DifferenceError::Length | DifferenceError::Digest => resend(self.field),
        };
        self.difference.apply(base).map(|data| (self.at, data)).map_err(refused)
    }
}

/// What all of them expand to, when that is allowed.
fn total(open: &[Open]) -> DomainResult<usize> {
    let mut sum = 0_u64;
    for Open { field, difference, .. } in open {
        let too_large = |limit| Error::TooLarge { field: (*field).to_owned(), limit };
        if difference.size_bytes > LIMITS.value_inline_bytes_max {
            return Err(too_large(LIMITS.value_inline_bytes_max));
        }
        difference.check_length().map_err(|_| resend(field))?;
        sum += difference.size_bytes;
        if sum > LIMITS.body_bytes_max {
            return Err(too_large(LIMITS.body_bytes_max));
        }
    }
    Ok(usize::try_from(sum).unwrap_or(usize::MAX))
}

fn resend(field: &str) -> Error {
    Error::Conflict(Conflict::ResendWhole { field: field.to_owned() })
}

fn fill(commit: &mut Commit, results: Vec<(usize, Bytes)>) {
    let mut results = results.into_iter().peekable();
    for (at, value) in values_mut(commit).enumerate() {
        if let Some((_, data)) = results.next_if(|(open, _)| *open == at) {
            value.data = data;
        }
    }
}

/// In the order in which `Reader` sees them.
fn values_mut(commit: &mut Commit) -> impl Iterator<Item = &mut Value> {
    commit.ops.iter_mut().flat_map(|op| -> Box<dyn Iterator<Item = &mut Value>> {
        match op {
            Op::Checkpoint(put) => {
                let all = put.values.iter_mut().chain(put.carried.iter_mut());
                Box::new(all.map(|it| &mut it.value))
            }
            Op::Writes(group) => Box::new(group.writes.iter_mut().map(|it| &mut it.value)),
        }
    })
}

/// Values that are stored by this commit and large enough to be remembered.
pub fn kept(commit: &Commit) -> Vec<Bytes> {
    let stored = commit.ops.iter().flat_map(|op| -> Box<dyn Iterator<Item = &Value>> {
        match op {
            // Carried values are compared and not stored.
            Op::Checkpoint(put) => Box::new(put.values.iter().map(|it| &it.value)),
            Op::Writes(group) => Box::new(group.writes.iter().map(|it| &it.value)),
        }
    });
    stored.filter(|it| is_worth_keeping(&it.data)).map(|it| it.data.clone()).collect()
}

/// Copies of them, which keep no body alive, with their names.
///
/// # Errors
/// `internal`, when hashing panics.
pub async fn named(tenant: &str, values: Vec<Bytes>) -> DomainResult<Vec<(Digest, Bytes)>> {
    let bytes = values.iter().map(Bytes::len).sum();
    cpu_pool::run_sized(tenant, bytes, move || {
        values.iter().map(|it| (digest(it), Bytes::copy_from_slice(it))).collect()
    })
    .await
}
