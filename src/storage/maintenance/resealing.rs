//! Seals stored rows again: those of a copy for another owner, which came with the source's scope, and those from before encryption. It is
//! the same for every engine.

use std::collections::HashSet;

use bytes::Bytes;

use crate::content::cipher::{AssociatedData, Cipher};
use crate::content::encrypted::{encrypt_plain, move_encrypted};
use crate::content::envelope::{EnvelopeError, is_plain};
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::{CheckpointAt, ValueRow, of_chunk};
use crate::storage::content::documents::{BASE_PREFIX_BYTES, DOCUMENTS_PREFIX_BYTES};
use crate::storage::db::access::{Access, Accessible, Dialect, Source, SqlRow, SqlValue, page};
use crate::storage::threads::details_document::details_at;

/// Rows that one statement changes. Lists are filled up to it, so that the text of a statement stays the same.
const ROWS_TOGETHER: usize = 64;

/// What is done to rows that stand in a scope.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// They were sealed for another scope. Rows that are right already stay.
    From(i64),
    /// They may not be encrypted. These chunks are nodes, which never are.
    Encrypt { nodes: &'a HashSet<Name> },
}

/// Seals rows again for the scope that they stand in.
#[derive(Clone, Copy)]
pub struct Resealer<'a> {
    pub cipher: &'a Cipher,
    pub tenant: &'a str,
    pub scope_id: i64,
    pub change: Change<'a>,
}

type Again = std::result::Result<Option<Bytes>, EnvelopeError>;
/// Gives the associated data of a row in a scope to a closure.
type At<'a> = &'a dyn Fn(i64, &dyn Fn(AssociatedData<'_>) -> Again) -> Again;

/// A table with sealed rows. Its columns: the key after its owner, the sealed one, and what the row is bound to besides.
struct Table {
    name: &'static str,
    /// Whose rows: `scope_id` or `thread_key`.
    owner: &'static str,
    key: &'static [&'static str],
    sealed: &'static str,
    rows: Source<'static>,
    /// Before the first row, in the order of the key.
    first: fn() -> Vec<SqlValue>,
    again: fn(&Resealer<'_>, &SqlRow) -> Result<Option<Vec<u8>>>,
}

const OF_SCOPE: [Table; 2] = [
    Table {
        name: "manifests",
        owner: "scope_id",
        key: &["no"],
        sealed: "body",
        rows: Source {
            columns: "no, body, version_key, tag, digest",
            size: "length(body)",
            rows: "from manifests where tenant = $1 and scope_id = $2 and no > $3 order by no",
        },
        first: || vec![SqlValue::Integer(-1)],
        again: |it, row| it.value(row),
    },
    Table {
        name: "chunks",
        owner: "scope_id",
        key: &["name"],
        sealed: "body",
        rows: Source {
            columns: "name, body",
            size: "length(body)",
            rows: "from chunks where tenant = $1 and scope_id = $2 and name > $3 and not {packed} order by name",
        },
        first: || vec![SqlValue::Bytes(Vec::new())],
        again: |it, row| it.chunk(row),
    },
];

const OF_THREAD: [Table; 4] = [
    Table {
        name: "checkpoints",
        owner: "thread_key",
        key: &["ns", "checkpoint_id"],
        sealed: "documents",
        rows: Source {
            columns: "ns, checkpoint_id, documents",
            size: "length(documents)",
            rows: "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
                order by ns, checkpoint_id",
        },
        first: || vec![SqlValue::from(""), SqlValue::from("")],
        again: |it, row| it.documents(row),
    },
    Table {
        name: "writes",
        owner: "thread_key",
        key: &["ns", "checkpoint_id", "task_id", "idx"],
        sealed: "body",
        rows: Source {
            columns: "ns, checkpoint_id, task_id, idx, body, channel, tag, digest",
            size: "length(body)",
            rows: "from writes where tenant = $1 and thread_key = $2
                and (ns, checkpoint_id, task_id, idx) > ($3, $4, $5, $6)
                order by ns, checkpoint_id, task_id, idx",
        },
        first: || vec![SqlValue::from(""), SqlValue::from(""), SqlValue::from(""), SqlValue::Integer(i64::MIN)],
        again: |it, row| it.write(row),
    },
    Table {
        name: "delta_bases",
        owner: "thread_key",
        key: &["ns", "checkpoint_id", "channel"],
        sealed: "document",
        rows: Source {
            columns: "ns, checkpoint_id, channel, document",
            size: "length(document)",
            rows: "from delta_bases where tenant = $1 and thread_key = $2
                and (ns, checkpoint_id, channel) > ($3, $4, $5) order by ns, checkpoint_id, channel",
        },
        first: || vec![SqlValue::from(""), SqlValue::from(""), SqlValue::from("")],
        again: |it, row| it.base(row),
    },
    Table {
        name: "thread_details",
        owner: "thread_key",
        key: &["version"],
        sealed: "document",
        rows: Source {
            columns: "version, document",
            size: "length(document)",
            rows: "from thread_details where tenant = $1 and thread_key = $2 and version > $3 order by version",
        },
        first: || vec![SqlValue::Integer(0)],
        again: |it, row| it.details(row),
    },
];

/// Where a pass over the rows of an owner stands.
#[derive(Default)]
pub struct Cursor {
    table: usize,
    after: Option<Vec<SqlValue>>,
}

impl Resealer<'_> {
    /// Seals a page of what the scope holds again. False: there was no more.
    ///
    /// # Errors
    /// `Integrity` when a row does not open.
    pub async fn page_of_scope(
        &self,
        access: &mut dyn Access,
        dialect: &Dialect,
        cursor: &mut Cursor,
    ) -> Result<bool> {
        self.page(access, dialect, (&OF_SCOPE, self.scope_id), cursor).await
    }

    /// Seals a page of the rows of a thread again. False: there was no more.
    ///
    /// # Errors
    /// `Integrity` when a row does not open.
    pub async fn page_of_thread(
        &self,
        access: &mut dyn Access,
        dialect: &Dialect,
        thread_key: i64,
        cursor: &mut Cursor,
    ) -> Result<bool> {
        self.page(access, dialect, (&OF_THREAD, thread_key), cursor).await
    }

    async fn page(
        &self,
        access: &mut dyn Access,
        dialect: &Dialect,
        (tables, owner): (&[Table], i64),
        cursor: &mut Cursor,
    ) -> Result<bool> {
        let Some(table) = tables.get(cursor.table) else { return Ok(false) };
        let after = cursor.after.take().unwrap_or_else(table.first);
        let place = [SqlValue::from(self.tenant), owner.into()];
        let rows = page(access, dialect, &table.rows, &[&place[..], &after].concat()).await?;
        let Some(last) = rows.last() else {
            cursor.table += 1;
            return Ok(true);
        };
        cursor.after = Some(last.0[..table.key.len()].to_vec());
        let mut changed = Vec::new();
        for row in &rows {
            if let Some(sealed) = (table.again)(self, row)? {
                let key = &row.0[..table.key.len()];
                changed.push([key, &[SqlValue::Bytes(sealed)]].concat());
            }
        }
        let text = table.update();
        for rows in changed.chunks(ROWS_TOGETHER) {
            let fill = std::iter::repeat_n(&rows[rows.len() - 1], ROWS_TOGETHER - rows.len());
            let cells = rows.iter().chain(fill).flatten().cloned();
            let binds: Vec<SqlValue> = place.iter().cloned().chain(cells).collect();
            access.rows(&text, &binds).await?;
        }
        Ok(true)
    }

    fn value(&self, row: &SqlRow) -> Result<Option<Vec<u8>>> {
        let (version, named) = (ValueRow::Version(row.integer(2)?), (row.text(3)?, row.bytes(4)?));
        self.again(row.bytes(1)?, &|scope_id, act| version.aad(scope_id, named, act))
    }

    fn chunk(&self, row: &SqlRow) -> Result<Option<Vec<u8>>> {
        let damaged = |_| Error::Integrity("the name of a chunk has a wrong length".into());
        let name = Name::try_from(row.bytes(0)?).map_err(damaged)?;
        let body = row.bytes(1)?;
        let is_node = match self.change {
            Change::From(_) => is_plain(body),
            Change::Encrypt { nodes } => nodes.contains(&name),
        };
        if is_node {
            return Ok(None);
        }
        self.again(body, &|scope_id, act| of_chunk(scope_id, &name, act))
    }

    fn write(&self, row: &SqlRow) -> Result<Option<Vec<u8>>> {
        let write = ValueRow::Write {
            ns: row.text(0)?,
            checkpoint_id: row.text(1)?,
            task_id: row.text(2)?,
            idx: row.integer(3)?,
            channel: row.text(5)?,
        };
        let named = (row.text(6)?, row.bytes(7)?);
        self.again(row.bytes(4)?, &|scope_id, act| write.aad(scope_id, named, act))
    }

    fn documents(&self, row: &SqlRow) -> Result<Option<Vec<u8>>> {
        let (ns, id) = (row.text(0)?, row.text(1)?);
        self.behind(DOCUMENTS_PREFIX_BYTES, row.bytes(2)?, &|scope_id, act| {
            CheckpointAt { scope_id, ns, id }.documents(act)
        })
    }

    fn base(&self, row: &SqlRow) -> Result<Option<Vec<u8>>> {
        let (ns, id, channel) = (row.text(0)?, row.text(1)?, row.text(2)?);
        self.behind(BASE_PREFIX_BYTES, row.bytes(3)?, &|scope_id, act| {
            CheckpointAt { scope_id, ns, id }.base(channel, act)
        })
    }

    fn details(&self, row: &SqlRow) -> Result<Option<Vec<u8>>> {
        self.behind(BASE_PREFIX_BYTES, row.bytes(1)?, &|scope_id, act| details_at(scope_id, act))
    }

    /// Seals an envelope again that stands behind other bytes, which stay.
    fn behind(&self, prefix: usize, sealed: &[u8], at: At<'_>) -> Result<Option<Vec<u8>>> {
        let damaged = || Error::Integrity("a document is truncated".into());
        let (prefix, envelope) = sealed.split_at_checked(prefix).ok_or_else(damaged)?;
        let again = self.again(envelope, at)?;
        Ok(again.map(|envelope| [prefix, &envelope].concat()))
    }

    fn again(&self, envelope: &[u8], at: At<'_>) -> Result<Option<Vec<u8>>> {
        let here = |aad: AssociatedData<'_>| move_encrypted(self.cipher, (aad, aad), envelope);
        let is_right = || at(self.scope_id, &|aad| here(aad).map(Some)).is_ok();
        let again = match self.change {
            Change::From(from) => at(from, &|from| {
                at(self.scope_id, &|to| move_encrypted(self.cipher, (from, to), envelope).map(Some))
            }),
            Change::Encrypt { .. } => {
                at(self.scope_id, &|aad| Ok(encrypt_plain(self.cipher, aad, envelope)))
            }
        };
        match again {
            Ok(Some(sealed)) => Ok(Some(sealed.to_vec())),
            _ if is_right() => Ok(None),
            Ok(None) => Err(Error::Integrity(EnvelopeError::Foreign.to_string())),
            Err(error) => Err(Error::Integrity(error.to_string())),
        }
    }
}

impl Table {
    /// $1 tenant, $2 owner, then the rows: key and what is sealed.
    fn update(&self) -> String {
        let width = self.key.len() + 1;
        let row = |at: usize| {
            let places = (0..width).map(|column| format!("${}", 3 + at * width + column));
            format!("({})", places.collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = (0..ROWS_TOGETHER).map(row).collect();
        let same = |(at, column): (usize, &&str)| {
            format!(" and {}.{column} = v.column{}", self.name, at + 1)
        };
        let same: String = self.key.iter().enumerate().map(same).collect();
        format!(
            "update {name} set {} = v.column{width} from (values {}) v
             where {name}.tenant = $1 and {name}.{} = $2{same}",
            self.sealed,
            rows.join(", "),
            self.owner,
            name = self.name,
        )
    }
}

/// Seals what a scope holds, and the rows of a thread of it, again: a page in each transaction.
///
/// # Errors
/// `Integrity` when a row does not open; a database that cannot be written.
pub async fn seal_all_again(
    engine: &dyn Accessible,
    resealer: &Resealer<'_>,
    thread_key: Option<i64>,
) -> Result<()> {
    let dialect = engine.dialect();
    let mut cursor = Cursor::default();
    let mut more = true;
    while more {
        let mut access = engine.begin_write().await?;
        more = resealer.page_of_scope(access.as_mut(), dialect, &mut cursor).await?;
        access.end().await?;
    }
    let Some(thread_key) = thread_key else { return Ok(()) };
    (cursor, more) = (Cursor::default(), true);
    while more {
        let mut access = engine.begin_write().await?;
        more = resealer.page_of_thread(access.as_mut(), dialect, thread_key, &mut cursor).await?;
        access.end().await?;
    }
    Ok(())
}

/// A chunk for another scope.
///
/// # Errors
/// `Integrity` when it does not open.
pub fn moved_chunk(
    secret: &TenantSecret,
    (from, to): (i64, i64),
    name: &Name,
    body: Bytes,
) -> Result<Bytes> {
    let Some(cipher) = secret.cipher() else { return Ok(body) };
    let moved = of_chunk(from, name, |from| {
        of_chunk(to, name, |to| move_encrypted(cipher, (from, to), &body))
    });
    moved.map_err(|error| Error::Integrity(format!("a chunk is damaged: {error}")))
}
