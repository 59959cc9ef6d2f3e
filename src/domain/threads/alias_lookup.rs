//! Finds threads by their UUID aliases.
//!
//! A server writes the alias with the row of a new thread. A server of an earlier release writes none, and the trigger of the table removes
//! the alias where it renames a thread. A sweeper adds the missing aliases in the background; a look-up that finds no thread adds those of
//! its tenant and looks again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::alias::{alias, canonical, stored_alias};
use super::service::Threads;
use super::storage::ThreadStorage;
use crate::domain::caller::Caller;
use crate::domain::error::{Error, Result};
use crate::domain::names::ThreadId;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::tokens::grants::{Access, Action};

/// Threads of a tenant that one look-up gives an alias.
pub const ADDED_PER_LOOKUP_MAX: usize = 10_000;
/// Aliases that are written together.
const PAGE_THREADS: usize = 500;
const EVERY: Duration = Duration::from_secs(2);
/// More have an alias by then.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// A thread that a look-up found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundName {
    pub thread_id: String,
    pub owner: Option<String>,
}

/// A thread whose row has no alias, and needs one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnaliasedThread {
    pub tenant: String,
    pub thread_key: i64,
    pub thread_id: String,
}

/// Where a walk through threads goes on: behind this tenant and thread key.
pub type AliasPosition = (String, i64);

#[async_trait]
pub trait AliasStorage: Send + Sync {
    /// Threads that have one of these texts as their id or as the alias in their row, whoever owns them.
    async fn list_threads_named(&self, tenant: &str, names: &[String]) -> Result<Vec<FoundName>>;

    /// Threads without an alias, in the order of their keys.
    async fn list_unaliased_threads(
        &self,
        tenant: &str,
        after_key: i64,
        limit: usize,
    ) -> Result<Vec<UnaliasedThread>>;

    /// Those of all tenants, in the order of tenants and keys.
    async fn list_all_unaliased_threads(
        &self,
        after: &AliasPosition,
        limit: usize,
    ) -> Result<Vec<UnaliasedThread>>;

    /// Writes aliases into the rows of these threads of one tenant, unless they have other ids by now.
    async fn put_aliases(&self, tenant: &str, aliases: &[(UnaliasedThread, String)]) -> Result<()>;
}

impl Threads {
    /// The threads that a caller means: for each text the thread with this id, else with this UUID in its usual spelling, else with this
    /// alias. A thread that the caller may neither read nor delete is none; a text that means none stays. Round trips: none where no text is
    /// a UUID; one; more where a text means no thread.
    ///
    /// # Errors
    /// `AliasesIndexing`; a storage that cannot be read or written.
    pub async fn resolve(&self, caller: &Caller, asked: Vec<ThreadId>) -> Result<Vec<ThreadId>> {
        let mut names: Vec<String> = Vec::new();
        for text in asked.iter().map(ThreadId::as_str) {
            let Some(usual) = canonical(text) else { continue };
            if usual != text {
                names.push(text.to_owned());
            }
            names.push(usual);
        }
        if names.is_empty() {
            return Ok(asked);
        }
        let tenant = caller.tenant.as_str();
        let mut found = self.find_named(caller, &names).await?;
        let means_none = |it: &ThreadId| canonical(it.as_str()).is_some() && found.of(it).is_none();
        if asked.iter().any(means_none) && add_missing(self.storage(), tenant).await? {
            found = self.find_named(caller, &names).await?;
        }
        asked.into_iter().map(|it| found.of(&it).map_or(Ok(it), ThreadId::new)).collect()
    }

    /// As [`Self::resolve`], of one thread.
    ///
    /// # Errors
    /// As there.
    pub async fn resolve_one(&self, caller: &Caller, asked: ThreadId) -> Result<ThreadId> {
        let mut resolved = self.resolve(caller, vec![asked.clone()]).await?;
        Ok(resolved.pop().unwrap_or(asked))
    }

    async fn find_named(&self, caller: &Caller, names: &[String]) -> Result<VisibleNames> {
        let found = self.storage().list_threads_named(&caller.tenant, names).await?;
        let mut ids: Vec<String> =
            found.into_iter().filter(|it| is_visible(caller, it)).map(|it| it.thread_id).collect();
        // Of several with one alias, always the same.
        ids.sort();
        Ok(VisibleNames(ids))
    }
}

/// Whether the caller may learn that the thread is there. The call on it asks for more.
fn is_visible(caller: &Caller, found: &FoundName) -> bool {
    [Action::Read, Action::Write].into_iter().any(|action| {
        match caller.thread_access(&found.thread_id, action) {
            Access::Granted => true,
            Access::IfOwnedBy(subject) => found.owner.as_deref() == Some(subject),
            Access::Denied => false,
        }
    })
}

/// Ids of threads that the caller may see, in their order.
struct VisibleNames(Vec<String>);

impl VisibleNames {
    fn of(&self, asked: &ThreadId) -> Option<&str> {
        let usual = canonical(asked.as_str())?;
        let is_there = |name: &str| self.0.iter().find(|it| *it == name);
        let by_alias = || self.0.iter().find(|it| alias(it) == usual);
        is_there(asked.as_str()).or_else(|| is_there(&usual)).or_else(by_alias).map(String::as_str)
    }
}

/// Adds all aliases that rows of the tenant lack. Whether there was one.
async fn add_missing(storage: &dyn ThreadStorage, tenant: &str) -> Result<bool> {
    let (mut after_key, mut left) = (i64::MIN, ADDED_PER_LOOKUP_MAX);
    loop {
        let page = storage.list_unaliased_threads(tenant, after_key, PAGE_THREADS).await?;
        let Some(last) = page.last() else { return Ok(after_key > i64::MIN) };
        after_key = last.thread_key;
        left = left.checked_sub(page.len()).ok_or(Error::AliasesIndexing {
            limit: ADDED_PER_LOOKUP_MAX,
            retry_after: AGAIN_AFTER,
        })?;
        let is_last = page.len() < PAGE_THREADS;
        storage.put_aliases(tenant, &with_aliases(page)).await?;
        if is_last {
            return Ok(true);
        }
    }
}

fn with_aliases(threads: Vec<UnaliasedThread>) -> Vec<(UnaliasedThread, String)> {
    let all = threads.into_iter();
    all.filter_map(|it| stored_alias(&it.thread_id).map(|alias| (it, alias))).collect()
}

/// Adds aliases that nobody asks for. Any number of servers may do so.
pub struct AliasSweeper {
    storage: Arc<dyn ThreadStorage>,
}

impl AliasSweeper {
    pub fn new(storage: Arc<dyn ThreadStorage>) -> Self {
        Self { storage }
    }

    /// Never returns.
    pub async fn run(self, health: TaskHealth) {
        let health = health.every(EVERY);
        let mut position = (String::new(), i64::MIN);
        loop {
            let swept = self.sweep(&mut position).await;
            health.note(&swept);
            match swept {
                Ok(true) => {}
                Ok(false) => tokio::time::sleep(EVERY).await,
                Err(error) => {
                    tracing::warn!(%error, "aliases of threads are added later");
                    tokio::time::sleep(EVERY).await;
                }
            }
        }
    }

    /// Adds a page of aliases. Whether there may be more.
    ///
    /// # Errors
    /// A storage that cannot be read or written.
    pub async fn sweep(&self, position: &mut AliasPosition) -> Result<bool> {
        let page = self.storage.list_all_unaliased_threads(position, PAGE_THREADS).await?;
        let Some(last) = page.last() else {
            *position = (String::new(), i64::MIN);
            return Ok(false);
        };
        *position = (last.tenant.clone(), last.thread_key);
        for of_tenant in page.chunk_by(|a, b| a.tenant == b.tenant) {
            let aliases = with_aliases(of_tenant.to_vec());
            let tenant = of_tenant.first().map_or("", |it| &it.tenant);
            self.storage.put_aliases(tenant, &aliases).await?;
        }
        Ok(true)
    }
}
