//! The commands, one file each. Turns settings into calls; decides nothing about requests or data.

mod audit;
mod doctor;
mod encryption;
mod erase;
pub mod exit;
mod export;
mod import;
mod import_from;
mod keys;
mod listening;
mod logging;
mod quotas;
mod serve;
mod sql_role;
mod token;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use crate::config::{Command, Config, Database, LogFormat, Openapi};
use crate::domain::error::Obstacle;
use crate::domain::storage::Storage;
use crate::domain::{Error, Result};
use crate::http::documents::ApiDocument;
use crate::storage::objects::Objects;
use crate::storage::{self, StorageConfig};

/// Runs the command and returns when it is done, with the exit code that says how.
///
/// # Errors
/// What the person at the terminal has to know; the text is meant for them.
pub fn run(config: Config) -> Result<ExitCode> {
    if let Command::Openapi { document, .. } = config.command {
        let document = match document {
            Openapi::Json => ApiDocument::Json,
            Openapi::Msgpack => ApiDocument::MessagePack,
            Openapi::Agentrail => ApiDocument::Agentrail,
        };
        print(document.text())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (format, filter) = match &config.command {
        Command::Serve(serve) => (serve.log_format, serve.log_filter.as_str()),
        _ => (LogFormat::Text, "warn"),
    };
    logging::start(format, filter)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| io("the runtime could not be started", &error))?.block_on(async {
        match config.command {
            Command::Serve(serve) => serve::run(serve).await?,
            Command::Migrate(database) => migrate(&database).await?,
            Command::Keys(command) => keys::run(command).await?,
            Command::Quotas(command) => quotas::run(command).await?,
            Command::Audit(command) => audit::run(command).await?,
            Command::Token(command) => token::run(command).await?,
            Command::SqlRole(command) => sql_role::run(command).await?,
            Command::Erase(command) => erase::run(command).await?,
            Command::MasterKey(command) => encryption::run(command).await?,
            Command::Encrypt(command) => encryption::encrypt(command).await?,
            Command::Doctor(command) => return Ok(doctor::run(command).await),
            Command::Openapi { .. } => {}
            Command::Export(command) => return export::run(command).await,
            Command::Import(command) if command.from.is_some() => {
                return import_from::run(command).await;
            }
            Command::Import(command) => import::run(command).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn migrate(database: &Database) -> Result<()> {
    let storage = open_beside(database).await?;
    storage.close().await;
    print("the schema is up to date\n")
}

/// Opens the storage for a short command, perhaps beside a running server. Durability settings are the
/// server's business, so nothing is refused here.
async fn open_beside(database: &Database) -> Result<Arc<dyn Storage>> {
    open_beside_with(database, None).await
}

/// As [`open_beside`], with the object store where cold content lies.
async fn open_beside_with(
    database: &Database,
    objects: Option<Arc<Objects>>,
) -> Result<Arc<dyn Storage>> {
    let config = StorageConfig { objects, ..storage_config(database, true, true)? };
    storage::open(&config).await
}

/// As [`open_beside`], but never makes or changes a database: one that is not there is an error.
async fn open_existing(
    database: &Database,
    objects: Option<Arc<Objects>>,
) -> Result<Arc<dyn Storage>> {
    open_existing_as(database, |config| StorageConfig { objects, ..config }).await
}

/// As [`open_existing`], with other settings.
async fn open_existing_as(
    database: &Database,
    change: impl FnOnce(StorageConfig) -> StorageConfig,
) -> Result<Arc<dyn Storage>> {
    let embedded = database.data_dir.join("threadkeep.db");
    let path = match &database.database_url {
        Some(url) => url.strip_prefix("sqlite://").map(Path::new),
        None => Some(embedded.as_path()),
    };
    if let Some(path) = path.filter(|it| !it.is_file()) {
        let detail = format!("there is no database {}", path.display());
        return Err(Error::Obstacle { kind: Obstacle::FileMissing, detail });
    }
    storage::open(&change(storage_config(database, false, true)?)).await
}

fn storage_config(database: &Database, migrate: bool, allow_unsafe: bool) -> Result<StorageConfig> {
    let url = match &database.database_url {
        Some(url) => url.clone(),
        None => embedded_url(&database.data_dir, !database.no_create)?,
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
    })
}

/// The embedded database's URL; its folder is made for this user only, unless nothing is to be made.
fn embedded_url(folder: &Path, may_create: bool) -> Result<String> {
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

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| io("standard output", &error))
}

fn io(what: &str, error: &std::io::Error) -> Error {
    Error::file(what, error)
}
