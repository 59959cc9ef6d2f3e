//! Cuts values into chunks, names them and seals them for storage. It is the same for every engine; `opening` opens them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::associated_data::{ValueRow, of_chunk};
use super::chunk_memory::Known;
use crate::content::chunking::split;
use crate::content::cipher::AssociatedData;
use crate::content::envelope::seal_plain;
use crate::content::keys::{PartDigest, TenantSecret};
use crate::content::parts::{self, Name};
use crate::content::slicing::{cut, list};
use crate::domain::checkpoints::checkpoint::{InParts, Value};
use crate::domain::checkpoints::prepared::{Chunk, Sealed};
use crate::domain::limits::LIMITS;
use crate::domain::{Conflict, Error, Result};
use crate::storage::checkpoints::value_parts::{NamedParts, StoredPart, check_count};

/// Seals the values of one commit, and each of their chunks once.
pub struct Sealer<'a> {
    secret: &'a TenantSecret,
    /// The scope that everything is sealed for; of no meaning without encryption.
    scope_id: i64,
    /// Chunks that the scope has, as far as this process knows.
    known: Option<Arc<Mutex<Known>>>,
    /// The epoch for which the whole commit is planned: what is known of another one, learned in the meantime, does
    /// not count.
    planned_epoch: Option<i64>,
    made: HashSet<Name>,
    chunks: Vec<Chunk>,
    /// Set when a chunk was left out.
    epoch: Option<i64>,
    /// What the names of parts in this commit stand for.
    named: Option<&'a NamedParts>,
}

impl<'a> Sealer<'a> {
    pub fn new(secret: &'a TenantSecret, scope_id: i64, known: Option<Arc<Mutex<Known>>>) -> Self {
        let planned_epoch = known.as_ref().map(|it| lock(it).epoch);
        let (made, chunks) = (HashSet::new(), Vec::new());
        Self { secret, scope_id, known, planned_epoch, made, chunks, epoch: None, named: None }
    }

    /// The same for a commit that names parts: it is planned for the epoch in which they were seen.
    #[must_use]
    pub fn with_parts(self, named: Option<&'a NamedParts>) -> Self {
        let planned_epoch = named.map(|it| it.epoch).or(self.planned_epoch);
        Self { planned_epoch, named, ..self }
    }

    /// What has to be stored beside the values, and the epoch for which this is enough; None: it always is.
    pub fn finish(self) -> (Vec<Chunk>, Option<i64>) {
        (self.chunks, self.epoch)
    }

    /// Seals a value for its row. `field` is named in errors.
    ///
    /// # Errors
    /// 413 over the value limit; 409 and 422 for parts that are not there or do not make the value.
    pub fn value(&mut self, field: &str, row: ValueRow<'_>, value: &Value) -> Result<Sealed> {
        let too_large = || Error::TooLarge { field: field.into(), limit: LIMITS.value_bytes_max };
        if value.size_bytes() > LIMITS.value_bytes_max {
            return Err(too_large());
        }
        let list = value.in_parts.as_ref().map(|it| self.list_of(field, it)).transpose()?;
        let (tag, digest) = (value.tag.as_str(), self.digest(field, value)?);
        let named = (tag, &digest[..]);
        let (body, parts) = row.aad(self.scope_id, named, |aad| match list {
            Some(list) => (self.secret.seal(aad, &[]), Some(list)),
            None if value.size_bytes() > LIMITS.value_inline_bytes_max => {
                self.in_parts(aad, &value.data)
            }
            None => self.body(aad, &value.data),
        });
        Ok(Sealed {
            tag: tag.to_owned(),
            size_bytes: i32::try_from(value.size_bytes()).map_err(|_| too_large())?,
            digest,
            body,
            parts,
        })
    }

    /// The digest of a value, wherever its bytes are.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn digest(&self, field: &str, value: &Value) -> Result<[u8; 16]> {
        match &value.in_parts {
            None => Ok(self.secret.digest(&value.data)),
            Some(in_parts) => {
                let parts = self.named_parts(field, in_parts)?;
                let digests: Vec<PartDigest> = parts.iter().map(|it| it.digest).collect();
                let none = || Error::Internal("a value in parts has none".into());
                self.secret.digest_of_parts(&digests).ok_or_else(none)
            }
        }
    }

    /// The list of a value in parts. Its chunks are there, for the epoch in which they were seen.
    fn list_of(&mut self, field: &str, in_parts: &InParts) -> Result<Bytes> {
        let parts = self.named_parts(field, in_parts)?;
        let list: Vec<u8> = parts.iter().flat_map(|it| &it.list).copied().collect();
        self.epoch = self.named.map(|it| it.epoch);
        Ok(Bytes::from(list))
    }

    fn named_parts(&self, field: &str, in_parts: &InParts) -> Result<Vec<&'a StoredPart>> {
        check_count(field, in_parts)?;
        let missing = || Error::Conflict(Conflict::PartsMissing { field: field.to_owned() });
        self.named.ok_or_else(missing)?.of_value(field, in_parts)
    }

    /// The row's part of a value that is too large for a body, as if it had come in parts: it is read in parts then.
    fn in_parts(&mut self, aad: AssociatedData<'_>, data: &[u8]) -> (Bytes, Option<Bytes>) {
        let part_bytes = usize::try_from(LIMITS.value_part_bytes).unwrap_or(usize::MAX);
        let mut names = Vec::new();
        for chunk in data.chunks(part_bytes).flat_map(cut) {
            let name = self.secret.name(chunk);
            names.push(name);
            if self.made.insert(name) {
                let body = of_chunk(self.scope_id, &name, |aad| self.secret.seal(aad, chunk));
                self.chunks.push(Chunk { name, body });
            }
        }
        (self.secret.seal(aad, &[]), Some(Bytes::from(list(&names))))
    }

    /// The row's part of some bytes: all of them, or their ends and the list of chunks between.
    fn body(&mut self, aad: AssociatedData<'_>, data: &[u8]) -> (Bytes, Option<Bytes>) {
        let Some(split) = split(data) else {
            return (self.secret.seal(aad, data), None);
        };
        let ends = self.secret.seal(aad, &[split.head, split.foot].concat());
        let known = self.known.clone();
        let known = known.as_ref().map(lock);
        let known = known.filter(|it| Some(it.epoch) == self.planned_epoch);
        let names: Vec<Name> = split.chunks.iter().map(|chunk| self.secret.name(chunk)).collect();
        let (list, nodes) = parts::write(self.secret, &names);
        let leaves = names.into_iter().zip(split.chunks).map(|(name, chunk)| (name, chunk, true));
        let nodes = nodes.iter().map(|(name, node)| (*name, &node[..], false));
        for (name, chunk, is_leaf) in leaves.chain(nodes) {
            match &known {
                Some(known) if known.names.contains(&name) => self.epoch = Some(known.epoch),
                _ if self.made.insert(name) => {
                    let seal = |aad: AssociatedData<'_>| self.secret.seal(aad, chunk);
                    // Statements read nodes in place.
                    let body = if is_leaf {
                        of_chunk(self.scope_id, &name, seal)
                    } else {
                        seal_plain(chunk)
                    };
                    self.chunks.push(Chunk { name, body });
                }
                _ => {}
            }
        }
        (ends, Some(list))
    }
}

fn lock(known: &Arc<Mutex<Known>>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::cipher::Cipher;
    use crate::domain::names::Tag;
    use crate::storage::content::opening::{Chunks, StoredValue, open_value};

    const SCOPE: i64 = 7;
    const ROW: ValueRow<'_> = ValueRow::Version(11);

    fn plain() -> TenantSecret {
        TenantSecret::new([3; 32])
    }

    fn encrypting(tenant: &str) -> TenantSecret {
        TenantSecret::encrypting([3; 32], Cipher::new(tenant, 1, &[4; 32]))
    }

    fn value(data: Vec<u8>) -> Value {
        Value::new(Tag::new("msgpack").unwrap(), Bytes::from(data))
    }

    fn text(length: usize) -> Vec<u8> {
        (0..).flat_map(|at: u32| format!("message {at}, ").into_bytes()).take(length).collect()
    }

    fn stored(sealed: &Sealed) -> StoredValue<'_> {
        StoredValue {
            scope_id: SCOPE,
            row: ROW,
            tag: &sealed.tag,
            size_bytes: sealed.size_bytes,
            digest: &sealed.digest,
            body: &sealed.body,
            parts: sealed.parts.as_deref(),
        }
    }

    fn chunks(secret: &TenantSecret, made: &[Chunk]) -> Chunks {
        let mut chunks = Chunks::default();
        for chunk in made {
            chunks.add(secret, &chunk.name, &chunk.body).unwrap();
        }
        chunks
    }

    #[test]
    fn values_open_to_what_was_sealed() {
        let lengths = [0, 1, 2_048, 2_049, 9_000, 300_000];
        for (secret, length) in
            lengths.into_iter().flat_map(|it| [(plain(), it), (encrypting("t"), it)])
        {
            let mut sealer = Sealer::new(&secret, SCOPE, None);
            let sealed = sealer.value("data", ROW, &value(text(length))).unwrap();
            let (made, epoch) = sealer.finish();
            let opened = open_value(&secret, &stored(&sealed), &chunks(&secret, &made)).unwrap();
            assert_eq!((opened.data, epoch), (Bytes::from(text(length)), None));
        }
    }

    #[test]
    fn what_the_scope_has_is_left_out_for_its_epoch() {
        let secret = TenantSecret::new([3; 32]);
        let mut first = Sealer::new(&secret, SCOPE, None);
        first.value("data", ROW, &value(text(100_000))).unwrap();
        let (made, _) = first.finish();
        let names = made.iter().map(|it| it.name).collect();
        let known = Arc::new(Mutex::new(Known { epoch: 7, names }));
        let mut second = Sealer::new(&secret, SCOPE, Some(known));
        second.value("data", ROW, &value(text(103_000))).unwrap();
        let (more, epoch) = second.finish();
        assert_eq!(epoch, Some(7));
        assert!(!more.is_empty() && more.len() < 8, "{} of {}", more.len(), made.len());
    }

    #[test]
    fn one_commit_is_planned_for_one_epoch() {
        let secret = TenantSecret::new([3; 32]);
        let mut first = Sealer::new(&secret, SCOPE, None);
        first.value("data", ROW, &value(text(100_000))).unwrap();
        let (made, _) = first.finish();
        let names: HashSet<Name> = made.iter().map(|it| it.name).collect();
        let known = Arc::new(Mutex::new(Known { epoch: 7, names: names.clone() }));
        let mut sealer = Sealer::new(&secret, SCOPE, Some(Arc::clone(&known)));
        sealer.value("data", ROW, &value(text(100_000))).unwrap();
        // A removal and a commit of somebody else's come in between.
        *known.lock().unwrap() = Known { epoch: 8, names };
        sealer.value("data", ROW, &value(text(90_000))).unwrap();
        let (again, epoch) = sealer.finish();
        assert_eq!(epoch, Some(7), "what the first value left out was there at this epoch");
        assert!(!again.is_empty(), "the second value relies on nothing of another epoch");
    }

    #[test]
    fn every_flipped_bit_is_found() {
        for secret in [plain(), encrypting("t")] {
            check_flips(&secret);
        }
    }

    fn check_flips(secret: &TenantSecret) {
        let mut sealer = Sealer::new(secret, SCOPE, None);
        let sealed = sealer.value("data", ROW, &value(text(20_000))).unwrap();
        let (made, _) = sealer.finish();
        let flipped = |bytes: &Bytes, at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at / 8] ^= 1 << (at % 8);
            Bytes::from(bytes)
        };
        let whole = chunks(secret, &made);
        for at in 0..sealed.body.len() * 8 {
            let body = flipped(&sealed.body, at);
            let damaged = StoredValue { body: &body, ..stored(&sealed) };
            // A flip that opens to the same bytes, such as one in a reserved field, is no damage.
            if let Ok(opened) = open_value(secret, &damaged, &whole) {
                assert!(secret.cipher().is_none(), "bit {at} of the ends");
                assert_eq!(opened.data, text(20_000));
            }
        }
        let list = sealed.parts.clone().unwrap();
        for at in 0..list.len() * 8 {
            let list = flipped(&list, at);
            let damaged = StoredValue { parts: Some(&list), ..stored(&sealed) };
            assert!(open_value(secret, &damaged, &whole).is_err(), "bit {at} of the list");
        }
        for at in 0..made[0].body.len() * 8 {
            let mut damaged = chunks(secret, &made[1..]);
            let body = flipped(&made[0].body, at);
            let opened = damaged
                .add(secret, &made[0].name, &body)
                .and_then(|()| open_value(secret, &stored(&sealed), &damaged));
            if let Ok(opened) = opened {
                assert!(secret.cipher().is_none(), "bit {at} of a chunk");
                assert_eq!(opened.data, text(20_000));
            }
        }
    }

    #[test]
    fn what_is_encrypted_opens_in_its_own_row_only() {
        let secret = encrypting("t");
        let mut sealer = Sealer::new(&secret, SCOPE, None);
        let sealed = sealer.value("data", ROW, &value(text(9_000))).unwrap();
        let whole = sealer.value("data", ROW, &value(text(900))).unwrap();
        let (made, _) = sealer.finish();
        let all = chunks(&secret, &made);
        let of = |secret: &TenantSecret, stored: StoredValue<'_>| open_value(secret, &stored, &all);
        for sealed in [&sealed, &whole] {
            of(&secret, stored(sealed)).unwrap();
            of(&encrypting("u"), stored(sealed)).unwrap_err();
            of(&plain(), stored(sealed)).unwrap_err();
            of(&secret, StoredValue { scope_id: 8, ..stored(sealed) }).unwrap_err();
            of(&secret, StoredValue { row: ValueRow::Version(12), ..stored(sealed) }).unwrap_err();
            of(&secret, StoredValue { tag: "json", ..stored(sealed) }).unwrap_err();
            of(&secret, StoredValue { digest: &[0; 16], ..stored(sealed) }).unwrap_err();
        }
        assert!(!whole.body.windows(7).any(|it| it == b"message"));
    }

    #[test]
    fn what_is_not_encrypted_is_refused_where_everything_is() {
        for length in [900, 9_000] {
            let secret = plain();
            let mut sealer = Sealer::new(&secret, SCOPE, None);
            let sealed = sealer.value("data", ROW, &value(text(length))).unwrap();
            let (made, _) = sealer.finish();
            let secret = encrypting("t");
            let error = open_value(&secret, &stored(&sealed), &chunks(&secret, &made)).unwrap_err();
            assert!(error.to_string().contains("is not encrypted"), "{error}");
            // Ends that are, around chunks that are not.
            let mut sealer = Sealer::new(&secret, SCOPE, None);
            let sealed = sealer.value("data", ROW, &value(text(length))).unwrap();
            let opened = open_value(&secret, &stored(&sealed), &chunks(&secret, &made));
            assert_eq!(opened.is_err(), sealed.parts.is_some());
        }
    }

    #[test]
    fn a_chunk_of_another_scope_is_not_taken() {
        let secret = encrypting("t");
        let seal = |scope_id| {
            let mut sealer = Sealer::new(&secret, scope_id, None);
            let sealed = sealer.value("data", ROW, &value(text(9_000))).unwrap();
            (sealed, sealer.finish().0)
        };
        let ((sealed, _), (_, foreign)) = (seal(SCOPE), seal(8));
        open_value(&secret, &stored(&sealed), &chunks(&secret, &foreign)).unwrap_err();
        let renamed = Chunk { name: foreign[1].name, body: foreign[0].body.clone() };
        let mut chunks = Chunks::default();
        chunks.add(&secret, &renamed.name, &renamed.body).unwrap_err();
    }
}
