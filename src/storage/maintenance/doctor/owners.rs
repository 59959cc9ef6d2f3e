//! Checks the MACs of threads, sessions and namespace roots. Only a tenant with encryption has MACs.

use super::TenantScan;
use crate::domain::Result;
use crate::domain::doctor::{Noun, Report, State};
use crate::storage::tokens::owner_signing::{OWNER_TABLES, OwnerTable};

impl TenantScan<'_> {
    pub(super) async fn examine_owners(&self, report: &mut Report) -> Result<()> {
        if self.secret.cipher().is_none() {
            return Ok(());
        }
        for table in &OWNER_TABLES {
            let done = self.examine_owner_table(table, report).await;
            let name = match table.noun {
                Noun::Threads => "threads",
                Noun::Sessions => "sessions",
                _ => "namespace_roots",
            };
            self.note(done, (table.noun, name, None), report)?;
        }
        Ok(())
    }

    async fn examine_owner_table(&self, table: &OwnerTable, report: &mut Report) -> Result<()> {
        let mut after = table.first_key();
        let of = (self.tenant.as_str(), &self.secret);
        while let Some((rows, last)) = table.read_unsigned(self.engine, of, &after).await? {
            after = last;
            for row in &rows {
                let what = if row.is_changed { "is not as it was signed" } else { "has no MAC" };
                let detail = format!("{} {what}", table.describe(row)?);
                let place = self.place(table.thread_id(row));
                report.find(State::Damaged, table.noun, 0, place, detail);
            }
        }
        Ok(())
    }
}
