//! Reading a checkpoint with everything that belongs to it, and the walk of delta histories: one statement, one
//! round trip.

use std::collections::{BTreeSet, HashMap};

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::chunks::{CONTENT, chunks_of};
use super::read_sql::Forms;
use super::{PostgresStorage, failure};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::checkpoint::{PendingWrite, Target, Value, View};
use crate::domain::grants::Action;
use crate::domain::history::{Base, Chain, Gap, Node};
use crate::domain::storage::{Found, TargetHistory};
use crate::domain::{Error, Result};
use crate::storage::base_document;
use crate::storage::objects::shelf::Shelf;
use crate::storage::prepare::channel_key;
use crate::storage::sealing::{Chunks, StoredValue, open_documents, open_value};
use crate::storage::sought::Sought;

/// What a read statement is bound to.
#[derive(Clone, Copy)]
struct Asked<'a> {
    secret: &'a TenantSecret,
    caller: &'a Caller,
    target: &'a Target,
    channels: &'a [String],
    /// Without values and writes.
    history_only: bool,
}

impl PostgresStorage {
    /// One round trip; one more the first time this process meets a thread with delta channels.
    pub(super) async fn read_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<Found> {
        let secret = self.secret(&caller.tenant).await?;
        let thread = (caller.tenant.as_str(), target.thread_id.as_str());
        let asked = Asked { secret: &secret, caller, target, channels: &[], history_only: false };
        if history_channels.is_empty() && !self.delta_threads.contains(thread.0, thread.1) {
            let rows = self.read_rows(self.reads.plain, asked).await?;
            let chunks = self.content_of(&secret, &rows).await?;
            let found = found(&secret, target, &[], (&rows, &chunks))?;
            if found.history_channels.is_empty() {
                return Ok(found);
            }
            self.delta_threads.insert(thread.0, thread.1);
        }
        let asked = Asked { channels: history_channels, ..asked };
        let rows = self.read_rows(self.reads.target, asked).await?;
        let chunks = self.content_of(&secret, &rows).await?;
        found(&secret, target, history_channels, (&rows, &chunks))
    }

    pub(super) async fn read_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>> {
        let secret = self.secret(&caller.tenant).await?;
        let asked = Asked { secret: &secret, caller, target, channels, history_only: true };
        let rows = self.read_rows(self.reads.target, asked).await?;
        let chunks = self.content_of(&secret, &rows).await?;
        let mut reading = Reading::new(&secret, target.ns.as_str(), channels);
        reading.without_values = true;
        reading.take(&rows, &chunks)?;
        let Some(view) = reading.view else { return Ok(None) };
        let asked = |base: &Base| channels.contains(&base.channel);
        let bases = view.bases.into_iter().filter(asked).collect();
        let (checkpoint_id, chain) = (view.id, reading.walk.into_chain());
        Ok(Some(TargetHistory { checkpoint_id, parent: view.parent, bases, chain }))
    }

    /// One round trip; one more when a thread whose values were all whole has a split one now.
    async fn read_rows(&self, forms: Forms, asked: Asked<'_>) -> Result<Vec<PgRow>> {
        let thread = (asked.caller.tenant.as_str(), asked.target.thread_id.as_str());
        let is_whole = |row: &PgRow| row.get::<Option<&[u8]>, _>("parts").is_none();
        if self.whole_threads.contains(thread.0, thread.1) {
            let rows = self.fetch_again(forms.whole, asked).await?;
            if rows.iter().all(is_whole) {
                return Ok(rows);
            }
            self.whole_threads.remove(thread.0, thread.1);
        }
        let rows = self.fetch_again(forms.split, asked).await?;
        if !asked.history_only && rows.len() > 1 && rows.iter().all(is_whole) {
            self.whole_threads.insert(thread.0, thread.1);
        }
        Ok(rows)
    }

    /// A read that met a broken connection is repeated once on a new one.
    async fn fetch_again(&self, text: &'static str, asked: Asked<'_>) -> Result<Vec<PgRow>> {
        match self.fetch_rows(text, asked).await {
            Err(Error::Unavailable { .. }) => {
                self.pool.clear();
                self.fetch_rows(text, asked).await
            }
            result => result,
        }
    }

    async fn fetch_rows(&self, text: &'static str, asked: Asked<'_>) -> Result<Vec<PgRow>> {
        let keys = asked.channels.iter().map(|it| channel_key(asked.secret, it));
        let thread = Sought::by(asked.caller, asked.target.thread_id.as_str(), Action::Read);
        let mut connection = self.pool.get().await?;
        let rows = sqlx::query(text)
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(asked.target.ns.as_str())
            .bind(asked.target.id.as_ref().map(|it| it.as_str().to_owned()))
            .bind(asked.channels)
            .bind(keys.collect::<Vec<i64>>())
            .bind(asked.history_only)
            .bind(thread.owner)
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(rows)
    }

    /// Reads the nodes of one gap. An empty answer: the start does not exist.
    pub(super) async fn read_walk(
        &self,
        connection: &mut sqlx::PgConnection,
        secret: &TenantSecret,
        place: (&str, &str),
        gap: &Gap,
        shelf: &Shelf,
    ) -> Result<Vec<Node>> {
        let keys: Vec<i64> = gap.channels.iter().map(|it| channel_key(secret, it)).collect();
        let rows = sqlx::query(AssertSqlSafe(self.reads.walk))
            .bind(place.0)
            .bind(place.1)
            .bind(&gap.ns)
            .bind(&gap.start)
            .bind(&gap.channels)
            .bind(keys)
            .fetch_all(connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        let chunks = chunks_of(&rows, shelf)?;
        let mut walk = Walk::new(&gap.ns);
        for row in &rows {
            walk.take(secret, &gap.channels, &chunks, row)?;
        }
        Ok(walk.into_nodes())
    }
}

/// The answer of `get_checkpoint`, from the rows of its statement.
fn found(
    secret: &TenantSecret,
    target: &Target,
    history_channels: &[String],
    (rows, chunks): (&[PgRow], &Chunks),
) -> Result<Found> {
    let mut found = Found::default();
    let mut reading = Reading::new(secret, target.ns.as_str(), history_channels);
    reading.take(rows, chunks)?;
    found.generation = reading.generation;
    if let Some(mut view) = reading.view {
        view.thread_id = target.thread_id.to_string();
        let based = view.bases.iter().map(|base| base.channel.clone());
        let walked = wanted_channels(&reading.map, &view.delta_channels, history_channels, secret);
        let channels: BTreeSet<String> = based.chain(walked).collect();
        found.history_channels = channels.into_iter().collect();
        found.view = Some(view);
    }
    found.chain = reading.walk.into_chain();
    Ok(found)
}

/// channel key → number of its value, 0 for none
type Map = HashMap<i64, i32>;

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
    ns: String,
    asked: &'a [String],
    generation: Option<String>,
    view: Option<View>,
    map: Map,
    walk: Walk,
    /// A history read leaves values and writes out.
    without_values: bool,
}

impl<'a> Reading<'a> {
    fn new(secret: &'a TenantSecret, ns: &str, asked: &'a [String]) -> Self {
        Self {
            secret,
            ns: ns.to_owned(),
            asked,
            generation: None,
            view: None,
            map: Map::new(),
            walk: Walk::new(ns),
            without_values: false,
        }
    }

    fn take(&mut self, rows: &[PgRow], chunks: &Chunks) -> Result<()> {
        let (mut values, mut writes, mut sends) = (HashMap::new(), Vec::new(), Vec::new());
        let mut bases = Vec::new();
        for row in rows {
            match row.get::<i32, _>("kind") {
                0 => self.generation = row.get("a"),
                1 => self.take_checkpoint(row)?,
                2 => {
                    values.insert(row.get::<i64, _>("number"), value_of(self.secret, chunks, row)?);
                }
                3 => writes.push(OrderedWrite::read(self.secret, chunks, row)?),
                4 => sends.push(OrderedWrite::read(self.secret, chunks, row)?),
                5 => bases.push(base_of(self.secret, row)?),
                _ => {}
            }
        }
        let known = self.view.as_ref().map(|it| it.delta_channels.clone()).unwrap_or_default();
        let channels: Vec<String> = known.into_iter().chain(self.asked.iter().cloned()).collect();
        for row in rows {
            self.walk.take(self.secret, &channels, chunks, row)?;
        }
        if let Some(view) = &mut self.view {
            if !self.without_values {
                view.values = values_in_order(self.secret, view, &self.map, &values)?;
            }
            view.writes = in_order(writes);
            view.pending_sends = in_order(sends).into_iter().map(|write| write.value).collect();
            bases.sort_by(|a: &Base, b: &Base| a.channel.cmp(&b.channel));
            view.bases = bases;
        }
        Ok(())
    }

    fn take_checkpoint(&mut self, row: &PgRow) -> Result<()> {
        let keys: Vec<i64> = row.get("keys");
        let nos: Vec<i32> = row.get("nos");
        self.map = keys.into_iter().zip(nos).collect();
        let (skeleton, metadata) = open_documents(self.secret, row.get("body"))?;
        self.view = Some(View {
            ns: self.ns.clone(),
            id: row.get("a"),
            parent: row.get("b"),
            skeleton,
            metadata,
            delta_channels: row.get::<Option<Vec<String>>, _>("names").unwrap_or_default(),
            ..View::default()
        });
        Ok(())
    }
}

/// Values by channel name: the names are in the skeleton, the map has their keys.
pub(super) fn values_in_order(
    secret: &TenantSecret,
    view: &View,
    map: &Map,
    values: &HashMap<i64, Value>,
) -> Result<Vec<(String, Value)>> {
    if map.values().all(|no| *no == 0) {
        return Ok(Vec::new());
    }
    let mut named = Vec::new();
    for channel in crate::storage::prepare::channels_of(&view.skeleton)? {
        let no = map.get(&channel_key(secret, &channel)).copied().unwrap_or(0);
        if no == 0 {
            continue;
        }
        let value = values.get(&i64::from(no)).ok_or_else(|| {
            Error::Integrity("a checkpoint names a value that is not there".into())
        })?;
        named.push((channel, value.clone()));
    }
    Ok(named)
}

pub(super) fn value_of(secret: &TenantSecret, chunks: &Chunks, row: &PgRow) -> Result<Value> {
    let stored = StoredValue {
        tag: row.get("tag"),
        size_bytes: row.get("size_bytes"),
        digest: row.get("digest"),
        body: row.get("body"),
        parts: row.get("parts"),
    };
    open_value(secret, &stored, chunks)
}

pub(super) fn base_of(secret: &TenantSecret, row: &PgRow) -> Result<Base> {
    base_document::open_base(secret, row.get("b"), row.get("body"))
}

/// A write with its place in the order (`task_path`, `task_id`, `idx`), all by bytes.
pub(super) struct OrderedWrite {
    place: (String, String, i64),
    channel: String,
    value: Value,
}

impl OrderedWrite {
    pub(super) fn read(secret: &TenantSecret, chunks: &Chunks, row: &PgRow) -> Result<Self> {
        Ok(Self {
            place: (row.get("c"), row.get("a"), row.get("number")),
            channel: row.get("b"),
            value: value_of(secret, chunks, row)?,
        })
    }
}

pub(super) fn in_order(mut writes: Vec<OrderedWrite>) -> Vec<PendingWrite> {
    writes.sort_by(|a, b| a.place.cmp(&b.place));
    let pending = writes.into_iter().map(|it| PendingWrite {
        task_id: it.place.1,
        channel: it.channel,
        value: it.value,
    });
    pending.collect()
}

/// Nodes of a walk, by depth.
struct Walk {
    ns: String,
    nodes: HashMap<i32, (Node, Vec<OrderedWrite>)>,
}

impl Walk {
    fn new(ns: &str) -> Self {
        Self { ns: ns.to_owned(), nodes: HashMap::new() }
    }

    fn take(
        &mut self,
        secret: &TenantSecret,
        channels: &[String],
        chunks: &Chunks,
        row: &PgRow,
    ) -> Result<()> {
        let kind: i32 = row.get("kind");
        if !(6..CONTENT).contains(&kind) {
            return Ok(());
        }
        let (node, writes) = self.nodes.entry(row.get("depth")).or_default();
        match kind {
            6 => {
                let open: Vec<i64> = row.get("keys");
                let read = |it: &&String| open.contains(&channel_key(secret, it));
                node.ns.clone_from(&self.ns);
                node.id = row.get("a");
                node.parent = row.get("b");
                node.read_for = channels.iter().filter(read).cloned().collect();
            }
            7 => node.seeds.push((row.get("b"), value_of(secret, chunks, row)?)),
            8 => writes.push(OrderedWrite::read(secret, chunks, row)?),
            _ => node.bases.push(base_of(secret, row)?),
        }
        Ok(())
    }

    fn into_nodes(self) -> Vec<Node> {
        let mut by_depth: Vec<_> = self.nodes.into_iter().collect();
        by_depth.sort_by_key(|(depth, _)| *depth);
        let nodes = by_depth.into_iter().map(|(_, (mut node, writes))| {
            node.seeds.sort_by(|a, b| a.0.cmp(&b.0));
            node.bases.sort_by(|a, b| a.channel.cmp(&b.channel));
            let ordered = in_order(writes);
            node.writes =
                ordered.into_iter().map(|it| (it.channel, it.task_id, it.value)).collect();
            node
        });
        nodes.collect()
    }

    fn into_chain(self) -> Chain {
        let mut chain = Chain::default();
        chain.add(self.into_nodes());
        chain
    }
}
