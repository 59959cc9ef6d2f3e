//! Keeps the journal as one small object per entry. Entries are never changed, so servers and commands write side by side.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::tenants::journal::{JournalEntry, JournalStorage, Journaled};
use crate::domain::time::{parse_rfc3339, rfc3339};
use crate::domain::{Error, Result};

pub const SETTING: &str = "journal-url";
const FOLDER: &str = "journal";

/// The journal of one place.
pub struct PlacedJournal {
    place: Place,
}

#[derive(Serialize, Deserialize)]
struct Written {
    at: String,
    #[serde(flatten)]
    entry: JournalEntry,
}

impl PlacedJournal {
    /// # Errors
    /// `Invalid` for a URL that names no place.
    pub fn open(url: &str) -> Result<Self> {
        Ok(Self { place: Place::parse(SETTING, url)? })
    }

    /// All entries in the order of their times.
    ///
    /// # Errors
    /// `Integrity` for one that cannot be read, because a restore must miss none; `Unavailable` of the place.
    pub async fn read(&self) -> Result<Vec<Journaled>> {
        let mut entries = Vec::new();
        for name in self.place.list(FOLDER).await? {
            entries.extend(self.one(&name).await?);
        }
        entries.sort_by_key(|it| it.at);
        Ok(entries)
    }

    async fn one(&self, name: &str) -> Result<Option<Journaled>> {
        // Another command may remove what is old.
        let Some(text) = self.place.get(&format!("{FOLDER}/{name}")).await? else {
            return Ok(None);
        };
        let damaged = |error: &dyn std::fmt::Display| {
            Error::Integrity(format!("the entry {name} of the journal: {error}"))
        };
        let written: Written = serde_json::from_slice(&text).map_err(|it| damaged(&it))?;
        let at = parse_rfc3339("at", &written.at).map_err(|it| damaged(&it))?;
        Ok(Some(Journaled { at, entry: written.entry }))
    }

    /// Removes the erasures before a time: no backup is left that has their subjects. Revoked and destroyed keys stay. Answers how
    /// many went.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn forget_erasures(&self, before: Micros) -> Result<usize> {
        let mut removed = 0;
        for name in self.place.list(FOLDER).await? {
            let is_old = match self.one(&name).await? {
                Some(Journaled { at, entry: JournalEntry::SubjectErased { .. } }) => at < before,
                _ => false,
            };
            if is_old {
                self.place.remove(&format!("{FOLDER}/{name}")).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

#[async_trait]
impl JournalStorage for PlacedJournal {
    async fn write(&self, journaled: &Journaled) -> Result<()> {
        let at = rfc3339(journaled.at);
        let name = format!("{FOLDER}/{}-{}.json", at.replace(['-', ':'], ""), random_hex());
        let written = Written { at, entry: journaled.entry.clone() };
        let text = serde_json::to_vec(&written).expect("plain records always serialize");
        self.place.put(&name, text).await
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn entry(subject: &str) -> JournalEntry {
        JournalEntry::SubjectErased { tenant: "acme".into(), subject: subject.into() }
    }

    #[tokio::test]
    async fn a_journal_gives_back_what_was_written_and_forgets_old_erasures_only() {
        let folder = tempfile::tempdir().unwrap();
        let journal = PlacedJournal::open(folder.path().to_str().unwrap()).unwrap();
        let revoked = JournalEntry::KeyRevoked { tenant: "acme".into(), key_id: "key_1".into() };
        let wrote =
            [(3_000_000, entry("ann")), (1_000_000, revoked.clone()), (2_000_000, entry("bob"))];
        for (at, entry) in wrote {
            journal.write(&Journaled { at, entry }).await.unwrap();
        }
        for file in std::fs::read_dir(folder.path().join("journal")).unwrap() {
            let mode = file.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "it names erased subjects");
        }
        let read: Vec<_> =
            journal.read().await.unwrap().into_iter().map(|it| (it.at, it.entry)).collect();
        let ordered =
            [(1_000_000, revoked.clone()), (2_000_000, entry("bob")), (3_000_000, entry("ann"))];
        assert_eq!(read, ordered);
        assert_eq!(journal.forget_erasures(3_000_000).await.unwrap(), 1);
        let left: Vec<_> = journal.read().await.unwrap().into_iter().map(|it| it.entry).collect();
        assert_eq!(left, [revoked, entry("ann")]);
    }

    #[tokio::test]
    async fn an_entry_that_cannot_be_read_is_never_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let journal = PlacedJournal::open(folder.path().to_str().unwrap()).unwrap();
        journal.write(&Journaled { at: 1, entry: entry("ann") }).await.unwrap();
        std::fs::write(folder.path().join("journal/2-x.json"), b"{\"at\":\"").unwrap();
        let error = journal.read().await.unwrap_err();
        assert!(matches!(&error, Error::Integrity(it) if it.contains("2-x.json")), "{error}");
    }
}
