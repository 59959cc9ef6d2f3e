//! Encrypts rows that are stored already: `threadkeep encrypt`, while no server runs. It works tenant by tenant, and can be stopped and
//! started again at any time. It is the same for every engine.

use std::collections::HashSet;

use super::resealing::{Change, Resealer, seal_all_again};
use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::content::parts::Name;
use crate::domain::clock::Clock;
use crate::domain::progress::Progress;
use crate::domain::{Error, Result};
use crate::storage::content::reachability::Reachability;
use crate::storage::content::wrapped::rotate;
use crate::storage::db::access::{Access, Accessible, Source, SqlValue, page, rows_named};
use crate::storage::objects::packs::{PackStorage, Scope};
use crate::storage::sessions::encrypting::encrypt_sessions;
use crate::storage::snapshots::encrypting::encrypt_documents;
use crate::storage::store::encrypting::encrypt_items;
use crate::storage::tenants::tenant_keys::{Keys, opened, put};
use crate::storage::threads::details::hide_details;
use crate::storage::tokens::owner_signing::sign;

/// Tenants whose content is not all encrypted, or whose owners have no MACs.
const TENANTS: &str =
    "select t.tenant, t.secret, coalesce((select max(o.plain_rows) from tenant_keys o where o.tenant = t.tenant), 1)
    from tenants t where t.tenant > $1 and not exists (
        select 1 from tenant_keys k where k.tenant = t.tenant and k.plain_rows = 0 and k.owner_macs = 1)
    order by t.tenant limit 100";

const SCOPES: &str = "select scope_id from scopes where tenant = $1 and scope_id > $2
    order by scope_id limit 500";

const THREADS_OF_SCOPE: &str = "select t.thread_key from scope_holders h
    join threads t on t.tenant = h.tenant and t.scope_id = h.scope_id and {thread_of_holder}
    where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread'";

const LISTS_OF_VALUES: &str = "select parts from manifests
    where tenant = $1 and scope_id = $2 and parts is not null";

const LISTS_OF_WRITES: &str = "select parts from writes
    where tenant = $1 and thread_key = $2 and parts is not null";

const LISTS_OF_ITEMS: &str = "select parts from items
    where tenant = $1 and scope_id = $2 and parts is not null";

const LISTS_OF_VERSIONS: &str = "select parts from item_versions
    where tenant = $1 and scope_id = $2 and parts is not null";

const LISTS_OF_ENTRIES: &str = "select e.parts from sessions s
    join session_entries e on e.tenant = s.tenant and e.session_no = s.session_no
    where s.tenant = $1 and s.scope_id = $2 and e.parts is not null";

const LISTS_OF_CONTENTS: &str = "select parts from content_slices
    where tenant = $1 and scope_id = $2";

const CHUNKS: Source<'static> = Source {
    columns: "name",
    size: "32",
    rows: "from chunks where tenant = $1 and scope_id = $2 and name > $3 and not {packed} order by name",
};

/// Encrypts everything that is stored. Answers how many tenants.
///
/// # Errors
/// `Integrity` where stored data is damaged; a database or object store that cannot be reached. What was done stays done.
pub async fn encrypt(
    engine: &dyn Accessible,
    packs: &dyn PackStorage,
    masters: &MasterKeys,
    progress: &Progress,
) -> Result<u64> {
    rotate(engine, masters).await?;
    let (mut done, mut after) = (0, String::new());
    loop {
        let mut access = engine.begin_read().await?;
        let tenants = access.rows(TENANTS, &[after.as_str().into()]).await?;
        access.end().await?;
        let Some(last) = tenants.last() else { return Ok(done) };
        last.text(0)?.clone_into(&mut after);
        for row in &tenants {
            let tenant = row.text(0)?;
            let Some(keys) = begin(engine, masters, tenant, row.bytes(1)?).await? else { continue };
            let this = Move { engine, packs, tenant, keys, progress };
            if row.integer(2)? != 0 {
                this.all().await?;
            }
            sign(engine, (tenant, &this.keys.secret(tenant)), &[]).await?;
            finish(engine, tenant).await?;
            done += 1;
        }
    }
}

/// Has [`encrypt`] look at every tenant again whose key is there.
///
/// # Errors
/// A database that cannot be written.
pub async fn request_encryption(engine: &dyn Accessible) -> Result<()> {
    let mut access = engine.begin_write().await?;
    access.rows("update tenant_keys set plain_rows = 1 where length(wrapped) > 0", &[]).await?;
    access.end().await
}

/// The tenant's key: made, and written in the place of what named its content in plain. None: it was destroyed.
async fn begin(
    engine: &dyn Accessible,
    masters: &MasterKeys,
    tenant: &str,
    names: &[u8],
) -> Result<Option<Keys>> {
    let mut access = engine.begin_write().await?;
    let text = "select wrapped from tenant_keys where tenant = $1 order by key_no desc limit 1";
    let stored = access.rows(text, &[tenant.into()]).await?;
    let keys = match stored.first() {
        Some(row) if row.bytes(0)?.is_empty() => None,
        Some(row) => Some(opened(masters, tenant, row)?),
        None => {
            let damaged = |_| Error::Integrity(format!("the secret of tenant {tenant} is damaged"));
            let keys = Keys::for_names(names.try_into().map_err(damaged)?);
            put(access.as_mut(), masters, tenant, &keys, true).await?;
            let emptied = "update tenants set secret = $2 where tenant = $1";
            access.rows(emptied, &[tenant.into(), SqlValue::Bytes(Vec::new())]).await?;
            Some(keys)
        }
    };
    access.end().await?;
    Ok(keys)
}

async fn finish(engine: &dyn Accessible, tenant: &str) -> Result<()> {
    let mut access = engine.begin_write().await?;
    let text = "update tenant_keys set plain_rows = 0, owner_macs = 1 where tenant = $1";
    access.rows(text, &[tenant.into()]).await?;
    access.end().await
}

/// The tenant that is being encrypted.
struct Move<'a> {
    engine: &'a dyn Accessible,
    packs: &'a dyn PackStorage,
    tenant: &'a str,
    keys: Keys,
    progress: &'a Progress,
}

impl Move<'_> {
    async fn all(&self) -> Result<()> {
        self.remove_garbage().await?;
        self.progress.begin(self.tenant, "threads and namespaces encrypted", 0);
        let mut after = i64::MIN;
        loop {
            let mut access = self.engine.begin_read().await?;
            let scopes = access.rows(SCOPES, &[self.tenant.into(), after.into()]).await?;
            access.end().await?;
            if scopes.is_empty() {
                break;
            }
            for row in &scopes {
                after = row.integer(0)?;
                self.scope(after).await?;
                self.progress.advance(1);
            }
        }
        self.progress.begin(self.tenant, "encrypting what is known of threads", 0);
        hide_details(self.engine, self.tenant).await?;
        let secret = self.keys.secret(self.tenant);
        self.progress.begin(self.tenant, "encrypting items", 0);
        encrypt_items(self.engine, self.tenant, &secret).await?;
        self.progress.begin(self.tenant, "encrypting sessions", 0);
        encrypt_sessions(self.engine, self.tenant, &secret).await?;
        self.progress.begin(self.tenant, "encrypting snapshots", 0);
        encrypt_documents(self.engine, self.tenant, &secret).await
    }

    /// What nobody reaches is not worth encrypting.
    async fn remove_garbage(&self) -> Result<()> {
        let text = "select thread_key, scope_id from garbage where tenant = $1";
        let mut access = self.engine.begin_read().await?;
        let garbage = access.rows(text, &[self.tenant.into()]).await?;
        access.end().await?;
        for row in &garbage {
            let (thread_key, scope_id) = (row.integer(0)?, row.integer(1)?);
            self.engine.remove_unreachable(self.tenant, thread_key, scope_id).await?;
        }
        Ok(())
    }

    async fn scope(&self, scope_id: i64) -> Result<()> {
        let secret: TenantSecret = self.keys.secret(self.tenant);
        let Some(cipher) = secret.cipher() else { return Ok(()) };
        let place = [SqlValue::from(self.tenant), scope_id.into()];
        let mut access = self.engine.begin_read().await?;
        let text = self.engine.dialect().fill(THREADS_OF_SCOPE);
        let threads = access.rows(&text, &place).await?;
        let threads = threads.iter().map(|row| row.integer(0)).collect::<Result<Vec<_>>>()?;
        let marks = self.marks(access.as_mut(), &place, &threads).await?;
        access.end().await?;
        self.remove_unnamed(&place, &marks).await?;
        let nodes = marks.nodes().into_iter().filter_map(|it| Name::try_from(it).ok());
        let nodes: HashSet<Name> = nodes.collect();
        let change = Change::Encrypt { nodes: &nodes };
        let resealer = Resealer { cipher, tenant: self.tenant, scope_id, change };
        seal_all_again(self.engine, &resealer, threads.first().copied()).await?;
        for thread_key in threads.iter().skip(1) {
            seal_all_again(self.engine, &resealer, Some(*thread_key)).await?;
        }
        let scope = Scope { tenant: self.tenant.to_owned(), id: scope_id };
        let secrets = (&self.keys.plain(), &secret);
        crate::storage::objects::packer::encrypt(
            self.engine.objects(),
            self.packs,
            &scope,
            secrets,
            Clock::System.now(),
        )
        .await
    }

    /// What the lists of a scope lead to.
    async fn marks(
        &self,
        access: &mut dyn Access,
        place: &[SqlValue; 2],
        threads: &[i64],
    ) -> Result<Reachability> {
        let mut marks = Reachability::default();
        let mut lists = access.rows(LISTS_OF_VALUES, place).await?;
        lists.extend(access.rows(LISTS_OF_ITEMS, place).await?);
        lists.extend(access.rows(LISTS_OF_VERSIONS, place).await?);
        lists.extend(access.rows(LISTS_OF_ENTRIES, place).await?);
        lists.extend(access.rows(LISTS_OF_CONTENTS, place).await?);
        for key in threads {
            lists.extend(access.rows(LISTS_OF_WRITES, &[place[0].clone(), (*key).into()]).await?);
        }
        for row in &lists {
            marks.add_list(row.bytes(0)?)?;
        }
        let names: Vec<SqlValue> = marks.nodes().into_iter().map(SqlValue::Bytes).collect();
        let text = "select body from chunks where tenant = $1 and scope_id = $2 and name in";
        for row in rows_named(access, text, place, &names).await? {
            marks.add_node(row.bytes(0)?)?;
        }
        Ok(marks)
    }

    /// Whether a chunk that no list names is a node cannot be known: it goes.
    async fn remove_unnamed(&self, place: &[SqlValue; 2], marks: &Reachability) -> Result<()> {
        let text = "delete from chunks where tenant = $1 and scope_id = $2 and name in";
        let mut after = SqlValue::Bytes(Vec::new());
        loop {
            let mut access = self.engine.begin_write().await?;
            let binds = [&place[..], &[after]].concat();
            let rows = page(access.as_mut(), self.engine.dialect(), &CHUNKS, &binds).await?;
            let Some(last) = rows.last() else { return access.end().await };
            after = last.0[0].clone();
            let unnamed = rows.iter().filter(|row| row.bytes(0).is_ok_and(|it| !marks.names(it)));
            let unnamed: Vec<SqlValue> = unnamed.map(|row| row.0[0].clone()).collect();
            if !unnamed.is_empty() {
                rows_named(access.as_mut(), text, place, &unnamed).await?;
                let raise =
                    "update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2";
                access.rows(raise, place).await?;
            }
            access.end().await?;
        }
    }
}
