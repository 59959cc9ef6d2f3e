//! Implements `threadkeep import`: reads a file of `threadkeep export` into a tenant. Works beside a running server.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;

use super::export::{objects, read_key};
use super::form::{Answer, Form};
use super::opening::{open_for_dry_run, open_or_make};
use super::progress::Telling;
use super::{io, tenants};
use crate::config::Import;
use crate::domain::Result;
use crate::domain::caller::{Caller, check_tenant};
use crate::domain::clock::Clock;
use crate::domain::export::records::Existing;
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::export::{ImportOptions, Imported, Input, Tally, import, verify};

const PIECE_BYTES: usize = 1 << 20;
const NOT_POISONED: &str = "nothing panics while it holds the counts";

pub(super) async fn run(command: Import, form: Form) -> Result<()> {
    check_tenant(&command.tenant)?;
    let key = command.signing_key_file.as_deref().map(read_key).transpose()?;
    let options = ImportOptions {
        key,
        existing: if command.overwrite { Existing::Replace } else { Existing::Refuse },
        dry_run: command.dry_run,
    };
    let file = command.file.as_deref().unwrap_or_else(|| Path::new("-"));
    if file.is_file() {
        // It can be read twice: nothing of a file that is not whole is imported.
        verify(&mut Origin::open(file)?, options.key.clone()).await?;
    }
    let objects = objects(command.object_store_url.as_deref()).await?;
    let (storage, _folder) = if options.dry_run {
        open_for_dry_run(&command.database, objects, &command.tenant).await?
    } else {
        (open_or_make(&command.database, objects).await?, None)
    };
    let imported = Box::pin(read((&command.tenant, file), &*storage, &options, form));
    let imported = if options.dry_run {
        imported.await
    } else {
        tenants::telling_new(form, &*storage, &command.tenant, imported).await
    };
    storage.close().await;
    let imported = imported?;
    form.note(&left_behind(&command.tenant));
    form.or(command.format).print(&Answer::new(as_text(&imported), &imported)?)
}

/// What a file of `threadkeep export` never has.
fn left_behind(tenant: &str) -> String {
    format!(
        "keys, tokens, quotas and the audit log are in no export and stay behind: make keys for tenant {tenant} with `threadkeep keys create`, \
         and set its quota with `threadkeep quotas set`"
    )
}

async fn read(
    (tenant, file): (&str, &Path),
    storage: &dyn Storage,
    options: &ImportOptions,
    form: Form,
) -> Result<Imported> {
    let mut caller = Caller::of_tenant(tenant);
    crate::domain::tenants::audit::COMMAND_LINE.clone_into(&mut caller.credential);
    let mut input = Origin::open(file)?;
    if !options.dry_run {
        let now = Clock::System.now();
        storage.record_act(&Act::of_operator(tenant, ActKind::Imported, "", now)).await?;
    }
    let latest = Arc::new(Mutex::new(Imported::default()));
    let mut progress = |so_far: &Imported| {
        *latest.lock().expect(NOT_POISONED) = *so_far;
    };
    let imported = import(storage, &caller, &mut input, (options, &Clock::System), &mut progress);
    let seen = Arc::clone(&latest);
    let say = move || so_far(&seen.lock().expect(NOT_POISONED));
    Telling::new(form).watch(say, Box::pin(imported)).await
}

fn so_far(imported: &Imported) -> String {
    let counts = imported.tallies().map(|(name, it)| {
        let Tally { created, unchanged, replaced, conflicts } = it;
        format!("{} {name}", created + unchanged + replaced + conflicts)
    });
    format!("{} so far", counts.join(", "))
}

fn as_text(imported: &Imported) -> String {
    let head = if imported.dry_run { "would import\n" } else { "imported\n" };
    let line = |(name, tally): (&str, Tally)| {
        let Tally { created, unchanged, replaced, conflicts } = tally;
        format!(
            "  {name:<10} {created} created, {unchanged} unchanged, {replaced} replaced, {conflicts} in conflict\n"
        )
    };
    imported.tallies().map(line).into_iter().fold(head.to_owned(), |text, line| text + &line)
}

/// Reads a file, or standard input.
struct Origin(Box<dyn Read + Send>);

impl Origin {
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self(Box::new(std::io::stdin())));
        }
        let file = File::open(path);
        let file = file.map_err(|error| io(&format!("{}", path.display()), &error))?;
        Ok(Self(Box::new(file)))
    }
}

#[async_trait]
impl Input for Origin {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let mut piece = vec![0; PIECE_BYTES];
        let read = tokio::task::block_in_place(|| self.0.read(&mut piece));
        let read = read.map_err(|error| io("the file cannot be read", &error))?;
        piece.truncate(read);
        Ok((read > 0).then(|| Bytes::from(piece)))
    }
}
