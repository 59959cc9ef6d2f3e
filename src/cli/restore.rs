//! Implements `threadkeep restore`: makes a database from a backup, and renews it before any server uses it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::backup::programs;
use super::export::objects;
use super::form::{Answer, Form};
use super::io;
use super::opening::{embedded_path, embedded_url, placed_journal, storage_config, unless_refused};
use crate::auth::authenticator::Identity;
use crate::auth::keys;
use crate::config::{Database, Restore};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::engine::Renewed;
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{Act, ActKind, COMMAND_LINE};
use crate::domain::tenants::erasure::Erasures;
use crate::domain::tenants::journal::{Journal, JournalEntry, Journaled};
use crate::domain::tenants::tenant::{PAGE_MAX, Time};
use crate::domain::time::parse_rfc3339;
use crate::domain::tokens::key::RevokeKey;
use crate::domain::{Error, Result};
use crate::storage::backups::manifest::Manifest;
use crate::storage::backups::place::Place;
use crate::storage::backups::{dump, journal::PlacedJournal};
use crate::storage::objects::Objects;
use crate::storage::sqlite::sibling;
use crate::storage::{self, StorageConfig};

const FROM: &str = "from";
/// Names the newest backup of a place.
const LATEST: &str = "latest";
/// Clocks of servers may differ by so much: what the journal has from just before the backup is done again, too.
const CLOCKS_DIFFER: Micros = 60_000_000;

/// What was done to the restored database.
#[derive(Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<Manifest>,
    #[serde(flatten)]
    renewed: Renewed,
    /// Tenants whose tokens and signed addresses ended.
    tenants: u64,
    journal: Replayed,
}

/// What the journal says, done again.
#[derive(Default, Serialize)]
struct Replayed {
    keys_revoked: u64,
    subjects_erased: u64,
    tenant_keys_destroyed: u64,
}

pub(super) async fn run(command: Restore, form: Form) -> Result<()> {
    let journal = placed_journal(&command.database)?;
    // A journal that cannot be read is told before anything is made.
    let entries = match &journal {
        Some(journal) => PlacedJournal::read(journal).await?,
        None => Vec::new(),
    };
    let objects = objects(command.object_store_url.as_deref()).await?;
    let report = match (&command.from, &command.as_of) {
        (Some(from), _) => {
            let (place, manifest) = find(from).await?;
            restore(&command, (&place, manifest), objects, &entries).await?
        }
        (None, Some(as_of)) => {
            let as_of = parse_rfc3339("as-of", as_of)?;
            if let Some(url) = postgres_url(&command.database) {
                dump::require_no_server(url).await?;
            }
            let opened = open(&command.database, objects, |it| it).await?;
            renew(opened, None, (as_of, &entries)).await?
        }
        (None, None) => return Err(Error::invalid(FROM, "--from or --in-place must be given")),
    };
    if journal.is_none() {
        form.note(
            "warning: without --journal-url nothing says which keys were revoked and who was erased after the backup",
        );
    }
    let report = json!(report);
    form.print(&Answer::new(format!("{report:#}\n"), &report)?)
}

/// Of a database that is not embedded.
fn postgres_url(database: &Database) -> Option<&str> {
    match embedded_path(database) {
        Some(_) => None,
        None => database.database_url.as_deref(),
    }
}

/// The place and the manifest that `--from` names.
async fn find(from: &str) -> Result<(Place, Manifest)> {
    let Some((place, name)) = from.trim_end_matches('/').rsplit_once('/') else {
        let detail = "--from must be a place and a name joined by a slash: /backups/latest";
        return Err(Error::invalid(FROM, detail));
    };
    let name = name.trim_end_matches(".backup").trim_end_matches(".json");
    let place = Place::parse(FROM, if place.is_empty() { "/" } else { place })?;
    let name = match name {
        LATEST => Manifest::list(&place).await?.pop().ok_or_else(|| {
            let kind = crate::domain::error::Obstacle::FileMissing;
            Error::Obstacle { kind, detail: format!("there is no backup at {from}") }
        })?,
        name => name.to_owned(),
    };
    let manifest = Manifest::read(&place, &name).await?;
    Ok((place, manifest))
}

async fn restore(
    command: &Restore,
    (place, manifest): (&Place, Manifest),
    objects: Option<Arc<Objects>>,
    entries: &[Journaled],
) -> Result<Report> {
    let database = &command.database;
    let since = (manifest.began()?, entries);
    let path = embedded_path(database);
    let wanted = if path.is_some() { "sqlite" } else { "postgres" };
    if manifest.engine != wanted {
        let detail = format!(
            "the backup {} is of the engine {}, and the settings name a database of {wanted}: move content between engines with \
             `threadkeep export` and `import`",
            manifest.name, manifest.engine
        );
        return Err(Error::invalid(FROM, detail));
    }
    if let Some(path) = path {
        let folder = Restoring::begin(&path)?;
        fetch(place, &manifest, &folder.file).await?;
        let url = embedded_url(&folder.path, false)?;
        let opened = open(database, objects, |config| StorageConfig { url, ..config }).await?;
        let report = renew(opened, Some(manifest), since).await?;
        folder.finish(&path)?;
        return Ok(report);
    }
    let url = postgres_url(database).unwrap_or_default();
    let cannot = |error| io("a temporary folder cannot be made", &error);
    let folder = tempfile::tempdir().map_err(cannot)?;
    let archive = folder.path().join("database");
    fetch(place, &manifest, &archive).await?;
    dump::begin(url).await?;
    programs(&command.programs).restore(url, &archive).await?;
    let opened = open(database, objects, |it| it).await?;
    let report = renew(opened, Some(manifest), since).await?;
    dump::finish(url).await?;
    Ok(report)
}

/// Opens the restored database as a server would, and brings its schema up to date. With an object store it also sees that every object is
/// there.
async fn open(
    database: &Database,
    objects: Option<Arc<Objects>>,
    change: impl FnOnce(StorageConfig) -> StorageConfig,
) -> Result<Arc<dyn Storage>> {
    let config = StorageConfig {
        exclusive: true,
        create: false,
        objects,
        ..storage_config(database, true, true)?
    };
    let storage = storage::open(&change(config)).await?;
    let missing = storage.find_missing_content().await;
    let checked = missing.and_then(|missing| match missing.into_iter().next() {
        Some(wrong) => Err(Error::Integrity(format!("content in the object store: {wrong}"))),
        None => Ok(()),
    });
    unless_refused(storage, checked).await
}

/// Renews the database, does again what the journal says, and closes it.
async fn renew(
    storage: Arc<dyn Storage>,
    backup: Option<Manifest>,
    journal: (Micros, &[Journaled]),
) -> Result<Report> {
    let done = async {
        let now = Clock::System.now();
        let (tenants, renewed) = renew_tenants(storage.as_ref(), now).await?;
        let journal = replay(&storage, journal, now).await?;
        Ok(Report { backup, renewed, tenants, journal })
    };
    let done = done.await;
    storage.close().await;
    done
}

/// Renews every tenant and ends its tokens and signed addresses. Answers how many tenants there are.
async fn renew_tenants(storage: &dyn Storage, now: Micros) -> Result<(u64, Renewed)> {
    let (mut after, mut tenants, mut all) = (String::new(), 0, Renewed::default());
    loop {
        let page = storage.list_tenants(&after, PAGE_MAX, Time::Unlimited).await?;
        for it in &page {
            let renewed = storage.renew(&it.tenant).await?;
            all.threads += renewed.threads;
            all.leases_ended += renewed.leases_ended;
            let act = Act::of_operator(&it.tenant, ActKind::SecretsRotated, "", now);
            let act = act.with(&json!({"reason": "restored"}));
            storage.delete_signing_secrets(&it.tenant, &act).await?;
            tenants += 1;
        }
        match page.last() {
            Some(last) if page.len() == PAGE_MAX => last.tenant.clone_into(&mut after),
            _ => return Ok((tenants, all)),
        }
    }
}

/// Revoked keys always; erasures and destroyed keys from the time of the backup on: what came before, the backup shows, and a subject
/// or tenant may have begun again since.
async fn replay(
    storage: &Arc<dyn Storage>,
    (since, entries): (Micros, &[Journaled]),
    now: Micros,
) -> Result<Replayed> {
    let mut replayed = Replayed::default();
    let mut erased = HashSet::new();
    let clock = Arc::new(Clock::System);
    let erasures = Erasures::new(Arc::<dyn Storage>::clone(storage), clock);
    for Journaled { at, entry } in entries {
        let is_new = *at >= since - CLOCKS_DIFFER;
        match entry {
            JournalEntry::KeyRevoked { tenant, key_id } => {
                let request = RevokeKey { key_id: key_id.clone(), own: false };
                let identity = Identity::operator(tenant);
                let none = Journal::default();
                match keys::revoke(storage.as_ref(), &none, &identity, &request, now).await {
                    Ok(()) => replayed.keys_revoked += 1,
                    // It was made after the backup.
                    Err(Error::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            JournalEntry::SubjectErased { tenant, subject } if is_new => {
                // An erasure has two entries.
                let is_first = erased.insert((tenant, subject));
                if is_first && storage.has_tenant(tenant).await? {
                    let mut caller = Caller::of_tenant(tenant);
                    COMMAND_LINE.clone_into(&mut caller.credential);
                    erasures.erase(&caller, subject, |_| {}).await?;
                    replayed.subjects_erased += 1;
                }
            }
            JournalEntry::TenantKeyDestroyed { tenant } if is_new => {
                replayed.tenant_keys_destroyed +=
                    u64::from(storage.destroy_tenant_key(tenant).await?);
            }
            JournalEntry::SubjectErased { .. } | JournalEntry::TenantKeyDestroyed { .. } => {}
        }
    }
    Ok(replayed)
}

/// Writes the backup into a new file, and compares it with the manifest.
async fn fetch(place: &Place, manifest: &Manifest, to: &Path) -> Result<()> {
    let unmade = |error| io(&format!("{} cannot be made", to.display()), &error);
    let mut file = tokio::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .await
        .map_err(unmade)?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let seen = |part: &[u8]| {
        digest.update(part);
        bytes += part.len() as u64;
    };
    place.download(&Manifest::content(&manifest.name), &mut file, seen).await?;
    if bytes != manifest.bytes || hex::encode(digest.finalize()) != manifest.sha256 {
        let detail =
            format!("the backup {} is not what its manifest says: take another", manifest.name);
        return Err(Error::Integrity(detail));
    }
    Ok(())
}

/// A folder beside the database in which it is restored. A restore that is cut off leaves no database where a server looks.
struct Restoring {
    path: PathBuf,
    file: PathBuf,
}

impl Restoring {
    fn begin(database: &Path) -> Result<Self> {
        if let Some(found) =
            [database.to_owned(), sibling(database, "-wal")].iter().find(|it| it.exists())
        {
            let detail = format!("{} is there: restore into an empty folder", found.display());
            return Err(Error::invalid("data-dir", detail));
        }
        let path = sibling(database, ".restoring");
        let unmade = |error| io(&format!("{} cannot be made", path.display()), &error);
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(unmade)?;
        }
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&path).map_err(unmade)?;
        let file = path.join("threadkeep.db");
        Ok(Self { path, file })
    }

    /// Gives the database its name.
    fn finish(&self, database: &Path) -> Result<()> {
        let unmade = |error| io(&format!("{} cannot be made", database.display()), &error);
        let log = sibling(&self.file, "-wal");
        if std::fs::metadata(&log).is_ok_and(|it| it.len() > 0) {
            return Err(Error::Internal(format!(
                "{} was not brought into its database",
                log.display()
            )));
        }
        std::fs::rename(&self.file, database).map_err(unmade)?;
        std::fs::remove_dir_all(&self.path).map_err(unmade)?;
        let folder = database.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
        std::fs::File::open(folder).and_then(|it| it.sync_all()).map_err(unmade)
    }
}

/// What failed leaves nothing on the disk; after [`Restoring::finish`] the folder is gone.
impl Drop for Restoring {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
