//! Implements `threadkeep master-key create | rotate | destroy` and `threadkeep encrypt`, and reads master keys. The text of a master key
//! is never shown, not even in errors.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::form::{Answer, Form};
use super::opening::{journal, open_existing_as};
use super::progress::Telling;
use super::{io, master_key_command};
use crate::config::{Database, Encrypt, Encryption as Settings, MasterKey as Command};
use crate::domain::caller::check_tenant;
use crate::domain::clock::Clock;
use crate::domain::storage::Storage;
use crate::domain::tenants::journal::JournalEntry;
use crate::domain::time::rfc3339;
use crate::domain::tokens::signing::{Unsigned, UnsignedOwners};
use crate::domain::{Error, Result};
use crate::storage::objects::{Objects, Packing};
use crate::storage::{Encryption, MasterKey, MasterKeys, StorageConfig};

const FIELD: &str = "master-key-file";
const VARIABLE: &str = "THREADKEEP_MASTER_KEY";
const PREVIOUS_VARIABLE: &str = "THREADKEEP_PREVIOUS_MASTER_KEY";
/// A file with a key is short; whatever else it is, it is not read whole.
const FILE_BYTES_MAX: u64 = 1_024;
/// Its owner reads it.
const KEY_MODE: u32 = 0o600;
/// Group and others may read.
const OTHERS_READ: u32 = 0o044;

/// The master keys that settings and environment name.
fn masters(settings: &Settings) -> Result<Option<MasterKeys>> {
    let current = key_of(settings.master_key_file.as_deref(), VARIABLE)?;
    let command = settings.master_key_command.as_deref().filter(|it| !it.is_empty());
    let current = match (current, command) {
        (Some(_), Some(_)) => {
            let detail = "a master key was given twice: by a command, and in a file or variable";
            return Err(Error::invalid(FIELD, detail));
        }
        (None, Some(command)) => Some(by_command(command)?),
        (current, None) => current,
    };
    let previous = key_of(settings.previous_master_key_file.as_deref(), PREVIOUS_VARIABLE)?;
    match (current, previous) {
        (Some(current), previous) => Ok(Some(MasterKeys { current, previous })),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(Error::invalid(FIELD, "a previous master key was given, and no current one"))
        }
    }
}

/// Whether these settings turn encryption on.
pub(super) fn of(settings: &Settings) -> Result<Encryption> {
    let masters = masters(settings)?.map(Arc::new);
    Ok(masters.map_or(Encryption::Off, Encryption::On))
}

/// Whether a master key is named, without reading it.
pub(super) fn is_on(settings: &Settings) -> bool {
    let has_file = settings.master_key_file.as_ref().is_some_and(|it| !it.as_os_str().is_empty());
    let has_command = settings.master_key_command.as_ref().is_some_and(|it| !it.is_empty());
    has_file || has_command || std::env::var_os(VARIABLE).is_some_and(|it| !it.is_empty())
}

fn key_of(file: Option<&Path>, variable: &str) -> Result<Option<MasterKey>> {
    // What is empty counts as not set, as with the other variables.
    let text = std::env::var_os(variable).filter(|it| !it.is_empty());
    match (file.filter(|it| !it.as_os_str().is_empty()), text) {
        (None, None) => Ok(None),
        (Some(file), None) => read(file).map(Some),
        (None, Some(text)) => {
            let key = text.to_str().and_then(MasterKey::parse);
            key.map(Some).ok_or_else(|| malformed(variable))
        }
        (Some(_), Some(_)) => {
            let detail = format!("a master key was given twice: in a file and in {variable}");
            Err(Error::invalid(FIELD, detail))
        }
    }
}

fn read(file: &Path) -> Result<MasterKey> {
    let name = file.display().to_string();
    let unreadable = |error: std::io::Error| {
        Error::file(format!("the master key file {name} cannot be read"), &error)
    };
    if std::fs::metadata(file).map_err(unreadable)?.len() > FILE_BYTES_MAX {
        return Err(malformed(&name));
    }
    let bytes = std::fs::read(file).map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).ok();
    text.and_then(MasterKey::parse).ok_or_else(|| malformed(&name))
}

fn by_command(command: &str) -> Result<MasterKey> {
    let text = master_key_command::output(command)?;
    MasterKey::parse(&text).ok_or_else(|| malformed("the output of --master-key-command"))
}

fn malformed(what: &str) -> Error {
    let detail = format!(
        "{what} holds no master key: 32 bytes are wanted, as base64 or as 64 hexadecimal digits \
         (`threadkeep master-key create` makes one)"
    );
    Error::invalid(FIELD, detail)
}

pub(super) async fn run(command: Command, form: Form) -> Result<()> {
    match command {
        Command::Create { to: None } => {
            let key = MasterKey::random_text();
            form.print(&Answer::new(format!("{key}\n"), &json!({ "master_key": key }))?)
        }
        Command::Create { to: Some(file) } => create(&file, form),
        Command::Rotate { new_master_key_file, database } => {
            rotate(&new_master_key_file, &database, form).await
        }
        Command::Destroy { tenant, yes, database } => {
            check_tenant(&tenant)?;
            if !yes {
                return Err(unsure(&tenant));
            }
            destroy(&tenant, &database, form).await
        }
    }
}

/// Never overwrites a file: it may be the master key of a database.
fn create(file: &Path, form: Form) -> Result<()> {
    let failed = |error: std::io::Error| {
        io(&format!("the master key file {} cannot be made", file.display()), &error)
    };
    let mut made =
        File::options().write(true).create_new(true).mode(KEY_MODE).open(file).map_err(failed)?;
    let text = format!("{}\n", MasterKey::random_text());
    made.write_all(text.as_bytes()).and_then(|()| made.sync_all()).map_err(failed)?;
    let shown = file.display().to_string();
    if form == Form::Text {
        form.note(&format!("wrote a new master key to {shown}, readable for this user only"));
    }
    form.print(&Answer::new("", &json!({ "file": shown }))?)
}

/// Files of master keys that others can read, for the log of a server.
pub(super) fn warn_of_readable_keys(settings: &Settings) {
    let files = [&settings.master_key_file, &settings.previous_master_key_file];
    for file in files.into_iter().flatten().filter(|it| is_readable_by_others(it)) {
        let shown = file.display();
        tracing::warn!(
            "others than its owner can read the master key file {shown}: chmod 600 {shown}"
        );
    }
}

/// What cannot be looked at is told when it is read.
fn is_readable_by_others(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|it| it.permissions().mode() & OTHERS_READ != 0)
}

async fn rotate(new: &Path, database: &Database, form: Form) -> Result<()> {
    let Some(given) = masters(&database.encryption)? else {
        return Err(Error::invalid(
            FIELD,
            "the present master key is needed too: --master-key-file",
        ));
    };
    let masters = MasterKeys { current: read(new)?, previous: Some(given.current) };
    let encryption = Encryption::On(Arc::new(masters));
    let opened = |config| StorageConfig { encryption, ..config };
    let storage = open_existing_as(database, opened).await?;
    let changed = storage.rotate_master_key().await;
    storage.close().await;
    let changed = changed?;
    let text =
        format!("{changed} keys are wrapped with the new master key; none needs the old one\n");
    form.print(&Answer::new(text, &json!({ "keys": changed }))?)
}

fn unsure(tenant: &str) -> Error {
    let detail = format!(
        "this makes everything that tenant {tenant} has stored unreadable, for ever: repeat it with --yes"
    );
    Error::invalid("yes", detail)
}

async fn destroy(tenant: &str, database: &Database, form: Form) -> Result<()> {
    let journal = journal(database)?;
    let storage = open_existing_as(database, |config| config).await?;
    let destroyed = async {
        // First: what is destroyed cannot be destroyed again where the journal could not be written.
        let entry = JournalEntry::TenantKeyDestroyed { tenant: tenant.to_owned() };
        journal.write(entry, Clock::System.now()).await?;
        storage.destroy_tenant_key(tenant).await
    };
    let destroyed = destroyed.await;
    storage.close().await;
    if destroyed? {
        let text = format!("the key of tenant {tenant} is destroyed\n");
        return form.print(&Answer::new(text, &json!({ "tenant": tenant, "destroyed": true }))?);
    }
    Err(Error::NotFound("a key of this tenant that encrypts was"))
}

pub(super) async fn encrypt(command: Encrypt, form: Form) -> Result<()> {
    let Some(masters) = masters(&command.database.encryption)? else {
        return Err(Error::invalid(FIELD, "a master key is needed: --master-key-file"));
    };
    let objects = match &command.object_store_url {
        Some(url) => Some(Arc::new(Objects::open(url, Packing::default(), true).await?)),
        None => None,
    };
    // The lock of a server, where the engine has one, so that none runs meanwhile.
    let opened = |config| StorageConfig {
        objects,
        encryption: Encryption::Begins(Arc::new(masters)),
        exclusive: true,
        allow_unsafe: true,
        migrate: true,
        ..config
    };
    let storage = open_existing_as(&command.database, opened).await?;
    let done = encrypt_all(storage.as_ref(), &command, form).await;
    storage.close().await;
    form.print(&done?)
}

async fn encrypt_all(storage: &dyn Storage, command: &Encrypt, form: Form) -> Result<Answer> {
    let others = storage.count_other_servers().await?;
    if others > 0 {
        let detail = format!(
            "another server uses the database ({others} connections): stop every server first, one without the master key would go on \
             writing plain text"
        );
        return Err(Error::invalid("database-url", detail));
    }
    let unsigned = storage.list_unsigned().await?;
    let owners = storage.list_unsigned_owners().await?;
    let shown = shown(&unsigned) + &shown_owners(&owners);
    if !shown.is_empty() && !command.yes && !is_confirmed(&shown, form)? {
        let detail = format!(
            "the master key would sign these, and whoever has one of these keys, or is named as an owner, reads the tenant's content:\n{shown}\
             revoke what is not yours (threadkeep keys revoke, before there is a master key), then repeat it with --yes"
        );
        return Err(Error::invalid("yes", detail));
    }
    if command.repair {
        storage.request_encryption().await?;
    }
    let steps = Arc::default();
    let encrypted = storage.encrypt_stored_watched(&steps);
    let tenants = Telling::new(form).watch_steps(&steps, encrypted).await?;
    storage.sign(&unsigned).await?;
    storage.sign_owners(&owners).await?;
    let text =
        format!("{tenants} tenants were encrypted; the database holds nothing readable of them\n");
    Answer::new(text, &json!({ "tenants": tenants }))
}

/// A line for each key that would be signed, and for what else tokens depend on.
fn shown(unsigned: &[Unsigned]) -> String {
    let mut text = String::new();
    for Unsigned { tenant, keys, signing_secrets, revocations, .. } in unsigned {
        for key in keys {
            let subject = key.subject.as_deref().unwrap_or("the whole tenant");
            let made = rfc3339(key.created_at);
            text += &format!("{}\ttenant {tenant}\t{subject}\tmade {made}\n", key.key_id);
        }
        if signing_secrets + revocations > 0 {
            text += &format!(
                "-\ttenant {tenant}\t{signing_secrets} secrets that sign tokens (`threadkeep token rotate-secrets` makes all tokens void), \
                 {revocations} revoked tokens\n"
            );
        }
    }
    text
}

/// A line for each owner that was changed, and for what was never signed.
fn shown_owners(unsigned: &[UnsignedOwners]) -> String {
    let mut text = String::new();
    for UnsignedOwners { tenant, missing, changed } in unsigned {
        if *missing > 0 {
            text += &format!(
                "-\ttenant {tenant}\t{missing} threads, sessions and namespaces that were never signed\n"
            );
        }
        for row in changed {
            text += &format!("-\ttenant {tenant}\tnot as it was signed: {row}\n");
        }
    }
    text
}

/// Asks at a terminal. False: there is none, or a program reads what is said, or the answer is no.
fn is_confirmed(shown: &str, form: Form) -> Result<bool> {
    if form == Form::Json || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    eprint!("{shown}Sign these with the master key? Type yes: ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| io("standard input", &error))?;
    Ok(answer.trim() == "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_holds_no_key_is_refused_without_showing_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        for text in ["secret but short", &"x".repeat(5_000), "\0\u{1}"] {
            std::fs::write(&file, text).unwrap();
            let error = read(&file).unwrap_err().to_string();
            assert!(error.contains("holds no master key") && !error.contains(text), "{error}");
        }
        std::fs::write(&file, [0xff; 44]).unwrap();
        assert!(read(&file).is_err());
        std::fs::write(&file, MasterKey::random_text() + "\n").unwrap();
        assert!(read(&file).is_ok());
        assert!(
            read(&folder.path().join("absent")).unwrap_err().to_string().contains("cannot be read")
        );
    }
}
