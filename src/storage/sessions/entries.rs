//! Reads entries of streams and pieces of documents, with the chunks of large ones, out of one state of the database.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use serde_json::json;

use super::SessionEngine;
use super::chunks::read_chunks;
use super::rows::{Rows, SESSION_CONDITION, check_row, log_of_session, number, session_binds};
use super::sealing::TAG;
use super::state::log_row;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::sessions::ledger::{LogRow, Part as Kind};
use crate::domain::sessions::loading::{EntriesQuery, Loaded};
use crate::domain::sessions::name::{KeyRange, SessionName};
use crate::domain::sessions::storage::FindDocuments;
use crate::domain::sessions::{Content, Document, Entry};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::ValueRow;
use crate::storage::content::opening::{Chunks, StoredValue, open_value};
use crate::storage::db::access::{Access, Dialect, SqlRow, SqlValue};

/// An entry as its row has it.
pub struct StoredEntry {
    pub scope_id: i64,
    seq: i64,
    id: Option<Vec<u8>>,
    at: Micros,
    entry_no: i64,
    size_bytes: i64,
    digest: Vec<u8>,
    body: Vec<u8>,
    pub parts: Option<Vec<u8>>,
}

/// What [`log_row`] reads.
const LOG_COLUMNS: &str = "l.log_no, l.era, l.floor, l.ceiling, l.head, l.compacted_head, l.version, l.size_bytes, l.updated_at";
const COLUMNS: &str = "e.seq, e.id, e.at, e.entry_no, e.size_bytes, e.digest, e.body, e.parts";

/// Where a log's rows are.
struct LogKeys<'a> {
    tenant: &'a str,
    session_no: i64,
    scope_id: i64,
    log: LogRow,
}

/// None: no such stream.
pub async fn load<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
    asked: &EntriesQuery,
) -> Result<Option<Loaded>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let mut access = engine.begin_read_for(&caller.tenant).await?;
    let named = (Kind::Stream, asked.stream.as_str());
    let found = find(access.as_mut(), engine.dialect(), (caller, &secret), session, named).await?;
    let Some(place) = found else {
        access.end().await?;
        return Ok(None);
    };
    let (stored, more) = read_stream(access.as_mut(), &place, asked).await?;
    let chunks = read_chunks(access.as_mut(), engine.dialect(), &secret, (place.tenant, &stored));
    let chunks = chunks.await?;
    access.end().await?;
    let open = || stored.iter().map(|it| it.entry(&secret, &chunks)).collect::<Result<_>>();
    let entries = cpu_pool::run_here(&caller.tenant, size_of(&stored), open).await??;
    Ok(Some(Loaded { entries, head: place.log.head, count: place.log.count(), more }))
}

/// None: no such document.
pub async fn document<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
    name: &str,
) -> Result<Option<Content>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let mut access = engine.begin_read_for(&caller.tenant).await?;
    let named = (Kind::Document, name);
    let found = find(access.as_mut(), engine.dialect(), (caller, &secret), session, named).await?;
    let Some(place) = found else {
        access.end().await?;
        return Ok(None);
    };
    let all = Range { era: 0, from: place.log.floor, to: i64::MAX, newest_first: false };
    let (stored, _) = read_range(access.as_mut(), &place, all, (i64::MAX - 1, i64::MAX)).await?;
    let chunks = read_chunks(access.as_mut(), engine.dialect(), &secret, (place.tenant, &stored));
    let chunks = chunks.await?;
    access.end().await?;
    let open = || join(&secret, &chunks, name, &place.log, &stored).map(Some);
    cpu_pool::run_here(&caller.tenant, size_of(&stored), open).await?
}

/// By key: those of sessions that the caller may read.
pub async fn find_documents<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    query: &FindDocuments,
) -> Result<Vec<(SessionName, Content)>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let dialect = engine.dialect();
    let range = KeyRange::below(&query.kind, &query.key_prefix);
    let (within, mut binds) = super::listing::within(caller, &range);
    binds.push(query.name.as_bytes().into());
    binds.push(limit_of(LIMITS.session_documents_max + 1).into());
    let (name, limit) = (binds.len() - 1, binds.len());
    let log = log_of_session(dialect, &format!("l.kind = 1 and l.name = ${name}"));
    let text = format!(
        "select s.key, s.session_no, s.scope_id, {LOG_COLUMNS}, s.owner, s.mac from sessions s {log}
         where {within} order by s.key limit ${limit}"
    );
    let mut access = engine.begin_search_for(&caller.tenant).await?;
    let found = access.rows(&dialect.fill(&text), &binds).await?;
    if found.len() as u64 > LIMITS.session_documents_max {
        let (field, limit) = ("documents".into(), LIMITS.session_documents_max);
        return Err(Error::TooLarge { field, limit });
    }
    let mut bytes = 0;
    let mut wanted = Rows::default();
    for (at, row) in found.iter().enumerate() {
        check_row((&query.kind, row.bytes(0)?), (row, [1, 2, 12, 13]), &secret)?;
        let log = log_row(row, 3)?;
        bytes += log.size_bytes.unsigned_abs();
        wanted.push(json!([at, row.integer(1)?, log.log_no, log.floor, row.integer(2)?]));
    }
    if bytes > LIMITS.document_bytes_max {
        let (field, limit) = ("documents".into(), LIMITS.document_bytes_max);
        return Err(Error::TooLarge { field, limit });
    }
    let stored = read_pieces(access.as_mut(), dialect, &caller.tenant, wanted).await?;
    let all: Vec<&StoredEntry> = stored.values().flatten().collect();
    let chunks = read_chunks(access.as_mut(), dialect, &secret, (&caller.tenant, all)).await?;
    access.end().await?;
    let pieces = stored.values().map(Vec::len).sum();
    let size = cpu_pool::size_of(pieces, usize::try_from(bytes).unwrap_or(usize::MAX));
    let document = |(at, row): (usize, &SqlRow)| -> Result<(SessionName, Content)> {
        let session = SessionName::stored(query.kind.clone(), row.bytes(0)?);
        let session = session.ok_or_else(|| damaged("the key of a session"))?;
        let pieces = stored.get(&at).map(Vec::as_slice).unwrap_or_default();
        let log = log_row(row, 3)?;
        Ok((session, join(&secret, &chunks, &query.name, &log, pieces)?))
    };
    let open = || found.iter().enumerate().map(document).collect();
    cpu_pool::run_here(&caller.tenant, size, open).await?
}

async fn read_pieces(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    wanted: Rows,
) -> Result<BTreeMap<usize, Vec<StoredEntry>>> {
    let mut pieces: BTreeMap<usize, Vec<StoredEntry>> = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(pieces);
    }
    let [at, session, log, floor, scope] = [0, 1, 2, 3, 4].map(number);
    let condition = format!(
        "e.tenant = $3 and e.session_no = {session} and e.log_no = {log} and e.era = 0
            and e.seq > {floor} and length($2) > 0"
    );
    let entries = dialect.probe_all("e.*", "session_entries", "e", &condition);
    let text = format!("select {COLUMNS}, {scope}, {at} {{from_each}} {entries} order by 10, 1");
    let binds = [wanted.binds(), vec![tenant.into()]].concat();
    for row in access.rows(&dialect.fill(&text), &binds).await? {
        let at = usize::try_from(row.integer(9)?).unwrap_or(0);
        pieces.entry(at).or_default().push(StoredEntry::read(&row, row.integer(8)?)?);
    }
    Ok(pieces)
}

async fn find<'a>(
    access: &mut dyn Access,
    dialect: &Dialect,
    (caller, secret): (&'a Caller, &TenantSecret),
    session: &SessionName,
    (kind, name): (Kind, &str),
) -> Result<Option<LogKeys<'a>>> {
    let log = log_of_session(dialect, "l.kind = $6 and l.name = $7");
    let text = format!(
        "select s.session_no, s.scope_id, {LOG_COLUMNS}, s.owner, s.mac from sessions s {log} where {SESSION_CONDITION}"
    );
    let mut binds = session_binds(caller, session, Action::Read);
    binds.extend([SqlValue::from(kind as i64), name.as_bytes().into()]);
    let found = access.rows(&text, &binds).await?;
    let place = |row: &SqlRow| {
        check_row((session.kind(), &session.key_bytes()), (row, [0, 1, 11, 12]), secret)?;
        Ok(LogKeys {
            tenant: caller.tenant.as_str(),
            session_no: row.integer(0)?,
            scope_id: row.integer(1)?,
            log: log_row(row, 2)?,
        })
    };
    found.first().map(place).transpose()
}

/// Entries of one era between two numbers, without both.
#[derive(Clone, Copy)]
struct Range {
    era: i64,
    from: i64,
    to: i64,
    newest_first: bool,
}

/// What a stream shows: the entries of its era, then those behind its floor.
async fn read_stream(
    access: &mut dyn Access,
    place: &LogKeys<'_>,
    asked: &EntriesQuery,
) -> Result<(Vec<StoredEntry>, bool)> {
    let LogRow { era, floor, ceiling, .. } = place.log;
    let (after, before) = (asked.after_seq, asked.before_seq.unwrap_or(i64::MAX));
    let newest_first = asked.before_seq.is_some();
    let to = ceiling.map_or(before, |it| before.min(it + 1));
    let tail = Range { era: 0, from: floor.max(after), to, newest_first };
    let placed = Range { era, from: after, to: before.min(floor + 1), newest_first };
    let mut ranges = vec![tail];
    if era > 0 && after < floor {
        ranges.insert(usize::from(newest_first), placed);
    }
    let mut left = (limit_of(asked.rows_max), limit_of(asked.bytes_max));
    let (mut all, mut more) = (Vec::new(), false);
    for range in ranges {
        if left.0 <= 0 || (left.1 <= 0 && !all.is_empty()) {
            // Whether there is anything in it.
            let (rest, _) = read_range(access, place, range, (1, 1)).await?;
            more |= !rest.is_empty();
            continue;
        }
        let (mut rows, has_more) = read_range(access, place, range, left).await?;
        let bytes: i64 = rows.iter().map(|it| it.size_bytes).sum();
        left = (left.0 - i64::try_from(rows.len()).unwrap_or(0), left.1 - bytes);
        if newest_first {
            rows.append(&mut all);
            all = rows;
        } else {
            all.append(&mut rows);
        }
        if has_more {
            more = true;
            break;
        }
    }
    Ok((all, more))
}

/// In the order of the numbers; and whether the range has more than the rows and bytes allow. The first always comes.
async fn read_range(
    access: &mut dyn Access,
    place: &LogKeys<'_>,
    range: Range,
    (rows_max, bytes_max): (i64, i64),
) -> Result<(Vec<StoredEntry>, bool)> {
    let direction = if range.newest_first { "desc" } else { "asc" };
    // The bounds first, and once: a join on the number of each entry is planned as a comparison of all with all, and
    // a table without statistics as one row, for which whatever stands beside it is computed again.
    let text = format!(
        "with n as (
            select c.seq, cast(sum(c.size_bytes) over (order by c.seq {direction}) - c.size_bytes as bigint) as bytes_before,
                row_number() over (order by c.seq {direction}) as place, count(*) over () as total from (
                select e.seq, e.size_bytes from session_entries e
                where e.tenant = $1 and e.session_no = $2 and e.log_no = $3 and e.era = $4 and e.seq > $5 and e.seq < $6
                order by e.seq {direction} limit $7) c
         ), bounds as materialized (
            select min(n.seq) as low, max(n.seq) as high, max(n.total) as total from n
            where (n.bytes_before < $8 or n.place = 1) and n.place < $7
         )
         select {COLUMNS}, b.total from bounds b
         join session_entries e on e.tenant = $1 and e.session_no = $2 and e.log_no = $3 and e.era = $4
            and e.seq >= b.low and e.seq <= b.high
         order by e.seq"
    );
    let (tenant, log_no) = (place.tenant, place.log.log_no);
    let binds = [
        tenant.into(),
        place.session_no.into(),
        log_no.into(),
        range.era.into(),
        range.from.into(),
        range.to.into(),
        // One more tells whether there are further ones.
        rows_max.saturating_add(1).into(),
        bytes_max.into(),
    ];
    let found = access.rows(&text, &binds).await?;
    let total = found.first().map_or(Ok(0), |row| row.integer(8))?;
    let more = total > i64::try_from(found.len()).unwrap_or(i64::MAX);
    let entries = found.iter().map(|row| StoredEntry::read(row, place.scope_id));
    Ok((entries.collect::<Result<_>>()?, more))
}

impl StoredEntry {
    fn read(row: &SqlRow, scope_id: i64) -> Result<Self> {
        Ok(Self {
            scope_id,
            seq: row.integer(0)?,
            id: row.optional_bytes(1)?.map(<[u8]>::to_vec),
            at: row.integer(2)?,
            entry_no: row.integer(3)?,
            size_bytes: row.integer(4)?,
            digest: row.bytes(5)?.to_vec(),
            body: row.bytes(6)?.to_vec(),
            parts: row.optional_bytes(7)?.map(<[u8]>::to_vec),
        })
    }

    fn open(&self, secret: &TenantSecret, chunks: &Chunks) -> Result<Bytes> {
        let stored = StoredValue {
            scope_id: self.scope_id,
            row: ValueRow::Entry(self.entry_no),
            tag: TAG,
            size_bytes: i32::try_from(self.size_bytes).unwrap_or(i32::MAX),
            digest: &self.digest,
            body: &self.body,
            parts: self.parts.as_deref(),
        };
        open_value(secret, &stored, chunks).map(|it| it.data)
    }

    fn entry(&self, secret: &TenantSecret, chunks: &Chunks) -> Result<Entry> {
        let id = self.id.clone().map(String::from_utf8).transpose();
        Ok(Entry {
            seq: self.seq,
            id: id.map_err(|_| damaged("the id of an entry"))?,
            data: self.open(secret, chunks)?,
            at: self.at,
        })
    }
}

/// How much work it is to open them.
fn size_of(entries: &[StoredEntry]) -> usize {
    let bytes: i64 = entries.iter().map(|it| it.size_bytes).sum();
    cpu_pool::size_of(entries.len(), usize::try_from(bytes).unwrap_or(0))
}

/// A document out of its pieces.
fn join(
    secret: &TenantSecret,
    chunks: &Chunks,
    name: &str,
    log: &LogRow,
    pieces: &[StoredEntry],
) -> Result<Content> {
    let mut text = BytesMut::new();
    for piece in pieces {
        text.extend_from_slice(&piece.open(secret, chunks)?);
    }
    let expected = (log.head - log.floor, log.size_bytes);
    if (limit_of(pieces.len() as u64), limit_of(text.len() as u64)) != expected {
        return Err(damaged("a document lacks a piece: it"));
    }
    let document = Document {
        name: name.to_owned(),
        version: log.version,
        updated_at: log.updated_at,
        size_bytes: log.size_bytes,
    };
    Ok(Content { document, text: text.freeze() })
}

pub fn limit_of(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub fn damaged(what: &str) -> Error {
    Error::Integrity(format!("{what} is damaged"))
}
