//! Threads and their listing; values are never touched.

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::{PostgresStorage, failure};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::storage::ThreadStorage;
use crate::domain::storage_use::StorageUse;
use crate::domain::thread::{Lease, LeaseRequest, Thread, ThreadQuery, ThreadSort};
use crate::storage::storage_use::storage_use;

const COLUMNS: &str = "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes, \
     generation, owner, graph_id, assistant_id, user_id";

#[async_trait]
impl ThreadStorage for PostgresStorage {
    async fn get_thread(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        let text = format!("select {COLUMNS} from threads where tenant = $1 and thread_id = $2");
        let mut connection = self.pool.get().await?;
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(&caller.tenant)
            .bind(thread_id.as_str())
            .fetch_optional(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(row.as_ref().map(read_thread))
    }

    async fn list_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<Vec<Thread>> {
        let text = list_text(query);
        let mut connection = self.pool.get().await?;
        let after = query.after.as_ref();
        let rows = sqlx::query(AssertSqlSafe(text))
            .bind(&caller.tenant)
            .bind(&query.graph_id)
            .bind(&query.assistant_id)
            .bind(&query.user_id)
            .bind(&query.prefix)
            .bind(after.map(|it| it.time))
            .bind(after.map(|it| it.thread_id.clone()))
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(rows.iter().map(read_thread).collect())
    }

    async fn get_storage_use(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<StorageUse>> {
        let secret = self.secret(&caller.tenant).await?;
        storage_use(self, &caller.tenant, &secret, thread_id.as_str()).await
    }

    async fn acquire_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.take_lease(caller, request).await
    }

    async fn renew_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.extend_lease(caller, request).await
    }

    async fn release_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<()> {
        self.drop_lease(caller, request).await
    }
}

/// Only fixed fragments enter the text; every value is bound.
fn list_text(query: &ThreadQuery) -> String {
    let (sort, direction, beyond) = match (query.sort, query.ascending) {
        (ThreadSort::Created, true) => ("created_at", "asc", ">"),
        (ThreadSort::Created, false) => ("created_at", "desc", "<"),
        (ThreadSort::Updated, true) => ("updated_at", "asc", ">"),
        (ThreadSort::Updated, false) => ("updated_at", "desc", "<"),
        (ThreadSort::ThreadId, true) => ("thread_id", "asc", ">"),
        (ThreadSort::ThreadId, false) => ("thread_id", "desc", "<"),
    };
    let mut text = format!("select {COLUMNS} from threads where tenant = $1");
    for (given, condition) in [
        (query.graph_id.is_some(), " and graph_id = $2"),
        (query.assistant_id.is_some(), " and assistant_id = $3"),
        (query.user_id.is_some(), " and user_id = $4"),
        (query.prefix.is_some(), " and starts_with(thread_id, $5)"),
    ] {
        if given {
            text += condition;
        }
    }
    if query.after.is_some() {
        text += &match query.sort {
            ThreadSort::ThreadId => format!(" and thread_id {beyond} $7"),
            _ => format!(" and ({sort}, thread_id) {beyond} ($6, $7)"),
        };
    }
    text + &format!(" order by {sort} {direction}, thread_id {direction} limit $8")
}

fn read_thread(row: &PgRow) -> Thread {
    Thread {
        thread_id: row.get("thread_id"),
        created_at: row.get("created_at"),
        updated_at: row.get("updated_at"),
        last_step: row.get("last_step"),
        checkpoint_count: row.get("checkpoint_count"),
        size_bytes: row.get("size_bytes"),
        generation: row.get("generation"),
        owner: row.get("owner"),
        graph_id: row.get("graph_id"),
        assistant_id: row.get("assistant_id"),
        user_id: row.get("user_id"),
    }
}
