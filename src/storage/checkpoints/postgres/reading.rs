//! Reads a checkpoint with all that belongs to it, and walks delta histories: one statement, one round trip.

use std::collections::{BTreeSet, HashMap};

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::chunks::{Fetched, chunks_of, fetch_counted};
use super::read_sql::Forms;
use super::values::{Map, OrderedWrite, base_of, in_order, values_in_order};
use super::walk::Walk;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{LargeValues, Target, View};
use crate::domain::checkpoints::history::{Base, Gap, Node};
use crate::domain::checkpoints::storage::{CheckpointTuple, TargetHistory};
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::open_documents;
use crate::storage::content::opening::Chunks;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// What a read statement is bound to.
#[derive(Clone, Copy)]
struct Lookup<'a> {
    secret: &'a TenantSecret,
    caller: &'a Caller,
    target: &'a Target,
    channels: &'a [String],
    /// Without values and writes.
    history_only: bool,
}

impl PostgresStorage {
    /// One round trip; one more the first time this process meets a thread with delta channels.
    pub(in crate::storage) async fn read_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<CheckpointTuple> {
        let secret = self.secret(&caller.tenant).await?;
        let thread = (caller.tenant.as_str(), target.thread_id.as_str());
        let asked = Lookup { secret: &secret, caller, target, channels: &[], history_only: false };
        let (plain, whole) = match target.wanted {
            WantedChannels::All => (self.reads.plain, self.reads.target),
            WantedChannels::Only(_) => (self.reads.plain_narrowed, self.reads.target_narrowed),
        };
        if history_channels.is_empty() && !self.delta_threads.contains(thread.0, thread.1) {
            let fetched = self.read_rows(plain, asked).await?;
            let found = self.open_found(asked, &fetched).await?;
            if found.history_channels.is_empty() {
                return Ok(found);
            }
            self.delta_threads.insert(thread.0, thread.1);
        }
        let asked = Lookup { channels: history_channels, ..asked };
        let fetched = self.read_rows(whole, asked).await?;
        self.open_found(asked, &fetched).await
    }

    async fn open_found(&self, asked: Lookup<'_>, fetched: &Fetched) -> Result<CheckpointTuple> {
        let tenant = &asked.caller.tenant;
        let of = (tenant.as_str(), asked.secret);
        let chunks = self.content_of(of, fetched, asked.target.large_values).await?;
        let open = || self.found(asked, (&fetched.rows, &chunks));
        cpu_pool::run_here(tenant, fetched.size, open).await?
    }

    /// The answer of `get_checkpoint`, from the rows of its statement.
    fn found(
        &self,
        asked: Lookup<'_>,
        (rows, chunks): (&[PgRow], &Chunks),
    ) -> Result<CheckpointTuple> {
        let Lookup { secret, target, channels, .. } = asked;
        let mut found = CheckpointTuple::default();
        let mut reading = Reading::new(secret, target, channels);
        reading.take(rows, chunks)?;
        if reading.generation.is_some() {
            let thread = (asked.caller.tenant.as_str(), target.thread_id.as_str());
            let ThreadIds { key, scope_id, owner } = &reading.thread;
            self.chunks.scopes.saw_encrypted(secret, thread, (*key, *scope_id), owner.as_deref());
        }
        found.generation = reading.generation;
        if let Some(mut view) = reading.view {
            view.thread_id = target.thread_id.to_string();
            let based = view.bases.iter().map(|base| base.channel.clone());
            let walked = wanted_channels(&reading.map, &view.delta_channels, channels, secret);
            let channels: BTreeSet<String> = based.chain(walked).collect();
            found.history_channels = channels.into_iter().collect();
            found.view = Some(view);
        }
        found.chain = reading.walk.into_chain();
        Ok(found)
    }

    pub(in crate::storage) async fn read_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>> {
        let secret = self.secret(&caller.tenant).await?;
        let asked = Lookup { secret: &secret, caller, target, channels, history_only: true };
        let fetched = self.read_rows(self.reads.target, asked).await?;
        let of = (caller.tenant.as_str(), &secret);
        let chunks = self.content_of(of, &fetched, target.large_values).await?;
        let mut reading = Reading::new(&secret, target, channels);
        reading.without_values = true;
        let open = || reading.take(&fetched.rows, &chunks);
        cpu_pool::run_here(&caller.tenant, fetched.size, open).await??;
        let Some(view) = reading.view else { return Ok(None) };
        let asked = |base: &Base| channels.contains(&base.channel);
        let bases = view.bases.into_iter().filter(asked).collect();
        let (checkpoint_id, chain) = (view.id, reading.walk.into_chain());
        Ok(Some(TargetHistory { checkpoint_id, parent: view.parent, bases, chain }))
    }

    /// One round trip; one more when a thread whose values were all whole has a split one now.
    async fn read_rows(&self, forms: Forms, asked: Lookup<'_>) -> Result<Fetched> {
        let thread = (asked.caller.tenant.as_str(), asked.target.thread_id.as_str());
        let is_whole = |row: &PgRow| row.get::<Option<&[u8]>, _>("parts").is_none();
        if self.whole_threads.contains(thread.0, thread.1) {
            let fetched = self.fetch_again(forms.whole, asked).await?;
            if fetched.rows.iter().all(is_whole) {
                return Ok(fetched);
            }
            self.whole_threads.remove(thread.0, thread.1);
        }
        let fetched = self.fetch_again(forms.split, asked).await?;
        let rows = &fetched.rows;
        let has_all = !asked.history_only && asked.target.wanted == WantedChannels::All;
        if has_all && rows.len() > 1 && rows.iter().all(is_whole) {
            self.whole_threads.insert(thread.0, thread.1);
        }
        Ok(fetched)
    }

    /// A read that met a broken connection is repeated once on a new one.
    async fn fetch_again(&self, text: &'static str, asked: Lookup<'_>) -> Result<Fetched> {
        match self.fetch_rows(text, asked).await {
            Err(Error::Unavailable { .. }) => {
                self.pool.clear();
                self.fetch_rows(text, asked).await
            }
            result => result,
        }
    }

    async fn fetch_rows(&self, text: &'static str, asked: Lookup<'_>) -> Result<Fetched> {
        let keys = asked.channels.iter().map(|it| channel_key(asked.secret, it));
        let thread = OwnedThread::by(asked.caller, asked.target.thread_id.as_str(), Action::Read);
        let mut opened = OpenedBytes::of(&asked.caller.memory, asked.target.large_values);
        let mut query = sqlx::query(text)
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(asked.target.ns.as_str())
            .bind(asked.target.id.as_ref().map(|it| it.as_str().to_owned()))
            .bind(asked.channels)
            .bind(keys.collect::<Vec<i64>>())
            .bind(asked.history_only)
            .bind(thread.owner)
            .bind(asked.target.large_values.bytes_max())
            .bind(opened.limit());
        if let Some(names) = asked.target.wanted.names().filter(|_| !asked.history_only) {
            let keys = names.iter().map(|it| channel_key(asked.secret, it));
            query = query.bind(keys.collect::<Vec<i64>>()).bind(names.iter().collect::<Vec<_>>());
        }
        let connection = &mut *self.pool.get_for(thread.tenant).await?;
        let fetched = fetch_counted(connection, query, &mut opened).await?;
        check_thread(asked, &fetched.rows)?;
        Ok(fetched)
    }

    /// Reads the nodes of one gap. An empty answer: the start does not exist.
    pub(in crate::storage) async fn read_walk(
        &self,
        connection: &mut Connection,
        secret: &TenantSecret,
        (place, gap): (Walked<'_>, &Gap),
        packs: &PackPrefetch,
        opened: &mut OpenedBytes,
    ) -> Result<Vec<Node>> {
        let keys: Vec<i64> = gap.channels.iter().map(|it| channel_key(secret, it)).collect();
        let query = sqlx::query(AssertSqlSafe(self.reads.walk))
            .bind(place.tenant)
            .bind(place.thread_id)
            .bind(&gap.ns)
            .bind(&gap.start)
            .bind(&gap.channels)
            .bind(keys)
            .bind(place.large_values.bytes_max())
            .bind(opened.limit());
        let fetched = fetch_counted(connection, query, opened).await?;
        cpu_pool::run_here_at_once(place.tenant, fetched.whole_size(), || {
            let rows = &fetched.rows;
            let of = (place.tenant, secret);
            let chunks = chunks_of(of, rows, packs, place.large_values)?;
            let mut walk = Walk::new(&gap.ns);
            walk.take(secret, place.scope_id, &gap.channels, (rows, &chunks))?;
            Ok(walk.into_nodes())
        })
    }
}

/// What content of a thread is found by, and whose it is.
#[derive(Default)]
struct ThreadIds {
    key: i64,
    scope_id: i64,
    owner: Option<String>,
}

impl ThreadIds {
    /// Of a row of kind 0.
    fn read(row: &PgRow) -> Self {
        let key = row.get::<Vec<i64>, _>("keys").first().copied().unwrap_or_default();
        Self { key, scope_id: row.get("number"), owner: row.get("b") }
    }
}

/// Before anything of the thread is opened.
fn check_thread(asked: Lookup<'_>, rows: &[PgRow]) -> Result<()> {
    let Some(row) = rows.iter().find(|row| row.get::<i32, _>("kind") == 0) else { return Ok(()) };
    let ThreadIds { key, scope_id, owner } = ThreadIds::read(row);
    let thread_id = asked.target.thread_id.as_str();
    let found = OwnerRow::thread(thread_id, (key, scope_id), owner.as_deref());
    found.check(asked.secret, row.get("body"))
}

/// The thread that a walk goes through.
#[derive(Clone, Copy)]
pub(in crate::storage) struct Walked<'a> {
    pub tenant: &'a str,
    pub thread_id: &'a str,
    pub scope_id: i64,
    pub large_values: LargeValues,
    pub memory: &'a ReadMemory,
}

fn wanted_channels(
    map: &Map,
    delta_channels: &[String],
    asked: &[String],
    secret: &TenantSecret,
) -> Vec<String> {
    let valueless = |channel: &&String| map.get(&channel_key(secret, channel)) == Some(&0);
    delta_channels.iter().chain(asked).filter(valueless).cloned().collect()
}

/// Rows of the statement, sorted into what they are.
struct Reading<'a> {
    secret: &'a TenantSecret,
    wanted: &'a WantedChannels,
    ns: String,
    asked: &'a [String],
    generation: Option<String>,
    thread: ThreadIds,
    view: Option<View>,
    /// Of the parent, for a checkpoint of an old format.
    sends_from: Option<String>,
    map: Map,
    walk: Walk,
    /// A history read leaves values and writes out.
    without_values: bool,
}

impl<'a> Reading<'a> {
    fn new(secret: &'a TenantSecret, target: &'a Target, asked: &'a [String]) -> Self {
        Self {
            secret,
            wanted: &target.wanted,
            ns: target.ns.to_string(),
            asked,
            generation: None,
            thread: ThreadIds::default(),
            view: None,
            sends_from: None,
            map: Map::new(),
            walk: Walk::new(target.ns.as_str()),
            without_values: false,
        }
    }

    fn take(&mut self, rows: &[PgRow], chunks: &Chunks) -> Result<()> {
        let (mut values, mut writes, mut sends) = (HashMap::new(), Vec::new(), Vec::new());
        let mut bases = Vec::new();
        let of = |kind: i32| rows.iter().find(move |row| row.get::<i32, _>("kind") == kind);
        if let Some(row) = of(0) {
            (self.generation, self.thread) = (row.get("a"), ThreadIds::read(row));
        }
        of(1).map(|row| self.take_checkpoint(row)).transpose()?;
        for row in rows {
            match row.get::<i32, _>("kind") {
                2 => drop(values.insert(row.get::<i64, _>("number"), row)),
                3 => {
                    let at = self.at(self.view.as_ref().map(|it| it.id.as_str()));
                    let write = OrderedWrite::read(self.secret, at, chunks, row)?;
                    writes.push(write.with_call(row));
                }
                4 => {
                    let at = self.at(self.sends_from.as_deref());
                    sends.push(OrderedWrite::read(self.secret, at, chunks, row)?);
                }
                5 => {
                    let at = self.at(self.view.as_ref().map(|it| it.id.as_str()));
                    bases.push(base_of(self.secret, at, row)?);
                }
                _ => {}
            }
        }
        let known = self.view.as_ref().map(|it| it.delta_channels.clone()).unwrap_or_default();
        let channels: Vec<String> = known.into_iter().chain(self.asked.iter().cloned()).collect();
        self.walk.take(self.secret, self.thread.scope_id, &channels, (rows, chunks))?;
        if let Some(view) = &mut self.view {
            if !self.without_values {
                let row = |no| values.get(&no).copied();
                let scope = (self.secret, self.thread.scope_id);
                view.values = values_in_order(scope, view, &self.map, (&row, chunks))?;
            }
            view.writes = in_order(writes);
            view.pending_sends = in_order(sends).into_iter().map(|write| write.value).collect();
            bases.sort_by(|a: &Base, b: &Base| a.channel.cmp(&b.channel));
            view.bases = bases;
        }
        Ok(())
    }

    /// A checkpoint of this namespace.
    fn at<'r>(&'r self, id: Option<&'r str>) -> CheckpointAt<'r> {
        CheckpointAt { scope_id: self.thread.scope_id, ns: &self.ns, id: id.unwrap_or_default() }
    }

    fn take_checkpoint(&mut self, row: &PgRow) -> Result<()> {
        let keys: Vec<i64> = row.get("keys");
        let nos: Vec<i32> = row.get("nos");
        self.map = keys.into_iter().zip(nos).collect();
        self.sends_from = row.get("c");
        let at = self.at(row.get("a"));
        let (skeleton, metadata) = open_documents(self.secret, at, row.get("body"))?;
        let mut delta_channels: Vec<String> =
            row.get::<Option<Vec<String>>, _>("names").unwrap_or_default();
        delta_channels.retain(|it| self.wanted.has(it));
        self.view = Some(View {
            ns: self.ns.clone(),
            id: row.get("a"),
            parent: row.get("b"),
            skeleton,
            metadata,
            delta_channels,
            ..View::default()
        });
        Ok(())
    }
}
