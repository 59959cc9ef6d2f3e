//! The one door through which values and documents are sealed for storage and opened again. The same for every engine.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::chunk_memory::Known;
use super::objects::place::Place;
use crate::content::chunking::{CHUNK_BYTES_MAX, split};
use crate::content::envelope;
use crate::content::keys::TenantSecret;
use crate::content::parts::{self, NAME_BYTES, Name, Part};
use crate::domain::checkpoint::Value;
use crate::domain::limits::LIMITS;
use crate::domain::names::Tag;
use crate::domain::prepared::{Chunk, Sealed};
use crate::domain::{Error, Result};

/// Bytes of the digest in front of a sealed pair of documents: it finds damage, it names nothing.
const DOCUMENT_DIGEST_BYTES: usize = 8;

/// Seals the values of one commit, and each of their chunks once.
pub struct Sealer<'a> {
    secret: &'a TenantSecret,
    /// Chunks that the scope has, as far as this process knows.
    known: Option<Arc<Mutex<Known>>>,
    /// The epoch for which the whole commit is planned: what is known of another one, learned in the meantime, does
    /// not count.
    planned_epoch: Option<i64>,
    made: HashSet<Name>,
    chunks: Vec<Chunk>,
    /// Set when a chunk was left out.
    epoch: Option<i64>,
}

impl<'a> Sealer<'a> {
    pub fn new(secret: &'a TenantSecret, known: Option<Arc<Mutex<Known>>>) -> Self {
        let planned_epoch = known.as_ref().map(|it| lock(it).epoch);
        let (made, chunks) = (HashSet::new(), Vec::new());
        Self { secret, known, planned_epoch, made, chunks, epoch: None }
    }

    /// What has to be stored beside the values, and the epoch for which this is enough; None: it always is.
    pub fn finish(self) -> (Vec<Chunk>, Option<i64>) {
        (self.chunks, self.epoch)
    }

    /// Seals a value. `field` is named in errors.
    ///
    /// # Errors
    /// 413 over the value limit.
    pub fn value(&mut self, field: &str, value: &Value) -> Result<Sealed> {
        let too_large = || Error::TooLarge { field: field.into(), limit: LIMITS.value_bytes_max };
        if value.data.len() as u64 > LIMITS.value_bytes_max {
            return Err(too_large());
        }
        let (body, parts) = self.body(&value.data);
        Ok(Sealed {
            tag: value.tag.as_str().to_owned(),
            size_bytes: i32::try_from(value.data.len()).map_err(|_| too_large())?,
            digest: self.secret.digest(&value.data),
            body,
            parts,
        })
    }

    /// The row's part of some bytes: all of them, or their ends and the list of chunks between.
    fn body(&mut self, data: &[u8]) -> (Bytes, Option<Bytes>) {
        let Some(split) = split(data) else {
            return (envelope::seal(data), None);
        };
        let ends = envelope::seal(&[split.head, split.foot].concat());
        let known = self.known.clone();
        let known = known.as_ref().map(lock);
        let known = known.filter(|it| Some(it.epoch) == self.planned_epoch);
        let names: Vec<Name> = split.chunks.iter().map(|chunk| self.secret.name(chunk)).collect();
        let (list, nodes) = parts::write(self.secret, &names);
        let leaves = names.into_iter().zip(split.chunks);
        let leaves =
            leaves.map(|(name, chunk)| (name, chunk, envelope::seal as fn(&[u8]) -> Bytes));
        let nodes = nodes.iter().map(|(name, node)| (*name, &node[..], envelope::seal_plain as _));
        for (name, chunk, seal) in leaves.chain(nodes) {
            match &known {
                Some(known) if known.names.contains(&name) => self.epoch = Some(known.epoch),
                _ if self.made.insert(name) => self.chunks.push(Chunk { name, body: seal(chunk) }),
                _ => {}
            }
        }
        (ends, Some(list))
    }
}

fn lock(known: &Arc<Mutex<Known>>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Chunks of an answer, opened.
#[derive(Default)]
pub struct Chunks {
    opened: HashMap<Name, Bytes>,
    /// Those that lie in packs: a shelf gives them their content.
    placed: Vec<(Place, Name)>,
    incomplete: bool,
}

impl Chunks {
    /// Takes a stored chunk.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add(&mut self, name: &[u8], body: &[u8]) -> Result<()> {
        let name = Name::try_from(name)
            .map_err(|_| Error::Integrity("the name of a chunk has a wrong length".into()))?;
        if let Some(place) = Place::read(body)? {
            self.placed.push((place, name));
            return Ok(());
        }
        let chunk = envelope::open_at_most(body, CHUNK_BYTES_MAX)
            .map_err(|error| Error::Integrity(format!("a chunk is damaged: {error}")))?;
        self.opened.insert(name, chunk);
        Ok(())
    }

    /// Takes chunks one after the other: name, length of 4 bytes, big endian, envelope.
    ///
    /// # Errors
    /// `Integrity` when they are damaged.
    pub fn add_all(&mut self, mut chunks: &[u8]) -> Result<()> {
        let cut = || Error::Integrity("the chunks of an answer are cut off".into());
        while !chunks.is_empty() {
            let (name, rest) = chunks.split_first_chunk::<NAME_BYTES>().ok_or_else(cut)?;
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            let length = u32::from_be_bytes(*length) as usize;
            let (body, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
            self.add(name, body)?;
            chunks = rest;
        }
        Ok(())
    }

    /// Takes a stored node. Answers the names in it.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add_node(&mut self, name: &[u8], body: &[u8]) -> Result<Vec<Name>> {
        self.add(name, body)?;
        let node = Name::try_from(name).ok().and_then(|name| self.opened.get(&name));
        parts::read_node(node.map(|it| &it[..]).unwrap_or_default())
            .map_err(|error| Error::Integrity(error.to_string()))
    }

    /// The chunks that lie in packs, for the shelf.
    pub fn take_placed(&mut self) -> Vec<(Place, Name)> {
        std::mem::take(&mut self.placed)
    }

    /// Some content is not at hand: split values open to zeros, and the answer is not given to anybody.
    pub fn lacks_content(&mut self) {
        self.incomplete = true;
    }
}

/// A stored value as its row has it.
#[derive(Debug, Clone, Copy)]
pub struct StoredValue<'a> {
    pub tag: &'a str,
    pub size_bytes: i32,
    pub digest: &'a [u8],
    pub body: &'a [u8],
    pub parts: Option<&'a [u8]>,
}

/// Opens what [`Sealer::value`] made and checks its digest.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged or a chunk is not there.
pub fn open_value(
    secret: &TenantSecret,
    stored: &StoredValue<'_>,
    chunks: &Chunks,
) -> Result<Value> {
    let tag =
        Tag::new(stored.tag).map_err(|_| Error::Integrity("a stored tag is not legal".into()))?;
    if chunks.incomplete && stored.parts.is_some() {
        let size = usize::try_from(stored.size_bytes).unwrap_or(0);
        return Ok(Value { tag, data: Bytes::from(vec![0; size]) });
    }
    let data = open_bytes(stored, chunks).map_err(Error::Integrity)?;
    if secret.digest(&data) != *stored.digest {
        return Err(Error::Integrity("a value does not match its digest".into()));
    }
    Ok(Value { tag, data })
}

fn open_bytes(stored: &StoredValue<'_>, chunks: &Chunks) -> std::result::Result<Bytes, String> {
    let size = usize::try_from(stored.size_bytes).map_err(|_| "a negative size".to_owned())?;
    let Some(list) = stored.parts else {
        return envelope::open(stored.body, size).map_err(|error| error.to_string());
    };
    let ends = envelope::open_at_most(stored.body, size).map_err(|error| error.to_string())?;
    parts::assemble(&ends, list, size, &chunks.opened).map_err(|error| error.to_string())
}

/// Names of the nodes in a stored list.
///
/// # Errors
/// `Integrity` when the list is damaged.
pub fn parts_of(list: &[u8]) -> Result<Vec<Part>> {
    parts::read(list).map_err(|error| Error::Integrity(error.to_string()))
}

/// Skeleton and metadata of a checkpoint in one envelope: together they compress better. 8 bytes digest, then the
/// envelope of 4 bytes length of the first, little endian, the first and the second.
pub fn seal_documents(secret: &TenantSecret, first: &[u8], second: &[u8]) -> Bytes {
    let length = u32::try_from(first.len()).expect("documents are checked against their limit");
    let both = [&length.to_le_bytes()[..], first, second].concat();
    let digest = secret.digest(&both);
    Bytes::from([&digest[..DOCUMENT_DIGEST_BYTES], &envelope::seal(&both)].concat())
}

/// Opens what [`seal_documents`] made.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_documents(secret: &TenantSecret, sealed: &[u8]) -> Result<(Bytes, Bytes)> {
    let damaged = || Error::Integrity("a document is truncated".into());
    let (digest, body) = sealed.split_at_checked(DOCUMENT_DIGEST_BYTES).ok_or_else(damaged)?;
    let size_max = 4 + usize::try_from(2 * LIMITS.value_bytes_max).unwrap_or(usize::MAX);
    let both = envelope::open_at_most(body, size_max)
        .map_err(|error| Error::Integrity(error.to_string()))?;
    if secret.digest(&both)[..DOCUMENT_DIGEST_BYTES] != *digest {
        return Err(Error::Integrity("a document does not match its digest".into()));
    }
    let (length, _) = both.split_first_chunk::<4>().ok_or_else(damaged)?;
    let end = 4 + usize::try_from(u32::from_le_bytes(*length)).map_err(|_| damaged())?;
    if end > both.len() {
        return Err(damaged());
    }
    Ok((both.slice(4..end), both.slice(end..)))
}

/// Envelope of a document whose size is kept inside: 4 bytes little endian, 16 bytes digest, the envelope.
pub fn seal_document(secret: &TenantSecret, data: &[u8]) -> Bytes {
    let mut sealed = Vec::with_capacity(data.len() / 2 + 24);
    let size = u32::try_from(data.len()).expect("documents are checked against the value limit");
    sealed.extend_from_slice(&size.to_le_bytes());
    sealed.extend_from_slice(&secret.digest(data));
    sealed.extend_from_slice(&envelope::seal(data));
    Bytes::from(sealed)
}

/// Opens what [`seal_document`] made.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged.
pub fn open_document(secret: &TenantSecret, sealed: &[u8]) -> Result<Bytes> {
    let damaged = || Error::Integrity("a document is truncated".into());
    let (size, rest) = sealed.split_first_chunk::<4>().ok_or_else(damaged)?;
    let (digest, body) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
    let size = u32::from_le_bytes(*size) as usize;
    let data = envelope::open(body, size).map_err(|error| Error::Integrity(error.to_string()))?;
    if secret.digest(&data) == *digest {
        return Ok(data);
    }
    Err(Error::Integrity("a document does not match its digest".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(data: Vec<u8>) -> Value {
        Value { tag: Tag::new("msgpack").unwrap(), data: Bytes::from(data) }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..).flat_map(|at: u32| format!("message {at}, ").into_bytes()).take(length).collect()
    }

    fn stored(sealed: &Sealed) -> StoredValue<'_> {
        StoredValue {
            tag: &sealed.tag,
            size_bytes: sealed.size_bytes,
            digest: &sealed.digest,
            body: &sealed.body,
            parts: sealed.parts.as_deref(),
        }
    }

    fn chunks(made: &[Chunk]) -> Chunks {
        let mut chunks = Chunks::default();
        for chunk in made {
            chunks.add(&chunk.name, &chunk.body).unwrap();
        }
        chunks
    }

    #[test]
    fn values_open_to_what_was_sealed() {
        let secret = TenantSecret::new([3; 32]);
        for length in [0, 1, 2_048, 2_049, 9_000, 300_000] {
            let mut sealer = Sealer::new(&secret, None);
            let sealed = sealer.value("data", &value(text(length))).unwrap();
            let (made, epoch) = sealer.finish();
            let opened = open_value(&secret, &stored(&sealed), &chunks(&made)).unwrap();
            assert_eq!((opened.data, epoch), (Bytes::from(text(length)), None));
        }
    }

    #[test]
    fn what_the_scope_has_is_left_out_for_its_epoch() {
        let secret = TenantSecret::new([3; 32]);
        let mut first = Sealer::new(&secret, None);
        first.value("data", &value(text(100_000))).unwrap();
        let (made, _) = first.finish();
        let names = made.iter().map(|it| it.name).collect();
        let known = Arc::new(Mutex::new(Known { epoch: 7, names }));
        let mut second = Sealer::new(&secret, Some(known));
        second.value("data", &value(text(103_000))).unwrap();
        let (more, epoch) = second.finish();
        assert_eq!(epoch, Some(7));
        assert!(!more.is_empty() && more.len() < 8, "{} of {}", more.len(), made.len());
    }

    #[test]
    fn one_commit_is_planned_for_one_epoch() {
        let secret = TenantSecret::new([3; 32]);
        let mut first = Sealer::new(&secret, None);
        first.value("data", &value(text(100_000))).unwrap();
        let (made, _) = first.finish();
        let names: HashSet<Name> = made.iter().map(|it| it.name).collect();
        let known = Arc::new(Mutex::new(Known { epoch: 7, names: names.clone() }));
        let mut sealer = Sealer::new(&secret, Some(Arc::clone(&known)));
        sealer.value("data", &value(text(100_000))).unwrap();
        // A removal and a commit of somebody else's come in between.
        *known.lock().unwrap() = Known { epoch: 8, names };
        sealer.value("data", &value(text(90_000))).unwrap();
        let (again, epoch) = sealer.finish();
        assert_eq!(epoch, Some(7), "what the first value left out was there at this epoch");
        assert!(!again.is_empty(), "the second value relies on nothing of another epoch");
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let secret = TenantSecret::new([3; 32]);
        let mut sealer = Sealer::new(&secret, None);
        let sealed = sealer.value("data", &value(text(20_000))).unwrap();
        let (made, _) = sealer.finish();
        let flipped = |bytes: &Bytes, at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at / 8] ^= 1 << (at % 8);
            Bytes::from(bytes)
        };
        let whole = chunks(&made);
        for at in 0..sealed.body.len() * 8 {
            let body = flipped(&sealed.body, at);
            let damaged = StoredValue { body: &body, ..stored(&sealed) };
            // A flip that opens to the same bytes, such as one in a reserved field, is no damage.
            if let Ok(opened) = open_value(&secret, &damaged, &whole) {
                assert_eq!(opened.data, text(20_000));
            }
        }
        let list = sealed.parts.clone().unwrap();
        for at in 0..list.len() * 8 {
            let list = flipped(&list, at);
            let damaged = StoredValue { parts: Some(&list), ..stored(&sealed) };
            assert!(open_value(&secret, &damaged, &whole).is_err(), "bit {at} of the list");
        }
        for at in 0..made[0].body.len() * 8 {
            let mut damaged = chunks(&made[1..]);
            let body = flipped(&made[0].body, at);
            let opened = damaged
                .add(&made[0].name, &body)
                .and_then(|()| open_value(&secret, &stored(&sealed), &damaged));
            if let Ok(opened) = opened {
                assert_eq!(opened.data, text(20_000));
            }
        }
    }

    #[test]
    fn documents_open_to_what_was_sealed_and_damage_is_an_error() {
        let secret = TenantSecret::new([3; 32]);
        for (first, second) in [("", ""), ("{}", "{\"step\":1}"), (&"x".repeat(9_000), "y")] {
            let sealed = seal_documents(&secret, first.as_bytes(), second.as_bytes());
            let (a, b) = open_documents(&secret, &sealed).unwrap();
            assert_eq!((&a[..], &b[..]), (first.as_bytes(), second.as_bytes()));
            for cut in 0..sealed.len() {
                assert!(open_documents(&secret, &sealed[..cut]).is_err());
            }
        }
    }
}
