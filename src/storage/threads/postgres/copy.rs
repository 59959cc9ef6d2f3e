//! Copies the rows of a thread under a new key, in one transaction over one snapshot. A copy for the same owner shares the content of its
//! source.

use sqlx::Row;

use super::copy_packed::{Fresh, lacks_packed, take_staged};
use super::removal::{check, lock};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::random_hex;
use crate::domain::scheduling::contention::Contention;
use crate::domain::threads::alias::stored_alias;
use crate::domain::threads::storage::CopyThread;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::maintenance::resealing::{Change, Cursor, Resealer};
use crate::storage::postgres::access::{BorrowedTransaction, DIALECT};
use crate::storage::postgres::connection::Connection;
use crate::storage::postgres::{PostgresStorage, failure};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 source, $3 and $4 the copy's thread key and scope.
const COPY_ROWS: &str = r"
with c as (
    insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, channel_keys, version_keys,
        value_nos, documents, size_bytes, legacy, sends_from, run_id, delta_channels, delta_keys)
    select tenant, $3, ns, checkpoint_id, parent_id, channel_keys, version_keys, value_nos, documents,
        size_bytes, legacy, sends_from, run_id, delta_channels, delta_keys
    from checkpoints where tenant = $1 and thread_key = $2
    returning 1
), w as (
    insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
        tag, size_bytes, digest, body, parts)
    select tenant, $3, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq, tag, size_bytes,
        digest, body, parts
    from writes where tenant = $1 and thread_key = $2
), b as (
    insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
    select tenant, $3, ns, checkpoint_id, channel, document
    from delta_bases where tenant = $1 and thread_key = $2
), d as (
    insert into thread_details (tenant, thread_key, version, document, projection, has_marks, title_folded, ttl_due)
    select tenant, $3, version, document, projection, has_marks, title_folded, ttl_due
    from thread_details where tenant = $1 and thread_key = $2
), h as (
    insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $4, 'thread', $3::text)
)
select count(*) as copied from c
";

/// For another owner, so that erasing one never depends on the other: $1 tenant, $2 source's scope, $3 new scope,
/// $4 its first epoch. Packed chunks were staged.
const COPY_CONTENT: &str = r"
with m as (
    insert into manifests (tenant, scope_id, no, version_key, tag, size_bytes, digest, body, parts)
    select tenant, $3, no, version_key, tag, size_bytes, digest, body, parts
    from manifests where tenant = $1 and scope_id = $2
), k as (
    insert into chunks (tenant, scope_id, name, body)
    select tenant, $3, name, body from chunks
    where tenant = $1 and scope_id = $2 and get_byte(body, 0) <> 2
    on conflict do nothing
)
insert into scopes (tenant, scope_id, epoch, next_no)
select tenant, $3, $4, next_no from scopes where tenant = $1 and scope_id = $2
";

/// $1 tenant, $2 source, $3 target, $4 and $5 new keys, $6 generation for a target that never was, $7 owner, $8
/// whose what is left of a deleted target has to be, or null, $9 MAC, $10 alias. A target that exists has no checkpoints and no writes: a lease
/// made it, and it keeps its fence and its owner.
const COPY_THREAD: &str = r"
with tombstone as (
    delete from thread_tombstones where tenant = $1 and thread_id = $3
    returning generation, fence, owner
)
insert into threads as x (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
    last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id, mac, alias)
select o.tenant, $3, $4, $5, coalesce(d.generation, $6), coalesce(d.fence, 0), now.now, now.now, o.last_step,
    o.checkpoint_count, o.size_bytes, $7, o.graph_id, o.assistant_id, o.user_id, $9, $10
from threads o
cross join (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) now
left join tombstone d on $8::text is null or d.owner = $8
where o.tenant = $1 and o.thread_id = $2
on conflict (tenant, thread_id) do update set thread_key = excluded.thread_key,
    scope_id = excluded.scope_id, mac = excluded.mac, updated_at = excluded.updated_at, last_step = excluded.last_step,
    checkpoint_count = excluded.checkpoint_count, size_bytes = excluded.size_bytes,
    graph_id = excluded.graph_id, assistant_id = excluded.assistant_id, user_id = excluded.user_id,
    title_misses = excluded.title_misses
";

impl PostgresStorage {
    pub(in crate::storage) async fn copy(
        &self,
        caller: &Caller,
        request: &CopyThread,
    ) -> Result<u64> {
        let mut fresh = Fresh::default();
        let copied = self.copy_as(caller, request, &mut fresh).await;
        if copied.is_err() {
            self.unstage(&caller.tenant, &fresh).await?;
        }
        copied
    }

    async fn copy_as(
        &self,
        caller: &Caller,
        request: &CopyThread,
        fresh: &mut Fresh,
    ) -> Result<u64> {
        let secret = &self.secret(&caller.tenant).await?;
        let mut contention = Contention::default();
        loop {
            fresh.renew();
            let mut connection = self.pool.get_for(&caller.tenant).await?;
            connection.open("begin isolation level repeatable read").await?;
            match copy_once(&mut connection, secret, caller, request, fresh).await {
                Ok(Copied::LacksContentOf(scope_id)) if contention.may_try_again().await => {
                    connection.end("rollback").await?;
                    drop(connection);
                    self.stage_content(&caller.tenant, scope_id, fresh).await?;
                }
                Ok(Copied::LacksContentOf(_)) => {
                    return Err(Error::Unavailable {
                        detail: "content of the source was moved again and again".into(),
                        retry_after: std::time::Duration::from_secs(1),
                    });
                }
                Ok(Copied::Checkpoints(copied)) => match connection.end("commit").await {
                    Ok(()) => return Ok(copied),
                    Err(_) if request.idempotency.is_some() && contention.may_try_again().await => {
                    }
                    Err(error) => {
                        return Err(Error::CommitUnknown { detail: error.to_string() });
                    }
                },
                Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
                Err(error) => {
                    connection.end("rollback").await?;
                    return Err(error);
                }
            }
        }
    }
}

enum Copied {
    Checkpoints(u64),
    /// Nothing was done: this scope has packed content that the copy lacks.
    LacksContentOf(i64),
}

async fn copy_once(
    connection: &mut Connection,
    secret: &TenantSecret,
    caller: &Caller,
    request: &CopyThread,
    fresh: &Fresh,
) -> Result<Copied> {
    let tenant = caller.tenant.as_str();
    if let Some(copied) = answered(connection, caller, request).await? {
        return Ok(Copied::Checkpoints(copied));
    }
    let source = OwnedThread::by(caller, request.source.as_str(), Action::Read);
    let source = find(connection, source, secret).await?;
    let mut copied = 0;
    if let Some(source) = source {
        let target = OwnedThread::by(caller, request.target.as_str(), Action::Append);
        let owner = make_way(connection, (target, secret), request)
            .await?
            .unwrap_or(caller.subject.clone());
        let shares = source.owner == owner;
        if !shares && lacks_packed(connection, tenant, source.scope_id, fresh.scope_id).await? {
            return Ok(Copied::LacksContentOf(source.scope_id));
        }
        let thread_key = fresh.thread_key;
        let scope_id = if shares {
            source.scope_id
        } else {
            take_staged(connection, tenant, fresh).await?;
            copy_content(connection, tenant, source.scope_id, fresh).await?
        };
        let row = sqlx::query(COPY_ROWS)
            .bind(tenant)
            .bind(source.thread_key)
            .bind(thread_key)
            .bind(scope_id)
            .fetch_one(&mut *connection)
            .await?;
        copied = row.get::<i64, _>("copied").unsigned_abs();
        if let (false, Some(cipher)) = (shares, secret.cipher()) {
            let change = Change::From(source.scope_id);
            seal_again(connection, Resealer { cipher, tenant, scope_id, change }, thread_key)
                .await?;
        }
        let made = (thread_key, scope_id);
        let mac = OwnerRow::thread(target.thread_id, made, owner.as_deref()).mac(secret);
        sqlx::query(COPY_THREAD)
            .bind(tenant)
            .bind(request.source.as_str())
            .bind(request.target.as_str())
            .bind(thread_key)
            .bind(scope_id)
            .bind(random_hex())
            .bind(owner)
            .bind(target.owner)
            .bind(mac)
            .bind(stored_alias(request.target.as_str()))
            .execute(&mut *connection)
            .await?;
    }
    remember(connection, caller, request, copied).await?;
    Ok(Copied::Checkpoints(copied))
}

/// Seals the rows of a copy, which came with the source's scope, for its own.
async fn seal_again(
    connection: &mut Connection,
    resealer: Resealer<'_>,
    thread_key: i64,
) -> Result<()> {
    let mut access = BorrowedTransaction(connection);
    let mut cursor = Cursor::default();
    while resealer.page_of_scope(&mut access, &DIALECT, &mut cursor).await? {}
    let mut cursor = Cursor::default();
    while resealer.page_of_thread(&mut access, &DIALECT, thread_key, &mut cursor).await? {}
    Ok(())
}

/// Copies everything of a scope that is in the database into a new one. Answers its id.
async fn copy_content(
    connection: &mut Connection,
    tenant: &str,
    scope_id: i64,
    fresh: &Fresh,
) -> Result<i64> {
    sqlx::query(COPY_CONTENT)
        .bind(tenant)
        .bind(scope_id)
        .bind(fresh.scope_id)
        .bind(fresh.thread_key)
        .execute(connection)
        .await?;
    Ok(fresh.scope_id)
}

struct Source {
    thread_key: i64,
    scope_id: i64,
    owner: Option<String>,
}

/// Finds a thread and holds its scope lock against removals, not against commits.
async fn find(
    connection: &mut Connection,
    thread: OwnedThread<'_>,
    secret: &TenantSecret,
) -> Result<Option<Source>> {
    let row = sqlx::query(
        "select x.thread_key, x.scope_id, x.owner, x.mac from threads x
         join scopes s on s.tenant = x.tenant and s.scope_id = x.scope_id
         where x.tenant = $1 and x.thread_id = $2 and ($3::text is null or x.owner = $3)
         for key share of s",
    )
    .bind(thread.tenant)
    .bind(thread.thread_id)
    .bind(thread.owner)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let (thread_key, scope_id) = (row.get("thread_key"), row.get("scope_id"));
    let owner: Option<String> = row.get("owner");
    OwnerRow::thread(thread.thread_id, (thread_key, scope_id), owner.as_deref())
        .check(secret, row.get("mac"))?;
    Ok(Some(Source { thread_key, scope_id, owner }))
}

/// Refuses a target that is another's, leased or has anything in it. One that is empty gives way: what is left of it
/// becomes garbage; its fence, generation and owner stay. Answers that owner, if there was such a target.
async fn make_way(
    connection: &mut Connection,
    (target, secret): (OwnedThread<'_>, &TenantSecret),
    request: &CopyThread,
) -> Result<Option<Option<String>>> {
    let tenant = target.tenant;
    let any = OwnedThread { owner: None, ..target };
    let Some(locked) = lock(connection, any).await? else {
        return request.check_room(false).map(|()| None);
    };
    if target.is_taken(locked.owner.as_deref()) {
        return Err(Error::Conflict(Conflict::ThreadTaken));
    }
    locked.check_mac(secret)?;
    let row = sqlx::query(
        "select exists (select from checkpoints where tenant = $1 and thread_key = $2)
            or exists (select from writes where tenant = $1 and thread_key = $2) as occupied",
    )
    .bind(tenant)
    .bind(locked.thread_key)
    .fetch_one(&mut *connection)
    .await?;
    if row.get("occupied") {
        return Err(Error::Conflict(Conflict::ThreadExists));
    }
    check(&locked, None, None)?;
    request.check_room(true)?;
    sqlx::query(
        "with holder as (
            delete from scope_holders where tenant = $1 and scope_id = $2 and kind = 'thread'
                and holder = $3::text
         ), raised as (
            update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2
         )
         insert into garbage (tenant, thread_key, scope_id, created_at)
         values ($1, $3, $2, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
    )
    .bind(tenant)
    .bind(locked.scope_id)
    .bind(locked.thread_key)
    .execute(connection)
    .await?;
    Ok(Some(locked.owner))
}

/// The answer of the same request, if it was answered before.
async fn answered(
    connection: &mut Connection,
    caller: &Caller,
    request: &CopyThread,
) -> Result<Option<u64>> {
    let Some((key, digest)) = &request.idempotency else {
        return Ok(None);
    };
    let row = sqlx::query(
        "select digest, answer from idempotency where tenant = $1 and caller = $2 and key = $3",
    )
    .bind(&caller.tenant)
    .bind(&caller.credential)
    .bind(key)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    if row.get::<Vec<u8>, _>("digest") != digest {
        return Err(Error::IdempotencyMismatch);
    }
    let answer: Vec<u8> = row.get("answer");
    let bytes = answer
        .try_into()
        .map_err(|_| Error::Integrity("a stored answer has a wrong length".into()))?;
    Ok(Some(u64::from_le_bytes(bytes)))
}

async fn remember(
    connection: &mut Connection,
    caller: &Caller,
    request: &CopyThread,
    copied: u64,
) -> Result<()> {
    let Some((key, digest)) = &request.idempotency else {
        return Ok(());
    };
    sqlx::query(
        "insert into idempotency (tenant, caller, key, digest, answer, subject, created_at)
         values ($1, $2, $3, $4, $5, $6,
            (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
    )
    .bind(&caller.tenant)
    .bind(&caller.credential)
    .bind(key)
    .bind(&digest[..])
    .bind(&copied.to_le_bytes()[..])
    .bind(&caller.subject)
    .execute(connection)
    .await
    .map_err(|error| match failure::of_call(&error) {
        // The same request at the same moment: the next attempt finds its answer.
        Error::Internal(detail) if detail.contains("idempotency_pkey") => Error::Unavailable {
            detail: "the same request is being answered".into(),
            retry_after: std::time::Duration::from_millis(100),
        },
        other => other,
    })?;
    Ok(())
}
