//! Lists subjects of the storage in memory, and erases one in two slices.

use std::collections::BTreeMap;

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::tenants::erasure::ErasureStorage;
use threadkeep::domain::tenants::erasure::{More, Receipt, Slice, Stage};
use threadkeep::domain::tenants::subjects::{Subject, SubjectQuery};

use crate::memory::Memory;

#[async_trait]
impl ErasureStorage for Memory {
    async fn erase_slice(&self, caller: &Caller, subject: &str, stage: Stage) -> Result<Slice> {
        self.called(format!("erase {stage:?} of {subject} in {}", caller.tenant))?;
        let mut slice = Slice::default();
        if stage == Stage::Keys {
            let mut keys = self.keys.lock().unwrap();
            let before = keys.len();
            let gone = |owner: Option<&str>| owner == Some(subject);
            keys.retain(|it| it.tenant != caller.tenant || !gone(it.subject.as_deref()));
            slice.removed.keys = (before - keys.len()) as u64;
        }
        if stage == Stage::Threads {
            let mut threads = self.threads.lock().unwrap();
            let gone = threads.iter().position(|it| it.owner.as_deref() == Some(subject));
            if let Some(at) = gone {
                slice.thread_ids.push(threads.remove(at).thread_id);
                slice.removed = Receipt { threads: 1, ..Receipt::default() };
                slice.more = More::Certainly;
            }
        }
        Ok(slice)
    }

    async fn list_subjects(
        &self,
        tenant: &str,
        query: &SubjectQuery,
        _: Micros,
    ) -> Result<Vec<Subject>> {
        self.called(format!("list subjects of {tenant}: {query:?}"))?;
        let threads = self.threads.lock().unwrap();
        let mut found: BTreeMap<&str, Subject> = BTreeMap::new();
        for owner in threads.iter().filter_map(|it| it.owner.as_deref()) {
            let subject = Subject { subject: owner.to_owned(), ..Subject::default() };
            found.entry(owner).or_insert(subject).threads += 1;
        }
        let after = query.after.as_deref().unwrap_or_default();
        let shown = found.into_values().filter(|it| it.subject.as_str() > after);
        Ok(shown.take(query.limit).collect())
    }
}
