//! Runs the commands, one file each. Turns settings into calls; decides nothing about requests or data.

mod audit;
mod backup;
mod bootstrap;
mod console;
mod descriptors;
mod doctor;
mod encryption;
mod erase;
pub mod exit;
mod export;
pub mod form;
mod healthcheck;
mod import;
mod import_from;
mod keys;
mod listening;
mod logging;
mod manuals;
mod master_key_command;
mod measuring;
mod opening;
mod part_file;
mod progress;
mod quotas;
mod restore;
mod serve;
mod settings;
pub mod sources;
mod sql_role;
mod stopping;
mod support;
mod tenants;
mod token;
mod waiting;

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::json;

use self::form::{Answer, Form};
use self::sources::Loaded;
use crate::config::{Command, Database, LogFormat, Openapi};
use crate::domain::{Error, Result};
use crate::http::openapi::documents::ApiDocument;
use crate::storage;

/// Runs the command and returns when it is done, with the exit code that says how.
///
/// # Errors
/// What the person at the terminal has to know; the text is meant for them.
pub fn run(Loaded { config, settings }: Loaded, form: Form) -> Result<ExitCode> {
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
        // A statement of a command may take long, and its line of progress says so.
        _ => (LogFormat::Text, "warn,sqlx=error"),
    };
    let format = if form == Form::Json { LogFormat::Json } else { format };
    logging::start(format, filter)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| io("the runtime could not be started", &error))?;
    let done = runtime.block_on(async {
        match config.command {
            Command::Serve(serve) => serve::run(*serve, form).await?,
            Command::Healthcheck(command) => return healthcheck::run(command, form).await,
            Command::Config(command) => settings::run(&command, &settings, form)?,
            Command::Migrate(database) => migrate(&database, form).await?,
            Command::Keys(command) => keys::run(command, form).await?,
            Command::Tenants(command) => tenants::run(command, form).await?,
            Command::Quotas(command) => quotas::run(command, form).await?,
            Command::Audit(command) => audit::run(command, form).await?,
            Command::Token(command) => token::run(command, form).await?,
            Command::Console(command) => console::run(command, form).await?,
            Command::SqlRole(command) => sql_role::run(command, form).await?,
            Command::Erase(command) => erase::run(command, form).await?,
            Command::Backup(command) => backup::run(command, form).await?,
            Command::Restore(command) => restore::run(command, form).await?,
            Command::Support(command) => return support::run(*command, &settings, form).await,
            Command::MasterKey(command) => encryption::run(command, form).await?,
            Command::Encrypt(command) => encryption::encrypt(command, form).await?,
            Command::Doctor(command) => return Ok(doctor::run(command, form).await),
            Command::Completions(command) => manuals::completions(command, form)?,
            Command::Man(command) => manuals::man(&command, form)?,
            Command::Openapi { .. } => {}
            Command::Export(command) => return export::run(command, form).await,
            Command::Import(command) if command.from.is_some() => {
                return import_from::run(command, form).await;
            }
            Command::Import(command) => import::run(command, form).await?,
        }
        Ok(ExitCode::SUCCESS)
    });
    // What a command did is done; what a server cut off must not keep the process.
    runtime.shutdown_background();
    done
}

async fn migrate(database: &Database, form: Form) -> Result<()> {
    let storage = storage::open(&opening::storage_config(database, true, true)?).await?;
    storage.close().await;
    let value = json!({ "engine": storage.name(), "up_to_date": true });
    form.print(&Answer::new("the schema is up to date\n", &value)?)
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| io("standard output", &error))
}

fn io(what: &str, error: &std::io::Error) -> Error {
    Error::file(what, error)
}
