//! Shortens answers for a caller that lists the values it holds. Those values are sent by name, and a small change of one is sent as a
//! difference. The caller then holds everything sent, in the order of the answer.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::difference::DataAnswered;
use crate::app::App;
use crate::app::values::{
    Difference, Digest, Ends, ThreadValues, digest, header_length, is_worth_keeping,
};
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::names::at_most;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result as DomainResult};
use crate::http::request::decode::Received;
use crate::http::request::exact::{Data, DataOut};
use crate::http::request::problem::Problem;

const PREFIX_BYTES: usize = 16;
/// Values that begin alike and are compared to the end: the latest of them.
const COMPARED_MAX: usize = 4;
/// A difference has to save this part of a value: it costs names, and the caller has to put it together.
const SAVED_PART: usize = 8;

/// Beginnings of the digests of values that the caller holds.
pub struct HaveValues(Vec<Bytes>);

/// What the caller holds, as far as the server knows it. One for each answer.
pub struct Shorten(Option<Known>);

struct Known {
    values: ThreadValues,
    /// First bytes of each name that was sent → all of it.
    named: HashMap<[u8; PREFIX_BYTES], Bytes>,
    /// Values whose bytes are here.
    held: Vec<(Digest, Bytes)>,
    /// First bytes behind the header → positions in `held`.
    alike: HashMap<[u8; PREFIX_BYTES], Vec<usize>>,
}

impl HaveValues {
    /// # Errors
    /// 422 for too many, and for one that is no beginning of a digest.
    pub fn read(data: Vec<Data<'_>>, received: &Received) -> DomainResult<Self> {
        const FIELD: &str = "have_values";
        at_most(FIELD, data.len(), LIMITS.have_values_max)?;
        let name = |data: Data<'_>| {
            let name = data.part_of(&received.body);
            if (PREFIX_BYTES..=size_of::<Digest>()).contains(&name.len()) {
                return Ok(name);
            }
            let detail = "have_values must hold SHA-256s, or the first 16 bytes or more of them";
            Err(Error::invalid(FIELD, detail))
        };
        Ok(Self(data.into_iter().map(name).collect::<DomainResult<_>>()?))
    }
}

/// Builds an answer of about so many bytes, shortened for a caller that sent `have_values`.
///
/// # Errors
/// `internal`, when it panics.
pub async fn shortened<T: Send + 'static>(
    app: &Arc<App>,
    (caller, thread_id): (&Caller, Option<&ThreadId>),
    have: Option<HaveValues>,
    bytes: usize,
    build: impl FnOnce(&mut Shorten) -> T + Send + 'static,
) -> Result<T, Problem> {
    let known =
        have.zip(thread_id).map(|(have, thread_id)| (have, app.values.of(caller, thread_id)));
    let Some((have, values)) = known else { return Ok(build(&mut Shorten(None))) };
    let build = move || build(&mut Shorten(Some(Known::new(values, have))));
    Ok(cpu_pool::run_sized(&caller.tenant, bytes, build).await?)
}

impl Shorten {
    /// The bytes of a value, or what names its parts.
    pub fn value(&mut self, value: Value) -> DataAnswered {
        match value.in_parts {
            Some(in_parts) => DataAnswered::in_parts(*in_parts),
            None => self.data(value.data),
        }
    }

    /// A value that both sides remember from now on.
    fn data(&mut self, data: Bytes) -> DataAnswered {
        match &mut self.0 {
            Some(known) if is_worth_keeping(&data) => known.data(data),
            _ => DataAnswered::Whole(DataOut(data)),
        }
    }
}

impl Known {
    fn new(values: ThreadValues, have: HaveValues) -> Self {
        let mut known =
            Self { values, named: HashMap::new(), held: Vec::new(), alike: HashMap::new() };
        for name in have.0 {
            if let Some((digest, data)) = known.values.find(&name) {
                known.hold(digest, data);
            }
            known.named.insert(first(&name), name);
        }
        known
    }

    fn data(&mut self, data: Bytes) -> DataAnswered {
        let name = digest(&data);
        if !self.values.is_kept(&name) {
            self.values.keep_read(name, Bytes::copy_from_slice(&data));
        }
        let is_named = self.named.get(&first(&name)).is_some_and(|it| name.starts_with(it));
        if is_named {
            return DataAnswered::same(&name);
        }
        let difference = self.difference(name, &data);
        self.named.insert(first(&name), Bytes::copy_from_slice(&name));
        self.hold(name, data.clone());
        match difference {
            Some(difference) => DataAnswered::Difference(difference.into()),
            None => DataAnswered::Whole(DataOut(data)),
        }
    }

    fn hold(&mut self, name: Digest, data: Bytes) {
        if let Some(start) = start(&data) {
            self.alike.entry(start).or_default().push(self.held.len());
            self.held.push((name, data));
        }
    }

    fn difference(&self, name: Digest, data: &Bytes) -> Option<Difference> {
        let alike = self.alike.get(&start(data)?)?;
        let latest = alike.iter().rev().take(COMPARED_MAX).map(|at| &self.held[*at]);
        let compared = latest.map(|(base, held)| (Ends::of(held, data), base, held));
        let (ends, base, held) = compared.max_by_key(|(ends, _, _)| ends.common())?;
        (ends.common() >= data.len() / SAVED_PART).then(|| Difference {
            base: *base,
            pieces: ends.pieces(held, data),
            digest: name,
            size_bytes: data.len() as u64,
        })
    }
}

/// The first bytes of a name.
fn first(name: &[u8]) -> [u8; PREFIX_BYTES] {
    let mut first = [0; PREFIX_BYTES];
    first.copy_from_slice(&name[..PREFIX_BYTES]);
    first
}

/// The first bytes of a list behind its count: the same while it grows.
fn start(data: &[u8]) -> Option<[u8; PREFIX_BYTES]> {
    let header = header_length(data);
    data.get(header..header + PREFIX_BYTES).map(first)
}
