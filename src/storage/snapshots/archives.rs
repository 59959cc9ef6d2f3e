//! Stores archives of workspaces as rows: a content in the scope of its workspace, and sealed facts about it. The SQL is the same for both
//! engines.
//!
//! **Invariant:** a workspace begins with its first archive and ends with its last one, under the lock of its scope.

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::SnapshotEngine;
use crate::content::cipher::AssociatedData;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_id};
use crate::domain::files::contents::ContentId;
use crate::domain::scheduling::contention::Contention;
use crate::domain::snapshots::Snapshot;
use crate::domain::snapshots::archives::{
    ARCHIVE, ATTEMPT, Archive, ArchiveId, ArchiveStorage, Arrived, WorkspaceName,
};
use crate::domain::{Error, Result};
use crate::storage::content::documents::{open_document, seal_document};
use crate::storage::db::access::{
    Access, Accessible, Dialect, SqlRow, SqlValue, lock_scope, rows_named,
};
use crate::storage::files::contents::{drop_content, drop_unshown, place_slices};

/// Contents of one transaction: each may have some thousand rows.
const SLICE_ARCHIVES: i64 = 4;

const WORKSPACE: &str =
    "select scope_id from workspaces where tenant = $1 and owner = $2 and name = $3";

const MAKE_WORKSPACE: &str = "
insert into workspaces (tenant, owner, name, scope_id) values ($1, $2, $3, $4)
on conflict do nothing returning scope_id";

const MAKE_SCOPE: &str =
    "insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $2, $3, 1)";

const HOLD_SCOPE: &str = "insert into scope_holders (tenant, scope_id, kind, holder)
    values ($1, $2, 'workspace', $3)";

/// It is no file: nobody finds it by a namespace. $1 tenant, $2 id, $3 scope, $4 now, $5 nothing.
const BEGIN_CONTENT: &str = "
insert into contents (tenant, content_id, namespace, key, scope_id, size_bytes, digest, created_at,
    finished_at, idle_since)
values ($1, $2, $5, $5, $3, 0, $5, $4, 0, $4)";

const BEGIN: &str = "
insert into archives (tenant, content_id, owner, workspace, scope_id, head, staged_at)
values ($1, $2, $3, $4, $5, $6, 0)";

const FINISH: &str = "
update archives set head = $3, staged_at = $4 where tenant = $1 and content_id = $2";

const OF_SCOPE: &str =
    "select scope_id, workspace from archives where tenant = $1 and content_id = $2";

const COLUMNS: &str = "a.content_id, a.workspace, a.scope_id, a.head, a.staged_at, c.size_bytes";

/// $1 tenant, $2 number, $3 content.
const SHOW: &str =
    "insert into snapshot_archives (tenant, snapshot_no, content_id) values ($1, $2, $3)";

/// Locks it against the sweep. Nothing where it is gone.
const SHOWN: &str = "
update contents set idle_since = 0
where tenant = $1 and content_id = $2 and finished_at > 0 returning content_id";

/// What is kept sealed.
#[derive(Serialize, Deserialize)]
struct Head {
    sha256: String,
    file_count: u64,
}

#[async_trait]
impl<T: SnapshotEngine> ArchiveStorage for T {
    async fn begin_archive(
        &self,
        caller: &Caller,
        workspace: &WorkspaceName,
        now: Micros,
    ) -> Result<ArchiveId> {
        self.check_room()?;
        // Makes a tenant that is new.
        self.session_secret(&caller.tenant).await?;
        let id = ContentId::random();
        let mut contention = Contention::default();
        loop {
            let mut access = self.begin_write().await?;
            let scope_id = hold_workspace(&mut *access, self.dialect(), caller, workspace).await?;
            let Some(scope_id) = scope_id else {
                access.end().await?;
                contention.lost("the workspace keeps").await?;
                continue;
            };
            let place = [caller.tenant.as_str().into(), SqlValue::from(&id.0[..])];
            let nothing = SqlValue::Bytes(Vec::new());
            let content = [scope_id.into(), now.into(), nothing.clone()];
            access.rows(BEGIN_CONTENT, &[&place[..], &content].concat()).await?;
            let archive =
                [owner(caller).into(), workspace.as_str().into(), scope_id.into(), nothing];
            access.rows(BEGIN, &[&place[..], &archive].concat()).await?;
            access.end().await?;
            return Ok(ArchiveId(id));
        }
    }

    async fn finish_archive(
        &self,
        caller: &Caller,
        id: ArchiveId,
        arrived: &Arrived,
        now: Micros,
    ) -> Result<Archive> {
        let secret = self.session_secret(&caller.tenant).await?;
        let place = [caller.tenant.as_str().into(), SqlValue::from(&id.0.0[..])];
        let digest = secret.digest(&arrived.sha256);
        let mut access = self.begin_write().await?;
        place_slices(&mut *access, self.dialect(), &place, (ATTEMPT, arrived.size_bytes)).await?;
        let size = i64::try_from(arrived.size_bytes).unwrap_or(i64::MAX);
        let row = [size.into(), SqlValue::from(&digest[..]), now.into()];
        access.rows(crate::storage::files::contents::FINISH, &[&place[..], &row].concat()).await?;
        let found = access.rows(OF_SCOPE, &place).await?;
        let row = found.first().ok_or(Error::NotFound(ARCHIVE))?;
        let (scope_id, workspace) = (row.integer(0)?, row.text(1)?.to_owned());
        let head = Head { sha256: hex::encode(arrived.sha256), file_count: arrived.file_count };
        let head = serde_json::to_vec(&head).map_err(|it| Error::Internal(it.to_string()))?;
        let sealed = aad(scope_id, &id.0.0, |aad| seal_document(&secret, aad, &head));
        let row = [SqlValue::from(&sealed[..]), now.into()];
        access.rows(FINISH, &[&place[..], &row].concat()).await?;
        access.end().await?;
        Ok(Archive {
            id,
            workspace,
            size_bytes: arrived.size_bytes,
            file_count: arrived.file_count,
            sha256: arrived.sha256,
            staged_at: now,
        })
    }

    async fn find_archive(&self, caller: &Caller, id: ArchiveId) -> Result<Option<Archive>> {
        let text = format!(
            "select {COLUMNS} from archives a
             join contents c on c.tenant = a.tenant and c.content_id = a.content_id
             where a.tenant = $1 and a.content_id = $2 and a.owner = $3 and a.staged_at > 0"
        );
        let binds =
            [caller.tenant.as_str().into(), SqlValue::from(&id.0.0[..]), owner(caller).into()];
        let secret = self.session_secret(&caller.tenant).await?;
        let found = self.read_rows(&caller.tenant, &text, &binds).await?;
        found.first().map(|row| read(&secret, row, 0)).transpose()
    }
}

/// The scope of a workspace, under its scope lock. None: it came or went at this moment.
async fn hold_workspace(
    access: &mut dyn Access,
    dialect: &Dialect,
    caller: &Caller,
    workspace: &WorkspaceName,
) -> Result<Option<i64>> {
    let tenant = SqlValue::from(caller.tenant.as_str());
    let name = [tenant.clone(), owner(caller).into(), workspace.as_str().into()];
    if let Some(row) = access.rows(WORKSPACE, &name).await?.first() {
        let scope_id = row.integer(0)?;
        lock_scope(access, dialect, &caller.tenant, scope_id).await?;
        // Again under the scope lock: its last archive may have gone.
        let found = access.rows(WORKSPACE, &name).await?;
        let is_there = found.first().is_some_and(|it| it.integer(0).is_ok_and(|it| it == scope_id));
        return Ok(is_there.then_some(scope_id));
    }
    let scope_id = random_id();
    let made = access.rows(MAKE_WORKSPACE, &[&name[..], &[scope_id.into()]].concat()).await?;
    if made.is_empty() {
        return Ok(None);
    }
    let [tenant, _, name] = name;
    let epoch = random_id().into();
    access.rows(MAKE_SCOPE, &[tenant.clone(), scope_id.into(), epoch]).await?;
    access.rows(HOLD_SCOPE, &[tenant, scope_id.into(), name]).await?;
    Ok(Some(scope_id))
}

/// The snapshot has it from now on, if it is still there.
///
/// # Errors
/// `NotFound` where it went meanwhile.
pub async fn show(
    access: &mut dyn Access,
    (tenant, number): (&str, i64),
    id: ArchiveId,
) -> Result<()> {
    let content = SqlValue::from(&id.0.0[..]);
    if access.rows(SHOWN, &[tenant.into(), content.clone()]).await?.is_empty() {
        return Err(Error::NotFound(ARCHIVE));
    }
    access.rows(SHOW, &[tenant.into(), number.into(), content]).await?;
    Ok(())
}

/// It was staged when it says, elsewhere.
///
/// # Errors
/// A database that cannot be written.
pub async fn keep_time(access: &mut dyn Access, tenant: &str, archive: &Archive) -> Result<()> {
    let text = "update archives set staged_at = $3 where tenant = $1 and content_id = $2";
    let id = SqlValue::from(&archive.id.0.0[..]);
    access.rows(text, &[tenant.into(), id, archive.staged_at.into()]).await.map(drop)
}

/// Brings the archives of some snapshots.
///
/// # Errors
/// `Integrity`; a database that cannot be read.
pub async fn add(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    snapshots: &mut [Snapshot],
) -> Result<()> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let text = format!(
        "select s.snapshot_no, {COLUMNS} from snapshot_archives s
         join archives a on a.tenant = s.tenant and a.content_id = s.content_id
         join contents c on c.tenant = a.tenant and c.content_id = a.content_id
         where s.tenant = $1 and s.snapshot_no in"
    );
    let numbers: Vec<SqlValue> = snapshots.iter().map(|it| it.no.into()).collect();
    for row in rows_named(access, &text, &[tenant.into()], &numbers).await? {
        let number = row.integer(0)?;
        if let Some(snapshot) = snapshots.iter_mut().find(|it| it.no == number) {
            snapshot.archive = Some(read(secret, &row, 1)?);
        }
    }
    Ok(())
}

/// The archive that stands under a number goes, if no other snapshot has it.
///
/// # Errors
/// A database that cannot be written.
pub async fn release(
    engine: &dyn Accessible,
    (tenant, number): (&str, i64),
    now: Micros,
) -> Result<()> {
    // The content first, as an erasure locks them. Till it is gone it is as one that was just staged: a crash leaves it to the sweep.
    const IDLE: &str = "update contents set idle_since = $3 where tenant = $1 and content_id in (
            select s.content_id from snapshot_archives s where s.tenant = $1 and s.snapshot_no = $2)
        returning content_id";
    let place = [SqlValue::from(tenant), number.into()];
    let mut access = engine.begin_write().await?;
    let idle = access.rows(IDLE, &[&place[..], &[now.into()]].concat()).await?;
    let text = "delete from snapshot_archives where tenant = $1 and snapshot_no = $2";
    access.rows(text, &place).await?;
    access.end().await?;
    let Some(row) = idle.first() else { return Ok(()) };
    let id = ContentId::stored(row.bytes(0)?)?;
    drop_unshown(engine, tenant, id, now).await.map(drop)
}

/// What is known of an archive goes with its content, and with the last one the workspace: in a transaction that holds the
/// scope lock. Its scope has an entry in the garbage.
///
/// # Errors
/// A database that cannot be written.
pub async fn forget(access: &mut dyn Access, place: &[SqlValue; 2]) -> Result<()> {
    const LAST: &str = "
        delete from workspaces where tenant = $1 and owner = $2 and name = $3 and not exists (
            select 1 from archives a where a.tenant = $1 and a.owner = $2 and a.workspace = $3)
        returning scope_id";
    const LEAVE: [&str; 2] = [
        "delete from scope_holders where tenant = $1 and scope_id = $2 and kind = 'workspace'",
        "update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2",
    ];
    let text =
        "delete from archives where tenant = $1 and content_id = $2 returning owner, workspace";
    let gone = access.rows(text, place).await?;
    let Some(row) = gone.first() else { return Ok(()) };
    let text = "delete from snapshot_archives where tenant = $1 and content_id = $2";
    access.rows(text, place).await?;
    let name = [place[0].clone(), row.text(0)?.into(), row.text(1)?.into()];
    if let Some(row) = access.rows(LAST, &name).await?.first() {
        for text in LEAVE {
            access.rows(text, &[place[0].clone(), row.integer(0)?.into()]).await?;
        }
    }
    Ok(())
}

/// A slice of what a subject staged, whatever shows it. Answers how many, and their bytes.
///
/// # Errors
/// A database that cannot be written.
pub async fn erase(engine: &dyn Accessible, tenant: &str, subject: &str) -> Result<(u64, u64)> {
    const FOUND: &str = "
        select a.content_id, a.scope_id, c.size_bytes from archives a
        join contents c on c.tenant = a.tenant and c.content_id = a.content_id
        where a.tenant = $1 and a.owner = $2 limit $3";
    const ERASED: &str = "update garbage set owner = $3, erased = (1 = 1)
        where tenant = $1 and thread_key = $2 and scope_id = $2";
    let binds = [SqlValue::from(tenant), subject.into(), SLICE_ARCHIVES.into()];
    loop {
        let mut access = engine.begin_read().await?;
        let found = access.rows(FOUND, &binds).await?;
        access.end().await?;
        let (mut count, mut bytes) = (0, 0);
        for row in &found {
            let (place, scope_id) = ([tenant.into(), row.0[0].clone()], row.integer(1)?);
            let (dialect, now) = (engine.dialect(), Clock::System.now());
            let mut access = engine.begin_write().await?;
            lock_scope(access.as_mut(), dialect, tenant, scope_id).await?;
            let is_mine = drop_content(access.as_mut(), dialect, &place, now).await?;
            access.rows(ERASED, &[tenant.into(), scope_id.into(), subject.into()]).await?;
            access.end().await?;
            if is_mine {
                count += 1;
                bytes += row.integer(2)?.unsigned_abs();
            }
        }
        // Another server may be at the same erasure, and have counted all of these.
        if count > 0 || found.is_empty() {
            return Ok((count, bytes));
        }
    }
}

pub(super) fn aad<R>(scope_id: i64, id: &[u8], act: impl FnOnce(AssociatedData<'_>) -> R) -> R {
    act(AssociatedData { scope_id, noun: "archive", row: &[id] })
}

/// Columns from `at` on as [`COLUMNS`] has them.
fn read(secret: &TenantSecret, row: &SqlRow, at: usize) -> Result<Archive> {
    let damaged = || Error::Integrity("what is known of an archive is damaged".into());
    let id = ContentId::stored(row.bytes(at)?)?;
    let head: Bytes =
        aad(row.integer(at + 2)?, &id.0, |aad| open_document(secret, aad, row.bytes(at + 3)?))?;
    let head: Head = serde_json::from_slice(&head).map_err(|_| damaged())?;
    let mut sha256 = [0; 32];
    hex::decode_to_slice(&head.sha256, &mut sha256).map_err(|_| damaged())?;
    Ok(Archive {
        id: ArchiveId(id),
        workspace: row.text(at + 1)?.to_owned(),
        file_count: head.file_count,
        sha256,
        staged_at: row.integer(at + 4)?,
        size_bytes: row.integer(at + 5)?.unsigned_abs(),
    })
}

/// Empty for keys of the whole tenant.
fn owner(caller: &Caller) -> &str {
    caller.subject.as_deref().unwrap_or_default()
}
