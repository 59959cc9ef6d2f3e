//! Opens and checks stored chunks, values and lists. It is the same for every engine.

use std::collections::HashMap;

use bytes::Bytes;

use super::associated_data::{ValueRow, of_chunk};
use crate::content::encrypted::scope_of;
use crate::content::envelope::{self, EnvelopeError};
use crate::content::keys::TenantSecret;
use crate::content::parts::{self, NAME_BYTES, Name, Part};
use crate::content::slicing::FILE_CHUNK_BYTES_MAX;
use crate::domain::checkpoints::checkpoint::{LargeValues, Value};
use crate::domain::names::Tag;
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::{Error, Result};
use crate::storage::checkpoints::value_parts::names_of_parts;
use crate::storage::objects::pack_location::PackLocation;

/// Chunks of an answer, opened.
#[derive(Default)]
pub struct Chunks {
    /// Those that are not encrypted: where encryption is on, nodes only.
    plain: HashMap<Name, Bytes>,
    /// By the scope that they were encrypted for.
    encrypted: HashMap<i64, HashMap<Name, Bytes>>,
    /// Those that lie in packs: a prefetch gives them their content.
    placed: Vec<(PackLocation, Name)>,
    incomplete: bool,
    /// How values that came in parts are opened.
    large_values: LargeValues,
}

impl Chunks {
    /// For a read that answers values in parts as this says.
    pub fn for_read(large_values: LargeValues) -> Self {
        Self { large_values, ..Self::default() }
    }

    /// Takes a stored chunk.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add(&mut self, secret: &TenantSecret, name: &[u8], body: &[u8]) -> Result<()> {
        let name = Name::try_from(name)
            .map_err(|_| Error::Integrity("the name of a chunk has a wrong length".into()))?;
        if let Some(place) = PackLocation::read(body)? {
            self.placed.push((place, name));
            return Ok(());
        }
        let damaged =
            |error: EnvelopeError| Error::Integrity(format!("a chunk is damaged: {error}"));
        if let (Some(scope_id), true) = (scope_of(body), secret.cipher().is_some()) {
            let chunk = open_chunk(secret, scope_id, &name, body).map_err(damaged)?;
            self.encrypted.entry(scope_id).or_default().insert(name, chunk);
        } else {
            let chunk = envelope::open_at_most(body, FILE_CHUNK_BYTES_MAX).map_err(damaged)?;
            self.plain.insert(name, chunk);
        }
        Ok(())
    }

    /// Takes stored chunks, each by its name. Many leave the async worker to other tasks meanwhile.
    ///
    /// # Errors
    /// `Integrity` when one is damaged.
    pub fn add_each<N: AsRef<[u8]>, B: AsRef<[u8]>>(
        &mut self,
        (tenant, secret): (&str, &TenantSecret),
        found: &[(N, B)],
    ) -> Result<()> {
        let bytes = found.iter().map(|it| it.1.as_ref().len()).sum();
        cpu_pool::run_here_at_once(tenant, size_of(found.len(), bytes), || {
            found.iter().try_for_each(|it| self.add(secret, it.0.as_ref(), it.1.as_ref()))
        })
    }

    /// Takes chunks one after the other: name, length of 4 bytes, big endian, envelope.
    ///
    /// # Errors
    /// `Integrity` when they are damaged.
    pub fn add_all(&mut self, secret: &TenantSecret, mut chunks: &[u8]) -> Result<()> {
        let cut = || Error::Integrity("the chunks of an answer are cut off".into());
        while !chunks.is_empty() {
            let (name, rest) = chunks.split_first_chunk::<NAME_BYTES>().ok_or_else(cut)?;
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            let length = u32::from_be_bytes(*length) as usize;
            let (body, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
            self.add(secret, name, body)?;
            chunks = rest;
        }
        Ok(())
    }

    /// Takes a stored node. Answers the names in it.
    ///
    /// # Errors
    /// `Integrity` when it is damaged.
    pub fn add_node(
        &mut self,
        secret: &TenantSecret,
        name: &[u8],
        body: &[u8],
    ) -> Result<Vec<Name>> {
        self.add(secret, name, body)?;
        let node = Name::try_from(name).ok().and_then(|name| self.plain.get(&name));
        parts::read_node(node.map(|it| &it[..]).unwrap_or_default())
            .map_err(|error| Error::Integrity(error.to_string()))
    }

    /// The chunks that lie in packs, for the prefetch.
    pub fn take_placed(&mut self) -> Vec<(PackLocation, Name)> {
        std::mem::take(&mut self.placed)
    }

    pub fn has_placed(&self) -> bool {
        !self.placed.is_empty()
    }

    /// Some content is not at hand: split values open to zeros, and the answer is not given to anybody.
    pub fn lacks_content(&mut self) {
        self.incomplete = true;
    }

    /// A chunk with content, if a value of this scope may have it.
    pub fn leaf(&self, secret: &TenantSecret, scope_id: i64, name: &Name) -> Option<&Bytes> {
        match secret.cipher() {
            None => self.plain.get(name),
            Some(_) => self.encrypted.get(&scope_id).and_then(|it| it.get(name)),
        }
    }
}

/// Opens a chunk with content.
///
/// # Errors
/// What is wrong with it.
pub fn open_chunk(
    secret: &TenantSecret,
    scope_id: i64,
    name: &Name,
    body: &[u8],
) -> std::result::Result<Bytes, EnvelopeError> {
    of_chunk(scope_id, name, |aad| secret.open_at_most(aad, body, FILE_CHUNK_BYTES_MAX))
}

/// A stored value as its row has it.
#[derive(Debug, Clone, Copy)]
pub struct StoredValue<'a> {
    pub scope_id: i64,
    pub row: ValueRow<'a>,
    pub tag: &'a str,
    pub size_bytes: i32,
    pub digest: &'a [u8],
    pub body: &'a [u8],
    pub parts: Option<&'a [u8]>,
}

/// Opens what a `Sealer` made and checks its digest.
///
/// # Errors
/// `Integrity` when the stored bytes are damaged or a chunk is not there.
pub fn open_value(
    secret: &TenantSecret,
    stored: &StoredValue<'_>,
    chunks: &Chunks,
) -> Result<Value> {
    if chunks.large_values.leaves_out(stored.size_bytes) {
        return left_out(stored.tag, stored.size_bytes);
    }
    let tag =
        Tag::new(stored.tag).map_err(|_| Error::Integrity("a stored tag is not legal".into()))?;
    if let Some(in_parts) = names_of_parts(secret, stored, chunks.large_values) {
        return Ok(Value { tag, data: Bytes::new(), in_parts: Some(Box::new(in_parts)) });
    }
    if chunks.incomplete && stored.parts.is_some() {
        let size = usize::try_from(stored.size_bytes).unwrap_or(0);
        return Ok(Value::new(tag, Bytes::from(vec![0; size])));
    }
    let data = open_bytes(secret, stored, chunks).map_err(Error::Integrity)?;
    if secret.digest(&data) != *stored.digest {
        return Err(Error::Integrity("a value does not match its digest".into()));
    }
    Ok(Value::new(tag, data))
}

/// A value of a channel that is not wanted.
///
/// # Errors
/// `Integrity` for a tag that is none.
pub fn left_out(tag: &str, size_bytes: i32) -> Result<Value> {
    let tag = Tag::new(tag).map_err(|_| Error::Integrity("a stored tag is not legal".into()))?;
    Ok(Value::left_out(tag, u64::from(size_bytes.unsigned_abs())))
}

fn open_bytes(
    secret: &TenantSecret,
    stored: &StoredValue<'_>,
    chunks: &Chunks,
) -> std::result::Result<Bytes, String> {
    let size = usize::try_from(stored.size_bytes).map_err(|_| "a negative size".to_owned())?;
    let named = (stored.tag, stored.digest);
    let opened = stored.row.aad(stored.scope_id, named, |aad| match stored.parts {
        None => secret.open(aad, stored.body, size),
        Some(_) => secret.open_at_most(aad, stored.body, size),
    });
    let opened = opened.map_err(|error| error.to_string())?;
    let Some(list) = stored.parts else { return Ok(opened) };
    let leaf = |name: &Name| chunks.leaf(secret, stored.scope_id, name);
    let node = |name: &Name| chunks.plain.get(name);
    parts::assemble(&opened, list, size, node, leaf).map_err(|error| error.to_string())
}

/// Names of the nodes in a stored list.
///
/// # Errors
/// `Integrity` when the list is damaged.
pub fn parts_of(list: &[u8]) -> Result<Vec<Part>> {
    parts::read(list).map_err(|error| Error::Integrity(error.to_string()))
}
