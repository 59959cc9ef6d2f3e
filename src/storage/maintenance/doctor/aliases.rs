//! Examines the UUID aliases in the rows of threads: whether each is that of the thread's id.

use super::TenantScan;
use crate::domain::Result;
use crate::domain::doctor::{Noun, Report, State};
use crate::domain::threads::alias::stored_alias;
use crate::storage::db::access::{Source, SqlRow, page};

/// A row without an alias gets one in the background.
const ALIASES: Source<'static> = Source {
    columns: "thread_id, alias",
    size: "length(thread_id)",
    rows: "from threads where tenant = $1 and thread_id > $2 and alias is not null order by thread_id",
};

/// $2 thread id, $3 the alias that was found, $4 the right one, empty for none. A thread that was renamed meanwhile stays as it is.
const CORRECT: &str = "
update threads set alias = nullif($4, '') where tenant = $1 and thread_id = $2 and alias = $3 returning thread_key";

impl TenantScan<'_> {
    pub(super) async fn examine_aliases(&self, report: &mut Report) -> Result<()> {
        let mut after = String::new();
        loop {
            let mut access = self.engine.begin_read().await?;
            let binds = [self.name(), after.as_str().into()];
            let rows = page(access.as_mut(), self.dialect, &ALIASES, &binds).await?;
            access.end().await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.text(0)?.to_owned();
            for row in &rows {
                self.examine_alias(row, report).await?;
            }
        }
    }

    async fn examine_alias(&self, row: &SqlRow, report: &mut Report) -> Result<()> {
        let (thread_id, found) = (row.text(0)?, row.text(1)?);
        report.add(State::Checked, Noun::Aliases, 1, 0);
        let right = stored_alias(thread_id);
        if right.as_deref() == Some(found) {
            return Ok(());
        }
        if self.repairs(report) {
            let right = right.unwrap_or_default();
            let binds = [self.name(), thread_id.into(), found.into(), right.as_str().into()];
            let mut access = self.engine.begin_write().await?;
            access.rows(CORRECT, &binds).await?;
            access.end().await?;
            report.add(State::Repaired, Noun::Aliases, 1, 0);
            return Ok(());
        }
        let detail = "the alias is not that of the thread's id";
        report.find(State::WrongCounter, Noun::Aliases, 0, self.place(Some(thread_id)), detail);
        Ok(())
    }
}
