//! Implements `threadkeep backup`: writes the whole database to a place outside of it, beside running servers.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::form::{Answer, Form};
use super::io;
use super::opening::{embedded_path, open_existing, placed_journal};
use crate::config::{Backup, PostgresPrograms};
use crate::domain::Result;
use crate::domain::clock::{Clock, Micros};
use crate::storage::backups::dump::Programs;
use crate::storage::backups::embedded;
use crate::storage::backups::manifest::Manifest;
use crate::storage::backups::place::Place;

pub(super) const SETTING: &str = "to";
const DAY: Micros = 86_400_000_000;
/// Bytes that are hashed together.
const READ_BYTES: usize = 1 << 20;

/// Prints the manifest and what was removed.
pub(super) async fn run(command: Backup, form: Form) -> Result<()> {
    let place = Place::parse(SETTING, &command.to)?;
    let journal = placed_journal(&command.database)?;
    // Says what is wrong with the database or its settings before anything is written.
    let storage = open_existing(&command.database, None).await?;
    let engine = storage.name();
    storage.close().await;
    let began_at = Clock::System.now();
    let name = Manifest::name_of(began_at);
    let work = Work::at(&place, &name)?;
    match (embedded_path(&command.database), &command.database.database_url) {
        (Some(path), _) => embedded::copy(&path, &work.file).await?,
        (None, Some(url)) => programs(&command.programs).dump(url, &work.file).await?,
        (None, None) => unreachable!("without a URL the database is embedded"),
    }
    let (bytes, sha256) = digest(&work.file)?;
    work.finish(&place, &name).await?;
    let ended_at = Clock::System.now();
    let manifest = Manifest { bytes, sha256, ..Manifest::new(name, engine, (began_at, ended_at)) };
    manifest.write(&place).await?;
    let mut report = json!(manifest);
    if let Some(days) = command.keep_days {
        let before = began_at - Micros::from(days) * DAY;
        let (backups, oldest) = remove_old(&place, before).await?;
        report["backups_removed"] = json!(backups);
        if let Some(journal) = journal {
            let erasures = journal.forget_erasures(oldest.unwrap_or(began_at)).await?;
            report["erasures_forgotten"] = json!(erasures);
        }
    }
    form.print(&Answer::new(format!("{report:#}\n"), &report)?)
}

pub(super) fn programs(settings: &PostgresPrograms) -> Programs {
    Programs { folder: settings.postgres_programs.clone() }
}

/// The file that is written. What is not finished is removed.
struct Work {
    file: PathBuf,
    /// Where the place is no folder: the file lies here until it is sent.
    _folder: Option<TempDir>,
    is_done: bool,
}

impl Work {
    fn at(place: &Place, name: &str) -> Result<Self> {
        if let Some(folder) = place.folder() {
            let file = folder.join(format!("{name}.part"));
            return Ok(Self { file, _folder: None, is_done: false });
        }
        let cannot = |error| io("a temporary folder cannot be made", &error);
        let folder = tempfile::tempdir().map_err(cannot)?;
        Ok(Self { file: folder.path().join(name), _folder: Some(folder), is_done: false })
    }

    async fn finish(mut self, place: &Place, name: &str) -> Result<()> {
        let content = Manifest::content(name);
        match place.folder() {
            None => place.upload(&self.file, &content).await?,
            Some(folder) => {
                let to = folder.join(&content);
                let renamed = std::fs::rename(&self.file, &to)
                    .and_then(|()| std::fs::File::open(folder))
                    .and_then(|folder| folder.sync_all());
                renamed.map_err(|error| io(&format!("{} cannot be made", to.display()), &error))?;
            }
        }
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// Bytes of a file, and their SHA-256.
fn digest(file: &Path) -> Result<(u64, String)> {
    use std::io::Read as _;
    let unread = |error| io(&format!("{} cannot be read", file.display()), &error);
    let mut from = std::fs::File::open(file).map_err(unread)?;
    from.sync_all().map_err(unread)?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut part = vec![0; READ_BYTES];
    loop {
        let count = from.read(&mut part).map_err(unread)?;
        if count == 0 {
            return Ok((bytes, hex::encode(digest.finalize())));
        }
        digest.update(&part[..count]);
        bytes += count as u64;
    }
}

/// Removes backups that began before a time, and answers their names and when the oldest that stays began. It ends at a manifest that
/// cannot be read.
async fn remove_old(place: &Place, before: Micros) -> Result<(Vec<String>, Option<Micros>)> {
    let mut removed = Vec::new();
    let mut oldest = None::<Micros>;
    for name in Manifest::list(place).await? {
        let began = Manifest::read(place, &name).await?.began()?;
        if began < before {
            Manifest::remove(place, &name).await?;
            removed.push(name);
        } else {
            oldest = Some(oldest.map_or(began, |it| it.min(began)));
        }
    }
    Ok((removed, oldest))
}
