//! Examines titles and metadata of threads: whether they open, and whether what searches look at is theirs.

use super::{TenantScan, size};
use crate::domain::doctor::{Noun, Report, State};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Source, SqlRow, SqlValue, page};
use crate::storage::threads::details::PUT;
use crate::storage::threads::details_document::{DetailsRow, open};

/// Rows of keys that no thread has are stray rows.
const DETAILS: Source<'static> = Source {
    columns:
        "d.thread_key, t.thread_id, t.scope_id, d.version, d.document, cast(d.projection as text),
        case when d.has_marks then 1 else 0 end, d.title_folded, case when d.ttl_due is null then 0 else 1 end",
    size: "length(d.document)",
    rows:
        "from thread_details d join threads t on t.thread_key = d.thread_key and t.tenant = d.tenant
        where d.tenant = $1 and d.thread_key > $2 order by d.thread_key",
};

impl TenantScan<'_> {
    pub(super) async fn examine_details(&self, report: &mut Report) -> Result<()> {
        let mut after = i64::MIN;
        loop {
            let mut access = self.engine.begin_read().await?;
            let binds = [self.name(), after.into()];
            let rows = page(access.as_mut(), self.dialect, &DETAILS, &binds).await?;
            access.end().await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.integer(0)?;
            for row in &rows {
                self.examine_details_of(row, report).await?;
            }
        }
    }

    async fn examine_details_of(&self, row: &SqlRow, report: &mut Report) -> Result<()> {
        let sealed = row.bytes(4)?;
        report.add(State::Checked, Noun::ThreadDetails, 1, size(sealed.len()));
        let place = || Ok::<_, Error>(self.place(Some(row.text(1)?)));
        let (scope_id, version) = (row.integer(2)?, row.integer(3)?);
        let expected = open(&self.secret, scope_id, version, sealed)
            .and_then(|details| DetailsRow::new(&self.tenant, &self.secret, scope_id, &details));
        let Ok(expected) = expected else {
            let detail = "title and metadata do not open or do not match their digest";
            report.find(State::Damaged, Noun::ThreadDetails, size(sealed.len()), place()?, detail);
            return Ok(());
        };
        let shown =
            (row.optional_text(5)?, row.boolean(6)?, row.optional_text(7)?, row.boolean(8)?);
        if expected.is_shown_as(shown, self.dialect.has_projection) {
            return Ok(());
        }
        if self.repairs(report) {
            let key = [self.name(), row.integer(0)?.into()];
            let mut access = self.engine.begin_write().await?;
            // A change since then has written all of it anew.
            let same = "select 1 from thread_details where tenant = $1 and thread_key = $2 and version = $3 and document = $4 {lock}";
            let same_row = [SqlValue::Integer(version), sealed.into()];
            let binds = [&key[..], &same_row].concat();
            if !access.rows(&self.dialect.fill(same), &binds).await?.is_empty() {
                let binds = [&key[..], &expected.cells()].concat();
                access.rows(&self.dialect.fill(PUT), &binds).await?;
            }
            access.end().await?;
            report.add(State::Repaired, Noun::ThreadDetails, 1, 0);
            return Ok(());
        }
        let detail = "what searches and the sweep look at is not what the thread's details say";
        report.find(State::Damaged, Noun::ThreadDetails, 0, place()?, detail);
        Ok(())
    }
}
