//! Reads and writes rows of snapshots and of their parts. An absent text is bound as an empty one: a null has no type until a statement is
//! prepared with it.

use std::collections::BTreeMap;

use super::document;
use crate::content::keys::TenantSecret;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::{History, NamespacePart, SessionPart, Snapshot, ThreadPart};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, SqlRow, SqlValue, rows_named};
use crate::storage::store::namespaces;

/// Kinds of parts.
const THREAD: &str = "thread";
const NAMESPACE: &str = "namespace";
const SESSION: &str = "session";

pub const COLUMNS: &str = "s.snapshot_id, s.snapshot_no, s.owner, s.labels, s.document, s.created_at, s.taken_at, s.expires_at";

const INSERT: &str = "
insert into snapshots (tenant, snapshot_id, snapshot_no, owner, digest, labels, document, created_at, taken_at, expires_at)
values ($1, $2, $3, nullif(cast($4 as text), ''), $5, $6, $7, $8, $9, $10)
on conflict do nothing returning snapshot_no";

const INSERT_PART: &str = "
insert into snapshot_parts (tenant, snapshot_no, part_no, kind, name, session_kind, owner, history, generation, entries,
    size_bytes)
values ($1, $2, $3, $4, $5, $6, nullif(cast($7 as text), ''), $8, $9, $10, $11)";

/// A snapshot with its parts. False: there is another one of this id.
///
/// # Errors
/// A database that cannot be written.
pub async fn insert(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    snapshot: &Snapshot,
    digest: &[u8],
) -> Result<bool> {
    let sealed = document::seal(secret, (snapshot.no, &snapshot.id), snapshot.document.as_ref());
    let labels = serde_json::json!(snapshot.labels).to_string();
    let labels = document::seal_labels(secret, (snapshot.no, &snapshot.id), labels);
    let binds = [
        tenant.into(),
        snapshot.id.as_str().into(),
        snapshot.no.into(),
        snapshot.owner.as_deref().unwrap_or_default().into(),
        digest.into(),
        labels.as_str().into(),
        SqlValue::Bytes(sealed),
        snapshot.created_at.into(),
        snapshot.taken_at.into(),
        snapshot.expires_at.unwrap_or(0).into(),
    ];
    if access.rows(INSERT, &binds).await?.is_empty() {
        return Ok(false);
    }
    for part in &snapshot.namespaces {
        let binds = [
            tenant.into(),
            snapshot.no.into(),
            part.part_no.into(),
            NAMESPACE.into(),
            SqlValue::Bytes(namespaces::encode(&part.namespace)),
            "".into(),
            "".into(),
            "".into(),
            "".into(),
            part.items.into(),
            SqlValue::from(part.size_bytes),
        ];
        access.rows(INSERT_PART, &binds).await?;
    }
    for part in &snapshot.sessions {
        let binds = [
            tenant.into(),
            snapshot.no.into(),
            part.part_no.into(),
            SESSION.into(),
            SqlValue::Bytes(part.session.key_bytes()),
            part.session.kind().into(),
            part.owner.as_deref().unwrap_or_default().into(),
            "".into(),
            "".into(),
            part.entries.into(),
            SqlValue::from(part.size_bytes),
        ];
        access.rows(INSERT_PART, &binds).await?;
    }
    for part in &snapshot.threads {
        let binds = [
            tenant.into(),
            snapshot.no.into(),
            part.part_no.into(),
            THREAD.into(),
            part.thread_id.as_bytes().into(),
            "".into(),
            part.owner.as_deref().unwrap_or_default().into(),
            part.history.name().into(),
            part.generation.as_str().into(),
            part.checkpoints.into(),
            SqlValue::from(part.size_bytes),
        ];
        access.rows(INSERT_PART, &binds).await?;
    }
    Ok(true)
}

/// Snapshots as [`COLUMNS`] has them, without their parts.
///
/// # Errors
/// `Integrity` for rows that are damaged.
pub fn read(secret: &TenantSecret, row: &SqlRow) -> Result<Snapshot> {
    let (id, no) = (row.text(0)?.to_owned(), row.integer(1)?);
    let damaged = |_| Error::Integrity("the labels of a snapshot are damaged".into());
    let labels: BTreeMap<String, String> =
        serde_json::from_str(&document::open_labels(secret, (no, &id), row.text(3)?)?)
            .map_err(damaged)?;
    Ok(Snapshot {
        document: document::open(secret, (no, &id), row.bytes(4)?)?,
        id,
        no,
        owner: row.optional_text(2)?.map(str::to_owned),
        created_at: row.integer(5)?,
        taken_at: row.integer(6)?,
        expires_at: Some(row.integer(7)?).filter(|it| *it > 0),
        labels,
        threads: Vec::new(),
        namespaces: Vec::new(),
        sessions: Vec::new(),
        archive: None,
    })
}

/// Brings the parts of some snapshots.
///
/// # Errors
/// A database that cannot be read.
pub async fn add_parts(
    access: &mut dyn Access,
    tenant: &str,
    snapshots: &mut [Snapshot],
) -> Result<()> {
    const TEXT: &str =
        "select snapshot_no, part_no, kind, name, owner, history, generation, entries, size_bytes,
        session_kind from snapshot_parts where tenant = $1 and snapshot_no in";
    if snapshots.is_empty() {
        return Ok(());
    }
    let numbers: Vec<SqlValue> = snapshots.iter().map(|it| it.no.into()).collect();
    let rows = rows_named(access, TEXT, &[tenant.into()], &numbers).await?;
    for snapshot in snapshots.iter_mut() {
        for row in &rows {
            if row.integer(0)? != snapshot.no {
                continue;
            }
            match row.text(2)? {
                THREAD => snapshot.threads.push(thread(row)?),
                NAMESPACE => snapshot.namespaces.push(namespace(row)?),
                SESSION => snapshot.sessions.push(session(row)?),
                _ => {}
            }
        }
        snapshot.threads.sort_by_key(|it| it.part_no);
        snapshot.namespaces.sort_by_key(|it| it.part_no);
        snapshot.sessions.sort_by_key(|it| it.part_no);
    }
    Ok(())
}

fn session(row: &SqlRow) -> Result<SessionPart> {
    let damaged = || Error::Integrity("a part of a snapshot is damaged".into());
    let session = SessionName::stored(row.text(9)?.to_owned(), row.bytes(3)?);
    Ok(SessionPart {
        part_no: row.integer(1)?,
        session: session.ok_or_else(damaged)?,
        entries: row.integer(7)?,
        size_bytes: row.integer(8)?,
        owner: row.optional_text(4)?.map(str::to_owned),
    })
}

fn namespace(row: &SqlRow) -> Result<NamespacePart> {
    Ok(NamespacePart {
        part_no: row.integer(1)?,
        namespace: namespaces::decode(row.bytes(3)?)?,
        items: row.integer(7)?,
        size_bytes: row.integer(8)?,
    })
}

fn thread(row: &SqlRow) -> Result<ThreadPart> {
    let damaged = || Error::Integrity("a part of a snapshot is damaged".into());
    Ok(ThreadPart {
        part_no: row.integer(1)?,
        thread_id: String::from_utf8(row.bytes(3)?.to_vec()).map_err(|_| damaged())?,
        owner: row.optional_text(4)?.map(str::to_owned),
        history: History::parse("history", row.text(5)?).map_err(|_| damaged())?,
        generation: row.text(6)?.to_owned(),
        checkpoints: row.integer(7)?,
        size_bytes: row.integer(8)?,
    })
}
