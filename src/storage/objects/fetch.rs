//! Reads packed chunks. Ranges of one pack that are near each other are one request, and requests run at the same time. A chunk that does
//! not match its name is never returned.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};

use super::pack_location::{PackId, PackLocation};
use super::store::damaged;
use super::{Objects, packs};
use crate::content::encrypted::scope_of;
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::metric_families as families;
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::{Error, Result};
use crate::storage::content::opening::open_chunk;

/// A request costs what these many bytes cost, so they are read along.
const GAP_BYTES_MAX: u32 = 64 << 10;
/// Longer spans are read side by side.
const SPAN_BYTES_MAX: u32 = 2 << 20;

/// One request: chunks of a pack in the order of their places.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    pack: PackId,
    start: u32,
    end: u32,
    chunks: Vec<(PackLocation, Name)>,
}

impl Objects {
    /// Bodies of packed chunks of a tenant, verified beside the async workers, in any order.
    ///
    /// # Errors
    /// `Integrity` when one is missing or damaged, `Unavailable` when the store does not answer.
    pub async fn fetch(
        &self,
        of: (&str, &TenantSecret),
        wanted: impl IntoIterator<Item = (PackLocation, Name)>,
    ) -> Result<Vec<(PackLocation, Bytes)>> {
        let mut fetched = Vec::new();
        let mut open = BTreeMap::new();
        for (place, name) in wanted {
            match self.kept.get(&place) {
                Some(body) => fetched.push((place, body)),
                None => drop(open.insert(place, name)),
            }
        }
        for (place, body) in self.read_shared(of, &open).await? {
            open.remove(&place);
            self.kept.insert(place, body.clone());
            fetched.push((place, body));
        }
        let spans = spans(open);
        let read = try_join_all(spans.into_iter().map(|span| self.read_span(of, span))).await?;
        let read: Vec<(PackLocation, Bytes)> = read.into_iter().flatten().collect();
        self.share_later(&read);
        for (place, body) in read {
            self.kept.insert(place, body.clone());
            fetched.push((place, body));
        }
        Ok(fetched)
    }

    /// What other servers have read lately, held against its names like what the store says. What does not fit is not taken.
    async fn read_shared(
        &self,
        (tenant, secret): (&str, &TenantSecret),
        wanted: &BTreeMap<PackLocation, Name>,
    ) -> Result<Vec<(PackLocation, Bytes)>> {
        let Some(shared) = &self.shared else { return Ok(Vec::new()) };
        let names: Vec<Vec<u8>> = wanted.keys().map(PackLocation::body).collect();
        // A box: the compiler gives up on futures within futures at some depth.
        let asked: BoxFuture<'_, Vec<Option<Bytes>>> = Box::pin(shared.get(&names));
        let found = asked.await.into_iter().zip(wanted);
        let found = found.filter_map(|(body, (place, name))| Some((*place, *name, body?)));
        let found: Vec<(PackLocation, Name, Bytes)> = found.collect();
        let size = size_of(found.len(), found.iter().map(|it| it.2.len()).sum());
        let secret = secret.clone();
        let sound = move || {
            let sound =
                found.into_iter().filter(|(_, name, body)| verify(&secret, *name, body).is_ok());
            sound.map(|(place, _, body)| (place, body)).collect()
        };
        cpu_pool::run_sized(tenant, size, sound).await
    }

    /// Lets other servers have it. In the background: no answer waits for that.
    fn share_later(&self, read: &[(PackLocation, Bytes)]) {
        let Some(shared) = self.shared.clone().filter(|_| !read.is_empty()) else { return };
        let all = for_others(read);
        let stored: BoxFuture<'static, ()> = Box::pin(async move { shared.put(all).await });
        tokio::spawn(stored);
    }

    /// Lets other servers have it, at once.
    pub(super) async fn share(&self, all: &[(PackLocation, Bytes)]) {
        let Some(shared) = self.shared.as_ref().filter(|_| !all.is_empty()) else { return };
        shared.put(for_others(all)).await;
    }

    async fn read_span(
        &self,
        (tenant, secret): (&str, &TenantSecret),
        span: Span,
    ) -> Result<Vec<(PackLocation, Bytes)>> {
        let bytes = self.read(&span.pack, span.start, span.end).await?;
        metrics::counter!(families::PACK_BYTES_READ).increment(bytes.len() as u64);
        let (size, secret) = (size_of(span.chunks.len(), bytes.len()), secret.clone());
        let open = move || {
            let bodies = span.chunks.iter().map(|(place, name)| {
                let start = (place.start - span.start) as usize;
                let body = &bytes[start..start + place.length as usize];
                verify(&secret, *name, body)
                    .map_err(|detail| damaged(&span.pack, &format!("is damaged: {detail}")))?;
                // Copied, so that one kept body does not keep the whole span.
                Ok((*place, Bytes::copy_from_slice(body)))
            });
            bodies.collect()
        };
        cpu_pool::run_sized(tenant, size, open).await?
    }
}

fn for_others(all: &[(PackLocation, Bytes)]) -> Vec<(Vec<u8>, Bytes)> {
    all.iter().map(|(place, body)| (place.body(), body.clone())).collect()
}

/// A body that opens to what its name says.
fn verify(secret: &TenantSecret, name: Name, body: &[u8]) -> std::result::Result<(), String> {
    // What is of another scope than the row that it was read for is not found by any value of that scope.
    let scope_id = scope_of(body).unwrap_or_default();
    let chunk = open_chunk(secret, scope_id, &name, body).map_err(|error| error.to_string())?;
    if secret.name(&chunk) == name { Ok(()) } else { Err("a chunk has another name".into()) }
}

fn spans(chunks: BTreeMap<PackLocation, Name>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (place, name) in chunks {
        let joins = |span: &&mut Span| {
            span.pack == place.pack
                && place.start <= span.end.saturating_add(GAP_BYTES_MAX)
                && place.end() - span.start <= SPAN_BYTES_MAX
        };
        match spans.last_mut().filter(joins) {
            Some(span) => {
                span.end = span.end.max(place.end());
                span.chunks.push((place, name));
            }
            None => spans.push(Span {
                pack: place.pack,
                start: place.start,
                end: place.end(),
                chunks: vec![(place, name)],
            }),
        }
    }
    spans
}

/// What a read says when a row names a pack and this process was given no store.
pub(super) fn no_store() -> Error {
    Error::Unavailable {
        detail: "this content lies in an object store, and none is configured (--object-store-url)"
            .into(),
        retry_after: packs::COME_BACK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::envelope;

    #[test]
    fn what_lies_close_together_is_read_at_once_and_packs_are_never_mixed() {
        let chunk = |pack: u8, start: u32| {
            (PackLocation { pack: [pack; 16], start, length: 1_000 }, Name::default())
        };
        let far = GAP_BYTES_MAX + 5_001;
        let chunks = [chunk(2, 0), chunk(1, 4_000), chunk(1, 0), chunk(1, far), chunk(1, 3 << 20)];
        let spans = spans(BTreeMap::from(chunks));
        let read: Vec<_> = spans.iter().map(|it| (it.pack[0], it.start, it.end)).collect();
        let expected =
            [(1, 0, 5_000), (1, far, far + 1_000), (1, 3 << 20, (3 << 20) + 1_000), (2, 0, 1_000)];
        assert_eq!(read, expected);
        assert_eq!(spans[0].chunks.len(), 2);
    }

    #[test]
    fn a_span_stays_bounded() {
        let chunk = |at: u32| {
            (PackLocation { pack: [1; 16], start: at * 1_000, length: 1_000 }, Name::default())
        };
        let spans = spans((0..8_000).map(chunk).collect());
        assert_eq!(spans.len(), 4);
        assert!(spans.iter().all(|it| it.end - it.start <= SPAN_BYTES_MAX));
    }

    #[test]
    fn only_the_chunk_of_the_name_is_let_through() {
        let secret = TenantSecret::new([7; 32]);
        let body = envelope::seal(b"a chunk of some value");
        let name = secret.name(b"a chunk of some value");
        assert!(verify(&secret, name, &body).is_ok());
        assert!(verify(&secret, secret.name(b"another"), &body).is_err());
        assert!(verify(&secret, name, &body[1..]).is_err());
        assert!(verify(&TenantSecret::new([8; 32]), name, &body).is_err());
    }
}
