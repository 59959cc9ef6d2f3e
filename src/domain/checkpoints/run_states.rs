//! Derives the states, first messages and short values of threads from their newest checkpoints: before they are shown, before threads
//! are searched by them, and in the background.

use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::try_join_all;

use super::checkpoint::{LargeValues, Target, View};
use super::shown;
use super::storage::{CheckpointStorage, CheckpointTuple};
use super::wanted::WantedChannels;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::doctor::{Examine, FindingPlace, Noun, Report, State};
use crate::domain::error::{Error, Result};
use crate::domain::json::exact_fields;
use crate::domain::metric_families as families;
use crate::domain::names::{CheckpointNs, ThreadId};
use crate::domain::scheduling::background_tasks::{self, Group, Kind};
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::threads::details::{NO_METADATA, check_metadata};
use crate::domain::threads::run_state::{
    DERIVED_PER_SEARCH_MAX, Derived, FirstMessage, KeptState, RunState, RunStates, StalePosition,
    StaleThread,
};
use crate::domain::threads::thread::Thread;

/// Threads that are read at one time. Their values are in memory meanwhile.
const AT_ONCE: usize = 4;
/// States that are written together.
const PAGE_THREADS: usize = 200;
const BACKGROUND_THREADS: usize = 50;
/// A thread that changed less long ago is left to whoever asks: it will change again soon.
const QUIET: Micros = 5_000_000;
const EVERY: Duration = Duration::from_secs(2);
const COUNTED_EVERY: Duration = Duration::from_secs(30);
/// The gauge of stale threads goes up to here.
pub const COUNTED_MAX: u64 = 100_000;
/// Indexing has gone on by then.
const INDEXED_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How long a search derives states before it answers that they are still being derived: well within the time that clients wait.
const DERIVED_FOR: Duration = Duration::from_secs(8);

/// Reads what is derived from a checkpoint and its writes.
#[derive(Clone, Copy)]
pub struct ReadState {
    pub state: fn(&CheckpointTuple) -> RunState,
    pub first_message: fn(&CheckpointTuple) -> FirstMessage,
    pub short_values: fn(&CheckpointTuple) -> Option<String>,
    /// About how many bytes each of them looks at.
    pub state_bytes: fn(&CheckpointTuple) -> usize,
    pub first_message_bytes: fn(&CheckpointTuple) -> usize,
    pub short_values_bytes: fn(&CheckpointTuple) -> usize,
}

/// Derives states for requests.
pub struct DerivedRunStates {
    storage: Arc<dyn CheckpointStorage>,
    read: ReadState,
    /// Fields of the metadata of checkpoints that threads show.
    metadata_keys: Vec<String>,
}

impl DerivedRunStates {
    pub fn new(storage: Arc<dyn CheckpointStorage>, read: ReadState) -> Self {
        Self { storage, read, metadata_keys: Vec::new() }
    }

    /// Threads show these fields of the metadata of checkpoints, too.
    #[must_use]
    pub fn with_metadata(self, metadata_keys: Vec<String>) -> Self {
        Self { metadata_keys, ..self }
    }

    /// A thread that cannot be read has failed.
    async fn derive(&self, stale: &StaleThread) -> Result<Derived> {
        match self.read(stale).await {
            Err(Error::Integrity(_) | Error::ValuesTooLarge { .. }) => {
                Ok(Derived::untitled(stale, RunState::Failed))
            }
            derived => derived,
        }
    }

    async fn read(&self, stale: &StaleThread) -> Result<Derived> {
        let target = Target {
            thread_id: ThreadId::new(&stale.thread_id)?,
            ns: CheckpointNs::new("")?,
            id: None,
            large_values: LargeValues::Shown,
            wanted: WantedChannels::All,
        };
        let caller = Caller::of_tenant(&stale.tenant);
        let found = shown::get_checkpoint(&*self.storage, &caller, &target, &[]).await?;
        let (read, wants_title) = (self.read, stale.wants_title());
        let mut size_bytes = (read.state_bytes)(&found) + (read.short_values_bytes)(&found);
        if wants_title {
            size_bytes += (read.first_message_bytes)(&found);
        }
        let (thread_id, seen) = (stale.thread_id.clone(), stale.seen);
        let metadata = found.view.as_ref().and_then(|it| shown_fields(it, &self.metadata_keys));
        let derived = cpu_pool::run_sized(&stale.tenant, size_bytes, move || {
            let title = wants_title.then(|| (read.first_message)(&found));
            let first_message = title.unwrap_or(FirstMessage::Unread);
            let state = (read.state)(&found);
            let short_values = (read.short_values)(&found);
            Derived { thread_id, seen, state, first_message, metadata, short_values }
        });
        derived.await
    }

    /// Derives the states and short values of threads anew, and reports those that are kept wrong.
    ///
    /// # Errors
    /// A storage that cannot be read. A thread that does not open is none: it is reported where its content is examined.
    pub async fn examine(&self, request: &Examine, report: &mut Report) -> Result<()> {
        let mut after = (request.tenant.clone().unwrap_or_default(), String::new());
        loop {
            let from = Bound::Excluded((after.0.as_str(), after.1.as_str()));
            let page = self.storage.list_run_states(from, PAGE_THREADS).await?;
            for kept in page.chunk_by(|a, b| a.thread.tenant == b.thread.tenant) {
                let tenant = &kept[0].thread.tenant;
                if request.tenant.as_ref().is_some_and(|it| it != tenant) {
                    return Ok(());
                }
                self.examine_some(tenant, kept, request.fix, report).await?;
            }
            let Some(KeptState { thread: last, .. }) = page.last() else { return Ok(()) };
            after = (last.tenant.clone(), last.thread_id.clone());
        }
    }

    async fn examine_some(
        &self,
        tenant: &str,
        kept: &[KeptState],
        fix: bool,
        report: &mut Report,
    ) -> Result<()> {
        let mut found = Vec::new();
        for it in kept {
            match self.read(&it.thread).await {
                Err(Error::Integrity(_) | Error::KeyDestroyed | Error::ValuesTooLarge { .. }) => {}
                derived => found.push((it, derived?)),
            }
        }
        let with_values: Vec<&Derived> =
            found.iter().filter(|(it, _)| it.has_values).map(|(_, it)| it).collect();
        let wrong = match self.storage.list_wrong_values(tenant, &with_values).await {
            Err(Error::KeyDestroyed) => return Ok(()),
            wrong => wrong?,
        };
        for (it, derived) in &found {
            report.add(State::Checked, Noun::RunStates, 1, 0);
            let has_wrong_values =
                derived.short_values.is_none() || wrong.contains(&derived.seen.thread_key);
            let detail = if derived.state != it.state {
                "the state is not what the newest checkpoint says"
            } else if it.has_values && has_wrong_values {
                "the short values are not those of the newest checkpoint"
            } else {
                continue;
            };
            if self.is_unchanged(it).await? {
                self.report_wrong((&it.thread, detail), fix, report).await?;
            }
        }
        Ok(())
    }

    /// Whether nothing was committed to it since.
    async fn is_unchanged(&self, seen: &KeptState) -> Result<bool> {
        let from = Bound::Included((seen.thread.tenant.as_str(), seen.thread.thread_id.as_str()));
        Ok(self.storage.list_run_states(from, 1).await?.first() == Some(seen))
    }

    async fn report_wrong(
        &self,
        (thread, detail): (&StaleThread, &'static str),
        fix: bool,
        report: &mut Report,
    ) -> Result<()> {
        let StaleThread { tenant, thread_id, seen, .. } = thread;
        if fix && report.is_all_read() {
            self.storage.mark_stale(tenant, seen.thread_key).await?;
            let derived = self.derive(thread).await?;
            self.storage.put_run_states(tenant, &[derived]).await?;
            report.add(State::Repaired, Noun::RunStates, 1, 0);
            return Ok(());
        }
        let (tenant, thread_id) = (tenant.clone(), Some(thread_id.clone()));
        let place = FindingPlace { tenant, thread_id, ..FindingPlace::default() };
        report.find(State::WrongCounter, Noun::RunStates, 0, place, detail);
        Ok(())
    }

    async fn derive_all(&self, stale: &[StaleThread]) -> Result<Vec<Derived>> {
        let mut derived = Vec::new();
        for some in stale.chunks(AT_ONCE) {
            let some = some.iter().map(|it| self.derive(it));
            derived.extend(try_join_all(some).await?);
        }
        Ok(derived)
    }
}

#[async_trait]
impl RunStates for DerivedRunStates {
    /// Round trips: one where nothing is stale; else one for each stale thread, and two for each page of them.
    async fn refresh_all(&self, tenant: &str) -> Result<()> {
        let mut after_key = i64::MIN;
        let (mut left, begun) = (DERIVED_PER_SEARCH_MAX, Instant::now());
        loop {
            let page = self.storage.list_stale_threads(tenant, after_key, PAGE_THREADS).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after_key = last.seen.thread_key;
            let has_time = begun.elapsed() < DERIVED_FOR;
            left = left.checked_sub(page.len()).filter(|_| has_time).ok_or(
                Error::ThreadsIndexing {
                    limit: DERIVED_PER_SEARCH_MAX,
                    retry_after: INDEXED_AGAIN_AFTER,
                },
            )?;
            let derived = match self.derive_all(&page).await {
                // Nobody can read the threads any more: they stand as they did.
                Err(Error::KeyDestroyed) => return Ok(()),
                derived => derived?,
            };
            self.storage.put_run_states(tenant, &derived).await?;
            if page.len() < PAGE_THREADS {
                return Ok(());
            }
        }
    }

    fn derives_metadata(&self) -> bool {
        !self.metadata_keys.is_empty()
    }

    async fn refresh(&self, caller: &Caller, threads: &mut [Thread]) -> Result<()> {
        let tenant = caller.tenant.as_str();
        let mut stale: Vec<&mut Thread> = threads.iter_mut().filter(|it| it.run.is_stale).collect();
        if stale.is_empty() {
            return Ok(());
        }
        let asked: Vec<_> = stale.iter().map(|it| StaleThread::of(tenant, it)).collect();
        let derived = match self.derive_all(&asked).await {
            Err(Error::KeyDestroyed) => return Ok(()),
            derived => derived?,
        };
        for (thread, it) in stale.iter_mut().zip(&derived) {
            let Derived { seen, state, first_message, metadata, .. } = it;
            thread.run.state = *state;
            thread.run.changed_at = thread.run.changed_at.max(seen.updated_at);
            if let FirstMessage::Found(text) = first_message {
                thread.details.first_message.get_or_insert_with(|| text.clone());
            }
            if let Some(fields) = metadata {
                thread.details.take_from_checkpoint(fields)?;
            }
        }
        // What is shown is right all the same.
        if let Err(error) = self.storage.put_run_states(tenant, &derived).await {
            tracing::warn!(%error, "the states of threads were not kept");
        }
        Ok(())
    }
}

/// Fields of a checkpoint's metadata. None where it has none of them, or they cannot be metadata of a thread.
fn shown_fields(view: &View, keys: &[String]) -> Option<String> {
    if keys.is_empty() {
        return None;
    }
    let fields = exact_fields::pick(&view.metadata, keys).ok()?;
    (fields != NO_METADATA && check_metadata(fields.as_bytes()).is_ok()).then_some(fields)
}

/// Derives the states of threads that nobody asks for and that have come to rest. Any number of servers may do so.
pub struct RunStateSweeper {
    states: Arc<DerivedRunStates>,
    clock: Arc<Clock>,
}

impl RunStateSweeper {
    pub fn new(states: Arc<DerivedRunStates>, clock: Arc<Clock>) -> Self {
        Self { states, clock }
    }

    /// Never returns.
    pub async fn run(self, health: TaskHealth) {
        let health = health.every(EVERY);
        let mut position = (String::new(), i64::MIN);
        let mut counts = tokio::time::interval(COUNTED_EVERY);
        loop {
            if counts.tick().now_or_never().is_some() {
                self.count().await;
            }
            let swept = self.sweep(&mut position).await;
            health.note(&swept);
            match swept {
                Ok(true) => {}
                Ok(false) => tokio::time::sleep(EVERY).await,
                Err(error) => {
                    tracing::warn!(%error, "the states of threads are derived later");
                    tokio::time::sleep(EVERY).await;
                }
            }
        }
    }

    /// How far it is shows in the metrics.
    async fn count(&self) {
        match self.states.storage.count_stale_threads(COUNTED_MAX).await {
            Ok(count) => metrics::gauge!(families::STALE_THREADS).set(count as f64),
            Err(error) => tracing::warn!(%error, "stale threads are counted later"),
        }
    }

    /// Derives a page. Whether there may be more.
    ///
    /// # Errors
    /// A storage that cannot be read or written.
    pub async fn sweep(&self, position: &mut StalePosition) -> Result<bool> {
        let storage = &*self.states.storage;
        let now = self.clock.now();
        let page = storage.list_quiet_stale_threads(position, now - QUIET, BACKGROUND_THREADS);
        let page = page.await?;
        let Some(last) = page.last() else {
            *position = (String::new(), i64::MIN);
            return Ok(storage.mark_unread_stale(BACKGROUND_THREADS).await? > 0);
        };
        *position = (last.tenant.clone(), last.seen.thread_key);
        let group = background_tasks::begin(storage, Kind::RunStates, now).await?;
        let done = self.derive(&group, &page, now).await;
        group.end(done).await?;
        Ok(true)
    }

    async fn derive(&self, group: &Group<'_>, page: &[StaleThread], now: Micros) -> Result<()> {
        for stale in page.chunk_by(|a, b| a.tenant == b.tenant) {
            let mut derived = Vec::new();
            for thread in stale {
                let unit = thread.seen.thread_key.to_string();
                let work = self.states.derive(thread);
                match group.run((&thread.tenant, &unit), now, work).await {
                    Ok(Some(state)) => derived.push(state),
                    // It is put aside: nobody finds out how it stands.
                    Ok(None) => derived.push(Derived::untitled(thread, RunState::Failed)),
                    Err(Error::KeyDestroyed) => {
                        derived.push(Derived::untitled(thread, RunState::Idle));
                    }
                    Err(error) if error.is_retryable() => return Err(error),
                    Err(error) => tracing::error!(%error, "the state of a thread is not derived"),
                }
            }
            if let Some(first) = stale.first() {
                self.states.storage.put_run_states(&first.tenant, &derived).await?;
            }
        }
        Ok(())
    }
}
