//! Reads a thread page by page, each in a transaction of its own and all as of one moment. Where the thread changed, the sink begins anew.
//! A thread that keeps changing is finally read in one transaction.

use std::collections::{HashMap, HashSet, VecDeque};

use super::bases::{WRITE_KEY, WRITE_VALUE, home_of, write_of};
use super::moment::{ATTEMPTS, Moment, Stop};
use super::values::{COLUMNS, SIZE, chunks_of, open, opening_size};
use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::{PENDING_SENDS, Value};
use crate::domain::export::records::{
    ThreadBase, ThreadCheckpoint, ThreadHead, ThreadRecord, ThreadSink, ThreadValue,
};
use crate::domain::threads::details::Details;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::channel_map::Entry;
use crate::storage::checkpoints::prepare::channels_of;
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::documents::{open_documents, size_of_documents};
use crate::storage::db::access::{Accessible, Source, SqlRow, SqlValue, page, rows_named};
use crate::storage::maintenance::doctor::read_map;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::threads::details_document::open as open_details;
use crate::storage::tokens::owner_macs::OwnerRow;

/// Values that are in memory at one time, put together; a larger one is alone.
const VALUES_BYTES: i64 = 8 << 20;

/// What tells whether the thread changed, and what the head says.
const THREAD: &str = "
select t.thread_key, t.scope_id, t.generation, t.fence, t.owner, t.created_at, t.updated_at, t.last_step,
    t.graph_id, t.assistant_id, t.user_id, t.checkpoint_count, t.size_bytes, s.epoch, t.mac, d.version, d.document
from threads t join scopes s on s.tenant = t.tenant and s.scope_id = t.scope_id
left join thread_details d on d.tenant = t.tenant and d.thread_key = t.thread_key
where t.tenant = $1 and t.thread_id = $2";

const CHECKPOINTS: Source<'static> = Source {
    columns: "ns, checkpoint_id, parent_id, documents, created_at, {sends_from}, {map}",
    size: "length(documents) + {map_bytes}",
    rows:
        "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
        order by ns, checkpoint_id",
};
const MAP: usize = 6;

const BASES: &str = "
select ns, checkpoint_id, channel, document from delta_bases
where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) >= ($3, $4) and (ns, checkpoint_id) <= ($5, $6)
order by ns, checkpoint_id, channel";

const SIZES: &str =
    "select no, size_bytes from manifests where tenant = $1 and scope_id = $2 and no in";

const WRITES: &str = "
from writes where tenant = $1 and thread_key = $2 and (ns, checkpoint_id, task_id, idx) > ($3, $4, $5, $6)
order by ns, checkpoint_id, task_id, idx";

pub async fn read(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    thread_id: &str,
    sink: &mut dyn ThreadSink,
) -> Result<bool> {
    for attempt in 0..=ATTEMPTS {
        let place = vec![SqlValue::from(tenant), thread_id.into()];
        let mut reader = Reader {
            moment: Moment::new(engine, (THREAD, place), attempt),
            tenant,
            secret,
            thread_id,
            numbers: HashMap::new(),
            senders: HashSet::new(),
        };
        match reader.read(sink).await {
            Ok(found) => return Ok(found),
            Err(Stop::Changed) => {}
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
    // The last attempt saw one moment only.
    Err(Error::Integrity("a thread names a value that is not there".into()))
}

pub struct Reader<'a> {
    pub(super) moment: Moment<'a>,
    pub(super) tenant: &'a str,
    pub(super) secret: &'a TenantSecret,
    thread_id: &'a str,
    /// Number of a value in its scope → in the file.
    numbers: HashMap<u32, u32>,
    /// Removed checkpoints whose pending sends belong to another one: their writes are told with that one.
    pub(super) senders: HashSet<(String, String)>,
}

/// A page of checkpoints, with what is known of their values.
struct Page {
    rows: Vec<SqlRow>,
    bases: VecDeque<ThreadBase>,
    /// Values that no page before has shown, in the order in which checkpoints show them, with their sizes.
    values: VecDeque<(u32, i64)>,
}

impl Reader<'_> {
    async fn read(&mut self, sink: &mut dyn ThreadSink) -> Result<bool, Stop> {
        if !self.moment.find().await? {
            return Ok(false);
        }
        self.check_mac()?;
        sink.begin(self.head()?).await?;
        let mut after = vec![SqlValue::from(""), SqlValue::from("")];
        loop {
            let page = self.page(&after).await?;
            let Some(last) = page.rows.last() else { break };
            after = last.0[..2].to_vec();
            self.put_checkpoints(page, sink).await?;
        }
        self.put_writes(sink).await?;
        self.moment.end().await?;
        Ok(true)
    }

    pub(super) fn place(&self) -> Result<[SqlValue; 2]> {
        Ok([self.tenant.into(), self.moment.row()?.0[0].clone()])
    }

    pub(super) fn scope_id(&self) -> Result<i64> {
        self.moment.row()?.integer(1)
    }

    /// Before anything of the thread is opened.
    fn check_mac(&self) -> Result<()> {
        let row = self.moment.row()?;
        let ids = (row.integer(0)?, row.integer(1)?);
        let found = OwnerRow::thread(self.thread_id, ids, row.optional_text(4)?);
        found.check(self.secret, row.optional_bytes(14)?)
    }

    fn head(&self) -> Result<ThreadHead> {
        let row = self.moment.row()?;
        let text = |at: usize| Ok::<_, Error>(row.optional_text(at)?.map(str::to_owned));
        Ok(ThreadHead {
            thread_id: self.thread_id.to_owned(),
            generation: row.text(2)?.to_owned(),
            fence: row.integer(3)?,
            owner: text(4)?,
            created_at: row.integer(5)?,
            updated_at: row.integer(6)?,
            last_step: row.optional_integer(7)?,
            graph_id: text(8)?,
            assistant_id: text(9)?,
            user_id: text(10)?,
            details: self.details(row)?,
        })
    }

    fn details(&self, row: &SqlRow) -> Result<Details> {
        match row.optional_integer(15)? {
            Some(version) => open_details(self.secret, self.scope_id()?, version, row.bytes(16)?),
            None => Ok(Details::default()),
        }
    }

    async fn page(&mut self, after: &[SqlValue]) -> Result<Page, Stop> {
        let mut access = self.moment.require().await?;
        let place = self.place()?;
        let binds = [&place[..], after].concat();
        let rows = page(&mut *access, self.moment.engine.dialect(), &CHECKPOINTS, &binds).await?;
        let mut read = Page { bases: VecDeque::new(), values: VecDeque::new(), rows };
        if let (Some(first), Some(last)) = (read.rows.first(), read.rows.last()) {
            let binds = [&place[..], &first.0[..2], &last.0[..2]].concat();
            let bases = access.rows(BASES, &binds).await?;
            let mut seen = HashSet::new();
            let mut wanted = Vec::new();
            for row in &read.rows {
                for entry in read_map(row, MAP)? {
                    let is_new = entry.value_no != 0 && !self.numbers.contains_key(&entry.value_no);
                    if is_new && seen.insert(entry.value_no) {
                        wanted.push(entry.value_no);
                    }
                }
            }
            let scope = [SqlValue::from(self.tenant), self.scope_id()?.into()];
            let nos: Vec<SqlValue> =
                wanted.iter().map(|it| SqlValue::Integer((*it).into())).collect();
            let mut sizes = HashMap::new();
            for row in rows_named(&mut *access, SIZES, &scope, &nos).await? {
                sizes.insert(row.integer(0)?, row.integer(1)?);
            }
            let size = |no: u32| sizes.get(&i64::from(no)).copied().unwrap_or(0);
            read.values = wanted.into_iter().map(|no| (no, size(no))).collect();
            read.bases = self.bases(&mut *access, &read.rows, &bases).await?.into();
        }
        self.moment.close(access).await?;
        Ok(read)
    }

    async fn put_checkpoints(&mut self, page: Page, sink: &mut dyn ThreadSink) -> Result<(), Stop> {
        let Page { rows, mut bases, values: mut pending } = page;
        let mut loaded: HashMap<u32, Value> = HashMap::new();
        for row in &rows {
            let (ns, id) = (row.text(0)?, row.text(1)?);
            let at = CheckpointAt { scope_id: self.scope_id()?, ns, id };
            let (secret, sealed) = (self.secret, row.bytes(3)?);
            let open = || {
                let (skeleton, metadata) = open_documents(secret, at, sealed)?;
                let channels: Vec<(String, String)> = channels_of(&skeleton)?.collect();
                Ok((skeleton, metadata, channels))
            };
            let size = size_of_documents(sealed);
            let (skeleton, metadata, channels) = self.moment.work(self.tenant, size, open).await?;
            let map = read_map(row, MAP)?;
            if channels.len() != map.len() {
                let detail = "a map does not list the versions of the skeleton";
                return Err(Error::Integrity(detail.into()).into());
            }
            let mut values = Vec::with_capacity(map.len());
            for ((channel, version), entry) in channels.into_iter().zip(&map) {
                let no = entry.value_no;
                if no == 0 || self.numbers.contains_key(&no) {
                    values.push(self.numbers.get(&no).copied().unwrap_or(0));
                    continue;
                }
                while !loaded.contains_key(&no) {
                    let more = self.load(&mut pending, &map_keys(&rows)?).await?;
                    if more.is_empty() {
                        return Err(Stop::Changed);
                    }
                    loaded.extend(more);
                }
                let Some(value) = loaded.remove(&no) else { return Err(Stop::Changed) };
                let number = u32::try_from(self.numbers.len() + 1).unwrap_or(u32::MAX);
                self.numbers.insert(no, number);
                values.push(number);
                let value = ThreadValue { ns: ns.to_owned(), channel, version, value };
                sink.put(ThreadRecord::Value(value)).await?;
            }
            let checkpoint = ThreadCheckpoint {
                ns: ns.to_owned(),
                id: id.to_owned(),
                parent: row.optional_text(2)?.map(str::to_owned),
                skeleton,
                metadata,
                values,
                created_at: row.integer(4)?,
            };
            sink.put(ThreadRecord::Checkpoint(checkpoint)).await?;
            while bases.front().is_some_and(|it| it.ns == ns && it.checkpoint_id == id) {
                let Some(base) = bases.pop_front() else { break };
                sink.put(ThreadRecord::Base(base)).await?;
            }
        }
        Ok(())
    }

    /// The next values, as many as may be in memory.
    async fn load(
        &mut self,
        pending: &mut VecDeque<(u32, i64)>,
        versions: &HashMap<u32, i64>,
    ) -> Result<HashMap<u32, Value>, Stop> {
        let (mut nos, mut bytes) = (Vec::new(), 0);
        while let Some((no, size)) = pending.front() {
            bytes += size;
            if !nos.is_empty() && bytes > VALUES_BYTES {
                break;
            }
            nos.push(SqlValue::Integer((*no).into()));
            pending.pop_front();
        }
        let text = format!(
            "select no, {COLUMNS} from manifests where tenant = $1 and scope_id = $2 and no in"
        );
        let scope_id = self.scope_id()?;
        let scope = [SqlValue::from(self.tenant), scope_id.into()];
        let prefetch = PackPrefetch::default();
        loop {
            let mut access = self.moment.require().await?;
            let rows = rows_named(&mut *access, &text, &scope, &nos).await?;
            let of = (self.tenant, self.secret);
            let chunks = chunks_of(&mut *access, of, scope_id, (&rows, 1), &prefetch).await?;
            self.moment.close(access).await?;
            if prefetch.is_complete() {
                let secret = self.secret;
                let value = |row: &SqlRow| {
                    let no = u32::try_from(row.integer(0)?).unwrap_or(0);
                    let key = versions.get(&no).copied().unwrap_or(0);
                    let aad = (scope_id, ValueRow::Version(key));
                    Ok((no, open(secret, aad, (row, 1), &chunks)?))
                };
                let size = opening_size(&rows, 1)?;
                let loaded = || rows.iter().map(value).collect::<Result<HashMap<u32, Value>>>();
                return Ok(self.moment.work(self.tenant, size, loaded).await?);
            }
            prefetch.fetch_missing(self.moment.engine.objects(), self.secret).await?;
        }
    }

    async fn put_writes(&mut self, sink: &mut dyn ThreadSink) -> Result<(), Stop> {
        let columns = format!("{WRITE_KEY}, {COLUMNS}");
        let source = Source { columns: &columns, size: SIZE, rows: WRITES };
        let mut after =
            vec![SqlValue::from(""), SqlValue::from(""), SqlValue::from(""), i64::MIN.into()];
        loop {
            let prefetch = PackPrefetch::default();
            let (rows, chunks) = loop {
                let mut access = self.moment.require().await?;
                let binds = [&self.place()?[..], &after].concat();
                let rows =
                    page(&mut *access, self.moment.engine.dialect(), &source, &binds).await?;
                let of = (self.tenant, self.secret);
                let at = (&rows[..], WRITE_VALUE);
                let chunks = chunks_of(&mut *access, of, self.scope_id()?, at, &prefetch).await?;
                self.moment.close(access).await?;
                if prefetch.is_complete() {
                    break (rows, chunks);
                }
                prefetch.fetch_missing(self.moment.engine.objects(), self.secret).await?;
            };
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.0[..4].to_vec();
            let (secret, scope_id, senders) = (self.secret, self.scope_id()?, &self.senders);
            let opened = || {
                let mut writes = Vec::with_capacity(rows.len());
                for row in &rows {
                    let (ns, id) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
                    if row.text(5)? == PENDING_SENDS && senders.contains(&(ns, id)) {
                        continue;
                    }
                    let aad = (scope_id, home_of(row)?);
                    let value = open(secret, aad, (row, WRITE_VALUE), &chunks)?;
                    writes.push(write_of(row, value)?);
                }
                Ok(writes)
            };
            let size = opening_size(&rows, WRITE_VALUE)?;
            for write in self.moment.work(self.tenant, size, opened).await? {
                sink.put(ThreadRecord::Write(write)).await?;
            }
        }
    }
}

/// Keys of the versions of the values that some checkpoints show.
fn map_keys(rows: &[SqlRow]) -> Result<HashMap<u32, i64>> {
    let mut keys = HashMap::new();
    for row in rows {
        let entry = |it: Entry| (it.value_no, it.version_key);
        keys.extend(read_map(row, MAP)?.into_iter().map(entry));
    }
    Ok(keys)
}
