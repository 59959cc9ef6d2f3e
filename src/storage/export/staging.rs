//! Stages the records of a thread as rows under a key that no thread has, in a content scope that nobody holds.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::lost;
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::checkpoints::checkpoint::PENDING_SENDS;
use crate::domain::checkpoints::prepared::Sealed;
use crate::domain::clock::random_id;
use crate::domain::export::records::{
    Staged, ThreadBase, ThreadCheckpoint, ThreadRecord, ThreadValue, ThreadWrite,
};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::base_document::seal_base;
use crate::storage::checkpoints::channel_map::{Entry, pack};
use crate::storage::checkpoints::prepare::{channel_key, describe, version_key};
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::chunk_memory::Known;
use crate::storage::content::documents::seal_documents;
use crate::storage::content::sealing::Sealer;
use crate::storage::db::access::{Access, Accessible, Dialect, SqlValue};
use crate::storage::files::contents::put_chunks;
use crate::storage::sessions::rows::{Rows, bytes, number};

/// Chunks of one statement.
const CHUNKS_TOGETHER: usize = 1_000;

const REGISTER: &str = "
insert into garbage (tenant, thread_key, scope_id, created_at) values ($1, $2, $3, {now})";

/// Says that the import still runs; nothing where a sweep has taken it for one that does not.
const TOUCH: &str = "
update garbage set created_at = {now} where tenant = $1 and thread_key = $2 returning thread_key";

/// The pending sends of a removed parent, where they are kept as its writes.
const SENDS_FROM: &str = "
update checkpoints set sends_from = $5
where tenant = $1 and thread_key = $2 and ns = $3 and checkpoint_id = $4";

pub async fn begin(engine: &dyn Accessible, tenant: &str) -> Result<Staged> {
    let staged = Staged {
        key: random_id(),
        scope_id: random_id(),
        versions: Vec::new(),
        checkpoints: 0,
        size_bytes: 0,
    };
    let mut access = engine.begin_adding().await?;
    let binds = [tenant.into(), staged.key.into(), staged.scope_id.into()];
    access.rows(&engine.dialect().fill(REGISTER), &binds).await?;
    access.end().await?;
    Ok(staged)
}

/// Says that the import still runs.
pub async fn touch(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    staged: &Staged,
) -> Result<()> {
    let key = [SqlValue::from(tenant), staged.key.into()];
    let touched = access.rows(&dialect.fill(TOUCH), &key).await?;
    if touched.is_empty() { Err(lost()) } else { Ok(()) }
}

pub async fn put_all_chunks(
    access: &mut dyn Access,
    tenant: &str,
    scope_id: i64,
    chunks: Vec<(Name, Bytes)>,
) -> Result<()> {
    for chunks in chunks.chunks(CHUNKS_TOGETHER) {
        put_chunks(access, tenant, scope_id, chunks.to_vec()).await?;
    }
    Ok(())
}

/// Rows that are about to be written.
#[derive(Default)]
struct Batch {
    values: Rows,
    checkpoints: Rows,
    writes: Rows,
    bases: Rows,
    chunks: Vec<(Name, Bytes)>,
    /// Namespace, id, and whom the pending sends are kept for.
    senders: Vec<(String, String, String)>,
}

pub async fn stage(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    staged: &mut Staged,
    records: Vec<ThreadRecord>,
) -> Result<()> {
    let (secret, mut next) = (secret.clone(), staged.clone());
    let keeps_senders = engine.dialect().keeps_senders;
    let bytes = records.iter().map(ThreadRecord::size_bytes).sum();
    let size = cpu_pool::size_of(records.len(), bytes);
    let sealed = cpu_pool::run_sized(tenant, size, move || {
        let batch = seal(&secret, &mut next, records, keeps_senders)?;
        Ok::<_, Error>((batch, next))
    });
    let (mut batch, next) = sealed.await??;
    let dialect = engine.dialect();
    let mut access = engine.begin_adding().await?;
    let key = [SqlValue::from(tenant), staged.key.into()];
    touch(&mut *access, dialect, tenant, staged).await?;
    let chunks = std::mem::take(&mut batch.chunks);
    put_all_chunks(&mut *access, tenant, staged.scope_id, chunks).await?;
    let of_scope = [SqlValue::from(tenant), staged.scope_id.into()];
    for (text, rows, owner) in [
        (values_text(), batch.values, &of_scope),
        (dialect.checkpoint_rows.to_owned(), batch.checkpoints, &key),
        (writes_text(), batch.writes, &key),
        (bases_text(), batch.bases, &key),
    ] {
        if !rows.is_empty() {
            let binds = [rows.binds(), owner.to_vec()].concat();
            access.rows(&dialect.fill(&text), &binds).await?;
        }
    }
    for (ns, id, sender) in &batch.senders {
        let binds = [&key[..], &[ns.as_str().into(), id.as_str().into(), sender.as_str().into()]];
        access.rows(SENDS_FROM, &binds.concat()).await?;
    }
    access.end().await?;
    *staged = next;
    Ok(())
}

/// CPU work: everything is sealed for its row.
fn seal(
    secret: &TenantSecret,
    staged: &mut Staged,
    records: Vec<ThreadRecord>,
    keeps_senders: bool,
) -> Result<Batch> {
    let known = Arc::new(Mutex::new(Known { epoch: 0, names: HashSet::new() }));
    let mut sealer = Sealer::new(secret, staged.scope_id, Some(known));
    let mut batch = Batch::default();
    for record in records {
        match record {
            ThreadRecord::Value(it) => batch.value(secret, &mut sealer, staged, it)?,
            ThreadRecord::Checkpoint(it) => batch.checkpoint(secret, staged, &it)?,
            ThreadRecord::Base(it) if keeps_senders && it.base.channel == PENDING_SENDS => {
                batch.sends(&mut sealer, staged, it)?;
            }
            ThreadRecord::Base(it) => batch.base(secret, staged.scope_id, &it)?,
            ThreadRecord::Write(it) => batch.write(&mut sealer, staged, &it)?,
        }
    }
    let (chunks, _) = sealer.finish();
    batch.chunks = chunks.into_iter().map(|it| (it.name, it.body)).collect();
    Ok(batch)
}

impl Batch {
    fn value(
        &mut self,
        secret: &TenantSecret,
        sealer: &mut Sealer<'_>,
        staged: &mut Staged,
        it: ThreadValue,
    ) -> Result<()> {
        let key = version_key(secret, &it.ns, &it.channel, &it.version);
        let sealed = sealer.value("value", ValueRow::Version(key), &it.value)?;
        staged.versions.push(key);
        staged.size_bytes += i64::from(sealed.size_bytes);
        let mut row = vec![json!(staged.versions.len()), json!(key)];
        row.extend(sealed_cells(&mut self.values, &sealed));
        self.values.push(Json::from(row));
        Ok(())
    }

    fn checkpoint(
        &mut self,
        secret: &TenantSecret,
        staged: &mut Staged,
        it: &ThreadCheckpoint,
    ) -> Result<()> {
        let described = describe(secret, &it.ns, &it.skeleton, &it.metadata)?;
        let wrong = || Error::invalid("values", "a checkpoint shows values that do not fit it");
        if described.keys.len() != it.values.len() {
            return Err(wrong());
        }
        let mut map = Vec::with_capacity(it.values.len());
        for ((channel_key, version_key), no) in described.keys.into_iter().zip(&it.values) {
            let at = usize::try_from(*no).unwrap_or(usize::MAX);
            if at > 0 && staged.versions.get(at - 1) != Some(&version_key) {
                return Err(wrong());
            }
            map.push(Entry { channel_key, version_key, value_no: *no });
        }
        let at = CheckpointAt { scope_id: staged.scope_id, ns: &it.ns, id: &it.id };
        let documents = seal_documents(secret, at, &it.skeleton, &it.metadata);
        let documents = self.checkpoints.bytes(&documents);
        let packed = self.checkpoints.bytes(&pack(&map));
        let delta_keys: Vec<i64> =
            described.delta_channels.iter().map(|it| channel_key(secret, it)).collect();
        self.checkpoints.push(json!([
            it.ns,
            it.id,
            it.parent,
            documents.0,
            documents.1,
            described.size_bytes,
            i32::from(described.legacy),
            described.run_id,
            it.created_at,
            packed.0,
            packed.1,
            described.delta_channels,
            map.iter().map(|it| it.channel_key).collect::<Vec<_>>(),
            map.iter().map(|it| it.version_key).collect::<Vec<_>>(),
            map.iter().map(|it| it.value_no).collect::<Vec<_>>(),
            delta_keys,
        ]));
        staged.checkpoints += 1;
        staged.size_bytes += described.size_bytes;
        Ok(())
    }

    fn base(&mut self, secret: &TenantSecret, scope_id: i64, it: &ThreadBase) -> Result<()> {
        let at = CheckpointAt { scope_id, ns: &it.ns, id: &it.checkpoint_id };
        let document = seal_base(secret, at, &it.base)?;
        let document = self.bases.bytes(&document);
        let row = json!([it.ns, it.checkpoint_id, it.base.channel, document.0, document.1]);
        self.bases.push(row);
        Ok(())
    }

    /// As writes of a checkpoint that is not there, under an id that no other has.
    fn sends(
        &mut self,
        sealer: &mut Sealer<'_>,
        staged: &mut Staged,
        it: ThreadBase,
    ) -> Result<()> {
        let sender = format!("sends:{:016x}", random_id());
        for (at, (task_id, value)) in it.base.writes.into_iter().enumerate() {
            let write = ThreadWrite {
                ns: it.ns.clone(),
                checkpoint_id: sender.clone(),
                task_id,
                // Their order.
                task_path: format!("{at:08}"),
                idx: i32::try_from(at).unwrap_or(i32::MAX),
                channel: PENDING_SENDS.to_owned(),
                writer: None,
                value,
            };
            self.write(sealer, staged, &write)?;
        }
        self.senders.push((it.ns, it.checkpoint_id, sender));
        Ok(())
    }

    fn write(
        &mut self,
        sealer: &mut Sealer<'_>,
        staged: &mut Staged,
        it: &ThreadWrite,
    ) -> Result<()> {
        let row = ValueRow::Write {
            ns: &it.ns,
            checkpoint_id: &it.checkpoint_id,
            task_id: &it.task_id,
            idx: it.idx.into(),
            channel: &it.channel,
        };
        let sealed = sealer.value("value", row, &it.value)?;
        staged.size_bytes += i64::from(sealed.size_bytes);
        let (writer, seq) = it.writer.clone().unwrap_or_default();
        let mut row = vec![json!(it.ns), json!(it.checkpoint_id), json!(it.task_id), json!(it.idx)];
        row.extend([json!(it.task_path), json!(it.channel), json!(writer), json!(seq)]);
        row.extend(sealed_cells(&mut self.writes, &sealed));
        self.writes.push(Json::from(row));
        Ok(())
    }
}

/// Tag, size, and where digest, body and parts are.
pub fn sealed_cells(rows: &mut Rows, sealed: &Sealed) -> [Json; 8] {
    let digest = rows.bytes(&sealed.digest);
    let body = rows.bytes(&sealed.body);
    let parts = rows.optional(sealed.parts.as_deref());
    [
        json!(sealed.tag),
        json!(sealed.size_bytes),
        json!(digest.0),
        json!(digest.1),
        json!(body.0),
        json!(body.1),
        json!(parts.0),
        json!(parts.1),
    ]
}

/// The cells of [`sealed_cells`] from `at` on.
pub fn sealed_columns(at: usize) -> String {
    let (tag, size) = (format!("j.value ->> {at}"), number(at + 1));
    let [digest, body, parts] = [2, 4, 6].map(|it| bytes(at + it));
    format!("{tag}, {size}, {digest}, {body}, {parts}")
}

fn values_text() -> String {
    let ([no, key], sealed) = ([0, 1].map(number), sealed_columns(2));
    format!(
        "insert into manifests (tenant, scope_id, no, version_key, tag, size_bytes, digest, body, parts)
         select $3, $4, {no}, {key}, {sealed} {{from_each}} where true"
    )
}

fn writes_text() -> String {
    let ([idx, seq], sealed) = ([3, 7].map(number), sealed_columns(8));
    format!(
        "insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
            tag, size_bytes, digest, body, parts)
         select $3, $4, j.value ->> 0, j.value ->> 1, j.value ->> 2, {idx}, j.value ->> 4, j.value ->> 5,
            j.value ->> 6, {seq}, {sealed} {{from_each}} where true"
    )
}

fn bases_text() -> String {
    let document = bytes(3);
    format!(
        "insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
         select $3, $4, j.value ->> 0, j.value ->> 1, j.value ->> 2, {document} {{from_each}} where true"
    )
}
