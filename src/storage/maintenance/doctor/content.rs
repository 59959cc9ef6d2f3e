//! Opens values and their chunks, and finds the one that is damaged.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::packs::fetch_sound;
use crate::content::chunking::CHUNK_BYTES_MAX;
use crate::content::cipher::AssociatedData;
use crate::content::envelope;
use crate::content::keys::TenantSecret;
use crate::content::parts::{Name, Part, PartsError, assemble, read, read_node};
use crate::domain::Result;
use crate::domain::names::Tag;
use crate::storage::content::associated_data::ValueRow;
use crate::storage::content::opening::open_chunk;
use crate::storage::db::access::{Access, SqlRow, SqlValue, rows_named};
use crate::storage::objects::Objects;
use crate::storage::objects::pack_location::PackLocation;

/// Columns of manifests and of writes that make a value.
pub const VALUE_COLUMNS: &str = "tag, size_bytes, digest, body, parts";
/// An expression: what a value takes once it is put together.
pub const VALUE_SIZE: &str =
    "case when size_bytes > length(body) then size_bytes else length(body) end
    + coalesce(length(parts), 0)";

/// The columns of a value, found at `at` of a row.
pub struct Value<'a> {
    scope_id: i64,
    row: ValueRow<'a>,
    tag: &'a str,
    size_bytes: i64,
    digest: &'a [u8],
    body: &'a [u8],
    list: Option<&'a [u8]>,
}

pub enum Verdict {
    Sound,
    Damaged(&'static str),
    /// A chunk that it needs is missing or damaged.
    Unreadable,
    /// A chunk that it needs lies in an object store, and none is given.
    Moved,
}

impl<'a> Value<'a> {
    pub fn read(
        (scope_id, value): (i64, ValueRow<'a>),
        row: &'a SqlRow,
        at: usize,
    ) -> Result<Self> {
        Ok(Self {
            scope_id,
            row: value,
            tag: row.text(at)?,
            size_bytes: row.integer(at + 1)?,
            digest: row.bytes(at + 2)?,
            body: row.bytes(at + 3)?,
            list: row.optional_bytes(at + 4)?,
        })
    }

    /// The names of its chunks, where it is split.
    pub fn list(&self) -> Option<&'a [u8]> {
        self.list
    }

    /// What the row takes.
    pub fn stored_bytes(&self) -> u64 {
        super::size(self.body.len() + self.list.map_or(0, <[u8]>::len))
    }

    pub fn examine(&self, secret: &TenantSecret, chunks: &Chunks) -> Verdict {
        if Tag::new(self.tag).is_err() {
            return Verdict::Damaged("the tag is not legal");
        }
        let Ok(size) = usize::try_from(self.size_bytes) else {
            return Verdict::Damaged("a negative size");
        };
        let opened = match self.list {
            None => self
                .aad(|aad| secret.open(aad, self.body, size))
                .map_err(|_| "the body does not open"),
            Some(list) => {
                let Ok(parts) = read(list) else {
                    return Verdict::Damaged("the list of chunks is damaged");
                };
                if let Some(verdict) = chunks.lack(&parts) {
                    return verdict;
                }
                let ends = self.aad(|aad| secret.open_at_most(aad, self.body, size));
                ends.map_err(|_| "the ends do not open").and_then(|ends| {
                    let (node, leaf) =
                        (|it: &Name| chunks.nodes.get(it), |it: &Name| chunks.leaves.get(it));
                    assemble(&ends, list, size, node, leaf).map_err(|error| match error {
                        PartsError::Length => "the chunks do not have the length of the value",
                        _ => "the list of chunks is damaged",
                    })
                })
            }
        };
        match opened {
            Err(detail) => Verdict::Damaged(detail),
            Ok(data) if secret.digest(&data) != *self.digest => {
                Verdict::Damaged("the value does not match its digest")
            }
            Ok(_) => Verdict::Sound,
        }
    }
}

impl Value<'_> {
    fn aad<R>(&self, act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
        self.row.aad(self.scope_id, (self.tag, self.digest), act)
    }
}

/// The chunks that the values of a page need, as far as they are there and sound.
#[derive(Default)]
pub struct Chunks {
    nodes: HashMap<Name, Bytes>,
    leaves: HashMap<Name, Bytes>,
    /// Those that lie in packs and were not fetched.
    placed: HashMap<Name, PackLocation>,
}

impl Chunks {
    /// Reads what the lists of some values lead to. `place`: tenant and scope.
    pub async fn load(
        access: &mut dyn Access,
        secret: &TenantSecret,
        place: &[SqlValue],
        values: &[Value<'_>],
    ) -> Result<Self> {
        let mut chunks = Self::default();
        let lists = values.iter().filter_map(|it| read(it.list?).ok()).flatten();
        let (nodes, mut names): (HashSet<Part>, HashSet<Part>) =
            lists.partition(|part| matches!(part, Part::Node(_)));
        chunks.add(access, secret, place, &nodes).await?;
        for node in &nodes {
            let leaves = chunks.nodes.get(&node.name()).map(|node| read_node(node));
            names.extend(leaves.and_then(Result::ok).into_iter().flatten().map(Part::Leaf));
        }
        chunks.add(access, secret, place, &names).await?;
        Ok(chunks)
    }

    async fn add(
        &mut self,
        access: &mut dyn Access,
        secret: &TenantSecret,
        place: &[SqlValue],
        parts: &HashSet<Part>,
    ) -> Result<()> {
        const CHUNKS: &str =
            "select name, body from chunks where tenant = $1 and scope_id = $2 and name in";
        let names: Vec<SqlValue> =
            parts.iter().map(|part| SqlValue::from(&part.name()[..])).collect();
        let SqlValue::Integer(scope_id) = place[1] else { return Ok(()) };
        for row in rows_named(access, CHUNKS, place, &names).await? {
            let (name, body) = (row.bytes(0)?, row.bytes(1)?);
            let Ok(name) = Name::try_from(name) else { continue };
            if let Ok(Some(place)) = PackLocation::read(body) {
                self.placed.insert(name, place);
                continue;
            }
            if parts.contains(&Part::Node(name)) {
                self.nodes.extend(open_node(secret, &name, body).map(|node| (name, node)));
            }
            if parts.contains(&Part::Leaf(name)) {
                let leaf = open_leaf(secret, scope_id, &name, body);
                self.leaves.extend(leaf.map(|leaf| (name, leaf)));
            }
        }
        Ok(())
    }

    /// Takes a chunk with names, if it is sound. Answers what is in it.
    pub fn add_node(&mut self, secret: &TenantSecret, name: &Name, body: &[u8]) -> Option<Bytes> {
        let node = open_node(secret, name, body)?;
        self.nodes.insert(*name, node.clone());
        Some(node)
    }

    /// Takes a chunk with content, if it is sound.
    pub fn add_leaf(
        &mut self,
        (secret, scope_id): (&TenantSecret, i64),
        name: &Name,
        body: &[u8],
    ) -> bool {
        let leaf = open_leaf(secret, scope_id, name, body);
        let is_sound = leaf.is_some();
        self.leaves.extend(leaf.map(|leaf| (*name, leaf)));
        is_sound
    }

    /// Fetches what lies in packs, as far as it is there and sound. No transaction is open.
    pub async fn fetch(
        &mut self,
        objects: Option<&Objects>,
        (tenant, secret): (&str, &TenantSecret),
        scope_id: i64,
    ) -> Result<()> {
        let Some(objects) = objects.filter(|_| !self.placed.is_empty()) else { return Ok(()) };
        let placed = std::mem::take(&mut self.placed);
        let wanted = placed.iter().map(|(name, place)| (*place, *name)).collect();
        let bodies = fetch_sound(objects, (tenant, secret), wanted).await?;
        for (name, place) in placed {
            let body = bodies.get(&place);
            let chunk = body.and_then(|body| open_leaf(secret, scope_id, &name, body));
            self.leaves.extend(chunk.map(|chunk| (name, chunk)));
        }
        Ok(())
    }

    /// What it means for a value that something its list leads to is not at hand; None: all is.
    fn lack(&self, parts: &[Part]) -> Option<Verdict> {
        let needed = |part: &Part| match (part, self.nodes.get(&part.name())) {
            (Part::Node(_), Some(node)) => read_node(node).unwrap_or_default(),
            (_, _) => vec![part.name()],
        };
        let names = parts.iter().flat_map(needed);
        let mut lacking = names.filter(|name| !self.leaves.contains_key(name)).peekable();
        lacking.peek()?;
        let moved = lacking.all(|name| self.placed.contains_key(&name));
        Some(if moved { Verdict::Moved } else { Verdict::Unreadable })
    }
}

/// A chunk with content, if it opens in its scope and has the name of its content.
pub fn open_leaf(secret: &TenantSecret, scope_id: i64, name: &Name, body: &[u8]) -> Option<Bytes> {
    let chunk = open_chunk(secret, scope_id, name, body).ok()?;
    (secret.name(&chunk) == *name).then_some(chunk)
}

/// A chunk with names of chunks, if it opens and has the name of its content. It is never encrypted.
pub fn open_node(secret: &TenantSecret, name: &Name, body: &[u8]) -> Option<Bytes> {
    let node = envelope::open_at_most(body, CHUNK_BYTES_MAX).ok()?;
    (secret.name(&node) == *name).then_some(node)
}
