//! Adds the settings of their namespaces to changes of items, and holds what the changes of one request share.

use std::sync::Arc;

use super::batch::PreparedChanges;
use super::commit::Changed;
use super::history::kept_versions;
use super::item::ChangeItem;
use super::service::Items;
use super::words::ItemWords;
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::error::Result;
use crate::domain::idempotency::Idempotency;
use crate::domain::json::exact_json;
use crate::domain::scheduling::cpu_pool;

impl Items {
    /// What the namespaces say about items that are put into them.
    ///
    /// # Errors
    /// None that preparing the changes has not had.
    pub(in crate::domain) async fn declare(
        &self,
        prepared: &mut PreparedChanges,
        changes: &[ChangeItem],
    ) -> Result<()> {
        let (mut worded, mut bytes) = (Vec::new(), 0);
        for (change, asked) in prepared.changes.iter_mut().zip(changes) {
            let (Some(put), Some(value)) = (&mut change.put, &asked.value) else { continue };
            let declared = self.settings.effective(&prepared.tenant, &change.address.namespace);
            put.history = match &value.kept {
                None => kept_versions(&declared, put.is_file),
                // What is too large for a value is kept once, unless more is asked for.
                Some(_) => Some(declared.history.unwrap_or(0)),
            };
            let fields = declared.text_fields.filter(|it| put.is_readable && !it.is_empty());
            if let Some(fields) = fields {
                bytes += value.text.len();
                worded.push((put, fields, &value.text));
            }
        }
        let tenant = &prepared.tenant;
        let index = || {
            worded.into_iter().try_for_each(|(put, fields, text)| {
                let document = exact_json::parse("value", text)?;
                put.words = Some(Arc::new(ItemWords::of(tenant, &fields, &document)));
                Ok(())
            })
        };
        cpu_pool::run_here(tenant, bytes, index).await?
    }

    /// What was answered to this very request before. One statement.
    ///
    /// # Errors
    /// `IdempotencyMismatch`; as a commit.
    pub(in crate::domain) async fn answered(
        &self,
        changing: &Changing<'_>,
    ) -> Result<Option<Vec<i64>>> {
        let key = changing.idempotency(None);
        let tenant = &changing.caller.tenant;
        let question = PreparedChanges::question(tenant, Some(key), changing.deadline);
        match self.commits.commit(question).await? {
            Changed::Versions(answer) if !answer.is_empty() => Ok(Some(answer)),
            _ => Ok(None),
        }
    }
}

/// What the changes of one request share.
pub(in crate::domain) struct Changing<'a> {
    pub(in crate::domain) caller: &'a Caller,
    pub(in crate::domain) atomic: bool,
    pub(in crate::domain) idempotency: Option<(String, [u8; 32])>,
    pub(in crate::domain) deadline: Micros,
    /// Remembered with the answer, behind the versions.
    pub(in crate::domain) note: Vec<i64>,
}

impl Changing<'_> {
    /// Without a key from the caller it is a random one: for a connection that is lost during the commit.
    pub(in crate::domain) fn idempotency(&self, at: Option<usize>) -> Idempotency {
        let (key, digest) = self.idempotency.clone().unwrap_or_else(|| (random_hex(), [0; 32]));
        let key = at.map_or_else(|| key.clone(), |at| format!("{key}#{at}"));
        let Caller { credential, subject, .. } = self.caller;
        let note = self.note.clone();
        Idempotency { caller: credential.clone(), key, digest, subject: subject.clone(), note }
    }
}
