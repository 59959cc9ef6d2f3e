//! Reads a session page by page, in the same way as threads.

use bytes::Bytes;

use super::moment::{ATTEMPTS, Moment, Stop};
use super::values::{COLUMNS, SIZE, chunks_of, open, opening_size};
use crate::content::keys::TenantSecret;
use crate::domain::export::records::{
    SessionEntry, SessionHead, SessionLog, SessionRecord, SessionSink,
};
use crate::domain::sessions::name::SessionName;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::ValueRow;
use crate::storage::db::access::{Accessible, Source, SqlRow, SqlValue, page};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sessions::open_title;
use crate::storage::sessions::rows::check_row;

/// $1 tenant, $2 kind, $3 key.
const SESSION: &str = "
select s.session_no, s.scope_id, s.owner, s.user_id, s.agent, s.title, s.created_at, s.updated_at, s.archives,
    s.next_log, s.size_bytes, g.epoch, s.mac
from sessions s join scopes g on g.tenant = s.tenant and g.scope_id = s.scope_id
where s.tenant = $1 and s.kind = $2 and s.key = $3";

/// But for those of snapshots, whose kinds begin with a colon.
const NAMES: &str = "
select s.kind, s.key from sessions s where s.tenant = $1 and (s.kind, s.key) > ($2, $3) and substr(s.kind, 1, 1) <> ':'
order by s.kind, s.key limit $4";

/// But for what was removed and still has rows.
const LOGS: Source<'static> = Source {
    columns: "kind, name, log_no, era, floor, ceiling, head, compacted_head, version, size_bytes, updated_at",
    size: "length(name) + 128",
    rows: "from session_logs where tenant = $1 and session_no = $2 and (kind, name) > ($3, $4) and kind <> 3
        order by kind, name",
};

/// Those that a log shows.
const ENTRIES: &str = "
from session_entries e where e.tenant = $1 and e.session_no = $2 and (e.log_no, e.era, e.seq) > ($3, $4, $5)
    and exists (select 1 from session_logs l
        where l.tenant = e.tenant and l.session_no = e.session_no and l.log_no = e.log_no and l.kind <> 3
            and (e.era = 0 and e.seq > l.floor and (l.ceiling is null or e.seq <= l.ceiling)
                or e.era <> 0 and e.era = l.era))
order by e.log_no, e.era, e.seq";
const ENTRY_KEY: &str = "log_no, era, seq, entry_no, id, at, 'json' as tag";
/// Where the columns of a value begin, with the tag that entries do not have.
const ENTRY_VALUE: usize = 6;

pub async fn names(
    engine: &dyn Accessible,
    tenant: &str,
    after: Option<&SessionName>,
    limit: usize,
) -> Result<Vec<SessionName>> {
    let (kind, key) = after.map_or(("", Vec::new()), |it| (it.kind(), it.key_bytes()));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut access = engine.begin_read().await?;
    let binds = [tenant.into(), kind.into(), SqlValue::Bytes(key), limit.into()];
    let rows = access.rows(NAMES, &binds).await?;
    access.end().await?;
    let damaged = || Error::Integrity("the key of a session is damaged".into());
    let name = |row: &SqlRow| {
        SessionName::stored(row.text(0)?.to_owned(), row.bytes(1)?).ok_or_else(damaged)
    };
    rows.iter().map(name).collect()
}

pub async fn has(engine: &dyn Accessible, tenant: &str, session: &SessionName) -> Result<bool> {
    let mut access = engine.begin_read().await?;
    let place = [tenant.into(), session.kind().into(), SqlValue::Bytes(session.key_bytes())];
    let found = access.rows(SESSION, &place).await?;
    access.end().await?;
    Ok(!found.is_empty())
}

pub async fn read(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    session: &SessionName,
    sink: &mut dyn SessionSink,
) -> Result<bool> {
    for attempt in 0..=ATTEMPTS {
        let place =
            vec![tenant.into(), session.kind().into(), SqlValue::Bytes(session.key_bytes())];
        let moment = Moment::new(engine, (SESSION, place), attempt);
        let mut reader = Reader { moment, tenant, secret, session };
        match reader.read(sink).await {
            Ok(found) => return Ok(found),
            Err(Stop::Changed) => {}
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
    Err(Error::Internal("a session changed in one transaction".into()))
}

struct Reader<'a> {
    moment: Moment<'a>,
    tenant: &'a str,
    secret: &'a TenantSecret,
    session: &'a SessionName,
}

impl Reader<'_> {
    async fn read(&mut self, sink: &mut dyn SessionSink) -> Result<bool, Stop> {
        if !self.moment.find().await? {
            return Ok(false);
        }
        let name = (self.session.kind(), &self.session.key_bytes()[..]);
        check_row(name, (self.moment.row()?, [0, 1, 2, 12]), self.secret)?;
        sink.begin_session(self.head()?).await?;
        self.put_logs(sink).await?;
        self.put_entries(sink).await?;
        self.moment.end().await?;
        Ok(true)
    }

    fn place(&self) -> Result<[SqlValue; 2]> {
        Ok([self.tenant.into(), self.moment.row()?.0[0].clone()])
    }

    fn head(&self) -> Result<SessionHead> {
        let row = self.moment.row()?;
        let text = |at: usize| Ok::<_, Error>(row.optional_text(at)?.map(str::to_owned));
        let place = (row.integer(1)?, self.session);
        let title = row.optional_bytes(5)?.map(|it| open_title(self.secret, place, it));
        Ok(SessionHead {
            kind: self.session.kind().to_owned(),
            key: self.session.key().to_vec(),
            owner: text(2)?,
            user_id: text(3)?,
            agent: text(4)?,
            title: title.transpose()?,
            created_at: row.integer(6)?,
            updated_at: row.integer(7)?,
            archives: row.integer(8)?,
            next_log: row.integer(9)?,
            size_bytes: row.integer(10)?,
        })
    }

    async fn put_logs(&mut self, sink: &mut dyn SessionSink) -> Result<(), Stop> {
        let mut after = vec![SqlValue::Integer(-1), SqlValue::Bytes(Vec::new())];
        loop {
            let mut access = self.moment.require().await?;
            let binds = [&self.place()?[..], &after].concat();
            let rows = page(&mut *access, self.moment.engine.dialect(), &LOGS, &binds).await?;
            self.moment.close(access).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.0[..2].to_vec();
            for row in &rows {
                let log = SessionLog {
                    part: row.integer(0)?,
                    name: Bytes::copy_from_slice(row.bytes(1)?),
                    log_no: row.integer(2)?,
                    era: row.integer(3)?,
                    floor: row.integer(4)?,
                    ceiling: row.optional_integer(5)?,
                    head: row.integer(6)?,
                    compacted_head: row.integer(7)?,
                    version: row.integer(8)?,
                    size_bytes: row.integer(9)?,
                    updated_at: row.integer(10)?,
                };
                sink.put_session(SessionRecord::Log(log)).await?;
            }
        }
    }

    async fn put_entries(&mut self, sink: &mut dyn SessionSink) -> Result<(), Stop> {
        let columns = format!("{ENTRY_KEY}, {}", COLUMNS.trim_start_matches("tag, "));
        let source = Source { columns: &columns, size: SIZE, rows: ENTRIES };
        let scope_id = self.moment.row()?.integer(1)?;
        let mut after = vec![SqlValue::Integer(i64::MIN); 3];
        loop {
            let prefetch = PackPrefetch::default();
            let (rows, chunks) = loop {
                let mut access = self.moment.require().await?;
                let binds = [&self.place()?[..], &after].concat();
                let rows =
                    page(&mut *access, self.moment.engine.dialect(), &source, &binds).await?;
                let of = (self.tenant, self.secret);
                let at = (&rows[..], ENTRY_VALUE);
                let chunks = chunks_of(&mut *access, of, scope_id, at, &prefetch).await?;
                self.moment.close(access).await?;
                if prefetch.is_complete() {
                    break (rows, chunks);
                }
                prefetch.fetch_missing(self.moment.engine.objects(), self.secret).await?;
            };
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.0[..3].to_vec();
            let secret = self.secret;
            let entry = |row: &SqlRow| {
                let aad = (scope_id, ValueRow::Entry(row.integer(3)?));
                let value = open(secret, aad, (row, ENTRY_VALUE), &chunks)?;
                Ok(SessionEntry {
                    log_no: row.integer(0)?,
                    era: row.integer(1)?,
                    seq: row.integer(2)?,
                    id: row.optional_bytes(4)?.map(Bytes::copy_from_slice),
                    at: row.integer(5)?,
                    text: value.data,
                })
            };
            let size = opening_size(&rows, ENTRY_VALUE)?;
            let opened = || rows.iter().map(entry).collect::<Result<Vec<_>>>();
            for entry in self.moment.work(self.tenant, size, opened).await? {
                sink.put_session(SessionRecord::Entry(entry)).await?;
            }
        }
    }
}
