//! Repairs what an examination may repair: counters, and content that nothing names. It reads each row again under the lock of its scope
//! before it changes the row.

use super::survey::{Survey, sums_of_thread};
use super::{TenantScan, size};
use crate::domain::Result;
use crate::domain::doctor::{Noun, Report, State};
use crate::storage::db::access::{Access, SqlValue, lock_scope, rows_named};

impl TenantScan<'_> {
    /// Makes the counters of a thread true. False: it is gone, or has no scope to be locked.
    pub(super) async fn correct_counters(&self, thread_id: &str) -> Result<bool> {
        let mut access = self.engine.begin_write().await?;
        let corrected = self.correct_held(access.as_mut(), thread_id).await?;
        access.end().await?;
        Ok(corrected)
    }

    async fn correct_held(&self, access: &mut dyn Access, thread_id: &str) -> Result<bool> {
        let Some(before) = self.thread(access, thread_id).await? else { return Ok(false) };
        if !lock_scope(access, self.dialect, &self.tenant, before.scope_id).await? {
            return Ok(false);
        }
        let Some(thread) = self.thread(access, thread_id).await? else { return Ok(false) };
        if thread.scope_id != before.scope_id {
            return Ok(false);
        }
        let sums = sums_of_thread(access, self.dialect, &self.tenant, &thread).await?;
        let most = sums.shown_bytes.saturating_add(sums.other_bytes);
        let size = thread.size_bytes.clamp(sums.shown_bytes, most.max(sums.shown_bytes));
        access
            .rows(
                "update threads set checkpoint_count = $3, size_bytes = $4
                 where tenant = $1 and thread_id = $2",
                &[self.name(), thread_id.into(), sums.checkpoint_count.into(), size.into()],
            )
            .await?;
        Ok(true)
    }

    /// Removes what nothing in a scope names: values first, which may free chunks. Answers what is left.
    pub(super) async fn remove_orphans(
        &self,
        scope_id: i64,
        report: &mut Report,
    ) -> Result<Survey> {
        let mut access = self.engine.begin_write().await?;
        let Some(survey) = self.survey_held(access.as_mut(), scope_id).await? else {
            access.end().await?;
            return Ok(Survey::default());
        };
        let numbers: Vec<SqlValue> =
            survey.superseded.iter().map(|no| SqlValue::Integer(*no)).collect();
        let text = "delete from manifests where tenant = $1 and scope_id = $2 and no in";
        self.remove(access.as_mut(), scope_id, text, &numbers).await?;
        let holders = self.holders(access.as_mut(), scope_id).await?;
        access.end().await?;
        report.add(State::Repaired, Noun::Values, size(numbers.len()), survey.superseded_bytes);
        if !numbers.is_empty() {
            for (thread_id, _) in &holders.threads {
                self.correct_counters(thread_id).await?;
            }
        }
        let mut access = self.engine.begin_write().await?;
        let Some(survey) = self.survey_held(access.as_mut(), scope_id).await? else {
            access.end().await?;
            return Ok(Survey::default());
        };
        let text = "delete from chunks where tenant = $1 and scope_id = $2 and name in";
        self.remove(access.as_mut(), scope_id, text, &survey.chunks).await?;
        self.count_packs(access.as_mut(), scope_id).await?;
        access.end().await?;
        report.add(State::Repaired, Noun::Chunks, size(survey.chunks.len()), survey.chunk_bytes);
        Ok(Survey { chunks: Vec::new(), chunk_bytes: 0, ..survey })
    }

    /// None: the scope is gone, or what names its content is damaged or missing now.
    async fn survey_held(&self, access: &mut dyn Access, scope_id: i64) -> Result<Option<Survey>> {
        if !lock_scope(access, self.dialect, &self.tenant, scope_id).await? {
            return Ok(None);
        }
        let holders = self.holders(access, scope_id).await?;
        if holders.lost > 0 || !holders.any {
            return Ok(None);
        }
        let survey = self.survey(access, scope_id, &holders.keys()).await?;
        Ok((!survey.undecided).then_some(survey))
    }

    /// Removes content, and raises the epoch: whoever remembers what the scope has, forgets it.
    async fn remove(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        text: &str,
        names: &[SqlValue],
    ) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let scope = [self.name(), scope_id.into()];
        rows_named(access, text, &scope, names).await?;
        let raise = "update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2";
        access.rows(raise, &scope).await?;
        Ok(())
    }
}
