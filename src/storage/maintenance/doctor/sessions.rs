//! Checks that each entry of a session opens to what was appended, and that no stream and no document lacks an entry.

use super::content::{Chunks, Value, Verdict};
use super::pass::{Pass, Start};
use super::{TenantScan, size};
use crate::domain::Result;
use crate::domain::doctor::{Noun, Report, State};
use crate::storage::content::associated_data::ValueRow;
use crate::storage::db::access::{Source, SqlValue, page_of};

pub const ENTRIES: Source<'static> = Source {
    columns: "session_no, log_no, era, seq, entry_no,
        (select s.scope_id from sessions s where s.tenant = $1 and s.session_no = session_entries.session_no),
        'json', size_bytes, digest, body, parts",
    size: "case when size_bytes > length(body) then size_bytes else length(body) end
        + coalesce(length(parts), 0)",
    rows: "from session_entries where tenant = $1 and (session_no, log_no, era, seq) > ($2, $3, $4, $5)
        order by session_no, log_no, era, seq",
};

/// Streams and documents that show another number of entries than they should, behind a session.
const INCOMPLETE: &str = "
select count(*) from session_logs l
where l.tenant = $1 and l.kind < 2
    and coalesce(l.ceiling, l.head) - l.floor + case when l.kind = 0 then l.version else 0 end <> (
        select count(*) from session_entries e
        where e.tenant = l.tenant and e.session_no = l.session_no and e.log_no = l.log_no
            and (e.era = 0 and e.seq > l.floor and e.seq <= coalesce(l.ceiling, l.head)
                or e.era = l.era and l.era > 0))";

/// Keys of sessions, with rows, that neither a session nor the garbage has.
const STRAY: &str = "
select x.session_no, count(*), cast(sum(x.bytes) as bigint) from (
    select e.session_no, length(e.body) + coalesce(length(e.parts), 0) as bytes
    from session_entries e where e.tenant = $1
    union all
    select l.session_no, 64 from session_logs l where l.tenant = $1) x
where not exists (select 1 from sessions s where s.tenant = $1 and s.session_no = x.session_no)
    and not exists (select 1 from garbage g where g.tenant = $1 and g.thread_key = x.session_no)
group by x.session_no limit 500";

impl TenantScan<'_> {
    pub(super) async fn examine_sessions(&self, report: &mut Report) -> Result<()> {
        self.go_through(Pass::Entries, report).await?;
        let counted = self.count_entries(report).await;
        self.note(counted, (Noun::Entries, "session_logs", None), report)?;
        self.examine_stray_entries(report).await
    }

    async fn count_entries(&self, report: &mut Report) -> Result<()> {
        let mut access = self.engine.begin_read().await?;
        let lacking = access.rows(INCOMPLETE, &[self.name()]).await?[0].integer(0)?;
        access.end().await?;
        for _ in 0..lacking {
            let detail = "an entry of a stream, or a piece of a document";
            report.find(State::Missing, Noun::Entries, 0, self.place(None), detail);
        }
        Ok(())
    }

    pub(super) async fn examine_entries(
        &self,
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        let mut access = self.engine.begin_read().await?;
        let binds = [&[self.name()], &from.after[..]].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &ENTRIES, binds).await?;
        let mut found = Vec::new();
        for row in &rows {
            // Without a session it is garbage, or a stray row.
            let Ok(scope_id) = row.integer(5) else { continue };
            let aad = ValueRow::Entry(row.integer(4)?);
            let value = Value::read((scope_id, aad), row, 6)?;
            let place = [self.name(), scope_id.into()];
            let one = std::slice::from_ref(&value);
            let chunks = Chunks::load(access.as_mut(), &self.secret, &place, one).await?;
            found.push((value, chunks));
        }
        access.end().await?;
        for (value, chunks) in found {
            let bytes = value.stored_bytes();
            report.add(State::Checked, Noun::Entries, 1, bytes);
            let (state, detail) = match value.examine(&self.secret, &chunks) {
                Verdict::Sound => continue,
                Verdict::Damaged(detail) => (State::Damaged, detail),
                Verdict::Moved | Verdict::Unreadable => {
                    (State::Unreadable, "a chunk of the entry is missing or damaged")
                }
            };
            report.find(state, Noun::Entries, bytes, self.place(None), detail);
        }
        Ok(rows.last().map(|last| last.0[..4].to_vec()))
    }

    async fn examine_stray_entries(&self, report: &mut Report) -> Result<()> {
        let fix = self.repairs(report);
        loop {
            let mut access = self.engine.begin_read().await?;
            let stray = access.rows(STRAY, &[self.name()]).await?;
            access.end().await?;
            for row in &stray {
                let (count, bytes) = (row.integer(1)?.unsigned_abs(), row.integer(2)?);
                let state = if fix { State::Repaired } else { State::Orphan };
                if fix {
                    // No scope has this id: only the rows go.
                    self.engine.remove_unreachable(&self.tenant, row.integer(0)?, 0).await?;
                }
                report.add(state, Noun::Entries, count, bytes.unsigned_abs());
            }
            if !fix || size(stray.len()) < 500 {
                return Ok(());
            }
        }
    }
}
