//! Opens the database for a command. docs/operate/commands.md tells operators the rule:
//!
//! - `serve` and `migrate` make a database and bring its schema up to date ([`storage_config`] with `migrate`); `encrypt` brings one up
//!   to date, because no server runs meanwhile.
//! - `keys create` and `import` make a database where there is none, because they put the first thing into it ([`open_or_make`]). They
//!   leave an old schema as it is: a server of the older version may be using it.
//! - Every other command opens what is there, or ends ([`open_existing`]).

use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::{encryption, io};
use crate::config::Database;
use crate::domain::error::Obstacle;
use crate::domain::storage::Storage;
use crate::domain::tenants::journal::{Journal, JournalStorage};
use crate::domain::{Error, Result};
use crate::storage::backups::journal::PlacedJournal;
use crate::storage::objects::Objects;
use crate::storage::sqlite::sibling;
use crate::storage::{self, Encryption, ReadTimes, StorageConfig};

/// Opens a database that is there and has the schema of this version; makes and changes nothing. Durability settings are the server's
/// business, so nothing is refused because of them.
pub(super) async fn open_existing(
    database: &Database,
    objects: Option<Arc<Objects>>,
) -> Result<Arc<dyn Storage>> {
    open_existing_as(database, |config| StorageConfig { objects, ..config }).await
}

/// As [`open_existing`], with other settings.
pub(super) async fn open_existing_as(
    database: &Database,
    change: impl FnOnce(StorageConfig) -> StorageConfig,
) -> Result<Arc<dyn Storage>> {
    require_file(database)?;
    let config = StorageConfig { create: false, ..storage_config(database, false, true)? };
    let storage = storage::open(&change(config)).await?;
    let checked = storage.check_restored().await;
    unless_refused(storage, checked).await
}

/// The storage; where it was refused, the reason, once it is closed.
pub(super) async fn unless_refused(
    storage: Arc<dyn Storage>,
    checked: Result<()>,
) -> Result<Arc<dyn Storage>> {
    match checked {
        Ok(()) => Ok(storage),
        Err(error) => {
            storage.close().await;
            Err(error)
        }
    }
}

/// Opens a database that is there and has the schema of this version, or makes one where there is none.
pub(super) async fn open_or_make(
    database: &Database,
    objects: Option<Arc<Objects>>,
) -> Result<Arc<dyn Storage>> {
    match open_existing(database, objects.clone()).await {
        Err(Error::Obstacle { kind: Obstacle::DatabaseAbsent, .. }) => {
            let config = storage_config(database, true, true)?;
            storage::open(&StorageConfig { objects, ..config }).await
        }
        opened => opened,
    }
}

/// Opens the database for an import that only counts. Reading from a tenant makes it, so where there is none an empty database in a
/// temporary folder stands in for it; the folder goes when the second value is dropped.
pub(super) async fn open_for_dry_run(
    database: &Database,
    objects: Option<Arc<Objects>>,
    tenant: &str,
) -> Result<(Arc<dyn Storage>, Option<TempDir>)> {
    let storage = open_existing(database, objects).await?;
    match storage.has_tenant(tenant).await {
        Ok(true) => Ok((storage, None)),
        Ok(false) => {
            storage.close().await;
            let cannot = |error| io("a temporary folder cannot be made", &error);
            let folder = tempfile::tempdir().map_err(cannot)?;
            let config = StorageConfig {
                url: embedded_url(folder.path(), true)?,
                migrate: true,
                create: true,
                allow_unsafe: true,
                connections: database.connections,
                exclusive: false,
                objects: None,
                encryption: Encryption::Off,
                read_times: ReadTimes::default(),
            };
            Ok((storage::open(&config).await?, Some(folder)))
        }
        Err(error) => {
            storage.close().await;
            Err(error)
        }
    }
}

/// The journal that these settings name.
pub(super) fn journal(database: &Database) -> Result<Journal> {
    let placed = placed_journal(database)?;
    Ok(Journal::new(placed.map(|it| Arc::new(it) as Arc<dyn JournalStorage>)))
}

/// The same, to be read.
pub(super) fn placed_journal(database: &Database) -> Result<Option<PlacedJournal>> {
    // What is empty counts as not set, as with the other variables.
    let url = database.journal_url.as_deref().filter(|it| !it.is_empty());
    url.map(PlacedJournal::open).transpose()
}

/// An embedded database that is not there, in the words of a command that makes none.
fn require_file(database: &Database) -> Result<()> {
    let Some(path) = embedded_path(database) else { return Ok(()) };
    let cannot = |error| io(&format!("the database {} cannot be read", path.display()), &error);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_file() => std::fs::File::open(&path).map(drop).map_err(cannot),
        // One that may not be read is not taken for one that is not there.
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => Err(cannot(error)),
        // The storage says what a log without its database means.
        _ if sibling(&path, "-wal").exists() => Ok(()),
        _ => {
            let detail = format!("there is no database {}", path.display());
            Err(Error::Obstacle { kind: Obstacle::DatabaseAbsent, detail })
        }
    }
}

/// The file of an embedded database.
pub(super) fn embedded_path(database: &Database) -> Option<PathBuf> {
    match &database.database_url {
        Some(url) => url.strip_prefix("sqlite://").map(PathBuf::from),
        None => Some(database.data_dir.join("threadkeep.db")),
    }
}

/// The settings of a database: `migrate` also makes one where there is none.
pub(super) fn storage_config(
    database: &Database,
    migrate: bool,
    allow_unsafe: bool,
) -> Result<StorageConfig> {
    let may_create = migrate && !database.no_create;
    let url = match &database.database_url {
        Some(url) => url.clone(),
        None => embedded_url(&database.data_dir, may_create)?,
    };
    Ok(StorageConfig {
        url,
        migrate,
        create: !database.no_create,
        allow_unsafe,
        connections: database.connections,
        exclusive: false,
        objects: None,
        encryption: encryption::of(&database.encryption)?,
        read_times: ReadTimes::default(),
    })
}

/// The embedded database's URL; its folder is made for this user only, unless nothing is to be made.
pub(super) fn embedded_url(folder: &Path, may_create: bool) -> Result<String> {
    let folder = std::path::absolute(folder).map_err(|error| io("--data-dir", &error))?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if may_create {
        builder.create(&folder).map_err(|error| {
            io(&format!("the data folder {} cannot be made", folder.display()), &error)
        })?;
    }
    let path = folder.join("threadkeep.db");
    let path = path.to_str().ok_or_else(|| {
        Error::invalid("data-dir", "--data-dir must be valid UTF-8; choose another folder")
    })?;
    Ok(format!("sqlite://{path}"))
}
