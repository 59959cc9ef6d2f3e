//! Copies sessions for a snapshot: reads them in the reader's transaction, and writes them in slices under numbers that no session has.

use sqlx::sqlite::SqliteConnection;

use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::random_id;
use crate::domain::sessions::SESSION;
use crate::domain::sessions::name::SessionName;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::Read;
use crate::storage::threads::sqlite::copy_rows::{OF_SESSION, read_slice, slices};
use crate::storage::tokens::owner_macs::OwnerRow;

const FIND: &str = "
select s.session_no, s.scope_id, s.owner, s.user_id, s.agent, s.title, s.created_at, s.updated_at, s.archives, s.next_log,
    s.size_bytes, g.epoch, s.mac
from sessions s join scopes g on g.tenant = s.tenant and g.scope_id = s.scope_id
where s.tenant = $1 and s.kind = $2 and s.key = $3 and ($4 is null or s.owner = $4)";

/// $1 tenant, $2 kind, $3 key, $4 number, $5 scope, then as the row has it, $15 MAC.
const MAKE: &str = "
insert into sessions (tenant, kind, key, session_no, scope_id, owner, user_id, agent, title, created_at, updated_at, archives,
    next_log, size_bytes, mac)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $5, 'session', cast($4 as text));
delete from garbage where tenant = $1 and thread_key = $4";

/// A session at the moment, and where its copy is staged.
pub(super) struct StagedSession {
    session: SessionName,
    pub(in crate::storage) row: SessionRow,
    pub(in crate::storage) copy: Garbage,
}

#[derive(sqlx::FromRow)]
pub(in crate::storage) struct SessionRow {
    pub(in crate::storage) session_no: i64,
    scope_id: i64,
    owner: Option<String>,
    user_id: Option<String>,
    agent: Option<String>,
    title: Option<Vec<u8>>,
    created_at: i64,
    updated_at: i64,
    archives: i64,
    next_log: i64,
    size_bytes: i64,
    pub(in crate::storage) epoch: i64,
    mac: Option<Vec<u8>>,
}

impl SessionRow {
    /// The row under a kind and a number.
    fn owned<'a>(&'a self, name: (&'a str, &'a [u8]), session_no: i64) -> OwnerRow<'a> {
        OwnerRow::session(name, (session_no, self.scope_id), self.owner.as_deref())
    }
}

pub(super) async fn find_sessions(
    read: &mut SqliteConnection,
    (caller, secret): (&Caller, &TenantSecret),
    sessions: &[SessionName],
) -> Result<Vec<StagedSession>> {
    let mut staged = Vec::new();
    for session in sessions {
        let row: Option<SessionRow> = sqlx::query_as(FIND)
            .bind(&caller.tenant)
            .bind(session.kind())
            .bind(session.key_bytes())
            .bind(caller.session_owner(session, Action::Read))
            .fetch_optional(&mut *read)
            .await?;
        let row = row.ok_or(Error::NotFound(SESSION))?;
        let key = session.key_bytes();
        let found = row.owned((session.kind(), &key), row.session_no);
        found.check(secret, row.mac.as_deref())?;
        let copy = Garbage {
            tenant: caller.tenant.clone(),
            thread_key: random_id(),
            scope_id: row.scope_id,
        };
        staged.push(StagedSession { session: session.clone(), row, copy });
    }
    Ok(staged)
}

impl StagedSession {
    /// Makes a hidden session of what was staged.
    pub(in crate::storage) async fn make(
        &self,
        write: &mut SqliteConnection,
        number: i64,
        secret: &TenantSecret,
    ) -> Result<()> {
        let row = &self.row;
        let (kind, key) = (self.session.hidden_kind(number), self.session.key_bytes());
        let mac = row.owned((&kind, &key), self.copy.thread_key).mac(secret);
        sqlx::query(MAKE)
            .bind(&self.copy.tenant)
            .bind(kind)
            .bind(key)
            .bind(self.copy.thread_key)
            .bind(row.scope_id)
            .bind(&row.owner)
            .bind(&row.user_id)
            .bind(&row.agent)
            .bind(&row.title)
            .bind(row.created_at)
            .bind(row.updated_at)
            .bind(row.archives)
            .bind(row.next_log)
            .bind(row.size_bytes)
            .bind(mac)
            .execute(write)
            .await?;
        Ok(())
    }
}

impl SqliteStorage {
    pub(super) async fn stage_session_rows(
        &self,
        read: &mut Read<'_>,
        copy: &Garbage,
        (from, to): (i64, i64),
    ) -> Result<()> {
        self.register(copy).await?;
        for table in &OF_SESSION {
            for slice in slices(read, &copy.tenant, table, from).await? {
                let (statement, rows) = read_slice(read, table, &slice).await?;
                self.write_slice(copy, statement, rows, to).await?;
            }
        }
        Ok(())
    }
}
